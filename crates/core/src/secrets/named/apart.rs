//! Values that no sign binds to their names: in elements, rows, arguments and pairs.

use std::ops::Range;

use super::super::escaped;
use super::super::judge::{
    is_likely, is_likely_and_no_name, is_likely_bare, is_likely_phrase, is_strong,
};
use super::super::tables::BARS;
use super::{LEAST, Name, SPACE, ends_bare};

/// The words before the value of a pair, and the bytes between its name and its value.
const VALUES: [&str; 3] = ["value", "Value", "ParameterValue"];
const BETWEEN: usize = 160;
/// Bytes of an object with a value.
const OBJECT: usize = 400;

/// Returns the place after the first of some words in a text.
fn after_word(text: &str, words: &[&str]) -> Option<usize> {
    let is_word = |(place, word): &(usize, &str)| {
        let (before, after) = (text.get(..*place), text.get(place + word.len()..));
        let is_apart = |char: char| !char.is_alphanumeric() && !"_-.".contains(char);
        before.is_some_and(|it| it.is_empty() || it.ends_with(is_apart))
            && after.is_some_and(|it| it.starts_with(is_apart))
    };
    let places = words.iter().flat_map(|word| text.match_indices(word));
    places.filter(is_word).min().map(|(place, word)| place + word.len())
}

impl Name<'_> {
    pub(super) fn without_a_sign(&self, at: usize) -> Option<Range<usize>> {
        self.element(at)
            .or_else(|| self.next_element(at))
            .or_else(|| self.record(at))
            .or_else(|| self.argument(at))
            .or_else(|| self.fallback(at))
            .or_else(|| self.pair(at))
            .or_else(|| self.declared(at))
            .or_else(|| self.attribute(at))
            .or_else(|| self.variable(at))
            .or_else(|| (at > self.end && !self.is_quoted).then(|| self.after_a_space(at))?)
    }

    /// `<name>value</name>`.
    fn element(&self, at: usize) -> Option<Range<usize>> {
        let before = self.text.get(..self.place.start)?;
        let rest = self.text.get(at..)?;
        let length = [("<", ">"), ("&lt;", "&gt;"), ("\\u003c", "\\u003e")]
            .iter()
            .find(|(open, close)| before.ends_with(open) && rest.starts_with(close))
            .map(|(_, close)| close.len())?;
        let ends = |char: char| char.is_whitespace() || matches!(char, '<' | '&' | '\\' | '"');
        let judge = if self.is_password() { is_likely } else { is_likely_and_no_name };
        self.bare(at + length, ends, LEAST, judge)
    }

    /// `<td>name</td><td>value</td>`.
    fn next_element(&self, at: usize) -> Option<Range<usize>> {
        const TAGS: usize = 4;
        if !self.text.get(..self.place.start)?.ends_with('>') {
            return None;
        }
        let mut from = self.skip_lines(at);
        for _ in 0..TAGS {
            let rest = self.text.get(from..)?;
            if !rest.starts_with('<') {
                break;
            }
            let length = rest.get(..rest.floor_char_boundary(SPACE))?.find('>')? + 1;
            from = self.skip_lines(from + length);
        }
        if from == at {
            return None;
        }
        let ends = |char: char| char.is_whitespace() || matches!(char, '<' | '&' | '"');
        let judge = if self.is_password() { is_likely_and_no_name } else { is_strong };
        self.bare(from, ends, LEAST, judge)
    }

    /// `name | value` on a line of its own, as databases print a row over several lines.
    fn record(&self, at: usize) -> Option<Range<usize>> {
        let rest = self.text.get(at..)?.strip_prefix(BARS)?.strip_prefix(' ')?;
        let is_word = |char: char| char.is_ascii_alphanumeric() || char == ' ';
        if !self.line_before().trim().trim_start_matches(BARS).chars().all(is_word) {
            return None;
        }
        let from = self.skip_space(self.text.len() - rest.len());
        let judge = if self.is_password() { is_likely_and_no_name } else { is_strong };
        let found = self.bare(from, ends_bare, LEAST, judge)?;
        let after = self.text.get(found.end..)?;
        let after = after.get(..after.floor_char_boundary(SPACE * 2))?;
        let after = after.trim_start_matches([' ', '\r']).trim_start_matches(BARS);
        let after = after.trim_start_matches([' ', '\r']);
        (after.is_empty() || after.starts_with(['\n', '\\'])).then_some(found)
    }

    /// `define('NAME', 'value')` and the like, and `"--name", "value"`.
    fn argument(&self, at: usize) -> Option<Range<usize>> {
        let is_next = self.text.get(at..)?.starts_with(',');
        if self.is_quoted && self.text.get(self.place.start..)?.starts_with("--") {
            let from = if is_next { self.skip_lines(at + 1) } else { at };
            let inner = escaped::quoted(self.text, from).filter(|_| from > self.end)?;
            let is_option = self.is(&inner, |value| value.starts_with('-'));
            return (inner.len() >= LEAST && !is_option && self.is(&inner, is_likely_bare))
                .then_some(inner);
        }
        if !self.is_quoted || !is_next {
            return None;
        }
        let before = self.text.get(..self.place.start)?;
        let quote = escaped::quote_at_end(before)?;
        let is_call = before.strip_suffix(quote)?.trim_end().ends_with('(');
        let from = self.skip_space(at + 1);
        let inner = self.written(from).filter(|_| is_call || self.is_header())?;
        if !is_call {
            return self.is(&inner, is_strong).then_some(inner);
        }
        let judge = if self.is_password() { is_likely } else { is_likely_and_no_name };
        let is_phrase = || self.is_password() && self.is(&inner, is_likely_phrase);
        (inner.len() >= LEAST && (self.is(&inner, judge) || is_phrase())).then_some(inner)
    }

    /// `name: NAME, value: value`, in whichever way pairs are written.
    fn pair(&self, at: usize) -> Option<Range<usize>> {
        const CALLED: [&str; 6] = ["name", "Name", "key", "Key", "NAME", "label"];
        let mut before = self.line_before();
        before = before.strip_suffix(escaped::quote_at_end(before).unwrap_or_default())?;
        before = before.trim_end().strip_suffix(['=', ':'])?.trim_end();
        before = before.strip_suffix(escaped::quote_at_end(before).unwrap_or_default())?;
        if !CALLED.iter().any(|called| before.ends_with(called)) {
            return None;
        }
        let rest = self.text.get(at..)?;
        let rest = rest.get(..rest.floor_char_boundary(BETWEEN))?;
        // Such as the type that stands between them, in the same object or tag.
        let rest = rest.get(..rest.find(['{', '}', '>']).unwrap_or(rest.len()))?;
        match after_word(rest, &VALUES) {
            Some(end) => self.value_after(at + end),
            None => self.value_before(self.place.start - self.line_before().len() + before.len()),
        }
    }

    /// `name: { type: string, value: value }`.
    pub(super) fn object(&self, from: usize) -> Option<Range<usize>> {
        let found = self.inside(from, &VALUES)?;
        (self.is_password() || self.is(&found, is_strong)).then_some(found)
    }

    /// `<name value="value">`.
    fn attribute(&self, at: usize) -> Option<Range<usize>> {
        let is_element = self.text.get(..self.place.start)?.ends_with('<');
        let rest = self.text.get(at..).filter(|_| is_element)?;
        let tag = rest.get(..rest.floor_char_boundary(BETWEEN))?.split('>').next()?;
        self.value_after(at + after_word(tag, &VALUES)?)
    }

    /// `variable "name" { default = "value" }`.
    fn variable(&self, at: usize) -> Option<Range<usize>> {
        let before = self.line_before();
        let quote = escaped::quote_at_end(before).unwrap_or_default();
        let is_variable = before.strip_suffix(quote)?.trim_end().ends_with("variable");
        let is_block = self.is_quoted && self.text.get(at..)?.starts_with('{');
        if is_variable && is_block { self.inside(at + 1, &["default"]) } else { None }
    }

    /// Returns the value after one of some words in an object that begins before a place, if that is a secret.
    fn inside(&self, from: usize, words: &[&str]) -> Option<Range<usize>> {
        let rest = self.text.get(from..)?;
        let rest = rest.get(..rest.floor_char_boundary(OBJECT))?;
        let object = rest.split(['{', '}']).next()?;
        self.value_after(from + after_word(object, words)?)
    }

    /// `value: value, name: NAME`, where `end` is the place before the sign of the name.
    fn value_before(&self, end: usize) -> Option<Range<usize>> {
        let begin = self.text.ceil_char_boundary(end.saturating_sub(BETWEEN));
        let around = self.text.get(begin..end)?;
        let object = around.rsplit(['{', '}', '>']).next()?;
        let at =
            VALUES.iter().filter_map(|value| Some(object.rfind(value)? + value.len())).max()?;
        let found = self.value_after(end - object.len() + at)?;
        let between = self.text.get(found.end..end)?;
        // Another item of a list begins there.
        let is_same = !between.contains("\n- ") && between.matches('\n').count() < 2;
        is_same.then_some(found)
    }

    /// Returns the value after the word that announces it, if that is a secret.
    fn value_after(&self, end: usize) -> Option<Range<usize>> {
        let end = end + escaped::quote(self.text.get(end..)?).map_or(0, str::len);
        let end = self.skip_space(end);
        let (_, length) = escaped::sign(self.text.get(end..)?)?;
        let from = self.skip_space(end + length);
        let judge = if self.is_password() { is_likely_bare } else { is_likely_and_no_name };
        match escaped::quoted(self.text, from) {
            Some(inner) => (inner.len() >= LEAST && self.is(&inner, judge)).then_some(inner),
            None => self.bare(from, ends_bare, LEAST, judge),
        }
    }
}
