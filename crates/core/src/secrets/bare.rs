//! Texts without what tools add to them: the number before each line, as tools that read files print it, over which no
//! form goes; and the colours of a terminal.

use std::ops::Range;

use super::escaped;
use crate::masking::subject::numbered;

const ESCAPE: char = '\u{1b}';

/// A text without something in it.
#[derive(Default)]
pub(super) struct Bare {
    pub(super) text: String,
    /// Where each part begins in it, and in the original.
    parts: Vec<(usize, usize)>,
}

impl Bare {
    /// Without the numbers of its lines; none if no two lines in a row have numbers that count up.
    pub(super) fn without_numbers(text: &str) -> Option<Self> {
        let mut bare = Self::default();
        let (mut at, mut before, mut counts) = (0, None, false);
        for line in text.split_inclusive('\n') {
            let found = numbered(line);
            let rest = found.map_or(line, |(_, rest)| rest.strip_prefix(' ').unwrap_or(rest));
            let number = found.map(|(number, _)| number);
            counts |= number.is_some_and(|number| before == number.checked_sub(1));
            before = number;
            bare.push(rest, at + line.len() - rest.len());
            at += line.len();
        }
        counts.then_some(bare)
    }

    /// Without its colours; none if it has none.
    pub(super) fn without_colours(text: &str) -> Option<Self> {
        let mut bare = Self::default();
        let (mut from, mut at) = (0, 0);
        while let Some(found) = text.get(at..).and_then(|rest| rest.find(ESCAPE)) {
            let start = at + found;
            let length = escaped::colours(text.get(start..)?);
            at = start + length.max(ESCAPE.len_utf8());
            if length > 0 {
                bare.push(text.get(from..start)?, from);
                from = at;
            }
        }
        bare.push(text.get(from..)?, from);
        (from > 0).then_some(bare)
    }

    fn push(&mut self, part: &str, at: usize) {
        self.parts.push((self.text.len(), at));
        self.text.push_str(part);
    }

    /// Returns where something stands in the original.
    pub(super) fn place(&self, place: &Range<usize>) -> Range<usize> {
        let original = |at: usize| {
            let part = self.parts.partition_point(|(start, _)| *start <= at);
            let (bare, original) =
                self.parts.get(part.saturating_sub(1)).copied().unwrap_or_default();
            original + at - bare
        };
        original(place.start)..original(place.end.saturating_sub(1)) + 1
    }

    /// Whether a place in the original begins and ends in what is left of it.
    pub(super) fn has(&self, place: &Range<usize>) -> bool {
        let is_left = |at: usize| {
            let part = self.parts.partition_point(|(_, original)| *original <= at);
            let next = self.parts.get(part).map_or(self.text.len(), |(start, _)| *start);
            let part = part.checked_sub(1).and_then(|part| self.parts.get(part));
            part.is_some_and(|(start, original)| at - original < next - start)
        };
        is_left(place.start) && is_left(place.end.saturating_sub(1))
    }
}
