//! Values that stand for a variable of the environment that is missing.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::{LEAST, Name};
use crate::secrets::compiled;
use crate::secrets::form::gap;
use crate::secrets::judge::{is_likely, is_likely_and_no_name, is_strong};

/// Bytes between a name and the value that stands for it.
const BETWEEN: usize = 160;

/// What languages write between a name in a call or between brackets and the value that stands for it.
const OPERATORS: &str = concat!(
    "^(?:",
    gap!(),
    r",\s*(?:default(?:_?[vV]alue)?|unset|fallback|or_else)\s*[:=]\s*|",
    r"[)\]}]*",
    gap!(),
    r"(?:\|\|=?|\?\?=?|\?:|//=?|or(?-u:\b))",
    gap!(),
    r"|[)\]}]+[!?]?",
    gap!(),
    r"(?:\.[a-z_]{2,12}\(\)",
    gap!(),
    r")?\.(?:unwrap_or(?:_else)?|orElse(?:Get)?|getOrElse|or_else|ifBlank|ifEmpty)\s*[({]\s*",
    r"(?:\|[^|\n]{0,20}\|\s*|\(\)\s*[-=]>\s*)?(?:\{\s*)?)"
);

/// Matches the operators.
static PATTERN: OnceLock<Regex> = OnceLock::new();

impl Name<'_> {
    /// `getenv("NAME") ?: "value"` and the like in other languages.
    pub(super) fn fallback(&self, at: usize) -> Option<Range<usize>> {
        let rest = self.text.get(at..).filter(|_| self.is_quoted || self.is_read())?;
        if !rest.starts_with([')', ']', '}', ',', '|', '?', '/', 'o']) {
            return None;
        }
        let rest = rest.get(..rest.floor_char_boundary(BETWEEN))?;
        let operators = PATTERN.get_or_init(|| compiled(OPERATORS)).find(rest)?;
        let inner = self.written(at + operators.end())?;
        let judge = match (self.is_password(), self.is_constant()) {
            (true, true) => is_likely,
            (true, false) | (false, true) => is_likely_and_no_name,
            (false, false) => is_strong,
        };
        (inner.len() >= LEAST && self.is(&inner, judge)).then_some(inner)
    }

    /// Whether it stands between the braces of a hash, as `$ENV{NAME}` does.
    fn is_read(&self) -> bool {
        self.text.get(..self.place.start).is_some_and(|before| before.ends_with('{'))
    }

    /// `${NAME:-value}`.
    pub(super) fn expanded(&self, at: usize) -> Option<Range<usize>> {
        const SIGNS: [&str; 2] = [":-", ":="];
        let rest = self.text.get(at..).filter(|_| self.line_before().ends_with("${"))?;
        let from = at + SIGNS.iter().find(|sign| rest.starts_with(**sign))?.len();
        let judge = if self.is_password() { is_likely } else { is_likely_and_no_name };
        self.bare(from, |char| char.is_whitespace() || "}\"'\\$".contains(char), LEAST, judge)
    }
}
