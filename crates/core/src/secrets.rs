//! Keys, tokens and passwords in a text, known by their form, and the text without them.
//!
//! A mask says what kind of secret stood there and nothing of it, not even its length. What only looks
//! random (hashes, ids, images in base64) is no secret: every form here has a beginning, a name or a
//! frame of its own.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;
use serde_json::Value;

use crate::text::truncate_to_token_budget;

/// A known form of a secret.
struct Form {
    /// What it is called where it stood.
    name: &'static str,
    /// One of these is in every text that has such a secret: looking for them is much cheaper.
    signs: &'static [&'static str],
    /// The secret is the group `s`, or all of it.
    pattern: &'static str,
    /// What tells a secret from what is only written in the same place.
    judge: fn(&str) -> bool,
}

const fn form(name: &'static str, signs: &'static [&'static str], pattern: &'static str) -> Form {
    Form { name, signs, pattern, judge: always }
}

fn always(_: &str) -> bool {
    true
}

/// The forms, the more telling ones first: where two match, the first gives the name.
const FORMS: &[Form] = &[
    form(
        "private key",
        &["PRIVATE KEY"],
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z)",
    ),
    form("AWS access key", &["AKIA", "ASIA"], r"\b(?:AKIA|ASIA)[A-Z2-7]{16}\b"),
    Form {
        name: "AWS secret key",
        signs: &["ecret"],
        pattern: r#"(?i)aws.{0,20}secret.{0,20}?["':=\s](?P<s>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
        judge: is_mixed,
    },
    form(
        "GitHub token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9_]{60,251})\b",
    ),
    form(
        "GitLab token",
        &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-"],
        r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_\-.]{20,}",
    ),
    form(
        "Slack token",
        &["xoxa-", "xoxb-", "xoxe", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"],
        r"\b(?:xox[aboprse]|xoxe\.xox[bp]|xapp)-[A-Za-z0-9-]{10,}",
    ),
    form(
        "Slack webhook",
        &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9/_]{20,})",
    ),
    form(
        "Stripe key",
        &["k_live_", "k_test_", "whsec_"],
        r"\b(?:(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,})",
    ),
    form("Anthropic key", &["sk-ant-"], r"\bsk-ant-[A-Za-z0-9_\-]{20,}"),
    Form {
        name: "API key",
        signs: &["sk-"],
        pattern: r"\bsk-(?:(?:proj|svcacct|admin|or|lf|live|test)-)*(?:v1-)?[A-Za-z0-9_\-]{20,}",
        judge: has_random_run,
    },
    form("Google API key", &["AIza"], r"\bAIza[A-Za-z0-9_\-]{35}"),
    form(
        "Google OAuth token",
        &["ya29.", "GOCSPX-"],
        r"\b(?:ya29\.[A-Za-z0-9_\-]{20,}|GOCSPX-[A-Za-z0-9_\-]{20,})",
    ),
    form("npm token", &["npm_"], r"\bnpm_[A-Za-z0-9]{36}\b"),
    form("PyPI token", &["pypi-"], r"\bpypi-[A-Za-z0-9_\-]{50,}"),
    form("crates.io token", &["cio"], r"\bcio[A-Za-z0-9]{32}\b"),
    form("Docker token", &["dckr_"], r"\bdckr_(?:pat|oat)_[A-Za-z0-9_\-]{20,}"),
    form("Hugging Face token", &["hf_"], r"\bhf_[A-Za-z]{30,}\b"),
    form("SendGrid key", &["SG."], r"\bSG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{32,64}"),
    form("Twilio key", &["SK"], r"\bSK[0-9a-f]{32}\b"),
    form("DigitalOcean token", &["_v1_"], r"\bdo[oprt]_v1_[0-9a-f]{64}\b"),
    form("Shopify token", &["shp"], r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b"),
    form("Linear key", &["lin_"], r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    form("Notion token", &["ntn_"], r"\bntn_[A-Za-z0-9]{40,}\b"),
    form("Telegram token", &[":AA"], r"\b[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}\b"),
    form("age key", &["AGE-SECRET-KEY-1"], r"\bAGE-SECRET-KEY-1[A-Z0-9]{40,}"),
    form("Vault token", &["hvs.", "hvb."], r"\bhv[sb]\.[A-Za-z0-9_\-]{20,}"),
    form(
        "JSON web token",
        &["eyJ"],
        r"\beyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*",
    ),
    Form {
        name: "password in a URL",
        signs: &["://"],
        pattern: r#"\b[A-Za-z][A-Za-z0-9+.\-]{1,20}://[^\s/:@"'<>`]*:(?P<s>[^\s/@"'<>`]+)@[A-Za-z0-9\[]"#,
        judge: is_value,
    },
    Form {
        name: "authorization",
        signs: &["uthorization", "UTHORIZATION"],
        pattern: r#"(?i)\bauthorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|bot|digest)\s+)(?P<s>[A-Za-z0-9._~+/=\-]{8,})"#,
        judge: is_value,
    },
    Form {
        name: "authorization",
        signs: &["earer ", "EARER "],
        pattern: r"(?i)\bbearer\s+(?P<s>[A-Za-z0-9._~+/\-]{20,}=*)",
        judge: is_mixed,
    },
    Form {
        name: "password",
        signs: &["="],
        pattern: r#"(?m)\b[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY|CREDENTIALS?)=(?P<s>"[^"\s]{6,}"|'[^'\s]{6,}'|[^\s"'`;&|<>,)\]}\\]{6,})"#,
        judge: is_value,
    },
    Form {
        name: "password",
        signs: &["ass", "ASS", "pwd", "PWD", "ecret", "ECRET", "oken", "OKEN", "ey", "EY"],
        pattern: r#"(?i)\b[a-z0-9_.\-]*(?:password|passwd|passphrase|pwd|secret|token|api[_\-]?key|access[_\-]?key|secret[_\-]?key|private[_\-]?key|auth[_\-]?key)\\?["']?\s{0,3}(?::|=|=>|:=)\s{0,3}\\?(?P<s>"[^"\s\\]{6,}\\?"|'[^'\s\\]{6,}\\?')"#,
        judge: is_likely,
    },
    Form {
        name: "password",
        signs: &["ass", "ASS", "pwd", "PWD", "ecret", "oken", "ey"],
        pattern: r#"(?i)(?:[?&;]|\b)(?:password|passwd|pwd|secret|client_secret|access_token|refresh_token|id_token|auth_token|api[_\-]?key)=(?P<s>[^\s"'`;&|<>,)\]}\\]{6,})"#,
        judge: is_likely,
    },
    Form {
        name: "password",
        signs: &["assword", "ecret", "oken", "ey"],
        pattern: r#"(?im)^[ \t\-]*[a-z0-9_.\-]*(?:password|passwd|passphrase|secret|token|api[_\-]?key|access[_\-]?key|secret[_\-]?key)[ \t]*:[ \t]+(?P<s>[^\s"'`;&|<>,()\[\]{}\\]{8,})[ \t]*$"#,
        judge: is_likely,
    },
];

/// Each is compiled when a text first has one of its signs: most are never needed, and each takes memory.
static PATTERNS: [OnceLock<Regex>; FORMS.len()] = [const { OnceLock::new() }; FORMS.len()];

#[expect(clippy::expect_used, reason = "the table is fixed, and a test compiles all of it")]
fn compiled(form: &Form) -> Regex {
    Regex::new(form.pattern).expect("the pattern of a form is a regular expression")
}

/// Tells the table of forms from another one: what was masked with the same one needs no second look.
pub fn forms() -> String {
    let mut hasher = DefaultHasher::new();
    for form in FORMS {
        (form.name, form.signs, form.pattern).hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// What kind it is, such as `GitHub token`.
    pub kind: &'static str,
    /// Where it stands; byte offsets.
    pub place: Range<usize>,
}

/// The secrets in a text, in their order; none overlaps another.
pub fn secrets(text: &str) -> Vec<Secret> {
    let mut found: Vec<Secret> = Vec::new();
    for (form, pattern) in FORMS.iter().zip(&PATTERNS) {
        if !form.signs.iter().any(|sign| text.contains(sign)) {
            continue;
        }
        for captures in pattern.get_or_init(|| compiled(form)).captures_iter(text) {
            let Some(whole) = captures.name("s").or_else(|| captures.get(0)) else { continue };
            let place = unquoted(text, whole.range());
            let value = text.get(place.clone()).unwrap_or_default();
            let known = |it: &Secret| it.place.start < place.end && place.start < it.place.end;
            if (form.judge)(value) && !found.iter().any(known) {
                found.push(Secret { kind: form.name, place });
            }
        }
    }
    found.sort_by_key(|secret| secret.place.start);
    found
}

/// The text with each secret replaced by what it is: `‹masked: GitHub token›`.
pub fn mask(text: &str) -> Cow<'_, str> {
    replaced(text, label)
}

/// The same for a text of which only a few words are taken: one word for each secret.
pub(crate) fn blank(text: &str) -> Cow<'_, str> {
    replaced(text, |_| "‹masked›".to_owned())
}

/// [`truncate_to_token_budget`]. Where the text has to be cut its secrets are masked before: half of one
/// is known for none any more.
pub fn cut_to_token_budget<'a>(text: &'a str, max: usize, indicator: &str) -> Cow<'a, str> {
    match truncate_to_token_budget(text, max, indicator) {
        Cow::Owned(_) => truncate_to_token_budget(&mask(text), max, indicator).into_owned().into(),
        Cow::Borrowed(text) => text.into(),
    }
}

fn replaced(text: &str, with: impl Fn(&'static str) -> String) -> Cow<'_, str> {
    let found = secrets(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for secret in found {
        masked.push_str(text.get(at..secret.place.start).unwrap_or_default());
        masked.push_str(&with(secret.kind));
        at = secret.place.end;
    }
    masked.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(masked)
}

/// The same for each text in a value, its keys aside. A text under a name such as `password` is a secret
/// as a whole. Returns whether anything was masked.
pub fn mask_value(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let Cow::Owned(masked) = mask(text) else { return false };
            *text = masked;
            true
        }
        Value::Array(values) => {
            values.iter_mut().fold(false, |masked, value| mask_value(value) | masked)
        }
        Value::Object(fields) => fields.iter_mut().fold(false, |masked, (name, value)| {
            let named = value.as_str().and_then(|text| mask_named(name, text));
            let secret = named.is_some();
            if let Some(label) = named {
                *value = label.into();
            }
            secret | mask_value(value) | masked
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What stands for a text that is a secret as a whole, by the name that it goes under.
pub fn mask_named(name: &str, text: &str) -> Option<String> {
    (names_a_secret(name) && is_likely(text)).then(|| label("password"))
}

const LABEL: (&str, char) = ("‹masked: ", '›');

fn label(kind: &str) -> String {
    let (begin, end) = LABEL;
    format!("{begin}{kind}{end}")
}

pub(crate) fn has_mask(text: &str) -> bool {
    text.contains(LABEL.0)
}

/// How long the mask is that a text begins with, in bytes; none if it begins with none.
pub(crate) fn label_at_start(text: &str) -> Option<usize> {
    let (begin, end) = LABEL;
    let at = text.strip_prefix(begin)?.find(end)?;
    Some(begin.len() + at + end.len_utf8())
}

fn names_a_secret(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "apikey",
        "accesskey",
        "privatekey",
    ];
    // A file may be called anything.
    if name.contains(['/', '.']) {
        return false;
    }
    let name: String =
        name.chars().filter(|char| char.is_alphanumeric()).collect::<String>().to_lowercase();
    NAMES.iter().any(|ending| name.ends_with(ending))
}

/// A quoted value without its quotes, also where they are escaped.
fn unquoted(text: &str, place: Range<usize>) -> Range<usize> {
    let value = text.get(place.clone()).unwrap_or_default();
    let Some(quote) = value.chars().next().filter(|char| matches!(char, '"' | '\'')) else {
        return place;
    };
    let inner = value.strip_suffix(quote).unwrap_or(value);
    let inner = inner.strip_suffix('\\').unwrap_or(inner);
    place.start + quote.len_utf8()..place.start + inner.len().max(quote.len_utf8())
}

/// Whether this stands for a value instead of being one: a variable, a call, a word to be replaced.
fn is_reference(value: &str) -> bool {
    const WORDS: [&str; 22] = [
        "true",
        "false",
        "null",
        "none",
        "nil",
        "undefined",
        "required",
        "optional",
        "string",
        "changeme",
        "example",
        "placeholder",
        "redacted",
        "masked",
        "hidden",
        "password",
        "secret",
        "token",
        "dummy",
        "your",
        "insert",
        "process.env",
    ];
    let lower = value.to_lowercase();
    let bare = lower.trim_matches(|char: char| !char.is_alphanumeric());
    value.starts_with(['$', '<', '{', '%', '‹', '*', '[', '(', '@', '/', '.'])
        || value.contains("${")
        || value.contains('(')
        || is_left_out(value)
        || WORDS.contains(&bare)
        || [
            "your",
            "my-",
            "my_",
            "xxx",
            "os.environ",
            "process.env",
            "env.",
            "self.",
            "config.",
            "settings.",
            "this.",
            "args.",
            "secrets.",
            "vars.",
        ]
        .iter()
        .any(|start| bare.starts_with(start))
        || bare.is_empty()
        || is_one_char(bare)
}

/// Whether the value is what stands where one was left out, such as `sk-…`: not one that was cut, which has more
/// than a beginning that all of its kind have.
fn is_left_out(value: &str) -> bool {
    let at = value.find('…').or_else(|| value.find("..."));
    at.is_some_and(|at| !looks_made_up(value.get(..at).unwrap_or_default()))
}

fn looks_made_up(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.chars().any(is);
    let letters = has(char::is_alphabetic);
    let digits = has(|char| char.is_ascii_digit());
    let marks = has(|char| "!@#$%^&*+~?=".contains(char));
    let upper = value.chars().skip(1).any(char::is_uppercase) && has(char::is_lowercase);
    value.chars().count() >= 6 && ((letters && (digits || marks)) || (upper && value.len() >= 20))
}

fn is_one_char(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| chars.all(|char| char == first))
}

/// A value where one is sure to stand.
fn is_value(value: &str) -> bool {
    !is_reference(value)
}

/// A value where a name or a type may stand as well: it has to look made up.
fn is_likely(value: &str) -> bool {
    is_value(value)
        && !value.contains(char::is_whitespace)
        && !value.contains("://")
        && looks_made_up(value)
}

/// A value with a digit and a letter of ASCII, in upper or lower case: no mere word. A hash is one as well, so
/// that only a pattern that names what stands in front of the value asks for it.
fn is_mixed(value: &str) -> bool {
    let has = |is: fn(&char) -> bool| value.chars().any(|char| is(&char));
    is_value(value)
        && has(char::is_ascii_digit)
        && (has(char::is_ascii_lowercase) || has(char::is_ascii_uppercase))
}

/// Twelve letters and digits in a row, with both of them: `sk-learn-some-long-name` has none.
fn has_random_run(value: &str) -> bool {
    value.split(['-', '_']).any(|run| {
        run.len() >= 12
            && run.bytes().any(|byte| byte.is_ascii_digit())
            && run.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
pub(crate) mod tests;
