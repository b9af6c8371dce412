//! Masks tool outputs of unfinished work in batches: outputs that something newer replaced, and, if the context is
//! nearly full, the oldest ones, one step after this was announced.
//!
//! Outputs stay masked, whatever the setting is afterwards. The decision depends on the transcript and the store
//! alone, so that another process would decide the same.

use std::collections::{HashMap, HashSet};

use callstack_core::event::{Event, MaskedOutput};
use callstack_core::evidence::Activity;
use callstack_core::fold::{Folded, Mask, Placement};
use callstack_core::frame::FrameNum;
use callstack_core::masking::outputs::{Request, SentResult, newest_step};
use callstack_core::masking::{self, Batch, Limits, due};
use callstack_core::rendered_slot::NoteKey;
use callstack_core::returned::{OUTLINES, announced, pressed, replaced, with_log};
use callstack_core::text::estimate_tokens;
use callstack_core::transcript::{FoldOp, Message, Role, ToolCall};

use super::Conversation;
use super::stored_notes::note;
use crate::conversation::folding::Folding;
use crate::error::EngineError;
use crate::generator::READ;
use crate::recorder::PATIENCE;
use crate::settings::{Level, MaskOutputs, Settings};

impl Conversation {
    /// Whether due outputs should be determined: another batch is full, or the provider's cache has expired anyway.
    pub(super) fn may_have_due_outputs(&self, now: i64) -> bool {
        let up_to = |messages: usize| {
            let last = messages.checked_sub(1).and_then(|last| self.transcript.get(last));
            last.map_or(0, |last| last.results)
        };
        let batches = |messages| up_to(messages) / Limits::default().batch;
        let masking = &self.masking;
        batches(self.transcript.len()) > batches(masking.looked.old)
            || masking.waits
            || masking.has_paused(now)
    }

    /// The lines of shown results that settle with the next answer: the host never applied the answer with which they
    /// settled, or the message at which they did is not shown any more.
    fn unsettled_masks(&self, applied: i64) -> Vec<&Mask> {
        if self.masking.lines.is_empty() {
            return Vec::new();
        }
        let shown: HashSet<&str> = self.messages().map(|it| it.id.as_str()).collect();
        let lines = self.masking.lines.iter().zip(&self.masking.serials);
        let unsettled = lines.filter(|(mask, serial)| {
            let never_arrived = applied > 0 && **serial > applied;
            let settled = mask.settled_at.as_deref().is_some_and(|id| shown.contains(id));
            (never_arrived || !settled) && shown.contains(mask.message.as_str())
        });
        unsettled.map(|(mask, _)| mask).collect()
    }

    /// Returns how many messages at the beginning go out as they did last: those before the newest step, unless this
    /// answer has changed something before it, or after that.
    fn goes_out_again(&self, unsettled: &[&Mask]) -> usize {
        let Some(step) = newest_step(&self.transcript) else { return 0 };
        let place = |id: &str| self.messages().position(|message| message.id == id);
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

    /// Returns a request of which the provider has `cached` tokens. Its own are those before the newest message.
    fn sent_now(&self, request: &Request<'_>, cached: usize) -> masking::Request {
        let agent = |message: &&Message| message.role == Role::Assistant;
        masking::Request {
            tokens: request.up_to(self.transcript.len()),
            cached,
            calls: self.messages().filter(agent).count(),
            since_the_user: self.messages().rev().take_while(agent).count(),
            fill: self.fill(),
        }
    }

    /// Hundredths of the model's limit that its last step took, as far as the host says both.
    fn fill(&self) -> Option<usize> {
        let limit = self.limit.filter(|limit| *limit > 0)?;
        usize::try_from(self.used? * 100 / limit).ok()
    }

    /// Steps that the model has made since it was announced that outputs will leave; none where that was not
    /// announced, or they have left.
    fn steps_since_announced(&self) -> Option<usize> {
        let place = |id: &str| self.messages().position(|message| message.id == id);
        let at = place(self.leaving.as_deref()?)?;
        let settled = self.masking.lines.iter().filter_map(|mask| mask.settled_at.as_deref());
        let have_left = settled.filter_map(place).any(|settled| settled > at);
        let steps = self.messages().skip(at + 1).filter(|it| it.role == Role::Assistant);
        Some(steps.count()).filter(|steps| *steps > 0 && !have_left)
    }

    /// Where the innermost open frame begins around each message of the transcript; 0 without one.
    fn frames_around(&self) -> Vec<usize> {
        let place = |id: &str| self.messages().position(|message| message.id == id);
        let open = self.spans.iter().filter(|span| !span.detached && span.live_close().is_none());
        let begins: Vec<usize> =
            open.filter_map(|span| place(span.open.message.as_deref()?)).collect();
        let around = |at: usize| begins.iter().copied().filter(|open| *open <= at).max();
        (0..self.transcript.len()).map(|at| around(at).unwrap_or_default()).collect()
    }

    /// The last message that was there before all those of a batch. A host may show them in another order than
    /// that in which they came.
    fn in_front_of(&self, batch: &[SentResult<'_>]) -> Option<&str> {
        let place = |id: &str| self.order.get(id).copied();
        let first = batch.iter().filter_map(|result| place(result.message)).min()?;
        let earlier = self.messages().filter_map(|message| {
            let place = place(&message.id).filter(|place| *place < first);
            place.map(|place| (place, message.id.as_str()))
        });
        earlier.max().map(|(_, id)| id)
    }

    /// Returns the innermost frame whose open span begins before a message.
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

impl Folding {
    /// Whether outputs are to be masked now.
    pub(super) fn masks(settings: &Settings) -> bool {
        match settings.mask_outputs {
            MaskOutputs::On => true,
            MaskOutputs::Off => false,
            MaskOutputs::Auto => settings.autonomy.level == Level::Auto,
        }
    }

    /// Masks the outputs that are due, once all of them are on the disk; `folded` are the operations without that.
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
        let now = self.kernel.now();
        if masks && conversation.may_have_due_outputs(now) {
            let same = conversation.goes_out_again(&unsettled);
            let due = self.due(conversation, session, same, &folded.ops)?;
            conversation.masking.waits = matches!(due, Due::NotStored | Due::Announced(_));
            match due {
                Due::Lines(due) => lines.extend(due),
                Due::Announced(text) => return self.announce(conversation, session, &text),
                Due::Nothing | Due::NotStored => {}
            }
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
        self.sessions.append(conversation, session, now, &[event])?;
        Ok(conversation.fold())
    }

    /// Announces at the end of the request that outputs will leave; the operations with that.
    fn announce(
        &self,
        conversation: &mut Conversation,
        session: &str,
        text: &str,
    ) -> Result<Folded, EngineError> {
        if let Some(last) = conversation.last() {
            let placement =
                if last.role == Role::User { Placement::Append } else { Placement::Insert };
            let event = note(session, (&last.id, placement), NoteKey::Leaving, text.to_owned());
            self.sessions.append(conversation, session, self.kernel.now(), &[event])?;
        }
        Ok(conversation.fold())
    }

    /// Returns the outputs that are due. `same` messages at the beginning go out as they did last.
    fn due(
        &self,
        conversation: &Conversation,
        session: &str,
        same: usize,
        ops: &[FoldOp],
    ) -> Result<Due, EngineError> {
        let masking = &conversation.masking;
        let mut request = Request::of(&conversation.transcript, ops, conversation.weights());
        let frames = conversation.frames_around();
        request.mark_replaced(|at| frames.get(at).copied().unwrap_or_default());
        let outputs: Vec<_> = request.results.iter().map(|result| result.output).collect();
        let cached = if masking.has_paused(self.kernel.now()) { 0 } else { request.up_to(same) };
        let announced_for = conversation.steps_since_announced();
        let usual = Limits::default();
        // Outputs that were not announced stay.
        let limits = Limits { steps: usual.steps + announced_for.unwrap_or_default(), ..usual };
        let due = due(&outputs, &conversation.sent_now(&request, cached), &limits);
        let (places, are_replaced) = match due {
            None => return Ok(Due::Nothing),
            Some(Batch::Replaced(places)) => (places, true),
            Some(Batch::Pressed(places)) => (places, false),
        };
        let batch: Vec<SentResult<'_>> =
            places.iter().map(|place| request.results[*place]).collect();
        if !self.sessions.recorder()?.flush(conversation.ticket, PATIENCE) {
            return Ok(Due::NotStored);
        }
        let calls = self.calls_of_batch(conversation, session, &batch)?;
        let calls: Vec<Option<&ToolCall>> =
            batch.iter().map(|result| calls.get(&(result.message, result.part))).collect();
        if !are_replaced && announced_for.is_none() {
            let tokens = batch.iter().map(|result| result.output.tokens);
            let leaving: Vec<(Option<&ToolCall>, usize)> = calls.into_iter().zip(tokens).collect();
            let fill = conversation.fill().unwrap_or_default();
            return Ok(Due::Announced(announced(fill, &leaving)));
        }
        let mut room = OUTLINES;
        let mut lines: Vec<MaskedOutput> = Vec::with_capacity(batch.len());
        for (result, call) in batch.iter().zip(calls) {
            let tokens = result.output.tokens;
            let text = if result.output.is_replaced {
                replaced(tokens, call)
            } else {
                let text = pressed(tokens, call, room);
                room = room.saturating_sub(estimate_tokens(&text));
                text
            };
            let (message, part) = (result.message.to_owned(), result.part.to_owned());
            lines.push(MaskedOutput { message, part, text });
        }
        let frame = batch.first().and_then(|first| conversation.frame_around(first.message));
        if let (Some(frame), Some(last)) = (frame, lines.last_mut()) {
            last.text = with_log(&last.text, frame, self.kernel.dialect());
        }
        Ok(Due::Lines(lines))
    }

    /// The calls whose outputs are in a batch, by message and part, as far as they can be read.
    fn calls_of_batch<'b>(
        &self,
        conversation: &Conversation,
        session: &str,
        batch: &[SentResult<'b>],
    ) -> Result<HashMap<(&'b str, &'b str), ToolCall>, EngineError> {
        let Some(reader) = self.span_reader.reader.get() else { return Ok(HashMap::new()) };
        let in_front = conversation.in_front_of(batch);
        let messages =
            self.kernel.read(|view| view.latest_between(session, in_front, None, READ))?;
        let wanted: HashSet<&str> = batch.iter().map(|result| result.message).collect();
        let mut calls = HashMap::new();
        for message in messages.iter().filter(|message| wanted.contains(message.id.as_str())) {
            for (part, activity) in reader(&message.json, self.kernel.project()) {
                let of_part = |it: &&SentResult<'_>| it.message == message.id && it.part == part;
                if let (Activity::Called(call), Some(result)) =
                    (activity, batch.iter().find(of_part))
                {
                    calls.insert((result.message, result.part), *call);
                }
            }
        }
        Ok(calls)
    }
}

/// The decision about outputs at a call of the model.
enum Due {
    /// Nothing is due, or worth it.
    Nothing,
    /// Something is, but is not all on the disk yet.
    NotStored,
    /// The text that announces it.
    Announced(String),
    /// The lines that replace them from now on.
    Lines(Vec<MaskedOutput>),
}
