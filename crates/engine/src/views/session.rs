//! A session as the store has it: its messages, its spans, and the texts that its model was sent.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use callstack_core::fold::{Mask, Note, ReasoningPolicy};
use callstack_core::frame::FrameNum;
use callstack_core::rendered_slot::RenderedSlot;
use callstack_core::session_state::StaleReach;
use callstack_core::stored;
use callstack_core::transcript::Span;
use callstack_store::{StoredMessage, View};

use super::{Decoder, Views};
use crate::calibration::tokens_per_estimate;
use crate::conversation::{HostMessage, START, stored_notes};
use crate::error::EngineError;

/// A stored message.
pub(crate) struct ReadMessage {
    /// When it was stored; milliseconds since 1970.
    pub(crate) at: i64,
    /// The message with its bodies.
    pub(crate) stored: stored::Message,
    /// The message as folding needs it.
    pub(crate) shown: HostMessage,
}

impl ReadMessage {
    /// Reads a message; none for one that is never sent.
    pub(super) fn of(message: &StoredMessage, decoder: Decoder, project: &Path) -> Option<Self> {
        let stored = stored::Message::read(&message.json)?;
        let shown = decoder(&stored, project)?;
        Some(Self { at: message.at, stored, shown })
    }

    pub(crate) fn id(&self) -> &str {
        &self.shown.message.id
    }

    /// Returns the time at which the host made it, where that is known; else the time at which it was stored.
    pub(crate) fn made_at(&self) -> i64 {
        self.stored.created.unwrap_or(self.at)
    }
}

/// A session as the store has it.
pub(crate) struct ReadSession {
    /// The messages, in order of first appearance.
    pub(crate) messages: Vec<ReadMessage>,
    /// Whether each message was undone, by its place.
    pub(super) undone: Vec<bool>,
    /// The place of each message by its id.
    pub(crate) places: HashMap<String, usize>,
    /// The spans, but for those that were undone.
    pub(crate) spans: Vec<Span>,
    pub(super) notes: Vec<Note>,
    pub(super) masks: Vec<Mask>,
    pub(super) stale: Vec<(StaleReach, String)>,
    pub(super) reasoning: ReasoningPolicy,
    /// Whether requests are folded.
    pub(super) is_framed: bool,
    /// When a message was stored last; milliseconds since 1970.
    pub(super) last_recorded: Option<i64>,
    /// The provider's tokens in an estimated one.
    pub(crate) factor: f64,
    /// The most tokens that the model takes, where the host reports that.
    pub(crate) limit: Option<u64>,
    /// The frame to whose work each message belongs, by its place.
    frames: Vec<Option<FrameNum>>,
}

impl Views {
    /// Reads a session.
    pub(crate) fn read_session(&self, session: &str) -> Result<ReadSession, EngineError> {
        let decoder = self.decoder()?;
        let settings = self.kernel.read(|view| self.kernel.settings_in(view))?;
        self.kernel.read(|view| {
            let mut messages = Vec::new();
            let undone: HashSet<String> = view.undone_messages(session)?.into_iter().collect();
            for message in view.messages(session)? {
                messages.extend(ReadMessage::of(&message, decoder, self.kernel.project()));
            }
            let places: HashMap<String, usize> =
                messages.iter().enumerate().map(|(at, it)| (it.id().to_owned(), at)).collect();
            let spans = live(view.session_spans(session)?);
            let masks = view.session_masks(session)?.into_iter().map(|stored| stored.mask);
            Ok(ReadSession {
                frames: frames(&spans, &places, messages.len()),
                notes: stored_notes::kept(view, session)?,
                masks: masks.collect(),
                stale: view.stale_marks(session)?,
                last_recorded: view.last_recorded(session)?,
                factor: tokens_per_estimate(view, session)?,
                limit: view.model_limit(session)?,
                reasoning: settings.reasoning,
                is_framed: settings.frame_mode,
                undone: messages.iter().map(|read| undone.contains(read.id())).collect(),
                messages,
                places,
                spans,
            })
        })
    }
}

impl ReadSession {
    pub(crate) fn place(&self, message: &str) -> Option<usize> {
        self.places.get(message).copied()
    }

    /// The innermost frame whose work a message is.
    pub(crate) fn frame_at(&self, place: usize) -> Option<FrameNum> {
        self.frames.get(place).copied().flatten()
    }

    /// Estimated tokens as the session's provider counts.
    pub(crate) fn scaled(&self, estimated: u64) -> u64 {
        scaled(estimated, self.factor)
    }

    /// The name of the context that a request before a place began in: see `Conversation::epoch`.
    pub(super) fn epoch(&self, summary: Option<usize>) -> &str {
        summary.map_or(START, |place| self.messages[place].id())
    }
}

/// Estimated tokens as a provider counts, by its tokens in an estimated one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "tokens of a session are far below 2^52, and no factor is negative"
)]
pub(crate) fn scaled(estimated: u64, factor: f64) -> u64 {
    (estimated as f64 * factor).round() as u64
}

/// Returns callstack's part of the system prompt of a session.
pub(crate) fn system_text(
    view: &View<'_>,
    session: &str,
    epoch: &str,
) -> Result<Option<String>, EngineError> {
    let slot = RenderedSlot::System(epoch.to_owned());
    Ok(view.render(session, &slot)?.filter(|text| !text.is_empty()))
}

/// Returns the spans as they count now: without those that were undone.
fn live(spans: Vec<Span>) -> Vec<Span> {
    let mut live: Vec<Span> = spans.into_iter().filter(|span| !span.detached).collect();
    for span in live.iter_mut().filter(|span| span.close_undone) {
        (span.close, span.fold) = (None, None);
    }
    live
}

/// Returns the innermost frame of each message: of two that hold it the one that began later.
pub(super) fn frames(
    spans: &[Span],
    places: &HashMap<String, usize>,
    messages: usize,
) -> Vec<Option<FrameNum>> {
    let place = |id: &Option<String>| places.get(id.as_deref()?).copied();
    let mut ranges: Vec<(usize, usize, FrameNum)> = Vec::new();
    for span in spans {
        let from = place(&span.open.message).map_or(0, |opened| opened + 1);
        let to = span.close.as_ref().and_then(|close| place(&close.message));
        ranges.push((from, to.map_or(messages, |closed| closed + 1), span.frame));
    }
    ranges.sort_by_key(|(from, _, _)| *from);
    let mut frames = vec![None; messages];
    for (from, to, frame) in ranges {
        for it in frames.iter_mut().take(to).skip(from) {
            *it = Some(frame);
        }
    }
    frames
}
