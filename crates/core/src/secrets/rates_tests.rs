//! Recall and false alarms: the share of secrets that is found, and of harmless texts that is taken for secret.

use super::mask;
use super::providers::{SHAPES, drawn, filled};
use crate::xml::escape_xml;

/// Ways in which texts stand in other ones.
fn surrounded(text: &str) -> [String; 8] {
    [
        text.to_owned(),
        format!("I saw {text} there"),
        format!("- f3: {text}"),
        format!("begin\n{text}\nend"),
        serde_json::to_string(text).unwrap(),
        escape_xml(text).into_owned(),
        serde_json::to_string(&format!("done\n{text}\n")).unwrap(),
        format!("\u{1b}[32m{text}\u{1b}[0m"),
    ]
}

#[test]
fn nearly_all_keys_of_known_providers_are_masked() {
    let mut random = drawn(7);
    let (mut all, mut missed) = (0, Vec::new());
    for (provider, shape) in SHAPES {
        for _ in 0..3 {
            let (text, secret) = filled(shape, &mut random);
            let third = secret.len() / 3;
            let middle = &secret[third..secret.len() - third];
            for text in surrounded(&text) {
                all += 1;
                let masked = mask(&text);
                assert_eq!(mask(&masked), masked, "masking twice is masking once");
                if masked.contains(middle) {
                    missed.push(format!("{provider}: {shape}"));
                }
            }
        }
    }
    assert!(missed.len() * 50 <= all, "{} of {all}: {missed:#?}", missed.len());
}

#[test]
fn what_was_once_left_is_masked() {
    let value = ["Tr0ub4", "dorXk9"].concat();
    let wallet = filled("5{550}", drawn(3)).0;
    let aws = filled("AKIA{u16}", drawn(3)).0;
    let words = "legal winner thank year wave sausage worth useful legal winner thank yellow";
    let encoded = ["cGFzc3dvcmQ9WG", "s5VHIwdWI0ZG9yWGs5VHI="].concat();
    for (text, secret) in [
        (format!("output\n{aws}\nend"), &*aws),
        (format!("mysql -u root -p{value} db"), &*value),
        (format!("mysql \\\n  -u root \\\n  -p{value} db"), &value),
        (format!("curl -s \\\r\n  -u me:{value} \\\n  https://x.test"), &value),
        (format!("{{\"passwords\": [\n    \"{value}\"\n]}}"), &value),
        (format!("api_tokens = ['{value}', 'none']"), &value),
        (format!("| user | password |\n|---|:--:|\n| me | {value} |\n"), &value),
        (format!(" user | password \n------+----------\n me   | {value}\n"), &value),
        (format!("CREATE USER me IDENTIFIED BY '{value}';"), &value),
        (format!("SECRET_KEY_BASE={value}{value}"), &value),
        (format!("name | `api_key`\n--- | ---\nx | **{value}**"), &value),
        (format!("1: - name: DB_PASSWORD\n2:   value: {value}\n"), &value),
        (format!("     1→password:\n     2→  {value}\n"), &value),
        (format!("00001| user,password\n00002| me,{value}\n"), &value),
        (format!("12:| user | password |\n13:|---|---|\n14:| me | {value} |\n"), &value),
        (format!("user;password\nme;{value}\n"), &value),
        (format!("user|password\nme|{value}\n"), &value),
        (format!("User name,Password\nme,{value}\n"), &value),
        (
            format!(
                "{{\"Name\": \"DB_PASSWORD\", \"Type\": \"SecureString\", \"Value\": \"{value}\"}}"
            ),
            &value,
        ),
        (format!("{{\"ParameterKey\": \"DbPassword\", \"ParameterValue\": \"{value}\"}}"), &value),
        (format!("<input name=\"password\" type=\"text\" value=\"{value}\">"), &value),
        (format!("CREATE USER me WITH PASSWORD '{value}';"), &value),
        (format!("A temporary password is generated for root@localhost: {value}"), &value),
        (format!("<li><b>Password:</b> {value}</li>"), &value),
        (format!("<b>Password</b>: {value}"), &value),
        (format!("\u{1b}[1mpassword\u{1b}[0m: {value}"), &value),
        (format!("| Password | {value} |\n"), &value),
        (format!("The password is {value}."), &value),
        (format!("my API key is `{value}{value}`"), &value),
        (format!("<p>Password: <code>{value}</code></p>"), &value),
        (format!("**Password:** {value}"), &value),
        (format!("- **API Key**: {value}{value}"), &value),
        (format!("*db password*: {value}\n"), &value),
        (format!("API key: {value}{value}\n"), &value),
        (format!("user,password,role\nme,{value},admin\nyou,none,user\n"), &value),
        (format!("user\tpassword\r\nme\t{value}\r\n"), &value),
        (format!("│ user │ password │\n├──┼──┤\n│ me │ {value} │\n"), &value),
        (format!("┌──┐\n│ api_key │\n╞══╡\n│ {value}{value} │\n└──┘"), &value),
        (format!("-[ RECORD 1 ]---\nuser     | me\npassword | {value}\n"), &value),
        (format!("passwords:\n  - none\n  - {value}\n"), &value),
        (format!("api_keys:\n- '{value}{value}'\n- b"), &value),
        (format!("set -x DB_PASSWORD {value}"), &value),
        (format!("set -gx API_KEY {value}{value}"), &value),
        (format!("setx API_KEY {value}{value}"), &value),
        (format!("<tr><td>password</td><td>{value}</td></tr>"), &value),
        (format!("<th>Password</th>\n  <td><b>{value}</b></td>"), &value),
        (format!("sshpass -p {value} ssh x"), &value),
        (format!("mot de passe : {value}"), &value),
        (format!("[Peer]\nPresharedKey = {value}{value}=\n"), &value),
        (format!("pre-shared key: {value}{value}"), &value),
        (format!("Пароль: {value}\n密码: {value}"), &value),
        (format!("network={{\n  psk=\"{value}\"\n}}"), &value),
        (format!("user: me\npw: {value}\npwd: {value}\n"), &value),
        (format!("level=info user=me pass={value} at=login"), &value),
        (format!("  ~ db_password = \"old{value}\" -> \"{value}\""), &value),
        (format!("{{\"value\": \"{value}\", \"name\": \"DB_PASSWORD\"}}"), &value),
        (format!("env:\n- value: {value}\n  name: DB_PASSWORD\n"), &value),
        (format!("\"user\", \"password\"\n\"me\", \"{value}\"\n"), &value),
        (format!("Cookie: session={value}"), &value),
        (format!("Set-Cookie: sid={value}; HttpOnly"), &value),
        (format!("localhost:5432:db:me:{value}"), &value),
        (format!("password:\n  {value}"), &value),
        (format!("password: |\n  {value}\nuser: me"), &value),
        (format!("password:\\n  {value}\\n"), &value),
        (format!("define('DB_PASSWORD', '{value}');"), &value),
        (format!("setenv(\"DB_PASSWORD\", \"{value}\")"), &value),
        (format!("ansible_become_pass: {value}"), &value),
        (format!("Passwort: {value}"), &value),
        (format!("use db: password: {value} there"), &value),
        (format!("api_key=&quot;{value}&quot;"), &value),
        (format!("api_key=&amp;quot;{value}&amp;quot;"), &value),
        (format!("password = &#39;{value}&#39;"), &value),
        (format!("\\\"password\\\":\\\"{value}\\\""), &value),
        (format!("\\\\\\\"password\\\\\\\": \\\\\\\"{value}\\\\\\\""), &value),
        (format!("\\u0022password\\u0022:\\u0022{value}\\u0022"), &value),
        (format!("%22password%22%3A%22{value}%22"), &value),
        (format!("{{\"pass\": \"{value}\"}}"), &value),
        (format!("name: DB_PASSWORD, value: {value}"), &value),
        (format!("<password>{value}</password>"), &value),
        (format!("&lt;password&gt;{value}&lt;/password&gt;"), &value),
        (wallet.clone(), &wallet),
        (format!("seed phrase: {words}"), words),
        (encoded.clone(), &encoded),
        (format!("data {encoded}"), &encoded),
    ] {
        gone(&text, secret);
    }
}

fn gone(text: &str, secret: &str) {
    let masked = mask(text);
    assert!(!masked.contains(secret) && masked.contains("‹masked: "), "{masked}");
    assert_eq!(mask(&masked), masked);
}

#[test]
fn logins_and_settings_of_connections_are_masked() {
    let value = ["Tr0ub4", "dorXk9"].concat();
    for (text, secret) in [
        (format!("machine a.test\nlogin me\naccount x\npassword {value}\n"), &*value),
        ("Server=db;User Id=sa;Password=correcthorse;Encrypt=true".to_owned(), "correcthorse"),
        (format!("{{\"label\": \"password\", \"value\": \"{value}\"}}"), &value),
        (format!("ACCESSKEY={value}"), &value),
        (format!("\"machine a.test\\nlogin me\\npassword {value}\\n\""), &value),
        (format!("machine a.test login me password \"{value}\""), &value),
        (format!("\"machine a.test login me password {value}\""), &value),
        (format!("\"secret    {value}{value}\\nme\""), &value),
        (format!("A=b\0DB_PASSWORD={value}\0C=d"), &value),
        ("_auth = bWU6aHVudGVyMmh1bnRlcjI=".to_owned(), "bWU6aHVudGVyMmh1bnRlcjI="),
    ] {
        gone(&text, secret);
    }
}

#[test]
fn what_clients_and_databases_print_is_masked() {
    let value = ["Tr0ub4", "dorXk9"].concat();
    for text in [
        format!("Success: Created user 2.\nPassword: {value}&R(9b\n"),
        format!("spring.datasource.password={value}]x\n"),
        format!("ALTER USER me PASSWORD '{value}'"),
        format!("CREATE ROLE app WITH LOGIN PASSWORD '{value}'"),
        format!("CREATE USER app LOGIN PASSWORD '{value}'"),
        format!("dsn: root:{value}@tcp(127.0.0.1:3306)/db"),
        format!("SET PASSWORD FOR 'me'@'%' = '{value}';"),
        format!("[user] => me\n    [password] => {value}\n"),
        format!("Key         Value\n---         -----\npassword    {value}\nusername    me"),
        format!("{{\"SecretString\": \"{value}\"}}"),
        format!(
            "{{\"Name\": \"/a/password\", \"Type\": \"SecureString\", \"Value\": \"{value}\"}}"
        ),
        format!("{{\"type\": \"api\", \"key\": \"{value}{value}\"}}"),
        format!(
            "{{\"type\": \"oauth\", \"refresh\": \"{value}{value}\", \"access\": \"{value}{value}\", \
                 \"expires\": 1}}"
        ),
        format!("AQ.Ab{value}{value}{value}{value}"),
        format!("Private-Lines: 1\n{value}{value}\nPrivate-MAC: 00"),
    ] {
        gone(&text, &value);
    }
}

#[test]
fn what_programs_say_and_settings_of_java_hold_is_masked() {
    let value = ["Tr0ub4", "dorXk9"].concat();
    let key = filled("{h32}", drawn(5)).0;
    for (text, secret) in [
        (format!("Your password is: {value}\n"), &value),
        (format!("The generated password for the elastic built-in superuser is : {value}"), &value),
        (format!("    storePassword '{value}'\n    keyAlias 'a'\n"), &value),
        (format!("+    keyPassword \"{value}\"\n"), &value),
        (format!("keytool -genkey -keystore k.jks -storepass {value} -alias a"), &value),
        (format!("keytool -importkeystore -srcstorepass '{value}'"), &value),
        (format!("https://mainnet.infura.io/v3/{key}"), &key),
        (format!("wss://mainnet.infura.io/ws/v3/{key}\", \"a\""), &key),
        (format!("https://eth-mainnet.g.alchemy.com/v2/{key}"), &key),
    ] {
        gone(&text, secret);
    }
}

#[test]
fn values_of_numbered_names_are_masked() {
    for (text, secret) in [
        ("DB_PASSWORD1=Wq7rT2yU9pL4", "Wq7rT2yU9pL4"),
        ("password2: Wq7rT2yU9pL4", "Wq7rT2yU9pL4"),
        ("SERVICE_API_KEY_1=\"Zx81kQm20Rt7Vb5\"", "Zx81kQm20Rt7Vb5"),
        ("{\"apiKey2\": \"Zx81kQm20Rt7Vb5\"}", "Zx81kQm20Rt7Vb5"),
    ] {
        gone(text, secret);
    }
    for text in ["token1 = parser.next()", "key_10 = 4", "password1: string", "secret2024: false"] {
        assert_eq!(mask(text), text);
    }
}

#[test]
fn lines_of_a_diff_are_masked_as_without_its_signs() {
    let value = ["horse2", "staple"].concat();
    for text in [
        format!("+machine a.test login me password {value}\n"),
        format!("+machine a.test\n+  login me\n+  password {value}\n"),
        format!("-machine a.test\n-login me\n-password {value}\n"),
        format!("+user,password\n+me,{value}\n"),
        format!("-user;password\n-me;{value}\n"),
        format!("@@ -0,0 +1 @@\n+ENV DB_PASSWORD {value}\n"),
    ] {
        gone(&text, &value);
    }
}

#[test]
fn tokens_that_only_sound_like_those_of_lists_and_requests_are_masked() {
    let value = ["a1B2c3", "d4E5f6"].concat();
    for text in [
        format!("\"client_token\": \"{value}\""),
        format!("\"unlock_token\": \"{value}\""),
        format!("BLOCK_TOKEN={value}"),
        format!("\"signingKey\": \"{value}{value}\""),
    ] {
        gone(&text, &value);
    }
}

/// Lines without secrets, in the notation of [`SHAPES`].
const HARMLESS: &[&str] = &[
    "[password] => required|string|min:8",
    "'password' => 'required|min:8|confirmed',",
    "{\"type\": \"api\", \"key\": \"users.profile.display\"}",
    "# requirepass is not set by default",
    "<property name=\"password\" value=\"${db.password}\"/>",
    "<add key=\"PasswordPolicy\" value=\"strict2\" />",
    "commit {h40}",
    "Merge: {h7} {h7}",
    "index {h7}..{h7} 100644",
    "checksum = \"{h64}\"",
    "      \"integrity\": \"sha512-{b86}==\",",
    "      \"resolved\": \"https://registry.npmjs.org/a/-/a-{d1}.{d2}.{d1}.tgz\",",
    "h1:{b43}=",
    "sha256:{h64}",
    "Digest: sha256:{h64}",
    "{h8}-{h4}-4{h3}-a{h3}-{h12}",
    "\"id\": \"{h8}-{h4}-4{h3}-a{h3}-{h12}\",",
    "ses_{a24} msg_{a24} prt_{a24} call_{a24}",
    "frm-{h12} f{d2} p{d1} [callstack] frame f{d1} returned",
    "stack_log {\"frame\":\"f{d2}\"}",
    "\"toolu_01{a22}\"",
    "![picture](data:image/png;base64,iVBORw0KGgo{b400})",
    "src: url(data:font/woff2;base64,d09GMgABAAAAA{b400})",
    "{b76}",
    "test secrets::tests::every_form_{d2} ... ok",
    "--- PASS: TestToken{d2} (0.{d2}s)",
    "    at Object.<anonymous> (/home/me/src/{l8}.test.ts:{d3}:{d2})",
    "thread 'main' panicked at crates/core/src/{l8}.rs:{d3}:{d2}:",
    "2026-01-{d2}T12:00:{d2}Z INFO request id={h16} took {d3}ms token_count={d4}",
    "127.0.0.1 - - [01/Jan/2026:12:00:{d2} +0000] \"GET /{l8}?page={d2} HTTP/1.1\" 200 {d4}",
    "Jan 01 12:00:{d2} host sshd[{d4}]: Accepted publickey for me from 10.0.0.{d2} port {d4}",
    "let token = tokens.get(index{d1})?;",
    "let secret = read_secret(&path{d1})?;",
    "const key{d1} = Object.keys(map)[{d1}];",
    "    password: String,",
    "    pub api_key: Option<String>,",
    "def login(user: str, password: str) -> Token{d1}:",
    "if (password.length < {d2}) throw new Error('password too short');",
    "self.access_token = response.json()[\"access_token\"]",
    "password = os.environ[\"DB_PASSWORD_{d1}\"]",
    "String token = request.getHeader(\"X-Token-{d1}\");",
    "private static final String KEY_{d2} = \"key.{l8}\";",
    "#define TOKEN_{d2} 0x{h8}",
    "mov rax, 0x{h16}",
    "0x{h8}: {h4} {h4} {h4} {h4}",
    "cookie: Cookie{d1} = jar.get(name)",
    "cookies = requests.cookies.RequestsCookieJar()",
    "name: build-{d2}, value: matrix-{d2}",
    "<a href=\"https://example.test/{l8}/{l8}#L{d3}\">line {d3}</a>",
    "https://github.com/a/b/commit/{h40}",
    "https://example.test/?page={d2}&sort=name&key=title{d1}",
    "npm error code E{d3}",
    "Compiling serde v1.0.{d3}",
    "added {d3} packages in {d2}s",
    "docker pull registry.example.test/a/b@sha256:{h64}",
    "mysql -u root -p shop < dump{d1}.sql",
    "mysql --port 33{d2} --protocol tcp",
    "docker run -p 80{d2}:8080 nginx:1.{d2}",
    "ssh -p 22{d2} me@example.test",
    "git log --oneline -p -{d1} src/{l8}.rs",
    "kubectl get secret app-tls-{d1} -o yaml",
    "Error: token expired {d2} minutes ago (request {h16})",
    "expected token `;`, found `}` at {d3}:{d2}",
    "max_tokens: {d4}, token_budget: {d4}",
    "eslint-disable-next-line key-spacing -- see #{d3}",
    "@media (min-width: {d3}px) { .token-{d2} { color: #{h6} } }",
    "  sk-icon-{l4}-button {l6} key-{l8}",
    "you can have that idea when this work will turn into good code and not before",
    "{d2}\t{d3}\tcrates/core/src/{l8}.rs",
    "CREATE TABLE tokens (id INTEGER PRIMARY KEY, hash BLOB NOT NULL, size_{d2} INT);",
    "type Props = { token: string; secret?: string; id{d1}: number };",
    "aGVsbG8gd29ybGQsIHRoaXMgaXMgYSB0ZXh0IHdpdGhvdXQgYW55dGhpbmcgdG8gaGlkZQ==",
    "error[E0{d3}]: cannot find value `api_key` in this scope",
    "localhost:{d4}:{d2}:error: expected identifier",
    "| token | kind |\n| --- | --- |\n| parse_{l8} | {l8}.rs:{d2} |",
    "\"tokens\": [\"let\", \"total{d2}\", \"index_{d3}\"], \"keys\": [\"{a24}\"]",
    "| Version | Pass |\n| --- | --- |\n| a{d1} | v1.{d1}.3-beta{d1} |",
    "name: token, type: string, value: none{d1}",
    "user|password\nstring|string{d1}",
    "a;password;c\nb1;required{d1};c2",
    "| Password | required{d1} |",
    "with password 'changeme'",
    "the token is expired_{d1}, the key is missing",
    "the secret is read from config.yml and the password is required",
    "| Name | Token |\n| --- | --- |\n| a{d1} | sha256:{h64} |",
    "first-pass: O2-optimized{d1}",
    "user,password,token\nfirst_name,last_name{d1},next_token",
    "    user,\n    password,\n    token{d1},",
    "(user, password)\n(user{d1}, hunter{d2})",
    "passwords:\n  - type: string\n  - min{d1}: length{d2}",
    "password | null\ntoken | undefined{d1}",
    "<td>Password</td><td>required{d1}</td>",
    "**Token:** the next one of {d2}",
    "the key: value{d1} and the private key: file{d2}",
    "set -x\nAPI_KEY\tsize{d1}",
    "passwords = [\"\", None, os.environ[\"P{d1}\"]]",
    "accessKey: ctrl+alt+{d1}",
    "pass={d2} fail={d1} skip=0",
    "- name: A\n  value: v{d1}x\n- name: DB_PASSWORD\n  valueFrom: x{d1}",
    "awk '{ pw=$2; psk=size{d1} }'",
    "cpw: value{d1}, wpw={d3}",
    "smtp.user, smtp.password = sim_auth[{d1}], sim_auth[{d1}]",
    "smtp.password = sim_auth[{d1}], None",
    "\"Token\": \"#{h6}\", Token: \"#{h6}\",",
    "the password is: required, the key is: {d2}",
    "    password 'string'\n",
    "        pw: __uint64,\n        psk: u8,",
    "\"sensitive\": false, \"type\": \"string\", \"value\": \"release-{d4}\"",
    "\"sensitive\": true, \"type\": \"string\", \"value\": \"(sensitive value)\"",
    "{\"kty\": \"EC\", \"crv\": \"P-256\", \"x\": \"{w43}\", \"y\": \"{w43}\", \"kid\": \"{w22}\"}",
    "default-token-{l5}   kubernetes.io/service-account-token   3      {d2}d",
    "app-secret   Opaque   {d1}   {d3}d",
    "secret_id_accessor    {h8}-{h4}-{h4}-{h4}-{h12}",
    "define( 'AUTH_KEY', 'put your unique phrase here' );",
    "example.test\tFALSE\t/\tFALSE\t{d10}\ttheme\tdark{d2}",
    "{\"name\": \"theme\", \"value\": \"dark-{d2}\", \"httpOnly\": true}",
    "[sudo] password for me: Reading package lists... {d2}%",
    "sqlplus /nolog @scripts/report{d2}.sql",
    "net use Z: \\\\files\\share{d2}",
    "openssl x509 -in cert{d2}.pem -noout -text",
    "http --auth-type basic example.test/{l8}",
    "gh secret set API_KEY{d1} < key.txt",
    "echo $TOKEN{d1} | docker login -u me --password-stdin",
    "jdbc:postgresql://db:54{d2}/app?ssl=true&user=me",
    "jdbc:mysql://db/app?user=me&password=${DB_PASSWORD}",
    "New value: {d4}",
    "curl -b cookies{d1}.txt -c cookies.txt https://example.test",
    "a;token=next{d1};password=decoded;",
    "<Reference Include=\"A.Core, Version={d1}.0.0.0, Culture=neutral, PublicKeyToken={h16}\" />",
    "\"publicKeyToken\": \"{h16}\"",
    "user.signingkey={H16}",
    "[user]\n\tsigningkey = {H40}",
    "\"NextToken\": \"{a40}\",",
    "aws s3api list-objects --starting-token {a40}",
    "aws ecs run-task --client-token {h8}-{h4}-4{h3}-a{h3}-{h12}",
    "\"ClientToken\": \"{h8}-{h4}-4{h3}-a{h3}-{h12}\",",
    "\"LockToken\": \"{h8}-{h4}-4{h3}-a{h3}-{h12}\",",
    "\"IdempotencyToken\": \"{h8}-{h4}-4{h3}-a{h3}-{h12}\",",
    "\"output_token\": \"StreamingDistributionList.NextMarker\",",
    "DB_PASSWORD=op://prod/db{d1}/password",
    "DB_PASSWORD: projects/shop{d1}/secrets/db-password/versions/{d1}",
];

#[test]
fn harmless_lines_stay() {
    let mut random = drawn(11);
    let (mut lines, mut wrong) = (0, Vec::new());
    for _ in 0..200 {
        for shape in HARMLESS {
            let (line, _) = filled(shape, &mut random);
            lines += 1;
            if mask(&line) != line {
                wrong.push(line);
            }
        }
    }
    assert!(lines >= 10_000 && wrong.len() * 10_000 <= lines, "of {lines}: {wrong:#?}");
}
