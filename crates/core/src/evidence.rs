//! Evidence: what the machine can tell of a finished span without a model. Paths, commands and how they
//! ended, test results, errors, names, numbers and addresses: what a summary in prose loses, and what
//! the work after it writes again.
//!
//! Everything that might be told is weighed by how likely later work needs it (`weigh`) against what it
//! costs, and told in that order until the budget is used up. The same span gives the same evidence.
//!
//! Not here: what a host's tools are called (`hosts`), where evidence is kept (`store`).

mod beside;
mod brief;
mod changes;
mod closing;
mod errors;
mod gaps;
mod gather;
mod join;
mod lines;
mod remains;
mod runners;
mod shell;
pub mod terms;
mod weigh;

use serde::{Deserialize, Serialize};

pub use beside::unseen_outcome;
pub use changes::{Edit, FileChange};
pub use closing::{RESULTS_TOKENS, extract_results};
pub use gaps::Gaps;
pub use gather::command_line;
pub use remains::{OpenItems, Remains};
pub use runners::{TestCounts, counts};

use crate::text::estimate_tokens;
use gather::Item;
use shell::Removed;

/// One thing that happened in a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The agent said something.
    Said(String),
    /// The agent thought something, as far as the host shows it.
    Thought(String),
    /// The agent called a tool.
    Called(Call),
}

/// A tool call with what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The tool's name.
    pub tool: String,
    /// What it was given: all texts of its arguments.
    pub input: String,
    /// What it answered.
    pub output: String,
    /// The exit code, where the host tells one.
    pub exit: Option<i64>,
    /// Whether the host calls it failed.
    pub failed: bool,
    /// What it did, or tried to do where it failed, as far as the host's tools are known.
    pub action: Action,
    /// What it put into files, in order.
    pub edits: Vec<Edit>,
}

impl Call {
    /// Whether it went wrong, by what the host says or by its exit code.
    fn has_failed(&self) -> bool {
        self.failed || self.exit.is_some_and(|exit| exit != 0)
    }

    /// What it removed, if it is a command that went well and ran in the folder `project`.
    fn removed(&self, project: &str) -> Vec<Removed> {
        match &self.action {
            Action::Ran(command) if !self.has_failed() => shell::removed(command, project),
            _ => Vec::new(),
        }
    }
}

/// What a tool call did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// It ran a command.
    Ran(String),
    /// It read a file.
    Read(String),
    /// It wrote files.
    Wrote(Vec<String>),
    /// Something else.
    #[default]
    Other,
}

/// What is told of a span, within a budget. Files are told as the agent wrote them, so that it can write
/// them again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Evidence {
    /// Files that were written.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<WrittenFile>,
    /// What was changed in them, those that were changed last behind the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// Files that were read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Files that were only named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    /// Commands, in the order in which they were last run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRun>,
    /// Test runs among the commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<TestRun>,
    /// Errors that were seen last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<SeenError>,
    /// Names of functions, types, variables.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub identifiers: Vec<String>,
    /// Numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<String>,
    /// Addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub urls: Vec<String>,
    /// What was written between quotes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strings: Vec<String>,
    /// Calls made together with the end, of which the results can't say that they failed, or that nobody saw
    /// how they ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// What was still to be done at the end.
    #[serde(skip_serializing_if = "Remains::is_empty")]
    pub remains: Remains,
    /// What of the span can't be read again.
    #[serde(skip_serializing_if = "Gaps::is_empty")]
    pub gaps: Gaps,
}

/// A file that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// Its path.
    pub path: String,
    /// SHA-256 in hex of its content at the end of the span, where it was read then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl WrittenFile {
    /// Whether a path is that of this file, which may be told by a longer or a shorter one: agents write whole
    /// paths, artifacts are told from the project's folder.
    pub fn is_at(&self, path: &str) -> bool {
        let ends = |long: &str, short: &str| {
            let folder = long.strip_suffix(short);
            folder.is_some_and(|folder| folder.is_empty() || folder.ends_with(['/', '\\']))
        };
        !path.is_empty() && (ends(&self.path, path) || ends(path, &self.path))
    }
}

/// A command that was run, once or several times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRun {
    /// The command in one line.
    pub line: String,
    /// How its runs ended, where that is known: exit codes, in order; of many the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exits: Vec<i64>,
}

impl CommandRun {
    /// The exit codes that say how it went: that a pipe ended well says only that its last command did.
    fn told_exits(&self) -> &[i64] {
        let ended_well = self.exits.last() == Some(&0);
        if ended_well && shell::is_piped(&self.line) { &[] } else { &self.exits }
    }
}

/// What a test runner said at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestRun {
    /// The command.
    pub command: String,
    /// How its last run ended.
    pub counts: TestCounts,
    /// How many had failed at the run before that, if other ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_before: Option<u64>,
}

/// An error that a call ended with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenError {
    /// The line that tells most.
    pub text: String,
    /// Whether the same was done again later without an error.
    pub gone: bool,
}

impl Evidence {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How much evidence may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Thousandths of the span's tokens.
    pub share: usize,
    /// Estimated tokens that are granted to any span, if they are less than a third of it; of a small
    /// one what a few commands take.
    pub floor: usize,
    /// Estimated tokens that no span is granted more of.
    pub ceiling: usize,
    /// Hundredths of it that changes of files may take.
    pub changes: usize,
    /// Whether quoted strings and names of files without a folder are told.
    pub strings: bool,
}

/// Estimated tokens for the evidence of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// For all of it.
    pub all: usize,
    /// Of these for changes of files.
    pub changes: usize,
    /// Whether quoted strings and names of files without a folder are told.
    pub strings: bool,
}

/// Estimated tokens that even a span of a few steps is granted: its commands and how they ended.
const LEAST: usize = 120;

impl Default for Budget {
    fn default() -> Self {
        Self { share: 23, floor: 280, ceiling: 650, changes: 0, strings: false }
    }
}

impl Budget {
    /// For a frame that nobody pushed: nobody has summed it up, and what is told further up is not told
    /// again. 8 % of the span: sent anew at 1.25 that costs what the span would have cost from the
    /// provider's cache, at 0.1.
    pub const UNPUSHED: Self =
        Self { share: 80, floor: 200, ceiling: 2_000, changes: 40, strings: true };

    /// What a span of `span` estimated tokens is granted.
    pub fn of(self, span: usize) -> Room {
        let share = span.saturating_mul(self.share) / 1_000;
        let all = share.clamp(self.floor, self.ceiling.max(self.floor)).min((span / 3).max(LEAST));
        Room { all, changes: all * self.changes / 100, strings: self.strings }
    }
}

/// Estimated tokens of a span: what the agent said, asked its tools and was answered.
pub fn span_tokens(span: &[Happening]) -> usize {
    let tokens = |happening: &Happening| match happening {
        Happening::Said(text) => rough_tokens(text),
        Happening::Thought(_) => 0,
        Happening::Called(call) => rough_tokens(&call.input) + rough_tokens(&call.output),
    };
    span.iter().map(tokens).sum()
}

/// Bytes of a text by which its tokens are estimated.
const SAMPLE: usize = 1_024;

fn rough_tokens(text: &str) -> usize {
    let sample = crate::text::cap(text, SAMPLE);
    let tokens = estimate_tokens(sample);
    if sample.len() == text.len() { tokens } else { tokens * text.len() / sample.len().max(1) }
}

/// The evidence of a span in as many estimated tokens as there is `room` for, as [`Evidence::lines`] tells
/// it. What `told` says already is not told again. `project` is the project's folder, or empty.
pub fn take(span: &[Happening], told: &str, project: &str, room: Room) -> Evidence {
    take_untold(span, told, project, room, &|_, _| false)
}

/// [`take`] without the terms of which `is_told` knows that they are told elsewhere: those that
/// [`terms::told`] finds there.
pub fn take_untold(
    span: &[Happening],
    told: &str,
    project: &str,
    room: Room,
    is_told: &dyn Fn(terms::Kind, &str) -> bool,
) -> Evidence {
    let changes = changes::changes(span, project, room.changes.min(room.all));
    let mut told = told.to_owned();
    for line in changes::lines(&changes) {
        told.push('\n');
        told.push_str(&line);
    }
    let budget = room.all - changes::cost(&changes);
    let gathered = gather::gather(span, project);
    let mut ranked = weigh::rank(&gathered, &told, budget, room.strings, is_told);
    let fits = |items: &[Item]| {
        let found = gathered.tell(items);
        let cost: usize = found.lines().iter().map(|line| estimate_tokens(line) + LINE).sum();
        (cost <= budget).then_some(found)
    };
    let (mut fitting, mut least) = (Evidence::default(), 0);
    for _ in 0..PASSED_OVER {
        // Nothing costs less than a token.
        let mut most = ranked.len().min(budget);
        while least < most {
            let count = usize::midpoint(least, most + 1);
            match fits(ranked.get(..count).unwrap_or_default()) {
                Some(found) => (fitting, least) = (found, count),
                None => most = count - 1,
            }
        }
        if least >= ranked.len() {
            break;
        }
        ranked.remove(least);
    }
    Evidence { changes, ..fitting }
}

/// Items that are passed over because they are too large, while smaller ones behind them may still fit.
const PASSED_OVER: usize = 4;

/// Estimated tokens of what stands around a line in a list.
const LINE: usize = 2;

#[cfg(test)]
#[path = "evidence/secret_tests.rs"]
mod secret_tests;
#[cfg(test)]
#[path = "evidence/evidence_tests.rs"]
mod tests;
