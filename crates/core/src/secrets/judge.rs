//! Distinguishes secrets from other text in the same places.

use super::letters;

/// Whether this is a reference to a value: a variable, a path, a placeholder.
fn is_reference(value: &str) -> bool {
    const WORDS: [&str; 25] = [
        "true",
        "false",
        "null",
        "none",
        "nil",
        "undefined",
        "required",
        "optional",
        "string",
        "changeme",
        "example",
        "placeholder",
        "redacted",
        "masked",
        "hidden",
        "password",
        "secret",
        "token",
        "key",
        "apikey",
        "api_key",
        "dummy",
        "your",
        "insert",
        "process.env",
    ];
    let lower = value.to_lowercase();
    let bare = lower.trim_matches(|char: char| !char.is_alphanumeric());
    let numbered = bare.trim_end_matches(|char: char| char.is_ascii_digit());
    value.starts_with(['$', '<', '{', '%', '‹', '*', '[', '(', '@', '.'])
        || (value.starts_with('/') && !is_random(value.trim_start_matches('/')))
        || value.contains("${")
        || is_left_out(value)
        || ["****", "••••", "●●●●"].iter().any(|stars| value.contains(stars))
        || is_shortcut(&lower)
        || is_tag(value)
        || is_encrypted(value)
        || is_colour(value)
        || is_digest(bare)
        || is_validation(value)
        || (lower.starts_with("projects/") && lower.contains("/secrets/"))
        || WORDS.contains(&numbered)
        || is_yours(value)
        || [
            "my-",
            "my_",
            "xxx",
            "os.environ",
            "process.env",
            "env.",
            "self.",
            "config.",
            "settings.",
            "this.",
            "args.",
            "secrets.",
            "vars.",
            "vault:",
            "arn:aws",
            "ref+",
            "op://",
        ]
        .iter()
        .any(|start| bare.starts_with(start))
        || bare.is_empty()
        || is_one_char(bare)
}

/// Such as `your-password`: not a password that happens to begin so.
fn is_yours(value: &str) -> bool {
    const NAMES: [&str; 6] = ["pass", "secret", "key", "token", "here", "value"];
    let lower = value.to_lowercase();
    let is_made_up = value.contains(['!', '#', '%', '&', '(', '@'])
        && has_digit(value)
        && value.bytes().any(|byte| byte.is_ascii_uppercase())
        && !NAMES.iter().any(|name| lower.contains(name));
    let bare = lower.trim_start_matches(|char: char| !char.is_alphanumeric());
    bare.starts_with("your") && !is_made_up
}

/// Whether the value is a placeholder, such as `sk-…`: not one that was cut, which has more than the beginning that
/// all of its kind share.
fn is_left_out(value: &str) -> bool {
    let at = value.find('…').or_else(|| value.find("..."));
    at.is_some_and(|at| !looks_made_up(value.get(..at).unwrap_or_default()))
}

/// Such as `!ImportValue`: in YAML, the way in which a value is found.
fn is_tag(value: &str) -> bool {
    const TAGS: [&str; 12] = [
        "ref",
        "getatt",
        "sub",
        "importvalue",
        "findinmap",
        "select",
        "join",
        "split",
        "secret",
        "vault",
        "env_var",
        "include",
    ];
    value.strip_prefix('!').is_some_and(|tag| TAGS.contains(&tag.to_ascii_lowercase().as_str()))
}

/// Whether it was encrypted to stand in a file, by SOPS, eyaml or Jasypt.
fn is_encrypted(value: &str) -> bool {
    ["ENC[", "ENC("].iter().any(|begin| value.starts_with(begin))
}

/// Such as `ctrl+alt+7`.
fn is_shortcut(lower: &str) -> bool {
    const HELD: [&str; 8] = ["ctrl", "control", "alt", "option", "shift", "cmd", "meta", "super"];
    let mut keys = lower.rsplit(['+', '-']);
    let last = keys.next().unwrap_or_default();
    last.len() <= 8 && keys.clone().next().is_some() && keys.all(|key| HELD.contains(&key))
}

/// Such as `#d8dee9`.
fn is_colour(value: &str) -> bool {
    value.strip_prefix('#').is_some_and(|digits| {
        matches!(digits.len(), 6 | 8) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Such as `required|string|min:8`: what a form asks of a field.
fn is_validation(value: &str) -> bool {
    const RULES: [&str; 7] =
        ["required", "nullable", "sometimes", "string", "confirmed", "min", "max"];
    let rule = |part: &str| part.split(':').next().unwrap_or_default().to_owned();
    let is_word = |part: &str| {
        let rule = rule(part);
        !rule.is_empty() && rule.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    value.contains('|')
        && value.split('|').all(is_word)
        && value.split('|').any(|part| RULES.contains(&rule(part).as_str()))
}

/// Such as `sha256:…`.
fn is_digest(lower: &str) -> bool {
    let rest = lower.strip_prefix("sha").or_else(|| lower.strip_prefix("md5"));
    let digest = rest.map(|rest| rest.trim_start_matches(|char: char| char.is_ascii_digit()));
    digest.is_some_and(|rest| {
        let rest = rest.strip_prefix([':', '-']).unwrap_or_default();
        rest.len() >= 32 && rest.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn is_one_char(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|first| chars.all(|char| char == first))
}

/// Such as `getPassword(` or `os.getenv('A')`.
fn is_call(value: &str) -> bool {
    let Some((name, rest)) = value.split_once('(') else { return false };
    let ends = !rest.contains(')') || rest.contains(").") || rest.ends_with([')', ';', ',']);
    let in_name = |char: char| char.is_alphanumeric() || "_.:$?!".contains(char);
    ends && name.starts_with(|char: char| char.is_alphabetic() || char == '_')
        && name.chars().all(in_name)
}

fn looks_made_up(value: &str) -> bool {
    let has = |is: fn(char) -> bool| value.chars().any(is);
    let letters = has(char::is_alphabetic);
    let digits = has(|char| char.is_ascii_digit());
    let marks = has(|char| "!@#$%^&*+~?=".contains(char));
    let is_word = value.bytes().all(|byte| byte.is_ascii_alphabetic());
    let upper = value.chars().skip(1).any(char::is_uppercase) && has(char::is_lowercase);
    (value.chars().count() >= 6
        && ((letters && (digits || marks)) || (upper && value.len() >= 20 && !is_word)))
        || letters::is_random(value)
}

pub(super) fn always(_: &str) -> bool {
    true
}

pub(super) fn has_digit(value: &str) -> bool {
    value.bytes().any(|byte| byte.is_ascii_digit())
}

/// A value where one is sure to stand.
pub(super) fn is_value(value: &str) -> bool {
    !is_reference(value) && !is_call(value)
}

/// The same where the end of the value is known: a call that goes on has a comma or a quote there.
pub(super) fn is_whole_value(value: &str) -> bool {
    let goes_on = value.contains(')') || value.ends_with(['(', ',']);
    !(is_reference(value) || (goes_on && is_call(value)))
}

/// A value between quotes where a name or a type may stand as well: it has to look made up.
pub(super) fn is_likely(value: &str) -> bool {
    !is_reference(value)
        && !value.contains(char::is_whitespace)
        && !value.contains("://")
        && !is_constant(value)
        && looks_made_up(value)
}

/// Such as `CLIENT_SECRET_0`.
fn is_constant(value: &str) -> bool {
    let is_word = |part: &str| {
        let letters = part.trim_end_matches(|char: char| char.is_ascii_digit());
        letters.chars().all(|char| char.is_ascii_uppercase())
    };
    value.contains('_') && value.split('_').all(is_word)
}

/// The same without quotes, where code may stand as well.
pub(super) fn is_likely_bare(value: &str) -> bool {
    // The cheapest test comes first: in rows of settings, a value is judged for each name.
    !is_setting(value) && is_likely(value) && !is_call(value) && !is_code(value)
}

/// The same where a name in code or a type may stand as well.
pub(super) fn is_likely_and_no_name(value: &str) -> bool {
    is_likely_bare(value) && !is_identifier(value)
}

/// Whether a text is unlike code and prose: random letters and digits, and no path.
pub(super) fn is_strong(value: &str) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let in_both = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && value.len() >= 10;
    value.bytes().filter(u8::is_ascii_digit).count() >= 2
        && (in_both || has_random_run(value))
        && (!value.contains('/') || is_random(value))
        && is_likely_and_no_name(value)
}

/// Whether a text has several words of which one looks random by more than the punctuation of a sentence.
pub(super) fn is_likely_phrase(value: &str) -> bool {
    let words =
        value.split_whitespace().map(|word| word.trim_end_matches(['!', '?', '.', ',', ':']));
    !is_reference(value)
        && words.into_iter().any(|word| looks_made_up(word) && is_likely_bare(word))
}

/// Such as `login[0]` or `login[8:]`, which may lack its end.
fn is_item(value: &str) -> bool {
    let in_name = |char: char| char.is_ascii_alphabetic() || "_.".contains(char);
    value.split_once('[').is_some_and(|(name, index)| {
        let index = index.strip_suffix(']').unwrap_or(index);
        let of_slice = |byte: u8| byte.is_ascii_digit() || byte == b':';
        let most = if index.contains(':') { 8 } else { 2 };
        !name.is_empty()
            && name.chars().all(in_name)
            && (1..=most).contains(&index.len())
            && index.bytes().all(of_slice)
    })
}

/// Such as `MI_UsernamePasswordCreds` or `Get-AzAccessToken`: many words, of which each begins in upper case.
fn is_type(value: &str) -> bool {
    const RANDOM: usize = 3;
    let letters = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphabetic());
    let upper = value.bytes().filter(u8::is_ascii_uppercase).count();
    value.starts_with(|char: char| char.is_ascii_uppercase())
        && value.ends_with(|char: char| char.is_ascii_lowercase())
        && value.split(['_', '-', ':']).all(letters)
        && upper * RANDOM <= value.len()
        && !letters::is_random(value)
}

/// Such as `response2.next` or `auth_token_v2`.
fn is_code(value: &str) -> bool {
    const NAMES: [&str; 12] = [
        "token", "key", "secret", "password", "auth", "user", "config", "env", "id", "name",
        "value", "hash",
    ];
    let word = |part: &str| {
        let letters = part.trim_end_matches(|char: char| char.is_ascii_digit());
        letters.chars().all(char::is_alphabetic)
    };
    let parts = || value.split(['.', ':', '_']).filter(|part| !part.is_empty());
    let named = || parts().any(|part| NAMES.contains(&part.to_lowercase().as_str()));
    is_item(value)
        || is_type(value)
        || parts().all(word) && (value.contains(['.', ':']) || (value.contains('_') && named()))
}

/// Whether it is a number, lower-case words such as `next-page`, or a path such as `List.NextMarker`: it counts tokens
/// or names one.
pub(super) fn is_plain(value: &str) -> bool {
    const WORD: usize = 12;
    let is_word = |part: &str| {
        (1..=WORD).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_lowercase())
    };
    let is_name = |part: &str| {
        part.starts_with(|char: char| char.is_ascii_uppercase())
            && part.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    value.bytes().all(|byte| byte.is_ascii_digit())
        || (value.contains(['-', '_']) && value.split(['-', '_']).all(is_word))
        || (value.contains('.') && value.split('.').all(is_name))
}

/// A name or a type with a number in it, such as `base64_string`, `oauth2` or `Ed25519PrivateKey`.
pub(super) fn is_identifier(value: &str) -> bool {
    const ALONE: [&str; 16] = [
        "aes", "base", "bcrypt", "blake", "ed", "float", "hmac", "http", "int", "md", "oauth",
        "rsa", "sha", "uint", "utf", "x",
    ];
    /// Digits of a number in a name.
    const NUMBER: usize = 5;
    let letters = |part: &str| part.trim_end_matches(|it: char| it.is_ascii_digit()).to_owned();
    let is_word = |part: &str| {
        let letters = letters(part);
        !letters.is_empty()
            && letters.bytes().all(|byte| byte.is_ascii_lowercase())
            && part.len() - letters.len() <= NUMBER
    };
    let value = value.trim_start_matches('_');
    let is_snake = value.split('_').all(is_word)
        && (value.contains('_') || ALONE.contains(&letters(value).as_str()));
    is_snake || is_camel(value)
}

/// Such as `Uint8Array`, with words on both sides of the number: a password may end with one.
fn is_camel(value: &str) -> bool {
    let digit = |char: char| char.is_ascii_digit();
    let mut parts = value.split(digit).filter(|part| !part.is_empty());
    let (Some(first), Some(last), None) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let is_words = |part: &str| {
        let upper = part.bytes().filter(u8::is_ascii_uppercase).count();
        part.starts_with(|char: char| char.is_ascii_uppercase())
            && part.bytes().all(|byte| byte.is_ascii_alphabetic())
            && part.ends_with(|char: char| char.is_ascii_lowercase())
            && upper * 3 <= part.len() + 1
    };
    !value.ends_with(digit) && last.len() >= 4 && is_words(first) && is_words(last)
}

/// Such as `id=npmrc,src=.npmrc`.
fn is_setting(value: &str) -> bool {
    value.split_once('=').is_some_and(|(name, value)| {
        !name.is_empty()
            && name.chars().all(|char| char.is_ascii_lowercase())
            && !value.trim_matches('=').is_empty()
    })
}

/// Whether a value in prose has digits and letters in both cases.
pub(super) fn is_mixed_in_case(value: &str) -> bool {
    let has = |is: fn(&char) -> bool| value.chars().any(|char| is(&char));
    is_mixed(value) && has(char::is_ascii_lowercase) && has(char::is_ascii_uppercase)
}

/// The same where code may stand as well.
pub(super) fn is_mixed_bare(value: &str) -> bool {
    is_mixed_in_case(value) && is_likely_bare(value)
}

/// Whether a value that is all of its line has digits, letters in both cases and punctuation, as neither code nor
/// prose has it.
pub(super) fn is_marked(value: &str) -> bool {
    const MARKS: [char; 14] =
        ['&', '(', ')', ',', ';', '<', '>', '[', ']', '{', '|', '}', '!', '$'];
    let has_marks = value.contains(MARKS) && !value.ends_with([',', ';', ')', '>', ']', '}']);
    has_marks && is_mixed_in_case(value) && !value.contains("::") && !value.contains("()")
}

/// Whether it has a digit and a letter of ASCII, in upper or lower case: no mere word. A hash has both as well, so
/// only patterns that name the text before the value use this.
pub(super) fn is_mixed(value: &str) -> bool {
    let has = |is: fn(&char) -> bool| value.chars().any(|char| is(&char));
    is_value(value)
        && has(char::is_ascii_digit)
        && (has(char::is_ascii_lowercase) || has(char::is_ascii_uppercase))
}

/// Sixteen letters and digits in a row, in both cases: no path has them.
fn is_random(value: &str) -> bool {
    value.split(|char: char| !char.is_ascii_alphanumeric()).any(|run| {
        let has = |is: fn(&u8) -> bool| run.bytes().any(|byte| is(&byte));
        run.len() >= 16
            && has(u8::is_ascii_digit)
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_uppercase)
    })
}

/// The same where code may stand as well.
pub(super) fn is_random_bare(value: &str) -> bool {
    has_random_run(value) && is_likely_bare(value)
}

/// Twelve letters and digits in a row, with both of them: `sk-learn-some-long-name` has none.
pub(super) fn has_random_run(value: &str) -> bool {
    value.split(['-', '_']).any(|run| {
        run.len() >= 12
            && run.bytes().any(|byte| byte.is_ascii_digit())
            && run.bytes().any(|byte| byte.is_ascii_alphabetic())
    })
}
