//! Texts with a number before each line, as tools that read files print them: forms that go over several lines are
//! looked for without the numbers.

use std::ops::Range;

use crate::masking::subject::numbered;

/// A text without the numbers of its lines.
pub(super) struct Unnumbered {
    pub(super) text: String,
    /// Where each line begins in it, and in the original.
    lines: Vec<(usize, usize)>,
}

impl Unnumbered {
    /// None if no two lines in a row have numbers that count up.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut bare = Self { text: String::with_capacity(text.len()), lines: Vec::new() };
        let (mut at, mut before, mut counts) = (0, None, false);
        for line in text.split_inclusive('\n') {
            let found = numbered(line);
            let rest = found.map_or(line, |(_, rest)| rest.strip_prefix(' ').unwrap_or(rest));
            let number = found.map(|(number, _)| number);
            counts |= number.is_some_and(|number| before == number.checked_sub(1));
            before = number;
            bare.lines.push((bare.text.len(), at + line.len() - rest.len()));
            bare.text.push_str(rest);
            at += line.len();
        }
        counts.then_some(bare)
    }

    /// Returns where something stands in the original.
    pub(super) fn place(&self, place: &Range<usize>) -> Range<usize> {
        let original = |at: usize| {
            let line = self.lines.partition_point(|(start, _)| *start <= at);
            let (bare, original) =
                self.lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
            original + at - bare
        };
        original(place.start)..original(place.end.saturating_sub(1)) + 1
    }
}
