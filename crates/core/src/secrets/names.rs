//! The names of secrets: one list, for names in texts and for those of fields.

/// The endings of names of secrets that people choose, which may consist of words or of numbers; in lower case.
const CHOSEN: [&str; 18] = [
    "password",
    "pass_phrase",
    "wachtwoord",
    "lösenord",
    "hasło",
    "mot de passe",
    "пароль",
    "密码",
    "パスワード",
    "passwd",
    "passphrase",
    "passcode",
    "passwort",
    "kennwort",
    "contraseña",
    "senha",
    "pass",
    "pwd",
];

/// Those of other secrets.
const MADE: [&str; 7] = ["psk", "pw", "secret", "token", "credential", "key", "_pat"];

/// Returns the endings of names of secrets, in lower case.
pub(super) fn endings() -> impl Iterator<Item = &'static str> {
    CHOSEN.into_iter().chain(MADE)
}

/// Words that make a `key` after them a secret.
const KEYS: [&str; 30] = [
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "account",
    "signing",
    "encryption",
    "master",
    "service",
    "application",
    "app",
    "license",
    "write",
    "subscription",
    "fastly",
    "storage",
    "deploy",
    "cipher",
    "hmac",
    "jwt",
    "consumer",
    "webhook",
    "integration",
    "admin",
    "session",
    "shared",
    "unseal",
    "mandrill",
    "pagerduty_routing",
];

/// Returns the endings in the upper and lower case that is usual in texts.
pub(super) fn written() -> Vec<String> {
    let in_cases = |ending: &str| {
        let capital = ending.chars().take(1).flat_map(char::to_uppercase);
        let capital = capital.chain(ending.chars().skip(1)).collect();
        [ending.to_owned(), capital, ending.to_uppercase()]
    };
    endings().flat_map(in_cases).collect()
}

/// Whether a field of this name holds a secret.
pub(super) fn is_of_field(name: &str) -> bool {
    // A file may be called anything.
    if name.contains(['/', '.']) {
        return false;
    }
    // Several of a kind are numbered.
    let bare = name.trim_end_matches(|char: char| !char.is_alphabetic());
    let lower = bare.to_lowercase();
    endings().find(|ending| lower.ends_with(ending)).is_some_and(|ending| {
        let at = lower.len() - ending.len();
        bare.is_char_boundary(at) && is_secret(bare.get(..at).unwrap_or_default(), ending)
    })
}

/// Whether a name with this ending is one of a secret, by the text before the ending.
pub(super) fn is_secret(before: &str, ending: &str) -> bool {
    if MADE.contains(&ending) && is_of_digest(before) {
        return false;
    }
    match ending {
        "key" => {
            let kind = before.trim_end_matches(['_', '-', '.', ' ']).to_ascii_lowercase();
            KEYS.iter().any(|key| kind.ends_with(key)) || is_header_of_key(&kind)
        }
        // Patterns end so as well.
        "_pat" => {
            let kind = before.rsplit(['_', '-', '.']).next().unwrap_or_default();
            ISSUERS.contains(&kind.to_ascii_lowercase().as_str())
        }
        // Words may end so, too.
        "pw" | "psk" => before.is_empty() || before.ends_with(['_', '-', '.']) || is_user(before),
        // The name of one that Kubernetes holds.
        "secret" => !["existing", "pull"].iter().any(|it| before.to_lowercase().ends_with(it)),
        // Verbs such as `bypass` end so as well.
        "pass" => {
            let kind = before.trim_end_matches('-');
            // One of a compiler, such as the `first-pass`, is none.
            kind.is_empty() || kind.ends_with('_') || is_user(kind)
        }
        // Those with which one logs in at Vault have the name of one that repeats a request.
        "token" => before.ends_with("client_") || !is_public_token(before),
        _ => true,
    }
}

/// Words before the personal access token of a provider.
const ISSUERS: [&str; 26] = [
    "github",
    "gh",
    "gitlab",
    "git",
    "bitbucket",
    "azure",
    "az",
    "devops",
    "ado",
    "ext",
    "vsts",
    "tfs",
    "docker",
    "dockerhub",
    "npm",
    "airtable",
    "databricks",
    "snowflake",
    "jira",
    "atlassian",
    "clarifai",
    "deploy",
    "release",
    "bot",
    "actions",
    "workflow",
];

/// Whether a header such as `X-Functions-Key` identifies a client, and no entry of a cache or a queue.
fn is_header_of_key(kind: &str) -> bool {
    const OTHERS: [&str; 8] = [
        "idempotency",
        "cache",
        "surrogate",
        "partition",
        "routing",
        "request",
        "correlation",
        "sort",
    ];
    kind.strip_prefix("x-").is_some_and(|kind| !OTHERS.iter().any(|other| kind.ends_with(other)))
}

/// Such as the `hashed_` of a secret: only its digest stands there.
fn is_of_digest(before: &str) -> bool {
    const DIGESTS: [&str; 3] = ["hashed", "checksum", "fingerprint"];
    let kind = before.trim_end_matches(['_', '-', '.']).to_ascii_lowercase();
    DIGESTS.iter().any(|digest| kind.ends_with(digest))
}

/// Whether a token of this kind continues a list, repeats a request or names a library.
fn is_public_token(before: &str) -> bool {
    const KINDS: [&str; 6] = ["next", "starting", "client", "lock", "idempotency", "publickey"];
    let kind = before.trim_end_matches(['_', '-']);
    KINDS.iter().any(|it| {
        let at = kind.len().checked_sub(it.len());
        let parts = at.and_then(|at| kind.split_at_checked(at));
        parts.is_some_and(|(begin, word)| {
            let is_camel =
                begin.ends_with(char::is_lowercase) && word.starts_with(char::is_uppercase);
            let is_apart = is_camel || !begin.ends_with(char::is_alphanumeric);
            is_apart && word.eq_ignore_ascii_case(it)
        })
    })
}

/// Whether a value of this name is the id of a public key, with which git signs.
pub(super) fn is_key_id(name: &str, value: &str) -> bool {
    (name == "signingkey" || name.eq_ignore_ascii_case("user.signingkey"))
        && matches!(value.len(), 8 | 16 | 40)
        && value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Such as `dbPass`.
fn is_user(before: &str) -> bool {
    const USERS: [&str; 18] = [
        "db", "user", "smtp", "mail", "admin", "root", "auth", "mysql", "http", "ftp", "ssh",
        "proxy", "sudo", "become", "ldap", "wifi", "key", "store",
    ];
    let lower = before.to_ascii_lowercase();
    USERS.iter().any(|user| lower.ends_with(user))
}

/// Whether the ending is a word of its own, as in `setPassword` and not in `splitpasswd`.
pub(super) fn is_apart(name: &str) -> bool {
    let lower = name.to_lowercase();
    endings().filter(|ending| lower.ends_with(ending)).any(|ending| {
        let parts = name.len().checked_sub(ending.len()).and_then(|at| name.split_at_checked(at));
        parts.is_some_and(|(before, word)| {
            before.is_empty()
                || before.ends_with(['_', '-', '.'])
                || word.starts_with(char::is_uppercase)
        })
    })
}

/// Whether it names a secret that people choose, which may consist of words or of numbers, and no key or token.
pub(super) fn is_chosen(name: &str) -> bool {
    let lower = name.to_lowercase();
    CHOSEN.iter().any(|ending| lower.ends_with(ending))
}
