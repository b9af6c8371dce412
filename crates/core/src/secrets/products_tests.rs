//! Secrets as products, databases and commands print them, and harmless texts that look alike.

use super::fakes::{HEX, LETTERS, MIXED, made};
use super::mask;

/// Asserts that nothing of the value is left where `{}` stands in each text, also in JSON.
#[track_caller]
fn gone(value: &str, texts: &[&str]) {
    for text in texts {
        let text = text.replace("{}", value);
        for text in [serde_json::to_string(&text).unwrap(), text] {
            let masked = mask(&text);
            assert!(!masked.contains(value) && masked.contains("‹masked: "), "{masked}");
            assert_eq!(mask(&masked), masked);
        }
    }
}

/// Asserts the same for texts of which the lines count.
#[track_caller]
fn gone_in_lines(value: &str, texts: &[&str]) {
    for text in texts {
        let masked = mask(&text.replace("{}", value)).into_owned();
        assert!(!masked.contains(value), "{masked}");
        assert_eq!(mask(&masked), masked);
    }
}

#[track_caller]
fn kept(texts: &[&str]) {
    for text in texts {
        assert_eq!(mask(text), **text);
    }
}

fn hex(length: usize) -> String {
    made(length, HEX)
}

fn mixed(length: usize) -> String {
    made(length, MIXED)
}

fn uuid() -> String {
    let digits = hex(32);
    let part = |place: std::ops::Range<usize>| digits[place].to_owned();
    [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-")
}

#[test]
fn passwords_without_a_digit_are_masked() {
    let short = made(14, LETTERS);
    gone(
        &short,
        &[
            "password={}",
            "  Password:    {}",
            "DB_PASSWORD: \"{}\"",
            "dsn: \"user=me password={} host=db.example.test\"",
        ],
    );
    gone_in_lines(&short, &["| user | password |\n|---|---|\n| me | {} |"]);
    kept(&[
        "password: newPassword",
        "password: XMLHttpRequest",
        "password = getPasswordFromVault",
        "password: useAuthToken",
        "password: passwordField",
        "password=AbstractFactoryBean",
        "token: HTMLInputElement",
        "password: JsonWebTokenError",
        "secret: SecretKeySelector",
        "password: PBKDFParameters",
    ]);
}

#[test]
fn values_that_only_begin_as_placeholders_are_masked() {
    gone("yourTiger(!)Sa9", &["docker run -e \"MSSQL_SA_PASSWORD={}\" a", "DB_PASSWORD={}"]);
    kept(&["DB_PASSWORD=YourStrong@Passw0rd", "-e \"SA_PASSWORD=yourStrong(!)Password\""]);
}

#[test]
fn values_in_drawn_tables_are_masked() {
    gone_in_lines(
        &made(32, LETTERS),
        &["║ CACHEPASSWORD │ {} ║\n║───────────────║\n║ CACHEPORT │ 6379 ║\n"],
    );
    gone_in_lines(
        &mixed(40),
        &[
            "+------------+---+\n| API Key    | A |\n| API Secret | {} |\n+------------+---+\n",
            "┃ Access Token ┃ {} ┃\n",
        ],
    );
}

#[test]
fn keys_in_columns_are_masked() {
    gone_in_lines(
        &hex(40),
        &[
            "a=# select key, user_id from authtoken_token;\n   key   | user_id\n---------+---------\n {} | 3\n",
            "mysql> SELECT `key`, id FROM api_keys_token;\n+---+---+\n| key | id |\n+---+---+\n| {} | 3 |\n+---+---+\n",
            "a=# select token from sessions;\n   token   \n-----------\n {}\n(1 row)\n",
            "Key1                                      Key2\n----------------------------------------  ----\n{}  b\n",
            "KeyName    Permissions    Value\n---------  -------------  -------\nkey1       FULL           {}\n",
            "+----+-------+\n| id | token |\n+====+=======+\n| 1 | none |\n+----+-------+\n| 2 | {} |\n+----+-------+\n",
        ],
    );
    let digest = hex(40);
    kept(&[
        &format!("a=# select key, size from cache;\n key | size\n-----+-----\n {digest} | 3\n"),
        &format!("Key       Size\n--------  ----\n{digest}  4\n"),
        &format!("Name      Key1 of\n--------  -------\n{digest}  a1\n"),
        "Password\n--------\nThe password1 is one of the settings2\n",
    ]);
}

#[test]
fn values_for_missing_variables_are_masked() {
    gone(
        &mixed(24),
        &[
            "let key = std::env::var(\"SHOP_API_KEY\")\n    .unwrap_or_else(|_| \"{}\".to_string());",
            "env::var(\"SHOP_API_KEY\").ok().unwrap_or(\"{}\".into())",
            "os.getenv(\"SHOP_API_KEY\", \"{}\")",
            "os.environ.get('SHOP_TOKEN') or '{}'",
            "config('SHOP_SECRET', default='{}')",
            "process.env[\"SHOP_TOKEN\"] ?? \"{}\"",
            "process.env.SHOP_TOKEN || \"{}\"",
            "ENV.fetch(\"SHOP_SECRET\", \"{}\")",
            "ENV['SHOP_SECRET'] || '{}'",
            "System.getenv().getOrDefault(\"SHOP_SECRET\", \"{}\")",
            "Optional.ofNullable(System.getenv(\"SHOP_SECRET\")).orElse(\"{}\")",
            "System.getenv(\"SHOP_SECRET\") ?: \"{}\"",
            "getenv('SHOP_API_KEY') ?: '{}'",
            "$ENV{SHOP_API_KEY} // '{}'",
            "String.fromEnvironment('SHOP_API_KEY', defaultValue: '{}')",
            "SHOP_API_KEY: ${SHOP_API_KEY:-{}}",
        ],
    );
    kept(&[
        "os.getenv(\"SHOP_API_KEY\", \"your-api-key\")",
        "getenv('SHOP_API_KEY') ?: 'changeme'",
        "process.env[\"SHOP_TOKEN\"] ?? \"\"",
        "env::var(\"SHOP_API_KEY\").unwrap_or_else(|_| \"none\".to_string())",
        "config('SHOP_TOKEN', default='next_token2')",
        "API_KEY: ${API_KEY:-changeme}",
        "if name == \"token\" || \"abc1\" == name {",
    ]);
}

#[test]
fn arguments_of_calls_are_masked() {
    gone(
        "horse2staple!x",
        &[
            "requests.post(url, auth=(\"api\", \"{}\"), data=x)",
            "httpx.get(url, auth=HTTPBasicAuth('me', '{}'))",
            "req.SetBasicAuth(\"me\", \"{}\")",
            "client.get(url).basic_auth(\"me\", Some(\"{}\"))",
            "#0 a.php(70): PDO->__construct('mysql:host=127....', 'me', '{}', Array)",
            "#0 a.php(7): mysqli->__construct('localhost', 'me', '{}', 'shop')",
            "$db = new PDO(\n    'mysql:host=localhost',\n    'me',\n    '{}'\n);",
            "jwt.sign(\n  { id: user.id },\n  \"{}\",\n  { expiresIn: \"7d\" }\n)",
            "JWT::encode($payload, '{}', 'HS256')",
            "crypto.createHmac('sha256', '{}')",
        ],
    );
    gone(
        &hex(32),
        &[
            "SearchClient::create(\n    'A1B2C3D4E5',\n    '{}'\n);",
            "client = SearchClient.create('A1B2C3D4E5', '{}')",
            "client := search.NewClient(\"A1B2C3D4E5\", \"{}\")",
        ],
    );
    kept(&[
        "auth=(\"user\", \"password\")",
        "auth=(username, password1)",
        "jwt.verify(token, 'secret', callback)",
        "jwt.sign({ id: 1 }, process.env.JWT_SECRET, { expiresIn: '7d' })",
        "new PDO('sqlite::memory:')",
        "#0 a.php(7): PDO->__construct('mysql:host=a', 'me', Object(SensitiveParameterValue))",
    ]);
}

#[test]
fn arguments_and_output_of_commands_are_masked() {
    let id = uuid();
    gone(
        &id,
        &[
            "./codecov -v upload-process -t {} -f lcov.info",
            "snyk auth {}",
            "npx cypress run --record --key {}",
        ],
    );
    gone(
        &hex(40),
        &[
            "wandb login --relogin {}",
            "$ cat config/master.key\n{}\n$ ls\n",
            "$ cat /run/secrets/db_password\n{}\n",
            "$ sudo cat /var/lib/ci/secrets/initialAdminPassword\n{}",
            "$ echo $SHOP_API_KEY\n{}\n",
            "$ printenv SHOP_TOKEN\n{}\n",
            "$ heroku config:get SHOP_SECRET -a shop\n{}\n",
            "$ terraform output -raw db_password\n{}\n",
            "$ kubectl get secret a -o jsonpath='{.data.b}' | base64 -d\n{}\n",
            "$ openssl rand -hex 20\n{}\n",
            "poetry config pypi-token.shop {}",
            "composer config http-basic.repo.example.test me {}",
            "pulumi config set --secret dbPassword {}",
        ],
    );
    kept(&[
        &format!("git log --author token -t {id}"),
        &format!("user login {id} took 3ms"),
        &format!("$ cat build.sha256\n{}\n", hex(64)),
        "$ cat secret.rs\nfn main() {\n",
        "$ echo $TOKEN_COUNT1\n12345678\n",
        "git config user.name horse2staple",
        "npm config set registry https://registry.example.test/a1",
        "$ cat docs/token.md\n# Tokens\n",
    ]);
}

#[test]
fn names_headers_and_addresses_of_services_are_masked() {
    gone(
        &mixed(52),
        &[
            "export AZURE_DEVOPS_EXT_PAT={}",
            "GITHUB_PAT: {}",
            "\"gitlab_pat\": \"{}\"",
            "curl -H \"X-Repo-Art-Api: {}\" https://a.test",
            "X-Functions-Key: {}",
            "https://maker.ifttt.com/trigger/door/with/key/{}",
            "https://api.render.com/deploy/srv-a1?key={}",
        ],
    );
    gone(
        &hex(32),
        &[
            "- routing_key: {}\n",
            "integration_key = \"{}\"",
            "curl -X POST https://api.netlify.com/build_hooks/{}",
            "https://chat.example.test/hooks/{}",
            "https://hook.eu1.make.com/{}",
            "mailgun: {}-0a1b2c3d-4e5f6a7b",
        ],
    );
    kept(&[
        "routing_key: orders.created.v1",
        "X-Cache-Key: a1B2c3d4E5f6a7B8",
        "DATE_PAT = \"%Y-%m-%d1\"",
        "file_pat=\"*.rs2\"",
        "https://example.test/docs/hooks/use-state-and-effects",
        "https://docs.example.test/hooks/useLocalStorage",
    ]);
}

#[test]
fn hashes_of_passwords_are_masked_and_digests_stay() {
    let bcrypt = ["$2y$", "10$", &mixed(53)].concat();
    let crypt = ["$6$", &mixed(16), "$", &mixed(86)].concat();
    let argon = ["$argon2id$", "v=19$m=65536,t=3,p=4$", &mixed(22), "$", &mixed(43)].concat();
    let django = ["pbkdf2_", "sha256$600000$", &mixed(22), "$", &mixed(43), "="].concat();
    let jenkins = ["{AQAA", &mixed(56), "=}"].concat();
    let windows = ["AQAAANCMnd8", &mixed(120), "=="].concat();
    for hash in [bcrypt, crypt, argon, django, jenkins, windows] {
        gone(
            &hash,
            &["password: \"{}\"", "<password>{}</password>", "| 1 | me | {} |", "me:{}:19000"],
        );
    }
    gone(&mixed(48), &["\"password_hash\": \"{}\"", "passwordHash = '{}'"]);
    kept(&[
        &format!("\"hashed_secret\": \"{}\",", hex(40)),
        &format!("checksum/secret: {}", hex(64)),
        &format!("checksum/db-password: {}", hex(64)),
        &format!("token_sha256: {}", hex(64)),
        "Token: gho_************************************",
        "password: Ab1••••••••",
        "echo \"$1$2\" | sed 's/^/$6$/'",
    ]);
}
