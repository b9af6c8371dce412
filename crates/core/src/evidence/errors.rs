//! Finds the line of an output that explains a failure.

use super::{Action, shell};
use crate::text::cap;

/// Bytes of an error that are kept.
const LONGEST: usize = 160;
/// Lines that are read, from the end.
const LINES: usize = 200;

/// Returns the most informative line of a failed call's output, in which its secrets are masked: the first of those
/// that name an error, else the last line with words for a command, which reports its end there, and the first for
/// any other tool. It is cut to a length for people. None where a command discards its errors.
pub(super) fn informative_line<'a>(action: &Action, output: &'a str) -> Option<&'a str> {
    let lines = || output.lines().map(untagged);
    let named = lines().rev().take(LINES).filter(|line| names_an_error(line)).last();
    let mut worded = lines().filter(|line| has_words(line));
    let other = || match action {
        Action::Ran(command) if shell::hides_errors(command) => None,
        Action::Ran(_) => worded.next_back(),
        _ => worded.next(),
    };
    named.or_else(other).map(|line| cap(line, LONGEST).trim_end())
}

/// A line without the tag that some hosts put around an error.
fn untagged(line: &str) -> &str {
    let line = line.trim();
    let inside = line.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    let line = inside.filter(|(tag, _)| is_tag(tag)).map_or(line, |(_, rest)| rest);
    let inside = line.strip_suffix('>').and_then(|rest| rest.rsplit_once("</"));
    inside.filter(|(_, tag)| is_tag(tag)).map_or(line, |(rest, _)| rest).trim()
}

fn is_tag(name: &str) -> bool {
    name.contains("error") && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
}

fn has_words(line: &str) -> bool {
    line.chars().filter(|char| char.is_alphabetic()).count() > 3
}

fn names_an_error(line: &str) -> bool {
    const WORDS: [&str; 4] = ["error", "Error", "ERROR", "FAIL"];
    const BEGINNINGS: [&str; 6] = ["fatal:", "panic:", "--- FAIL", "FAILED", "Errors", "E   "];
    const INSIDE: [&str; 6] =
        [": error", "Error:", "Exception:", "panicked at", "not found", "No such file"];
    let counts = |line: &str| line.starts_with("errors: 0") || line.starts_with("error: 0");
    // Not a name that begins so, such as that of a file.
    let is_word = |rest: &str| rest.starts_with([' ', ':', '[', '(', '!', ',', '\t']);
    let begins = |word: &&str| line.strip_prefix(*word).is_some_and(is_word);
    has_words(line)
        && !counts(line)
        && (WORDS.iter().any(begins)
            || BEGINNINGS.iter().any(|it| line.starts_with(it))
            || INSIDE.iter().any(|it| line.contains(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_names_the_error_is_found() {
        let action = Action::Ran("make".to_owned());
        let line_of = |output: &'static str| informative_line(&action, output);
        let output = "   Compiling x\nerror[E0308]: mismatched types\n  --> src/a.rs:3\nerror: could not compile";
        assert_eq!(line_of(output), Some("error[E0308]: mismatched types"));
        assert_eq!(line_of("one\nsomething went wrong\n\n---\n"), Some("something went wrong"));
        assert_eq!(line_of(" \n--\n"), None);
        assert_eq!(line_of("errors.rs\nerror-pages\nmakefile gone"), Some("makefile gone"));
        let long = format!("error: {}", "é".repeat(200));
        assert!(informative_line(&action, &long).is_some_and(|line| line.len() <= LONGEST));
    }

    #[test]
    fn a_command_that_hides_its_errors_shows_none() {
        let listed = |command: &str| {
            let action = Action::Ran(command.to_owned());
            informative_line(&action, "components\nerrors")
        };
        assert_eq!(listed("ls src lib 2>/dev/null"), None);
        assert_eq!(listed("ls src lib"), Some("errors"));
    }

    #[test]
    fn another_tool_says_first_what_went_wrong() {
        let output =
            "<tool_use_error>There are 2 matches of it.\nText: let a = 1;</tool_use_error>";
        assert_eq!(informative_line(&Action::Other, output), Some("There are 2 matches of it."));
        let output = "<error>It was not read before</error>";
        assert_eq!(informative_line(&Action::Other, output), Some("It was not read before"));
        let output = "<p>No page of that name</p>";
        assert_eq!(informative_line(&Action::Other, output), Some(output));
    }
}
