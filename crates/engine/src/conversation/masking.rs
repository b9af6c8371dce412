//! Older outputs of work that goes on leave the requests in batches: rarely, and only where it pays.
//!
//! What is masked once stays so, whatever the setting is afterwards. What is due depends on the transcript
//! and the store alone, so that another process would decide the same.

use std::collections::HashSet;

use callstack_core::cost::PAUSE;
use callstack_core::event::{Event, MaskedOutput};
use callstack_core::evidence::{Budget, Happening, span_tokens, take};
use callstack_core::fold::{Folded, Mask};
use callstack_core::frame::FrameNum;
use callstack_core::masking::outputs::{Request, SentResult, Weight, newest_step};
use callstack_core::masking::{self, Limits, due};
use callstack_core::returned::{masked, masked_in};
use callstack_core::transcript::{FoldOp, Message, Role};
use callstack_store::{StoreError, StoredMask, View};

use super::folding::{PATIENCE, live};
use super::{Conversation, Shown};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::generator::READ;
use crate::settings::{Level, MaskOutputs, Settings};

/// What masking knows of a session in this process.
#[derive(Debug, Default)]
pub(super) struct Masking {
    weights: Vec<Weight>,
    /// Tokens of all results up to and including each message.
    heavy: Vec<usize>,
    /// How many messages at the beginning were there when it was looked last what is due.
    old: usize,
    /// How many messages the session had shown by then, by first appearance. A call that failed is no look:
    /// what it had shown comes again with the next one.
    looked_at: u64,
    /// Whether something was due that was not on the disk yet.
    waits: bool,
    /// When the host called its model last.
    called_at: Option<i64>,
    lines: Vec<Mask>,
    /// For each line the serial of the answer with which it was first sent.
    serials: Vec<i64>,
}

impl Masking {
    pub(super) fn truncate(&mut self, keep: usize) {
        self.weights.truncate(keep);
        self.heavy.truncate(keep);
        self.old = self.old.min(keep);
    }

    /// Takes over a message; `place` is where it stands by first appearance.
    pub(super) fn show(&mut self, shown: &mut Shown, place: u64) {
        let results = std::mem::take(&mut shown.results);
        let before = self.heavy.last().copied().unwrap_or_default();
        self.heavy.push(before + results.iter().map(|(_, tokens)| tokens).sum::<usize>());
        if place < self.looked_at && self.old == self.weights.len() {
            self.old += 1;
        }
        self.weights.push(Weight { all: shown.said + shown.heard, results });
    }

    pub(super) fn know(&mut self, stored: Vec<StoredMask>) {
        let stored = stored.into_iter().map(|it| (it.mask, it.settled_serial));
        (self.lines, self.serials) = stored.unzip();
    }

    pub(super) fn lines(&self) -> &[Mask] {
        &self.lines
    }

    /// The serial of the last answer with which lines were first sent.
    pub(super) fn settled(&self) -> i64 {
        self.serials.iter().copied().max().unwrap_or_default()
    }

    /// What each message of the transcript weighs.
    pub(super) fn weights(&self) -> &[Weight] {
        &self.weights
    }

    /// Whether the provider has forgotten what was sent last.
    pub(super) fn has_paused(&self, now: i64) -> bool {
        self.called_at.is_none_or(|before| now - before > PAUSE)
    }

    /// Whether it is worth while to look what is due: another batch is full, or the provider has forgotten
    /// the request anyway.
    pub(super) fn is_worth_a_look(&self, now: i64) -> bool {
        let up_to = |messages: usize| {
            messages
                .checked_sub(1)
                .and_then(|last| self.heavy.get(last))
                .copied()
                .unwrap_or_default()
        };
        let batches = |messages| up_to(messages) / Limits::default().batch;
        batches(self.heavy.len()) > batches(self.old) || self.waits || self.has_paused(now)
    }

    /// Takes note of a call of the model, or of the end of one.
    pub(super) fn called(&mut self, now: i64) {
        self.called_at = Some(now);
    }

    /// Takes note that a call of the model was followed to its end; `known` messages were shown so far.
    pub(super) fn looked(&mut self, now: i64, known: u64) {
        self.called(now);
        self.old = self.weights.len();
        self.looked_at = known;
    }

    /// Takes over a session that shows `known` messages: other processes have followed them.
    pub(super) fn load(
        &mut self,
        view: &View<'_>,
        session: &str,
        known: u64,
    ) -> Result<(), StoreError> {
        self.called_at = view.last_recorded(session)?;
        self.looked_at = known;
        Ok(())
    }
}

impl Conversation {
    /// The lines whose first request never went out, or whose place in the transcript was taken back.
    fn unsettled_masks(&self, applied: i64) -> Vec<&Mask> {
        if self.masking.lines.is_empty() {
            return Vec::new();
        }
        let shown: HashSet<&str> = self.transcript.iter().map(|it| it.id.as_str()).collect();
        let lines = self.masking.lines.iter().zip(&self.masking.serials);
        let unsettled = lines.filter(|(mask, serial)| {
            let never_arrived = applied > 0 && **serial > applied;
            let settled = mask.settled_at.as_deref().is_some_and(|id| shown.contains(id));
            (never_arrived || !settled) && shown.contains(mask.message.as_str())
        });
        unsettled.map(|(mask, _)| mask).collect()
    }

    /// How many messages at the beginning go out as they did last, for all that is known: those in front of
    /// the newest step, unless what stands in front of it, or behind that, has changed with this answer.
    fn goes_out_again(&self, unsettled: &[&Mask]) -> usize {
        let Some(step) = newest_step(&self.transcript) else { return 0 };
        let place = |id: &str| self.transcript.iter().position(|message| message.id == id);
        if self.stale_until().and_then(place).is_some_and(|stale| stale >= step) {
            return 0;
        }
        let folded = self.spans.iter().filter(|span| {
            let serial = span.fold.as_ref().and_then(|fold| fold.settled_serial);
            !span.detached && serial == Some(self.serial)
        });
        let folded = folded.map(|span| span.open.message.as_deref().and_then(place).unwrap_or(0));
        let masks = unsettled.iter().filter_map(|mask| place(&mask.message));
        folded.chain(masks).chain([step]).min().unwrap_or_default()
    }

    /// A request of which the provider has `cached` tokens. Its own are those in front of the newest message.
    fn sent_now(&self, request: &Request<'_>, cached: usize) -> masking::Request {
        let agent = |message: &&Message| message.role == Role::Assistant;
        masking::Request {
            tokens: request.up_to(self.transcript.len()),
            cached,
            calls: self.transcript.iter().filter(agent).count(),
            since_the_user: self.transcript.iter().rev().take_while(agent).count(),
        }
    }

    /// The last message that was there before all those of a batch. A host may show them in another order than
    /// that in which they came.
    fn in_front_of(&self, batch: &[SentResult<'_>]) -> Option<&str> {
        let place = |id: &str| self.order.get(id).copied();
        let first = batch.iter().filter_map(|result| place(result.message)).min()?;
        let earlier = self.transcript.iter().filter_map(|message| {
            let place = place(&message.id).filter(|place| *place < first);
            place.map(|place| (place, message.id.as_str()))
        });
        earlier.max().map(|(_, id)| id)
    }

    /// The innermost frame whose open span begins in front of a message.
    fn frame_around(&self, message: &str) -> Option<FrameNum> {
        let place = |id: &str| self.order.get(id).copied();
        let at = place(message)?;
        let around = self.spans.iter().filter(|span| {
            let begins = span.open.message.as_deref().map_or(Some(0), place);
            !span.detached && span.live_close().is_none() && begins.is_some_and(|it| it <= at)
        });
        around.max_by_key(|span| span.num).map(|span| span.frame)
    }
}

impl Engine {
    /// Whether outputs are to be masked now.
    pub(super) fn masks(settings: &Settings) -> bool {
        match settings.mask_outputs {
            MaskOutputs::On => true,
            MaskOutputs::Off => false,
            MaskOutputs::Auto => settings.autonomy.level == Level::Auto,
        }
    }

    /// Masks what is due, once all of it is on the disk; `folded` are the operations without that.
    pub(super) fn masked(
        &self,
        conversation: &mut Conversation,
        session: &str,
        (applied, masks): (i64, bool),
        folded: Folded,
    ) -> Result<Folded, EngineError> {
        let Some(last) = conversation.last().map(|message| message.id.clone()) else {
            return Ok(folded);
        };
        let unsettled = conversation.unsettled_masks(applied);
        let again = unsettled.iter().map(|mask| MaskedOutput {
            message: mask.message.clone(),
            part: mask.part.clone(),
            text: mask.text.clone(),
        });
        let mut lines: Vec<MaskedOutput> = again.collect();
        let now = self.now();
        if masks && conversation.masking.is_worth_a_look(now) {
            let same = conversation.goes_out_again(&unsettled);
            let due = self.due(conversation, session, same, &folded.ops)?;
            conversation.masking.waits = due.is_none();
            lines.extend(due.into_iter().flatten());
        }
        if lines.is_empty() {
            return Ok(folded);
        }
        let event = Event::OutputsMasked {
            session: session.to_owned(),
            masks: lines,
            settled_at: last,
            settled_serial: conversation.serial,
        };
        self.store.write(|change| change.append(now, &[event]))?;
        self.load_spans(conversation, session)?;
        Ok(conversation.fold(&live(&conversation.spans)))
    }

    /// The lines that are due; none if that can't be said now. `same` messages at the beginning go out as
    /// they did last.
    fn due(
        &self,
        conversation: &Conversation,
        session: &str,
        same: usize,
        ops: &[FoldOp],
    ) -> Result<Option<Vec<MaskedOutput>>, EngineError> {
        let masking = &conversation.masking;
        let request = Request::of(&conversation.transcript, ops, &masking.weights);
        let outputs: Vec<_> = request.results.iter().map(|result| result.output).collect();
        let cached = if masking.has_paused(self.now()) { 0 } else { request.up_to(same) };
        let due = due(&outputs, &conversation.sent_now(&request, cached), &Limits::default());
        let batch: Vec<SentResult<'_>> = due.iter().map(|place| request.results[*place]).collect();
        let (Some(first), Some((last, others))) = (batch.first(), batch.split_last()) else {
            return Ok(Some(Vec::new()));
        };
        if !self.recorder()?.flush(conversation.ticket, PATIENCE) {
            return Ok(None);
        }
        let evidence = self.evidence_of_batch(conversation, session, (&request, ops), &batch)?;
        let line = |result: &SentResult<'_>, text: String| MaskedOutput {
            message: result.message.to_owned(),
            part: result.part.to_owned(),
            text,
        };
        let short = |result| line(result, masked(result.output.tokens, &[]));
        let mut lines: Vec<MaskedOutput> = others.iter().map(short).collect();
        let tokens = last.output.tokens;
        lines.push(line(
            last,
            match conversation.frame_around(first.message) {
                Some(frame) => masked_in(frame, self.dialect(), tokens, &evidence),
                None => masked(tokens, &evidence),
            },
        ));
        Ok(Some(lines))
    }

    /// What the machine tells of a batch beyond what the request still says. Nothing in front of the batch is read
    /// for it: of that, the words are at hand, and the inputs of calls that were made earlier do not count.
    fn evidence_of_batch(
        &self,
        conversation: &Conversation,
        session: &str,
        (request, ops): (&Request<'_>, &[FoldOp]),
        batch: &[SentResult<'_>],
    ) -> Result<Vec<String>, EngineError> {
        let Some(reader) = self.reader.get() else { return Ok(Vec::new()) };
        let in_front = conversation.in_front_of(batch);
        let messages =
            self.store.read(|view| view.latest_between(session, in_front, None, READ))?;
        let places = conversation.transcript.iter().zip(&request.cut);
        let sent: HashSet<&str> =
            places.filter(|(_, cut)| !**cut).map(|(message, _)| message.id.as_str()).collect();
        let mut told: Vec<String> = conversation.framing.words().map(str::to_owned).collect();
        told.extend(ops.iter().filter_map(text_of).map(str::to_owned));
        let mut gone = Vec::new();
        for message in messages.iter().filter(|message| sent.contains(message.id.as_str())) {
            for (part, happening) in reader(&message.json, self.project()) {
                let masked = |it: &SentResult<'_>| it.message == message.id && it.part == part;
                match &happening {
                    Happening::Said(text) => told.push(text.clone()),
                    Happening::Called(call) => told.push(call.input.clone()),
                    Happening::Thought(_) => {}
                }
                if batch.iter().any(masked) {
                    gone.push(happening);
                }
            }
        }
        let room = Budget::MASKED.of(span_tokens(&gone));
        let project = self.project().to_string_lossy();
        Ok(take(&gone, &told.join("\n"), &project, room).lines())
    }
}

fn text_of(op: &FoldOp) -> Option<&str> {
    match op {
        FoldOp::Output { text, .. }
        | FoldOp::Replace { text, .. }
        | FoldOp::Append { text, .. }
        | FoldOp::Insert { text, .. } => Some(text),
        FoldOp::Cut { .. } | FoldOp::Keep { .. } => None,
    }
}
