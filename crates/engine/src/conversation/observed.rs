//! A request of a host, compared with the known state of its session.

use callstack_core::transcript::{Message, Role, newest_summary};

use super::copied::Copied;
use super::{Conversation, HostMessage, START, SyncRequest};
use crate::compaction::Summary;

/// A request that was compared with those before it. Its stages need nothing else of it.
pub(super) struct Observed {
    pub(super) session: String,
    pub(super) host: String,
    /// The context that it continues: see [`Conversation::epoch`].
    pub(super) epoch: String,
    /// How many operations the host holds.
    pub(super) held: usize,
    /// See [`SyncRequest::applied`].
    pub(super) applied: i64,
    /// The largest serial that the host names.
    pub(super) last_serial: i64,
    /// Calls of ours with which frames began, with the ids of the frames.
    pub(super) opened: Vec<(String, String)>,
    /// The newest summary, where it was not shown before.
    pub(super) summary: Option<Summary>,
    /// The user's first words.
    pub(super) first_words: Option<String>,
    /// The session that this one was copied from, if it was.
    pub(super) copied: Option<Copied>,
    /// Steps whose requests may have gone out without our texts.
    pub(super) unwitnessed: Vec<String>,
    /// Whether nothing but new steps of the model was added, after an answer that left nothing open.
    pub(super) adds_steps_alone: bool,
    /// Whether a session that is new to the store shows steps of an earlier turn.
    pub(super) is_from_before: bool,
    /// Whether messages may have been undone, or come back, since the host's last call.
    pub(super) may_be_undone: bool,
}

impl Observed {
    /// Compares the messages of a request with those that the host showed last; `conversation` knows what the store
    /// has of the session, `framed` is `STACK_FRAME_MODE`.
    pub(super) fn of(
        conversation: &Conversation,
        request: &SyncRequest,
        framed: bool,
        epoch: String,
    ) -> Self {
        let unwitnessed = unwitnessed(conversation, request);
        let adds_steps_alone = conversation.framed == Some(framed)
            && request.keep == conversation.transcript.len()
            && request.shown.iter().all(|shown| is_new_step(conversation, &shown.message))
            && unwitnessed.is_empty()
            && conversation.steady_since.is_some_and(|since| request.applied >= since.max(1));
        Self {
            session: request.session.clone(),
            host: request.host.clone(),
            epoch,
            held: request.ops,
            applied: request.applied,
            last_serial: request.applied.max(request.newest),
            opened: request.shown.iter().flat_map(|it| it.opened.clone()).collect(),
            summary: summary_among(conversation.messages().take(request.keep), &request.shown),
            first_words: first_words(&request.shown),
            copied: None,
            unwitnessed,
            adds_steps_alone,
            is_from_before: begins_with_steps(conversation, request),
            may_be_undone: may_be_undone(conversation, request),
        }
    }

    /// Records that the session begins with copies of another one's messages.
    pub(super) fn is_copy(&mut self, copied: Copied, shown: &[HostMessage]) {
        self.unwitnessed = copied.not_copied(shown);
        self.adds_steps_alone = false;
        self.is_from_before = false;
        self.copied = Some(copied);
    }
}

/// The context that a request continues: a new one begins with every compaction.
pub(super) fn epoch_of(conversation: &Conversation, request: &SyncRequest) -> String {
    let mut kept = conversation.messages().take(request.keep);
    let known = kept.len();
    let shown = request.shown.iter().map(|shown| &shown.message);
    let newest = newest_summary(kept.clone().chain(shown.clone()));
    let newest = newest.and_then(|at| match at.checked_sub(known) {
        Some(at) => request.shown.get(at).map(|shown| &shown.message),
        None => kept.nth(at),
    });
    newest.map_or(START, |newest| &newest.id).to_owned()
}

/// Returns the user's first words.
fn first_words(shown: &[HostMessage]) -> Option<String> {
    let said = shown.iter().find(|it| it.message.role == Role::User && !it.words.is_empty());
    said.map(|it| it.words.clone())
}

/// The newest summary of a transcript, if it is not among the messages that were kept.
pub(super) fn summary_among<'a>(
    kept: impl ExactSizeIterator<Item = &'a Message>,
    shown: &'a [HostMessage],
) -> Option<Summary> {
    let known = kept.len();
    let transcript = kept.chain(shown.iter().map(|shown| &shown.message));
    let newest = newest_summary(transcript)?.checked_sub(known)?;
    let text = shown[newest].summary.clone()?;
    Some(Summary { message: shown[newest].message.id.clone(), text })
}

/// Returns the steps whose requests may have gone out without our texts: the last one, if the host says so, and those
/// that were made without any report. A host that continues with an answer of ours had it for all of them.
fn unwitnessed(conversation: &Conversation, request: &SyncRequest) -> Vec<String> {
    let cold = conversation.transcript.is_empty();
    if request.applied > 0 || (request.applied == 0 && !cold) {
        return Vec::new();
    }
    let steps = request.shown.iter().map(|shown| &shown.message).filter(|it| it.is_step());
    let last = steps.clone().next_back().filter(|_| request.applied == -1);
    let unknown = steps.filter(|step| !conversation.order.contains_key(&step.id));
    let mut found: Vec<String> = unknown.chain(last).map(|step| step.id.clone()).collect();
    found.dedup();
    found
}

/// Whether a message is a step of the model that was never shown before. A step that was shown may be marked already:
/// its reasoning as stale, or its outputs as masked.
fn is_new_step(conversation: &Conversation, message: &Message) -> bool {
    message.is_step() && !conversation.order.contains_key(&message.id)
}

/// Whether messages may have been undone, or come back, since the host's last call.
fn may_be_undone(conversation: &Conversation, request: &SyncRequest) -> bool {
    let known = conversation.undone.as_ref();
    request.keep < conversation.transcript.len() || known.is_none_or(|undone| !undone.is_empty())
}

/// Whether a session that is new to the store shows steps of an earlier turn.
fn begins_with_steps(conversation: &Conversation, request: &SyncRequest) -> bool {
    let newest = request.shown.iter().rposition(|it| it.message.role == Role::User);
    let earlier = request.shown.iter().take(newest.unwrap_or(0));
    conversation.order.is_empty() && earlier.map(|it| &it.message).any(Message::is_step)
}
