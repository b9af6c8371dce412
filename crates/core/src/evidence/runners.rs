//! What the common test runners say at their end.

use serde::{Deserialize, Serialize};

/// How a run of tests ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCounts {
    /// What passed: tests, or packages where the runner counts these.
    pub passed: u64,
    /// What failed, errors included.
    pub failed: u64,
    /// What was skipped or ignored.
    pub skipped: u64,
}

impl TestCounts {
    fn add(&mut self, what: &str, count: u64) -> bool {
        let slot = match what {
            "passed" | "passing" | "pass" => &mut self.passed,
            "failed" | "failing" | "fail" | "failures" | "errors" | "error" => &mut self.failed,
            "skipped" | "ignored" | "pending" | "todo" => &mut self.skipped,
            _ => return false,
        };
        *slot = slot.saturating_add(count);
        true
    }
}

impl std::fmt::Display for TestCounts {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} passed", self.passed)?;
        if self.failed > 0 {
            write!(out, ", {} failed", self.failed)?;
        }
        if self.skipped > 0 {
            write!(out, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// Lines at the end of an output that are looked at.
const LINES: usize = 400;

/// The counts in a command's output, if a test runner made it: of cargo test and nextest, pytest, jest,
/// vitest, go test, mocha, node's runner, and what Maven and its likes print. Several summaries of one run
/// are added up.
pub fn counts(output: &str) -> Option<TestCounts> {
    let mut counts = TestCounts::default();
    let mut found = false;
    for line in output.lines().rev().take(LINES) {
        let line = line.trim();
        let one = summary(line).or_else(|| go_package(line)).or_else(|| lone(line));
        if let Some(one) = one {
            found = true;
            counts.passed = counts.passed.saturating_add(one.passed);
            counts.failed = counts.failed.saturating_add(one.failed);
            counts.skipped = counts.skipped.saturating_add(one.skipped);
        }
    }
    found.then_some(counts)
}

/// A line that holds the whole sum.
fn summary(line: &str) -> Option<TestCounts> {
    let rest = if let Some(rest) = line.strip_prefix("test result: ") {
        rest
    } else if let Some((_, rest)) =
        line.split_once(" tests run: ").filter(|_| line.contains("Summary ["))
    {
        rest
    } else if let Some(rest) = line.strip_prefix("Tests:") {
        rest
    } else if let Some(rest) =
        line.strip_prefix("Tests ").filter(|rest| !rest.trim_start().starts_with("run"))
    {
        rest
    } else if line.starts_with("==") && line.ends_with("==") {
        line.trim_matches('=')
    } else {
        return named(line);
    };
    let mut counts = TestCounts::default();
    let mut found = false;
    let words: Vec<&str> =
        rest.split([' ', ',', ';', '|', '(', ')']).filter(|it| !it.is_empty()).collect();
    for pair in words.windows(2) {
        if let [count, what] = pair
            && let Ok(count) = count.parse()
        {
            found |= counts.add(what.trim_end_matches('.'), count);
        }
    }
    found.then_some(counts)
}

/// `Tests run: 5, Failures: 1, Errors: 0, Skipped: 0`
fn named(line: &str) -> Option<TestCounts> {
    let (_, rest) = line.split_once("Tests run: ")?;
    let mut counts = TestCounts::default();
    let mut all = 0_u64;
    for (at, field) in rest.split(", ").enumerate() {
        let (what, count) = field.split_once(": ").unwrap_or(("run", field));
        let Ok(count) = count.trim().parse() else { break };
        if at == 0 {
            all = count;
        } else {
            counts.add(&what.to_ascii_lowercase(), count);
        }
    }
    counts.passed = all.checked_sub(counts.failed.checked_add(counts.skipped)?)?;
    // The sum over all classes comes once more at the end; single classes name theirs.
    (all > 0 && !line.contains(" - in ") && !line.contains("Time elapsed")).then_some(counts)
}

/// `ok`, the package and the time, with tabs between; or `FAIL` and the same.
fn go_package(line: &str) -> Option<TestCounts> {
    let mut fields = line.split('\t').map(str::trim);
    let (state, package) = (fields.next()?, fields.next()?);
    let is_package = !package.is_empty() && !package.contains(' ');
    match state {
        "ok" if is_package => Some(TestCounts { passed: 1, ..TestCounts::default() }),
        "FAIL" if is_package => Some(TestCounts { failed: 1, ..TestCounts::default() }),
        _ => None,
    }
}

/// `12 passing (30ms)`, `1 failing`, `# pass 5`
fn lone(line: &str) -> Option<TestCounts> {
    let mut counts = TestCounts::default();
    let words = line.trim_start_matches(['#', 'ℹ']).trim();
    let is_node = words.len() < line.len();
    let mut words = words.split_whitespace();
    let (first, second) = (words.next()?, words.next()?);
    let known = if is_node && words.next().is_none() {
        matches!(first, "pass" | "fail" | "skipped" | "todo")
            && counts.add(first, second.parse().ok()?)
    } else {
        matches!(second, "passing" | "failing" | "pending")
            && counts.add(second, first.parse().ok()?)
    };
    known.then_some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(output: &str) -> String {
        counts(output).map_or_else(|| "none".to_owned(), |counts| counts.to_string())
    }

    #[test]
    fn the_common_runners_are_understood() {
        let cases = [
            (
                "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n\ntest \
                 result: FAILED. 3 passed; 2 failed; 0 ignored",
                "15 passed, 2 failed, 1 skipped",
            ),
            (
                "  Summary [   1.2s] 34 tests run: 33 passed, 1 failed, 2 skipped",
                "33 passed, 1 failed, 2 skipped",
            ),
            (
                "===== 1 failed, 10 passed, 2 skipped in 0.5s =====",
                "10 passed, 1 failed, 2 skipped",
            ),
            ("======= test session starts =======", "none"),
            (
                "Test Suites: 1 passed, 1 total\nTests:       1 failed, 5 passed, 6 total",
                "5 passed, 1 failed",
            ),
            (
                " Test Files  1 passed (1)\n      Tests  4 passed | 1 skipped (5)",
                "4 passed, 1 skipped",
            ),
            (
                "ok  \tx.org/a\t0.1s\n--- FAIL: TestB (0.0s)\nFAIL\tx.org/b\t0.2s\nFAIL",
                "1 passed, 1 failed",
            ),
            ("  12 passing (30ms)\n  1 failing", "12 passed, 1 failed"),
            ("# tests 6\n# pass 5\n# fail 1", "5 passed, 1 failed"),
            ("Tests run: 5, Failures: 1, Errors: 1, Skipped: 1", "2 passed, 2 failed, 1 skipped"),
            ("Tests run: 1, Failures: 2", "none"),
            ("all 3 tests passed, they say", "none"),
        ];
        for (output, expected) in cases {
            assert_eq!(told(output), expected, "{output}");
        }
    }
}
