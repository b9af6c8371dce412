//! Evidence in a line, for siblings of the frame.

use super::Evidence;
use crate::text::{CUT, cap};

/// The longest command, and the longest error, that is shown, in bytes.
const COMMAND: usize = 80;
const ERROR: usize = 120;
/// Commands that are shown where no tests were run.
const COMMANDS: usize = 2;

impl Evidence {
    /// Returns the state at the end, in one line: the tests, else the last commands, and the error that was left.
    /// Empty where nothing of that is known.
    pub fn brief(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        let known = self.checks.iter().rev().find_map(|run| Some((run, run.how()?)));
        if let Some((run, how)) = known {
            parts.push(format!("`{}`: {}", short(&run.line, COMMAND), short(&how, ERROR)));
        } else if let Some(run) = self.tests.last() {
            parts.push(format!("`{}`: {}", short(&run.command, COMMAND), run.counts));
        } else {
            let ended = self.commands.iter().filter_map(|run| {
                let exit = run.meaningful_exits().last()?;
                Some(format!("`{}`: exit {exit}", short(&run.line, COMMAND)))
            });
            let ended: Vec<_> = ended.collect();
            parts.extend_from_slice(&ended[ended.len().saturating_sub(COMMANDS)..]);
        }
        if let Some(failure) = self.failures.last() {
            parts.push(format!(
                "failed: {}: {}",
                short(&failure.what, COMMAND),
                short(&failure.how, ERROR)
            ));
        }
        if let Some(error) = self.errors.iter().rfind(|error| !error.gone) {
            parts.push(format!("not seen to be gone: {}", short(&error.text, ERROR)));
        }
        parts.join("; ")
    }
}

fn short(text: &str, most: usize) -> String {
    match cap(text, most) {
        whole if whole.len() == text.len() => whole.to_owned(),
        cut => format!("{cut}{CUT}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CommandRun, SeenError, TestCounts, TestRun};
    use super::*;

    fn ran(line: &str, exits: &[i64]) -> CommandRun {
        CommandRun { line: line.to_owned(), exits: exits.to_vec() }
    }

    #[test]
    fn tests_say_more_than_commands_and_what_is_still_wrong_is_named() {
        let mut evidence = Evidence {
            commands: vec![ran("make", &[2, 0]), ran("sleep 1", &[]), ran("git diff", &[0])],
            ..Evidence::default()
        };
        assert_eq!(evidence.brief(), "`make`: exit 0; `git diff`: exit 0");
        let counts = TestCounts { passed: 12, failed: 1, skipped: 0 };
        evidence.tests =
            vec![TestRun { command: "make".to_owned(), counts, failed_before: Some(3) }];
        let error = |text: &str, gone| SeenError { text: text.to_owned(), gone };
        evidence.errors = vec![error("E0308: mismatched types", false), error("a typo", true)];
        assert_eq!(
            evidence.brief(),
            "`make`: 12 passed, 1 failed; not seen to be gone: E0308: mismatched types"
        );
    }

    #[test]
    fn long_texts_are_cut_and_nothing_is_nothing() {
        let long = Evidence { commands: vec![ran(&"é".repeat(200), &[0])], ..Evidence::default() };
        assert!(long.brief().len() < 100, "{}", long.brief());
        assert_eq!(Evidence::default().brief(), "");
    }
}
