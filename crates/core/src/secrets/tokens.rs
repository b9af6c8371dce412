//! The table of tokens that are known by their beginnings.

use super::judge::{always, has_random_run, is_mixed};

/// A token that is known by its first letters.
pub(super) struct Token {
    /// The name of its kind in the mask.
    pub name: &'static str,
    /// The texts that it may begin with.
    pub begins: &'static [&'static str],
    /// The alphabet of the rest.
    pub of: fn(u8) -> bool,
    /// Its least length.
    pub least: usize,
    pub most: usize,
    /// Distinguishes the token from other text with the same beginning. Every suffix of a refused text is refused,
    /// too.
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

/// A name in code may have the same beginning.
const fn random(
    name: &'static str,
    begins: &'static [&'static str],
    of: fn(u8) -> bool,
    least: usize,
    most: usize,
) -> Token {
    Token { name, begins, of, least, most, judge: is_random_token }
}

/// For tokens that may have any length.
pub(super) const ANY: usize = usize::MAX;

fn alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
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

fn lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn dashed_hex(byte: u8) -> bool {
    hex(byte) || byte == b'-'
}

fn dashed_upper(byte: u8) -> bool {
    upper(byte) || byte == b'-'
}

fn dotted_base64(byte: u8) -> bool {
    base64(byte) || byte == b'.'
}

fn dotted_bang(byte: u8) -> bool {
    dotted(byte) || byte == b'!'
}

/// Groups of five or six, as one writes them down.
fn is_in_groups(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
        && value.split('-').count() == 7
        && value.split('-').skip(1).all(|group| matches!(group.len(), 5 | 6))
}

fn is_uuid(value: &str) -> bool {
    let groups = value.split('-').skip(1).map(str::len);
    groups.eq([8, 4, 4, 4, 12])
}

/// Whether the organization's id comes before the rest.
fn has_org(value: &str) -> bool {
    value.find('!').is_some_and(|at| matches!(at, 15 | 18)) && has_digit(value)
}

fn has_digit(value: &str) -> bool {
    value.bytes().skip(5).any(|byte| byte.is_ascii_digit())
}

/// A digit for each dozen letters, and no row of words.
fn is_random_token(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    digits >= 2 && digits * 24 >= value.len() && has_random_run(value)
}

fn in_both_cases(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}

/// Tokens by their beginnings, the more specific ones first.
pub(super) const TOKENS: &[Token] = &[
    token("AWS access key", &["AKIA", "ASIA", "ABIA", "ACCA"], upper, 16, 16),
    token("AWS session token", &["IQoJb3JpZ2lu", "FwoGZXIvYXdz"], base64, 100, ANY),
    token("AWS login", &["eyJwYXlsb2Fk"], base64, 200, ANY),
    token("GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], alnum, 36, 251),
    token("GitHub token", &["github_pat_"], word, 60, 251),
    token(
        "GitLab token",
        &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-",
            "glagent-", "gloas-", "glffct-", "glwt-",
        ],
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
    random("Google OAuth token", &["1//0"], url, 60, ANY),
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
    token("AWS access key", &["ABSK"], base64, 100, 200),
    token("Bitbucket token", &["ATBB"], alnum, 32, 36),
    random("API key", &["sk_"], alnum, 32, 180),
    random("Fireworks key", &["fw_"], alnum, 24, 24),
    token("Pinecone key", &["pcsk_"], word, 60, 90),
    token("LangSmith key", &["lsv2_pt_", "lsv2_sk_"], word, 40, ANY),
    token("NVIDIA key", &["nvapi-"], url, 60, ANY),
    random("Tavily key", &["tvly-"], url, 24, ANY),
    random("Jina key", &["jina_"], alnum, 40, 80),
    random("RunPod key", &["rpa_"], alnum, 36, 60),
    random("Firecrawl key", &["fc-"], hex, 32, 32),
    random("Cerebras key", &["csk-"], alnum, 40, 60),
    random("Together key", &["tgp_v1_"], url, 40, ANY),
    token("Apify token", &["apify_api_"], alnum, 36, 46),
    token("E2B key", &["e2b_"], hex, 40, 40),
    token("RubyGems key", &["rubygems_"], hex, 48, 48),
    random("NuGet key", &["oy2"], lower, 43, 43),
    token("Packagist token", &["packagist_"], word, 40, ANY),
    token("Clojars token", &["CLOJARS_"], any_hex, 60, 60),
    token("Artifactory key", &["AKCp"], alnum, 60, 80),
    random("Heroku key", &["HRKU-"], url, 30, ANY),
    random("Netlify token", &["nfp_", "nfc_", "nfo_"], alnum, 36, 40),
    random("Fly.io token", &["fm2_", "fm1r_", "fm1a_", "fo1_"], base64, 40, ANY),
    Token { judge: in_both_cases, ..token("Render key", &["rnd_"], alnum, 24, 40) },
    token("Supabase key", &["sb_secret_"], url, 24, 60),
    random("PlanetScale token", &["pscale_pw_", "pscale_tkn_", "pscale_oauth_"], dotted, 30, ANY),
    Token { judge: is_mixed, ..token("Neon key", &["npg_"], alnum, 10, 24) },
    random("Neon key", &["napi_"], alnum, 40, 80),
    Token { judge: in_both_cases, ..token("Resend key", &["re_"], word, 30, 42) },
    token("Brevo key", &["xkeysib-", "xsmtpsib-"], dashed, 60, ANY),
    token("Instagram token", &["IGQV"], url, 100, ANY),
    token("LinkedIn secret", &["WPL_AP"], dotted_base64, 18, 60),
    random("Dropbox token", &["sl.B", "sl.u."], url, 100, ANY),
    token("Square token", &["sq0csp-", "sq0atp-", "sq0idb-"], url, 22, ANY),
    Token { judge: in_both_cases, ..token("Mollie key", &["live_"], alnum, 30, 30) },
    token("Figma token", &["figd_", "figu_"], url, 40, ANY),
    random("Typeform token", &["tfp_"], url, 40, ANY),
    random("HubSpot token", &["pat-na", "pat-eu", "pat-ap"], dashed, 36, 45),
    token("Grafana token", &["glc_"], base64, 40, ANY),
    random("Honeycomb key", &["hcaik_", "hcalk_", "hcamk_", "hcxik_"], alnum, 40, ANY),
    token("Dynatrace token", &["dt0c01.", "dt0s01.", "dt0s02."], dotted, 80, ANY),
    token("SonarQube token", &["sqp_", "squ_", "sqa_"], hex, 40, 40),
    random("CircleCI token", &["CCIPAT_", "CCIPRJ_"], word, 40, ANY),
    token("Buildkite token", &["bkua_", "bkaj_"], hex, 40, 40),
    token("Pulumi token", &["pul-"], hex, 40, 40),
    token("Sourcegraph token", &["sgp_"], word, 40, 100),
    token(
        "Doppler token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        dotted,
        40,
        ANY,
    ),
    token("1Password token", &["ops_eyJ"], base64, 100, ANY),
    Token { judge: is_in_groups, ..token("1Password key", &["A3-"], dashed_upper, 30, 45) },
    token("Mapbox token", &["sk.eyJ"], dotted, 60, ANY),
    token("Contentful token", &["CFPAT-"], url, 43, 43),
    random("Prefect key", &["pnu_", "pnb_"], alnum, 36, 36),
    Token { judge: is_uuid, ..token("LaunchDarkly key", &["sdk-", "mob-"], dashed_hex, 36, 36) },
    random("PostHog key", &["phx_"], alnum, 40, 60),
    random("ReadMe key", &["rdme_"], alnum, 60, 80),
    random("Duffel token", &["duffel_live_", "duffel_test_"], url, 40, ANY),
    random("EasyPost key", &["EZAK", "EZTK"], alnum, 54, 54),
    token("Shippo token", &["shippo_live_", "shippo_test_"], hex, 40, 40),
    token("Flutterwave key", &["FLWSECK-", "FLWSECK_TEST-"], dashed, 30, ANY),
    token("Frame.io token", &["fio-u-"], url, 60, ANY),
    token("Cursor key", &["key_"], hex, 64, 64),
    random("Twitch token", &["oauth:"], lower, 30, 30),
    Token { judge: has_org, ..token("Salesforce token", &["00D"], dotted_bang, 60, 150) },
    token("Cloudflare key", &["v1.0-"], dashed_hex, 150, ANY),
    random("Alibaba key", &["LTAI"], alnum, 16, 26),
    random("Tencent key", &["AKID"], alnum, 32, 36),
    random("Yandex token", &["y0_"], url, 50, ANY),
    random("OpenShift token", &["sha256~"], url, 43, 43),
    token("Swarm token", &["SWMTKN-1-"], dashed, 70, ANY),
    token("Bitcoin key", &["xprv", "yprv", "zprv", "tprv"], alnum, 100, 115),
    Token { judge: has_random_run, ..token("GitLab token", &["GR1348941"], url, 20, 20) },
    random("dbt token", &["dbtc_"], url, 30, ANY),
    random("Trello token", &["ATTA"], alnum, 60, 80),
    token("AWS access key", &["bedrock-api-key-"], base64, 40, ANY),
    random("Fernet token", &["gAAAAA"], base64, 90, ANY),
];
