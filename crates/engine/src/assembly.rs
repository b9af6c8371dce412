//! Gathers the input of a frame's context, and renders the answers of a push and a pop. Reads are bounded, however
//! large the tree is.

pub(crate) mod open_now;
mod surroundings;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex};

use callstack_core::context::{
    ContextCache, ContextInput, Parts, RenderedContext, ScopedPin, StatusCounts, render_since,
};
use callstack_core::decide::{goes_on_in, nearest_chosen, unfinished_below};
use callstack_core::evidence::Evidence;
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::log_line::LogLine;
use callstack_core::results::ResultsSource;
use callstack_core::returned::{
    Pushed, Returned, Unpushed, WentOn, pin_line, pushed, returned, unpushed,
};
use callstack_core::transcript::{Anchor, Span, SpanOrigin};
use callstack_store::View;
use serde_json::Value;
use surroundings::surroundings;

use crate::assembly::open_now::{OpenNow, Saying, is_followed};
use crate::calibration::tokens_per_estimate;
use crate::call::{Caller, HostKind, Reply};
use crate::changed_files::{ReadBudget, Seen};
use crate::error::EngineError;
use crate::evidence;
use crate::kernel::Env;
use crate::lock::lock;
use crate::outputs::{BegunFrame, EndedFrame};
use crate::requests::stated;
use crate::settings::Placement;

/// Planned children that are read.
const PLANNED: u32 = 24;

/// The most finished frames inside a finished one that are named, and whose decisions and artifacts are gathered.
const CHILDREN: u32 = 12;
const DESCENDANTS: usize = 40;

/// Renders the contexts of frames, and the texts that replace finished ones, from one view of the store.
pub(crate) struct Contexts {
    pub(crate) env: Arc<Env>,
    pub(crate) cache: Mutex<ContextCache>,
    pub(crate) seen: Mutex<Seen>,
}

impl Contexts {
    pub(crate) fn new(env: &Arc<Env>) -> Self {
        Self { env: Arc::clone(env), cache: Mutex::default(), seen: Mutex::default() }
    }

    /// Forgets the rendered contexts of a session, and returns their number.
    pub(crate) fn invalidate_cache(&self, session: &str) -> usize {
        lock(&self.cache).invalidate(session)
    }

    /// Forgets all rendered contexts, and returns their number.
    pub(crate) fn invalidate_all_cache(&self) -> usize {
        lock(&self.cache).clear()
    }

    /// Returns the context of a frame as it would be rendered now. Reads files: not for a transaction that keeps
    /// others from writing.
    pub(crate) fn context(
        &self,
        view: &View<'_>,
        session: &str,
        num: FrameNum,
        parts: Parts,
    ) -> Result<Arc<RenderedContext>, EngineError> {
        self.context_with(view, session, num, parts, ReadBudget::for_a_context())
    }

    /// The same with a limit for reading files.
    pub(crate) fn context_with(
        &self,
        view: &View<'_>,
        session: &str,
        num: FrameNum,
        parts: Parts,
        mut budget: ReadBudget,
    ) -> Result<Arc<RenderedContext>, EngineError> {
        let now = self.env.now();
        let mut hasher = DefaultHasher::new();
        (view.revision()?, num, parts).hash(&mut hasher);
        let revision = hasher.finish();
        if let Some(kept) = lock(&self.cache).marked(session, revision, now) {
            self.env
                .log_at(now, &context_line("Context taken from the cache", session, num, &kept));
            return Ok(kept);
        }
        let calibration = tokens_per_estimate(view, session)?;
        let settings = self.env.settings_in(view)?;
        let mut around = surroundings(view, num, settings.imported_siblings)?;
        if !parts.current {
            around.sibling_counts = StatusCounts::default();
            if Self::begins_with_context(view, session)? {
                around.ancestors = unseen(around.ancestors, session);
            }
            around.pins = self.pins_since_system(view, session, num)?;
        }
        let mut input = ContextInput::new(session, &around.frame, now);
        input.ancestors = &around.ancestors;
        input.siblings = &around.siblings;
        input.sibling_counts = around.sibling_counts;
        input.next_sibling = around.next_sibling.as_ref();
        input.planned_siblings = &around.planned_siblings;
        input.planned_children = &around.planned;
        input.planned_children_count = around.planned_count;
        input.pins = &around.pins;
        input.visible_above = &around.visible;
        input.sibling_evidence = &around.seen;
        let above = std::iter::once(&around.frame).chain(&around.ancestors);
        let stated = stated(view, session, above)?;
        input.stated = &stated;
        input.new_session = around.frame.parent.is_none()
            && around.planned_count == 0
            && view.counts(Some(num))?.is_empty();
        input.budget = settings.budget;
        input.calibration = calibration;
        input.parts = parts;
        input.dialect = self.env.dialect();
        // Messages are recorded all the time without changing any context: an unchanged state gives the earlier
        // context, so that its bytes do not move with the clock.
        let state = input.state_hash();
        let kept = lock(&self.cache).get(session, state, now);
        let message = match kept {
            Some(_) => "Context taken from the cache",
            None => "Context generated",
        };
        let context = if let Some(kept) = kept {
            kept
        } else {
            let mut failed = None;
            let rendered = render_since(&input, &mut |sibling| {
                let said = self.said_since(view, sibling, &mut budget);
                said.unwrap_or_else(|error| {
                    failed = Some(error);
                    String::new()
                })
            });
            if let Some(error) = failed {
                return Err(error);
            }
            let context = Arc::new(rendered);
            lock(&self.cache).put(session, state, now, Arc::clone(&context));
            context
        };
        self.env.log_at(now, &context_line(message, session, num, &context));
        lock(&self.cache).mark(session, state, revision);
        Ok(context)
    }

    /// Returns the answer of an operation with which work in a frame began. `goal_is_known` where the call contains
    /// the frame's purpose; a call beside it may, too.
    pub(crate) fn began(
        &self,
        view: &View<'_>,
        caller: &Caller,
        num: FrameNum,
        goal_is_known: bool,
    ) -> Result<Reply<BegunFrame>, EngineError> {
        let frame = view.frame(num)?;
        // Elsewhere the system prompt holds it.
        let is_in_output = self.env.settings_in(view)?.placement == Placement::Output
            || caller.host_kind() == HostKind::Calling;
        let context = if is_in_output && frame.status == Status::InProgress {
            self.context(view, &caller.session, num, Parts::for_push())?.text.clone()
        } else {
            String::new()
        };
        let activated =
            view.frame_spans(num)?.last().is_some_and(|span| span.origin == SpanOrigin::Activate);
        let text = pushed(&Pushed {
            frame: &frame,
            activated,
            // A person's call is no part of the conversation.
            goal_is_known: caller.anchor.call.is_some()
                && (goal_is_known
                    || is_planned_beside(view, &caller.session, &caller.anchor, num)?),
            context: &context,
            dialect: self.env.dialect(),
        });
        let mut reply = Reply::new(frame.label(), text, BegunFrame::of(&frame));
        reply.answer.opened = Some(num);
        Ok(reply)
    }

    /// Returns the text that replaces a finished frame, in the session `reader`.
    pub(crate) fn returned(
        &self,
        view: &View<'_>,
        num: FrameNum,
        left: &[Frame],
        evidence: &Evidence,
        reader: &str,
    ) -> Result<String, EngineError> {
        self.returned_as(view, &view.frame(num)?, left, evidence, (reader, Saying::Now))
    }

    /// The same for a frame whose results are given in other words.
    pub(crate) fn returned_as(
        &self,
        view: &View<'_>,
        frame: &Frame,
        left: &[Frame],
        evidence: &Evidence,
        (reader, saying): (&str, Saying),
    ) -> Result<String, EngineError> {
        let num = frame.num;
        let parent = match not_invalidated(view, frame.parent)? {
            Some(above) => Some(view.frame(goes_on_in(view, reader, num, above)?)?),
            None => None,
        };
        let (planned, planned_count) = match &parent {
            Some(parent) => {
                // Plans of an automatic frame stand below the nearest frame that somebody chose.
                let below = nearest_chosen(view, Some(parent.num))?;
                (
                    view.children_with(below, Status::Planned, PLANNED)?,
                    view.counts(below)?.get(&Status::Planned).copied().unwrap_or(0),
                )
            }
            None => (left.to_vec(), left.len() as u64),
        };
        let pins = match &frame.session {
            Some(_) => {
                let mut pins = self.pins_since_system(view, reader, num)?;
                // Its own end with it.
                pins.retain(|pin| pin.owner != num);
                without_shown(view, num, reader, pins)?
            }
            None => Vec::new(),
        };
        let elsewhere =
            parent.as_ref().is_some_and(|parent| parent.session.as_deref() != Some(reader));
        let mut inside = Vec::new();
        below(view, num, &mut inside)?;
        let is_followed = is_followed(view, reader)?;
        let parent_above = match &parent {
            Some(parent) if is_followed => {
                stands_above(view, parent.num, reader)? && !is_compacted(view, reader)?
            }
            // A host that callstack does not follow may have compacted the conversation.
            _ => false,
        };
        for within in view.frames_closed_with(num)? {
            if inside.len() < DESCENDANTS {
                inside.push(view.frame(within)?);
                below(view, within, &mut inside)?;
            }
        }
        let open = saying.open(view, reader, parent.as_ref())?;
        Ok(returned(&Returned {
            frame,
            opened_above: stands_above(view, num, reader)?,
            parent_above,
            outdated: &evidence.outdated_lines(),
            inside: &inside,
            evidence: &evidence::lines(evidence, frame, &inside),
            is_followed,
            gaps: evidence.gaps,
            unseen: &evidence.unseen,
            closed: evidence.closed.as_ref(),
            parent: parent.as_ref(),
            went_on: open.as_ref().map_or(WentOn::Parent, OpenNow::went_on),
            elsewhere,
            planned: &planned,
            planned_count: usize::try_from(planned_count).unwrap_or(usize::MAX),
            pins: &pins,
            dialect: self.env.dialect(),
        }))
    }

    /// Returns the text that replaces a finished frame that nobody pushed. `replied` is that of [`Unpushed`].
    pub(crate) fn unpushed(
        &self,
        view: &View<'_>,
        span: &Span,
        evidence: &Evidence,
        replied: bool,
    ) -> Result<String, EngineError> {
        let num = span.frame;
        let frame = view.frame(num)?;
        let mut inside = Vec::new();
        below(view, num, &mut inside)?;
        let goes_on = span.origin == SpanOrigin::FirstTurn && !ends_frame(view, span)?;
        if goes_on {
            retain_begun_by(view, span, &mut inside)?;
        } else {
            ended_within(view, &frame, &mut inside)?;
        }
        let pins = match &frame.session {
            Some(session) => {
                let mut pins = self.pins_since_system(view, session, num)?;
                pins.retain(|pin| goes_on || pin.owner != num);
                pins
            }
            None => Vec::new(),
        };
        Ok(unpushed(&Unpushed {
            frame: &frame,
            inside: &inside,
            evidence: &evidence.lines(),
            files: &evidence.files,
            gaps: evidence.gaps,
            replied,
            goes_on,
            pins: &pins,
            dialect: self.env.dialect(),
        }))
    }

    /// Renders the text that replaces a closed span again, from the present state.
    pub(crate) fn returned_again(
        &self,
        view: &View<'_>,
        span: &Span,
        saying: Saying,
    ) -> Result<String, EngineError> {
        let evidence = view.span_evidence(span.num)?;
        let mut frame = view.frame(span.frame)?;
        if span.origin.is_automatic() {
            let evidence = evidence::with_hashes(evidence, &frame.artifacts);
            let source = match span.origin {
                SpanOrigin::FirstTurn => span.outcome.as_ref().and_then(|outcome| outcome.source),
                _ => frame.results_source,
            };
            let replied = span.origin.is_turn() && source == Some(ResultsSource::LastWords);
            return self.unpushed(view, span, &evidence, replied);
        }
        if let Some(outcome) = &span.outcome {
            frame.status = outcome.status;
            frame.results.clone_from(&outcome.results);
            frame.results_compacted.clone_from(&outcome.results_compacted);
            frame.results_source = outcome.source;
        }
        let owed = view.delegation(span.num)?.map(|stored| stored.delegation.caller);
        let reader = owed.as_deref().unwrap_or(&span.session);
        let left = match frame.parent {
            Some(_) => Vec::new(),
            None => unfinished_below(view, frame.num)?,
        };
        self.returned_as(view, &frame, &left, &evidence, (reader, saying))
    }

    /// The answer of a call that has ended frames, about the one that ended last.
    pub(crate) fn last_ended(
        view: &View<'_>,
        ended: Vec<(FrameNum, String)>,
    ) -> Result<Reply<EndedFrame>, EngineError> {
        match ended.into_iter().next_back() {
            Some((num, text)) => Self::ended(view, num, text),
            None => Ok(Reply::without_data("", "")),
        }
    }

    /// The answer of a pop.
    pub(crate) fn ended(
        view: &View<'_>,
        num: FrameNum,
        text: String,
    ) -> Result<Reply<EndedFrame>, EngineError> {
        let frame = view.frame(num)?;
        let title = format!("{} {}", frame.label(), frame.status);
        let mut reply = Reply::new(title, text, EndedFrame::of(&frame));
        reply.answer.closed = Some(num);
        Ok(reply)
    }
}

/// The nearest frame, from `num` on upwards, that was not invalidated under the work in it.
fn not_invalidated(
    view: &View<'_>,
    mut num: Option<FrameNum>,
) -> Result<Option<FrameNum>, EngineError> {
    while let Some(above) = num {
        let frame = view.frame(above)?;
        if frame.status != Status::Invalidated {
            break;
        }
        num = frame.parent;
    }
    Ok(num)
}

/// Whether a frame's purpose stands in a session's requests where the frame was opened: in the call that opened it, or
/// in one of the same message that planned it.
fn stands_above(view: &View<'_>, frame: FrameNum, reader: &str) -> Result<bool, EngineError> {
    let spans = view.frame_spans(frame)?;
    let opened = spans.iter().find(|span| !span.detached && span.session == reader);
    match opened {
        Some(span) if span.origin == SpanOrigin::Push => Ok(true),
        Some(span) => is_planned_beside(view, reader, &span.open, frame),
        None => Ok(false),
    }
}

/// Whether a call of the same message as `call` planned a frame.
fn is_planned_beside(
    view: &View<'_>,
    session: &str,
    call: &Anchor,
    frame: FrameNum,
) -> Result<bool, EngineError> {
    let Some(message) = call.message.as_deref().filter(|_| call.call.is_some()) else {
        return Ok(false);
    };
    let handle = frame.to_string();
    let is_planned = |planned: &Value| planned["handle"].as_str() == Some(&handle);
    let answers = view.answers_given_in(session, message)?;
    // Of all answers, only that of a plan is a list.
    Ok(answers.iter().filter_map(|answer| answer.data.as_array()).flatten().any(is_planned))
}

/// Whether a summary may have replaced the session's messages.
fn is_compacted(view: &View<'_>, session: &str) -> Result<bool, EngineError> {
    Ok(view.last_summary(session)?.is_some())
}

fn context_line(
    message: &'static str,
    session: &str,
    num: FrameNum,
    context: &RenderedContext,
) -> LogLine {
    let metadata = &context.metadata;
    LogLine::new(message)
        .with("sessionID", session)
        .with("frame", num.to_string())
        .with("tokens", metadata.tokens.total)
        .with("ancestors", metadata.ancestors.len())
        .with("siblings", metadata.siblings.len())
}

/// Returns those of a frame's ancestors, the parent first, that a session has not seen: they are not its own, and
/// they do not stand above its outermost frame, where its beginning shows them.
fn unseen(ancestors: Vec<Frame>, session: &str) -> Vec<Frame> {
    let is_own = |frame: &Frame| frame.session.as_deref() == Some(session);
    let outermost = ancestors.iter().rposition(is_own).unwrap_or(ancestors.len());
    ancestors.into_iter().take(outermost).filter(|frame| !is_own(frame)).collect()
}

/// Whether a span ended with its frame, and not before it.
fn ends_frame(view: &View<'_>, span: &Span) -> Result<bool, EngineError> {
    let spans = view.frame_spans(span.frame)?;
    Ok(spans.iter().any(|it| it.num != span.num && it.live_close() == span.live_close()))
}

/// Keeps, of the frames below that of a turn, those that were begun in it, or in frames of it.
fn retain_begun_by(
    view: &View<'_>,
    turn: &Span,
    frames: &mut Vec<Frame>,
) -> Result<(), EngineError> {
    let Some(end) = view.span_ends(turn.num)? else { return Ok(()) };
    let mut kept = BTreeSet::from([turn.frame]);
    for frame in frames.iter() {
        let begun = match view.frame_spans(frame.num)?.first() {
            Some(first) if first.session == turn.session => view.span_begins(first.num)? < end.seq,
            // In another session, a frame that began later was also created later.
            _ => frame.created_at <= end.at,
        };
        if begun && frame.parent.is_some_and(|parent| kept.contains(&parent)) {
            kept.insert(frame.num);
        }
    }
    frames.retain(|frame| kept.contains(&frame.num));
    Ok(())
}

/// Adds the frames that were worked on while an automatic frame was open around them, although they stand elsewhere
/// in the tree.
fn ended_within(
    view: &View<'_>,
    around: &Frame,
    found: &mut Vec<Frame>,
) -> Result<(), EngineError> {
    let Some(session) = &around.session else { return Ok(()) };
    let spans = view.session_spans(session)?;
    let Some(own) = spans.iter().find(|span| span.frame == around.num) else { return Ok(()) };
    let inner = spans.iter().filter(|span| {
        span.num > own.num
            && span.foldable
            && !span.detached
            && !span.origin.is_automatic()
            && span.live_close().is_some()
    });
    for span in inner {
        if found.len() >= DESCENDANTS || found.iter().any(|known| known.num == span.frame) {
            continue;
        }
        let frame = view.frame(span.frame)?;
        let within = frame.status.is_finished() && frame.ended_at <= around.ended_at;
        let is_named = frame.num == around.num
            || view.ancestors(frame.num)?.iter().any(|above| {
                above.num == around.num || found.iter().any(|known| known.num == above.num)
            });
        if within && !is_named {
            let num = frame.num;
            found.push(frame);
            below(view, num, found)?;
        }
    }
    Ok(())
}

/// Finished frames below one, each before those below itself; as many as a reader can use.
fn below(view: &View<'_>, num: FrameNum, found: &mut Vec<Frame>) -> Result<(), EngineError> {
    for child in view.finished_children(num, CHILDREN)? {
        if found.len() >= DESCENDANTS {
            break;
        }
        let num = child.num;
        found.push(child);
        below(view, num, found)?;
    }
    Ok(())
}

/// Returns the pins that the newest folds in the reader's conversation don't repeat: the reader lacks them.
fn without_shown(
    view: &View<'_>,
    num: FrameNum,
    reader: &str,
    mut pins: Vec<ScopedPin>,
) -> Result<Vec<ScopedPin>, EngineError> {
    /// Texts that are looked through, so that a pop does not take longer the more frames there are.
    const NEWEST_FOLDS: u32 = 50;
    let first = view.frame_spans(num)?.into_iter().next();
    let Some(first) = first.filter(|span| !pins.is_empty() && span.session == reader) else {
        return Ok(pins);
    };
    let texts = view.folds_sent_before(reader, view.span_begins(first.num)?, NEWEST_FOLDS)?;
    pins.retain(|pin| {
        let line = pin_line(pin);
        !texts.iter().any(|text| text.contains(&line))
    });
    Ok(pins)
}
