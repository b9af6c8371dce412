//! For frames that are created after the fact: the snapshot of the files from which they began, and the files that they
//! wrote. Nothing was recorded at the time, since nobody knew that a frame was beginning.

use std::sync::Arc;

use callstack_core::event::FileMoment;
use callstack_core::evidence::Evidence;
use callstack_core::frame::{Artifact, FrameNum};
use callstack_core::named_steps::Doing;
use callstack_core::transcript::{Anchor, Message, PartBody, Span, ToolCall};
use callstack_store::{StoreError, View};

use super::Conversation;
use super::entry::Entry;
use crate::error::EngineError;
use crate::files;
use crate::kernel::Kernel;
use crate::lock::lock;
use crate::sessions::Sessions;
use crate::work_tree::{FileStates, StateAt, may_write};

/// Where the state of the files is known, or may be.
struct Known {
    /// Whether no call may have changed files between that moment and the first call.
    is_exact: bool,
    /// The message after which it was recorded.
    at: usize,
    state: State,
}

enum State {
    Recorded(String),
    /// That of a frame, if it has one.
    Of(FrameNum, FileMoment),
}

/// Finds the files of a session in steps that may be closed after the fact.
pub(crate) struct StepQueries {
    kernel: Arc<Kernel>,
    pub(crate) sessions: Arc<Sessions>,
    files: Arc<FileStates>,
}

impl StepQueries {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        sessions: &Arc<Sessions>,
        files: &Arc<FileStates>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            sessions: Arc::clone(sessions),
            files: Arc::clone(files),
        }
    }

    /// Returns the state of the files before a call of a session: right before it where that is known, else the
    /// nearest earlier one.
    pub(crate) fn files_before(
        &self,
        session: &str,
        first: &Anchor,
    ) -> Result<Option<(FileMoment, String)>, EngineError> {
        if self.files.recording.get().is_none()
            || !self.kernel.read(|view| self.kernel.settings_in(view))?.kept.rollback
        {
            return Ok(None);
        }
        let conversation = self.sessions.conversation(session);
        let mut conversation = lock(&conversation);
        self.sessions.load(&mut conversation, session)?;
        let mut known = conversation.frames_before(first);
        for StateAt { message, from, until, state } in self.files.states_at_places(session) {
            let place = Anchor { message: Some(message), call: None };
            if conversation.was_still_at(&place, (from, until)) {
                known.extend(conversation.known_at(&place, first, State::Recorded(state)));
            }
        }
        known.sort_by_key(|known| std::cmp::Reverse((known.is_exact, known.at)));
        for Known { is_exact, state, .. } in known {
            let state = match state {
                State::Recorded(state) => Some(state),
                State::Of(frame, moment) => {
                    self.kernel.read(|view| view.file_state(frame, moment))?
                }
            };
            let moment = if is_exact { FileMoment::Begun } else { FileMoment::Before };
            if let Some(state) = state {
                return Ok(Some((moment, state)));
            }
        }
        Ok(None)
    }

    /// The files that steps wrote, as the frames have them in which they were done.
    pub(crate) fn artifacts_since(
        &self,
        view: &View<'_>,
        steps: &Span,
        evidence: &Evidence,
    ) -> Result<Vec<Artifact>, StoreError> {
        if evidence.written.is_empty() {
            return Ok(Vec::new());
        }
        let mut found: Vec<Artifact> = Vec::new();
        let mut frames: Vec<FrameNum> = Vec::new();
        for span in view.session_spans(&steps.session)?.into_iter().rev() {
            if !span.detached && !frames.contains(&span.frame) {
                frames.push(span.frame);
            }
        }
        for frame in frames {
            for artifact in view.frame(frame)?.artifacts {
                let is_written = evidence.written.iter().any(|file| file.is_at(&artifact.path));
                // Its present content is from the last write.
                let is_last =
                    || artifact.hash == files::hash(self.kernel.project(), &artifact.path);
                match found.iter_mut().find(|known| known.path == artifact.path) {
                    Some(known) if is_last() => *known = artifact,
                    None if is_written => found.push(artifact),
                    Some(_) | None => {}
                }
            }
        }
        Ok(found)
    }
}

impl Conversation {
    /// Returns the newest message, if steps that are closed after the fact may begin before it or after it with the
    /// files as they are now: where the agent reads after it has tried something.
    fn looks_after_trying(&self) -> Option<&str> {
        let doing = |message: &Message| Doing::of(message.calls().map(|call| call.tool.as_str()));
        let newest = self.last().filter(|message| message.is_step())?;
        let mut before = self.messages().rev().skip(1).take_while(|message| message.is_step());
        let looks =
            doing(newest) == Some(Doing::Looking) && before.find_map(doing) == Some(Doing::Trying);
        looks.then_some(newest.id.as_str())
    }

    /// Returns the newest message, if the files as they are now may be those with which work after it, or from it on,
    /// began.
    pub(crate) fn place_of_files(&self) -> Option<&str> {
        self.newest_list().or_else(|| self.looks_after_trying())
    }

    /// Returns the moments at which frames began and ended before a call.
    fn frames_before(&self, first: &Anchor) -> Vec<Known> {
        let mut known = Vec::new();
        for span in self.spans.iter().filter(|span| span.open != *first) {
            let is_later = |other: &Span| other.frame == span.frame && other.num < span.num;
            let is_first = !self.spans.iter().any(is_later);
            let begun = State::Of(span.frame, FileMoment::Begun);
            known.extend(is_first.then(|| self.known_beside(&span.open, first, begun)).flatten());
            let ended = State::Of(span.frame, FileMoment::Ended);
            let close = span.live_close().filter(|_| !span.detached);
            known.extend(close.and_then(|close| self.known_beside(close, first, ended)));
        }
        known
    }

    /// A state that was recorded while the step of a call was carried out.
    fn known_beside(&self, at: &Anchor, first: &Anchor, state: State) -> Option<Known> {
        let known = self.known_at(at, first, state)?;
        let (message, _) = self.place_of(first)?;
        let step = self.transcript.get(known.at).map(|entry| &entry.message);
        let wrote = step.is_none_or(|step| step.parts.iter().any(|part| writes(&part.body)));
        let is_exact = known.is_exact && !wrote;
        (known.at < message).then_some(Known { is_exact, ..known })
    }

    /// Returns a state that was recorded after a message, if it is from before a call or as that found it.
    fn known_at(&self, at: &Anchor, first: &Anchor, state: State) -> Option<Known> {
        let (message, part) = self.place_of(first)?;
        let (at, _) = self.place_of(&Anchor { message: at.message.clone(), call: None })?;
        let Some(step) = self.transcript.get(message).map(|entry| &entry.message) else {
            // The host has not shown the calls in between to this process.
            return (at < message).then_some(Known { is_exact: false, at, state });
        };
        let wrote = |entries: &[Entry]| {
            let mut parts = entries.iter().flat_map(|entry| &entry.message.parts);
            parts.any(|part| writes(&part.body))
        };
        let (before, from) = step.parts.split_at(part);
        let is_exact = if at < message {
            !wrote(&self.transcript[at + 1..message]) && !before.iter().any(|it| writes(&it.body))
        } else {
            !wrote(&self.transcript[message + 1..=at]) && !from.iter().any(|it| writes(&it.body))
        };
        (is_exact || at < message).then_some(Known { is_exact, at, state })
    }
}

impl Conversation {
    /// The place of a message, and of a call in it; by first appearance where the host has shown nothing yet to this
    /// process.
    fn place_of(&self, anchor: &Anchor) -> Option<(usize, usize)> {
        let id = anchor.message.as_ref()?;
        if self.transcript.is_empty() {
            return Some((usize::try_from(*self.order.get(id)?).ok()?, 0));
        }
        let message = self.messages().rposition(|message| message.id == *id)?;
        let is_it = |call: &Arc<ToolCall>| Some(&call.id) == anchor.call.as_ref();
        let mut parts = self.transcript[message].message.parts.iter();
        let part = parts.position(|part| part.call().is_some_and(is_it));
        Some((message, part.unwrap_or_default()))
    }
}

fn writes(body: &PartBody) -> bool {
    matches!(body, PartBody::Tool(call) if may_write(&call.tool))
}
