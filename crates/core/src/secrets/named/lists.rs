//! Lists of secrets by the name of the list.

use std::ops::Range;

use super::{LEAST, Name, SPACE, ends_bare};
use crate::secrets::escaped;
use crate::secrets::judge::is_strong;

/// The beginning of an item of a list in YAML.
pub(super) const ITEM: &str = "- ";
/// The most items that are read.
const MOST: usize = 100;

/// Whether a list is assigned where a name has ended: only such a name stands in the plural.
pub(super) fn begins_a_list(text: &str) -> bool {
    let rest = text.strip_prefix(escaped::quote(text).unwrap_or_default()).unwrap_or(text);
    let rest = rest.trim_start_matches([' ', '\t']);
    let Some((_, length)) = escaped::sign(rest) else { return false };
    let rest = rest.get(length..).unwrap_or_default();
    let begin = rest.get(..rest.floor_char_boundary(SPACE)).unwrap_or_default();
    let item = begin.trim_start();
    let is_below = begin.get(..begin.len() - item.len()).is_some_and(|space| space.contains('\n'));
    item.starts_with('[') || is_below && item.starts_with(ITEM)
}

impl Name<'_> {
    /// Returns the values of a list, from the first that is a secret to the last one.
    pub(super) fn several(&self, from: usize) -> Option<Range<usize>> {
        let mut found: Option<Range<usize>> = None;
        let mut at = self.skip_lines(from);
        for _ in 0..MOST {
            let Some(inner) = escaped::quoted(self.text, at) else { break };
            // Lists of tokens are mostly those of a language.
            let is_secret = self.is_quoted_secret(&inner, false)
                && (self.is_password() || self.is(&inner, is_strong));
            if found.is_some() || is_secret {
                found = Some(found.map_or(inner.start, |it| it.start)..inner.end);
            }
            let quote = escaped::quote(self.text.get(inner.end..)?)?;
            let after = self.skip_lines(inner.end + quote.len());
            if !self.text.get(after..)?.starts_with(',') {
                break;
            }
            at = self.skip_lines(after + 1);
        }
        found
    }

    /// Returns the values of a list in YAML, from the first that is a secret to the last one.
    pub(super) fn items(&self, from: usize) -> Option<Range<usize>> {
        let mut found: Option<Range<usize>> = None;
        let mut at = from;
        for _ in 0..MOST {
            if !self.text.get(at..).is_some_and(|rest| rest.starts_with(ITEM)) {
                break;
            }
            let start = self.skip_space(at + ITEM.len());
            let rest = self.text.get(start..)?;
            let line = rest.get(..rest.floor_char_boundary(SPACE))?.split('\n').next()?;
            if line.trim_end().ends_with(':') {
                // The item is a map or a list, whose own names are looked at by themselves.
                break;
            }
            let inner = match escaped::quoted(self.text, start) {
                Some(inner) if self.is_quoted_secret(&inner, false) => Some(inner),
                Some(_) => None,
                None => self.bare(start, ends_bare, LEAST, self.bare_judge()),
            };
            let is_secret = |inner: &Range<usize>| self.is_password() || self.is(inner, is_strong);
            if let Some(inner) = inner.filter(is_secret) {
                found = Some(found.map_or(inner.start, |it| it.start)..inner.end);
            }
            let Some(length) = rest.find('\n') else { break };
            at = self.skip_lines(start + length);
        }
        found
    }
}
