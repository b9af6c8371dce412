//! Commands that take a key without a name, and those that print a secret on the line below.

use super::escaped::word;
use super::form::{Form, quote};
use super::judge::{has_random_run, is_likely_and_no_name, is_likely_bare};

/// A key right after the word by which one logs in.
pub(super) const LOGIN: Form = Form {
    name: "key",
    signs: &["login ", "auth ", "authtoken ", "unseal ", "etapikey ", "apikey "],
    pattern: word!(concat!(
        "(?:wandb|snyk|cargo|vault|ngrok|npm|nuget|netlify|vercel|flyctl|railway|heroku|supabase|neonctl|pscale|",
        "hf|huggingface-cli|sentry-cli|sonar|doctl|hcloud|civo|twilio|algolia|stripe|expo|eas|apify|",
        "replicate|prefect|pulumi|jf|jfrog|choco|semgrep|infracost|datadog-ci|clearml|k6|influx|tfx|",
        r"bw|akeyless|doppler|turso|upstash|checkly|lacework)\s(?:[^\n|;&]{0,80}?\s)??",
        "(?:login|auth(?: init| login)?|authtoken|add-authtoken|unseal|set[aA]pi[kK]ey|apikey (?:add|save) [^ ]+)",
        r"(?:\s+--?[a-z][a-z\-]*(?:=[^\s]+|\s+https?://[^\s]+)?)*\s+",
        r#"(?:\\*["'])?(?P<s>[A-Za-z0-9._~+/=\-]{16,})"#
    )),
    judge: has_random_run,
    in_line: true,
};

/// A key after an option of one letter.
pub(super) const OPTION: Form = Form {
    name: "key",
    signs: &[
        " -t ",
        " -t=",
        " -T ",
        " -k ",
        " -r ",
        " -a ",
        " --key ",
        " --key=",
        " --auth ",
        " --token ",
    ],
    pattern: word!(concat!(
        r"(?:codecov(?:cli|\.sh|\.io/bash\)?)?|codacy[a-z\-]*|coveralls|cc-test-reporter|influx|vercel|netlify|",
        "chromatic|cypress|k6|doctl|crowdin|lokalise2?|nuget|choco|apify|saucectl|percy|artillery|snyk|sonar-scanner|",
        r"expo|eas|ibmcloud|upload-process)\s(?:[^\n|;&]{0,200}?\s)??",
        r"(?:-[tTkra]|--key|--auth|--token)[ =]+",
        r#"(?:\\*["'])?(?P<s>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,}|[A-Za-z0-9_\-=+/]{24,})"#
    )),
    judge: has_random_run,
    in_line: true,
};

/// A setting with a space between its name and its value.
pub(super) const SETTING: Form = Form {
    name: "password",
    signs: &["config ", "config:", "configure ", "modify ", "profile "],
    pattern: word!(concat!(
        r"(?:config|configure|modify|profile)(?:[ :](?:set|add|user-set|--global|--local|-g|--secret|--plaintext))*\s",
        r"(?:[^\n|;&=]{0,80}?\s)??",
        "(?:(?:[A-Za-z0-9_./:@-]*[_./:@-])?(?i-u:password|passwd|secret|token|api_?key|secret_access_key|access_?key|",
        r"_?auth(?:token)?|private_?key)|[a-z][A-Za-z0-9]*(?:Password|Secret|Token|ApiKey)|(?:github-oauth|gitlab-token|bearer|pypi-token)\.[a-z0-9.\-]+|",
        r"http-basic\.[a-z0-9.\-]+\s+[^\s]+)\s+",
        r#"(?:\\*["'])?(?P<s>[^\s"'`|;&<>\\$]{8,})"#
    )),
    judge: is_likely_and_no_name,
    in_line: true,
};

/// A command that prints nothing but a secret.
pub(super) const PRINTED: Form = Form {
    name: "secret",
    signs: &[
        "cat ",
        "echo ",
        "printenv ",
        "config:get ",
        "output -raw ",
        "op read ",
        "pass show ",
        "-field=",
        "-generic-password",
        "get-secret-value ",
        "base64 -",
        "rand -",
        "bw get ",
        "--plain",
        "phx.gen.secret",
        "rails secret",
        "rake secret",
    ],
    pattern: concat!(
        r#"(?:(?:cat|head -n?\s?1|type|Get-Content)\s+(?:[^\s|;&<>"]*/)?(?:secrets/[^\s/|;&<>"]+|"#,
        r"[A-Za-z0-9_.\-]*(?i-u:master|secret|secrets|secret_?key|token|password|passwd|pass|api_?key|credentials?|",
        "initialAdminPassword|production|development|staging)",
        r"(?:\.(?:key|txt|secret|token|pass))?)|",
        r#"echo\s+"?\$\{?[A-Za-z0-9_]*(?i-u:password|passwd|token|secret|api_?key|access_key|_pat)\}?"?|"#,
        "(?:printenv|config:get|output -raw|phx.gen.secret|ra(?:ils|ke) secret|bw get password|",
        r"(?:secrets? get)|op read|pass show|(?:[A-Za-z]+ )*-field=[a-z_]*(?:password|token|secret|key))",
        r#"(?:[ \t]+(?:--?[a-z\-]+|"?[A-Za-z0-9_./:\-]+"?)){0,5}|"#,
        r"find-generic-password [^\n\\]{0,160}-w[^\n\\]{0,80}|",
        r"get-secret-value [^\n\\]{0,200}SecretString[^\n\\]{0,80}|",
        r"get secrets? [^\n\\]{0,200}base64 (?:-d|-D|--decode)[^\n\\]{0,40}|",
        r"rand -(?:hex|base64) [0-9]+)",
        r"[ \t]*(?:\r?\n|(?:\\+r)?\\+n)",
        r#"(?P<s>[^\s"'`<>\\‹]{8,})(?:\s*(?:\n|$)|\\+[nr]|""#,
        ")"
    ),
    judge: is_likely_and_no_name,
    in_line: false,
};

/// A header whose name ends with a word that alone tells of no secret.
pub(super) const HEADER: Form = Form {
    name: "key",
    signs: &[
        "-Api:", "-API:", "-api:", "-Auth:", "-AUTH:", "-auth:", "-Api\"", "-Auth\"", "-Api'",
        "-Auth'", "-Pat:",
    ],
    pattern: concat!(
        r"(?i-u:x-(?:[a-z0-9]+-){1,4}(?:api|auth|pat))",
        quote!(),
        r"?\s*(?:=>|[:=,])\s*",
        quote!(),
        r#"?(?P<s>[^\s"'`<>\\;,]{12,})"#
    ),
    judge: is_likely_bare,
    in_line: true,
};

/// The key of a service that calls someone out: keys of the same name route messages to queues.
pub(super) const ROUTING: Form = Form {
    name: "key",
    signs: &[
        "outing_key",
        "outingKey",
        "OUTING_KEY",
        "outing-key",
        "ervice_key",
        "ervice-key",
        "egration_key",
    ],
    pattern: concat!(
        "(?i-u:(?:routing|service|integration)[_-]?key)",
        quote!(),
        r"?\s*(?:=>|[:=])\s*",
        quote!(),
        "?(?P<s>[0-9a-f]{32}|R[0-9A-Z]{31})(?-u:\\b)"
    ),
    judge: has_random_run,
    in_line: true,
};
