//! The remaining work of a span, as far as it shows: items of the todo list, checks that failed, changes after which
//! nothing was run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::checks::{checks, kind, parts};
use super::{Action, Activity, CommandRun, counts};
use crate::secrets::mask;
use crate::text::{CUT, cap, truncate_to_token_budget};
use crate::transcript::ToolCall;

/// The work that was still to be done at the end of a span.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Remains {
    /// The items of the todo list that were left; none if no list was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<OpenItems>,
    /// Tests, builds and the like that failed when they were run last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<CommandRun>,
    /// Whether files were changed and no command was run after that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub untried: bool,
}

/// Items of a todo list that were not over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OpenItems {
    /// Those that come first, cut to a line.
    pub next: Vec<String>,
    /// The number of further ones.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
}

/// The most items that are shown after one of them has ended, and at the end of all work on the list.
const NEXT: usize = 3;
const ALL: usize = 8;
/// Estimated tokens of an item.
const ITEM: usize = 16;

/// Commands that are shown, and the longest one in bytes.
const FAILING: usize = 2;
const COMMAND: usize = 80;

impl OpenItems {
    /// Returns the items that remain after one of them, from those that are `open` then, in order.
    pub fn after_an_item(open: &[String]) -> Self {
        Self::of(open, NEXT)
    }

    /// Returns the items that a turn or a frame leaves on the list.
    pub fn at_the_end(open: &[String]) -> Self {
        Self::of(open, ALL)
    }

    fn of(open: &[String], most: usize) -> Self {
        let in_a_line = |item: &String| {
            let line = mask(item).split_whitespace().collect::<Vec<_>>().join(" ");
            truncate_to_token_budget(&line, ITEM, CUT).into_owned()
        };
        let next: Vec<_> = open.iter().take(most).map(in_a_line).collect();
        Self { more: open.len() - next.len(), next }
    }
}

impl Remains {
    /// Whether nothing is known to remain.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the remaining work that a span itself shows; `project` is the project's folder, or empty.
    pub fn of(span: &[Activity], project: &str) -> Self {
        let mut remains = Self::default();
        let calls = span.iter().filter_map(|activity| match activity {
            Activity::Called(call) => Some(call),
            _ => None,
        });
        for call in calls {
            match &call.action {
                Action::Ran(command) => {
                    remains.untried = false;
                    remains.ran(command, call, project);
                }
                Action::Wrote(paths) if !paths.is_empty() && !call.has_failed() => {
                    remains.untried = true;
                }
                _ => {}
            }
        }
        let many = remains.failing.len().saturating_sub(FAILING);
        remains.failing.drain(..many);
        for run in &mut remains.failing {
            if run.line.len() > COMMAND {
                run.line = format!("{}{CUT}", cap(&run.line, COMMAND));
            }
        }
        remains
    }

    /// Records a line of commands. Those count that are known to have failed: the line's exit code may be that of
    /// another one.
    fn ran(&mut self, command: &str, call: &ToolCall, project: &str) {
        let has_passed = counts(call.output_text()).is_some_and(|tests| tests.failed == 0);
        let checks = checks(command, call, project);
        for (line, exit) in parts(command, call, project) {
            // Checks that were run again, even if only in part, or as a part of more.
            self.failing.retain(|run| !is_alike(&run.line, &line));
            let check = checks.iter().find(|check| check.line == line);
            let exit = exit.filter(|exit| *exit != 0);
            let is_failed = match check {
                Some(check) => check.passed == Some(false),
                None => exit.is_some() && kind(&line).is_none() && is_check(&line),
            };
            let is_alone = check.is_none() && checks.is_empty();
            if is_failed && !(has_passed && (check.is_some() || is_alone)) {
                let exits = exit.filter(|_| call.exit.is_some()).into_iter().collect();
                self.failing.push(CommandRun { line, exits });
            }
        }
    }

    /// Joins the remaining work of two stretches.
    pub(super) fn then(self, later: Self) -> Self {
        Self { list: later.list.or(self.list), ..later }
    }

    /// A line for each kind of things.
    pub(super) fn lines(&self) -> impl Iterator<Item = String> {
        let list = self.list.as_ref().map(|open| {
            let mut items = open.next.clone();
            match (items.is_empty(), open.more) {
                (true, _) => items.push("nothing".to_owned()),
                (_, 0) => {}
                (_, more) => items.push(format!("and {more} more")),
            }
            format!("remains on the todo list: {}", items.join("; "))
        });
        let failing = (!self.failing.is_empty()).then(|| {
            let runs = self.failing.iter().map(|run| match run.meaningful_exits().last() {
                Some(exit) => format!("`{}` (exit {exit})", run.line),
                None => format!("`{}`", run.line),
            });
            format!("failed when run last: {}", runs.collect::<Vec<_>>().join("; "))
        });
        let untried = self.untried.then(|| "no command was run after the last change".to_owned());
        list.into_iter().chain(failing).chain(untried)
    }
}

/// Whether a command checks work, by the words in it: that it failed is not enough, since a search that finds nothing
/// fails, too.
fn is_check(line: &str) -> bool {
    const WORDS: [&str; 12] = [
        "test",
        "tests",
        "check",
        "lint",
        "build",
        "compile",
        "tsc",
        "pytest",
        "clippy",
        "make",
        "vet",
        "typecheck",
    ];
    const LOOKS: [&str; 8] = ["rg", "grep", "ls", "find", "cat", "git", "sed", "which"];
    let first = program(line).next().unwrap_or_default();
    let mut words = program(line).flat_map(|word| word.split([':', '-']));
    !LOOKS.contains(&first) && words.any(|word| WORDS.contains(&word))
}

/// Returns the words of a command that identify it, up to the first one that is its object. A program counts by its
/// name, wherever it lies, and a module of Python as a program.
fn program(line: &str) -> impl Iterator<Item = &str> {
    let line = match line.split_once(" && ") {
        Some((first, rest)) if first.starts_with("cd ") => rest,
        _ => line,
    };
    let is_set = |word: &&str| word.contains('=') && !word.starts_with('-');
    let is_what = |word: &&str| {
        !word.starts_with('-') && !word.contains(['/', '.', '|', '>', '&', ';', '"', '\''])
    };
    let mut words = line.split_whitespace().skip_while(is_set).peekable();
    let path = words.next().unwrap_or_default();
    let mut name = path.rsplit('/').next().unwrap_or_default();
    if name.starts_with("python") && words.next_if_eq(&"-m").is_some() {
        name = words.next().unwrap_or_default();
    }
    std::iter::once(name).chain(words).take_while(is_what)
}

/// Whether one of two commands does the same as the other, or more of it.
fn is_alike(one: &str, other: &str) -> bool {
    let both = || program(one).zip(program(other));
    one == other || (both().next().is_some() && both().all(|(one, other)| one == other))
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[cfg(test)]
#[path = "remains_tests.rs"]
mod tests;
