//! The stages of a request: a host is about to call its model, and learns which operations to apply.

use std::sync::Arc;

use callstack_core::fold::{Input, fold};
use callstack_core::framing::identity_of;
use callstack_core::transcript::{Anchor, FoldOp, Message, Role, newest_summary};
use callstack_store::MessageBody;

use super::fixing::Unshown;
use super::folding::live;
use super::snapshot::Snapshot;
use super::{Conversation, HostMessage, START, stale};
use crate::compaction::{Came, Compactions, Summary};
use crate::conversation::fixing::Fixing;
use crate::conversation::folding::Folding;
use crate::conversation::fork::Forks;
use crate::conversation::framing::WorkFraming;
use crate::conversation::notes::Notes;
use crate::conversation::undo::Undo;
use crate::conversation::written::FileWrites;
use crate::error::EngineError;
use crate::frames::Frames;
use crate::kernel::Kernel;
use crate::lock::lock;
use crate::queries::Queries;
use crate::session::UserTurns;
use crate::sessions::Sessions;
use crate::subagents::Subagents;
use crate::vanished::Presence;
use crate::work_tree::FileStates;

/// A host is about to call its model.
#[derive(Clone, Debug)]
pub struct SyncRequest {
    /// The session.
    pub session: String,
    /// The host.
    pub host: String,
    /// Whether the call is the host's own, for a compaction: it lacks the newest messages.
    pub compacting: bool,
    /// How many messages at the beginning are as they were at the last sync.
    pub keep: usize,
    /// The messages after these.
    pub shown: Vec<HostMessage>,
    /// How many operations the host holds, all from answers of this process.
    pub ops: usize,
    /// The serial of the answer whose operations were applied to the host's last request to the model: 0 if there was
    /// no request yet, -1 if that lacked our operations or our system prompt.
    pub applied: i64,
    /// The serial of the newest answer that the host holds; 0 without one.
    pub newest: i64,
}

/// The answer to a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyncAnswer {
    /// The base that the host builds on is not known here: it should send everything.
    All,
    /// The operations: the first `keep` that the host holds, and then these.
    Ops {
        /// Grows with every answer, across restarts too.
        serial: i64,
        /// How many operations of the host stay.
        keep: usize,
        /// The operations after these.
        ops: Vec<FoldOp>,
    },
}

/// Follows the sessions of hosts, and answers with the operations for their requests.
pub(crate) struct Conversations {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) queries: Arc<Queries>,
    frames: Arc<Frames>,
    sessions: Arc<Sessions>,
    files: Arc<FileStates>,
    fixing: Arc<Fixing>,
    compaction: Arc<Compactions>,
    pub(crate) subagents: Arc<Subagents>,
    framing: Arc<WorkFraming>,
    writes: Arc<FileWrites>,
    turns: Arc<UserTurns>,
    presence: Arc<Presence>,
    undo: Arc<Undo>,
    pub(super) folding: Arc<Folding>,
    notes: Arc<Notes>,
    forks: Arc<Forks>,
}

impl Conversations {
    #[expect(
        clippy::too_many_arguments,
        reason = "one for each part below it, all of different types"
    )]
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        frames: &Arc<Frames>,
        sessions: &Arc<Sessions>,
        files: &Arc<FileStates>,
        fixing: &Arc<Fixing>,
        compaction: &Arc<Compactions>,
        subagents: &Arc<Subagents>,
        framing: &Arc<WorkFraming>,
        writes: &Arc<FileWrites>,
        turns: &Arc<UserTurns>,
        presence: &Arc<Presence>,
        undo: &Arc<Undo>,
        folding: &Arc<Folding>,
        notes: &Arc<Notes>,
        forks: &Arc<Forks>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            queries: Arc::clone(queries),
            frames: Arc::clone(frames),
            sessions: Arc::clone(sessions),
            files: Arc::clone(files),
            fixing: Arc::clone(fixing),
            compaction: Arc::clone(compaction),
            subagents: Arc::clone(subagents),
            framing: Arc::clone(framing),
            writes: Arc::clone(writes),
            turns: Arc::clone(turns),
            presence: Arc::clone(presence),
            undo: Arc::clone(undo),
            folding: Arc::clone(folding),
            notes: Arc::clone(notes),
            forks: Arc::clone(forks),
        }
    }

    /// Follows a host that is about to call its model, and returns the operations for its messages.
    pub(crate) fn sync(&self, request: SyncRequest) -> Result<SyncAnswer, EngineError> {
        self.presence.forget_purged()?;
        let answer = self.follow(request);
        // The answer may fold messages that a store which came in between does not have.
        if self.presence.forget_replaced() { Ok(SyncAnswer::All) } else { answer }
    }

    fn follow(&self, mut request: SyncRequest) -> Result<SyncAnswer, EngineError> {
        let session = request.session.clone();
        self.sessions.empty_purged(&session, &mut request.shown)?;
        let last_serial = request.applied.max(request.newest);
        self.subagents.tasks_returned(&request)?;
        let conversation = self.sessions.conversation(&session);
        let mut conversation = lock(&conversation);
        if request.compacting {
            return self.fold_for_compaction(&mut conversation, request);
        }
        if request.keep > conversation.transcript.len() || request.ops > conversation.sent.len() {
            return Ok(SyncAnswer::All);
        }
        let (epoch, summary) = {
            let kept = conversation.messages().take(request.keep);
            (epoch_of(kept.clone(), &request.shown), summary_among(kept, &request.shown))
        };
        let mut snapshot = self.look(&mut conversation, &session, &epoch)?;
        if self.frame_if_deserved(&mut conversation, &request, &snapshot)? {
            snapshot = self.look(&mut conversation, &session, &epoch)?;
        }
        let settings = Arc::clone(&snapshot.settings);
        let opened: Vec<_> = request.shown.iter().flat_map(|it| it.opened.clone()).collect();
        let copied = self.forks.copied(&conversation, &request, &opened, summary.as_ref())?;
        let forked = copied.is_some();
        let first_words = first_words(&request.shown);
        let unwitnessed = match &copied {
            Some(copied) => copied.not_copied(&request.shown),
            None => stale::unwitnessed(&conversation, &request),
        };
        let only_steps = conversation.framed == Some(settings.frame_mode)
            && request.keep == conversation.transcript.len()
            && request.shown.iter().all(|shown| is_new_step(&conversation, &shown.message))
            && unwitnessed.is_empty()
            && conversation.steady_since.is_some_and(|since| request.applied >= since.max(1));
        let from_before = !forked && begins_with_steps(&conversation, &request);
        let may_be_undone = may_be_undone(&conversation, &request);
        if snapshot.broken.failure.is_some() {
            self.sessions.broken(&session, |broken| broken.failure = None)?;
        }
        let bodies = conversation.take(request.keep, request.shown);
        conversation.ticket =
            self.sessions.record_since(Some(snapshot.newest), &session, bodies)?;
        self.writes.give_written(&mut conversation)?;
        self.files.follow_files(&conversation, &session)?;
        self.keep_calibration(&mut conversation, &session)?;
        self.follow_mode(&mut conversation, &session, settings.frame_mode)?;
        if !settings.frame_mode {
            return Ok(self.unframed(&mut conversation, request.ops, last_serial));
        }
        let is_told = self.notes.tell_results(&mut conversation, &session)?;
        let told = is_told || conversation.has_outside_to_tell();
        let masks = Folding::masks(&settings);
        if only_steps
            && !told
            && (!masks || !conversation.may_have_due_outputs(self.kernel.now()))
            && !conversation.weighs_again(self.kernel.now())
            && !self.framing.follow_work(&mut conversation, &session, &settings)?
            && !self.notes.make_notes(&mut conversation, &session, &settings)?
            && !self.folding.would_name_steps(&conversation, &settings)?
        {
            return Ok(self.same_as_before(&mut conversation, request.ops, last_serial));
        }
        let words = first_words.filter(|_| begins_root(&conversation, &snapshot));
        let changed = is_told || words.is_some() || from_before || forked || summary.is_some();
        if let Some(words) = words {
            let start = Anchor { message: None, call: None };
            self.frames.ensure_root(&session, &request.host, identity_of(&words), start)?;
        }
        if from_before {
            self.turns.forget_goal(&session)?;
        }
        if let Some(copied) = &copied {
            self.forks.fork(&conversation, &session, &request.host, copied, &opened)?;
        }
        if let Some(summary) = &summary {
            self.compaction.settle(&session, Came::Summary(summary), None)?;
        }
        if changed {
            snapshot = self.look(&mut conversation, &session, &epoch)?;
        }
        if self.undo.follow_undo(&mut conversation, &session, may_be_undone)? {
            snapshot = self.look(&mut conversation, &session, &epoch)?;
        }
        if self.framing.frame_work(&mut conversation, &session, &settings)? {
            snapshot = self.look(&mut conversation, &session, &epoch)?;
            self.files.give_states(&conversation, &session)?;
        }
        let steady = self.mark_stale(&mut conversation, &session, &snapshot, unwitnessed)?;
        conversation.step_frame = snapshot.active();
        self.notes.tell_news(&mut conversation, &session, &snapshot)?;
        self.notes.make_notes(&mut conversation, &session, &settings)?;
        conversation.number_answer(self.kernel.now(), last_serial);
        let folded = self.folding.folded(&mut conversation, &session, request.applied)?;
        let folded =
            self.folding.masked(&mut conversation, &session, (request.applied, masks), folded)?;
        let folded = self.folding.named(&mut conversation, &session, &settings, folded)?;
        conversation.looked(self.kernel.now());
        let settled = conversation.settled_serial();
        let is_settled = folded.unsettled.is_empty() && !conversation.is_disk_slow;
        conversation.steady_since = Some(settled).filter(|_| steady && is_settled);
        let keep = common(&conversation.sent, &folded.ops).min(request.ops);
        let answer =
            SyncAnswer::Ops { serial: conversation.serial, keep, ops: folded.ops[keep..].to_vec() };
        conversation.sent = folded.ops;
        Ok(answer)
    }

    /// Reads the state of a session.
    fn look(
        &self,
        conversation: &mut Conversation,
        session: &str,
        epoch: &str,
    ) -> Result<Snapshot, EngineError> {
        let snapshot = self.sessions.look(conversation, session, epoch)?;
        if conversation.reasoning != snapshot.settings.reasoning {
            conversation.reasoning = snapshot.settings.reasoning;
            conversation.steady_since = None;
        }
        Ok(snapshot)
    }

    /// Returns the answer where nothing but steps of the model was added, which change no operation: the list of the
    /// last answer, without computing it again.
    fn same_as_before(
        &self,
        conversation: &mut Conversation,
        held: usize,
        last_serial: i64,
    ) -> SyncAnswer {
        debug_assert_eq!(
            conversation.fold().ops,
            conversation.sent,
            "steps alone have changed an operation"
        );
        let now = self.kernel.now();
        conversation.looked(now);
        conversation.number_answer(now, last_serial);
        let keep = held.min(conversation.sent.len());
        SyncAnswer::Ops {
            serial: conversation.serial,
            keep,
            ops: conversation.sent[keep..].to_vec(),
        }
    }

    /// Stores messages that no later call may show soon, such as the closing reply of a turn.
    pub(crate) fn record(
        &self,
        session: &str,
        mut shown: Vec<HostMessage>,
    ) -> Result<(), EngineError> {
        // Messages wait where the store is out of reach just now.
        let looked = self.presence.forget_purged();
        drop(looked.and_then(|()| self.sessions.empty_purged(session, &mut shown)));
        let conversation = self.sessions.conversation(session);
        let mut conversation = lock(&conversation);
        let summary = summary_among(std::iter::empty(), &shown);
        if let Some(last) = shown.last()
            && last.message.role == Role::Assistant
            && last.summary.is_none()
        {
            conversation.closing = Some(last.words.clone()).filter(|words| !words.is_empty());
            conversation.used = last.tokens.or(conversation.used);
        }
        conversation.masking.called(self.kernel.now());
        for shown in &mut shown {
            conversation.record_framing_message(shown);
        }
        let bodies =
            shown.into_iter().map(|it| MessageBody { id: it.message.id, json: it.json }).collect();
        conversation.ticket = self.sessions.record(session, bodies)?;
        if let Some(summary) = &summary {
            self.compaction.settle(session, Came::Summary(summary), None)?;
        }
        self.framing.frame_late_message(&mut conversation, session)
    }

    /// A compaction's request is folded for its reader, the summariser, and remembered nowhere.
    fn fold_for_compaction(
        &self,
        conversation: &mut Conversation,
        request: SyncRequest,
    ) -> Result<SyncAnswer, EngineError> {
        let epoch = conversation.epoch().to_owned();
        let framed = self.look(conversation, &request.session, &epoch)?.settings.frame_mode;
        let unknown: Vec<_> = request
            .shown
            .iter()
            .filter(|shown| !conversation.order.contains_key(&shown.message.id))
            .map(|shown| MessageBody { id: shown.message.id.clone(), json: shown.json.clone() })
            .collect();
        for body in &unknown {
            let next = conversation.order.len() as u64;
            conversation.order.insert(body.id.clone(), next);
        }
        conversation.ticket = self.sessions.record(&request.session, unknown)?;
        self.fixing.fix_returned(conversation, &request.session, Unshown::Waits)?;
        let transcript: Vec<_> = request.shown.into_iter().map(|shown| shown.message).collect();
        let spans = live(&conversation.spans);
        self.notes.note_results(conversation, &transcript)?;
        let folded = fold(&Input {
            transcript: &transcript,
            spans: if framed { &spans } else { &[] },
            notes: &[],
            masks: if framed { conversation.masking.lines() } else { &[] },
            reasoning: conversation.reasoning,
            stale_until: None,
            stale: &[],
        });
        Ok(SyncAnswer::Ops { serial: conversation.serial, keep: 0, ops: folded.ops })
    }
}

impl Sessions {
    /// Takes note that a host showed messages of a session that could not be taken over. Until it shows them again,
    /// nothing that ends there promises that all of it is stored.
    pub(crate) fn not_taken(&self, session: &str) {
        lock(&self.conversation(session)).has_gap = true;
    }
}

/// The context that a request continues: a new one begins with every compaction.
fn epoch_of<'a>(kept: impl Iterator<Item = &'a Message>, shown: &'a [HostMessage]) -> String {
    let transcript: Vec<&Message> = kept.chain(shown.iter().map(|shown| &shown.message)).collect();
    let newest = newest_summary(transcript.iter().copied());
    newest.map_or(START, |newest| &transcript[newest].id).to_owned()
}

/// Whether the user's first words begin a root. One that was popped stays popped until the user speaks again, which
/// the host reports separately.
fn begins_root(conversation: &Conversation, snapshot: &Snapshot) -> bool {
    conversation.frameless != Some(true) && snapshot.root().is_none()
}

/// Returns the user's first words.
fn first_words(shown: &[HostMessage]) -> Option<String> {
    let said = shown.iter().find(|it| it.message.role == Role::User && !it.words.is_empty());
    said.map(|it| it.words.clone())
}

/// The newest summary of a transcript, if it is not among the messages that were kept.
fn summary_among<'a>(
    kept: impl ExactSizeIterator<Item = &'a Message>,
    shown: &'a [HostMessage],
) -> Option<Summary> {
    let known = kept.len();
    let transcript = kept.chain(shown.iter().map(|shown| &shown.message));
    let newest = newest_summary(transcript)?.checked_sub(known)?;
    let text = shown[newest].summary.clone()?;
    Some(Summary { message: shown[newest].message.id.clone(), text })
}

/// Whether a message is a step of the model that was never shown before. What was is that of which something may be
/// known already: that its reasoning is stale, or that its outputs are masked.
fn is_new_step(conversation: &Conversation, message: &Message) -> bool {
    stale::is_step(message) && !conversation.order.contains_key(&message.id)
}

/// Whether messages may have been undone, or come back, since the host's last call.
fn may_be_undone(conversation: &Conversation, request: &SyncRequest) -> bool {
    let known = conversation.undone.as_ref();
    request.keep < conversation.transcript.len() || known.is_none_or(|undone| !undone.is_empty())
}

/// Whether a session that is new to the store shows steps of an earlier turn.
pub(super) fn begins_with_steps(conversation: &Conversation, request: &SyncRequest) -> bool {
    let newest = request.shown.iter().rposition(|it| it.message.role == Role::User);
    let earlier = request.shown.iter().take(newest.unwrap_or(0));
    conversation.order.is_empty() && earlier.map(|it| &it.message).any(stale::is_step)
}

pub(super) fn common(held: &[FoldOp], new: &[FoldOp]) -> usize {
    held.iter().zip(new).take_while(|(held, new)| held == new).count()
}
