//! Watches the work in a frame, one message after the other.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::commands::{fails, verifies};
use super::seen::{Seen, hashes};
use super::signals::Signals;
use crate::evidence::Action;
use crate::frame::Identity;
use crate::named_steps::{is_our_command, is_ours};
use crate::transcript::{CallState, ToolCall};

/// Keywords below which a request is a remark and no new goal.
const REMARK: usize = 4;
/// Steps after which a failure that did not come again no longer counts.
const FORGOTTEN: u32 = 20;
/// Kinds of failures that are kept in mind.
const FAILURES: usize = 32;

/// The observations of the work in a frame so far.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    goal: HashSet<u64>,
    /// Whether the goal is the user's first request, so that seeing it is nothing new.
    derived: bool,
    words: HashSet<u64>,
    covered: HashSet<u64>,
    failures: Vec<RepeatedFailure>,
    /// Commands by whether they went well when they were last run.
    commands: HashMap<u64, bool>,
    read: HashSet<u64>,
    /// Hashes of the requests to other tools.
    asked: HashSet<u64>,
    changed: HashSet<u64>,
    folders: HashSet<u64>,
    seen: Signals,
}

#[derive(Clone, Debug)]
struct RepeatedFailure {
    what: u64,
    /// The success that settles it: the command itself, or the tool, whatever its arguments.
    until: u64,
    label: Box<str>,
    count: u32,
    /// The step in which it came last.
    step: u32,
}

impl Observer {
    /// Begins to watch the work towards a goal. `derived` where the goal is only the user's first
    /// request.
    pub fn new(goal: &Identity, derived: bool) -> Self {
        let words = format!("{} {}", goal.title, goal.success_criteria);
        Self { goal: hashes(&words).collect(), derived, ..Self::default() }
    }

    /// Reads the next message, with its calls.
    pub fn see<'a>(&mut self, message: &Seen, calls: impl Iterator<Item = &'a ToolCall>) {
        self.seen.messages += 1;
        self.seen.tokens += u64::from(message.tokens);
        if let Some(request) = &message.request {
            self.hear(request, &message.keywords);
        } else {
            self.seen.steps += 1;
            let succeeded = self.seen.successes > 0;
            let news = calls.filter(|call| self.follow(call)).count() > 0;
            self.seen.idle_steps = if news { 0 } else { self.seen.idle_steps + 1 };
            if succeeded && self.seen.successes > 0 {
                self.seen.settled_steps += 1;
            }
            let goal = &self.goal;
            self.covered.extend(message.keywords.iter().filter(|word| goal.contains(word)));
        }
        self.words.extend(&message.keywords);
    }

    /// Returns the present signals. `used` and `limit` are tokens of the model's context.
    pub fn signals(&self, used: Option<u64>, limit: Option<u64>) -> Signals {
        let late = || {
            let recent = self.seen.steps.saturating_sub(FORGOTTEN);
            self.failures.iter().filter(move |failure| failure.step >= recent)
        };
        let worst = late().max_by_key(|failure| failure.count);
        Signals {
            errors: late().map(|failure| failure.count).sum(),
            retries: worst.map_or(0, |failure| failure.count),
            failing: worst.map(|failure| failure.label.to_string()),
            files_changed: count(self.changed.len()),
            coverage: percent(self.covered.len(), self.goal.len()),
            used,
            limit,
            ..self.seen.clone()
        }
    }

    /// Returns how much of a text is unrelated to the goal and to the work so far: percent of its keywords.
    pub fn divergence(&self, text: &str) -> u8 {
        self.divergence_of(&hashes(text).collect::<Vec<_>>())
    }

    fn divergence_of(&self, keywords: &[u64]) -> u8 {
        let new =
            keywords.iter().filter(|word| !self.goal.contains(word) && !self.words.contains(word));
        percent(new.count(), keywords.len())
    }

    fn hear(&mut self, request: &str, keywords: &[u64]) {
        self.seen.user_turns += 1;
        let is_goal = self.derived && self.seen.messages == 1;
        if is_goal || keywords.len() < REMARK {
            return;
        }
        self.seen.divergence = self.divergence_of(keywords);
        self.seen.topic = Some(request.to_owned());
        (self.seen.new_files, self.seen.new_folders) = (0, 0);
    }

    /// Records what a call shows, and returns whether that is new. Requests to callstack itself are no work.
    fn follow(&mut self, call: &ToolCall) -> bool {
        let tool = &call.tool;
        if call.is_failed() {
            if let Some(error) = call.output.as_ref().filter(|_| !is_ours(tool)) {
                let tool_hash = hash(tool);
                self.failed(tool_hash ^ hash(error), tool_hash, tool);
            }
            return false;
        }
        match &call.action {
            Action::Ran(line) => !is_our_command(line) && self.ran(line, call.exit),
            Action::Read(path) => {
                self.went_well(hash("read"));
                self.read.insert(hash(path))
            }
            Action::Wrote(_) => {
                call.files_written().iter().filter(|path| self.wrote(path)).count() > 0
            }
            Action::Other if is_ours(tool) || call.state == CallState::Open => false,
            Action::Other => call.input_hash.is_some_and(|input| {
                self.went_well(hash(tool));
                self.asked.insert(hash(tool) ^ input)
            }),
        }
    }

    fn ran(&mut self, line: &str, exit: Option<i64>) -> bool {
        let what = hash(line);
        self.went_well(hash("bash"));
        if fails(line, exit) {
            self.failed(what, what, &format!("`{line}`"));
            self.commands.insert(what, false);
            (self.seen.successes, self.seen.settled_steps) = (0, 0);
            return false;
        }
        let before = self.commands.insert(what, true);
        self.went_well(what);
        let turned = before == Some(false);
        if exit == Some(0) && !self.changed.is_empty() && (turned || verifies(line)) {
            self.seen.successes = self.seen.successes.max(if turned { 2 } else { 1 });
        }
        before != Some(true)
    }

    fn wrote(&mut self, path: &str) -> bool {
        for tool in ["write", "edit", "patch", "apply_patch", "multiedit"] {
            self.went_well(hash(tool));
        }
        (self.seen.successes, self.seen.settled_steps) = (0, 0);
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_first = self.folders.is_empty();
        if self.folders.insert(hash(folder)) && !is_first {
            self.seen.new_folders += 1;
        }
        let is_new = self.changed.insert(hash(path));
        if is_new {
            self.seen.new_files += 1;
        }
        is_new
    }

    fn failed(&mut self, what: u64, until: u64, label: &str) {
        let step = self.seen.steps;
        if let Some(failure) = self.failures.iter_mut().find(|failure| failure.what == what) {
            failure.count += 1;
            failure.step = step;
            return;
        }
        if self.failures.len() == FAILURES {
            self.failures.remove(0);
        }
        self.failures.push(RepeatedFailure { what, until, label: label.into(), count: 1, step });
    }

    fn went_well(&mut self, what: u64) {
        self.failures.retain(|failure| failure.until != what);
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn count(many: usize) -> u32 {
    u32::try_from(many).unwrap_or(u32::MAX)
}

fn percent(part: usize, whole: usize) -> u8 {
    let percent = (part * 100).checked_div(whole).unwrap_or(0);
    u8::try_from(percent).unwrap_or(100)
}

#[cfg(test)]
#[path = "observer_tests.rs"]
mod tests;
