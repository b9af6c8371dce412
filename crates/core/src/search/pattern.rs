//! The places of a string in a text, as it is written or in any case.

use std::cell::OnceCell;
use std::ops::Range;

use memchr::memmem::Finder;
use regex::{Regex, RegexBuilder};

/// A text in which several strings are looked for.
pub(super) struct Text<'t> {
    written: &'t str,
    /// The text with its ASCII letters in lower case, computed on demand; it has the same length.
    small: OnceCell<String>,
}

impl<'t> Text<'t> {
    pub(super) fn new(written: &'t str) -> Self {
        Self { written, small: OnceCell::new() }
    }

    pub(super) fn written(&self) -> &'t str {
        self.written
    }

    fn small(&self) -> &str {
        self.small.get_or_init(|| self.written.to_ascii_lowercase())
    }
}

/// A string to be looked for.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    AsWritten(Finder<'static>),
    /// Letters of ASCII, which match their upper case, too. A regular expression takes a hundred times as long to
    /// make, which is longer than searching all the messages of a search.
    SmallAscii(Finder<'static>),
    AnyCase(Regex),
}

impl Pattern {
    pub(super) fn as_written(text: &str) -> Self {
        Self::AsWritten(Finder::new(text).into_owned())
    }

    #[expect(
        clippy::expect_used,
        reason = "escaped text is a pattern, and no query is megabytes long"
    )]
    pub(super) fn in_any_case(text: &str) -> Self {
        if text.is_ascii() {
            return Self::SmallAscii(Finder::new(&text.to_ascii_lowercase()).into_owned());
        }
        let pattern = RegexBuilder::new(&regex::escape(text))
            .case_insensitive(true)
            .size_limit(usize::MAX)
            .build()
            .expect("escaped text is a pattern");
        Self::AnyCase(pattern)
    }

    /// Returns its places, in bytes; none of these overlaps another.
    pub(super) fn places<'p>(
        &'p self,
        text: &'p Text<'_>,
    ) -> Box<dyn Iterator<Item = Range<usize>> + 'p> {
        let (finder, text) = match self {
            Self::AsWritten(finder) => (finder, text.written()),
            Self::SmallAscii(finder) => (finder, text.small()),
            Self::AnyCase(pattern) => {
                return Box::new(pattern.find_iter(text.written()).map(|found| found.range()));
            }
        };
        let length = finder.needle().len();
        Box::new(finder.find_iter(text.as_bytes()).map(move |at| at..at + length))
    }
}
