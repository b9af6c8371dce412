//! Which line of an output says what went wrong.

use crate::text::cap;

/// Bytes of an error that are kept.
const LONGEST: usize = 160;
/// Lines that are looked at, from the end.
const LINES: usize = 200;

/// The line of a failed call's output that tells most: the first of those that name an error, else the
/// last line with words. Cut to a length for people.
pub(super) fn telling_line(output: &str) -> Option<&str> {
    let lines = || output.lines().map(str::trim).filter(|line| has_words(line));
    let named =
        output.lines().rev().take(LINES).map(str::trim).filter(|line| names_an_error(line)).last();
    named.or_else(|| lines().next_back()).map(|line| cap(line, LONGEST).trim_end())
}

fn has_words(line: &str) -> bool {
    line.chars().filter(|char| char.is_alphabetic()).count() > 3
}

fn names_an_error(line: &str) -> bool {
    const BEGINNINGS: [&str; 8] =
        ["error", "Error", "ERROR", "fatal:", "panic:", "FAIL", "--- FAIL", "E   "];
    const INSIDE: [&str; 6] =
        [": error", "Error:", "Exception:", "panicked at", "not found", "No such file"];
    let counts = |line: &str| line.starts_with("errors: 0") || line.starts_with("error: 0");
    has_words(line)
        && !counts(line)
        && (BEGINNINGS.iter().any(|it| line.starts_with(it))
            || INSIDE.iter().any(|it| line.contains(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_names_the_error_is_found() {
        let output = "   Compiling x\nerror[E0308]: mismatched types\n  --> src/a.rs:3\nerror: could not compile";
        assert_eq!(telling_line(output), Some("error[E0308]: mismatched types"));
        assert_eq!(
            telling_line("one\nsomething went wrong\n\n---\n"),
            Some("something went wrong")
        );
        assert_eq!(telling_line(" \n--\n"), None);
        let long = format!("error: {}", "é".repeat(200));
        assert!(telling_line(&long).is_some_and(|line| line.len() <= LONGEST));
    }
}
