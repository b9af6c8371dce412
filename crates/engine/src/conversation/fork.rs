//! A fork begins with a copy of another session's transcript: other messages, the same calls. It gets frames of its
//! own for them, so that neither session affects the other one.

use std::sync::Arc;

use callstack_core::decide::{Command, Fork, ForkedSpan};
use callstack_core::event::Event;
use callstack_core::frame::Frame;
use callstack_core::transcript::{Anchor, Fold, Role, Span, SpanOrigin};
use callstack_store::{Change, View};

use super::copied::{Copied, likeness};
use super::observed::Observed;
use super::state::stale::Stale;
use super::{Conversation, HostMessage, SyncRequest, named_steps, stale, stored_notes};
use crate::error::EngineError;
use crate::frames::Frames;
use crate::kernel::Kernel;
use crate::recorder::PATIENCE;
use crate::sessions::Sessions;
use crate::system::SystemPrompts;

/// Sessions that are compared with a fork at most.
const COMPARED: usize = 8;
/// Messages at the beginning of a session by which it is seen whether comparing is worth it: hosts change some.
const FIRST: usize = 4;

/// Gives forks of sessions frames of their own.
pub(crate) struct Forks {
    kernel: Arc<Kernel>,
    frames: Arc<Frames>,
    sessions: Arc<Sessions>,
}

impl Forks {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        frames: &Arc<Frames>,
        sessions: &Arc<Sessions>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            frames: Arc::clone(frames),
            sessions: Arc::clone(sessions),
        }
    }

    /// The session that a newly seen one was copied from, if it was.
    pub(super) fn copied(
        &self,
        conversation: &Conversation,
        request: &SyncRequest,
        observed: &Observed,
    ) -> Result<Option<Copied>, EngineError> {
        let opened = &observed.opened;
        let spans = &conversation.spans;
        let known = |call: &str| spans.iter().any(|span| span.open.call.as_deref() == Some(call));
        if !conversation.transcript.is_empty() || opened.iter().any(|(call, _)| known(call)) {
            return Ok(None);
        }
        let summary = observed.summary.as_ref().filter(|summary| {
            !summary.text.trim().is_empty()
                && !conversation.order.contains_key(&summary.message)
                && spans.iter().all(|span| span.origin == SpanOrigin::Root)
        });
        let session = &request.session;
        // Frames that are named in the original are named in the copy, too, which may show none.
        let named = if conversation.order.is_empty() {
            let calls: Vec<&str> = request.shown.iter().flat_map(calls).collect();
            self.kernel.read(|view| view.sessions_that_name(&calls, session))?
        } else {
            Vec::new()
        };
        let is_known = !opened.is_empty() || summary.is_some() || !named.is_empty();
        if !is_known && !observed.is_from_before {
            return Ok(None);
        }
        // The original may be a session of this process that has just been shown.
        let all = self.sessions.record_since(None, session, Vec::new())?;
        self.sessions.recorder()?.flush(all, PATIENCE);
        self.kernel.read(|view| {
            // Some providers restart the numbers of calls in each session: the frame must be the same, or most of the
            // content.
            let (mut sure, mut unsure) = (Vec::new(), Vec::new());
            for (call, frame) in opened {
                for span in view.spans_opened_by(call, session)?.into_iter().rev() {
                    let same = view.frame(span.frame)?.id == *frame;
                    if same { &mut sure } else { &mut unsure }.push(span.session);
                }
            }
            if let Some(summary) = summary {
                unsure.extend(view.sessions_with_summary(summary.text.trim(), session)?);
            }
            unsure.extend(named);
            let likenesses: Vec<_> = request.shown.iter().map(|it| likeness(&it.json)).collect();
            if !is_known {
                // Automatic frames have no call to recognize them by.
                for other in view.latest_sessions(session, COMPARED)? {
                    let order = view.message_order(&other)?;
                    let Some(last) = order.iter().take(FIRST).next_back() else { continue };
                    let first = view.latest_between(&other, None, Some(last), u32::MAX)?;
                    let mut first = first.iter().filter_map(|it| likeness(&it.json));
                    if first.any(|it| likenesses.contains(&Some(it))) {
                        unsure.push(other);
                    }
                }
            }
            let mut best: Option<Copied> = None;
            let mut compared: Vec<String> = Vec::new();
            let sure = sure.into_iter().map(|it| (it, true));
            for (other, sure) in sure.chain(unsure.into_iter().map(|it| (it, false))) {
                if compared.contains(&other) || compared.len() == COMPARED {
                    continue;
                }
                compared.push(other.clone());
                let found = Copied::of_session(view, other, &request.shown, &likenesses)?;
                let is_copied = sure || 2 * found.alike > request.shown.len();
                if is_copied && best.as_ref().is_none_or(|best| best.alike < found.alike) {
                    best = Some(found);
                }
            }
            Ok(best)
        })
    }

    /// Reads the frames of the original that a newly seen session works in or has folded: those whose opening calls it
    /// shows, and those that were open when its original was compacted. `opened` are the calls that it
    /// shows with the ids of their frames.
    pub(super) fn read(
        &self,
        conversation: &Conversation,
        session: &str,
        copied: &Copied,
        opened: &[(String, String)],
    ) -> Result<ForkedFrames, EngineError> {
        let original = &copied.session;
        self.kernel.read(|view| {
            let mut spans = Vec::new();
            for span in view.session_spans(original)? {
                let frame = view.frame(span.frame)?;
                let Some(open) = opens(conversation, copied, opened, &span, &frame) else {
                    continue;
                };
                let Some(span) = moved(conversation, copied, span, open) else { continue };
                let evidence = view.span_evidence(span.num)?;
                spans.push(ForkedSpan { span, frame, evidence });
            }
            let mut marks = stale::marks(&Stale::kept(view, original)?, session, copied);
            let named = view.named_steps(original)?;
            marks.extend(named_steps::marks(&named, session, |message| copied.of(message)));
            let noted = stored_notes::rows(view, original)?;
            marks.extend(stored_notes::marks(&noted, session, |message| {
                copied.of(message).map(str::to_owned)
            }));
            let place = (session, conversation.epoch());
            Ok(ForkedFrames {
                reworded: spans.iter().any(|it| names_its_frame(conversation, &it.span)),
                spans,
                // Notes in its original are in it, too.
                begins_with_summary: copied.summary().is_some(),
                root: root_of(view, original)?,
                system: SystemPrompts::inherited(view, place, original, copied.summary())?,
                marks,
                masked: !view.session_masks(original)?.is_empty(),
                for_new_system: conversation.mark_for_new_system(session),
            })
        })
    }

    /// Gives a newly seen session copies of these frames, and the notes and marks of its original.
    pub(super) fn fork(
        &self,
        change: &mut Change<'_>,
        (session, host): (&str, &str),
        forked: ForkedFrames,
    ) -> Result<(), EngineError> {
        let ForkedFrames { spans, root, system, mut marks, .. } = forked;
        let has_root = |change: &Change<'_>| {
            let row = change.view().session_row(session)?;
            Ok::<_, EngineError>(row.is_some_and(|row| row.root.is_some()))
        };
        let mut is_changed = forked.masked;
        if !spans.is_empty() || forked.begins_with_summary {
            // A fork without any message of the user continues the purpose of its original.
            if let Some(root) = root
                && !has_root(change)?
            {
                let start = Anchor { message: None, call: None };
                self.frames.ensure_root_in(change, (session, host), root.identity, start)?;
            }
            if !spans.is_empty() && has_root(change)? {
                let ids = spans.iter().map(|_| self.kernel.world().id("frm-")).collect();
                let fork = Command::Fork(Fork { session: session.to_owned(), spans, ids });
                self.frames.change_in(change, &fork)?;
                change.append(self.kernel.now(), system.as_slice())?;
                is_changed |= forked.reworded;
            }
        }
        // The copy has parts with other ids: it begins with whole outputs, and later steps were written after masks.
        // The same holds where folds name frames, whose copies have other handles.
        marks.extend(forked.for_new_system.filter(|_| is_changed));
        Ok(change.append(self.kernel.now(), &marks)?)
    }
}

/// The frames that a fork takes along from its original, with notes and marks.
pub(super) struct ForkedFrames {
    spans: Vec<ForkedSpan>,
    /// Whether folds name frames in the fork.
    reworded: bool,
    begins_with_summary: bool,
    /// The root of the original.
    root: Option<Frame>,
    /// The event that gives the fork the system prompt of its original.
    system: Option<Event>,
    marks: Vec<Event>,
    /// Whether outputs of the original are masked.
    masked: bool,
    /// The event that marks everything as written after another system prompt.
    for_new_system: Option<Event>,
}

/// The calls that a message shows.
fn calls(shown: &HostMessage) -> impl Iterator<Item = &str> {
    shown.message.calls().map(|call| call.id.as_str())
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
