//! Text as the context needs it: its cost, cuts to a budget, keywords, first words.

mod keywords;
mod sentence;
mod time;
mod tokens;

use std::borrow::Cow;

use crate::secrets::blank;
pub use keywords::{MAX_KEYWORDS, extract_keywords};
pub(crate) use keywords::{
    Segment, for_each_segment, for_each_word, is_joint, is_unspaced, parts, stem_hash,
};
pub use sentence::first_sentence;
pub(crate) use sentence::sentences;
pub use time::iso_time;
pub use tokens::estimate_tokens;
pub(crate) use tokens::{UNITS_PER_TOKEN, estimate_units, estimate_units_to, prefix_within};

/// The mark where text was cut off.
pub const CUT: &str = " …";

/// Returns `text` in at most `max` estimated tokens: whole, or cut between words (inside one only where it is longer
/// than a third of what fits) and followed by `indicator`. `indicator` is counted, and left out where it alone is too
/// much.
pub fn truncate_to_token_budget<'a>(text: &'a str, max: usize, indicator: &str) -> Cow<'a, str> {
    truncate_to_units(text, max.saturating_mul(UNITS_PER_TOKEN), indicator)
}

/// [`truncate_to_token_budget`] in hundredths of a token.
pub(crate) fn truncate_to_units<'a>(text: &'a str, max: usize, indicator: &str) -> Cow<'a, str> {
    if prefix_within(text, max).len() == text.len() {
        return Cow::Borrowed(text);
    }
    let mut room = max.saturating_sub(estimate_units(indicator));
    let indicator = if room == 0 { "" } else { indicator };
    if indicator.is_empty() {
        room = max;
    }
    loop {
        let kept = whole_words(text, prefix_within(text, room));
        if kept.is_empty() {
            return Cow::Borrowed("");
        }
        let cut = [kept, indicator].concat();
        let cost = estimate_units(&cut);
        if cost <= max {
            return Cow::Owned(cut);
        }
        // Where text and indicator meet, pieces may have another cost than apart.
        room = room.saturating_sub((cost - max).max(UNITS_PER_TOKEN));
    }
}

/// `prefix` of `text` without a last word that was cut in two.
fn whole_words<'a>(text: &'a str, prefix: &'a str) -> &'a str {
    let in_word = |char: char| !char.is_whitespace();
    let goes_on = text.get(prefix.len()..).is_some_and(|rest| rest.starts_with(in_word));
    if !goes_on || !prefix.ends_with(in_word) {
        return prefix.trim_end();
    }
    match prefix.rfind(char::is_whitespace) {
        Some(at) if at * 3 >= prefix.len() * 2 => prefix.get(..at).unwrap_or(prefix).trim_end(),
        _ => prefix.trim_end(),
    }
}

/// The longest prefix of `text` of at most `max` bytes that ends between characters.
pub(crate) fn cap(text: &str, max: usize) -> &str {
    text.get(..text.floor_char_boundary(max)).unwrap_or(text)
}

/// A length of time in milliseconds for people: `950ms`, `12s`, `3m 20s`, `2h 5m`, `3d 4h`.
/// A negative one, from a clock that was set back, is `0ms`.
pub fn format_duration(ms: i64) -> String {
    let seconds = ms / 1000;
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{large}{unit}")
        } else {
            format!("{large}{unit} {small}{small_unit}")
        }
    };
    match seconds {
        ..=0 => format!("{}ms", ms.max(0)),
        1..60 => format!("{seconds}s"),
        60..3600 => two(seconds / 60, "m", seconds % 60, "s"),
        3600..86_400 => two(seconds / 3600, "h", seconds % 3600 / 60, "m"),
        _ => two(seconds / 86_400, "d", seconds % 86_400 / 3600, "h"),
    }
}

/// Bytes of a text in which a title's words are looked for.
const READ: usize = 4_096;
/// The most characters of a title; writing without spaces has no words to count.
const TITLE_CHARS: usize = 60;

/// Returns the first two to five (`n`) words of a user's text, on one line and without Markdown or tags: a title for
/// the frame that the words open. Empty if there are no words. A word with a secret in it has a mask in its place.
pub fn first_words(text: &str, n: usize) -> String {
    let text = blank(cap(text, 2 * READ));
    let text = without_tags(cap(&text, READ));
    let mut title = String::new();
    let mut left = TITLE_CHARS;
    for word in plain_words(&text).take(n.clamp(2, 5)) {
        if !title.is_empty() {
            if word.chars().count() >= left {
                break;
            }
            title.push(' ');
        }
        title.extend(word.chars().filter(|char| !char.is_control()).take(left));
        left = TITLE_CHARS.saturating_sub(title.chars().count());
    }
    title
}

/// `text` without tags. A `<` that no name follows is no tag.
fn without_tags(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before);
        let is_tag = after.starts_with(|char: char| char.is_ascii_alphabetic() || char == '/');
        rest = match after.split_once('>') {
            Some((_, rest_of_text)) if is_tag => {
                plain.push(' ');
                rest_of_text
            }
            _ => {
                plain.push('<');
                after
            }
        };
    }
    plain.push_str(rest);
    plain
}

fn is_markup(char: char) -> bool {
    char.is_control()
        || matches!(char, '#' | '*' | '`' | '_' | '~' | '>' | '|' | '[' | ']' | '"' | '(' | ')')
}

fn plain_words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .map(|word| word.trim_matches(is_markup))
        .map(|word| word.trim_end_matches([',', ';', ':', '.', '!', '?']))
        .filter(|word| word.chars().any(char::is_alphanumeric))
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
