//! Calls that take a secret of which no name tells: their own names and places tell it.

use super::form::{argument, quote, quoted};

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
