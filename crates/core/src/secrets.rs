//! Keys, tokens and passwords in a text, known by their form, and the text without them.
//!
//! A mask says what kind of secret stood there and nothing of it, not even its length. What only looks
//! random (hashes, ids, images in base64) is no secret: every form here has a beginning, a name or a
//! frame of its own.

mod forms;
mod judge;
mod named;
mod private_key;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;
use serde_json::Value;

use self::forms::{FORMS, TOKENS, VERSION};
use self::judge::is_likely;
use crate::text::truncate_to_token_budget;

/// Each is compiled when a text first has one of its signs: most are never needed, and each takes memory.
static PATTERNS: [OnceLock<Regex>; FORMS.len()] = [const { OnceLock::new() }; FORMS.len()];
/// How all tokens and names begin, found in one pass.
static BEGINNINGS: OnceLock<Regex> = OnceLock::new();

#[expect(clippy::expect_used, reason = "the tables are fixed, and a test compiles all of them")]
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern of a form is a regular expression")
}

fn beginnings() -> Regex {
    let mut all: Vec<&str> = TOKENS.iter().flat_map(|token| token.begins).copied().collect();
    all.extend(named::WORDS);
    // Of those that begin alike the longest is found.
    all.sort_by_key(|begin| (Reverse(begin.len()), *begin));
    let all: Vec<String> = all.into_iter().map(regex::escape).collect();
    compiled(&all.join("|"))
}

/// Tells the table of forms from another one: what was masked with the same one needs no second look.
pub fn forms() -> String {
    let mut hasher = DefaultHasher::new();
    VERSION.hash(&mut hasher);
    for form in FORMS {
        (form.name, form.signs, form.pattern).hash(&mut hasher);
    }
    for token in TOKENS {
        (token.name, token.begins, token.least, token.most).hash(&mut hasher);
    }
    named::WORDS.hash(&mut hasher);
    private_key::MARK.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// What kind it is, such as `GitHub token`.
    pub kind: &'static str,
    /// Where it stands; byte offsets.
    pub place: Range<usize>,
}

/// The secrets in a text, in their order; none overlaps another.
pub fn secrets(text: &str) -> Vec<Secret> {
    let mut found: BTreeMap<usize, Secret> = BTreeMap::new();
    let mut add = |kind: &'static str, place: Range<usize>| {
        let before = found.range(..place.end).next_back();
        if before.is_none_or(|(_, known)| known.place.end <= place.start) {
            found.insert(place.start, Secret { kind, place });
        }
    };
    let mut named: Vec<Range<usize>> = Vec::new();
    let mut tokens = Vec::new();
    let mut scanned = Scanned::default();
    for begin in BEGINNINGS.get_or_init(beginnings).find_iter(text) {
        if let Some((kind, place)) = token_at(text, begin.start(), &mut scanned) {
            tokens.push((kind, place));
        }
        if named.last().is_some_and(|known| begin.start() < known.end) {
            continue;
        }
        let rest = text.get(begin.start()..).unwrap_or_default();
        if let Some(word) = named::WORDS.iter().find(|word| rest.starts_with(**word)) {
            named.extend(named::value(text, begin.start()..begin.start() + word.len()));
        }
    }
    // A private key may have anything in it, and tokens tell more than what else they stand in.
    for place in private_key::places(text) {
        add(private_key::NAME, place);
    }
    for (kind, place) in tokens {
        add(kind, place);
    }
    for (form, pattern) in FORMS.iter().zip(&PATTERNS) {
        if !form.signs.iter().any(|sign| text.contains(sign)) {
            continue;
        }
        let pattern = pattern.get_or_init(|| compiled(form.pattern));
        for captures in pattern.captures_iter(text) {
            let Some(whole) = captures.name("s").or_else(|| captures.get(0)) else { continue };
            if (form.judge)(whole.as_str()) {
                add(form.name, whole.range());
            }
        }
    }
    for place in named {
        add("password", place);
    }
    found.into_values().collect()
}

/// Where the letters end that were looked at last, for each row of the tokens. A token whose length is not
/// bounded, and that was none, is none from a later place in the same letters on either: none is longer, ends
/// elsewhere or has what the longer one lacks. Without that a text full of beginnings takes forever.
struct Scanned {
    /// Behind the token that was found last.
    found: usize,
    ends: [usize; TOKENS.len()],
    /// Bytes that were looked at, for the tests.
    #[cfg(test)]
    steps: usize,
}

impl Default for Scanned {
    fn default() -> Self {
        Self {
            found: 0,
            ends: [0; TOKENS.len()],
            #[cfg(test)]
            steps: 0,
        }
    }
}

/// The token that begins here; places are asked for in their order.
fn token_at(
    text: &str,
    from: usize,
    scanned: &mut Scanned,
) -> Option<(&'static str, Range<usize>)> {
    let rest = text.get(from..)?;
    let before = text.as_bytes().get(..from)?.last();
    if from < scanned.found || before.is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let found = TOKENS.iter().zip(0..).find_map(|(token, row): (_, usize)| {
        let begin = token.begins.iter().find(|begin| rest.starts_with(**begin))?;
        let known = scanned.ends.get_mut(row)?;
        if from + begin.len() < *known {
            return None;
        }
        let of = rest.as_bytes().get(begin.len()..)?;
        let most = token.most.saturating_add(1);
        let length = of.iter().take(most).take_while(|byte| (token.of)(**byte)).count();
        if token.most == forms::ANY {
            *known = from + begin.len() + length;
        }
        #[cfg(test)]
        {
            scanned.steps += length;
        }
        let of_token = rest.get(begin.len()..begin.len() + length)?;
        // That one ends a sentence.
        let length = of_token.trim_end_matches('.').len();
        let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let is_whole = (token.least..=token.most).contains(&length)
            && !of.get(length).is_some_and(goes_on)
            // A name with more before it.
            && !(token.begins == ["key-"] && before.is_some_and(|it| matches!(it, b'-' | b'_')));
        let end = begin.len() + length;
        (is_whole && (token.judge)(rest.get(..end)?)).then_some((token.name, from..from + end))
    });
    if let Some((_, place)) = &found {
        scanned.found = place.end;
    }
    found
}

/// The text with each secret replaced by what it is: `‹masked: GitHub token›`.
pub fn mask(text: &str) -> Cow<'_, str> {
    replaced(text, label)
}

/// The same for a text of which only a few words are taken: one word for each secret.
pub(crate) fn blank(text: &str) -> Cow<'_, str> {
    replaced(text, |_| "‹masked›".to_owned())
}

/// [`truncate_to_token_budget`]. Where the text has to be cut its secrets are masked before: half of one
/// is known for none any more.
pub fn cut_to_token_budget<'a>(text: &'a str, max: usize, indicator: &str) -> Cow<'a, str> {
    match truncate_to_token_budget(text, max, indicator) {
        Cow::Owned(_) => truncate_to_token_budget(&mask(text), max, indicator).into_owned().into(),
        Cow::Borrowed(text) => text.into(),
    }
}

/// The same of a text that is taken from another one: it keeps no secret, also where nothing has to be cut.
pub fn take_to_token_budget(text: &str, max: usize, indicator: &str) -> String {
    truncate_to_token_budget(&mask(text), max, indicator).into_owned()
}

fn replaced(text: &str, with: impl Fn(&'static str) -> String) -> Cow<'_, str> {
    let found = secrets(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    for secret in found {
        masked.push_str(text.get(at..secret.place.start).unwrap_or_default());
        masked.push_str(&with(secret.kind));
        at = secret.place.end;
    }
    masked.push_str(text.get(at..).unwrap_or_default());
    Cow::Owned(masked)
}

/// The same for each text in a value, its keys aside. A text under a name such as `password` is a secret
/// as a whole. Returns whether anything was masked.
pub fn mask_value(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let Cow::Owned(masked) = mask(text) else { return false };
            *text = masked;
            true
        }
        Value::Array(values) => {
            values.iter_mut().fold(false, |masked, value| mask_value(value) | masked)
        }
        Value::Object(fields) => fields.iter_mut().fold(false, |masked, (name, value)| {
            let named = value.as_str().and_then(|text| mask_named(name, text));
            let secret = named.is_some();
            if let Some(label) = named {
                *value = label.into();
            }
            secret | mask_value(value) | masked
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What stands for a text that is a secret as a whole, by the name that it goes under.
pub fn mask_named(name: &str, text: &str) -> Option<String> {
    (names_a_secret(name) && is_likely(text)).then(|| label("password"))
}

const LABEL: (&str, char) = ("‹masked: ", '›');

fn label(kind: &str) -> String {
    let (begin, end) = LABEL;
    format!("{begin}{kind}{end}")
}

pub(crate) fn has_mask(text: &str) -> bool {
    text.contains(LABEL.0)
}

/// How long the mask is that a text begins with, in bytes; none if it begins with none.
pub(crate) fn label_at_start(text: &str) -> Option<usize> {
    let (begin, end) = LABEL;
    let at = text.strip_prefix(begin)?.find(end)?;
    Some(begin.len() + at + end.len_utf8())
}

fn names_a_secret(name: &str) -> bool {
    const NAMES: [&str; 8] = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "apikey",
        "accesskey",
        "privatekey",
    ];
    // A file may be called anything.
    if name.contains(['/', '.']) {
        return false;
    }
    let name: String =
        name.chars().filter(|char| char.is_alphanumeric()).collect::<String>().to_lowercase();
    NAMES.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
pub(crate) mod fakes;

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
