//! Secrets in sources of several languages, and as programs in these languages print them.

use super::mask;

/// Asserts that each `{}` is masked in each text, and nothing else.
#[track_caller]
fn masked(value: &str, texts: &[&str]) {
    masked_as("password", value, texts);
}

#[track_caller]
fn masked_as(kind: &str, value: &str, texts: &[&str]) {
    for text in texts {
        let inside = serde_json::to_string(&text.replace("{}", value)).unwrap();
        assert!(!mask(&inside).contains(value), "{}", mask(&inside));
        let of_text = mask(&text.replace("{}", value)).into_owned();
        assert_eq!(of_text, text.replace("{}", &format!("‹masked: {kind}›")));
    }
}

#[track_caller]
fn kept(texts: &[&str]) {
    for text in texts {
        assert_eq!(mask(text), **text);
    }
}

fn password() -> String {
    ["horse2", "staple"].concat()
}

fn key() -> String {
    ["a1B2c3", "d4E5f6"].concat()
}

#[test]
fn texts_in_constructors_are_masked() {
    masked(
        &password(),
        &[
            "Config { user: \"me\", password: Some(\"{}\"), port: 1 }",
            "Config {\n    password: Some(\n        \"{}\",\n    ),\n}",
            "\"Config { password: Some(\\\"{}\\\") }\"",
            "let password = String::from(\"{}\");",
            "let password: Option<String> = Some(String::from(\"{}\"));",
            "password: Secret::new(\"{}\".to_owned()),",
            "Login { password: Password(\"{}\") }",
            "Object {\"password\": String(\"{}\")}",
            "password: Optional(\"{}\")",
            "password = Just \"{}\"",
            "password: SecretStr = SecretStr(\"{}\")",
            "QString password = QStringLiteral(\"{}\");",
            "String password = F(\"{}\");",
            "$Password = ConvertTo-SecureString \"{}\" -AsPlainText -Force",
            "-Password (ConvertTo-SecureString '{}' -AsPlainText)",
            "+    password: Some(\"{}\".into()),",
        ],
    );
    masked(
        &key(),
        &[
            "Config { token: SecretString(\"{}\") }",
            "let api_key = SecretBox::new(\"{}\");",
            "api_key=SecretStr(\"{}\")",
            "var jwtSecret = []byte(\"{}\")",
            "secretKey := []byte(`{}`)",
        ],
    );
}

#[test]
fn texts_with_letters_before_the_quote_are_masked() {
    masked(
        &password(),
        &[
            "password = b'{}'",
            "PASSWORD = rb\"{}\"",
            "password = f\"{}\"",
            "password = u'{}'",
            "{'password': b'{}', 'a': 1}",
            "let password = r#\"{}\"#;",
            "string password = @\"{}\";",
            "string password = $\"{}\";",
            "auto password = L\"{}\";",
            "DECLARE @password nvarchar(50) = N'{}';",
        ],
    );
    masked(&key(), &["SECRET_KEY = b'{}'", "NSString *apiKey = @\"{}\";"]);
}

#[test]
fn declarations_are_masked() {
    masked(
        &password(),
        &[
            "#define WIFI_PASSWORD \"{}\"",
            "#  define DB_PASS    \"{}\"",
            "+#define WIFI_PASSWORD \"{}\"",
            "char password[] = \"{}\";",
            "const char password[64] = \"{}\";",
            "static const char password[] PROGMEM = \"{}\";",
            "const char* DB_PASSWORD = \"{}\";",
            "var password string = \"{}\"",
            "password?: string = \"{}\";",
            "std::string password(\"{}\");",
            "std::string password{\"{}\"};",
            "Client::builder().password(\"{}\").build()",
            "client.setPassword(\"{}\");",
            "{:user \"me\" :password \"{}\"}",
            "password: process.env.DB_PASSWORD ?? '{}',",
            "const secret = process.env.JWT_SECRET || '{}';",
            "[\"db\", \"--password\", \"{}\"]",
            "\"db\" \"--password\" \"{}\"",
            "-Password {} -User me",
            "<Password Value=\"{}\"/>",
        ],
    );
    masked("the horse2staple of mine", &["define('DB_PASSWORD', '{}');"]);
    masked(
        &key(),
        &[
            "#define API_KEY \"{}\"",
            "static const char apiKey[] = \"{}\";",
            "const apiKey string = \"{}\"",
            "token: str | None = \"{}\"",
            "client.set_token(\"{}\")",
            "['X-Api-Key', '{}']",
            "(b'x-api-key', b'{}')",
            "proxy_set_header X-Api-Key \"{}\";",
            "map[X-Api-Key:[{}]]",
        ],
    );
}

#[test]
fn what_php_prints_is_masked() {
    masked(
        &password(),
        &[
            "array(1) {\n  [\"password\"]=>\n  string(12) \"{}\"\n}",
            "  [\"password\":protected]=>\n  string(12) \"{}\"\n",
            "  [\"apiKey\":\"Config\":private]=>\n  string(12) \"{}\"\n",
            "\"[\\\"password\\\"]=>\\n  string(12) \\\"{}\\\"\\n\"",
            "Array\n(\n    [user] => me\n    [password] => {}\n)\n",
            "    [dbPassword] => {}\n",
            "    [DB_PASSWORD] => {}\n",
            "    [password:protected] => {}\n",
            "    [password:Config:private] => {}\n",
            "\"    [password] => {}\\n)\\n\"",
        ],
    );
    masked("correct-horse", &["    [password] => {}\n"]);
    kept(&[
        "  [\"password\"]=>\n  string(8) \"password\"\n",
        "  [\"password\"]=>\n  NULL\n",
        "  [\"token\"]=>\n  int(12345678)\n",
        "  [\"token\"]=>\n  array(2) {\n",
        "    [token] => 12345678\n",
        "    [token] => T_VARIABLE2\n",
        "    [password] => stdClass Object\n",
        "    [password] => ********\n",
    ]);
}

#[test]
fn values_in_objects_are_masked() {
    masked_as(
        "secret",
        &password(),
        &[
            "\"db_password\": {\n  \"sensitive\": true,\n  \"type\": \"string\",\n  \"value\": \"{}\"\n}",
            "\"db_password\": {\n  \"value\": \"{}\",\n  \"type\": \"string\",\n  \"sensitive\": true\n}",
            "{\"db_password\":{\"sensitive\":true,\"type\":\"string\",\"value\":\"{}\"}}",
            "\"endpoint\": {\n  \"sensitive\": true,\n  \"type\": \"string\",\n  \"value\": \"{}\"\n}",
        ],
    );
    masked(
        &password(),
        &[
            "\"{\\\"db_password\\\":{\\\"type\\\":\\\"string\\\",\\\"value\\\":\\\"{}\\\"}}\"",
            "\"adminPassword\": {\n  \"value\": \"{}\"\n}",
            "variable \"db_password\" {\n  type    = string\n  default = \"{}\"\n}",
            "     1\tvariable \"db_password\" {\n     2\t  default = \"{}\"\n     3\t}",
        ],
    );
    masked(&key(), &["\"api_key\": {\n  \"type\": \"string\",\n  \"value\": \"{}\"\n}"]);
    kept(&[
        "\"password\": {\"type\": \"string\", \"minLength\": 8, \"value\": \"string1\"}",
        "\"token\": {\"type\": \"color\", \"value\": \"{blue.500}\"}",
        "\"token\": {\"enum\": [\"a1\"], \"value\": \"next_token2\"}",
        "\"secret\": {\"key\": \"app1\"}, \"other\": {\"value\": \"horse2-staple\"}",
        "\"db_password\": {\"sensitive\": true, \"value\": \"(sensitive value)\"}",
        "variable \"db_password\" {\n  default = \"\"\n}",
        "variable \"token_url\" {\n  default = \"https://a1.test\"\n}",
    ]);
}

#[test]
fn names_calls_and_patterns_in_sources_stay() {
    kept(&[
        "password: Some(password),",
        "password: Some(String::new()),",
        "password: Some(\"password\"),",
        "password: Some(read_line2()?),",
        "token: Some(Token::Number1),",
        "token: Token(\"ident1\")",
        "token: Some(\"ident1\")",
        "token: Punct(\"=>\", 12)",
        "let secret = String::from(\"secret\");",
        "password: Hash::make(\"abc12345\")",
        "let token = lexer.next(\"abc12345\");",
        "password = _(\"Password 1 is wrong\")",
        "password = str(config1)",
        "secret := []byte(\"secret\")",
        "secretKey := []byte(os.Getenv(\"SECRET_KEY1\"))",
        "password: SecretString(\"[REDACTED]\")",
        "password: Secret([REDACTED alloc::string::String])",
        "char password[64];",
        "char password[MAX_LEN1] = {0};",
        "char token[] = \"token\";",
        "#define PASSWORD \"password\"",
        "#define PASSWORD_MAX 64",
        "#define SECRET_TOKEN 0x12345678",
        "#define API_KEY getenv(\"API_KEY1\")",
        "#define WIFI_PASSWORD CONFIG_ESP_WIFI_PASSWORD",
        "#define WIFI_PASSWORD \"your-password1\"",
        "SECRET_KEY = b'secret'",
        "password = f\"{user}-{host}1\"",
        "password = $\"{user}123abc\"",
        "token = r\"^[a-z0-9]{32}$\"",
        "password = r'(?=.*\\d).{8,}'",
        "token = b\"\\x00\\x01\"",
        "token = strtok_r(NULL, \":\", &save1);",
        "const char *password = getenv(\"PASSWORD1\");",
        "if (token || \"abc1\") {",
        "Password string `json:\"password1\" validate:\"min=8\"`",
        ".password(\"password\")",
        ".token(\"ident1\")",
        "splitpasswd('user+1:a+b')",
        "arn:aws:secretsmanager:eu-west-1:1:secret:MyDbSecret-a1B2c3",
        "\"secret\": \"arn:aws:secretsmanager:eu-west-1:1:secret:MyDb-a1B2c3\"",
        "MasterUserPassword: !ImportValue DbPassword",
        "password: !FindInMap [a, b, c1]",
        "DB_PASSWORD=vault:secret/data/app1#password",
        "imagePullSecret: regcred2",
        "existingSecret: \"app2-credentials\"",
        "\"args\": [\"--password\", \"--verbose1\"]",
        "headers: ['X-Api-Key', 'X-Token2']",
        "self.data[next_token] = metrics[500:]",
        "def deliver(connection, authkey: bytes, digest_name='sha256'):",
        "#[arg(long, env = \"API_KEY1\")]",
        "secret: process.env.JWT_SECRET || 'changeme',",
        "password: ${DB_PASSWORD:?missing}",
        "$Password = Read-Host -AsSecureString",
        "$token = Get-AzAccessTokenForResource -Name a",
        "$secret = ConvertTo-SecureString $plain1 -AsPlainText",
        "pub password: EapUsernamePasswordCredential,",
        "pub usernamePassword: MI_UsernamePasswordCreds,",
        "token_count: 128000",
        "password_field: \"user_password1\"",
        "secretName: app-secret-2",
        "fn login(token: &str, password: Option<String>, api_key: str)",
        "secret=os.environ[\"X1\"]",
        "password: process.env.DB_PASS",
    ]);
}
