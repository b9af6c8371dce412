//! The beginnings of callstack's own lines in what models read, and the quoting of foreign lines that could pass for
//! them. Whatever renders such a line takes its beginning from here, so that none is left unguarded.

use std::borrow::Cow;

use crate::dialect::Dialect;

/// The beginning of a line of callstack's own.
pub const MARK: &str = "[callstack]";

pub(crate) const PINS: &str = "Pins, which hold from here on";
pub(crate) const PIN: &str = "- p# of f#";
pub(crate) const EVIDENCE: &str = "Evidence, recorded by the machine";
pub(crate) const UNSEEN: &str =
    "Called beside the pop, so the results were written without its outcome";
pub(crate) const INSIDE: &str = "Frames inside it";
pub(crate) const LISTED: &str = "- f# \"";
pub(crate) const REQUEST: &str = "The user's request";
pub(crate) const NEWEST_REQUEST: &str = "The user's newest request";
pub(crate) const EARLIER_REQUEST: &str = "The work began with an earlier one";
pub(crate) const OUTLINES: &str = "Read and not changed (line: definition)";
pub(crate) const HEADS: &str = "First lines of files, as they stood then";
pub(crate) const PASSAGES: &str = "Text that was written last, as it stood then";
pub(crate) const OUTDATED: &str = "Read before f#";
pub(crate) const WHOLE_LOG: &str = "Every step of it";
pub(crate) const GAPS: &str = "Not every step of it";
pub(crate) const PARTIAL_LOG: &str = "All else of it";
pub(crate) const MASKED_LOG: &str = "What has left";
pub(crate) const PLANNED: &str = "Planned behind it";
pub(crate) const UNFINISHED: &str = "Left unfinished below it";
pub(crate) const OUTERMOST_ENDED: &str = "That was the session's outermost frame";
pub(crate) const SESSION_ENDED: &str = "That was the whole work of this session";

/// Beginnings that hardly any foreign line has by chance. `#` stands for a number.
const FORMS: [&str; 24] = [
    MARK,
    Dialect::Stack.suggestion_mark(),
    Dialect::Flame.suggestion_mark(),
    PINS,
    PIN,
    EVIDENCE,
    UNSEEN,
    INSIDE,
    LISTED,
    REQUEST,
    NEWEST_REQUEST,
    EARLIER_REQUEST,
    OUTLINES,
    HEADS,
    PASSAGES,
    OUTDATED,
    WHOLE_LOG,
    GAPS,
    PARTIAL_LOG,
    MASKED_LOG,
    PLANNED,
    UNFINISHED,
    OUTERMOST_ENDED,
    SESSION_ENDED,
];

pub(crate) const CRITERIA: &str = "Success criteria";
pub(crate) const GOAL: &str = "Goal";
pub(crate) const CONTEXT: &str = "Context";
pub(crate) const REASON: &str = "Reason";
pub(crate) const RESULTS: &str = "Results";
pub(crate) const RESULTS_SO_FAR: &str = "Results so far";
pub(crate) const DECISIONS: &str = "Decisions";
pub(crate) const ARTIFACTS: &str = "Artifacts";
pub(crate) const NEXT: &str = "Next";

/// Headings in common words, which are fields and keys in source code where they are indented or written otherwise.
const HEADINGS: [&str; 9] =
    [CRITERIA, GOAL, CONTEXT, REASON, RESULTS, RESULTS_SO_FAR, DECISIONS, ARTIFACTS, NEXT];

/// What follows such a heading.
const AFTER_HEADING: [&str; 3] = [":", " (", " of f#"];

pub(crate) const PINS_ELEMENT: &str = "pins";
pub(crate) const PIN_ELEMENT: &str = "pin";
pub(crate) const TASKS_ELEMENT: &str = "stack-task-management";

/// Elements of a context that say what holds and what to do.
const ELEMENTS: [&str; 5] = [
    Dialect::Stack.context_element(),
    Dialect::Flame.context_element(),
    PINS_ELEMENT,
    PIN_ELEMENT,
    TASKS_ELEMENT,
];

/// Returns a form with numbers in the places that stand for them.
pub(crate) fn numbered(form: &str, numbers: &[u64]) -> String {
    let mut pieces = form.split('#');
    let mut line = pieces.next().unwrap_or_default().to_owned();
    for (piece, number) in pieces.zip(numbers) {
        line.push_str(&number.to_string());
        line.push_str(piece);
    }
    line
}

/// Returns a text of somebody else in which no line begins as one of ours.
pub fn quoted(text: &str) -> Cow<'_, str> {
    if !has_own_line(text) {
        return Cow::Borrowed(text);
    }
    let quote = |line: &str| if is_own(line) { "\\" } else { "" };
    text.split_inclusive(ends_line).flat_map(|line| [quote(line), line]).collect::<String>().into()
}

/// Whether a line in a text begins as one of ours.
pub(crate) fn has_own_line(text: &str) -> bool {
    text.split(ends_line).any(is_own)
}

fn is_own(line: &str) -> bool {
    let begins = line.trim_start_matches(|char| is_blank(char) || is_invisible(char));
    let any_case = |a: char, b: char| a.eq_ignore_ascii_case(&b);
    let has = |form: &&str| strip(begins, form, any_case).is_some();
    if FORMS.iter().any(has) {
        return true;
    }
    if let Some(tag) = begins.strip_prefix('<') {
        let name =
            tag.trim_start_matches(|char| char == '/' || is_blank(char) || is_invisible(char));
        return ELEMENTS.iter().any(|element| strip(name, element, any_case).is_some());
    }
    let is_indented = line.starts_with("  ") || line.starts_with('\t');
    let same = |a: char, b: char| a == b;
    let is_heading = |heading: &&str| {
        let rest = strip(begins, heading, same);
        rest.is_some_and(|rest| AFTER_HEADING.iter().any(|it| strip(rest, it, same).is_some()))
    };
    !is_indented && HEADINGS.iter().any(is_heading)
}

/// Returns the rest of a line that begins with a form, whatever can't be seen between its characters.
fn strip<'l>(line: &'l str, form: &str, is_same: fn(char, char) -> bool) -> Option<&'l str> {
    let mut rest = line;
    for expected in form.chars() {
        rest = rest.trim_start_matches(is_invisible);
        rest = match expected {
            '#' => some_of(rest, |char| char.is_ascii_digit())?,
            ' ' => some_of(rest, is_blank)?,
            _ => rest.strip_prefix(|char| is_same(char, expected))?,
        };
    }
    Some(rest)
}

fn some_of(text: &str, is_one: fn(char) -> bool) -> Option<&str> {
    let rest = text.trim_start_matches(is_one);
    (rest.len() < text.len()).then_some(rest)
}

/// Whether a reader may take a character for the end of a line.
fn ends_line(char: char) -> bool {
    matches!(
        char,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

fn is_blank(char: char) -> bool {
    char.is_whitespace() || char == '\u{2800}'
}

/// Whether a character takes no place on a screen: controls, and what Unicode calls default-ignorable.
fn is_invisible(char: char) -> bool {
    (char.is_control() && !char.is_whitespace())
        || matches!(char,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
#[path = "own_lines_tests.rs"]
mod tests;
