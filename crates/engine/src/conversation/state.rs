//! The state of a session in this process.

pub(super) mod framing;
pub(super) mod masking;
pub(super) mod naming;
pub(super) mod outside;
pub(super) mod stale;
mod transcript;
pub(super) mod watch;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callstack_core::fold::{Note, ReasoningPolicy};
use callstack_core::frame::{Artifact, FrameNum};
use callstack_core::transcript::{
    Anchor, FoldOp, Message, Role, Span, SpanNum, ToolCall, newest_summary,
};
use callstack_store::{MessageBody, StoredDelegation};
use framing::Framing;
use masking::Masking;
use naming::Naming;
use outside::Outside;
use stale::Stale;
use watch::Watch;

use super::entry::Entry;
use super::host_message::HostMessage;
use crate::recorder::{PATIENCE, Recorder, Ticket};

/// The epoch of a session that was never compacted.
pub(crate) const START: &str = "start";

/// The state of a session in this process. All of it can be restored from the host and the store.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    pub(super) transcript: Vec<Entry>,
    pub(super) watch: Watch,
    /// The place of each message that was ever seen, by first appearance.
    pub(super) order: HashMap<String, u64>,
    /// The messages that were removed for good. The host may show them still.
    pub(super) purged: HashSet<String>,
    /// Whether `order` and `purged` have the messages of the store.
    pub(super) loaded: bool,
    pub(super) ticket: Ticket,
    /// Whether the host showed messages last that could not be taken over.
    pub(super) has_gap: bool,
    pub(super) serial: i64,
    pub(super) sent: Vec<FoldOp>,
    pub(super) spans: Vec<Span>,
    pub(super) notes: Vec<Note>,
    pub(super) outside: Outside,
    /// The delegations that the session has started.
    pub(super) delegations: Vec<StoredDelegation>,
    pub(super) stale: Stale,
    pub(super) revision: i64,
    /// The serial of the last answer that settled a fold, if nothing was left open with the last
    /// answer and nothing was loaded since: then the model's next steps alone change no operation.
    pub(super) steady_since: Option<i64>,
    /// Spans that go out unfolded, since they were not on the disk in time.
    pub(super) left_out: Vec<SpanNum>,
    /// Whether something was missing in the last answer because it was not on the disk in time.
    pub(super) is_disk_slow: bool,
    /// The frame that was active when the current step began: the step's calls are its work, also where a push is in
    /// the same step.
    pub(crate) step_frame: Option<FrameNum>,
    /// Files whose frames are known only when the step is shown.
    pub(super) written: Vec<Written>,
    /// Tokens that the model takes at most.
    pub(crate) limit: Option<u64>,
    /// The same as the store has it, as far as this process knows.
    pub(crate) kept_limit: Option<u64>,
    /// Tokens that the last step took.
    pub(crate) used: Option<u64>,
    /// The last text of the newest step.
    pub(crate) closing: Option<String>,
    /// Whether it is a child session that has no frame yet; none until that was checked.
    pub(super) frameless: Option<bool>,
    /// The messages that the host has undone, as the store has them; none until that was checked.
    pub(super) undone: Option<Vec<String>>,
    /// The stored calibration.
    pub(super) calibrated: Option<u32>,
    /// `STACK_FRAME_MODE` at the last call that this process saw.
    pub(super) framed: Option<bool>,
    /// `STACK_FOLD_REASONING`, as it counted at the last call.
    pub(super) reasoning: ReasoningPolicy,
    pub(super) framing: Framing,
    pub(super) past: Option<Past>,
    pub(super) masking: Masking,
    pub(super) naming: Naming,
    /// The message at which it was last announced that outputs will leave.
    pub(super) leaving: Option<String>,
}

/// The files that a call wrote.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) call: String,
    pub(super) artifacts: Vec<Artifact>,
}

/// Time and place of the work in a recorded session that is taken over.
#[derive(Debug)]
pub(super) struct Past {
    /// The folder that was worked in.
    pub(super) folder: PathBuf,
    /// The time of the message that is being taken over, where it is known; milliseconds since 1970.
    pub(super) at: Option<i64>,
}

impl Conversation {
    /// Whether it is a recorded session that is taken over.
    pub(super) fn is_past(&self) -> bool {
        self.past.is_some()
    }

    /// Returns the folder of the work: `project`, except for a recorded session that is taken over.
    pub(crate) fn folder<'a>(&'a self, project: &'a Path) -> &'a Path {
        self.past.as_ref().map_or(project, |past| &past.folder)
    }

    /// Returns the time of changes, in milliseconds since 1970: `now`, except for a recorded session that is taken
    /// over.
    pub(super) fn time(&self, now: i64) -> i64 {
        self.past.as_ref().and_then(|past| past.at).unwrap_or(now)
    }

    /// Returns the files that calls wrote in the messages after the one at which a stretch begins, up to the one at
    /// which it ends.
    pub(super) fn written_between<'a>(
        &'a self,
        open: &Anchor,
        close: Option<&Anchor>,
    ) -> impl Iterator<Item = &'a String> + use<'a> {
        let at = |anchor: &Anchor| {
            let id = anchor.message.as_deref();
            self.messages().rposition(|message| Some(message.id.as_str()) == id)
        };
        let from = at(open).map_or(0, |open| open + 1);
        let end = close.and_then(at).map_or(self.transcript.len(), |close| close + 1);
        let calls = self.messages().take(end).skip(from).flat_map(Message::calls);
        calls.flat_map(|call| call.files_written())
    }

    /// Returns the spans of automatic frames that began after a message, or at a call in it.
    pub(crate) fn began_by_themselves(&self, message: &str) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(move |span| {
            span.origin.is_automatic()
                && !span.detached
                && span.open.message.as_deref() == Some(message)
        })
    }

    /// The spans of frames that somebody pushed or activated by a call in a message.
    pub(crate) fn begun_in(&self, message: &str) -> impl Iterator<Item = &Span> {
        self.spans.iter().rev().filter(move |span| {
            !span.origin.is_automatic()
                && !span.origin.has_its_call()
                && !span.detached
                && span.open.call.is_some()
                && span.open.message.as_deref() == Some(message)
        })
    }

    /// Whether no call was running between two moments at a place: those up to it had ended by the first moment, and
    /// later ones began after the second. False where times are missing.
    pub(crate) fn was_still_at(&self, place: &Anchor, (from, until): (i64, i64)) -> bool {
        let id = place.message.as_deref();
        let at = self.messages().rposition(|message| Some(message.id.as_str()) == id);
        let Some(at) = at else { return false };
        let had_ended = |call: &Arc<ToolCall>| call.ended.is_some_and(|ended| ended <= from);
        let began_later = |call: &Arc<ToolCall>| call.began.is_some_and(|began| began > until);
        let here = || self.transcript[at].message.calls();
        let up_to = match &place.call {
            Some(own) => here().position(|call| call.id == *own).map_or(0, |own| own + 1),
            // The place is after the whole message.
            None => here().count(),
        };
        let earlier = self.messages().take(at).flat_map(Message::calls);
        let later = self.messages().skip(at + 1).flat_map(Message::calls);
        earlier.chain(here().take(up_to)).all(had_ended)
            && here().skip(up_to).chain(later).all(began_later)
    }

    /// Returns the name of the context that the system prompt belongs to: a new one begins with every compaction.
    pub(crate) fn epoch(&self) -> &str {
        self.summary().unwrap_or(START)
    }

    /// Id of the newest summary that is shown.
    pub(super) fn summary(&self) -> Option<&str> {
        newest_summary(self.messages()).map(|place| self.transcript[place].message.id.as_str())
    }

    /// The messages as the host last showed them.
    pub(crate) fn messages(
        &self,
    ) -> impl DoubleEndedIterator<Item = &Message> + ExactSizeIterator + Clone {
        self.transcript.iter().map(|entry| &entry.message)
    }

    pub(crate) fn last(&self) -> Option<&Message> {
        self.messages().next_back()
    }

    /// Waits a little until all messages so far are on the disk. Returns whether they are.
    pub(crate) fn written(&self, recorder: &Recorder) -> bool {
        recorder.flush(self.ticket, PATIENCE)
    }

    /// Returns the recorder's ticket of the newest message.
    pub(crate) fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Numbers the answer that is about to be given: above every serial that the session is known to have had,
    /// wherever the clock stands. `last` is the last that the host names.
    pub(super) fn number_answer(&mut self, now: i64, last: i64) {
        let last = self.serial.max(last);
        self.serial = now.max(last.saturating_add(1));
    }

    /// The largest serial that the session's folds and masks were stored with.
    pub(super) fn settled_serial(&self) -> i64 {
        let folds = self.spans.iter().filter_map(|span| span.fold.as_ref()?.settled_serial);
        folds.max().unwrap_or_default().max(self.masking.settled())
    }

    /// One of which the host has to show everything again.
    pub(crate) fn forgotten() -> Self {
        Self { has_gap: true, ..Self::default() }
    }

    /// Whether all that the host showed was taken over.
    pub(crate) fn is_whole(&self) -> bool {
        !self.has_gap
    }

    /// Records that a call of the model was followed to its end.
    pub(super) fn looked(&mut self, now: i64) {
        let (messages, known) = (self.transcript.len(), self.order.len() as u64);
        self.masking.called(now);
        self.masking.looked.looked(messages, known);
        self.naming.looked.looked(messages, known);
    }

    /// Takes the host's messages; returns the bodies to be stored.
    pub(super) fn take(&mut self, keep: usize, shown: Vec<HostMessage>) -> Vec<MessageBody> {
        self.has_gap = false;
        self.transcript.truncate(keep);
        self.watch.keep(keep);
        self.framing.truncate(keep);
        self.masking.looked.truncate(keep);
        self.naming.looked.truncate(keep);
        let mut bodies = Vec::with_capacity(shown.len());
        for mut shown in shown {
            let next = self.order.len() as u64;
            let place = *self.order.entry(shown.message.id.clone()).or_insert(next);
            self.masking.looked.show(self.transcript.len(), place);
            self.naming.looked.show(self.transcript.len(), place);
            let json = std::mem::take(&mut shown.json);
            bodies.push(MessageBody { id: shown.message.id.clone(), json });
            if shown.message.role == Role::Assistant && shown.summary.is_none() {
                self.closing = Some(shown.words.clone()).filter(|words| !words.is_empty());
                self.used = shown.tokens.or(self.used);
            }
            self.transcript.push(Entry::after(self.transcript.last(), shown));
        }
        bodies
    }
}
