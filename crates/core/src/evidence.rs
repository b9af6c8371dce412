//! Evidence: what the machine can tell of a finished span without a model. Which files were changed and what in
//! them, how the checks ended that were run, what failed, what was read: what a colleague would hand over beside the
//! results.
//!
//! Nothing is told twice: what the results say already is left out. It is told in as many tokens as there is room
//! for, and what is cut says so. The same span gives the same evidence.
//!
//! Not here: what a host's tools are called (`hosts`), where evidence is kept (`store`).

mod beside;
mod brief;
mod chain;
mod changes;
mod checks;
mod closing;
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

impl Happening {
    /// The call, if it is one.
    pub fn call(&self) -> Option<&Call> {
        match self {
            Self::Called(call) => Some(call),
            Self::Said(_) | Self::Thought(_) => None,
        }
    }
}

/// A tool call with what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The tool's name.
    pub tool: String,
    /// Its input: all texts of its arguments.
    pub input: String,
    /// Its output.
    pub output: String,
    /// The exit code, where the host tells one.
    pub exit: Option<i64>,
    /// Whether the host calls it failed.
    pub failed: bool,
    /// The action that it took, or tried to take where it failed, as far as the host's tools are known.
    pub action: Action,
    /// The edits that it made to files, in order.
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
/// Evidence of older versions had names, numbers, addresses and quoted strings as well. They are read, and told no more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Evidence {
    /// Files that were written, for whoever wants to know whether they were changed since.
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
    /// Tests, linters and builds, in the order in which they were last run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckRun>,
    /// Other failures that were not seen to go well later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// Whether files were changed and no test, linter or build was seen at all.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub never_checked: bool,
    /// Files that were changed after the last check.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<String>,
    /// How much of which files was read.
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
    /// Files that whoever reads what stands for the span had read before it changed them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outdated: Vec<String>,
    /// Files whose line numbers stand in what earlier work left.
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
    /// Estimated tokens of the span: what was said, and what tools were asked and answered. 0 where nobody counted.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Something that failed and was not seen to go well later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Failure {
    /// The action that was tried.
    pub what: String,
    /// What it said of that.
    pub how: String,
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

/// The result that a test runner printed at its end.
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
        Self { tokens: self.tokens, ..Self::default() } == *self
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
/// it. What `told` says already is not told again. `project` is the project's folder, or empty. `contents` knows what
/// a file of the project holds at the end of the span, where that can be known.
pub fn take(
    span: &[Happening],
    told: &str,
    project: &str,
    room: Room,
    contents: &dyn Fn(&str) -> Option<String>,
) -> Evidence {
    let mut files: Vec<(String, String)> = Vec::new();
    for happening in span {
        let Happening::Called(call) = happening else { continue };
        for edit in call.edits.iter().filter(|_| !call.failed) {
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
    Evidence { files: kept, ..room::fit(gather::gather(span, project, &files), told, room) }
}

#[cfg(test)]
#[path = "evidence/secret_tests.rs"]
mod secret_tests;
#[cfg(test)]
#[path = "evidence/evidence_tests.rs"]
mod tests;
