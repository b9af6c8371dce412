//! The work of a frame in the stored messages: whole messages, and of the step that opened the frame the calls after
//! the one that did.

use callstack_core::frame::FrameNum;
use callstack_core::stored;
use callstack_core::transcript::{Anchor, Span};
use callstack_store::{MessageRange, StoreError, StoredMessage, View};
use serde::de::IgnoredAny;

/// Messages of a frame's work that follow each other.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Their places.
    pub(crate) range: MessageRange,
    /// The span of whose opening step only some calls are the frame's; none where all of it is.
    pub(crate) opens: Option<Span>,
}

impl Piece {
    /// Returns a message of the piece, without the parts of it that are not the frame's.
    pub(crate) fn narrowed(&self, message: StoredMessage) -> StoredMessage {
        let Some(json) = self.opens.as_ref().and_then(|span| narrowed(&message.json, span)) else {
            return message;
        };
        StoredMessage { json, as_it_came: None, ..message }
    }
}

/// Returns the pieces of a frame's work, in the order in which it was done.
pub(crate) fn pieces(view: &View<'_>, frame: FrameNum) -> Result<Vec<Piece>, StoreError> {
    let whole = |range| Piece { range, opens: None };
    let mut pieces: Vec<Piece> = view.ranges(frame)?.into_iter().map(whole).collect();
    for span in view.frame_spans(frame)? {
        let Some(message) = opening_step(view, &span)? else { continue };
        let (session, seq) = (&span.session, message.seq);
        let of_session = |piece: &Piece| piece.range.session == *session;
        let holds = |it: &MessageRange| it.first < seq && seq <= it.last;
        if pieces.iter().any(|piece| of_session(piece) && holds(&piece.range)) {
            continue;
        }
        let later = |piece: &Piece| of_session(piece) && piece.range.first >= seq;
        let at = pieces.iter().position(later).unwrap_or(pieces.len());
        let range = MessageRange { session: session.clone(), first: seq - 1, last: seq };
        pieces.insert(at, Piece { range, opens: Some(span) });
    }
    Ok(pieces)
}

/// The place of a message in the log of a frame, from 1.
pub(crate) fn position_in(
    view: &View<'_>,
    frame: FrameNum,
    session: &str,
    seq: u64,
) -> Result<u64, StoreError> {
    let mut before = 0;
    for Piece { range, .. } in pieces(view, frame)? {
        if range.session == session && range.first < seq && seq <= range.last {
            return Ok(before + seq - range.first);
        }
        before += range.messages();
    }
    Ok(before)
}

/// Returns the innermost frame whose work has a match in a message: one that was opened in that step, if `is_it`
/// finds it in its calls, else the one to whose work the message belongs.
pub(crate) fn frame_of(
    view: &View<'_>,
    session: &str,
    message: &StoredMessage,
    is_it: impl Fn(&str) -> bool,
) -> Result<Option<FrameNum>, StoreError> {
    let parts = Parts::of(&message.json);
    let mut opened = view.spans_opened_in(session, &message.id)?;
    opened.retain(|span| span.takes_calls() && !span.detached);
    opened.sort_by_key(|span| span.open.call.as_deref().and_then(|call| parts.place_of(call)));
    let innermost =
        opened.iter().rfind(|span| narrowed(&message.json, span).is_some_and(|own| is_it(&own)));
    match innermost {
        Some(span) => Ok(Some(span.frame)),
        None => view.frame_at(session, message.seq),
    }
}

/// The step in which a span begins, if calls of it are the span's, or if that can't be read.
fn opening_step(view: &View<'_>, span: &Span) -> Result<Option<StoredMessage>, StoreError> {
    let Some((message, _)) = edge(span, Some(&span.open)).filter(|_| span.takes_calls()) else {
        return Ok(None);
    };
    let message = message_of(view, &span.session, message)?;
    Ok(message.filter(|message| {
        let is_readable = serde_json::from_str::<IgnoredAny>(&message.json).is_ok();
        !message.purged && (!is_readable || narrowed(&message.json, span).is_some())
    }))
}

/// Returns the message and the call at which a pushed frame began or ended.
pub(crate) fn edge<'a>(span: &Span, anchor: Option<&'a Anchor>) -> Option<(&'a str, &'a str)> {
    let anchor = anchor.filter(|_| !span.origin.is_automatic())?;
    Some((anchor.message.as_deref()?, anchor.call.as_deref()?))
}

/// The newest version of a message.
pub(crate) fn message_of(
    view: &View<'_>,
    session: &str,
    id: &str,
) -> Result<Option<StoredMessage>, StoreError> {
    let found = view.latest_between(session, None, Some(id), 1)?.pop();
    Ok(found.filter(|message| message.id == id))
}

/// Returns the step in which a span begins, with only the calls that are the span's: those after the one that opened
/// it, which is one of them where it was closed after the fact, and, where it ends in the same step, before the one
/// that closed it. None if there are none.
fn narrowed(json: &str, span: &Span) -> Option<String> {
    let (message, opened) = edge(span, Some(&span.open))?;
    let closed = edge(span, span.live_close()).filter(|(in_message, _)| *in_message == message);
    let closed = closed.map(|(_, call)| call);
    let own = Parts::of(json).between(opened, span.origin.has_its_call(), closed)?;
    stored::narrowed(json, &own)
}

/// A part of a stored message.
struct Part {
    id: String,
    call: Option<String>,
}

/// The parts of a stored message in order.
pub(crate) struct Parts(Vec<Part>);

impl Parts {
    pub(crate) fn of(json: &str) -> Self {
        let message = stored::Message::read(json).unwrap_or_default();
        let parts = message.parts.into_iter().flatten().map(|part| Part {
            call: part.call().map(|call| call.made.id.clone()).filter(|id| !id.is_empty()),
            id: part.id,
        });
        Self(parts.collect())
    }

    /// The place of a call.
    pub(crate) fn place_of(&self, call: &str) -> Option<usize> {
        self.0.iter().position(|part| part.call.as_deref() == Some(call))
    }

    /// Whether a part is that of a call of the message.
    pub(crate) fn is_of(&self, part: &str, call: &str) -> bool {
        self.0.iter().any(|it| it.id == part && it.call.as_deref() == Some(call))
    }

    /// Whether a part stands after a call of the message.
    pub(crate) fn is_after(&self, part: &str, call: &str) -> bool {
        let call = self.place_of(call);
        let part = self.0.iter().position(|it| it.id == part);
        call.is_some() && part > call
    }

    /// Returns the places of the calls after one, or from it on, and before another one; none if there are none.
    fn between(&self, opened: &str, has_it: bool, closed: Option<&str>) -> Option<Vec<usize>> {
        let from = self.place_of(opened)? + usize::from(!has_it);
        let to = closed.and_then(|call| self.place_of(call)).unwrap_or(self.0.len());
        let own: Vec<_> = (from..to).filter(|place| self.0[*place].call.is_some()).collect();
        (!own.is_empty()).then_some(own)
    }
}
