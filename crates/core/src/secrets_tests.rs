use proptest::prelude::*;
use serde_json::json;

use super::fakes::{HEX, MIXED, fakes, made, marks, named, placed};
use super::providers::{SHAPES, drawn, filled};
use super::*;

/// Asserts that nothing is left of the secret but its beginning, which only shows its kind.
#[track_caller]
fn gone(text: &str, secret: &str, kind: &str) {
    let masked = mask(text);
    assert!(!masked.contains(secret), "{kind}: {masked}");
    assert!(masked.contains(&format!("‹masked: {kind}›")), "{kind}: {masked}");
    assert_eq!(mask(&masked), masked, "masking twice is masking once");
}

#[test]
fn every_form_is_masked_wherever_it_stands() {
    for (kind, fake) in fakes() {
        for (before, after) in [
            ("", ""),
            ("the key is ", ", keep it"),
            ("\"", "\""),
            ("line\n", "\nline"),
            ("KEY: `", "`"),
            ("漢字 ", " é"),
            ("x(", ")"),
        ] {
            let text = format!("{before}{fake}{after}");
            gone(&text, &fake, kind);
            let masked = mask(&text).into_owned();
            assert_eq!(masked, format!("{before}‹masked: {kind}›{after}"));
        }
    }
}

#[test]
fn a_long_value_is_masked_to_its_end() {
    let value = made(2_000, MIXED);
    let end = &value[1_990..];
    for text in [
        format!("DB_PASSWORD={value}"),
        format!("password = \"{value}\""),
        format!("https://example.test/x?access_token={value}&y=1"),
        format!("  password: {value}"),
        format!("postgres://app:{value}@db.test:5432/app"),
    ] {
        let masked = mask(&text);
        assert!(masked.contains("‹masked: ") && !masked.contains(end), "{masked}");
    }
}

#[test]
fn a_value_that_was_cut_is_masked() {
    let value = made(230, MIXED);
    for end in ["…", "..."] {
        for text in [
            format!("DB_PASSWORD={value}{end}"),
            format!("password = \"{value}{end}\""),
            format!("https://example.test/x?access_token={value}{end}"),
            format!("token: {value}{end}"),
        ] {
            let masked = mask(&text);
            assert!(!masked.contains(&value[..12]), "{masked}");
        }
    }
}

#[test]
fn values_are_masked_by_what_they_are_called() {
    for (secret, text) in named() {
        let masked = mask(&text);
        assert!(!masked.contains(&secret), "{masked}");
        assert!(masked.contains("‹masked: "), "{masked}");
        assert_eq!(mask(&masked), masked);
    }
}

#[test]
fn what_is_no_secret_stays() {
    let hash = made(40, HEX);
    let digest = made(64, HEX);
    let image = format!("data:image/png;base64,{}", made(4_000, &format!("{MIXED}+/")));
    for text in [
        &format!("commit {hash}"),
        &format!("sha256:{digest}"),
        &format!("integrity sha512-{}==", made(86, MIXED)),
        &image,
        "550e8400-e29b-41d4-a716-446655440000",
        "let token = lexer.next_token();",
        "password: string,",
        "api_key = os.environ[\"API_KEY\"]",
        "const secret = process.env.SECRET;",
        "\"token\": \"string\"",
        "PASSWORD=$PASSWORD docker compose up",
        "API_KEY=${API_KEY}",
        "TOKEN=<your token>",
        "API_KEY=sk-...",
        "API_KEY=sk-…",
        "export TOKEN=abc...xyz",
        "DB_PASSWORD=...",
        "API_KEY=your-api-key-here",
        "token: required",
        "max_tokens=4096",
        "MAX_TOKENS=128000",
        "tokenizer = \"cl100k_base\"",
        "the secret is that there is none",
        "import sk-learn-some-quite-long-package-name",
        "https://example.test/a:b/c@d",
        "git@github.com:someone/something.git",
        "ssh://git@example.test/x.git",
        "http://localhost:8080/@scope/package",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "bearer of bad news and of other things",
        "fn password(&self) -> &str",
        "password = getPassword()",
        "password = get_password2(user)",
        "password = os.getenv('DB_PASSWORD_2')",
        "token = response2.next",
        "token = auth_token_v2",
        "let token = token2;",
        "let secret = sha256(data1);",
        "token: string, // of version2",
        "tool --token <TOKEN> --password $PASSWORD",
        "tool --token TOKEN --api-key=API_KEY",
        "INVALID_TOKEN=\"The token is wrong\"",
        "\"token\": \"12345678\"",
        "\"password\": \"00000000\"",
        "sk-proj-your-project-key-goes-here",
        "use --password to set it, and --token or --api-key",
        "docker build --secret id=npmrc1,src=.npmrc .",
        "docker run -u 1000:1000 node",
        "curl -u $USER:$PASSWORD https://example.test",
        "curl -u user https://example.test/a:b",
        "  token: ${{ secrets.NPM_TOKEN2 }}",
        "password: ${DB_PASSWORD2}",
        "PASSWORD=$(cat /run/secrets/db1)",
        "PASSWORD_FILE=/run/secrets/db_password1",
        "PWD=/home/me/app2",
        "OLDPWD=/home/me/app2",
        "DB_PASSWORD=/run/secrets/db_password1",
        "if password == \"hunter22\" {",
        "Token::Number1",
        "ENV DB_PASSWORD $PASSWORD1",
        "PASSWORD=os.getenv('PASSWORD1')",
        "PASSWORD=getpass(prompt1, stream2)",
        "PASSWORD=get_password(user1)",
        "the password is secret and the token is 12 bytes long",
        "--- PASS: TestToken12 (0.01s)",
        "\"password\": \"At least 8 characters!\"",
        "\"password\": \"Enter your password!\"",
        "ClientSecret => \"CLIENT_SECRET_0\"",
        "primary_key: user12345",
        "cache-key-d41d8cd98f00b204e9800998ecf8427e",
        "key: sha256-abc123def456",
        "secretName: app-tls-2",
        "xoxb-your-bot-token",
        "authorization: req.headers2.authorization",
        "authorization = base64.decodebytes(x)",
        "https://someone@example.test/a",
        "Authorization: AWS4-HMAC-SHA256",
        "session sess-550e8400-e29b-41d4-a716-446655440000",
        "assert_eq!(token, Token::Number(1));",
        "key: value",
        "passwords are never stored",
        "",
    ] {
        assert_eq!(mask(text), *text);
    }
}

#[test]
fn settings_and_code_that_name_keys_and_tokens_stay() {
    for text in [
        "MAX_TOKEN=128000",
        "MAX_TOKEN=\"128000\"",
        "ENV MAX_TOKEN 128000",
        "NEXT_TOKEN=\"next-page\"",
        "BOS_TOKEN=bos_token",
        "env BOS_TOKEN=bos_token ./run",
        "PWD=C:\\work\\app",
        "PWD=subfolder",
        "OLDPWD=subfolder",
        "cd a && PWD=subfolder make",
        "private_key: Ed25519PrivateKey",
        "secretKey: Uint8Array",
        "access_token = oauth2",
        "access_token=oauth2",
        "csrf_token = base64_string",
        "\"private_key: Ed25519PrivateKey\"",
        "password: ENC[AES256_GCM,data:a1b2c3d4,iv:a1B2c3D4=,tag:a1B2,type:str]",
    ] {
        assert_eq!(mask(text), text);
    }
}

#[test]
fn every_row_of_the_tables_has_a_fake() {
    let mut random = drawn(1);
    let shapes: Vec<_> = SHAPES.iter().map(|(_, shape)| filled(shape, &mut random)).collect();
    let mut fakes = fakes();
    fakes.extend(shapes.iter().map(|(_, secret)| ("", secret.clone())));
    for token in TOKENS {
        let is_of = |fake: &str| {
            let Some(begin) = Beginnings::get().pattern.find_at(fake, 0) else { return false };
            let meaning = &Beginnings::get().meanings[begin.as_str()];
            token_at(fake, 0, meaning, &mut Scanned::default())
                .is_some_and(|(kind, place)| kind == token.name && place.len() == fake.len())
                && token.begins.iter().any(|begin| fake.starts_with(begin))
        };
        assert!(fakes.iter().any(|(_, fake)| is_of(fake)), "{} {:?}", token.name, token.begins);
    }
    let texts = fakes.into_iter().map(|(kind, fake)| (kind, fake.clone(), fake)).chain(placed());
    let shapes = shapes.into_iter().map(|(text, secret)| ("", secret, text));
    let texts: Vec<_> = texts.chain(shapes).collect();
    for form in FORMS {
        let pattern = compiled(form.pattern);
        let is_of = |(kind, secret, text): &(&str, String, String)| {
            let found = pattern.captures(text).and_then(|it| it.name("s").or_else(|| it.get(0)));
            (*kind == form.name || kind.is_empty())
                && form.signs.iter().any(|sign| text.contains(sign))
                && found.is_some_and(|it| it.as_str().contains(secret) && (form.judge)(it.as_str()))
        };
        assert!(texts.iter().any(is_of), "{} {}", form.name, form.pattern);
    }
}

#[test]
fn what_is_known_by_its_place_is_masked_there() {
    for (kind, secret, text) in placed() {
        gone(&text, &secret, kind);
    }
}

#[test]
fn a_token_is_known_after_a_name_and_not_within_a_word() {
    let (kind, fake) = &fakes()[4];
    assert_eq!(mask(&format!("token_{fake}")), format!("token_‹masked: {kind}›"));
    assert_eq!(mask(&format!("{fake}.")), format!("‹masked: {kind}›."));
    let within = format!("a{fake}");
    assert_eq!(mask(&within), within);
    for begin in TOKENS.iter().flat_map(|token| token.begins) {
        for text in [format!("{begin}..."), format!("`{begin}`"), (*begin).to_owned()] {
            assert_eq!(mask(&text), text);
        }
    }
}

#[test]
fn a_text_full_of_names_is_masked_to_its_end() {
    let named = "TOKEN=".repeat(40_000);
    let spaced = "password token: key= ".repeat(20_000);
    let values = "API_KEY=a1B2c3d4 ".repeat(20_000);
    let value = made(3 * 4_096, MIXED);
    for text in [named, spaced, values, format!("DB_PASSWORD={value} end")] {
        let masked = mask(&text);
        assert!(!masked.contains("a1B2c3d4") && !masked.contains(&value[value.len() - 20..]));
    }
}

/// Returns texts that are nothing but beginnings of tokens, with something after them.
fn full_of_beginnings() -> impl Iterator<Item = String> {
    let begins = TOKENS.iter().flat_map(|token| token.begins);
    begins.flat_map(|begin| {
        let mark = if begin.ends_with(['-', '_', '.']) { "" } else { "-" };
        let one = format!("{begin}{mark}");
        ["", "é", "...", "_"].map(|end| one.repeat(20_000 / one.len()) + end)
    })
}

#[test]
fn a_text_full_of_beginnings_is_looked_at_once() {
    for text in full_of_beginnings() {
        let mut scanned = Scanned::default();
        for begin in Beginnings::get().pattern.find_iter(&text) {
            let meaning = &Beginnings::get().meanings[begin.as_str()];
            token_at(&text, begin.start(), meaning, &mut scanned);
        }
        // Tokens of a bounded length are read up to that length each time.
        assert!(scanned.steps < 60 * text.len(), "{}: {}", &text[..20], scanned.steps);
    }
}

/// Each name's value goes on to the end of the text.
#[test]
fn values_full_of_names_are_judged_by_their_beginnings() {
    for named in ["password=", "ppassword=", "pwd=", "Pass=[", "?key=a1B2c3d4e5f6g7%"] {
        let text = named.repeat(1_000);
        named::LOOKED.set(0);
        secrets(&text);
        let looked = named::LOOKED.get();
        assert!(looked > 0 && looked < 80 * text.len(), "{looked} of {}", text.len());
    }
}

#[test]
fn names_that_no_element_begins_after_are_passed_over() {
    for named in ["token>a1B2c3d4", "PASSWORD>a1B2c3d4", "credentials>a1B2c3d4"] {
        let text = named.repeat(1_000);
        named::LOOKED.set(0);
        secrets(&text);
        assert!(named::LOOKED.get() < 80 * text.len(), "{named}: {}", named::LOOKED.get());
    }
}

/// Each head's line goes on to the end of the text.
#[test]
fn lines_full_of_cookies_are_looked_through_twice_at_most() {
    for head in ["cookie:", "cookie: ", "Set-Cookie= a=b; "] {
        let text = head.repeat(5_000);
        cookies::LOOKED.set(0);
        secrets(&text);
        let looked = cookies::LOOKED.get();
        assert!(looked > 0 && looked <= 2 * text.len(), "{looked} of {}", text.len());
    }
    let two =
        ["cookie: theme=dark, cookie: si", "d=a1b2c3d4e5f6; cookie: si", "d=b1c2d3e4f5a6"].concat();
    let places: Vec<_> = secrets(&two).into_iter().map(|it| two[it.place].to_owned()).collect();
    assert_eq!(places, ["a1b2c3d4e5f6", "b1c2d3e4f5a6"]);
}

#[test]
fn a_large_text_full_of_beginnings_is_masked() {
    let keys = ["sk", "-"].concat().repeat(333_000);
    let dotted = format!("{}{}", ["glp", "at-"].concat().repeat(80_000), ".".repeat(500_000));
    let slack = ["xo", "xb-"].concat().repeat(200_000);
    for text in [keys, dotted, slack] {
        assert!(secrets(&text).len() < 2, "{}", &text[..20]);
    }
}

#[test]
fn the_lines_around_a_private_key_are_none_in_code() {
    let [begin, end] = marks();
    let code = "let first = lines.next().unwrap_or_default();\nlet limit = 12;\n".repeat(40);
    for text in [
        format!("if text.starts_with(\"{begin}\") {{\n{code}"),
        format!("const FIRST: &str = \"{begin}\";\nconst LAST: &str = \"{end}\";\n{code}"),
        format!("pem.replace(\"{begin}\", \"\").replace(\"{end}\", \"\");"),
        format!("{begin}\n{code}{}", made(64, MIXED)),
        format!("{begin}\n{}\n", made(64, HEX)),
        format!("{end}\n{}\n", made(64, MIXED)),
        format!("{begin}{begin}{end}{end}"),
        begin.repeat(30_000),
    ] {
        assert_eq!(mask(&text), text);
    }
}

#[test]
fn a_private_key_without_an_end_is_masked_as_far_as_it_goes() {
    let [begin, end] = marks();
    let (row, short) = (made(64, MIXED), made(30, MIXED));
    let label = "‹masked: private key›";
    for (text, left) in [
        (format!("{begin}\n{row}\n{row}\n{short}"), ""),
        (format!("{begin}\r\n{row}\r\n{row}\r\n{short}\r\n"), "\r\n"),
        (format!("{begin}\\n{row}\\n{row}\\n{short}\\n\"}}"), "\\n\"}"),
        (format!("{begin}\n{row}\n{row}\nlet limit = 12;\n"), "\nlet limit = 12;\n"),
        (format!("{begin}\n  12| {row}\n  13| {row}\n…"), "\n…"),
        (format!("{begin}\nVersion: 2\nComment: of mine\n\n{row}\n"), "\n"),
        (format!("\"{begin}\\n\" +\n    \"{row}\\n\" +\n    \"{row}\\n\""), "\\n\""),
    ] {
        let (before, key) = text.split_at(text.find(&begin).unwrap());
        assert_eq!(mask(&text), format!("{before}{label}{left}"), "{key}");
        let whole = format!("{text}{end} {begin}\n{row}\n{end}");
        assert_eq!(mask(&whole), format!("{before}{label} {label}"), "{key}");
    }
    let both = format!("\"{begin}\"; {begin}\n{row}\n{end}");
    assert_eq!(mask(&both), format!("\"{begin}\"; {label}"));
}

#[test]
fn passwords_may_be_words_or_numbers() {
    for (text, left) in [
        ("DB_PASSWORD=\"correct horse battery staple\"", "horse"),
        ("password: \"8273645519\"", "8273645519"),
        ("DB_PASSWORD=8273645519", "8273645519"),
        ("DB_PASSWORD=correct-horse", "horse"),
        ("DB_PWD=subfolder", "subfolder"),
        ("UID=sa;PWD=subfolder;", "subfolder"),
        ("password = horse2_staple3", "staple"),
        ("password: Horse2Staple", "Staple"),
    ] {
        assert!(!mask(text).contains(left), "{}", mask(text));
    }
}

#[test]
fn keys_and_tokens_are_masked_unless_they_are_mere_words() {
    for (text, left) in [
        ("API_KEY=correcthorsebatterystaple", "horse"),
        ("API_KEY=qwkjxhzvbnmrty-plmoknijbuhvyg", "plmok"),
        ("API_KEY=8273645519-a", "8273645519"),
        ("api_key = horse2staple", "staple"),
        ("api_key: Horse2Staple9", "Staple"),
        ("token: aB3_xY9z", "xY9z"),
    ] {
        assert!(!mask(text).contains(left), "{}", mask(text));
    }
}

#[test]
fn a_mask_reveals_nothing_of_the_length() {
    let of = |length| mask(&format!("DB_PASSWORD={}", "aB3".repeat(length))).into_owned();
    assert!(of(6).contains("‹masked"), "{}", of(6));
    assert_eq!(of(6), of(90));
}

/// In JSON a value would seem to run on to a quote some lines below.
#[test]
fn secrets_of_lines_in_a_text_are_masked_in_json() {
    let secret = ["horse2", "staple"].concat();
    let text = format!("user: me\n  api_key: {secret} # of mine\n");
    let json = json!({"parts": [{"text": text}]}).to_string();
    let masked = mask_json(&json);
    assert!(!masked.contains(&secret) && masked.contains("api_key: ‹masked: "), "{masked}");
    let garbage = format!("{{\n  api_key: {secret} # of mine\n");
    assert!(!mask_json(&garbage).contains(&secret));
    let plain = r#"{"b": 1, "a": "x", "tokens": 1}"#;
    assert_eq!(mask_json(plain), plain);
}

proptest! {
    #[test]
    fn masking_keeps_all_else(words in "[a-z \n]{0,80}", which in any::<prop::sample::Index>(), rest in "[a-z \n]{0,80}") {
        let fakes = fakes();
        let (kind, fake) = which.get(&fakes);
        let text = format!("{words} {fake} {rest}");
        prop_assert_eq!(mask(&text).into_owned(), format!("{words} ‹masked: {kind}› {rest}"));
    }

    #[test]
    fn hex_and_uuids_are_never_masked(hex in "[0-9a-f]{7,128}", upper in "[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}") {
        for text in [&hex, &upper] {
            let line = format!("at {text} in {text}.rs");
            prop_assert_eq!(mask(&line).into_owned(), line);
        }
    }

    #[test]
    fn whatever_stands_around_a_name_can_be_masked(
        parts in proptest::collection::vec(
            prop_oneof![
                prop::sample::select(vec!["password", "TOKEN", "--api-key", "x-api-key", "ENV ", "machine ", "curl -u ", "://", "key-"]),
                prop::sample::select(vec!["\"", "'", "\\", ":", "=", ":=", "=>", " ", "\n", "\t", "(", ")", "{", "$", "/", "…", "›", "é", "漢", "#", ";", "@"]),
                prop::sample::select(marks().to_vec()).prop_map(|mark| &*mark.leak()),
                prop::sample::select(vec!["aB3+/xY9aB3+/xY9aB3+/xY9aB3+/xY9aB3+/xY9aB3+/xY9", "\\n"]),
                prop::sample::select(vec!["a1B2c3d4", "hunter22", "‹masked: password›", "x", "-", "_", "."]),
            ],
            0..24,
        )
    ) {
        let text = parts.concat();
        let found = secrets(&text);
        for pair in found.windows(2) {
            prop_assert!(pair[0].place.end <= pair[1].place.start, "{:?}", found);
        }
        for secret in &found {
            prop_assert!(text.get(secret.place.clone()).is_some_and(|it| !it.is_empty()), "{:?}", secret);
        }
    }

    #[test]
    fn what_was_looked_at_before_changes_no_token(
        parts in proptest::collection::vec(
            prop_oneof![
                prop::sample::select(TOKENS.iter().flat_map(|token| token.begins).copied().collect::<Vec<_>>()),
                prop::sample::select(vec!["-", "_", ".", "...", "é", " ", "a1B2c3d4e5f6g7h8", "word", "/", "="]),
            ],
            0..16,
        )
    ) {
        let text = parts.concat();
        let mut scanned = Scanned::default();
        let mut end = 0;
        for begin in Beginnings::get().pattern.find_iter(&text) {
            let meaning = &Beginnings::get().meanings[begin.as_str()];
            let found = token_at(&text, begin.start(), meaning, &mut scanned);
            if begin.start() >= end {
                let alone = token_at(&text, begin.start(), meaning, &mut Scanned::default());
                prop_assert_eq!(&found, &alone, "{}", text);
            }
            end = found.map_or(end, |(_, place)| place.end);
        }
    }

    #[test]
    fn any_text_can_be_masked(before in "\\PC{0,100}", which in any::<prop::sample::Index>(), after in "\\PC{0,100}") {
        let fakes = fakes();
        let (_, fake) = which.get(&fakes);
        let masked = mask(&format!("{before} {fake} {after}")).into_owned();
        prop_assert!(masked.contains("‹masked: ") && !masked.contains(fake), "{}", masked);
        prop_assert_eq!(mask(&masked).into_owned(), masked.clone(), "masking twice is masking once");
    }
}

#[test]
fn each_cookie_of_a_command_is_masked() {
    let command = "curl -s -b 'sessionid=Zk9xT3st1ngQ; theme=dark; csrftoken=Wq7Rm2Lp5Vx8' https://a.test/?sid=no";
    let masked = mask(command);
    assert!(!masked.contains("Zk9x") && !masked.contains("Wq7R"), "{masked}");
    assert!(
        masked.contains("theme=dark") && masked.ends_with("https://a.test/?sid=no"),
        "{masked}"
    );
    let both =
        "curl -H 'Cookie: sid=Zk9xT3st1ngQ' -b token=Wq7Rm2Lp5Vx8 https://a.test/?sid=a1b2c3d4";
    let masked = mask(both);
    assert!(!masked.contains("Zk9x") && !masked.contains("Wq7R"), "{masked}");
}

#[test]
fn lists_in_lists_are_read_once() {
    let text = "api_keys:\n  - ".repeat(1_000);
    named::LOOKED.set(0);
    secrets(&text);
    assert!(named::LOOKED.get() < 20 * text.len(), "{}", named::LOOKED.get());
}
