//! The copies of messages that callstack itself made: names of frames that are the user's words, results that nobody
//! gave, and the texts that repeat both. They go with the messages, and the tables are derived from the changed
//! events.

use std::collections::{BTreeMap, BTreeSet};

use callstack_core::event::Event;
use callstack_core::frame::{Frame, FrameNum, Identity};
use callstack_core::rendered_slot::RenderedText;
use callstack_core::results::ResultsSource;
use callstack_core::subagent;
use callstack_core::transcript::{Fold, Outcome, Span, SpanNum, SpanOrigin};
use rusqlite::params;
use serde_json::Value;

use crate::change::Change;
use crate::error::StoreError;
use crate::frames::frame_num;
use crate::places::{MessageRange, STRETCHES};
use crate::project::signed;
use crate::store::View;
use crate::unreadable::{bytes_of, event_of};

use super::repeats::Repeats;
use super::retries::forget_tries;
use super::scope::Reach;

/// The replacement of a text that was removed for good.
pub const REMOVED: &str = "[purged]";

/// Events that are read at a time.
const AT_ONCE: i64 = 512;

/// The frames that lose copies of the messages that go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// Their title and criteria.
    pub identities: BTreeSet<FrameNum>,
    /// Their results.
    pub results: BTreeSet<FrameNum>,
}

/// The content that goes.
pub(super) struct Going<'a> {
    /// The frames whose messages go.
    pub frames: BTreeSet<FrameNum>,
    pub ranges: &'a [MessageRange],
    /// The messages, by their sessions.
    pub messages: &'a BTreeMap<String, BTreeSet<String>>,
}

impl View<'_> {
    /// Returns the copies that were made of the messages of `frames`, and of others in these ranges.
    pub fn copies(
        &self,
        frames: &BTreeSet<FrameNum>,
        ranges: &[MessageRange],
    ) -> Result<Copies, StoreError> {
        let mut copies = Copies::default();
        for num in frames {
            let frame = self.frame(*num)?;
            if self.is_named_by_messages(&frame)? && frame.identity.title != REMOVED {
                copies.identities.insert(*num);
            }
        }
        let standing: BTreeSet<_> = self.standing_in(ranges)?.into_values().collect();
        for num in frames.union(&standing) {
            let frame = self.frame(*num)?;
            if goes(frame.results_source, frames.contains(num)) && !is_removed(&frame) {
                copies.results.insert(*num);
            }
        }
        self.follow_identities(&mut copies.identities)?;
        // The text for several frames contains each of them, and may itself be one of several.
        let mut left: Vec<_> = copies.identities.union(&copies.results).copied().collect();
        while let Some(num) = left.pop() {
            let sum = self.frame(num)?.consolidated.map(|into| self.frame(into)).transpose()?;
            let sum = sum.filter(|it| it.results_source == Some(ResultsSource::Children));
            if let Some(sum) = sum.filter(|it| !is_removed(it))
                && copies.results.insert(sum.num)
            {
                left.push(sum.num);
            }
        }
        Ok(copies)
    }

    /// Whether title and criteria are words from messages, which nobody chose for the frame.
    fn is_named_by_messages(&self, frame: &Frame) -> Result<bool, StoreError> {
        let is_todo = |span: &Span| span.origin == SpanOrigin::Todo;
        Ok(frame.identity_derived || self.frame_spans(frame.num)?.iter().any(is_todo))
    }

    /// The spans in which messages of some ranges stand, with their frames. The step that opened a span
    /// may hold calls of it.
    pub(crate) fn standing_in(
        &self,
        ranges: &[MessageRange],
    ) -> Result<BTreeMap<SpanNum, FrameNum>, StoreError> {
        let mut spans = BTreeMap::new();
        for range in ranges {
            let place = params![range.session, signed(range.first), signed(range.last)];
            let found: Vec<(i64, i64)> = self
                .connection
                .prepare_cached(&format!(
                    "SELECT num, frame FROM ({STRETCHES} WHERE session = ?1)
                     WHERE (first < ?3 AND last > ?2)
                       OR (takes_calls AND ?2 < first AND first <= ?3)"
                ))
                .and_then(|mut statement| {
                    statement.query_map(place, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
                })
                .map_err(|source| self.failed(source))?;
            let found = found.into_iter();
            spans.extend(found.map(|(num, it)| (SpanNum(num.unsigned_abs()), frame_num(it))));
        }
        Ok(spans)
    }

    /// Changes events for good, where `change` returns that it did. Nothing but a purge ever changes one.
    fn rewrite_all(&self, change: &mut dyn FnMut(&mut Event) -> bool) -> Result<(), StoreError> {
        let mut after = 0;
        loop {
            let events: Vec<(i64, Vec<u8>)> = self
                .connection
                .prepare_cached(
                    "SELECT seq, body FROM events
                     WHERE seq > ?1 AND body NOT GLOB '{\"kind\":\"messages_recorded\"*'
                     ORDER BY seq LIMIT ?2",
                )
                .and_then(|mut statement| {
                    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, bytes_of(row, 1)?));
                    statement.query_map([after, AT_ONCE], row)?.collect()
                })
                .map_err(|source| self.failed(source))?;
            let Some((last, _)) = events.last() else { return Ok(()) };
            after = *last;
            for (seq, body) in events {
                let Some(mut event) = event_of(&body) else { continue };
                if change(&mut event) {
                    let body = serde_json::to_string(&event)?;
                    self.run("UPDATE events SET body = ?2 WHERE seq = ?1", params![seq, body])?;
                }
            }
        }
    }
}

impl Change<'_> {
    /// Removes the copies, and has `returned` give the new texts of the spans that repeated them.
    pub(super) fn remove_copies<E: From<StoreError>>(
        &mut self,
        going: &Going<'_>,
        lost: &[FrameNum],
        returned: &dyn Fn(&View<'_>, &Span) -> Result<String, E>,
    ) -> Result<(), E> {
        let view = self.view();
        let copies = view.copies(&going.frames, going.ranges)?;
        let standing = view.standing_in(going.ranges)?;
        let mut removal = Removal {
            going,
            copies: &copies,
            seen: lost,
            standing: standing.values().copied().collect(),
            todos: BTreeSet::new(),
            retried: view.tries()?.into_iter().map(|(fresh, _)| fresh).collect(),
            reach: Reach::default(),
            places: BTreeMap::new(),
            repeats: Repeats::default(),
            refold: BTreeSet::new(),
            contexts: BTreeSet::new(),
        };
        let frames = removal.frames();
        removal.reach = view.reach(&frames, going.messages.keys())?;
        for frame in &going.frames {
            let spans = view.frame_spans(*frame)?;
            if spans.iter().any(|span| span.origin == SpanOrigin::Todo) {
                removal.todos.insert(*frame);
            }
        }
        // A text may be repeated in an earlier event.
        view.rewrite_all(&mut |event| {
            removal.remove(event);
            false
        })?;
        view.rewrite_all(&mut |event| {
            let removed = removal.remove(event);
            // Both change it.
            removal.remove_repeated(event) | removed
        })?;
        // The logs that are due can't be derived from the events alone.
        let due = view.logs_due()?;
        self.derive_tables()?;
        let view = self.view();
        view.set_logs_due(&due)?;
        let outdated = removal.contexts.iter().chain(&copies.identities).chain(&copies.results);
        for frame in outdated.clone() {
            view.mark_log_outdated(*frame)?;
        }
        for frame in going.frames.iter().chain(outdated).chain(lost) {
            view.index_frame(*frame)?;
        }
        let mut texts = BTreeMap::new();
        for num in removal.refold {
            // The event that opened it may be unreadable.
            let Some(span) = view.span_if_any(num)? else { continue };
            let text =
                if span.outcome.is_some() { returned(&view, &span)? } else { REMOVED.to_owned() };
            view.run(
                "UPDATE spans SET fold_text = ?2 WHERE num = ?1 AND fold_text IS NOT NULL",
                params![signed(num.0), text],
            )?;
            texts.insert(num, text);
        }
        for kind in ["fold_set", "span_opened"] {
            view.rewrite_events(kind, |event| {
                let (num, fold) = match event {
                    Event::FoldSet { span, fold } => (*span, Some(fold)),
                    Event::SpanOpened { span } => (span.num, span.fold.as_mut()),
                    _ => return false,
                };
                let Some((fold, text)) = fold.zip(texts.get(&num)) else { return false };
                fold.text.clone_from(text);
                true
            })?;
        }
        Ok(())
    }
}

struct Removal<'a> {
    going: &'a Going<'a>,
    copies: &'a Copies,
    /// Frames of which evidence goes.
    seen: &'a [FrameNum],
    /// Frames in whose work messages go.
    standing: BTreeSet<FrameNum>,
    /// Frames that are named after items of todo lists.
    todos: BTreeSet<FrameNum>,
    /// Frames that retry the work of another one.
    retried: BTreeSet<FrameNum>,
    /// Where texts that were removed may be repeated.
    reach: Reach,
    /// Of each span its frame and whether its session is in reach.
    places: BTreeMap<SpanNum, (FrameNum, bool)>,
    /// Texts that were removed.
    repeats: Repeats,
    /// Spans whose texts are made again.
    refold: BTreeSet<SpanNum>,
    /// Frames whose context contained another try that was removed.
    contexts: BTreeSet<FrameNum>,
}

impl Removal<'_> {
    /// The frames that lose anything.
    fn frames(&self) -> BTreeSet<FrameNum> {
        let Copies { identities, results } = self.copies;
        let sets = [&self.going.frames, identities, results, &self.standing];
        sets.into_iter().flatten().copied().collect()
    }

    /// Removes the content of an event that belongs to the frames that lose it.
    fn remove(&mut self, event: &mut Event) -> bool {
        let is_of = |frame: &FrameNum| self.going.frames.contains(frame);
        match event {
            Event::FrameCreated { frame } => {
                let named = (is_of(&frame.num)
                    && (frame.identity_derived || self.todos.contains(&frame.num)))
                    || (self.retried.contains(&frame.num)
                        && self.copies.identities.contains(&frame.num));
                let ended = self.loses(frame.num, frame.results_source);
                frame.identity_derived &= !named;
                let named = named && self.clear(&mut frame.identity);
                let ended = ended && self.end(&mut frame.results, &mut frame.results_compacted);
                let Frame { num, decisions, .. } = &mut **frame;
                let context =
                    decisions.iter_mut().filter_map(|text| self.tries(*num, text).then_some(()));
                let context = context.count() > 0;
                named || ended || context
            }
            Event::DecisionRecorded { frame, text } => self.tries(*frame, text),
            Event::IdentitySet { frame, identity, derived: derived @ true } if is_of(frame) => {
                *derived = false;
                self.clear(identity)
            }
            Event::FrameEnded { frame, outcome, .. } => {
                let frame = *frame;
                self.outcome(frame, outcome)
            }
            Event::SpanOpened { span } => {
                let is_in_reach = self.reach.holds(&span.session);
                self.places.insert(span.num, (span.frame, is_in_reach));
                let frame = span.frame;
                span.outcome.as_mut().is_some_and(|outcome| self.outcome(frame, outcome))
            }
            Event::SpanClosed { span, outcome, .. } => match self.places.get(span) {
                Some((frame, _)) => self.outcome(*frame, outcome),
                None => false,
            },
            Event::CheckpointSet { frame, results, results_compacted } => {
                let loses = self.loses(*frame, Some(ResultsSource::Compaction));
                let [removed, dense] =
                    [results, results_compacted].map(|text| loses && self.take(text));
                removed || dense
            }
            Event::CompactionSettled { compaction } => {
                let is_message = compaction
                    .message
                    .as_deref()
                    .is_some_and(|message| self.is_gone(&compaction.session, |id| id == message));
                if !is_message && !compaction.frame.as_ref().is_some_and(is_of) {
                    return false;
                }
                let mut removed = compaction.summary.as_mut().is_some_and(|it| self.take(it));
                // They are sentences of ours, which stand for other frames as well.
                if let Some(notice) = compaction.notice.as_mut() {
                    removed |= replace(&mut notice.whole, REMOVED);
                    removed |= replace(&mut notice.brief, REMOVED);
                }
                removed
            }
            _ => false,
        }
    }

    /// Removes repetitions from an event: texts in the places that go, and texts with the same content.
    fn remove_repeated(&mut self, event: &mut Event) -> bool {
        match event {
            Event::FoldSet { span, fold } => self.fold(*span, fold),
            Event::SpanOpened { span } => {
                let num = span.num;
                span.fold.as_mut().is_some_and(|fold| self.fold(num, fold))
            }
            Event::Rendered { session, slot, text, .. } => {
                let Some(kind) = slot.kind() else { return false };
                let is_system = kind == RenderedText::System;
                let at_place = self.is_gone(session, |id| is_system || slot.names_message(id));
                // A missing system prompt is rendered again.
                let instead = if is_system { "" } else { REMOVED };
                (at_place || self.repeats(session, text)) && replace(text, instead)
            }
            Event::OutputsMasked { session, masks, .. } => {
                let mut removed = false;
                for mask in masks {
                    let at_place = self.is_gone(session, |id| id == mask.message);
                    let goes = at_place || self.repeats(session, &mask.text);
                    removed |= goes && replace(&mut mask.text, REMOVED);
                }
                removed
            }
            Event::CallAnswered { session, call, answer } => {
                let message = call.message.as_deref();
                let at_place = self.is_gone(session, |id| message == Some(id));
                let said = [&answer.text, &answer.title];
                if !at_place && !said.into_iter().any(|text| self.repeats(session, text)) {
                    return false;
                }
                answer.data = Value::Null;
                let title = replace(&mut answer.title, REMOVED);
                replace(&mut answer.text, REMOVED) || title
            }
            Event::SuggestionMade { suggestion } => {
                if !self.going.frames.contains(&suggestion.frame) {
                    return false;
                }
                let subject = suggestion.subject.take().is_some();
                replace(&mut suggestion.reason, REMOVED) || subject
            }
            Event::Subagent { session, change } => {
                let at_place = self.is_gone(session, |_| true);
                let text = match change {
                    subagent::Change::Seen { title, .. } => Some(title),
                    subagent::Change::Idle { trouble, .. } => {
                        trouble.as_mut().map(|trouble| &mut trouble.message)
                    }
                    _ => None,
                };
                text.is_some_and(|text| {
                    (at_place || self.repeats(session, text)) && replace(text, REMOVED)
                })
            }
            _ => false,
        }
    }

    /// Marks a span's fold for a new text where it repeats removed content.
    fn fold(&mut self, span: SpanNum, fold: &mut Fold) -> bool {
        let Some((frame, is_in_reach)) = self.places.get(&span) else { return false };
        let is_of = self.going.frames.contains(frame)
            || self.standing.contains(frame)
            || self.copies.results.contains(frame);
        if is_of || (*is_in_reach && self.repeats.stand_in(&fold.text)) {
            self.refold.insert(span);
            return replace(&mut fold.text, REMOVED);
        }
        false
    }

    /// Removes from a frame's context a try that loses its results.
    fn tries(&mut self, frame: FrameNum, text: &mut String) -> bool {
        let Copies { identities, results } = self.copies;
        let goes = |tried: FrameNum, evidence: bool| {
            let loses = [&self.going.frames, identities, results];
            loses.into_iter().any(|frames| frames.contains(&tried))
                || (evidence && self.seen.contains(&tried))
        };
        let removed = forget_tries(text, goes);
        if removed {
            self.contexts.insert(frame);
        }
        removed
    }

    fn is_gone(&self, session: &str, any: impl Fn(&str) -> bool) -> bool {
        self.going.messages.get(session).is_some_and(|ids| ids.iter().any(|id| any(id)))
    }

    fn loses(&self, frame: FrameNum, source: Option<ResultsSource>) -> bool {
        let is_sum =
            source == Some(ResultsSource::Children) && self.copies.results.contains(&frame);
        let is_of = self.going.frames.contains(&frame);
        is_sum || ((is_of || self.standing.contains(&frame)) && goes(source, is_of))
    }

    fn outcome(&mut self, frame: FrameNum, outcome: &mut Outcome) -> bool {
        self.loses(frame, outcome.source)
            && self.end(&mut outcome.results, &mut outcome.results_compacted)
    }

    fn end(&mut self, results: &mut Option<String>, dense: &mut Option<String>) -> bool {
        let mut removed = false;
        for text in [results, dense].into_iter().flatten() {
            removed |= self.take(text);
        }
        removed
    }

    fn clear(&mut self, identity: &mut Identity) -> bool {
        let Identity { title, success_criteria, success_criteria_compacted } = identity;
        let mut removed = false;
        for text in [title, success_criteria, success_criteria_compacted] {
            removed |= self.take(text);
        }
        removed
    }

    /// Removes a text, and remembers it.
    fn take(&mut self, text: &mut String) -> bool {
        self.repeats.remember(text);
        replace(text, REMOVED)
    }

    /// Whether a text of a session repeats one that was removed. In unrelated sessions the same words have another
    /// source.
    fn repeats(&self, session: &str, text: &str) -> bool {
        self.reach.holds(session) && self.repeats.stand_in(text)
    }
}

/// Whether results go with messages: `all` of the frame's messages, or some of them. Results that an agent or a user
/// gave stay.
fn goes(source: Option<ResultsSource>, all: bool) -> bool {
    match source {
        Some(ResultsSource::LastWords) => all,
        Some(
            ResultsSource::Extracted
            | ResultsSource::Model
            | ResultsSource::Compaction
            | ResultsSource::AgentAndCompaction,
        ) => true,
        None
        | Some(
            ResultsSource::Agent
            | ResultsSource::User
            | ResultsSource::Children
            | ResultsSource::Callstack,
        ) => false,
    }
}

fn is_removed(frame: &Frame) -> bool {
    frame.results.as_deref() == Some(REMOVED)
}

fn replace(text: &mut String, instead: &str) -> bool {
    let is_other = text != instead && !text.is_empty();
    if is_other {
        instead.clone_into(text);
    }
    is_other
}
