//! The stages of a request: a host is about to call its model, and learns which operations to apply.

use std::sync::Arc;

use callstack_core::fold::{Folded, Input, fold};
use callstack_core::framing::identity_of;
use callstack_core::transcript::{Anchor, Role};
use callstack_store::MessageBody;

use super::fixing::Unshown;
use super::folding::live;
use super::observed::{Observed, epoch_of, summary_among};
use super::snapshot::Snapshot;
use super::sync_request::{SyncAnswer, SyncRequest, common};
use super::{Conversation, HostMessage, calibrated, mode, stale};
use crate::compaction::{Came, Compactions};
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
use crate::session::UserTurns;
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::subagents::Subagents;
use crate::vanished::Presence;
use crate::work_tree::FileStates;

/// Follows the sessions of hosts, and answers with the operations for their requests.
pub(crate) struct Conversations {
    kernel: Arc<Kernel>,
    frames: Arc<Frames>,
    sessions: Arc<Sessions>,
    files: Arc<FileStates>,
    fixing: Arc<Fixing>,
    compaction: Arc<Compactions>,
    subagents: Arc<Subagents>,
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

    /// Carries out the stages of a request, in order. Each works on the conversation and on a snapshot of the store,
    /// which is read again only after a stage that changed the session's frames.
    fn follow(&self, mut request: SyncRequest) -> Result<SyncAnswer, EngineError> {
        self.sessions.empty_purged(&request.session, &mut request.shown)?;
        self.subagents.tasks_returned(&request)?;
        let conversation = self.sessions.conversation(&request.session);
        let mut conversation = lock(&conversation);
        let conversation = &mut *conversation;
        if request.compacting {
            return self.fold_for_compaction(conversation, request);
        }
        if request.keep > conversation.transcript.len() || request.ops > conversation.sent.len() {
            return Ok(SyncAnswer::All);
        }
        let (observed, mut snapshot) = self.observe(conversation, request)?;
        if !snapshot.settings.frame_mode {
            return Ok(mode::unframed(
                conversation,
                self.kernel.now(),
                observed.held,
                observed.last_serial,
            ));
        }
        let has_results = self.notes.deliver_results(conversation, &observed.session)?;
        if !has_results && self.is_as_before(conversation, &observed, &snapshot)? {
            return Ok(self.same_as_before(conversation, observed.held, observed.last_serial));
        }
        self.reconcile(conversation, &observed, &mut snapshot, has_results)?;
        self.frame(conversation, &observed, &mut snapshot)?;
        let is_steady = stale::mark_stale(&self.kernel, conversation, &observed, &snapshot)?;
        self.note(conversation, &observed, &snapshot)?;
        let folded = self.fold(conversation, &observed, &snapshot.settings)?;
        Ok(answer(conversation, &observed, folded, is_steady))
    }

    /// Compares the messages of a request with those before, takes them over and has them stored.
    fn observe(
        &self,
        conversation: &mut Conversation,
        request: SyncRequest,
    ) -> Result<(Observed, Snapshot), EngineError> {
        let epoch = epoch_of(conversation, &request);
        let mut snapshot = self.look(conversation, &request.session, &epoch)?;
        if self.subagents.frame_if_deserved(conversation, &request, &snapshot)? {
            snapshot = self.look(conversation, &request.session, &epoch)?;
        }
        let framed = snapshot.settings.frame_mode;
        let mut observed = Observed::of(conversation, &request, framed, epoch);
        if let Some(copied) = self.forks.copied(conversation, &request, &observed)? {
            observed.is_copy(copied, &request.shown);
        }
        let session = &observed.session;
        if snapshot.broken.failure.is_some() {
            self.sessions.broken(session, |broken| broken.failure = None)?;
        }
        let bodies = conversation.take(request.keep, request.shown);
        let newest = Some(snapshot.newest);
        conversation.ticket = self.sessions.record_since(newest, session, bodies)?;
        self.writes.give_written(conversation)?;
        self.files.follow_files(conversation, session)?;
        calibrated::keep_calibration(&self.kernel, conversation, session)?;
        mode::follow_mode(&self.kernel, conversation, session, framed)?;
        Ok((observed, snapshot))
    }

    /// Whether nothing but steps of the model was added, which change no operation.
    fn is_as_before(
        &self,
        conversation: &mut Conversation,
        observed: &Observed,
        snapshot: &Snapshot,
    ) -> Result<bool, EngineError> {
        let (session, settings) = (&observed.session, &snapshot.settings);
        let masks = Folding::masks(settings);
        Ok(observed.adds_steps_alone
            && !conversation.has_outside_to_announce()
            && (!masks || !conversation.may_have_due_outputs(self.kernel.now()))
            && !conversation.weighs_again(self.kernel.now())
            && !self.framing.follow_work(conversation, session, settings)?
            && !self.notes.make_notes(conversation, session, settings)?
            && !self.folding.would_name_steps(conversation, settings)?)
    }

    /// Brings the session's frames in line with the host's history: a new session, a fork, a compaction, an undo.
    fn reconcile(
        &self,
        conversation: &mut Conversation,
        observed: &Observed,
        snapshot: &mut Snapshot,
        mut has_changed: bool,
    ) -> Result<(), EngineError> {
        let Observed { session, host, epoch, .. } = observed;
        // A root that was popped stays popped until the user speaks again, which the host reports separately.
        let begins = conversation.frameless != Some(true) && snapshot.root().is_none();
        if let Some(words) = observed.first_words.as_deref().filter(|_| begins) {
            let start = Anchor { message: None, call: None };
            self.frames.ensure_root(session, host, identity_of(words), start)?;
            has_changed = true;
        }
        if observed.is_from_before {
            self.turns.forget_goal(session)?;
            has_changed = true;
        }
        if let Some(copied) = &observed.copied {
            self.forks.fork(conversation, session, host, copied, &observed.opened)?;
            has_changed = true;
        }
        if let Some(summary) = &observed.summary {
            self.compaction.settle(session, Came::Summary(summary), None)?;
            has_changed = true;
        }
        if has_changed {
            *snapshot = self.look(conversation, session, epoch)?;
        }
        if self.undo.follow_undo(conversation, session, observed.may_be_undone)? {
            *snapshot = self.look(conversation, session, epoch)?;
        }
        Ok(())
    }

    /// Begins and ends the frames that nobody pushed.
    fn frame(
        &self,
        conversation: &mut Conversation,
        observed: &Observed,
        snapshot: &mut Snapshot,
    ) -> Result<(), EngineError> {
        let Observed { session, epoch, .. } = observed;
        if self.framing.frame_work(conversation, session, &snapshot.settings)? {
            *snapshot = self.look(conversation, session, epoch)?;
            self.files.give_states(conversation, session)?;
        }
        conversation.step_frame = snapshot.active();
        Ok(())
    }

    /// Adds the notes that are due at the end of the request.
    fn note(
        &self,
        conversation: &mut Conversation,
        observed: &Observed,
        snapshot: &Snapshot,
    ) -> Result<(), EngineError> {
        let session = &observed.session;
        self.notes.add_news(conversation, session, snapshot)?;
        self.notes.make_notes(conversation, session, &snapshot.settings)?;
        Ok(())
    }

    /// Folds finished work, masks outputs, and names steps that a pop may close.
    fn fold(
        &self,
        conversation: &mut Conversation,
        observed: &Observed,
        settings: &Settings,
    ) -> Result<Folded, EngineError> {
        let Observed { session, applied, last_serial, .. } = observed;
        conversation.number_answer(self.kernel.now(), *last_serial);
        let masks = Folding::masks(settings);
        let folded = self.folding.folded(conversation, session, *applied)?;
        let folded = self.folding.masked(conversation, session, (*applied, masks), folded)?;
        let folded = self.folding.named(conversation, session, settings, folded)?;
        conversation.looked(self.kernel.now());
        Ok(folded)
    }

    /// Reads the state of a session from the store.
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

    /// Returns the list of the last answer, without computing it again.
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
        for shown in &shown {
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

/// Returns the part of a list of operations that the host does not hold yet. `is_steady` says whether the marks of
/// stale steps stay until something else happens.
fn answer(
    conversation: &mut Conversation,
    observed: &Observed,
    folded: Folded,
    is_steady: bool,
) -> SyncAnswer {
    let settled = conversation.settled_serial();
    let is_settled = folded.unsettled.is_empty() && !conversation.is_disk_slow;
    conversation.steady_since = Some(settled).filter(|_| is_steady && is_settled);
    let keep = common(&conversation.sent, &folded.ops).min(observed.held);
    let ops = folded.ops[keep..].to_vec();
    conversation.sent = folded.ops;
    SyncAnswer::Ops { serial: conversation.serial, keep, ops }
}
