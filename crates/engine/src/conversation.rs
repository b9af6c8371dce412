//! A session as its host goes on with it: what is new is stored, what was undone is followed, what is
//! finished is folded.

pub(crate) mod broken;
pub(crate) mod calibration;
mod children;
mod folding;
mod fork;
mod framing;
#[cfg(test)]
mod history_tests;
mod masking;
pub(crate) mod mode;
mod notes;
pub(crate) mod past;
mod results;
mod stale;
mod undo;
mod watch;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use callstack_core::autonomy::Seen;
pub use callstack_core::fact::Fact;
use callstack_core::fold::{Input, Note, ReasoningPolicy, fold};
use callstack_core::frame::FrameNum;
use callstack_core::framing::identity_of;
use callstack_core::subagent::Trouble;
use callstack_core::transcript::{Anchor, FoldOp, Message, Role, Span, Standing};
use callstack_store::{MessageBody, StoreError, StoredErrand};

use crate::compaction::{Came, Summary};
use crate::engine::{Engine, lock};
use crate::error::EngineError;
use crate::recorder::{Recorder, Ticket};
use calibration::Calibration;
use folding::{PATIENCE, live};
use framing::Framing;
use masking::Masking;
use stale::Stale;
use watch::Watch;

/// A message as a host shows it, decoded.
#[derive(Clone, Debug)]
pub struct Shown {
    /// What folding needs of it.
    pub message: Message,
    /// The host's own JSON, which is what is kept.
    pub json: String,
    /// What the machine can tell of its tool calls.
    pub facts: Vec<Fact>,
    /// Calls of ours with which frames began: the call's id and the frame's id, as the call's result
    /// names it.
    pub opened: Vec<(String, String)>,
    /// Calls that had another session work for them.
    pub tasks: Vec<ReturnedTask>,
    /// Tokens that the model's context took at this step, as its provider reports.
    pub tokens: Option<u64>,
    /// Estimated tokens of what its author wrote: at an assistant's message its texts, reasoning and
    /// calls.
    pub said: usize,
    /// Estimated tokens that it adds for the next step to read: the user's texts, the results of calls.
    pub heard: usize,
    /// Estimated tokens of the results of its calls that may leave the context while the work goes on, by
    /// the part's id; each is counted in `heard`.
    pub results: Vec<(String, usize)>,
    /// The words of its author: of a user message what the user wrote, of a step its last text.
    pub words: String,
    /// What a compaction made, if the message is that and its making went well.
    pub summary: Option<String>,
}

impl Shown {
    /// A message of which nothing is told but what folding needs, and what is kept of it.
    pub fn of(message: Message, json: String) -> Self {
        Self {
            message,
            json,
            facts: Vec::new(),
            opened: Vec::new(),
            tasks: Vec::new(),
            tokens: None,
            said: 0,
            heard: 0,
            results: Vec::new(),
            words: String::new(),
            summary: None,
        }
    }
}

/// A call that had another session work for it has come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnedTask {
    /// The other session.
    pub session: String,
    /// What the call returned, or why it has nothing to return.
    pub outcome: Result<String, Trouble>,
}

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
    /// The messages behind these.
    pub shown: Vec<Shown>,
    /// How many operations the host holds.
    pub ops: usize,
    /// The serial of the answer that the host's last call went out with: 0 if it made none yet, -1 if
    /// it went out with none.
    pub applied: i64,
}

/// What the host is to do to its messages.
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
        /// The operations behind these.
        ops: Vec<FoldOp>,
    },
}

/// What is known of a session in this process. All of it can be had again from the host and the store.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    transcript: Vec<Message>,
    facts: Vec<Vec<Fact>>,
    /// What the heuristics need of each message.
    seen: Vec<Seen>,
    watch: Watch,
    /// The place of each message that was ever seen, by first appearance.
    order: HashMap<String, u64>,
    /// Whether `order` holds what the store knows.
    loaded: bool,
    ticket: Ticket,
    serial: i64,
    sent: Vec<FoldOp>,
    spans: Vec<Span>,
    notes: Vec<Note>,
    /// What the session has had others do.
    errands: Vec<StoredErrand>,
    stale: Stale,
    revision: i64,
    /// The serial of the last answer that settled a fold, if nothing was left open with the last
    /// answer: then the model's next steps alone change no operation.
    steady_since: Option<i64>,
    /// The frame that was active when the current step began: what the step does is its work, also
    /// where a push stands in the same step.
    pub(crate) step_frame: Option<FrameNum>,
    /// Tokens that the model takes at most.
    pub(crate) limit: Option<u64>,
    /// Tokens that the last step took.
    pub(crate) used: Option<u64>,
    /// The last text of the newest step.
    pub(crate) closing: Option<String>,
    /// Whether it is a child session that has no frame yet; none while nobody has looked.
    frameless: Option<bool>,
    /// The calibration as it was behind each message of the transcript: it starts anew with a compaction,
    /// and is the same in every process that is shown the same.
    calibration: Vec<Calibration>,
    /// What the store has of it.
    calibrated: Option<f64>,
    /// `STACK_FRAME_MODE` at the last call that this process saw.
    framed: Option<bool>,
    /// `STACK_FOLD_REASONING`, as it counted at the last call.
    reasoning: ReasoningPolicy,
    framing: Framing,
    /// Of a recorded session that is taken over, the folder that was worked in.
    past: Option<PathBuf>,
    masking: Masking,
}

impl Conversation {
    /// Whether it is a recorded session that is taken over.
    fn is_past(&self) -> bool {
        self.past.is_some()
    }

    /// The folder that is worked in.
    pub(crate) fn folder<'a>(&'a self, engine: &'a Engine) -> &'a Path {
        self.past.as_deref().unwrap_or(engine.project())
    }

    /// What the machine can tell of the messages behind the one at which a stretch begins, up to the one
    /// at which it ends.
    fn facts_between<'a>(
        &'a self,
        open: &Anchor,
        close: Option<&Anchor>,
    ) -> impl Iterator<Item = &'a Fact> + use<'a> {
        let at = |anchor: &Anchor| {
            let id = anchor.message.as_deref();
            self.transcript.iter().rposition(|message| Some(message.id.as_str()) == id)
        };
        let from = at(open).map_or(0, |open| open + 1);
        let end = close.and_then(at).map_or(self.facts.len(), |close| close + 1);
        self.facts.iter().take(end).skip(from).flatten()
    }

    /// Which context the system prompt belongs to: a new one begins with every compaction.
    pub(crate) fn epoch(&self) -> &str {
        self.transcript
            .iter()
            .rfind(|message| message.standing == Standing::Summary)
            .map_or("start", |message| &message.id)
    }

    /// The messages as the host last showed them.
    pub(crate) fn shown(&self) -> &[Message] {
        &self.transcript
    }

    pub(crate) fn last(&self) -> Option<&Message> {
        self.transcript.last()
    }

    /// Waits a little until what was seen so far is on the disk.
    pub(crate) fn written(&self, recorder: &Recorder) -> bool {
        recorder.flush(self.ticket, PATIENCE)
    }

    /// By what the recorder knows what was seen so far.
    pub(crate) fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Takes note that a call of the model was followed to its end.
    fn looked(&mut self, now: i64) {
        self.masking.looked(now, self.order.len() as u64);
    }

    /// Takes over what the host shows; returns the bodies to be stored.
    fn take(&mut self, keep: usize, shown: Vec<Shown>) -> Vec<MessageBody> {
        self.transcript.truncate(keep);
        self.facts.truncate(keep);
        self.seen.truncate(keep);
        self.calibration.truncate(keep);
        self.watch.keep(keep);
        self.framing.truncate(keep);
        self.masking.truncate(keep);
        let mut bodies = Vec::with_capacity(shown.len());
        for mut shown in shown {
            self.framing.show(&mut shown);
            let next = self.order.len() as u64;
            let place = *self.order.entry(shown.message.id.clone()).or_insert(next);
            self.masking.show(&mut shown, place);
            self.calibration.push(self.calibration().after(&shown));
            self.seen.push(watch::seen(&shown));
            bodies.push(MessageBody { id: shown.message.id.clone(), json: shown.json });
            if shown.message.role == Role::Assistant && shown.summary.is_none() {
                self.closing = Some(shown.words).filter(|words| !words.is_empty());
                self.used = shown.tokens.or(self.used);
            }
            self.transcript.push(shown.message);
            self.facts.push(shown.facts);
        }
        bodies
    }
}

impl Engine {
    /// Follows a host that is about to call its model, and answers what it should send.
    pub fn sync(&self, request: SyncRequest) -> Result<SyncAnswer, EngineError> {
        let session = request.session.clone();
        self.tasks_returned(&request)?;
        let conversation = self.conversation(&session);
        let mut conversation = lock(&conversation);
        let settings = self.current_settings()?;
        if conversation.reasoning != settings.reasoning {
            conversation.reasoning = settings.reasoning;
            conversation.steady_since = None;
        }
        if request.compacting {
            return self.fold_for_compaction(&mut conversation, request, settings.frame_mode);
        }
        if request.keep > conversation.transcript.len() || request.ops > conversation.sent.len() {
            return Ok(SyncAnswer::All);
        }
        self.load(&mut conversation, &session)?;
        let known_revision = conversation.revision;
        self.frame_if_deserved(&mut conversation, &request)?;
        self.load_spans(&mut conversation, &session)?;
        let opened: Vec<_> = request.shown.iter().flat_map(|it| it.opened.clone()).collect();
        let forked = fork::is_fork(&conversation, &opened);
        let first_words = request
            .shown
            .iter()
            .find(|it| it.message.role == Role::User && !it.words.is_empty())
            .map(|it| it.words.clone());
        let unwitnessed =
            if forked { Vec::new() } else { stale::unwitnessed(&conversation, &request) };
        let only_steps = known_revision == conversation.revision
            && conversation.framed == Some(settings.frame_mode)
            && request.keep == conversation.transcript.len()
            && request.shown.iter().all(|shown| stale::is_step(&shown.message))
            && unwitnessed.is_empty()
            && conversation.steady_since.is_some_and(|since| request.applied >= since.max(1));
        let from_before = !forked && begins_with_steps(&conversation, &request);
        let summary = newest_summary(&request.shown);
        self.broken(&session, |broken| broken.failure = None)?;
        let bodies = conversation.take(request.keep, request.shown);
        conversation.ticket = self.recorder()?.record(self.now(), &session, bodies);
        self.keep_calibration(&mut conversation, &session)?;
        self.follow_mode(&mut conversation, &session, settings.frame_mode)?;
        if !settings.frame_mode {
            return Ok(self.unframed(&mut conversation, request.ops));
        }
        let told = self.tell_results(&mut conversation, &session)?;
        let masks = Self::masks(&settings);
        if only_steps
            && !told
            && (!masks || !conversation.masking.is_worth_a_look(self.now()))
            && !conversation.weighs_again(self.now())
            && !self.follow_work(&mut conversation, &session)?
            && !self.make_notes(&mut conversation, &session)?
        {
            return Ok(self.same_as_before(&mut conversation, request.ops));
        }
        // A root that was popped stays popped until the user speaks again, which the host tells apart.
        let may_begin = conversation.frameless != Some(true);
        if let Some(words) =
            first_words.filter(|_| may_begin && self.session_root(&session).is_err())
        {
            let start = Anchor { message: None, call: None };
            self.ensure_root(&session, &request.host, identity_of(&words), start)?;
        }
        if from_before {
            self.forget_goal(&session)?;
        }
        if forked {
            self.fork(&conversation, &session, &opened)?;
        }
        if let Some(summary) = &summary {
            self.settle(&session, Came::Summary(summary), None)?;
        }
        self.load_spans(&mut conversation, &session)?;
        if self.follow_undo(&conversation, &session)? {
            self.load_spans(&mut conversation, &session)?;
        }
        if self.frame_work(&mut conversation, &session)? {
            self.load_spans(&mut conversation, &session)?;
        }
        let steady = self.mark_stale(&mut conversation, &session, unwitnessed)?;
        conversation.step_frame = self.active(&session)?;
        self.tell_compactions(&mut conversation, &session)?;
        self.make_notes(&mut conversation, &session)?;
        conversation.serial = self.now().max(conversation.serial + 1);
        let folded = self.folded(&mut conversation, &session, request.applied)?;
        let folded = self.masked(&mut conversation, &session, (request.applied, masks), folded)?;
        conversation.looked(self.now());
        let settled = conversation.spans.iter().filter_map(|span| span.fold.as_ref());
        let settled = settled.filter_map(|fold| fold.settled_serial).max().unwrap_or(0);
        let settled = settled.max(conversation.masking.settled());
        conversation.steady_since = Some(settled).filter(|_| steady && folded.unsettled.is_empty());
        let keep = common(&conversation.sent, &folded.ops).min(request.ops);
        let answer =
            SyncAnswer::Ops { serial: conversation.serial, keep, ops: folded.ops[keep..].to_vec() };
        conversation.sent = folded.ops;
        Ok(answer)
    }

    /// The answer where only the model's own steps have been added, which fold nothing by themselves:
    /// nothing is computed again, however long the session is.
    fn same_as_before(&self, conversation: &mut Conversation, held: usize) -> SyncAnswer {
        debug_assert_eq!(
            conversation.fold(&live(&conversation.spans)).ops,
            conversation.sent,
            "steps alone have changed an operation"
        );
        let now = self.now();
        conversation.looked(now);
        conversation.serial = now.max(conversation.serial + 1);
        let keep = held.min(conversation.sent.len());
        SyncAnswer::Ops {
            serial: conversation.serial,
            keep,
            ops: conversation.sent[keep..].to_vec(),
        }
    }

    /// Stores messages that no later call may show soon, such as the closing reply of a turn.
    pub fn record(&self, session: &str, mut shown: Vec<Shown>) -> Result<(), EngineError> {
        let conversation = self.conversation(session);
        let mut conversation = lock(&conversation);
        let summary = newest_summary(&shown);
        if let Some(last) = shown.last()
            && last.message.role == Role::Assistant
            && last.summary.is_none()
        {
            conversation.closing = Some(last.words.clone()).filter(|words| !words.is_empty());
            conversation.used = last.tokens.or(conversation.used);
        }
        conversation.masking.called(self.now());
        for shown in &mut shown {
            conversation.framing.record(shown);
        }
        let bodies =
            shown.into_iter().map(|it| MessageBody { id: it.message.id, json: it.json }).collect();
        conversation.ticket = self.recorder()?.record(self.now(), session, bodies);
        if let Some(summary) = &summary {
            self.settle(session, Came::Summary(summary), None)?;
        }
        self.frame_late_message(&mut conversation, session)
    }

    /// Why messages can't be stored just now, if they can't.
    pub fn recording_failure(&self) -> Option<EngineError> {
        self.recorder().map_or_else(Some, Recorder::failure)
    }

    fn load(&self, conversation: &mut Conversation, session: &str) -> Result<(), EngineError> {
        if conversation.loaded {
            return Ok(());
        }
        let order = self.store.read(|view| {
            let order = view.message_order(session)?;
            conversation.masking.load(view, session, order.len() as u64)?;
            Ok::<_, StoreError>(order)
        })?;
        conversation.order = order.into_iter().zip(0..).collect();
        conversation.loaded = true;
        Ok(())
    }

    fn load_spans(
        &self,
        conversation: &mut Conversation,
        session: &str,
    ) -> Result<(), EngineError> {
        self.store.read(|view| {
            let revision = view.session_revision(session)?;
            if revision != conversation.revision {
                conversation.spans = view.session_spans(session)?;
                conversation.notes = notes::kept(view, session)?;
                conversation.masking.know(view.session_masks(session)?);
                conversation.errands = view.errands_of(session)?;
                conversation.stale = Stale::kept(view, session)?;
                conversation.revision = revision;
            }
            Ok(())
        })
    }

    /// A compaction's request is folded for its reader, the summariser, and remembered nowhere.
    fn fold_for_compaction(
        &self,
        conversation: &mut Conversation,
        request: SyncRequest,
        framed: bool,
    ) -> Result<SyncAnswer, EngineError> {
        self.load(conversation, &request.session)?;
        self.load_spans(conversation, &request.session)?;
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
        conversation.ticket = self.recorder()?.record(self.now(), &request.session, unknown);
        let transcript: Vec<_> = request.shown.into_iter().map(|shown| shown.message).collect();
        let spans = live(&conversation.spans);
        self.note_results(conversation, &transcript)?;
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

/// The newest summary among messages: a host that keeps what was said last word for word puts it
/// behind the summary.
fn newest_summary(shown: &[Shown]) -> Option<Summary> {
    shown.iter().rev().find_map(|it| {
        let text = it.summary.clone()?;
        Some(Summary { message: it.message.id.clone(), text })
    })
}

/// Whether a session that was never seen shows what its agent did in an earlier turn.
fn begins_with_steps(conversation: &Conversation, request: &SyncRequest) -> bool {
    let newest = request.shown.iter().rposition(|it| it.message.role == Role::User);
    let earlier = request.shown.iter().take(newest.unwrap_or(0));
    conversation.order.is_empty() && earlier.map(|it| &it.message).any(stale::is_step)
}

fn common(held: &[FoldOp], new: &[FoldOp]) -> usize {
    held.iter().zip(new).take_while(|(held, new)| held == new).count()
}
