//! Verdicts on commands by their exit codes.

/// Commands whose exit code 1 is an answer (nothing found, there is a difference), not a failure.
const ANSWERING: [&str; 12] =
    ["grep", "egrep", "fgrep", "rg", "ag", "diff", "cmp", "test", "[", "which", "pgrep", "command"];

/// Words of commands that check work.
const CHECKING: [&str; 22] = [
    "test", "tests", "check", "build", "compile", "lint", "clippy", "verify", "validate", "pytest",
    "jest", "vitest", "mocha", "tox", "tsc", "mypy", "ruff", "eslint", "nextest", "make", "ctest",
    "spec",
];

/// Whether a command failed by how it ended. One whose end is not known did not.
pub(super) fn fails(line: &str, exit: Option<i64>) -> bool {
    match exit {
        None | Some(0) => false,
        Some(1) => !answers(line),
        Some(_) => true,
    }
}

/// Whether a command checks work, by its words.
pub(super) fn verifies(line: &str) -> bool {
    let mut words = line.split(|char: char| !char.is_ascii_alphanumeric());
    words.any(|word| CHECKING.contains(&word))
}

/// Whether the last command of a line, which gives the line its exit code, is one that answers by it.
fn answers(line: &str) -> bool {
    let last = line.rsplit(['|', '&', ';']).next().unwrap_or(line);
    let mut words = last.split_whitespace().skip_while(|word| word.contains('='));
    let command = words.next().unwrap_or_default();
    let command = command.rsplit('/').next().unwrap_or(command);
    let is_git_question = command == "git" && matches!(words.next(), Some("diff" | "grep"));
    is_git_question || ANSWERING.contains(&command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_no_is_no_failure() {
        for line in
            ["grep -r foo src", "cat log | grep -c ERROR", "cd a && git diff --quiet", "[ -f a ]"]
        {
            assert!(!fails(line, Some(1)), "{line}");
            assert!(fails(line, Some(2)), "{line}");
        }
        for line in ["cargo test", "grep -c a b && cargo test", "git push", "node -e 'a|b'"] {
            assert!(fails(line, Some(1)), "{line}");
            assert!(!fails(line, Some(0)) && !fails(line, None), "{line}");
        }
    }

    #[test]
    fn checks_are_recognized_by_their_words() {
        for line in ["cargo nextest run", "npm run test", "make -C out", "./gradlew build"] {
            assert!(verifies(line), "{line}");
        }
        for line in ["ls -la", "cat contest.txt", "git status", "latest"] {
            assert!(!verifies(line), "{line}");
        }
    }
}
