//! Secrets right after the escapes of other texts: ends of lines in JSON, colours of a terminal, signs in a URL.

use super::fakes::{HEX, MIXED, fakes, made};
use super::mask;

const ESCAPES: [&str; 16] = [
    "\\n",
    "\\t",
    "\\r\\n",
    "\\\"",
    "\\\\n",
    "\u{1b}[31m",
    "\u{1b}[0m\u{1b}[38;5;196m",
    "\\x1b[31m",
    "\\u001b[0m",
    "\\033[1;32m",
    "%22",
    "%2F",
    "%20",
    "%3D",
    "\\u0022",
    "\\u003e",
];

#[test]
fn every_token_is_masked_after_an_escape() {
    for (kind, fake) in fakes() {
        for escape in ESCAPES {
            let masked = mask(&format!("created{escape}{fake}\\n")).into_owned();
            assert_eq!(masked, format!("created{escape}‹masked: {kind}›\\n"), "{escape:?}");
        }
    }
}

#[test]
fn what_only_looks_like_an_escape_is_part_of_a_word() {
    let (_, fake) = &fakes()[4];
    for before in ["n", "[31m", "\\u12", "\\x1", "%2", "%zz", "\\q", "u001b", "\u{1b}31m"] {
        let text = format!("a{before}{fake}");
        assert_eq!(mask(&text), text);
    }
}

/// A command, a header and a cookie are words that may stand after an escape as well.
#[test]
fn forms_that_begin_with_a_word_are_masked_after_an_escape() {
    let (value, long) = (["Tr0ub4", "dorXk9"].concat(), made(40, MIXED));
    for escape in ESCAPES {
        for (text, secret) in [
            (format!("curl -u me:{value} https://a.test"), &value),
            (format!("mysql -u root -p{value} shop"), &value),
            (format!("sshpass -p {value} ssh a.test"), &value),
            (format!("requirepass {value}"), &value),
            (format!("bearer {long}"), &long),
            (format!("echo {value} | sudo -S ls"), &value),
            (format!("echo root:{value} | chpasswd"), &value),
            (format!("Cookie: sid={value}"), &value),
            (format!("password is {value}"), &value),
            (format!("DB_PASSWORD={value}"), &value),
            (format!("password: {value}"), &value),
            (format!("AQ.Ab{long}"), &long),
        ] {
            let masked = mask(&format!("done{escape}{text}")).into_owned();
            assert!(!masked.contains(secret), "{masked}");
            assert!(masked.starts_with(&format!("done{escape}")), "{masked}");
        }
    }
}

#[test]
fn each_password_of_several_commands_in_json_is_masked() {
    let value = ["Tr0ub4", "dorXk9"].concat();
    let text = format!("curl -u me:{value}1\\ncurl -u you:{value}2 a.test\\n");
    let label = "‹masked: password›";
    assert_eq!(mask(&text), format!("curl -u me:{label}\\ncurl -u you:{label} a.test\\n"));
    let both = format!("curl -u me:{value} --proxy-user you:{value} a.test");
    assert_eq!(mask(&both), format!("curl -u me:{label} --proxy-user you:{label} a.test"));
}

#[test]
fn secrets_between_quotes_of_a_text_in_json_are_masked() {
    let value = ["Tr0ub4", "dorXk9"].concat();
    let label = "‹masked: password›";
    for text in [
        "curl -u \\\"me:{}\\\" a.test",
        "curl --user \\\"me:{}\\\" a.test",
        "secret_key_base: \\\"{}abcdefgh\\\"",
        "\\\"secret_key_base\\\": \\\"{}abcdefgh\\\"",
    ] {
        let masked = mask(&text.replace("{}", &value)).into_owned();
        let expected = text.replace("{}abcdefgh", label).replace("{}", label);
        assert_eq!(masked, expected);
    }
}

#[test]
fn a_setting_ends_at_the_escape_after_it() {
    let value = ["Tr0ub4", "dorXk9"].concat();
    let text = format!("A=1\\nDB_PASSWORD={value}\\nB=2");
    assert_eq!(mask(&text), "A=1\\nDB_PASSWORD=‹masked: password›\\nB=2");
    assert_eq!(mask("a\\nPWD=/home/me/app2\\n"), "a\\nPWD=/home/me/app2\\n");
}

#[test]
fn long_rows_are_read_from_the_end_of_an_escape_on() {
    let key = format!("{}-us12", made(32, HEX));
    let encoded = ["cGFzc3dvcmQ9WG", "s5VHIwdWI0ZG9yWGs5VHI="].concat();
    for escape in ESCAPES {
        for (secret, kind) in [(&key, "Mailchimp key"), (&encoded, "encoded secret")] {
            let masked = mask(&format!("is{escape}{secret}\\n")).into_owned();
            assert_eq!(masked, format!("is{escape}‹masked: {kind}›\\n"));
        }
    }
}

#[test]
fn values_of_coloured_json_are_masked() {
    let value = ["Tr0ub4", "dorXk9"].concat();
    let label = "‹masked: password›";
    for (text, of) in [
        // As jq 1.6, 1.7 and 1.8 write it.
        ("<34;1m\"password\"<0m<1;39m: <0m<0;32m\"{}\"<0m", "jq 1.6"),
        ("<0m<34;1m\"password\"<0m<1;39m:<0m <0;32m\"{}\"<0m", "jq 1.7"),
        ("<34;1m\"password\"<0m<1;39m:<0m <0;32m\"{}\"<1;39m", "jq 1.8"),
        ("<36mDB_PASSWORD<0m=<32m{} <0m", "settings"),
        ("  <32mpassword<39m: <32m'{}'<39m,", "node"),
        ("<3mpassword<0m<2m=<0m{}<0m", "tracing"),
        ("<01;31m<Kpassword<m<K: {}", "grep"),
    ] {
        for begin in ["\u{1b}[", "\\u001b[", "\\x1b[", "\\033["] {
            let text = text.replace('<', begin);
            let masked = mask(&text.replace("{}", &value)).into_owned();
            assert_eq!(masked, text.replace("{}", label), "{of}");
        }
        let text = text.replace('<', "\u{1b}[");
        let inside = serde_json::to_string(&text.replace("{}", &value)).unwrap();
        assert!(!mask(&inside).contains(&value), "{of}");
    }
}

#[test]
fn harmless_values_stay_in_colour() {
    for text in [
        "secret: <33mfalse",
        "secret=<33mfalse<0m",
        "token: 128000<0m",
        "max_token: <33m4096",
        "max_token: <33m4096<39m,",
        "MAX_TOKEN=<0m<33m128000<0m",
        "<3mtoken<0m<2m=<0m4096<0m",
        "password: <1mnull<22m,",
        "password: <32m'<1mrequired<0m'<39m",
        "token: <90mundefined<39m",
        "TOKEN=none<0m",
        "DB_PASSWORD=changeme<0m",
        "DB_PASSWORD=<33mchangeme<0m<2m",
        "export DB_PASSWORD=$PASSWORD<0m",
    ] {
        for begin in ["\u{1b}[", "\\u001b[", "\\x1b[", "\\033["] {
            let text = text.replace('<', begin);
            assert_eq!(mask(&text), text);
        }
    }
}

#[test]
fn the_colours_around_a_secret_stay() {
    let label = "‹masked: password›";
    for begin in ["\u{1b}[", "\\u001b[", "\\x1b[", "\\033["] {
        for text in ["DB_PASSWORD=<33m{}<0m", "DB_PASSWORD=<33m{}<0m<2m\n", "DB_PASSWORD={}<0m"] {
            let text = text.replace('<', begin);
            // Colours in the middle are of the value.
            for value in ["correct-horse".to_owned(), format!("correct{begin}1m-horse")] {
                assert_eq!(mask(&text.replace("{}", &value)), text.replace("{}", label));
            }
        }
    }
}

#[test]
fn secrets_are_known_without_the_colours_around_and_in_them() {
    let value = ["Tr0ub4", "dorXk9"].concat();
    let token = made(40, MIXED);
    let (password, cookie) = ("‹masked: password›", "‹masked: cookie›");
    for (text, secret, label) in [
        ("sshpass -p <01;31m<K{}<m<K ssh a.test", &value, password),
        ("<32mcurl<0m <32m-u<0m <32mme:{}<0m a.test", &value, password),
        ("mysql -u root -p<01;31m<K{}<m<K shop", &value, password),
        ("Authorization: Bearer <01;31m<K{}<m<K", &token, "‹masked: authorization›"),
        ("<36mCookie:<0m sid=<33m{}<0m; a=b", &token, cookie),
        ("define(<32m'DB_PASSWORD'<0m, <32m'{}'<0m);", &value, password),
    ] {
        let text = text.replace('<', "\u{1b}[");
        let masked = mask(&text.replace("{}", secret)).into_owned();
        assert_eq!(masked, text.replace("{}", label));
        let (half, rest) = secret.split_at(secret.len() / 2);
        let masked = mask(&text.replace("{}", &format!("{half}\u{1b}[1m{rest}"))).into_owned();
        assert_eq!(masked, text.replace("{}", label));
    }
}

#[test]
fn telegram_tokens_are_masked_in_the_address_of_a_bot() {
    for letters in [made(33, MIXED), format!("{}-", made(32, MIXED))] {
        let token = ["7123456789", ":A", "A", &letters].concat();
        for (before, after) in [
            ("https://api.telegram.org/bot", "/getMe"),
            ("POST https://api.telegram.org/bot", "/sendMessage \"HTTP/1.1 200 OK\""),
            ("https://api.telegram.org/file/bot", "/photos/a.jpg"),
            ("bot = Bot('", "')"),
        ] {
            let masked = mask(&format!("{before}{token}{after}")).into_owned();
            assert_eq!(masked, format!("{before}‹masked: Telegram token›{after}"));
        }
    }
}
