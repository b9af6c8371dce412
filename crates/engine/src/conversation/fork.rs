//! A fork begins with a copy of another session's transcript: other messages, the same calls. It gets frames of its
//! own for them, so that neither session affects the other one.

use std::sync::Arc;

use callstack_core::decide::{Command, Fork, ForkedSpan};
use callstack_core::frame::Frame;
use callstack_core::transcript::{Anchor, Fold, Role, Span, SpanOrigin};
use callstack_store::View;

use super::copied::Copied;
use super::stale::Stale;
use super::{Conversation, named_steps, notes};
use crate::error::EngineError;
use crate::frames::Frames;
use crate::kernel::Kernel;
use crate::queries::Queries;
use crate::sessions::Sessions;
use crate::system::SystemPrompts;

/// Gives forks of sessions frames of their own.
pub(crate) struct Forks {
    pub(crate) kernel: Arc<Kernel>,
    queries: Arc<Queries>,
    frames: Arc<Frames>,
    pub(crate) sessions: Arc<Sessions>,
    system: Arc<SystemPrompts>,
}

impl Forks {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        frames: &Arc<Frames>,
        sessions: &Arc<Sessions>,
        system: &Arc<SystemPrompts>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            frames: Arc::clone(frames),
            sessions: Arc::clone(sessions),
            system: Arc::clone(system),
        }
    }

    /// Copies the frames that a newly seen session works in or has folded: those whose opening calls it
    /// shows, and those that were open when its original was compacted. `opened` are the calls that it
    /// shows with the ids of their frames.
    pub(super) fn fork(
        &self,
        conversation: &Conversation,
        session: &str,
        host: &str,
        copied: &Copied,
        opened: &[(String, String)],
    ) -> Result<(), EngineError> {
        let (spans, root) = self.kernel.read(|view| {
            let mut spans = Vec::new();
            for span in view.session_spans(&copied.session)? {
                let frame = view.frame(span.frame)?;
                let Some(open) = opens(conversation, copied, opened, &span, &frame) else {
                    continue;
                };
                let Some(span) = moved(conversation, copied, span, open) else { continue };
                let evidence = view.span_evidence(span.num)?;
                spans.push(ForkedSpan { span, frame, evidence });
            }
            Ok::<_, EngineError>((spans, root_of(view, &copied.session)?))
        })?;
        // Notes in its original are in it, too.
        if spans.is_empty() && copied.summary().is_none() {
            return self.inherit_marks(conversation, session, copied, false);
        }
        // A fork without any message of the user continues the purpose of its original.
        if let Some(root) = root.filter(|_| self.queries.session_root(session).is_err()) {
            let start = Anchor { message: None, call: None };
            self.frames.ensure_root(session, host, root.identity, start)?;
        }
        if spans.is_empty() || self.queries.session_root(session).is_err() {
            return self.inherit_marks(conversation, session, copied, false);
        }
        let reworded = spans.iter().any(|it| names_its_frame(conversation, &it.span));
        let ids = spans.iter().map(|_| self.kernel.world().id("frm-")).collect();
        self.frames.change(&Command::Fork(Fork { session: session.to_owned(), spans, ids }))?;
        self.system.inherit_system(
            session,
            conversation.epoch(),
            &copied.session,
            copied.summary(),
        )?;
        self.inherit_marks(conversation, session, copied, reworded)
    }

    fn inherit_marks(
        &self,
        conversation: &Conversation,
        session: &str,
        copied: &Copied,
        reworded: bool,
    ) -> Result<(), EngineError> {
        let original = &copied.session;
        let (stale, noted, masked, named) = self.kernel.read(|view| {
            Ok::<_, EngineError>((
                Stale::kept(view, original)?,
                notes::rows(view, original)?,
                !view.session_masks(original)?.is_empty(),
                view.named_steps(original)?,
            ))
        })?;
        let mut marks = stale.marks(session, copied);
        marks.extend(named_steps::marks(&named, session, |message| copied.of(message)));
        marks
            .extend(notes::marks(&noted, session, |message| copied.of(message).map(str::to_owned)));
        // The copy has parts with other ids: it begins with whole outputs, and later steps were written after masks.
        // The same holds where folds name frames, whose copies have other handles.
        let changed = masked || reworded;
        marks.extend(conversation.mark_for_new_system(session).filter(|_| changed));
        self.kernel.write(|change| change.append(self.kernel.now(), &marks))?;
        Ok(())
    }
}

/// Whether more is sent for a folded span than its own text: lines that name its frame, where the user spoke in
/// it or another one ends with it.
fn names_its_frame(conversation: &Conversation, span: &Span) -> bool {
    let Some(close) = span.close.as_ref().filter(|_| span.fold.is_some()) else { return false };
    let place = |anchor: &Anchor| {
        let id = anchor.message.as_deref();
        conversation.messages().position(|message| Some(message.id.as_str()) == id)
    };
    let Some(end) = place(close) else { return false };
    let inside = conversation.messages().take(end + 1);
    let mut inside = inside.skip(place(&span.open).unwrap_or(0).min(end));
    inside.any(|it| it.role == Role::User || (it.role == Role::Assistant && it.calls().count() > 1))
}

fn root_of(view: &View<'_>, session: &str) -> Result<Option<Frame>, EngineError> {
    let root = view.session_row(session)?.and_then(|session| session.root);
    Ok(root.map(|root| view.frame(root)).transpose()?)
}

/// Where a span of the original begins in the fork, if the fork has it.
fn opens(
    conversation: &Conversation,
    copied: &Copied,
    opened: &[(String, String)],
    span: &Span,
    frame: &Frame,
) -> Option<Anchor> {
    let call = span.open.call.as_ref().filter(|_| !span.origin.is_automatic())?;
    let original = span.open.message.as_deref()?;
    let Some(message) = message_of(conversation, call) else {
        // Its call is hidden in the fork as it is in the original.
        let hidden = !span.detached && copied.hides_opening(original);
        return hidden.then(|| span.open.clone());
    };
    let same = copied.of(original) == Some(&message)
        || opened.iter().any(|(opened, id)| opened == call && *id == frame.id);
    same.then(|| Anchor { message: Some(message), call: Some(call.clone()) })
}

/// The span with the anchors that it has in the fork; none where it was over before all that the fork shows.
fn moved(conversation: &Conversation, copied: &Copied, span: Span, open: Anchor) -> Option<Span> {
    let close = match span.live_close() {
        None => None,
        Some(close) => {
            let message = match &close.call {
                Some(call) => message_of(conversation, call),
                None => close.message.as_deref().and_then(|id| copied.of(id)).map(str::to_owned),
            };
            if message.is_none() && close.message.as_deref().is_some_and(|id| copied.hides(id)) {
                return None;
            }
            message.map(|message| Anchor { message: Some(message), call: close.call.clone() })
        }
    };
    // A fork from before the call that closed them has ordinary steps.
    if close.is_none() && span.origin == SpanOrigin::Since {
        return None;
    }
    let last = conversation.last().map(|message| message.id.clone());
    let fold = close.as_ref().and(span.fold.clone()).map(|fold| Fold {
        settled_at: fold
            .settled_at
            .as_deref()
            .and_then(|id| copied.of(id).map(str::to_owned).or(last)),
        ..fold
    });
    let outcome = close.as_ref().and(span.outcome.clone());
    Some(Span { open, close, outcome, fold, close_undone: false, detached: false, ..span })
}

fn message_of(conversation: &Conversation, wanted: &str) -> Option<String> {
    conversation
        .messages()
        .find(|message| message.call(wanted).is_some())
        .map(|message| message.id.clone())
}
