//! The operation that reads a frame's messages again.

mod whole;

use std::fmt::Write as _;
use std::ops::ControlFlow;

use callstack_core::frame::Frame;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::inspect::target;
use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::log::{Hits, LogEntry, LogPart, LogRequest, WholeLog};
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};
use whole::LogForm;

/// `stack_log`.
pub(crate) struct Log;

/// Arguments of `stack_log`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogParams {
    /// Handle; default: the open frame
    #[serde(alias = "sessionID")]
    frame: Option<String>,
    /// First message to show, from 1; default: the first
    from: Option<u64>,
    /// How many messages; default 20
    count: Option<usize>,
    /// A string or words: shows the lines around each place that holds it
    query: Option<String>,
    /// Where to go on in the first message, if it is long (with query: the line)
    offset: Option<usize>,
    /// Older versions of changed messages too
    versions: Option<bool>,
    /// Whole messages only, in parts of about a megabyte; with query: those that hold it. count is all by default
    whole: Option<bool>,
    /// With whole: messages as their host wrote them, as sections of a document, or as they are stored
    form: Option<LogForm>,
}

/// The number of messages unless another one is asked for.
const MESSAGES: usize = 20;
/// The most bytes of messages in one answer: an agent pays for all that it reads.
const ENOUGH: usize = 40_000;
/// The most bytes of lines in the answer to a query.
const ENOUGH_LINES: usize = 8_000;
/// Lines that are shown before and after each line that matches a query.
const AROUND: usize = 2;

/// A part of a frame's log: messages, or the lines that match a query.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum LogOutput {
    Messages(LogMessages),
    Lines(LogLines),
    Whole(WholeLog),
}

/// A message as its host wrote it: JSON in the host's own shape.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct HostJson(Value);

/// Messages of a frame. Positions count from 1.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct LogMessages {
    /// Handle of the frame
    frame: String,
    /// Number of the frame's messages
    total: u64,
    /// Position of the message to go on with
    next: Option<u64>,
    /// Where to go on in that message, in bytes of its text
    offset: Option<usize>,
    /// Position of each message
    positions: Vec<u64>,
    /// Version of each message; the newest is the highest
    versions: Vec<u64>,
    messages: Vec<HostJson>,
}

/// Lines of a frame's messages that match a query. Positions count from 1.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct LogLines {
    /// Handle of the frame
    frame: String,
    /// Number of the frame's messages
    total: u64,
    /// Number of lines that match
    lines: usize,
    /// Number of messages with such lines
    messages: usize,
    /// Positions of the messages that the text shows
    positions: Vec<u64>,
    /// Position of the message to go on with
    next: Option<u64>,
    /// The line to go on with in that message
    offset: Option<usize>,
}

impl Operate for Log {
    const NAME: &'static str = "stack_log";
    const SUMMARY: &'static str = "Read again what was said and done in a frame, also after it was \
        folded away: whole messages, in parts, or the lines around each place that holds a query.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    const TERMINAL_ARGUMENTS: &'static [&'static str] = &["whole", "form"];
    type Params = LogParams;
    type Output = LogOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: LogParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = target(engine, caller, params.frame.as_deref())?;
        let request = LogRequest {
            from: params.from.unwrap_or(1).max(1),
            most: params.count.unwrap_or(MESSAGES).max(1),
            query: params.query,
            versions: params.versions.unwrap_or_default(),
            ..LogRequest::default()
        };
        if params.whole.unwrap_or_default() {
            let most = params.count.unwrap_or(usize::MAX);
            let request = LogRequest { most, reveal: caller.reveal, ..request };
            let form = params.form.unwrap_or(LogForm::Json);
            return Ok(whole::read(engine, &frame, &request, form)?.map(LogOutput::Whole));
        }
        if let Some(query) = request.query.clone() {
            return look_for(engine, &frame, &request, &query, params.offset);
        }
        let mut part = engine.read_log(&frame, &request)?;
        let shown = LogPage::of(&part.entries, params.offset);
        if let Some(next) = part.entries.get(shown.count) {
            part.next = Some(next.position);
        }
        part.entries.truncate(shown.count);
        let mut text = about(&frame, &request, &part);
        text.push_str(&shown.text);
        let next = shown.goes_on.map(|(position, _)| position).or(part.next);
        let offset = shown.goes_on.map(|(_, offset)| offset);
        // Writing to a string can't fail.
        let _ = match (next, offset) {
            (Some(next), Some(offset)) => {
                write!(text, "\nMessage {next} goes on: with from {next} and offset {offset}.")
            }
            (Some(next), None) => write!(text, "\nThere is more: go on with from {next}."),
            (None, _) => Ok(()),
        };
        let message = |entry: &LogEntry| {
            let json = entry.to_json(false);
            HostJson(serde_json::from_str(&json).unwrap_or_else(|_| Value::from(json)))
        };
        let data = LogOutput::Messages(LogMessages {
            frame: frame.num.to_string(),
            total: part.total,
            next,
            offset,
            positions: part.entries.iter().map(|entry| entry.position).collect(),
            versions: part.entries.iter().map(|it| it.message.version).collect(),
            messages: part.entries.iter().map(message).collect(),
        });
        Ok(Reply::new(frame.label(), text, data))
    }
}

/// Returns the heading of a part of a log.
fn about(frame: &Frame, request: &LogRequest, part: &LogPart) -> String {
    let (label, total) = (frame.label(), part.total);
    let first = part.entries.first().map(|entry| entry.position);
    let last = part.entries.last().map(|entry| entry.position);
    match first.zip(last) {
        Some((first, last)) => format!("{label}: messages {first} to {last} of {total}\n"),
        None if total == 0 => format!("{label}: no messages are kept\n"),
        None => format!("{label}: no message from {} on, of {total}\n", request.from),
    }
}

/// As many messages as one answer has room for.
struct LogPage {
    text: String,
    /// The number of entries in the text.
    count: usize,
    /// The position of a message that was cut, and the offset in bytes at which to go on.
    goes_on: Option<(u64, usize)>,
}

impl LogPage {
    /// Returns the messages that one answer has room for, the first one from `offset` on. A message that is too long,
    /// with all of its versions that are asked for, is cut.
    fn of(entries: &[LogEntry], offset: Option<usize>) -> Self {
        let mut shown = Self { text: String::new(), count: 0, goes_on: None };
        for versions in entries.chunk_by(|a, b| a.position == b.position) {
            let position = versions.first().map_or(0, |entry| entry.position);
            let whole: String = versions.iter().map(|entry| entry.to_markdown(false)).collect();
            if shown.count > 0 && shown.text.len() + whole.len() > ENOUGH {
                break;
            }
            let from = if shown.count > 0 { 0 } else { offset.unwrap_or_default() };
            let from = whole.floor_char_boundary(from);
            let to = whole.floor_char_boundary(from.saturating_add(ENOUGH));
            if from > 0 {
                // Writing to a string can't fail.
                let _ = write!(shown.text, "\n## {position} · from offset {from}\n\n");
            }
            shown.text.push_str(whole.get(from..to).unwrap_or_default());
            shown.count += versions.len();
            if to < whole.len() {
                shown.goes_on = Some((position, to));
                shown.text.push('\n');
                break;
            }
        }
        shown
    }
}

/// Returns the answer with the lines of a log that match a query: as many as one answer has room for, and how many
/// there are.
fn look_for(
    engine: &Engine,
    frame: &Frame,
    request: &LogRequest,
    query: &str,
    offset: Option<usize>,
) -> Result<Reply<LogOutput>, EngineError> {
    let hits = Hits::of(query)?;
    let (first, most) = (request.from, request.most);
    let everything = LogRequest { from: 1, most: usize::MAX, query: None, ..*request };
    let (mut text, mut next) = (String::new(), None);
    let (mut lines, mut messages, mut positions) = (0, 0, Vec::new());
    let (total, _) = engine.visit_log(frame, &everything, |entry| {
        let found = hits.within(&entry.message.json);
        lines += found.lines.len();
        messages += usize::from(!found.lines.is_empty());
        if found.lines.is_empty() || entry.position < first || next.is_some() {
            return Ok::<_, EngineError>(ControlFlow::Continue(()));
        }
        if positions.len() == most || text.len() >= ENOUGH_LINES {
            next = Some((entry.position, None));
            return Ok(ControlFlow::Continue(()));
        }
        let begin = if positions.is_empty() { offset.unwrap_or_default() } else { 0 };
        let role = found.role.as_deref().unwrap_or("message");
        // Writing to a string can't fail.
        let _ = writeln!(text, "\n## {} \u{b7} {role}", entry.position);
        let (excerpt, rest) = found.excerpt(AROUND, begin, ENOUGH_LINES.saturating_sub(text.len()));
        text.push_str(&excerpt);
        positions.push(entry.position);
        next = rest.map(|line| (entry.position, Some(line)));
        Ok(ControlFlow::Continue(()))
    })?;
    let label = frame.label();
    let (line, message) = (counted(lines, "line"), counted(messages, "message"));
    let holds = if lines == 1 { "holds" } else { "hold" };
    let head = format!("{label}: {line} in {message} of {total} {holds} {query}\n");
    let mut text = format!("{head}{text}");
    let _ = match next {
        Some((next, Some(line))) => {
            write!(text, "\nMessage {next} goes on: with from {next} and offset {line}.")
        }
        Some((next, None)) => write!(text, "\nThere is more: go on with from {next}."),
        None => Ok(()),
    };
    let data = LogOutput::Lines(LogLines {
        frame: frame.num.to_string(),
        total,
        lines,
        messages,
        positions,
        next: next.map(|(position, _)| position),
        offset: next.and_then(|(_, line)| line),
    });
    Ok(Reply::new(label, text, data))
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
