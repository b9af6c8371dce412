//! States of files of frames whose push shares its step with calls that write.
//!
//! The calls of a step run concurrently. A snapshot taken at the push may therefore already contain writes of calls
//! after it (which are the frame's own work), or still lack writes of calls before it. Such a state is
//! replaced by the one from before the step, or removed where there is none.

use callstack_core::event::{Event, FileMoment};
use callstack_core::frame::FrameNum;
use callstack_core::transcript::{Anchor, Message, Role, Span};

use crate::conversation::Conversation;
use crate::error::EngineError;
use crate::lock::lock;
use crate::work_tree::FileStates;

/// Tools that change no file. Others may, as far as is known.
const READERS: [&str; 9] =
    ["read", "glob", "grep", "list", "ls", "lsp", "webfetch", "websearch", "codesearch"];
/// The beginnings of the names of tools that don't work on files: ours, and the todo list's.
const NOT_WORK: [&str; 3] = ["stack", "flame", "todo"];

impl FileStates {
    /// Gives frames that began in the newest step, beside calls that write, the state of the files from
    /// before that step, or none where that is not known.
    pub(crate) fn correct_states(
        &self,
        conversation: &Conversation,
        session: &str,
    ) -> Result<(), EngineError> {
        let Some(recording) = self.recording.get() else { return Ok(()) };
        let Some((before, frames)) = conversation.begun_beside_writes() else { return Ok(()) };
        let places = lock(&recording.shared.places);
        let mut known = places.known.get(session).into_iter().flatten();
        let counts = |from: i64, until: i64| {
            let place = Anchor { message: Some(before.to_owned()), call: None };
            conversation.was_still_at(&place, (from, until))
        };
        let known = known.find(|it| it.message == before && counts(it.from, it.until));
        let state = known.and_then(|it| it.state.clone().ok());
        drop(places);
        let wrong = self.kernel.read(|view| {
            let mut wrong = Vec::new();
            for frame in frames {
                let given = view.file_state(frame, FileMoment::Begun)?;
                // A frame that is taken up again keeps the state of its first beginning.
                let first = view.frame_spans(frame)?.len() == 1;
                if first && given.is_some() && given != state {
                    wrong.push(Event::FilesCorrected { frame, state: state.clone() });
                }
            }
            Ok::<_, EngineError>(wrong)
        })?;
        if wrong.is_empty() {
            return Ok(());
        }
        self.kernel.write(|change| Ok(change.append(self.kernel.now(), &wrong)?))
    }
}

impl Conversation {
    /// The frames that began in the newest step while calls that may write were going on, and the message in
    /// front of that step.
    fn begun_beside_writes(&self) -> Option<(&str, Vec<FrameNum>)> {
        let step = |message: &Message| message.role == Role::Assistant;
        let mut newest = self.messages().rev();
        let message = newest.find(|message| step(message))?;
        let Message { id: before, .. } = newest.next()?;
        let begun = self.begun_in(&message.id);
        let frames = begun.filter(|span| writes_beside(message, span));
        let frames: Vec<_> = frames.map(|span| span.frame).collect();
        (!frames.is_empty()).then_some((before.as_str(), frames))
    }
}

/// Whether a call of a tool may change files, as far as is known.
pub(crate) fn may_write(tool: &str) -> bool {
    !READERS.contains(&tool) && !NOT_WORK.iter().any(|ours| tool.starts_with(ours))
}

/// Whether a call that may write was going on beside the one that opened a span.
fn writes_beside(message: &Message, span: &Span) -> bool {
    let Some(opened) = span.open.call.as_deref() else { return false };
    let push = message.calls().find(|call| call.id == opened);
    let mut is_after = false;
    for call in message.calls() {
        if call.id == opened {
            is_after = true;
            continue;
        }
        if !may_write(&call.tool) {
            continue;
        }
        let (earlier, later) = if is_after { (push, Some(call)) } else { (Some(call), push) };
        let ended = earlier.and_then(|it| it.ended);
        let began = later.and_then(|it| it.began);
        if ended.zip(began).is_none_or(|(ended, began)| ended >= began) {
            return true;
        }
    }
    false
}

#[cfg(test)]
#[path = "steps_tests.rs"]
mod tests;
