//! What of the stored messages belongs to a span: whole steps, and of those in which it begins and ends the
//! calls behind the one that opened it and in front of the one that closed it.

use std::path::Path;

use callstack_core::evidence::{Gaps, Happening, unseen_outcome};
use callstack_core::transcript::{Anchor, CALLS_LEAVE, Span};
use callstack_store::{StoreError, StoredMessage, View};
use serde_json::Value;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::generator::READ;

/// What happened in a span.
#[derive(Debug, Default)]
pub(crate) struct InSpan {
    /// All of it, in order.
    pub(crate) happenings: Vec<Happening>,
    /// Calls of its last step that failed, or whose outcome nobody saw: whoever ended the span had not seen
    /// how they end.
    pub(crate) unseen: Vec<String>,
    /// What of it can't be read.
    pub(crate) gaps: Gaps,
}

impl Engine {
    /// What happened in a span, up to now where it is open, in a session that works in `folder`.
    pub(crate) fn in_span(
        &self,
        view: &View<'_>,
        span: &Span,
        folder: &Path,
    ) -> Result<InSpan, EngineError> {
        let mut seen = InSpan::default();
        let Some(reader) = self.reader.get() else { return Ok(seen) };
        let close = span.live_close();
        let (opened, closed) = (call_of(span, Some(&span.open)), call_of(span, close));
        let mut messages = Vec::new();
        if let Some((message, _)) = opened.filter(|_| takes_calls(span)) {
            messages.extend(message_of(view, &span.session, message)?);
        }
        let until = close.and_then(|close| close.message.as_deref());
        let open = span.open.message.as_deref();
        messages.extend(view.latest_between(&span.session, open, until, READ)?);

        let project = folder.to_string_lossy();
        for message in messages {
            seen.gaps.unreadable += u64::from(!message.purged && !message.is_whole());
            let (begins, ends) = (at_call(&message, opened), at_call(&message, closed));
            for (part, happening) in reader(&message.json, folder) {
                if let Some((parts, call)) = &begins {
                    let called = matches!(happening, Happening::Called(_));
                    if !called || !parts.is_behind(&part, call) {
                        continue;
                    }
                }
                if let Some((parts, call)) = &ends {
                    if parts.is_behind(&part, call) {
                        continue;
                    }
                    if let Happening::Called(made) = &happening {
                        seen.unseen.extend(unseen_outcome(made, parts.is_open(&part), &project));
                    }
                }
                seen.happenings.push(happening);
            }
        }
        Ok(seen)
    }

    /// Whether calls stand in front of the one that closed a span, in its step; none where that step is
    /// not stored.
    pub(crate) fn ends_beside_calls(
        &self,
        view: &View<'_>,
        span: &Span,
    ) -> Result<Option<bool>, EngineError> {
        let Some(reader) = self.reader.get() else { return Ok(Some(false)) };
        let Some((message, call)) = call_of(span, span.live_close()) else {
            return Ok(Some(false));
        };
        let Some(message) = message_of(view, &span.session, message)? else { return Ok(None) };
        let parts = Parts::of(&message.json);
        Ok(Some(reader(&message.json, self.project()).iter().any(|(part, happening)| {
            matches!(happening, Happening::Called(_)) && !parts.is_behind(part, call)
        })))
    }
}

/// Whether the calls behind the one that opened a span are work of its frame.
fn takes_calls(span: &Span) -> bool {
    span.fold.as_ref().is_none_or(|fold| fold.renderer >= CALLS_LEAVE)
}

/// The message and the call at which a frame began or ended that somebody pushed.
fn call_of<'a>(span: &Span, anchor: Option<&'a Anchor>) -> Option<(&'a str, &'a str)> {
    let anchor = anchor.filter(|_| !span.origin.is_automatic())?;
    Some((anchor.message.as_deref()?, anchor.call.as_deref()?))
}

/// The parts of a message in which a span begins or ends, and the call at which it does.
fn at_call<'a>(message: &StoredMessage, edge: Option<(&str, &'a str)>) -> Option<(Parts, &'a str)> {
    let (_, call) = edge.filter(|(id, _)| *id == message.id)?;
    Some((Parts::of(&message.json), call))
}

fn message_of(
    view: &View<'_>,
    session: &str,
    id: &str,
) -> Result<Option<StoredMessage>, StoreError> {
    let found = view.latest_between(session, None, Some(id), 1)?.pop();
    Ok(found.filter(|message| message.id == id))
}

/// The parts of a stored message in order: id, call and state.
struct Parts(Vec<(String, Option<String>, Option<String>)>);

impl Parts {
    fn of(json: &str) -> Self {
        let message: Value = serde_json::from_str(json).unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let parts = message["parts"].as_array().into_iter().flatten().map(|part| {
            let id = text(&part["id"]).unwrap_or_default();
            (id, text(&part["callID"]), text(&part["state"]["status"]))
        });
        Self(parts.collect())
    }

    /// Whether a part stands behind a call of the message.
    fn is_behind(&self, part: &str, call: &str) -> bool {
        let call = self.0.iter().position(|(_, made, _)| made.as_deref() == Some(call));
        let part = self.0.iter().position(|(id, ..)| id == part);
        call.is_some() && part > call
    }

    /// Whether a call has no result.
    fn is_open(&self, part: &str) -> bool {
        let state =
            self.0.iter().find(|(id, ..)| id == part).and_then(|(_, _, state)| state.as_deref());
        matches!(state, Some("pending" | "running"))
    }
}
