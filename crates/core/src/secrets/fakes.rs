//! Invented secrets of every form, put together so that none stands in a source.

/// Random looking, the same at each run, of an alphabet.
pub(super) fn made(length: usize, alphabet: &str) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    (0..length)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            letters[usize::try_from(state >> 33).unwrap() % letters.len()]
        })
        .collect()
}

pub(super) const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
pub(super) const HEX: &str = "0123456789abcdef";
pub(super) const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
pub(super) const MIXED: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Fakes of each form. They are put together here: none of them stands in the sources as it is.
pub(crate) fn fakes() -> Vec<(&'static str, String)> {
    let mixed = |length| made(length, MIXED);
    let pem = |kind: &str| {
        let dashes = "-".repeat(5);
        let body = (0..8).map(|_| mixed(64)).collect::<Vec<_>>().join("\n");
        format!("{dashes}BEGIN {kind}{dashes}\n{body}\n{dashes}END {kind}{dashes}")
    };
    let key = ["PRIV", "ATE KEY"].concat();
    let jwt = |part: usize| ["ey", "J", &mixed(part)].concat();
    vec![
        ("private key", pem(&key)),
        ("private key", pem(&format!("RSA {key}"))),
        ("private key", pem(&format!("OPENSSH {key}"))),
        ("AWS access key", ["AK", "IA", &made(16, UPPER)].concat()),
        ("GitHub token", ["gh", "p_", &mixed(36)].concat()),
        ("GitHub token", ["gh", "s_", &mixed(36)].concat()),
        ("GitHub token", ["github", "_pat_", &mixed(22), "_", &mixed(59)].concat()),
        ("GitLab token", ["gl", "pat-", &mixed(20)].concat()),
        ("Slack token", ["xo", "xb-", "123456789012-", &mixed(24)].concat()),
        ("Stripe key", ["sk_", "live_", &mixed(24)].concat()),
        ("Stripe key", ["wh", "sec_", &mixed(32)].concat()),
        ("Anthropic key", ["sk-", "ant-", "api03-", &mixed(90)].concat()),
        ("API key", ["sk", "-", &mixed(48)].concat()),
        ("API key", ["sk", "-proj-", &mixed(64)].concat()),
        ("API key", ["sk", "-or-v1-", &made(64, HEX)].concat()),
        ("Google API key", ["AI", "za", &mixed(35)].concat()),
        ("Google OAuth token", ["ya", "29.", &mixed(60)].concat()),
        ("npm token", ["np", "m_", &mixed(36)].concat()),
        ("PyPI token", ["py", "pi-", &mixed(80)].concat()),
        ("crates.io token", ["ci", "o", &mixed(32)].concat()),
        ("Docker token", ["dckr", "_pat_", &mixed(27)].concat()),
        ("Hugging Face token", ["h", "f_", &made(34, LETTERS)].concat()),
        ("SendGrid key", ["S", "G.", &mixed(22), ".", &mixed(43)].concat()),
        ("Twilio key", ["S", "K", &made(32, HEX)].concat()),
        ("DigitalOcean token", ["do", "p_v1_", &made(64, HEX)].concat()),
        ("Shopify token", ["shp", "at_", &made(32, HEX)].concat()),
        ("Linear key", ["lin", "_api_", &mixed(40)].concat()),
        ("Telegram token", ["123456789", ":A", "A", &mixed(33)].concat()),
        ("Vault token", ["hv", "s.", &mixed(24)].concat()),
        ("JSON web token", [&jwt(20), ".", &jwt(40), ".", &mixed(43)].concat()),
        ("Slack token", ["xo", "xp-", "123456789012-", &mixed(24)].concat()),
        ("Slack token", ["xo", "xd-", &mixed(20), "%2B", &mixed(20)].concat()),
        ("Slack token", ["xo", "xe.xo", "xp-1-", &mixed(60)].concat()),
        ("Slack token", ["xa", "pp-1-A1234567890-", &made(30, HEX)].concat()),
        ("API key", ["se", "ss-", &mixed(40)].concat()),
        ("API key", ["sk", "-proj-", &mixed(10), "_", &mixed(9), "-", &mixed(10)].concat()),
        ("Google OAuth token", ["GOC", "SPX-", &mixed(28)].concat()),
        ("Google OAuth token", ["1/", "/0", &mixed(60)].concat()),
        ("Notion token", ["nt", "n_", &mixed(46)].concat()),
        ("Notion token", ["sec", "ret_", &mixed(43)].concat()),
        ("age key", ["AGE-SEC", "RET-KEY-1", &made(58, UPPER)].concat()),
        ("Groq key", ["gs", "k_", &mixed(52)].concat()),
        ("xAI key", ["xa", "i-", &mixed(80)].concat()),
        ("Replicate token", ["r", "8_", &mixed(37)].concat()),
        ("Perplexity key", ["ppl", "x-", &mixed(48)].concat()),
        ("Hugging Face token", ["h", "f_", &mixed(34)].concat()),
        ("Atlassian token", ["ATA", "TT3", &mixed(180), "=", &made(8, HEX)].concat()),
        ("Databricks token", ["da", "pi", &made(32, HEX)].concat()),
        ("Sentry token", ["sntr", "ys_", &mixed(120), "_", &mixed(43)].concat()),
        ("Grafana token", ["gl", "sa_", &mixed(32), "_", &made(8, HEX)].concat()),
        ("Tailscale key", ["ts", "key-auth-", &mixed(17), "-", &mixed(32)].concat()),
        ("Supabase token", ["sb", "p_", &made(40, HEX)].concat()),
        ("Postman key", ["PM", "AK-", &made(24, HEX), "-", &made(34, HEX)].concat()),
        ("Mailgun key", ["ke", "y-", &made(32, HEX)].concat()),
        ("New Relic key", ["NR", "AK-", &made(27, UPPER)].concat()),
    ]
}

/// Values that are secrets by their names, each in a text.
pub(crate) fn named() -> Vec<(String, String)> {
    let value = ["hunter", "2", "hunter"].concat();
    let long = made(40, MIXED);
    let by_value = [
        format!("DB_PASSWORD={value}"),
        format!("export API_KEY='{value}'"),
        format!("curl -H 'x-api-key: {value}' https://example.test"),
        format!("curl -H \"X-Auth-Token: {value}\" https://example.test"),
        format!("db_password={value}"),
        format!("github_token={value} ./run"),
        format!("//registry.npmjs.org/:_authToken={value}"),
        format!("deploy --password {value} --now"),
        format!("deploy --api-token '{value}'"),
        format!("deploy --password={value}"),
        format!("machine a.test login me password {value}"),
        format!("machine a.test\n  login me\n  password {value}\n"),
        format!("ENV DB_PASSWORD {value}"),
        format!("ENV DB_PASSWORD \"{value}\""),
        format!("DB_PASS={value}"),
        format!("SharedAccessKeyName=a;AccountKey={value}==;EndpointSuffix=b"),
        format!("password = {value}"),
        format!("db.password = {value} # of the database"),
        format!("password => '{value}'"),
        format!("  password: {value} # of the database"),
        format!("+  password: {value}"),
        format!("00012| password: {value}"),
        format!("config/app.yml:12:  password: {value}"),
        format!("first\\npassword: {value}\\nlast"),
        format!("  token              = \"{value}\""),
        format!("token =        \"{value}\""),
        format!("\"password\":      \"{value}\""),
        format!("const API_KEY: &str = \"{value}\";"),
        format!("config[\"password\"] = \"{value}\""),
        format!("password = \"the {value} of mine\""),
        format!("password = \"pa({value})\""),
        format!("DB_PASSWORD=a({value})b"),
        format!("DB_PASSWORD=a({value}"),
        format!("DB_PASSWORD=/aB3{value}Xx09aB3+"),
        format!("STRIPE_SECRET=\"{value}\" make run"),
        format!("password = \"{value}\""),
        format!("{{\"apiKey\": \"{value}\"}}"),
        format!("{{\\\"api_key\\\": \\\"{value}\\\"}}"),
        format!("client_secret: '{value}'"),
        format!("https://example.test/x?access_token={value}&y=1"),
        format!("  password: {value}"),
        format!("postgres://app:{value}@db.test:5432/app"),
        format!("postgres://app:a@{value}@db.test:5432/app"),
        format!("DB_PASSWORD=\"correct horse {value}\""),
        format!("https://user:{value}@example.test/"),
        format!("Authorization: Bearer {value}"),
        format!("curl -H 'authorization: Basic {value}'"),
    ];
    let by_long = [format!("bearer {long}"), format!("aws_secret_access_key = {long}")];
    let with = |secret: String, texts: Vec<String>| {
        texts.into_iter().map(move |text| (secret.clone(), text))
    };
    with(value, by_value.into()).chain(with(long, by_long.into())).collect()
}

/// Secrets that are known by the text right around them, each in a text.
pub(crate) fn placed() -> Vec<(&'static str, String, String)> {
    let mixed = |length| made(length, MIXED);
    let (token, basic, key, hex) = (mixed(40), mixed(24), mixed(32), made(32, HEX));
    let hook = ["T0", &mixed(9), "/B0", &mixed(9), "/", &mixed(24)].concat();
    let discord = ["M", &mixed(25), ".", &mixed(6), ".", &mixed(38)].concat();
    let aws = made(40, &format!("{MIXED}+/"));
    let text = |kind, secret: &str, text: String| (kind, secret.to_owned(), text);
    vec![
        text("AWS secret key", &aws, format!("aws_secret_access_key = {aws}\n")),
        text("Slack webhook", &hook, format!("https://hooks.slack.com/services/{hook}")),
        text("Discord token", &discord, format!("discord.login('{discord}')")),
        text("password in a URL", &basic, format!("https://user:{basic}@example.test/")),
        text("token in a URL", &token, format!("git clone https://{token}@github.test/a/b")),
        text("authorization", &basic, format!("Authorization: Bearer {basic}")),
        text("authorization", &token, format!("curl -H 'Authorization: {token}' x")),
        text("authorization", &token, format!("{{\"authorization\": \"{token}\"}}")),
        text("authorization", &token, format!("bearer {token}")),
        text("password", &basic, format!("curl -s -u me:{basic} https://example.test")),
        text("password", &basic, format!("curl --user 'me:{basic}' https://example.test")),
        text("password", &basic, format!("CREATE USER me IDENTIFIED BY '{basic}'")),
        text("password", &basic, format!("CREATE ROLE me WITH PASSWORD '{basic}'")),
        text("password", &basic, format!("The root password is {basic}, for now.")),
        text(
            "password",
            &basic,
            format!("A temporary password is generated for root@localhost: {basic}"),
        ),
        text("password", &token, format!("SECRET_KEY_BASE={token}")),
        text("password", &basic, format!("root:{basic}@tcp(127.0.0.1:3306)/db")),
        text("Google key", &token, format!("AQ.Ab{token}")),
        text("private key", &token, format!("Private-Lines: 1\n{token}\nPrivate-MAC: 0")),
        text("key", &token, format!("{{\"type\": \"api\", \"key\": \"{token}\"}}")),
        text(
            "key",
            &token,
            format!("{{\"keyName\": \"key1\", \"permissions\": \"FULL\", \"value\": \"{token}\"}}"),
        ),
        text("key", &token, format!("Unseal Key 1: {token}\n")),
        text("password", &basic, format!("requirepass {basic}\n")),
        text("password", &basic, format!("CONFIG SET masterauth \"{basic}\"")),
        text("token", &token, format!("\"type\": \"oauth\", \"refresh\": \"{token}\"")),
        text("token", &token, format!("\"access\": \"{token}\", \"expires\": 1")),
        text("secret", &basic, format!("\"Type\": \"SecureString\", \"Value\": \"{basic}\"")),
        text("secret", &basic, format!("\"SecretString\": \"{basic}\"")),
        text("password", &basic, format!("SET PASSWORD FOR me = '{basic}'")),
        text("password", &basic, format!("    [password] => {basic}")),
        text("password", &basic, format!("password    {basic}")),
        text("password", &basic, format!("DB_PASSWORD    {basic}")),
        text("password", &basic, format!("<property name=\"password\" value=\"{basic}\"/>")),
        text("password", &basic, format!("<add key=\"DbPassword\" value=\"{basic}\" />")),
        text("password", &basic, format!("Password: {basic}&)x")),
        text("password", &token, format!("api_key     {token}")),
        text("password", &basic, format!("K10{hex}{hex}::server:{basic}")),
        text("password", &basic, format!("1) \"requirepass\"\n2) \"{basic}\"")),
        text("password", &basic, format!("ACL SETUSER me on >{basic} ~* +@all")),
        text("key", &basic, format!("define( 'NONCE_SALT', '{basic} {token}' );")),
        text("password", &hex, format!("proceed to installation:\n\n{hex}\n")),
        text("password", &basic, format!("successfully reset.\nNew value: {basic}")),
        text("password", &basic, format!("Password for user me: {basic}\n")),
        text("cookie", &token, format!("curl -b 'theme=dark; sid={token}' https://a.test")),
        text("key in a URL", &key, format!("https://mainnet.infura.io/v3/{key}")),
    ]
}

/// The first and the last line of a private key.
pub(crate) fn marks() -> [String; 2] {
    ["BEGIN", "END"].map(|it| ["-----", it, " PRIV", "ATE KEY-----"].concat())
}
