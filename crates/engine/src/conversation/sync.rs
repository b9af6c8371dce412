//! The stages of a request: a host is about to call its model, and learns which operations to apply.

use std::sync::Arc;

use callstack_core::fold::{Folded, Input, fold};
use callstack_core::transcript::Role;
use callstack_store::{Change, MessageBody};

use super::fixing::Unshown;
use super::folding::live;
use super::observed::{Observed, epoch_of, summary_among};
use super::snapshot::Snapshot;
use super::stale::NewMarks;
use super::sync_request::{SyncAnswer, SyncRequest, common};
use super::{Conversation, HostMessage, calibrated, mode};
use crate::compaction::{Came, Compactions};
use crate::conversation::fixing::Fixing;
use crate::conversation::folding::Folding;
use crate::conversation::fork::Forks;
use crate::conversation::framing::WorkFraming;
use crate::conversation::history::Histories;
use crate::conversation::notes::Notes;
use crate::conversation::undo::Undo;
use crate::conversation::written::FileWrites;
use crate::error::EngineError;
use crate::kernel::Kernel;
use crate::lock::lock;
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::subagents::Subagents;
use crate::vanished::Presence;
use crate::work_tree::FileStates;

/// Follows the sessions of hosts, and answers with the operations for their requests.
pub(crate) struct Conversations {
    kernel: Arc<Kernel>,
    sessions: Arc<Sessions>,
    files: Arc<FileStates>,
    fixing: Arc<Fixing>,
    compaction: Arc<Compactions>,
    subagents: Arc<Subagents>,
    framing: Arc<WorkFraming>,
    writes: Arc<FileWrites>,
    presence: Arc<Presence>,
    undo: Arc<Undo>,
    pub(super) folding: Arc<Folding>,
    notes: Arc<Notes>,
    forks: Arc<Forks>,
    histories: Arc<Histories>,
}

impl Conversations {
    #[expect(
        clippy::too_many_arguments,
        reason = "one for each part below it, all of different types"
    )]
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        sessions: &Arc<Sessions>,
        files: &Arc<FileStates>,
        fixing: &Arc<Fixing>,
        compaction: &Arc<Compactions>,
        subagents: &Arc<Subagents>,
        framing: &Arc<WorkFraming>,
        writes: &Arc<FileWrites>,
        presence: &Arc<Presence>,
        undo: &Arc<Undo>,
        folding: &Arc<Folding>,
        notes: &Arc<Notes>,
        forks: &Arc<Forks>,
        histories: &Arc<Histories>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            sessions: Arc::clone(sessions),
            files: Arc::clone(files),
            fixing: Arc::clone(fixing),
            compaction: Arc::clone(compaction),
            subagents: Arc::clone(subagents),
            framing: Arc::clone(framing),
            writes: Arc::clone(writes),
            presence: Arc::clone(presence),
            undo: Arc::clone(undo),
            folding: Arc::clone(folding),
            notes: Arc::clone(notes),
            forks: Arc::clone(forks),
            histories: Arc::clone(histories),
        }
    }

    /// Follows a host that is about to call its model, and returns the operations for its messages.
    pub(crate) fn sync(&self, request: SyncRequest) -> Result<SyncAnswer, EngineError> {
        self.presence.forget_purged()?;
        let answer = self.follow(request);
        // The answer may fold messages that a store which came in between does not have.
        if self.presence.forget_replaced() { Ok(SyncAnswer::All) } else { answer }
    }

    /// Carries out the stages of a request, in order. Each finds out from the snapshot of the store and from the
    /// conversation which changes are due. If any are, they are made in one transaction, which reads the snapshot again.
    ///
    /// `observe` and `fold` make several. Messages go to the recorder at once, and a note with a delegation's result
    /// must be stored whatever comes after it. A text is fixed, a fold settled and an output masked only once the
    /// messages that it stands for are on the disk, and each is computed with those before it.
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
        if has_results {
            snapshot = self.look(conversation, &observed.session, &observed.epoch)?;
        }
        self.reconcile(conversation, &observed, &mut snapshot)?;
        self.frame(conversation, &observed, &mut snapshot)?;
        let marks = NewMarks::at(conversation, &observed, &snapshot);
        let is_steady = marks.is_steady;
        self.note(conversation, &observed, &mut snapshot, marks)?;
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
        self.keep_state(conversation, session, framed)?;
        Ok((observed, snapshot))
    }

    /// Keeps the calibration and the mode of a session for other processes, where they have changed.
    fn keep_state(
        &self,
        conversation: &mut Conversation,
        session: &str,
        framed: bool,
    ) -> Result<(), EngineError> {
        let percent = conversation.calibration().percent();
        let is_calibrated = conversation.calibrated == Some(percent);
        let has_mode = conversation.framed == Some(framed);
        if is_calibrated && has_mode {
            return Ok(());
        }
        let mut events = Vec::new();
        let has_changed = self.kernel.read(|view| {
            if !is_calibrated {
                events.extend(calibrated::changed(view, session, percent)?);
            }
            let known = events.len();
            if !has_mode {
                events.extend(mode::changed(view, conversation, session, framed)?);
            }
            Ok::<_, EngineError>(events.len() > known)
        })?;
        if !events.is_empty() {
            self.kernel.write(|change| change.append(self.kernel.now(), &events))?;
        }
        conversation.calibrated = Some(percent);
        if has_changed {
            conversation.go_stale();
        }
        if !has_mode {
            conversation.steady_since = None;
            conversation.framed = Some(framed);
        }
        Ok(())
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
            && !self.notes.make_suggestion(conversation, session, settings)?
            && !self.folding.would_name_steps(conversation, settings)?)
    }

    /// Brings the session's frames in line with the host's history: a new session, a fork, a compaction, and then, with
    /// the frames that there are by now, an undo.
    fn reconcile(
        &self,
        conversation: &mut Conversation,
        observed: &Observed,
        snapshot: &mut Snapshot,
    ) -> Result<(), EngineError> {
        let session = &observed.session;
        let new = self.histories.compare(conversation, observed, snapshot)?;
        if !new.is_nothing() {
            self.change(conversation, observed, snapshot, |_, change| {
                self.histories.follow(change, observed, new)
            })?;
        }
        let undone = self.undo.compare(conversation, session, observed.may_be_undone)?;
        if !undone.is_stored() {
            let frames = self.change(conversation, observed, snapshot, |_, change| {
                self.undo.carry_out(change, &undone)
            })?;
            self.undo.hash_again(&frames)?;
        }
        if let Some(messages) = undone.messages {
            conversation.know_undone(messages);
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
        let session = &observed.session;
        if let Some(due) = self.framing.due_frames(conversation, session, &snapshot.settings)? {
            let done = self.change(conversation, observed, snapshot, |conversation, change| {
                self.framing.frame(change, conversation, session, &due)
            })?;
            conversation.framing.carried_out(done);
            self.files.give_states(conversation, session)?;
        }
        conversation.step_frame = snapshot.active();
        Ok(())
    }

    /// Stores which steps are stale, and the notes that are due at the end of the request.
    fn note(
        &self,
        conversation: &mut Conversation,
        observed: &Observed,
        snapshot: &mut Snapshot,
        marks: NewMarks,
    ) -> Result<(), EngineError> {
        let session = &observed.session;
        let events = marks.events(session);
        let notes = self.notes.due(conversation, session, snapshot)?;
        if !events.is_empty() || !notes.is_nothing() {
            self.change(conversation, observed, snapshot, |_, change| {
                change.append(self.kernel.now(), &events)?;
                self.notes.store(change, session, notes)
            })?;
        }
        conversation.stale.add(marks);
        Ok(())
    }

    /// Makes the changes of a stage in one transaction, which reads the snapshot again.
    fn change<T>(
        &self,
        conversation: &mut Conversation,
        observed: &Observed,
        snapshot: &mut Snapshot,
        write: impl FnOnce(&Conversation, &mut Change<'_>) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let Observed { session, epoch, .. } = observed;
        let (outcome, after) = self.sessions.write_and_look(conversation, session, epoch, write)?;
        *snapshot = conversation.reading(after);
        Ok(outcome)
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
        Ok(conversation.reading(snapshot))
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

impl Conversation {
    /// Takes over the setting for reasoning from a snapshot, and returns it.
    fn reading(&mut self, snapshot: Snapshot) -> Snapshot {
        if self.reasoning != snapshot.settings.reasoning {
            self.reasoning = snapshot.settings.reasoning;
            self.steady_since = None;
        }
        snapshot
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
