//! Hashes of passwords and passwords that are encrypted for one machine: both can be turned into the password.

use super::form::{Form, form, quote};
use super::judge::is_mixed;

/// Those that show by their beginning how they were made.
pub(super) const MADE: Form = form(
    "password hash",
    &[
        "$2a$",
        "$2b$",
        "$2y$",
        "$1$",
        "$5$",
        "$6$",
        "$y$",
        "$apr1$",
        "$argon2",
        "pbkdf2",
        "scrypt:",
        "SCRAM-SHA-",
        "{SSHA",
        "{AQAA",
        "AQAAANCMnd8",
        "AQAAAAEAACcQ",
        "AQAAAAIAAYag",
        "01000000d08c9ddf",
    ],
    concat!(
        r"\$2[aby]\$[0-9]{2}\$[./A-Za-z0-9]{53}",
        r"|\$(?:1|5|6|y|apr1)\$[./A-Za-z0-9=]{1,40}\$(?:[./A-Za-z0-9]{1,40}\$)?[./A-Za-z0-9]{22,}",
        r"|\$argon2(?:id|i|d)\$[A-Za-z0-9=,]{1,60}\$[A-Za-z0-9=,]{1,60}\$[A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{16,}={0,2}",
        r"|\$pbkdf2(?:-sha[0-9]+)?\$[0-9]+\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{20,}",
        r"|pbkdf2_sha[0-9]+\$[0-9]+\$[A-Za-z0-9]+\$[A-Za-z0-9+/]{20,}={0,2}",
        r"|(?:pbkdf2:sha[0-9]+:[0-9]+|scrypt:[0-9]+:[0-9]+:[0-9]+)\$[A-Za-z0-9]+\$[0-9a-f]{40,}",
        r"|SCRAM-SHA-[0-9]+\$[0-9]+:[A-Za-z0-9+/=]{8,}\$[A-Za-z0-9+/=]{20,}:[A-Za-z0-9+/=]{20,}",
        r"|\{SSHA(?:256|512)?\}[A-Za-z0-9+/]{24,}={0,2}",
        r"|\{AQAA[A-Za-z0-9+/]{20,}={0,2}\}",
        r"|AQAAA(?:NCMnd8|AEAACcQ|AIAAYag)[A-Za-z0-9+/]{40,}={0,2}",
        r"|01000000d08c9ddf[0-9a-f]{40,}"
    ),
);

/// Those that only their names show.
pub(super) const NAMED: Form = Form {
    name: "password hash",
    signs: &["word_hash", "word_digest", "wordHash", "wordDigest", "WORD_HASH", "wd_hash"],
    pattern: concat!(
        "(?i-u:pass(?:word|wd)?_?(?:hash|digest))",
        quote!(),
        r"?\s*(?:=>|[:=])\s*",
        quote!(),
        "?(?P<s>[A-Za-z0-9+/]{32,}={0,2})"
    ),
    judge: is_mixed,
    in_line: true,
};
