//! The figures of a session's requests, and estimates of what they would have been without callstack, from its stored
//! messages, spans and masks: whichever processes carried it on.

use std::collections::HashMap;
use std::sync::Arc;

use callstack_core::fold::Mask;
use callstack_core::frame::FrameNum;
use callstack_core::json::counted;
use callstack_core::log_line::LogLine;
use callstack_core::saving::{
    Compared, Left, Request, Saving, Share, Weighed, compared, factors, sum,
};
use callstack_core::stored::{Call, Message, Part, PartBody};
use callstack_core::text::estimate_tokens;
use callstack_core::transcript::{MessageKind, Span};
use callstack_store::{StoredMessage, View};
use serde::Serialize;

use crate::conversation::written::FileWrites;
use crate::error::EngineError;
use crate::kernel::Kernel;
use crate::lock::lock;
use crate::sessions::Sessions;

/// The figures of a session and those that it started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Savings {
    /// The session alone.
    pub session: Saving,
    /// The number of sessions that it started, directly or not, with known requests.
    pub below: u64,
    /// All of them together.
    pub total: Saving,
}

/// Sums up the savings of frames.
pub(crate) struct SavingReports {
    kernel: Arc<Kernel>,
    sessions: Arc<Sessions>,
    writes: Arc<FileWrites>,
}

impl SavingReports {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        sessions: &Arc<Sessions>,
        writes: &Arc<FileWrites>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            sessions: Arc::clone(sessions),
            writes: Arc::clone(writes),
        }
    }

    /// Returns the figures of a session's requests, with and without callstack.
    pub(crate) fn savings(&self, session: &str) -> Result<Savings, EngineError> {
        self.kernel.read(|view| {
            let alone = of_session(view, session)?;
            let mut savings = Savings { session: alone, below: 0, total: alone };
            let mut found = view.sessions_below(session)?;
            while let Some(below) = found.pop() {
                let saving = of_session(view, &below.id)?;
                savings.below += u64::from(saving.requests > 0);
                savings.total.add(&saving);
                found.extend(view.sessions_below(&below.id)?);
            }
            Ok(savings)
        })
    }

    /// Logs the figures of this process's sessions, before it ends.
    pub(crate) fn sum_up_sessions(&self) {
        let sessions: Vec<String> = lock(&self.sessions.conversations).keys().cloned().collect();
        for session in sessions {
            self.sum_up(&session);
        }
    }

    /// Logs the figures of a session.
    pub(crate) fn sum_up(&self, session: &str) {
        let conversation = self.sessions.conversation(session);
        let mut conversation = lock(&conversation);
        let given = self.writes.give_written(&mut conversation);
        let written = given.and_then(|()| self.sessions.written(&conversation));
        drop(conversation);
        let Ok(savings) = written.and_then(|()| self.savings(session)) else { return };
        let Savings { session: alone, below, total } = savings;
        if total.requests == 0 {
            return;
        }
        let with_saving = |line: LogLine, saving: &Saving| {
            line.with("requests", saving.requests)
                .with("sent", saving.sent)
                .with("billed", saving.billed_hundredths / 100)
                .with("estimatedSentWithout", saving.sent_without)
                .with("estimatedBilledWithout", saving.billed_without_hundredths / 100)
        };
        let line = LogLine::new("Session summed up").with("sessionID", session);
        self.kernel.log_now(&with_saving(line, &alone));
        if below > 0 {
            let line = LogLine::new("Session summed up with subagents").with("sessionID", session);
            self.kernel.log_now(&with_saving(line.with("subagents", below), &total));
        }
    }
}

fn of_session(view: &View<'_>, session: &str) -> Result<Saving, EngineError> {
    Ok(sum(&Measured::of(view, session)?.calls))
}

/// The known data of a session's requests.
pub(crate) struct Measured {
    /// The session's messages, in order of first appearance.
    pub(crate) messages: Vec<Message>,
    /// Its requests.
    pub(crate) calls: Vec<Compared>,
    /// The parts that had left them.
    pub(crate) departures: Vec<Departure>,
    /// The provider's tokens in an estimated one.
    pub(crate) factor: f64,
}

/// Something that left a session's requests. Tokens are estimated ones.
pub(crate) struct Departure {
    /// The frame whose steps left; none for one output.
    pub(crate) frame: Option<FrameNum>,
    /// The last of its messages.
    pub(crate) last: usize,
    /// The last message before the first request without it.
    pub(crate) since: usize,
    /// Tokens that left.
    pub(crate) gone: u64,
    /// Tokens of what stands for them.
    pub(crate) stands: u64,
}

impl Measured {
    /// Reads them from the stored messages, spans and masks.
    pub(crate) fn of(view: &View<'_>, session: &str) -> Result<Self, EngineError> {
        let stored = view.messages(session)?;
        let Some(began) = began(view, session)? else {
            return Ok(Self {
                messages: Vec::new(),
                calls: Vec::new(),
                departures: Vec::new(),
                factor: 1.0,
            });
        };
        let read = |message: &StoredMessage| Message::read(&message.json).unwrap_or_default();
        let messages: Vec<Message> = stored.iter().map(read).collect();
        let places: Places<'_> =
            stored.iter().enumerate().map(|(at, message)| (message.id.as_str(), at)).collect();
        let weighed: Vec<Weighed> =
            messages.iter().map(|message| weighed(message, began)).collect();
        let (mut left, mut departures) = (Vec::new(), Vec::new());
        for span in view.session_spans(session)? {
            let Some(folded) = folded(&span, &places, &messages) else { continue };
            departures.push(Departure::of(Some(span.frame), &folded, &weighed));
            left.push(folded);
        }
        for stored in view.session_masks(session)? {
            let Some(masked) = masked(&stored.mask, &places, &messages) else { continue };
            departures.push(Departure::of(None, &masked, &weighed));
            left.push(masked);
        }
        let factors = factors(&weighed);
        let calls = compared(&weighed, &left, &factors);
        let factor = factors.last().copied().unwrap_or(1.0);
        Ok(Self { messages, calls, departures, factor })
    }
}

/// Returns the time at which a session's first message was stored first; none of an empty session. A host adds to that
/// message later, and it is stored again then.
pub(crate) fn began(view: &View<'_>, session: &str) -> Result<Option<i64>, EngineError> {
    let versions = view.messages_between(session, (0, 1), true)?;
    Ok(versions.iter().map(|version| version.at).min())
}

impl Departure {
    fn of(frame: Option<FrameNum>, left: &Left, weighed: &[Weighed]) -> Self {
        let (first, last) = left.messages;
        let gone = |message: &Weighed| message.tokens.saturating_sub(message.stays);
        let gone = left.output.unwrap_or_else(|| {
            let inside = weighed.iter().take(last + 1).skip(first).map(gone).sum::<u64>();
            let (opening, closing) = (left.opening, left.closing);
            let whole = inside + opening.ours + opening.others;
            whole.saturating_sub(closing.ours + closing.others)
        });
        Self { frame, last, since: left.since, gone, stands: left.stands }
    }
}

type Places<'a> = HashMap<&'a str, usize>;

/// A span that was sent folded.
fn folded(span: &Span, places: &Places<'_>, messages: &[Message]) -> Option<Left> {
    let place = |id: &Option<String>| places.get(id.as_deref()?).copied();
    let fold = span.fold.as_ref().filter(|fold| fold.held.is_none() && !span.detached)?;
    let (open, close) = (&span.open, span.live_close()?);
    let (opened, closed) = (place(&open.message)?, place(&close.message)?);
    let mut stands = tokens(&fold.text);
    // The closing reply of an automatic frame stays.
    if span.origin.is_turn() {
        let texts = messages.get(closed)?.parts().iter().filter_map(Part::text);
        stands += texts.map(tokens).sum::<u64>();
    }
    let since = place(&fold.settled_at)?;
    let is_listed = span.origin.is_automatic() && close.call.is_some();
    // The call that takes an item off the list stays.
    let to = if is_listed { closed.checked_sub(1)? } else { closed };
    let mut left = Left { messages: (opened + 1, to), stands, since, ..Left::default() };
    if span.origin.is_automatic() {
        return Some(left);
    }
    let push = Step::at(messages.get(opened)?, open.call.as_deref());
    let pop = Step::at(messages.get(closed)?, close.call.as_deref());
    left.opening.ours = push.output();
    let until = if opened == closed { pop.call } else { None };
    if span.takes_calls() {
        left.opening.add(push.share_after(until));
    }
    if opened != closed {
        left.closing = pop.share_after(None);
    }
    Some(left)
}

/// A step in which a span begins or ends.
struct Step<'a> {
    parts: &'a [Part],
    /// The place of the call at which it does.
    call: Option<usize>,
}

impl<'a> Step<'a> {
    fn at(message: &'a Message, call: Option<&str>) -> Self {
        let parts = message.parts();
        let is = |part: &Part, id: &str| part.call().is_some_and(|call| call.made.id == id);
        let call = call.and_then(|call| parts.iter().position(|part| is(part, call)));
        Self { parts, call }
    }

    /// Tokens of the output of the call.
    fn output(&self) -> u64 {
        let part = self.call.and_then(|call| self.parts.get(call));
        let output = part.and_then(Part::call).and_then(Call::output);
        output.map(tokens).unwrap_or_default()
    }

    /// Returns the share of the calls after it, up to and including the part at `until`.
    fn share_after(&self, until: Option<usize>) -> Share {
        let mut share = Share::default();
        let Some(call) = self.call else { return share };
        let until = until.unwrap_or(self.parts.len());
        for (place, part) in self.parts.iter().enumerate().skip(call + 1) {
            if place <= until && part.call().is_some() {
                let tokens = tokens_of(part);
                *(if is_ours(part) { &mut share.ours } else { &mut share.others }) += tokens;
            }
        }
        share
    }
}

fn masked(mask: &Mask, places: &Places<'_>, messages: &[Message]) -> Option<Left> {
    let place = places.get(mask.message.as_str()).copied()?;
    let since = places.get(mask.settled_at.as_deref()?).copied()?;
    let part = messages.get(place)?.parts().iter().find(|part| part.id == mask.part)?;
    let output = tokens(part.call()?.output()?);
    let stands = tokens(&mask.text);
    Some(Left { messages: (place, place), output: Some(output), stands, since, ..Left::default() })
}

/// A message, of a session whose first one was stored at `began`. Earlier answers were not to requests that passed
/// through here: a fork begins with copies of another session's messages.
fn weighed(message: &Message, began: i64) -> Weighed {
    let is_user = message.is_of_user();
    let compacts = message.kind() == MessageKind::CompactionRequest;
    let mut weighed = Weighed { compacts, ..Weighed::default() };
    for part in message.parts() {
        let all = tokens_of(part);
        let is_synthetic = matches!(part.body, PartBody::Text { synthetic: true, .. });
        weighed.tokens += all;
        weighed.stays += if is_user && !is_synthetic { all } else { 0 };
        weighed.ours += if is_ours(part) { all } else { 0 };
    }
    let used = &message.tokens;
    let request = Request { tokens: used.sent(), cached: counted(used.cache_read) };
    let is_new = message.completed.is_none_or(|at| at >= began);
    // Read from a recording, which is not continued here.
    let is_past = message.recording.is_some();
    let is_answer = message.is_of_assistant() && !message.is_summary && is_new && !is_past;
    weighed.request = Some(request).filter(|request| is_answer && request.tokens > 0);
    weighed
}

/// Tokens of a part, as they are sent.
fn tokens_of(part: &Part) -> u64 {
    match &part.body {
        PartBody::Text { text, ignored: false, .. } => tokens(text),
        PartBody::Call(call) => {
            let input = &call.made.input;
            let input = if input.is_null() { 0 } else { tokens(&input.to_string()) };
            input + call.result().map(tokens).unwrap_or_default()
        }
        _ => 0,
    }
}

/// Whether a part is a call of a tool of callstack's.
pub(crate) fn is_ours(part: &Part) -> bool {
    let ours = |tool: &str| tool.starts_with("stack") || tool.starts_with("flame_");
    part.call().is_some_and(|call| ours(&call.made.tool))
}

pub(crate) fn tokens(text: &str) -> u64 {
    estimate_tokens(text) as u64
}
