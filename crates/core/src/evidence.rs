//! Evidence: facts about a finished span that need no model. Which files and definitions were changed, how checks
//! ended, which calls failed, which files were read: the facts that a colleague would hand over beside the results.
//!
//! Nothing is repeated: facts that the results contain are left out. Evidence takes as many tokens as there is room
//! for, and says where it was cut. The same span gives the same evidence.
//!
//! Not here: the names of a host's tools (`hosts`), where evidence is kept (`store`).

mod beside;
mod brief;
mod chain;
mod changes;
mod checks;
mod closing;
mod commits;
mod document;
mod errors;
pub mod files;
mod gaps;
mod gather;
mod hunks;
mod join;
mod lines;
mod literals;
mod names;
mod reads;
mod reasons;
mod remains;
mod room;
mod runners;
mod shell;
mod symbols;
pub mod terms;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use beside::unseen_outcome;
pub use changes::{Changed, Edit, Fate, FileChange, What};
pub use checks::CheckRun;
pub use closing::{RESULTS_TOKENS, extract_results};
pub use files::{FileOutline, KeptFiles, Passage};
pub use gaps::Gaps;
pub use gather::command_line;
pub use hunks::{Hunk, HunkLine, hunks};
pub use reads::{FileRead, files_read};
pub use remains::{OpenItems, Remains};
pub use room::{Budget, Room};
pub use runners::{TestCounts, counts};

use crate::named_steps::ClosedCalls;
use crate::text::estimate_tokens;
use crate::transcript::ToolCall;
use shell::Removed;

/// One thing that happened in a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The agent said something.
    Said(String),
    /// The agent thought something, as far as the host shows it.
    Thought(String),
    /// The agent called a tool.
    Called(Box<ToolCall>),
}

impl Activity {
    /// Returns a call of a tool.
    pub fn called(call: ToolCall) -> Self {
        Self::Called(Box::new(call))
    }

    /// The call, if it is one.
    pub fn call(&self) -> Option<&ToolCall> {
        match self {
            Self::Called(call) => Some(call),
            Self::Said(_) | Self::Thought(_) => None,
        }
    }
}

impl ToolCall {
    /// Returns the files that it removed, if it is a command that went well and ran in the folder `project`.
    fn removed(&self, project: &str) -> Vec<Removed> {
        match &self.action {
            Action::Ran(command) if !self.has_failed() => shell::removed(command, project),
            _ => Vec::new(),
        }
    }
}

/// The action of a tool call.
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

/// The evidence of a span, within a budget. Files are named from the project's folder where they lie in it.
///
/// Evidence of older versions had names, numbers, addresses and quoted strings as well. They are read, and not shown
/// any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Evidence {
    /// Files that were written, from which later changes are detected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<WrittenFile>,
    /// The changes to them; those that were changed last come last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// How many files were changed besides.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_changes: usize,
    /// Files that were written of which nobody knows how.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub written_besides: Vec<String>,
    /// The last commands that may have changed files in ways that no call shows: scripts, edits in place, patches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changing: Vec<String>,
    /// How many such commands were run before those.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_changing: usize,
    /// The last commits of git, each with its hash, where that was printed, and its subject.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<String>,
    /// Tests, linters and builds, in the order in which they were last run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckRun>,
    /// Whether checks were left out, since the results give their outcomes as they were recorded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub checked_as_told: bool,
    /// Other failures that were not seen to go well later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// Whether files were changed and no test, linter or build was seen at all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub never_checked: bool,
    /// Files that were changed after the last check.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
    /// The files that the span read and did not change, and how much of each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<FileRead>,
    /// How many files were read besides.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_reads: usize,
    /// Files that were read, in evidence of older versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Commands of any kind, in evidence of older versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRun>,
    /// Test runs among those.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<TestRun>,
    /// Errors, in evidence of older versions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<SeenError>,
    /// Calls made together with the end, of which the results can't say that they failed, or that nobody saw
    /// how they ended.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
    /// Files that the reader of the replacing text had read before the span changed them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outdated: Vec<String>,
    /// Files whose line numbers stand in texts of earlier work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub renumbered: Vec<String>,
    /// The work that was still to be done at the end.
    #[serde(skip_serializing_if = "Remains::is_empty")]
    pub remains: Remains,
    /// The parts of files that stay with it.
    #[serde(skip_serializing_if = "KeptFiles::is_empty")]
    pub files: KeptFiles,
    /// The parts of the span that can't be read again.
    #[serde(skip_serializing_if = "Gaps::is_empty")]
    pub gaps: Gaps,
    /// The calls of it, where it was closed after the fact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<ClosedCalls>,
    /// Estimated tokens of the span: words, and input and output of tools. 0 where they were not counted.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Something that failed and was not seen to go well later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Failure {
    /// The action that was tried.
    pub what: String,
    /// Its output about that.
    pub how: String,
}

/// A file that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrittenFile {
    /// Its path.
    pub path: String,
    /// SHA-256 in hex of its content at the end of the span, where it was read then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl WrittenFile {
    /// Whether a path is that of this file. Either may be the longer one: agents write whole paths, artifacts have
    /// paths from the project's folder.
    pub fn is_at(&self, path: &str) -> bool {
        let ends = |long: &str, short: &str| {
            let folder = long.strip_suffix(short);
            folder.is_some_and(|folder| folder.is_empty() || folder.ends_with(['/', '\\']))
        };
        !path.is_empty() && (ends(&self.path, path) || ends(path, &self.path))
    }
}

/// A command that was run, once or several times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRun {
    /// The command in one line.
    pub line: String,
    /// How its runs ended, where that is known: exit codes, in order; of many the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exits: Vec<i64>,
}

impl CommandRun {
    /// Returns the exit codes that show how it ended: success of a pipe shows only that of its last command.
    fn meaningful_exits(&self) -> &[i64] {
        let ended_well = self.exits.last() == Some(&0);
        if ended_well && shell::is_piped(&self.line) { &[] } else { &self.exits }
    }
}

/// The result that a test runner printed at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SeenError {
    /// The most informative line.
    pub text: String,
    /// Whether the same was done again later without an error.
    pub gone: bool,
}

impl Evidence {
    /// Whether there are no facts.
    pub fn is_empty(&self) -> bool {
        Self { tokens: self.tokens, ..Self::default() } == *self
    }
}

/// Returns the estimated tokens of a span: the agent's words, and input and output of its tools.
pub fn span_tokens(span: &[Activity]) -> usize {
    let tokens = |activity: &Activity| match activity {
        Activity::Said(text) => rough_tokens(text),
        Activity::Thought(_) => 0,
        Activity::Called(call) => {
            rough_tokens(&call.input_text()) + rough_tokens(call.output_text())
        }
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

/// Returns the evidence of a span in as many estimated tokens as there is `room` for, as shown by
/// [`Evidence::lines`]. Facts in `known_text` are not repeated. `project` is the project's folder, or empty.
/// `contents` knows the content of the project's files at the end of the span, where that can be known.
pub fn take(
    span: &[Activity],
    known_text: &str,
    project: &str,
    room: Room,
    contents: &dyn Fn(&str) -> Option<String>,
) -> Evidence {
    let mut files: Vec<(String, String)> = Vec::new();
    for activity in span {
        let Activity::Called(call) = activity else { continue };
        for edit in call.edits.iter().filter(|_| !call.is_failed()) {
            let path = terms::relative(&edit.path, project);
            if files.len() < room::CONTENTS
                && files.iter().all(|(known, _)| known != path)
                && let Some(text) = contents(path)
            {
                files.push((path.to_owned(), text));
            }
        }
    }
    let kept = files::kept(span, project, room.files);
    Evidence { files: kept, ..room::fit(gather::gather(span, project, &files), known_text, room) }
}

#[cfg(test)]
#[path = "evidence/noise_tests.rs"]
mod noise_tests;
#[cfg(test)]
#[path = "evidence/secret_tests.rs"]
mod secret_tests;
#[cfg(test)]
#[path = "evidence/evidence_tests.rs"]
mod tests;
