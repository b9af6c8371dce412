//! Named steps whose files were changed, or after which the user spoke: they are offered for closing once more.

use std::collections::BTreeSet;

use callstack_core::cost::{Closing, pays_to_close};
use callstack_core::fold::{Folded, Placement};
use callstack_core::masking::outputs::Request;
use callstack_core::named_steps::{NamedSteps, after_a_turn, name_of, overtaken, overtaken_mark};
use callstack_core::rendered_slot::NoteKey;
use callstack_core::transcript::{Anchor, FoldOp, Message, MessageKind, Role};

use crate::conversation::Conversation;
use crate::conversation::folding::{Folding, live};
use crate::conversation::stored_notes::note;
use crate::error::EngineError;

/// Steps that are offered once more.
pub(super) struct Overtaken {
    steps: NamedSteps,
    /// The call in whose output that is said.
    last: Anchor,
    since: Since,
}

/// The reason why they are probably not needed any more.
enum Since {
    /// Files that they read were changed; how many they read.
    Changed(Vec<String>, usize),
    /// The user asked for something else.
    Spoken,
}

impl Conversation {
    /// Returns the steps to be offered once more at the end of the transcript: named ones that are still sent, where
    /// closing them pays, of whose files half or more were changed since or after which the user has spoken. `ops`
    /// are the request's.
    pub(super) fn overtaken(&self, ops: &[FoldOp]) -> Option<Overtaken> {
        let unsaid = |steps: &&NamedSteps| {
            let mark = overtaken_mark(steps.num);
            self.notes.iter().all(|note| !note.text.starts_with(&mark))
        };
        let named = self.naming.named.iter().filter(unsaid);
        let mut named = named
            .filter_map(|steps| {
                let changed =
                    self.changed_since(steps).map(|(files, read)| Since::Changed(files, read));
                let since =
                    changed.or_else(|| self.spoken_since(steps).then_some(Since::Spoken))?;
                Some((steps, since))
            })
            .peekable();
        if self.has_gap || named.peek().is_none() {
            return None;
        }
        let last = self.newest_call()?;
        let live = live(&self.spans);
        let request = Request::of(&self.transcript, ops, self.weights());
        named.find_map(|(steps, since)| {
            let (tokens, calls) = self.weight(&request);
            let from = self.place(&steps.first)?;
            let read_again =
                (from..self.transcript.len()).filter_map(|at| self.read(&live, &request, at));
            let weight = read_again.map(|it| it.step.tokens).sum();
            let pays = pays_to_close(&Closing { steps: weight, request: tokens, calls });
            let due = pays && !request.cut[from] && self.may_be_closed(&live, &steps.first, &last);
            due.then(|| Overtaken { steps: steps.clone(), last: last.clone(), since })
        })
    }

    /// Returns the files that steps read and that were changed since, where they are half of the files that they
    /// read; with the number of those.
    fn changed_since(&self, steps: &NamedSteps) -> Option<(Vec<String>, usize)> {
        let (first, last) = (self.place(&steps.first)?, self.place(&steps.last)?);
        let within = self.transcript.get(first..last)?.iter();
        let within = within.flat_map(|entry| entry.message.calls());
        let read: BTreeSet<&str> = within.filter_map(|call| call.file_read()).collect();
        let later = self.messages().skip(last).flat_map(Message::calls);
        let later: BTreeSet<&str> =
            later.flat_map(|call| call.files_written()).map(String::as_str).collect();
        let changed: Vec<String> = read.intersection(&later).map(|&path| path.to_owned()).collect();
        (!changed.is_empty() && changed.len() * 2 >= read.len()).then_some((changed, read.len()))
    }

    fn spoken_since(&self, steps: &NamedSteps) -> bool {
        self.place(&steps.last).is_some_and(|last| {
            self.messages()
                .skip(last)
                .any(|it| it.role == Role::User && it.standing == MessageKind::Normal)
        })
    }

    fn place(&self, anchor: &Anchor) -> Option<usize> {
        let id = anchor.message.as_deref()?;
        self.messages().rposition(|message| message.id == id)
    }
}

impl Folding {
    /// Says that steps were overtaken, in the output of the newest call.
    pub(super) fn offered_again(
        &self,
        conversation: &mut Conversation,
        session: &str,
        due: Option<Overtaken>,
        folded: Folded,
    ) -> Result<Folded, EngineError> {
        let Some(Overtaken { steps, last, since }) = due else { return Ok(folded) };
        let (Some(first), Some(message), Some(call)) =
            (steps.first.message, last.message, last.call)
        else {
            return Ok(folded);
        };
        let text = match &since {
            Since::Changed(files, read) => {
                let changed: Vec<&str> = files.iter().map(String::as_str).collect();
                overtaken(steps.num, &changed, *read, self.kernel.dialect())
            }
            Since::Spoken => after_a_turn(steps.num, self.kernel.dialect()),
        };
        let name = format!("{} again", name_of(steps.num));
        let key = NoteKey::About { name, message: first };
        let note = note(session, (&message, Placement::Output(call)), key, text);
        self.sessions.append(conversation, session, self.kernel.now(), &[note])?;
        Ok(conversation.fold())
    }
}
