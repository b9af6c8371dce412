//! Calls that take a secret of which no name tells: their own names and places tell it.

use super::form::{Form, argument, form, gap, quote, quoted};
use super::judge::is_likely_bare;

pub(super) const PASSWORD_SIGNS: &[&str] = &[
    "lient(",
    "lientV2(",
    "Credential(",
    "algoliasearch(",
    "login(",
    "mysqli",
    "basic(",
    "connect(",
];
pub(super) const PASSWORD: &str = argument!(
    r"Client\(",
    quoted!("AC[0-9a-f]{32}"),
    r",\s*|Credential\(",
    quoted!("AKID[A-Za-z0-9]+"),
    r",\s*|algoliasearch\(",
    quoted!("[A-Z0-9]{10}"),
    r",\s*|CosmosClient\([^,\n]{1,200},\s*|cohere\.(?:Async)?Client(?:V2)?\(|\.login\(",
    quoted!(r#"[^"'\\\s]+"#),
    r",\s*|mysqli(?:_connect)?\((?:",
    quoted!(r#"[^"'\\\n]*"#),
    r",\s*){2}|(?:AuthTokens|auth)\.basic\(",
    quoted!(r#"[^"'\\\n]+"#),
    r",\s*|DBI->connect\((?:",
    quoted!(r#"[^"'\\\n]*"#),
    r",\s*){2}"
);

pub(super) const KEY_SIGNS: &[&str] = &["provider ", "UserHandler(", "jwt."];
pub(super) const KEY: &str = argument!(
    "provider :[a-z_0-9]+,",
    r"\s*",
    quoted!(r#"[^"'\\\n]+"#),
    r",\s*|OAuth1UserHandler\((?:[^,)\n]{1,100},\s*){3}",
    r#"|jwt\.(?:sign|verify|encode|decode)\((?:\{[^}\n]{0,200}\}|[^"'`\n]{1,200}?),\s*"#
);

/// Calls whose arguments may stand on lines of their own.
pub(super) const PASSWORD_LINES: Form = Form {
    name: "password",
    signs: &[
        "auth=(",
        "auth = (",
        "BasicAuth(",
        "basicAuth(",
        "basic_auth(",
        "DigestAuth(",
        "NetworkCredential(",
        "PasswordCredentials(",
        "PasswordAuthentication(",
        ".auth(",
        "__construct(",
        "new PDO(",
        "getConnection(",
        "mysqli",
        "mysql_connect(",
        "imap_open(",
        "ftp_login(",
        "ldap_bind(",
    ],
    pattern: concat!(
        r"(?:(?:auth\s*=\s*\(|[a-zA-Z]*(?:BasicAuth|DigestAuth)\(|(?:basicAuth|basic_auth)\(|NetworkCredential\(|",
        r"(?:UsernamePassword|Basic)Credentials\(|PasswordAuthentication\(|\.auth\()",
        gap!(),
        quoted!(r#"[^"'\\\n]{0,80}"#),
        "|(?:PDO->__construct|new PDO|DriverManager\\.getConnection)\\(",
        gap!(),
        quoted!(r#"[^"'\\\n]{0,300}"#),
        gap!(),
        ",",
        gap!(),
        quoted!(r#"[^"'\\\n]{0,80}"#),
        r"|(?:mysqli->__construct|mysqli->real_connect|mysqli(?:_connect)?|mysql_connect|imap_open)\((?:\$[a-z]+,\s*)?",
        gap!(),
        quoted!(r#"[^"'\\\n]{0,120}"#),
        gap!(),
        ",",
        gap!(),
        quoted!(r#"[^"'\\\n]{0,80}"#),
        r"|ftp_login\(\$[a-zA-Z_]+,\s*",
        quoted!(r#"[^"'\\\n]{0,80}"#),
        r"|ldap_bind\(\$[a-zA-Z_]+,\s*",
        quoted!(r#"[^"'\\\n]{0,200}"#),
        ")",
        gap!(),
        ",",
        gap!(),
        r"(?:Some\()?",
        quote!(),
        r#"(?P<s>[^"'\\\s]{6,}?)(?:\.\.\.)?"#,
        quote!()
    ),
    judge: is_likely_bare,
    in_line: false,
};

pub(super) const KEY_LINES: Form = Form {
    name: "key",
    signs: &["jwt.", "JWT", "createHmac(", "hash_hmac(", "hmac.new(", "HMAC256("],
    pattern: concat!(
        r"(?:jwt\.(?:sign|verify|encode|decode)\(",
        gap!(),
        r#"(?:\{[^{}]*\}|[^"'`{}\n,()]{1,200})"#,
        gap!(),
        r"|JWT(?:::|\.)(?:encode|decode)\(",
        gap!(),
        r#"(?:\[[^\[\]]*\]|[^"'`\[\]\n,()]{1,200})"#,
        gap!(),
        r"|createHmac\(\s*",
        quoted!("[A-Za-z0-9-]{1,12}"),
        r"\s*|hash_hmac\(\s*",
        quoted!("[A-Za-z0-9-]{1,12}"),
        r"\s*,[^,\n]{1,120}|(?:hmac\.new|HMAC256)\()",
        ",?",
        gap!(),
        "b?",
        quote!(),
        r#"(?P<s>[^"'\\\s]{8,}?)"#,
        quote!()
    ),
    judge: is_likely_bare,
    in_line: false,
};

pub(super) const ALGOLIA: Form = form(
    "key",
    &["Client", "Init(", "algolia"],
    concat!(
        r"(?:Client(?:(?:::|\.)(?:create|init))?|algolia[a-zA-Z_]*(?:\.init)?)\(",
        gap!(),
        quoted!("[A-Z0-9]{10}"),
        gap!(),
        ",",
        gap!(),
        quoted!("(?P<s>[0-9a-f]{32})")
    ),
);
