//! Named steps: steps with a name, so that a pop can close them after the fact. Often it becomes clear only later
//! that steps are no longer needed.
//!
//! Steps are considered right before a call of the model. Where it would pay to close those from some point on, they
//! are named once, in the output of the next call, which no request has shown yet. The last call is not among them:
//! its result may be what they were for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cost::{Closing, pays_to_close};
use crate::dialect::Dialect;
use crate::evidence::Action;
use crate::returned::MARK;
use crate::secrets::mask;
use crate::text::cap;
use crate::transcript::{Anchor, ToolCall};
use crate::xml::one_line;

/// Characters of outputs for which steps are named at most once.
pub const ONE_FOR_EACH: usize = 20_000;

/// Tools that only look, whatever the host.
const LOOKING: [&str; 9] =
    ["read", "glob", "grep", "list", "ls", "lsp", "webfetch", "websearch", "codesearch"];
/// The beginnings of the names of our tools.
const OURS: [&str; 2] = ["stack", "flame"];
/// The beginning of the names of tools that keep a todo list.
const TODO: &str = "todo";

/// Whether a tool is one of callstack's.
pub fn is_ours(tool: &str) -> bool {
    OURS.iter().any(|it| tool.starts_with(it))
}

/// Whether a command line runs callstack.
pub fn is_our_command(line: &str) -> bool {
    let program = line.split_whitespace().next().unwrap_or_default();
    program.rsplit('/').next() == Some("callstack")
}

/// Steps with a name: those from the first call on, up to the call that closes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedSteps {
    /// Their number; `s14` names them.
    pub num: u64,
    /// The first call of them.
    pub first: Anchor,
    /// The later call in whose output the name stands.
    pub last: Anchor,
}

/// The name of steps.
pub fn name_of(num: u64) -> String {
    format!("s{num}")
}

/// Returns the number in a name.
pub fn number_of(name: &str) -> Option<u64> {
    let digits = name.trim().strip_prefix(['s', 'S'])?;
    let plain = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
    digits.parse().ok().filter(|_| plain)
}

/// Calls that were closed after the fact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ClosedCalls {
    /// How many there were.
    pub count: usize,
    /// The first one, whose output is replaced by the returned text.
    pub first: String,
    /// The last one.
    pub last: String,
}

impl ClosedCalls {
    /// Returns a description of calls; none where there are none.
    pub fn of<'a>(calls: impl Iterator<Item = &'a ToolCall>) -> Option<Self> {
        let calls: Vec<_> = calls.filter(|call| !is_ours(&call.tool)).collect();
        let (first, last) = (in_few_words(calls.first()?), in_few_words(calls.last()?));
        Some(Self { count: calls.len(), first, last })
    }
}

/// The longest call that is shown, in bytes.
const LONGEST_CALL: usize = 80;

/// A call in a few words.
fn in_few_words(call: &ToolCall) -> String {
    let what = match &call.action {
        Action::Ran(command) => command.clone(),
        Action::Read(path) => format!("{} {path}", call.tool),
        Action::Wrote(paths) => format!("{} {}", call.tool, paths.join(" ")),
        Action::Other => format!("{} {}", call.tool, call.input_text()),
    };
    let line = one_line(&mask(&what)).replace('`', "'");
    match cap(&line, LONGEST_CALL) {
        short if short.len() < line.len() => format!("{short}…"),
        _ => line,
    }
}

/// Returns the note that names steps: the number of their calls and of the characters these returned, and the way to
/// close them.
pub fn naming(num: u64, first: &ToolCall, calls: usize, chars: usize, dialect: Dialect) -> String {
    let (name, first, chars) = (name_of(num), in_few_words(first), thousands(chars));
    let calls = match calls {
        1 => format!("the call `{first}` before this answer"),
        calls => format!("the {calls} calls from `{first}` on, before this answer"),
    };
    let pop = dialect.tool("stack_frame_pop");
    format!(
        "{MARK} {name}: {calls}, {chars} characters. Once they are needed no more, now or in a later turn, {pop} with \
         since \"{name}\" takes all from there up to that pop out of your context, later steps and offers too. What you \
         return stays, as do the user's words, your final answers, what frames returned, and calls after the pop."
    )
}

/// Returns the beginning of the note that the files of steps were changed since.
pub fn overtaken_mark(num: u64) -> String {
    format!("{MARK} {} again:", name_of(num))
}

/// Files of which each is named.
const NAMED_FILES: usize = 6;

/// Returns the note that offers steps once more, since some of the files that they show were changed later:
/// `changed`, of `read` files.
pub fn overtaken(num: u64, changed: &[&str], read: usize, dialect: Dialect) -> String {
    let shown: Vec<_> =
        changed.iter().take(NAMED_FILES).map(|path| one_line(&mask(path))).collect();
    let more = match changed.len().saturating_sub(NAMED_FILES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let were = if changed.len() == 1 { "was" } else { "were" };
    let of = if read == 1 {
        "the file".to_owned()
    } else {
        format!("{} of the {read} files", changed.len())
    };
    format!(
        "{mark} {of} read there {were} changed since ({shown}{more}). {pop} with since \"{name}\" takes all from there \
         up to that pop out of your context.",
        mark = overtaken_mark(num),
        shown = shown.join(", "),
        pop = dialect.tool("stack_frame_pop"),
        name = name_of(num),
    )
}

/// Returns the note that offers steps once more, since the user has asked for something else.
pub fn after_a_turn(num: u64, dialect: Dialect) -> String {
    format!(
        "{mark} the user has asked for something else since. If they are needed no more, {pop} with since \"{name}\" \
         takes all from there up to that pop out of your context.",
        mark = overtaken_mark(num),
        pop = dialect.tool("stack_frame_pop"),
        name = name_of(num),
    )
}

fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|it| str::from_utf8(it).ok()).collect();
    groups.join(",")
}

/// The action of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It only looks.
    Looking,
    /// It tries something.
    Trying,
}

impl Doing {
    /// Returns the joint action of calls of these tools; none where none of them is work.
    pub fn of<'a>(tools: impl Iterator<Item = &'a str>) -> Option<Self> {
        let work = tools.filter(|tool| !is_ours(tool) && !tool.starts_with(TODO));
        work.map(|tool| if LOOKING.contains(&tool) { Self::Looking } else { Self::Trying })
            .reduce(|all, one| if all == one { all } else { Self::Trying })
    }
}

/// A step as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Step {
    /// Its action; none where it calls nothing, or nothing that is work.
    pub doing: Option<Doing>,
    /// Whether the user spoke, a frame ended or the todo list changed right before it.
    pub begins: bool,
    /// Whether a call of it can hold the text for steps that begin with it: one that has a result which is sent.
    pub may_be_first: bool,
    /// Estimated tokens of it, results of its calls included.
    pub tokens: usize,
    /// Characters of the results of its calls.
    pub chars: usize,
}

/// Returns the index of the first step to name; all steps from there to the newest get the name. `None` if no steps are
/// to be named. `steps` are those of the open frame, in order; those before index `unnamed` have names already. Whether
/// closing pays depends on the tokens of the whole `request` and on the `calls` since the user's last message.
///
/// Of several beginnings the last one counts: steps before it may still be needed.
pub fn steps_to_name(
    steps: &[Step],
    unnamed: usize,
    request: usize,
    calls: usize,
) -> Option<usize> {
    let (mut tokens, mut chars) = (0, 0);
    for (at, step) in steps.iter().enumerate().skip(unnamed).rev() {
        tokens += step.tokens;
        chars += step.chars;
        let closing = Closing { steps: tokens, request, calls };
        if step.may_be_first
            && is_beginning(steps, at)
            && chars >= ONE_FOR_EACH
            && pays_to_close(&closing)
        {
            return Some(at);
        }
    }
    None
}

/// Whether steps may begin with one: by the events before it, or because a run of looking or trying begins with it.
fn is_beginning(steps: &[Step], at: usize) -> bool {
    let step = &steps[at];
    let before = steps[..at].iter().rev().find_map(|it| it.doing);
    // A step that can't be the first one leaves its place to the next that can.
    let skipped = steps[..at].iter().rev().take_while(|it| !it.may_be_first);
    step.begins
        || skipped.clone().any(|it| it.begins)
        || (step.doing.is_some() && step.doing != before)
        || at == skipped.count()
}

#[cfg(test)]
#[path = "named_steps_tests.rs"]
mod tests;
