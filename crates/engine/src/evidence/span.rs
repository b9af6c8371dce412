//! The stored messages that belong to a span: whole steps, and of those in which it begins and ends the calls after
//! the one that opened it and before the one that closed it.

use std::path::Path;

use callstack_core::evidence::{Activity, Gaps, unseen_outcome};
use callstack_core::transcript::Span;
use callstack_store::{StoredMessage, View};

use crate::error::EngineError;
use crate::evidence::SpanReader;
use crate::work::{Parts, edge, message_of};

/// Messages of a span that are read, the last ones.
const READ: u32 = 4_000;

/// The words and calls in a span.
#[derive(Debug, Default)]
pub(crate) struct InSpan {
    /// All of it, in order.
    pub(crate) activities: Vec<Activity>,
    /// Calls of its last step that failed, or whose outcome is not known: the author of the end had not seen their
    /// outcome.
    pub(crate) unseen: Vec<String>,
    /// The parts of it that can't be read.
    pub(crate) gaps: Gaps,
}

impl SpanReader {
    /// Returns the words and calls in a span, up to now where it is open, in a session that works in `folder`.
    pub(crate) fn in_span(
        &self,
        view: &View<'_>,
        span: &Span,
        folder: &Path,
    ) -> Result<InSpan, EngineError> {
        let mut seen = InSpan::default();
        let Some(reader) = self.reader.get() else { return Ok(seen) };
        let close = span.live_close();
        let (opened, closed) = (edge(span, Some(&span.open)), edge(span, close));
        let mut messages = Vec::new();
        if let Some((message, _)) = opened.filter(|_| span.takes_calls()) {
            messages.extend(message_of(view, &span.session, message)?);
        }
        let until = close.and_then(|close| close.message.as_deref());
        let open = span.open.message.as_deref();
        messages.extend(view.latest_between(&span.session, open, until, READ)?);

        let project = folder.to_string_lossy();
        for message in messages {
            seen.gaps.unreadable += u64::from(!message.purged && !message.is_whole());
            let (begins, ends) = (at_call(&message, opened), at_call(&message, closed));
            for (part, activity) in reader(&message.json, folder) {
                if let Some((parts, call)) = &begins {
                    let called = matches!(activity, Activity::Called(_));
                    let is_first = span.origin.has_its_call() && parts.is_of(&part, call);
                    if !called || !(is_first || parts.is_after(&part, call)) {
                        continue;
                    }
                }
                if let Some((parts, call)) = &ends {
                    if parts.is_after(&part, call) {
                        continue;
                    }
                    if let Activity::Called(made) = &activity {
                        seen.unseen.extend(unseen_outcome(made, &project));
                    }
                }
                seen.activities.push(activity);
            }
        }
        Ok(seen)
    }

    /// Whether calls of other tools than callstack's come before the call that closed a span, in its step. False if no
    /// call closed it; none if that step is not stored.
    pub(crate) fn ends_beside_calls(
        &self,
        view: &View<'_>,
        span: &Span,
    ) -> Result<Option<bool>, EngineError> {
        let Some(reader) = self.reader.get() else { return Ok(Some(false)) };
        let Some((message, call)) = edge(span, span.live_close()) else {
            return Ok(Some(false));
        };
        let Some(message) = message_of(view, &span.session, message)? else { return Ok(None) };
        let parts = Parts::of(&message.json);
        Ok(Some(reader(&message.json, self.env.project()).iter().any(|(part, activity)| {
            matches!(activity, Activity::Called(_)) && !parts.is_after(part, call)
        })))
    }
}

/// The parts of a message in which a span begins or ends, and the call at which it does.
fn at_call<'a>(message: &StoredMessage, edge: Option<(&str, &'a str)>) -> Option<(Parts, &'a str)> {
    let (_, call) = edge.filter(|(id, _)| *id == message.id)?;
    Some((Parts::of(&message.json), call))
}
