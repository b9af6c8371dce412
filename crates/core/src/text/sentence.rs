//! The sentences of a text, and the first of them as a title on one line.

use super::{READ, cap, is_markup, without_tags};
use crate::secrets::blank;

/// The most characters of a sentence.
const SENTENCE_CHARS: usize = 120;

/// Words that a full stop follows without ending a sentence, in small letters and without it.
const ABBREVIATED: [&str; 26] = [
    "al", "approx", "art", "bspw", "bzw", "ca", "cf", "dr", "eg", "etc", "evtl", "fig", "ggf",
    "ie", "incl", "inkl", "max", "min", "mr", "mrs", "nr", "resp", "usw", "vgl", "viz", "vs",
];

/// Returns the sentences of a text, each with the white space after it: together they are the text. A line is at
/// least one. They end where those of a title do ([`first_sentence`]) and a new one follows, which begins with no
/// small letter and no digit, but never within backticks, nor after a list item's number.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').flat_map(|line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            let (sentence, after) = rest.split_at(sentence_end(rest, rest.len() == line.len()));
            rest = after;
            (!sentence.is_empty()).then_some(sentence)
        })
    })
}

/// Returns where the first sentence of a line ends, with the white space after it.
fn sentence_end(line: &str, begins_line: bool) -> usize {
    let mut at = 0;
    let mut may_be_sign = begins_line;
    let mut quoted = false;
    while at < line.len() {
        let rest = &line[at..];
        let from = at + (rest.len() - rest.trim_start().len());
        let rest = &line[from..];
        let word = rest.split(char::is_whitespace).next().unwrap_or_default();
        let next = rest[word.len()..].split_whitespace().next();
        let is_sign = may_be_sign && is_list_sign(word);
        may_be_sign = is_sign;
        let (part, ends) = ended(word, next);
        quoted ^= part.matches('`').count() % 2 == 1;
        let is_inside = quoted && line[from + part.len()..].contains('`');
        let inner = part.len() < word.len();
        let begins = next.is_none_or(begins_sentence);
        if ends && !is_sign && !is_inside && (inner || begins) {
            let after = &line[from + part.len()..];
            return line.len() - after.trim_start().len();
        }
        quoted ^= word[part.len()..].matches('`').count() % 2 == 1;
        at = from + word.len();
    }
    line.len()
}

fn begins_sentence(word: &str) -> bool {
    word.starts_with(|char: char| !char.is_lowercase() && !char.is_numeric())
}

/// The first sentence that a user wrote, on one line and without Markdown or tags: a title for the frame that
/// it opens. Empty if there are no words.
///
/// It ends with its full stop, question mark or exclamation mark, or with its line: a list item is a sentence of its
/// own. A full stop inside a word (`main.rs`, `v1.2`) or after an abbreviation ends none. Of one longer than 120
/// characters the whole words up to there are taken, and an ellipsis. A word with a secret in it has a mask in its
/// place.
pub fn first_sentence(text: &str) -> String {
    let text = blank(cap(unquoted(text), 2 * READ));
    let text = without_tags(cap(&text, READ));
    let mut lines = text.lines().map(line_words);
    let Some(words) = lines.find(|words| words.iter().any(|it| has_letters(it))) else {
        return String::new();
    };
    let mut title = String::new();
    for (place, word) in words.iter().enumerate() {
        let (word, ends) = ended(word, words.get(place + 1).map(String::as_str));
        let left = SENTENCE_CHARS.saturating_sub(title.chars().count());
        let needed = word.chars().count() + usize::from(!title.is_empty());
        if needed >= left {
            if title.is_empty() {
                title.extend(word.chars().take(left - 1));
            }
            return format!("{}…", without_end(&title));
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
        if ends && has_letters(&title) {
            break;
        }
    }
    without_end(&title).to_owned()
}

/// Returns a text without the quotation marks that stand around all of it, as `opencode run` puts them.
fn unquoted(text: &str) -> &str {
    let inner = text.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.filter(|inner| !inner.contains('"')).unwrap_or(text)
}

/// Returns the words of a line without the mark of a heading, a quotation or a list item, and without emphasis.
fn line_words(line: &str) -> Vec<String> {
    let mut words = line.split_whitespace().peekable();
    while words.next_if(|word| is_list_sign(word)).is_some() {}
    words.map(plain).filter(|word| !word.is_empty() && word != "|").collect()
}

/// A word without the signs of Markdown at its ends. A path keeps its asterisks.
fn plain(word: &str) -> String {
    let mut word: String = word.chars().filter(|it| !it.is_control() && *it != '`').collect();
    for sign in ["**", "*", "_"] {
        let bare = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']);
        let (begins, ends) = (word.starts_with(sign), bare.ends_with(sign));
        if word.contains('/') || bare.len() < sign.len() || !(begins || ends) {
            continue;
        }
        // One sign alone may be part of a name.
        if sign.len() == 2 || (begins && ends) {
            let end = bare.len();
            if ends {
                word.replace_range(end - sign.len()..end, "");
            }
            if begins && word.starts_with(sign) {
                word.replace_range(..sign.len(), "");
            }
        }
    }
    word
}

fn is_list_sign(word: &str) -> bool {
    let number = word.strip_suffix(['.', ')']).unwrap_or_default();
    matches!(word, "-" | "+" | "•" | "–")
        || word.chars().all(is_markup)
        || (!number.is_empty() && number.len() <= 3 && number.bytes().all(|it| it.is_ascii_digit()))
}

fn has_letters(word: &str) -> bool {
    word.chars().any(char::is_alphanumeric)
}

/// Returns a word up to where a sentence ends in it, and whether one does. `next` is the word after it.
fn ended<'a>(word: &'a str, next: Option<&str>) -> (&'a str, bool) {
    // Scripts without spaces have marks of their own, which have no other use.
    let mark = word.char_indices().find(|(_, char)| matches!(char, '。' | '！' | '？' | '｡'));
    if let Some((at, char)) = mark {
        return (&word[..at + char.len_utf8()], true);
    }
    let bare = word.trim_end_matches(['"', '\'', ')', ']', '”', '’', '»']);
    let ends = match bare.strip_suffix('.') {
        Some(before) => !goes_on_after(before, next),
        None => bare.ends_with(['?', '!']) && has_letters(bare),
    };
    (word, ends)
}

/// Whether a sentence goes on after the full stop that follows a word.
fn goes_on_after(before: &str, next: Option<&str>) -> bool {
    let word = before.trim_start_matches(['(', '[', '"', '\'']);
    let is_letter = word.chars().count() == 1 && word.chars().all(char::is_alphabetic);
    // "e.g.", "z.B.": letters with full stops between them.
    let is_letters = word.contains('.')
        && word
            .split('.')
            .all(|part| part.chars().count() == 1 && part.chars().all(char::is_alphabetic));
    let is_short = ABBREVIATED.contains(&word.to_lowercase().as_str());
    let begins = next.is_some_and(|next| next.chars().next().is_some_and(char::is_uppercase));
    let is_list = matches!(word.to_lowercase().as_str(), "etc" | "usw");
    word.is_empty()
        || word.ends_with('.')
        || is_letter
        || is_letters
        || (is_short && !(is_list && begins))
}

/// Returns a title without the mark at its end that only says that it is over, or that something follows.
fn without_end(title: &str) -> &str {
    let bare = title.trim_end_matches(['.', ',', ';', ':', '。', '｡', ' ']);
    if has_letters(bare) { bare } else { title.trim_end() }
}

#[cfg(test)]
#[path = "sentence_tests.rs"]
mod tests;
