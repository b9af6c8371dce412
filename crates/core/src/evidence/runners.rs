//! The final output of the common test runners.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a run of tests ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestCounts {
    /// The number that passed: tests, or packages where the runner counts these.
    pub passed: u64,
    /// The number that failed, errors included.
    pub failed: u64,
    /// The number that was skipped or ignored.
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

/// Lines at the end of an output that are read.
const LINES: usize = 400;

/// The final summary of a test run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    /// The numbers of tests that passed and failed.
    pub counts: TestCounts,
    /// Its line, without its frame and its duration.
    pub said: String,
}

impl Summary {
    /// Several summaries of one run.
    pub(super) fn sum(all: &[Self]) -> Option<Self> {
        let [first, rest @ ..] = all else { return None };
        let mut sum = first.clone();
        for one in rest {
            sum.counts.passed = sum.counts.passed.saturating_add(one.counts.passed);
            sum.counts.failed = sum.counts.failed.saturating_add(one.counts.failed);
            sum.counts.skipped = sum.counts.skipped.saturating_add(one.counts.skipped);
            let of_packages = one.said == packages(one.counts);
            sum.said = if of_packages { packages(sum.counts) } else { sum.counts.to_string() };
        }
        Some(sum)
    }
}

/// The counts in a command's output, if a test runner made it: of cargo test and nextest, pytest, unittest, jest,
/// vitest, bun, deno, go test, mocha, node's runner, `RSpec`, `PHPUnit`, Maven and similar tools. Several summaries
/// of one run are added up.
pub fn counts(output: &str) -> Option<TestCounts> {
    Summary::sum(&summaries(output)).map(|sum| sum.counts)
}

/// Returns the number of packages that passed, in the format of Go.
fn packages(counts: TestCounts) -> String {
    let failed =
        if counts.failed > 0 { format!(", {} failed", counts.failed) } else { String::new() };
    match counts.passed {
        1 => format!("1 package ok{failed}"),
        passed => format!("{passed} packages ok{failed}"),
    }
}

/// Returns the summaries of test runners in an output, in order.
pub(super) fn summaries(output: &str) -> Vec<Summary> {
    let skipped = output.lines().count().saturating_sub(LINES);
    let mut found: Vec<Summary> = Vec::new();
    // The counts of the last summary that stood in lines of their own.
    let mut has: Vec<&str> = Vec::new();
    let mut ran: Option<u64> = None;
    for line in output.lines().skip(skipped) {
        let line = without_count(line.trim());
        if let Some(counts) = go_package(line) {
            has.clear();
            // It counts packages, unlike others, which count tests.
            found.push(Summary { counts, said: packages(counts) });
            continue;
        }
        if let Some((what, one)) = lone(line) {
            let open = found.last_mut().filter(|_| !has.is_empty() && !has.contains(&what));
            if let Some(last) = open {
                last.counts.passed = last.counts.passed.saturating_add(one.passed);
                last.counts.failed = last.counts.failed.saturating_add(one.failed);
                last.counts.skipped = last.counts.skipped.saturating_add(one.skipped);
                last.said = last.counts.to_string();
            } else {
                has.clear();
                found.push(Summary { counts: one, said: one.to_string() });
            }
            has.push(what);
            continue;
        }
        if let Some(counts) = ran.filter(|_| !line.is_empty()).and_then(|ran| unittest(line, ran)) {
            ran = None;
            found.push(Summary { counts, said: counts.to_string() });
            continue;
        }
        ran = unittest_ran(line).or(ran);
        let one = pytest(line).or_else(|| {
            let counts = summary(line)?;
            Some(Summary { counts, said: counts.to_string() })
        });
        if let Some(one) = one {
            has.clear();
            found.push(one);
        }
    }
    found
}

/// Returns a line without the count that `uniq -c` puts in front of it.
fn without_count(line: &str) -> &str {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|it| it.is_ascii_digit());
    match line.split_once(' ') {
        Some((count, rest)) if is_number(count) => {
            let rest = rest.trim_start();
            let begins = rest.split(' ').next().is_some_and(is_number);
            if begins { rest } else { line }
        }
        _ => line,
    }
}

/// `335 passed, 16 skipped in 2.25s`, between signs or not.
fn pytest(line: &str) -> Option<Summary> {
    let bare = line.trim_matches(['=', ' ']);
    let (said, took) = bare.rsplit_once(" in ")?;
    let is_time = took.starts_with(|it: char| it.is_ascii_digit()) && took.contains('s');
    let mut counts = TestCounts::default();
    let mut found = false;
    for part in said.split(", ") {
        let (count, what) = part.split_once(' ')?;
        let count = count.parse().ok()?;
        // Such as `2 xfailed`, `5 warnings` and `3 subtests passed`.
        found |= counts.add(what, count) || what == "deselected";
    }
    (found && is_time).then(|| Summary { counts, said: said.to_owned() })
}

/// `Ran 12 tests in 0.1s`
fn unittest_ran(line: &str) -> Option<u64> {
    let (count, rest) = line.strip_prefix("Ran ")?.split_once(' ')?;
    rest.starts_with("test").then(|| count.parse().ok())?
}

/// `OK (skipped=2)` or `FAILED (failures=1, errors=2)`
fn unittest(line: &str, ran: u64) -> Option<TestCounts> {
    let rest = line.strip_prefix("OK").or_else(|| line.strip_prefix("FAILED"))?;
    let mut counts = TestCounts::default();
    for part in rest.trim_matches([' ', '(', ')']).split(", ") {
        let Some((what, count)) = part.split_once('=') else { continue };
        counts.add(what, count.parse().ok()?);
    }
    counts.passed = ran.checked_sub(counts.failed.checked_add(counts.skipped)?)?;
    Some(counts)
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
    } else if let Some(rest) = line.strip_prefix("ok | ").or_else(|| line.strip_prefix("FAILED | "))
    {
        rest
    } else if line.starts_with("OK (")
        || line.contains(" examples, ")
        || line.contains(" example, ")
    {
        return examples(line);
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

/// `12 examples, 1 failure, 2 pending` and `OK (12 tests, 30 assertions)`
fn examples(line: &str) -> Option<TestCounts> {
    let mut counts = TestCounts::default();
    let mut all: Option<u64> = None;
    let bare = line.trim_start_matches("OK (").trim_end_matches(')');
    for part in bare.split(", ") {
        let (count, what) = part.split_once(' ')?;
        let count = count.parse().ok()?;
        match what {
            "examples" | "example" | "tests" | "test" => all = Some(count),
            "failure" => counts.failed = count,
            "assertions" | "assertion" => {}
            what => drop(counts.add(what, count)),
        }
    }
    counts.passed = all?.checked_sub(counts.failed.checked_add(counts.skipped)?)?;
    Some(counts)
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

/// Reads `12 passing (30ms)`, `1 failing`, `# pass 5`, `12 pass`: a count and its kind alone in a line.
fn lone(line: &str) -> Option<(&'static str, TestCounts)> {
    const WORDS: [&str; 8] =
        ["passing", "failing", "pending", "pass", "fail", "skipped", "todo", "skip"];
    let mut counts = TestCounts::default();
    let words = line.trim_start_matches(['#', 'ℹ']).trim();
    let is_node = words.len() < line.len();
    let mut words = words.split_whitespace();
    let (first, second) = (words.next()?, words.next()?);
    let alone = words.next().is_none();
    let (what, count) = if is_node { (first, second) } else { (second, first) };
    let what = WORDS.into_iter().find(|it| *it == what)?;
    let fits = match what {
        "passing" | "failing" | "pending" => !is_node,
        "pass" | "fail" => alone,
        _ => is_node && alone,
    };
    let slot = if what == "skip" { "skipped" } else { what };
    (fits && counts.add(slot, count.parse().ok()?)).then_some((what, counts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(output: &str) -> String {
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
            ("      1 189 failed, 37 passed in 3.20s", "37 passed, 189 failed"),
            ("# tests 6\n# pass 5\n# fail 1", "5 passed, 1 failed"),
            ("Tests run: 5, Failures: 1, Errors: 1, Skipped: 1", "2 passed, 2 failed, 1 skipped"),
            ("Tests run: 1, Failures: 2", "none"),
            ("all 3 tests passed, they say", "none"),
        ];
        for (output, expected) in cases {
            assert_eq!(shown(output), expected, "{output}");
        }
    }
}
