//! Named steps whose files were changed since: they are offered for closing once more.

use std::collections::BTreeSet;

use callstack_core::cost::{Closing, pays_to_close};
use callstack_core::fact::Fact;
use callstack_core::fold::{Folded, Placement};
use callstack_core::masking::outputs::Request;
use callstack_core::named_steps::{NamedSteps, name_of, overtaken, overtaken_mark};
use callstack_core::transcript::{Anchor, FoldOp};

use crate::conversation::Conversation;
use crate::conversation::folding::live;
use crate::conversation::notes::note;
use crate::engine::Engine;
use crate::error::EngineError;

/// Steps that are offered once more.
pub(super) struct Overtaken {
    steps: NamedSteps,
    /// The call in whose output that is said.
    last: Anchor,
    /// Files that they read and that were changed since.
    changed: Vec<String>,
    /// How many files they read.
    read: usize,
}

impl Conversation {
    /// The steps to be offered once more at the end of what is shown: named ones that are still sent, of whose files
    /// half or more were changed since, where closing them pays. `ops` are the request's.
    pub(super) fn overtaken(&self, ops: &[FoldOp]) -> Option<Overtaken> {
        let unsaid = |steps: &&NamedSteps| {
            let mark = overtaken_mark(steps.num);
            self.notes.iter().all(|note| !note.text.starts_with(&mark))
        };
        let named = self.naming.named.iter().filter(unsaid);
        let mut named = named
            .filter_map(|steps| self.changed_since(steps).map(|changed| (steps, changed)))
            .peekable();
        if self.has_gap || named.peek().is_none() {
            return None;
        }
        let last = self.newest_call()?;
        let live = live(&self.spans);
        let request = Request::of(&self.transcript, ops, self.masking.weights());
        named.find_map(|(steps, (changed, read))| {
            let (tokens, calls) = self.weight(&request);
            let from = self.place(&steps.first)?;
            let read_again =
                (from..self.transcript.len()).filter_map(|at| self.read(&live, &request, at));
            let weight = read_again.map(|it| it.step.tokens).sum();
            let pays = pays_to_close(&Closing { steps: weight, request: tokens, calls });
            let due = pays && !request.cut[from] && self.may_be_closed(&live, &steps.first, &last);
            due.then(|| Overtaken { steps: steps.clone(), last: last.clone(), changed, read })
        })
    }

    /// The files that steps read and that were changed since, where they are half of what they read; with how many
    /// they read.
    fn changed_since(&self, steps: &NamedSteps) -> Option<(Vec<String>, usize)> {
        let (first, last) = (self.place(&steps.first)?, self.place(&steps.last)?);
        let within = self.facts.get(first..last)?.iter().flatten();
        let read: BTreeSet<&str> = within
            .filter_map(|fact| match fact {
                Fact::Read { path } => Some(path.as_str()),
                _ => None,
            })
            .collect();
        let later: BTreeSet<&str> = self.facts[last..]
            .iter()
            .flatten()
            .filter_map(|fact| match fact {
                Fact::Wrote { path } => Some(path.as_str()),
                _ => None,
            })
            .collect();
        let changed: Vec<String> = read.intersection(&later).map(|&path| path.to_owned()).collect();
        (!changed.is_empty() && changed.len() * 2 >= read.len()).then_some((changed, read.len()))
    }

    fn place(&self, anchor: &Anchor) -> Option<usize> {
        let id = anchor.message.as_deref()?;
        self.transcript.iter().rposition(|message| message.id == id)
    }
}

impl Engine {
    /// Says that steps were overtaken, in the output of the newest call.
    pub(super) fn offered_again(
        &self,
        conversation: &mut Conversation,
        session: &str,
        due: Option<Overtaken>,
        folded: Folded,
    ) -> Result<Folded, EngineError> {
        let Some(Overtaken { steps, last, changed, read }) = due else { return Ok(folded) };
        let (Some(first), Some(message), Some(call)) =
            (steps.first.message, last.message, last.call)
        else {
            return Ok(folded);
        };
        let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
        let text = overtaken(steps.num, &changed, read, self.dialect());
        let once = format!("{call}|{} again|{first}", name_of(steps.num));
        let note = note(session, (&message, Placement::Output(call)), &once, text);
        self.store.write(|change| change.append(self.now(), &[note]))?;
        self.load_spans(conversation, session)?;
        Ok(conversation.fold(&live(&conversation.spans)))
    }
}
