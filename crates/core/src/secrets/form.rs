//! How secrets are described that are known by the text around them.

use super::judge::{always, is_likely_bare, is_value};

/// A secret that stands in a form of its own.
pub(super) struct Form {
    /// The name of its kind in the mask.
    pub name: &'static str,
    /// Every text with such a secret contains one of these: looking for them is much cheaper.
    pub signs: &'static [&'static str],
    /// The secret is the group `s`, or all of it.
    pub pattern: &'static str,
    /// Distinguishes a secret from other text in the same place.
    pub judge: fn(&str) -> bool,
    /// Whether it is looked for only in lines with a sign.
    pub in_line: bool,
}

pub(super) const fn form(
    name: &'static str,
    signs: &'static [&'static str],
    pattern: &'static str,
) -> Form {
    Form { name, signs, pattern, judge: always, in_line: false }
}

/// A password among the arguments of a command.
pub(super) const fn flag(signs: &'static [&'static str], pattern: &'static str) -> Form {
    Form { name: "password", signs, pattern, judge: is_value, in_line: true }
}

/// Matches white space, also in a text that is written in another one.
macro_rules! gap {
    () => {
        r"(?:\s|\\+[nrt])*"
    };
}
pub(super) use gap;

/// A value in the output of a program, in JSON.
pub(super) const fn field(
    name: &'static str,
    signs: &'static [&'static str],
    pattern: &'static str,
) -> Form {
    Form { name, signs, pattern, judge: is_value, in_line: false }
}

/// Matches a quote as it is written in a text, in JSON or in XML.
macro_rules! quote {
    () => {
        r#"(?:\\*["']|&(?:quot|apos|#3[49]);)"#
    };
}
pub(super) use quote;

/// Matches a text between quotes.
macro_rules! quoted {
    ($inside:expr) => {
        concat!(quote!(), $inside, quote!())
    };
}
pub(super) use quoted;

/// Matches a call up to the argument that is looked for, and that argument between quotes.
macro_rules! argument {
    ($($before:expr),+) => {
        concat!("(?:", $($before,)+ ")", quote!(), r#"(?P<s>[^"'\\\s]{8,}?)"#, quote!())
    };
}
pub(super) use argument;

/// A password or key among the arguments of a call.
pub(super) const fn call(
    name: &'static str,
    signs: &'static [&'static str],
    pattern: &'static str,
) -> Form {
    Form { name, signs, pattern, judge: is_likely_bare, in_line: true }
}

/// Matches a command and its arguments up to the one that is looked for.
macro_rules! command {
    ($names:literal, $flag:literal) => {
        word!(concat!(
            "(?:",
            $names,
            r#")\s(?:(?:[^\n|;&]|\\\r?\n)*?\s)??"#,
            $flag,
            r#"(?:\\*["'])?(?P<s>[^\s"'`|;&<>\\]{3,})"#
        ))
    };
}
pub(super) use command;
