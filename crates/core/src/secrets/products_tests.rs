//! Secrets as products, databases and commands print them, and harmless texts that look alike.

use super::fakes::{LETTERS, made};
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
