//! The log of a frame: its words and calls, from the stored messages.

pub(crate) mod files;
mod hits;
mod markdown;
mod whole;

use std::ops::ControlFlow;

use callstack_core::frame::{Frame, FrameNum};
use callstack_core::search::Query;
use callstack_core::stored::{Message, Part};
use callstack_core::transcript::Span;
use callstack_store::{MessageRange, StoreError, StoredMessage};

use crate::error::EngineError;
use crate::kernel::connection::Connection;
use crate::queries::Queries;
use crate::search::find;
use crate::work::pieces;
pub(crate) use hits::Hits;
pub use whole::{LoggedMessage, WholeLog};

impl Queries {
    /// The frames that a session works in, the root first and the active one last.
    pub(crate) fn stack(&self, session: &str) -> Result<Vec<Frame>, EngineError> {
        self.kernel.read(|view| {
            let Some(active) = view.session_row(session)?.and_then(|session| session.active) else {
                return Ok(Vec::new());
            };
            let mut stack = vec![view.frame(active)?];
            stack.extend(view.ancestors(active)?);
            stack.reverse();
            Ok(stack)
        })
    }

    /// The newest version of every message of a session, in order of first appearance.
    pub(crate) fn messages(&self, session: &str) -> Result<Vec<StoredMessage>, EngineError> {
        self.kernel.read(|view| Ok(view.messages(session)?))
    }

    /// The spans of a session, those that were undone among them.
    pub(crate) fn spans(&self, session: &str) -> Result<Vec<Span>, EngineError> {
        self.kernel.read(|view| Ok(view.session_spans(session)?))
    }

    /// The messages of a frame's spans, in order; a root's are all those of its session. Of the step that
    /// opened a frame it has the calls that are the frame's.
    pub(crate) fn log(&self, frame: &Frame) -> Result<Vec<StoredMessage>, EngineError> {
        let everything = LogRequest::default();
        Ok(self.read_log(frame, &everything)?.entries.into_iter().map(|it| it.message).collect())
    }

    /// Messages in a frame's log.
    pub(crate) fn log_length(&self, frame: &Frame) -> Result<u64, EngineError> {
        let pieces = self.kernel.read(|view| pieces(view, frame.num))?;
        Ok(pieces.iter().map(|it| it.range.messages()).sum())
    }

    /// A part of a frame's log.
    pub(crate) fn read_log(
        &self,
        frame: &Frame,
        request: &LogRequest,
    ) -> Result<LogPart, EngineError> {
        let mut entries = Vec::new();
        let (total, next) = self.visit_log(frame, request, |entry| {
            entries.push(entry);
            Ok::<_, EngineError>(ControlFlow::Continue(()))
        })?;
        Ok(LogPart { total, entries, next })
    }

    /// Passes a part of a frame's log to `see`, one message at a time, until it has seen enough. Returns the number
    /// of messages in the whole log, and the place of the first one after the part, if there is one.
    pub(crate) fn visit_log<E: From<EngineError> + From<StoreError>>(
        &self,
        frame: &Frame,
        request: &LogRequest,
        mut see: impl FnMut(LogEntry) -> Result<ControlFlow<()>, E>,
    ) -> Result<(u64, Option<u64>), E> {
        let query = request.query.as_deref().map(|text| {
            Query::words(text).ok_or_else(|| {
                EngineError::invalid(
                    "there is nothing to search for",
                    "Give words or a \"quoted string\", or leave the query out.",
                )
            })
        });
        let query = query.transpose()?;
        let (mut count, mut last, mut next) = (0, 0, None);
        let total =
            visit(self.kernel.connection(), frame.num, request.from, request.versions, |entry| {
                let holds = |query| find(query, &entry.message.json, request.reveal).is_some();
                if !query.as_ref().is_none_or(holds) {
                    return Ok(ControlFlow::Continue(()));
                }
                if entry.position != last {
                    (count, last) = (count + 1, entry.position);
                }
                if count > request.most {
                    next = Some(entry.position);
                    return Ok(ControlFlow::Break(()));
                }
                see(entry)
            })?;
        Ok((total, next))
    }
}

/// The part of a log that is wanted.
#[derive(Clone, Debug)]
pub struct LogRequest {
    /// The first message, from 1.
    pub from: u64,
    /// The most messages, each with all of its versions.
    pub most: usize,
    /// Only messages that hold these words and "quoted strings".
    pub query: Option<String>,
    /// Older versions of messages that were changed, too.
    pub versions: bool,
    /// Whether words that stand in a secret are found as well.
    pub reveal: bool,
}

impl Default for LogRequest {
    /// All of it.
    fn default() -> Self {
        Self { from: 1, most: usize::MAX, query: None, versions: false, reveal: false }
    }
}

/// A part of a log.
#[derive(Clone, Debug)]
pub struct LogPart {
    /// Messages in the whole log.
    pub total: u64,
    /// The messages of this part.
    pub entries: Vec<LogEntry>,
    /// The place of the first further message that was asked for, if there is one.
    pub next: Option<u64>,
}

/// A message in a log.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// Its place in the log, from 1.
    pub position: u64,
    /// Its session.
    pub session: String,
    /// The message.
    pub message: StoredMessage,
}

/// Messages that are in memory at a time.
const AT_ONCE: u64 = 32;

/// No transaction is open while `see` runs: it may wait for a reader.
fn visit<E: From<StoreError>>(
    connection: &Connection,
    frame: FrameNum,
    from: u64,
    versions: bool,
    mut see: impl FnMut(LogEntry) -> Result<ControlFlow<()>, E>,
) -> Result<u64, E> {
    let pieces = connection.read(|view| pieces(view, frame))?;
    let total = pieces.iter().map(|it| it.range.messages()).sum();
    let mut before = 0;
    for piece in pieces {
        let MessageRange { session, first, last } = &piece.range;
        let (first, last) = (*first, *last);
        let skipped = from.saturating_sub(before + 1);
        let mut at = first.saturating_add(skipped).min(last);
        while at < last {
            let to = last.min(at + AT_ONCE);
            let messages =
                connection.read(|view| view.messages_between(session, (at, to), versions))?;
            for message in messages {
                let position = before + message.seq - first;
                let message = piece.narrowed(message);
                let entry = LogEntry { position, session: session.clone(), message };
                if see(entry)?.is_break() {
                    return Ok(total);
                }
            }
            at = to;
        }
        before += last - first;
    }
    Ok(total)
}

/// Returns the last text of an agent in a message of a host. None if there is none, or the message is not an agent's.
pub(crate) fn said(json: &str) -> Option<String> {
    let message = Message::read(json).filter(Message::is_of_assistant)?;
    let mut texts = message.parts().iter().filter_map(Part::text).map(str::trim);
    texts.rfind(|text| !text.is_empty()).map(str::to_owned)
}
