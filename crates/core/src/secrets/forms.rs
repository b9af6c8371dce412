//! The table of secrets that are known by the text around them.

use super::encoded::is_user_and_password;
use super::escaped::word;
use super::form::{Form, call, command, field, flag, form, gap, quote, quoted};
use super::judge::{
    always, has_digit, has_random_run, is_likely_bare, is_marked, is_mixed, is_mixed_bare,
    is_mixed_in_case, is_random_bare, is_value,
};
use super::{calls, commands, hashes, hooks, outputs};

/// Raised when code outside of the tables changes the decision about secrets.
pub(super) const VERSION: u32 = 16;

/// Other forms, the more telling ones first: where two match, the first gives the name.
pub(super) const FORMS: &[Form] = &[
    call("password", calls::PASSWORD_SIGNS, calls::PASSWORD),
    call("key", calls::KEY_SIGNS, calls::KEY),
    calls::PASSWORD_LINES,
    calls::KEY_LINES,
    calls::ALGOLIA,
    commands::LOGIN,
    commands::OPTION,
    commands::SETTING,
    commands::PRINTED,
    commands::HEADER,
    commands::ROUTING,
    hooks::URLS,
    hooks::OF_SERVERS,
    hashes::MADE,
    hashes::NAMED,
    form(
        "Mailgun key",
        &["mailgun", "Mailgun", "MAILGUN", "api:", "\"api\"", "'api'"],
        word!(r"(?P<s>[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})(?:[^0-9a-z-]|$)"),
    ),
    Form {
        name: "password",
        signs: &["elastic user"],
        pattern: concat!(
            r"assword for the elastic user(?: \([^)\n]*\))?:?",
            gap!(),
            r"(?P<s>[A-Za-z0-9+*=_\-]{16,})"
        ),
        judge: is_mixed_in_case,
        in_line: false,
    },
    Form {
        name: "password",
        signs: &["argocd admin initial-password"],
        pattern: r#"argocd admin initial-password[^\n\\]*(?:\s|\\+[nr])+(?P<s>[A-Za-z0-9\-]{16})(?:[\s\\"'<]|$)"#,
        judge: is_mixed_in_case,
        in_line: false,
    },
    flag(
        &["NEO4J_AUTH"],
        concat!(
            "NEO4J_AUTH",
            quote!(),
            "?",
            r"\s*[:=]\s*",
            quote!(),
            r#"?neo4j/(?P<s>[^\s"'\\&]{4,})"#
        ),
    ),
    Form {
        name: "key",
        signs: &["x-honeycomb-team"],
        pattern: concat!(
            "x-honeycomb-team",
            quote!(),
            "?",
            r"\s*[:=]\s*",
            quote!(),
            "?(?P<s>[A-Za-z0-9_]{20,})"
        ),
        judge: is_mixed,
        in_line: true,
    },
    form("token", &["snyk config"], r"snyk config set api=(?P<s>[0-9a-f\-]{36})"),
    form(
        "token",
        &["tokens {"],
        concat!(
            r#"tokens \{(?:\s|\\+[nrt])+(?:[a-z_]+\s*=\s*[^=\n]{1,80}?(?:\s|\\+[nrt])+)*?"#,
            r"(?:agent|default|initial_management|replication|config_file_service_registration)\s*=\s*",
            quote!(),
            "(?P<s>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
        ),
    ),
    form("ClickUp token", &["pk_"], word!(r"(?P<s>pk_[0-9]{5,12}_[A-Z0-9]{32})(?:[^A-Za-z0-9]|$)")),
    form("New Relic key", &["NRAL"], word!(r"(?P<s>[0-9a-zA-Z]{36}NRAL)(?:[^A-Za-z0-9]|$)")),
    Form {
        name: "key",
        signs: &["key1", "key2", "aryKey", "aryMasterKey", "aryReadonlyMasterKey"],
        pattern: concat!(
            "(?:key[12]|(?:prim|second)ary(?:Readonly)?(?:Master)?Key)",
            quote!(),
            r":\s*",
            quoted!("(?P<s>[A-Za-z0-9+/]{40,}={0,2})")
        ),
        judge: is_mixed_in_case,
        in_line: true,
    },
    Form {
        name: "AWS secret key",
        signs: &["SecretAccessKey", "CREDENTIALS"],
        pattern: r"(?:SecretAccessKey[\s|]+|CREDENTIALS(?:(?:\t|\\+t)[^\s\\]+){2}(?:\t|\\+t))(?P<s>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)",
        judge: is_mixed,
        in_line: true,
    },
    Form {
        name: "password",
        signs: &["1) ", "3) ", "5) ", "7) ", "9) "],
        pattern: concat!(
            r"[13579]\) ",
            quoted!("[A-Za-z_-]*(?i-u:password|passwd|secret|token|api_?key)"),
            r"(?:\s|\\+[nr])+[0-9]*[02468]\) ",
            quote!(),
            r#"(?P<s>[^"\\\s‹&]{6,})"#
        ),
        judge: is_likely_bare,
        in_line: false,
    },
    Form {
        name: "AWS secret key",
        signs: &["secret", "Secret", "SECRET"],
        pattern: r#"(?i-u:aws).{0,20}(?i-u:secret).{0,20}?["':=\s;](?P<s>[A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
        judge: is_mixed,
        in_line: false,
    },
    form(
        "Slack webhook",
        &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9/_]{20,})",
    ),
    form(
        "Discord webhook",
        &["/webhooks/"],
        r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/(?P<s>[A-Za-z0-9_\-]{40,})",
    ),
    form(
        "Teams webhook",
        &["webhook.office.com/"],
        r"webhook\.office\.com/(?P<s>[A-Za-z0-9/@_\-]{40,})",
    ),
    form("Google key", &["AQ.Ab"], word!(r"(?P<s>AQ\.Ab[A-Za-z0-9_\-]{40,})")),
    form(
        "private key",
        &["Private-Lines:"],
        r"Private-Lines: [0-9]+\s+(?P<s>[A-Za-z0-9+/=\s]{20,}?)\s*Private-MAC",
    ),
    Form {
        name: "key",
        signs: &["\"api\"", "api\\\""],
        pattern: r#"\\*"type\\*":\s*\\*"api\\*",\s*\\*"key\\*":\s*\\*"(?P<s>[^"\s\\]{16,})"#,
        judge: is_mixed,
        in_line: false,
    },
    form(
        "key",
        &["\"keyName\""],
        r#""keyName":\s*"[a-z0-9]+",\s*"permissions":\s*"[A-Za-z]+",\s*"value":\s*"(?P<s>[A-Za-z0-9+/]{40,}={0,2})"#,
    ),
    form("key", &["Unseal Key "], r"Unseal Key [0-9]+: (?P<s>[A-Za-z0-9+/]{40,}={0,2})"),
    form(
        "token",
        &["oauth"],
        r#"\\*"type\\*":\s*\\*"oauth\\*",\s*\\*"refresh\\*":\s*\\*"(?P<s>[^"\s\\]{16,})"#,
    ),
    form(
        "token",
        &["expires"],
        r#"\\*"access\\*":\s*\\*"(?P<s>[^"\s\\]{16,})\\*",\s*\\*"expires\\*""#,
    ),
    form(
        "secret",
        &["SecureString"],
        r#"\\*"Type\\*":\s*\\*"SecureString\\*",\s*\\*"Value\\*":\s*\\*"(?P<s>[^"\\]{4,})"#,
    ),
    Form {
        name: "secret",
        signs: &["SecretString"],
        pattern: r#"\\*"SecretString\\*":\s*\\*"(?P<s>[^"\\{\s]{6,})"#,
        judge: is_value,
        in_line: true,
    },
    outputs::SENSITIVE,
    outputs::SENSITIVE_LAST,
    outputs::SPECIAL,
    field(
        "secret",
        &["CONCEALED"],
        r#""CONCEALED\\*"[^{}]*?"value\\*":\s*\\*"(?P<s>[^"\\\n]{4,})"#,
    ),
    Form {
        name: "private key",
        signs: &["\"kty"],
        pattern: r#"\\*"(?:d|p|q|dp|dq|qi|k)\\*":\s*\\*"(?P<s>[A-Za-z0-9_\-]{22,})"#,
        judge: is_mixed_in_case,
        in_line: false,
    },
    Form {
        name: "cookie",
        signs: &["httpOnly"],
        pattern: concat!(
            r#"\\*"name\\*":"#,
            gap!(),
            r#"\\*"[^"\\\n]*(?i-u:sess|sid|auth|jwt|csrf|token)[^"\\\n]*\\*","#,
            gap!(),
            r#"\\*"value\\*":"#,
            gap!(),
            r#"\\*"(?P<s>[^"\s\\]{8,})"#,
        ),
        judge: has_digit,
        in_line: false,
    },
    Form {
        name: "cookie",
        signs: &["\tTRUE\t", "\tFALSE\t"],
        pattern: r"\t(?:TRUE|FALSE)\t/[^\t\n]*\t(?:TRUE|FALSE)\t[0-9]+\t[^\t\n]+\t(?P<s>[^\s]{8,})",
        judge: has_random_run,
        in_line: true,
    },
    Form {
        name: "secret",
        signs: &["secret_id", "SecretID", "Secret ID"],
        pattern: r#"(?:secret_id|SecretID|Secret ID)(?:\\*"|\s)*[:=]?(?:\\*"|\s)*(?P<s>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"#,
        judge: always,
        in_line: true,
    },
    Form {
        name: "AWS secret key",
        signs: &["KEY\t"],
        pattern: r"ACCESSKEY\t\S+\t\S+\t(?P<s>[A-Za-z0-9/+]{40})(?:\s|$)",
        judge: always,
        in_line: true,
    },
    Form {
        name: "key",
        signs: &["define("],
        pattern: r"define\(\s*'(?:(?:SECURE_)?AUTH|LOGGED_IN|NONCE)_(?:KEY|SALT)',\s*'(?P<s>[^'\n]{16,})'",
        judge: has_digit,
        in_line: true,
    },
    Form {
        name: "password",
        signs: &["@tcp(", "@unix("],
        pattern: r#"[A-Za-z0-9_.\-]+:(?P<s>[^\s:"'`/]{3,})@(?:tcp|unix)\("#,
        judge: is_value,
        in_line: true,
    },
    form(
        "SendGrid key",
        &["SG."],
        word!(r"(?P<s>SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{32,64})"),
    ),
    form(
        "Telegram token",
        &[":AA"],
        concat!("(?:bot|", word!(r")(?P<s>[0-9]{8,10}:AA[A-Za-z0-9_\-]{33})(?:[^A-Za-z0-9_\-]|$)")),
    ),
    form("Firebase key", &[":APA91b"], r"[A-Za-z0-9_\-]{8,}:APA91b[A-Za-z0-9_\-]{100,}"),
    form("Terraform token", &[".atlasv1."], r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-]{60,}"),
    form("PayPal token", &["$production$"], r"\$production\$[a-z0-9]{16}\$(?P<s>[a-f0-9]{32})"),
    form("Adyen key", &["hmfxK"], word!(r"(?P<s>AQE[a-zA-Z0-9]{4}hmfxK[A-Za-z0-9+/=\-]{60,})")),
    form(
        "JSON web token",
        &["eyJ"],
        word!(r"(?P<s>eyJ[A-Za-z0-9_\-]{8,}\.eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*)"),
    ),
    form(
        "JSON web token",
        &["eyJ"],
        word!(r"(?P<s>eyJ[A-Za-z0-9_\-]{16,}(?:\.[A-Za-z0-9_\-]{8,}){4})"),
    ),
    Form {
        name: "password in a URL",
        signs: &["://"],
        pattern: r#"://[^\s/:@"'<>`]*:(?P<s>[^\s/"'<>`]+)@[A-Za-z0-9\[]"#,
        judge: is_value,
        in_line: false,
    },
    Form {
        name: "token in a URL",
        signs: &["://"],
        pattern: r"https?://(?P<s>[A-Za-z0-9_\-]{20,})@[A-Za-z0-9]",
        judge: has_random_run,
        in_line: false,
    },
    Form {
        name: "signature in a URL",
        signs: &["sig=", "ignature="],
        pattern: r#"[?&;"'](?:sig|(?:X-(?:Amz|Goog)-)?Signature)=(?P<s>[A-Za-z0-9%+/_~=\-]{30,})"#,
        judge: is_mixed,
        in_line: true,
    },
    Form {
        name: "key in a URL",
        signs: &["appid="],
        pattern: r"[?&;]appid=(?P<s>[0-9a-f]{32})(?-u:\b)",
        judge: is_mixed,
        in_line: true,
    },
    Form {
        name: "key in a URL",
        signs: &["infura.io/", "alchemy.com/"],
        pattern: r"(?:infura\.io/(?:ws/)?v3|alchemy\.com/v2)/(?P<s>[A-Za-z0-9_\-]{32})(?:[^A-Za-z0-9_\-]|$)",
        judge: is_mixed,
        in_line: true,
    },
    Form {
        name: "authorization",
        signs: &["uthorization", "UTHORIZATION"],
        pattern: r#"(?i-u)authorization(?:\\*["']|&(?:quot|apos|#3[49]);)?(?:\s*[:=,]\s*\[?|\s+\\*["'])(?:\\n\s*)?(?:\\*["']value\\*["']:\s*)?(?:\\*["']|&(?:quot|apos|#3[49]);)?(?:(?:bearer|basic|token|bot|digest|apikey|api-key|splunk|ssws|accesskey|geniekey|negotiate|sharedkey|klaviyo-api-key|oauth|zoho-oauthtoken)\s+)(?:(?:token|key)=(?:\\*["'])?)?(?P<s>[A-Za-z0-9._~+/=:\-]{8,})"#,
        judge: is_value,
        in_line: false,
    },
    Form {
        name: "authorization",
        signs: &["uthorization", "UTHORIZATION"],
        pattern: r#"(?i-u)authorization(?:\\*["']|&(?:quot|apos|#3[49]);)?[ \t]*[:=,][ \t]*(?:\\*["']|&(?:quot|apos|#3[49]);)?(?P<s>[A-Za-z0-9._~+/=\-]{16,})"#,
        judge: is_random_bare,
        in_line: false,
    },
    Form {
        name: "authorization",
        signs: &["earer ", "EARER "],
        pattern: word!(r"(?i-u:bearer)\s+(?P<s>[A-Za-z0-9._~+/\-]{20,}=*)"),
        judge: is_mixed,
        in_line: false,
    },
    Form {
        name: "authorization",
        signs: &["auth\"", "auth'", "auth&quot;", "auth\\", "_auth=", "_auth ="],
        pattern: r#"(?:["']|&quot;|(?-u:\b)_)auth(?:\\*["']|&quot;)?\s*[:=]\s*(?:\\*["']|&quot;)?(?P<s>[A-Za-z0-9+/]{12,}={0,2})"#,
        judge: is_user_and_password,
        in_line: true,
    },
    Form {
        name: "password",
        signs: &[":5432:", ":5433:", ":6432:", "localhost:", ":*:"],
        pattern: r#"(?:localhost|127\.0\.0\.1|\*|[A-Za-z0-9.\-]+\.[A-Za-z0-9.\-]+|[a-z][a-z0-9\-]+):(?:543[0-9]|643[0-9]|\*):[^\s:"'\\/]+:[^\s:"'\\/]+:(?P<s>[^\s:"'`|<>&]{6,})"#,
        judge: is_likely_bare,
        in_line: true,
    },
    Form {
        name: "password",
        signs: &["curl "],
        pattern: word!(
            r#"curl\s(?:(?:[^\n|;]|\\\r?\n)*\s)?(?:-u ?|--user[ =]|--proxy-user[ =])(?:\\*["'])?[^\s:"'$]+:(?P<s>[^\s"'`|;&\\‹](?:[^\s"'`|;&\\]|\\[^nrt"])*)"#
        ),
        judge: is_value,
        in_line: false,
    },
    Form {
        name: "password",
        signs: &["curl\"", "curl\\"],
        pattern: r#""curl\\*"[^\n\]]*?"(?:-u|--user)\\*",?\s*\\*"[^"\s:$]+:(?P<s>[^"\\\n]{3,})"#,
        judge: is_value,
        in_line: true,
    },
    flag(
        &["mysql", "mariadb"],
        command!(
            "mysql|mysqldump|mysqladmin|mysqlimport|mysqlshow|mycli|mariadb|mariadb-[a-z]+",
            "-p"
        ),
    ),
    flag(&["sshpass"], command!("sshpass", r"-p\s*")),
    flag(
        &["login "],
        command!(
            r"(?:docker|podman|buildah|skopeo|nerdctl|helm|oras|crane|az|oc)(?:\s+[a-z]+)?\s+login",
            r"-p[ =]?\s*"
        ),
    ),
    flag(&["redis-cli"], command!("redis-cli", r"-a\s+")),
    flag(&["ldap"], command!("ldap(?:search|add|modify|delete|passwd|whoami|compare)", r"-w\s*")),
    flag(&["zip "], command!("unzip|zip", r"-P\s*")),
    flag(&["7z"], command!("7z|7za|7zz|7zr", "-p")),
    flag(&["sqlcmd", "bcp "], command!("sqlcmd|bcp", r"-P\s*")),
    flag(&["mongo"], command!("mongo(?:sh|dump|restore|import|export|stat|top)?", r"-p\s+")),
    flag(&["smbclient"], command!("smbclient", r#"-U\s*["']?[^\s%"']+%"#)),
    Form {
        name: "password",
        signs: &["requirepass ", "masterauth "],
        pattern: word!(r#"(?:requirepass|masterauth)\s+["']?(?P<s>[^\s"'`]{6,})"#),
        judge: is_likely_bare,
        in_line: true,
    },
    flag(&["lftp"], command!("lftp", r#"-u\s*["']?[^\s,"']+,"#)),
    flag(&["xfreerdp"], command!("xfreerdp", "/p:")),
    flag(&["openssl "], command!("openssl", r"-[kK]\s+")),
    flag(&["cqlsh"], command!("cqlsh", r"-p\s+")),
    flag(&["etcdctl"], command!("etcdctl", r#"--user[ =]["']?[^\s:"'$]+:"#)),
    flag(&["-key "], r"--certificate-key (?P<s>[0-9a-f]{64})(?-u:\b)"),
    flag(&["::server:", "::node:"], r"K10[0-9a-f]{64}::(?:server|node):(?P<s>[0-9A-Za-z]{16,})"),
    form(
        "password",
        &["requirepass"],
        r#"(?-u:\b)requirepass\\*"(?:\s|\\[nr])+2\) \\*"(?P<s>[^"\\\n‹]{4,})"#,
    ),
    Form {
        name: "password",
        signs: &[" on >"],
        pattern: r#" on >(?P<s>[^\s"'\\]{6,})"#,
        judge: is_mixed,
        in_line: true,
    },
    flag(&["nmcli "], command!("nmcli", r"password\s+")),
    flag(
        &["rabbitmqctl"],
        command!("rabbitmqctl", r"(?:add_user|change_password|authenticate_user)\s+\S+\s+"),
    ),
    flag(&["mc "], command!("mc", r"(?:alias set|config host add)\s+\S+\s+\S+\s+\S+\s+")),
    flag(
        &["--auth ", "--auth=", " -a "],
        command!("http|https|xh|xhs", r#"(?:-a ?|--auth[ =])(?:\\*["'])?[^\s:"'$]+:"#),
    ),
    flag(&["-stdin"], r#"-stdin\s*<<<\s*(?:\\*["'])?(?P<s>[^\s"'\\]+)"#),
    flag(
        &["-stdin", "--with-"],
        word!(
            r#"echo\s+(?:-n\s+)?["']?(?P<s>[^\s"'|]+)["']?\s*\|[^\n|]*(?:--password-stdin|--with-token)"#
        ),
    ),
    flag(
        &["secret set"],
        r#"secret set\s(?:[^\n|;&]*?\s)?(?:--body[ =]|--value[ =]|-b ?)\\*["']?(?P<s>[^\s"'|;&\\]{4,})"#,
    ),
    Form {
        name: "secret",
        signs: &["--secret-string"],
        pattern: r#"--secret-string[ =]\\*["']?(?P<s>[^\s"'|;&\\]{6,})"#,
        judge: is_likely_bare,
        in_line: true,
    },
    flag(
        &["put-parameter"],
        concat!(command!("put-parameter", "--value[ =]"), r"[^\n]*SecureString"),
    ),
    flag(
        &["SecureString"],
        r#"SecureString\s(?:[^\n|;&]*?\s)?--value[ =](?:\\*["'])?(?P<s>[^\s"'`|;&<>\\]{3,})"#,
    ),
    Form {
        name: "password",
        signs: &["sqlplus", "impdp", "expdp", "sqlldr"],
        pattern: command!("sqlplus|impdp|expdp|sqlldr", r"[A-Za-z0-9_]+/"),
        judge: is_likely_bare,
        in_line: true,
    },
    Form {
        name: "password",
        signs: &["net use", "NET USE"],
        pattern: r#"(?i:net use(?:r\s+|\s[^\n|;&]*?\\))[^\s/]\S*\s+(?:/[a-zA-Z]\S*\s+)*(?P<s>[^\s/"'|;&]{6,})"#,
        judge: is_likely_bare,
        in_line: true,
    },
    flag(
        &["ConvertTo-SecureString"],
        r#"ConvertTo-SecureString\s+(?:-(?:String|AsPlainText|Force)\s+)*\\*["'](?P<s>[^"'\\\n]{4,})"#,
    ),
    flag(&["jdbc:"], r#"jdbc:[^\s"'<>]*?[?&;](?i-u:password|pwd)=(?P<s>[^\s"'<>&;\\]{3,})"#),
    flag(&["oracle:thin:"], r#"oracle:thin:[^\s/@"']+/(?P<s>[^\s@"'/]{3,})@"#),
    flag(&["::add-mask::"], r#"::add-mask::(?P<s>[^\s"'\\]{4,})"#),
    Form {
        name: "password",
        signs: &["password for ", "Password for "],
        pattern: r"(?i-u:password for )\S+(?: \S+)?: (?P<s>\S{6,})\s*$",
        judge: is_mixed_in_case,
        in_line: true,
    },
    form(
        "password",
        &["proceed to installation:"],
        r"proceed to installation:(?:\s|\\[nr])+(?P<s>[0-9a-f]{32})(?-u:\b)",
    ),
    field("password", &["New value: "], r"successfully reset\.?\s+New value: (?P<s>\S{8,})"),
    flag(
        &["htpasswd"],
        command!("htpasswd", r"-[a-zA-Z]*b[a-zA-Z]*\s+(?:[0-9]+\s+)?(?:\S+\s+)?\S+\s+"),
    ),
    flag(
        &["IDENTIFIED BY", "identified by"],
        r#"(?i-u:identified\s+by\s+(?:password\s+)?)\\*["'](?P<s>[^"'\\\n]{4,})"#,
    ),
    flag(
        &["PASSWORD '", "password '", "PASSWORD \"", "password \""],
        r#"(?i:(?:with|encrypted|(?:user|role)\s+\S+)(?:\s+[a-z]+){0,4}\s+password\s+)\\*["'](?P<s>[^"'\\\n]{4,})"#,
    ),
    flag(
        &["PASSWORD FOR ", "password for "],
        r#"(?i:set\s+password\s+for\s+\S+\s*=\s*(?:password\()?)\\*["'](?P<s>[^"'\\\n]{4,})"#,
    ),
    Form {
        name: "password",
        signs: &["assword", "ASSWORD", "secret ", "token ", "key "],
        pattern: r#"(?:^|\\n|")(?i)[a-z0-9_.\-]*(?:password|secret|token|api_key|access_key) {2,}(?P<s>[^\s"\\]{8,})\s*(?:$|\\|")"#,
        judge: is_random_bare,
        in_line: true,
    },
    Form {
        name: "password",
        signs: &["assword  ", "API Key  ", "API key  "],
        pattern: r#"(?:^|\\n|")(?:[a-z0-9_.\-]*password {3,}|API [Kk]ey {2,})(?P<s>[^\s"\\]{8,})\s*(?:$|\\|")"#,
        judge: is_mixed_bare,
        in_line: true,
    },
    Form {
        name: "password",
        signs: &["assword", "ASSWORD", "asswd", "ASSWD", "asswort", "ass:", "ass=", "wd:", "wd="],
        pattern: r#"^(?i)[\s>+\-*]*(?:export\s+|\S+:\s*)?[\w. \-]*(?:password|passwd|passwort|pass|pwd)\s*[:=]\s*(?P<s>[^\s"'`]{8,})\s*$"#,
        judge: is_marked,
        in_line: true,
    },
    Form {
        name: "password",
        signs: &[
            "password is",
            "Password is",
            "passphrase is",
            "key is",
            "token is",
            "Token is",
            "secret is",
            "Secret is",
            "superuser is",
        ],
        pattern: word!(
            r#"(?i-u:(?:password(?: for the [a-z_]+ built-in superuser)?|passphrase|(?:api|access|secret)[ -]key|token|secret) is[: ]+)["'`]?(?P<s>[^\s"'`<>]{7,}[^\s"'`<>.,;:!?)])"#
        ),
        judge: is_mixed_in_case,
        in_line: true,
    },
    flag(
        &["temporary password is"],
        r"temporary password is generated for [^\s:]+: (?P<s>[^\s]{6,})",
    ),
    flag(
        &["SECRET_KEY_BASE", "secret_key_base"],
        r#"(?i-u)secret_key_base(?:\\*["'])?\s*[:=]\s*(?:\\*["'])?(?P<s>[A-Za-z0-9+/=_\-]{16,})"#,
    ),
    flag(&["pass:"], r#"-pass(?:in|out)?\s+["']?pass:(?P<s>[^\s"'`|;&]+)"#),
    flag(&["sudo -S"], word!(r#"echo\s+(?:-n\s+)?["']?(?P<s>[^\s"'|]+)["']?\s*\|\s*sudo -S"#)),
    flag(
        &["chpasswd"],
        word!(
            r#"echo\s+(?:-e\s+)?["']?[A-Za-z0-9_.\-]+:(?P<s>[^\s"'|]+)["']?\s*\|\s*(?:sudo\s+)?chpasswd"#
        ),
    ),
];
