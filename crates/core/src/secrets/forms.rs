//! The table of known forms.

use super::judge::{always, has_random_run, is_mixed, is_random_bare, is_value};

/// Raised when something else than the tables decides otherwise what is a secret.
pub(super) const VERSION: u32 = 3;

/// A token that is known by its first letters.
pub(super) struct Token {
    /// What it is called where it stood.
    pub name: &'static str,
    /// How it begins, in any of these ways.
    pub begins: &'static [&'static str],
    /// What follows.
    pub of: fn(u8) -> bool,
    /// How much of it.
    pub least: usize,
    pub most: usize,
    /// What tells it from what begins in the same way. What it refuses has no end that it takes.
    pub judge: fn(&str) -> bool,
}

/// A secret that stands in a form of its own.
pub(super) struct Form {
    /// What it is called where it stood.
    pub name: &'static str,
    /// One of these is in every text that has such a secret: looking for them is much cheaper.
    pub signs: &'static [&'static str],
    /// The secret is the group `s`, or all of it.
    pub pattern: &'static str,
    /// What tells a secret from what is only written in the same place.
    pub judge: fn(&str) -> bool,
}

const fn token(
    name: &'static str,
    begins: &'static [&'static str],
    of: fn(u8) -> bool,
    least: usize,
    most: usize,
) -> Token {
    Token { name, begins, of, least, most, judge: always }
}

const fn form(name: &'static str, signs: &'static [&'static str], pattern: &'static str) -> Form {
    Form { name, signs, pattern, judge: always }
}

/// For tokens that may have any length.
pub(super) const ANY: usize = usize::MAX;

fn alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn base32(byte: u8) -> bool {
    byte.is_ascii_uppercase() || (b'2'..=b'7').contains(&byte)
}

fn hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

fn any_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn word(byte: u8) -> bool {
    alnum(byte) || byte == b'_'
}

fn dashed(byte: u8) -> bool {
    alnum(byte) || byte == b'-'
}

fn percent(byte: u8) -> bool {
    dashed(byte) || byte == b'%'
}

fn url(byte: u8) -> bool {
    word(byte) || byte == b'-'
}

fn dotted(byte: u8) -> bool {
    url(byte) || byte == b'.'
}

fn base64(byte: u8) -> bool {
    url(byte) || b"+/=".contains(&byte)
}

fn has_digit(value: &str) -> bool {
    value.bytes().skip(5).any(|byte| byte.is_ascii_digit())
}

fn in_both_cases(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}

/// Tokens by how they begin, the more telling ones first.
pub(super) const TOKENS: &[Token] = &[
    token("AWS access key", &["AKIA", "ASIA"], base32, 16, 16),
    token("GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], alnum, 36, 251),
    token("GitHub token", &["github_pat_"], word, 60, 251),
    token(
        "GitLab token",
        &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-"],
        dotted,
        20,
        ANY,
    ),
    Token {
        name: "Slack token",
        begins: &[
            "xoxa-",
            "xoxb-",
            "xoxc-",
            "xoxd-",
            "xoxe-",
            "xoxo-",
            "xoxp-",
            "xoxr-",
            "xoxs-",
            "xoxe.xoxb-",
            "xoxe.xoxp-",
            "xapp-",
        ],
        of: percent,
        least: 10,
        most: ANY,
        judge: has_digit,
    },
    token("Stripe key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], alnum, 16, ANY),
    token("Stripe key", &["whsec_"], base64, 24, ANY),
    token("Anthropic key", &["sk-ant-"], url, 20, ANY),
    Token {
        name: "API key",
        begins: &["sk-proj-", "sk-svcacct-", "sk-admin-"],
        of: url,
        least: 20,
        most: ANY,
        judge: in_both_cases,
    },
    Token {
        name: "API key",
        begins: &["sk-"],
        of: url,
        least: 20,
        most: ANY,
        judge: has_random_run,
    },
    token("API key", &["sess-"], alnum, 40, 40),
    token("Groq key", &["gsk_"], alnum, 40, 64),
    token("xAI key", &["xai-"], alnum, 60, 100),
    token("Replicate token", &["r8_"], alnum, 37, 40),
    token("Perplexity key", &["pplx-"], alnum, 40, 64),
    token("Google API key", &["AIza"], url, 35, 39),
    token("Google OAuth token", &["ya29."], url, 20, ANY),
    token("Google OAuth token", &["GOCSPX-"], url, 20, ANY),
    token("npm token", &["npm_"], alnum, 36, 36),
    token("PyPI token", &["pypi-"], url, 50, ANY),
    Token {
        name: "crates.io token",
        begins: &["cio"],
        of: alnum,
        least: 32,
        most: 32,
        judge: is_mixed,
    },
    token("Docker token", &["dckr_pat_", "dckr_oat_"], url, 20, ANY),
    token("Hugging Face token", &["hf_"], alnum, 30, 40),
    token("Twilio key", &["SK"], hex, 32, 32),
    token("DigitalOcean token", &["dop_v1_", "doo_v1_", "dor_v1_", "dot_v1_"], hex, 64, 64),
    token("Shopify token", &["shpat_", "shpca_", "shppa_", "shpss_"], any_hex, 32, 32),
    token("Linear key", &["lin_api_", "lin_oauth_"], alnum, 32, ANY),
    token("Notion token", &["ntn_"], alnum, 40, ANY),
    token("Notion token", &["secret_"], alnum, 43, 43),
    token("age key", &["AGE-SECRET-KEY-1"], upper, 40, ANY),
    token("Vault token", &["hvs.", "hvb."], url, 20, ANY),
    token("Atlassian token", &["ATATT3", "ATCTT3"], base64, 60, ANY),
    token("Databricks token", &["dapi"], hex, 32, 32),
    token("Sentry token", &["sntrys_", "sntryu_"], base64, 40, ANY),
    token("Grafana token", &["glsa_"], word, 32, ANY),
    Token {
        name: "Tailscale key",
        begins: &["tskey-"],
        of: dashed,
        least: 20,
        most: ANY,
        judge: has_random_run,
    },
    token("Supabase token", &["sbp_"], hex, 40, 40),
    token("Postman key", &["PMAK-"], dashed, 50, ANY),
    token("Mailgun key", &["key-"], hex, 32, 32),
    token("New Relic key", &["NRAK-"], upper, 27, 27),
];

/// Other forms, the more telling ones first: where two match, the first gives the name.
pub(super) const FORMS: &[Form] = &[
    Form {
        name: "AWS secret key",
        signs: &["ecret"],
        pattern: r#"(?i-u:aws).{0,20}(?i-u:secret).{0,20}?["':=\s](?P<s>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
        judge: is_mixed,
    },
    form(
        "Slack webhook",
        &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9/_]{20,})",
    ),
    form("SendGrid key", &["SG."], r"(?-u:\b)SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{32,64}"),
    form("Telegram token", &[":AA"], r"(?-u:\b)[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}(?-u:\b)"),
    form(
        "Discord token",
        &["iscord", "ISCORD"],
        r"(?-u:\b)[MNO][A-Za-z0-9_\-]{23,28}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,}",
    ),
    form(
        "JSON web token",
        &["eyJ"],
        r"(?-u:\b)eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*",
    ),
    Form {
        name: "password in a URL",
        signs: &["://"],
        pattern: r#"://[^\s/:@"'<>`]*:(?P<s>[^\s/"'<>`]+)@[A-Za-z0-9\[]"#,
        judge: is_value,
    },
    Form {
        name: "token in a URL",
        signs: &["://"],
        pattern: r"https?://(?P<s>[A-Za-z0-9_\-]{20,})@[A-Za-z0-9]",
        judge: has_random_run,
    },
    Form {
        name: "authorization",
        signs: &["uthorization", "UTHORIZATION"],
        pattern: r#"(?i-u)authorization\\?["']?\s*[:=]\s*\\?["']?(?:(?:bearer|basic|token|bot|digest|apikey)\s+)(?P<s>[A-Za-z0-9._~+/=\-]{8,})"#,
        judge: is_value,
    },
    Form {
        name: "authorization",
        signs: &["uthorization", "UTHORIZATION"],
        pattern: r#"(?i-u)authorization\\?["']?[ \t]*[:=][ \t]*\\?["']?(?P<s>[A-Za-z0-9._~+/=\-]{16,})"#,
        judge: is_random_bare,
    },
    Form {
        name: "authorization",
        signs: &["earer ", "EARER "],
        pattern: r"(?i-u)\bbearer\s+(?P<s>[A-Za-z0-9._~+/\-]{20,}=*)",
        judge: is_mixed,
    },
    Form {
        name: "password",
        signs: &["curl "],
        pattern: r#"\bcurl\s(?:[^\n|;]*\s)?(?:-u ?|--user[ =]|--proxy-user[ =])["']?[^\s:"'$]+:(?P<s>[^\s"'`|;&]+)"#,
        judge: is_value,
    },
];
