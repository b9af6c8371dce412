//! Gathers what a frame's context is rendered from, and makes the texts that answer a push and a pop.
//! What is read is bounded, however large the tree is.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use callstack_core::context::{
    ContextInput, Parts, RenderedContext, ScopedPin, StatusCounts, render_since,
};
use callstack_core::decide::{goes_on_in, nearest_chosen};
use callstack_core::evidence::Evidence;
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::log_line::LogLine;
use callstack_core::results::ResultsSource;
use callstack_core::returned::{Pushed, Returned, Unpushed, pushed, returned, unpushed};
use callstack_core::text::extract_keywords;
use callstack_core::transcript::{Span, SpanOrigin};
use callstack_store::View;
use serde_json::json;

use crate::conversation::calibration::tokens_per_estimate;
use crate::engine::{Engine, lock};
use crate::error::EngineError;
use crate::evidence;
use crate::operation::{Answer, Caller};
use crate::settings::Placement;
use crate::staleness::Looks;

/// Finished siblings that are looked at because they are the newest, and for each word because they
/// are about it. The budget shows ten or so; more to choose from costs time at every push.
const NEWEST: u32 = 8;
const A_WORD: u32 = 2;
/// Words of a frame by which siblings are looked for.
const WORDS: usize = 8;
/// Planned children that are looked at.
const PLANNED: u32 = 24;

/// Finished frames inside a finished one that it names, and that it gathers decisions and artifacts of.
const CHILDREN: u32 = 12;
const DESCENDANTS: usize = 40;

/// Everything around a frame that its context may show.
struct Surroundings {
    frame: Frame,
    ancestors: Vec<Frame>,
    siblings: Vec<Frame>,
    sibling_counts: StatusCounts,
    next_sibling: Option<Frame>,
    planned: Vec<Frame>,
    planned_count: usize,
    pins: Vec<ScopedPin>,
    visible: BTreeSet<FrameNum>,
    seen: BTreeMap<FrameNum, String>,
}

impl Engine {
    /// The XML context of a frame as a session is given it, with what it costs in estimated tokens. It is
    /// rendered anew when anything that it shows has changed, and after 30 seconds.
    ///
    /// `frame` is a handle, an id or a unique prefix; `not_found` where there is none.
    pub fn generate_frame_context(
        &self,
        session: &str,
        frame: &str,
    ) -> Result<Arc<RenderedContext>, EngineError> {
        let num = self.resolve(frame)?.num;
        self.store.read(|view| self.context(view, session, num, Parts::full()))
    }

    /// Forgets the rendered contexts of a session; returns how many there were.
    pub fn invalidate_cache(&self, session: &str) -> usize {
        lock(&self.cache).invalidate(session)
    }

    /// Forgets all rendered contexts; returns how many there were.
    pub fn invalidate_all_cache(&self) -> usize {
        lock(&self.cache).clear()
    }

    /// The context of a frame as it would be rendered now. Reads files: not for a transaction that keeps
    /// others from writing.
    pub(crate) fn context(
        &self,
        view: &View<'_>,
        session: &str,
        num: FrameNum,
        parts: Parts,
    ) -> Result<Arc<RenderedContext>, EngineError> {
        self.context_with(view, session, num, parts, Looks::for_a_context())
    }

    /// The same where so much of files may be read.
    pub(crate) fn context_with(
        &self,
        view: &View<'_>,
        session: &str,
        num: FrameNum,
        parts: Parts,
        mut looks: Looks,
    ) -> Result<Arc<RenderedContext>, EngineError> {
        let now = self.now();
        let mut hasher = DefaultHasher::new();
        (view.revision()?, num, parts).hash(&mut hasher);
        let revision = hasher.finish();
        if let Some(kept) = lock(&self.cache).marked(session, revision, now) {
            self.log_at(now, &told("Context taken from the cache", session, num, &kept));
            return Ok(kept);
        }
        let calibration = tokens_per_estimate(view, session)?;
        let around = surroundings(view, num)?;
        let mut input = ContextInput::new(session, &around.frame, now);
        input.ancestors = &around.ancestors;
        input.siblings = &around.siblings;
        input.sibling_counts = around.sibling_counts;
        input.next_sibling = around.next_sibling.as_ref();
        input.planned_children = &around.planned;
        input.planned_children_count = around.planned_count;
        input.pins = &around.pins;
        input.visible_above = &around.visible;
        input.sibling_evidence = &around.seen;
        input.new_session = around.frame.parent.is_none()
            && around.planned_count == 0
            && view.counts(Some(num))?.is_empty();
        input.budget = self.settings_in(view)?.budget;
        input.calibration = calibration;
        input.parts = parts;
        input.dialect = self.dialect();
        // Messages are recorded all the time without changing any context: what has the same state is
        // taken as it was, so that its bytes do not move with the clock.
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
                let said = self.said_since(view, sibling, &mut looks);
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
        self.log_at(now, &told(message, session, num, &context));
        lock(&self.cache).mark(session, state, revision);
        Ok(context)
    }

    /// The answer of an operation with which work in a frame began.
    pub(crate) fn began(
        &self,
        view: &View<'_>,
        caller: &Caller,
        num: FrameNum,
    ) -> Result<Answer, EngineError> {
        let frame = view.frame(num)?;
        let context = match self.settings_in(view)?.placement {
            Placement::Output if frame.status == Status::InProgress => {
                self.context(view, &caller.session, num, Parts::for_push())?.text.clone()
            }
            // The system prompt holds it, or there is no work to be done in the frame yet.
            _ => String::new(),
        };
        let activated = view
            .frame_spans(num)?
            .last()
            .is_some_and(|span| span.origin == callstack_core::transcript::SpanOrigin::Activate);
        let text = pushed(&Pushed {
            frame: &frame,
            activated,
            context: &context,
            dialect: self.dialect(),
        });
        let data = json!({
            "handle": num.to_string(),
            "sessionID": frame.id,
            "status": frame.status,
            "title": frame.identity.title,
        });
        let title = frame.label();
        Ok(Answer { title, text, data, opened: Some(num), ..Answer::default() })
    }

    /// What stands for a finished frame from now on, in the session `reader`.
    pub(crate) fn returned(
        &self,
        view: &View<'_>,
        num: FrameNum,
        left: &[Frame],
        evidence: &Evidence,
        reader: &str,
    ) -> Result<String, EngineError> {
        self.returned_as(view, &view.frame(num)?, left, evidence, reader)
    }

    /// The same for a frame whose results are told in other words.
    pub(crate) fn returned_as(
        &self,
        view: &View<'_>,
        frame: &Frame,
        left: &[Frame],
        evidence: &Evidence,
        reader: &str,
    ) -> Result<String, EngineError> {
        let num = frame.num;
        let parent = match frame.parent {
            Some(above) => Some(view.frame(goes_on_in(view, reader, num, above)?)?),
            None => None,
        };
        let (planned, planned_count) = match &parent {
            Some(parent) => {
                // What was planned stands below the nearest frame that somebody chose.
                let below = nearest_chosen(view, Some(parent.num))?;
                (
                    view.children_with(below, Status::Planned, PLANNED)?,
                    view.counts(below)?.get(&Status::Planned).copied().unwrap_or(0),
                )
            }
            None => (left.to_vec(), left.len() as u64),
        };
        let pins = match &frame.session {
            Some(_) => self.pins_since_system(view, reader, num)?,
            None => Vec::new(),
        };
        let elsewhere =
            parent.as_ref().is_some_and(|parent| parent.session.as_deref() != Some(reader));
        let mut inside = Vec::new();
        below(view, num, &mut inside)?;
        Ok(returned(&Returned {
            frame,
            inside: &inside,
            evidence: &evidence::lines(evidence, frame, &inside),
            gaps: evidence.gaps,
            unseen: &evidence.unseen,
            parent: parent.as_ref(),
            elsewhere,
            planned: &planned,
            planned_count: usize::try_from(planned_count).unwrap_or(usize::MAX),
            pins: &pins,
            dialect: self.dialect(),
        }))
    }

    /// What stands for a finished frame that nobody pushed. `replied` is that of [`Unpushed`].
    pub(crate) fn unpushed(
        &self,
        view: &View<'_>,
        num: FrameNum,
        evidence: &Evidence,
        replied: bool,
    ) -> Result<String, EngineError> {
        let frame = view.frame(num)?;
        let mut inside = Vec::new();
        below(view, num, &mut inside)?;
        ended_within(view, &frame, &mut inside)?;
        let pins = match &frame.session {
            Some(session) => self.pins_since_system(view, session, num)?,
            None => Vec::new(),
        };
        Ok(unpushed(&Unpushed {
            frame: &frame,
            inside: &inside,
            evidence: &evidence.lines(),
            gaps: evidence.gaps,
            replied,
            pins: &pins,
            dialect: self.dialect(),
        }))
    }

    /// What stands for a closed span, said anew by what is known of it now.
    pub(crate) fn returned_anew(
        &self,
        view: &View<'_>,
        span: &Span,
    ) -> Result<String, EngineError> {
        let evidence = view.span_evidence(span.num)?;
        let mut frame = view.frame(span.frame)?;
        if span.origin.is_automatic() {
            let evidence = evidence::with_hashes(evidence, &frame.artifacts);
            let replied = span.origin == SpanOrigin::Turn
                && frame.results_source == Some(ResultsSource::LastWords);
            return self.unpushed(view, span.frame, &evidence, replied);
        }
        if let Some(outcome) = &span.outcome {
            frame.status = outcome.status;
            frame.results.clone_from(&outcome.results);
            frame.results_compacted.clone_from(&outcome.results_compacted);
            frame.results_source = outcome.source;
        }
        let owed = view.errand(span.num)?.map(|stored| stored.errand.caller);
        let reader = owed.as_deref().unwrap_or(&span.session);
        self.returned_as(view, &frame, &[], &evidence, reader)
    }

    /// The answer of a call that has ended frames, about the one that ended last.
    pub(crate) fn last_ended(
        view: &View<'_>,
        ended: Vec<(FrameNum, String)>,
    ) -> Result<Answer, EngineError> {
        match ended.into_iter().next_back() {
            Some((num, text)) => Self::ended(view, num, text),
            None => Ok(Answer::default()),
        }
    }

    /// The answer of a pop.
    pub(crate) fn ended(
        view: &View<'_>,
        num: FrameNum,
        text: String,
    ) -> Result<Answer, EngineError> {
        let frame = view.frame(num)?;
        let data = json!({
            "handle": num.to_string(),
            "sessionID": frame.id,
            "status": frame.status,
            "resultsSource": frame.results_source,
            "parent": frame.parent.map(|parent| parent.to_string()),
        });
        let title = format!("{} {}", frame.label(), frame.status);
        Ok(Answer { title, text, data, closed: Some(num), ..Answer::default() })
    }
}

fn told(message: &'static str, session: &str, num: FrameNum, context: &RenderedContext) -> LogLine {
    let metadata = &context.metadata;
    LogLine::new(message)
        .with("sessionID", session)
        .with("frame", num.to_string())
        .with("tokens", metadata.tokens.total)
        .with("ancestors", metadata.ancestors.len())
        .with("siblings", metadata.siblings.len())
}

fn surroundings(view: &View<'_>, num: FrameNum) -> Result<Surroundings, EngineError> {
    let frame = view.frame(num)?;
    let ancestors = view.ancestors(num)?;
    let about = format!("{} {}", frame.identity.title, frame.identity.success_criteria);
    let mut words = extract_keywords(&about);
    words.truncate(WORDS);
    let siblings = view.sibling_candidates(&frame, &words, NEWEST, A_WORD)?.frames;
    let mut sibling_counts = StatusCounts::default();
    for (status, count) in view.counts(frame.parent)? {
        let itself = u64::from(status == frame.status);
        *slot(&mut sibling_counts, status) =
            usize::try_from(count.saturating_sub(itself)).unwrap_or(usize::MAX);
    }
    let next_sibling = view
        .children_with(frame.parent, Status::Planned, 2)?
        .into_iter()
        .find(|sibling| sibling.num != num && frame.parent.is_some());
    let planned = view.children_with(Some(num), Status::Planned, PLANNED)?;
    let planned_count = view.counts(Some(num))?.get(&Status::Planned).copied().unwrap_or(0);
    let owners = ancestors.iter().rev().chain(std::iter::once(&frame));
    let pins = owners
        .flat_map(|owner| {
            owner.pins.iter().map(|pin| ScopedPin { owner: owner.num, pin: pin.clone() })
        })
        .collect();
    // In its parent's own session a finished sibling's fold stands above, in the same request, and so
    // does what one returned that this session had given to another.
    let mut visible = BTreeSet::new();
    for sibling in siblings.iter().filter(|it| it.session.is_some() && frame.session.is_some()) {
        let told = || {
            let errand = sibling.session.as_deref().map(|session| view.errand_in(session));
            let errand = errand.transpose()?.flatten();
            Ok::<_, EngineError>(errand.is_some_and(|it| {
                it.errand.frame == sibling.num && Some(it.errand.caller) == frame.session
            }))
        };
        if sibling.session == frame.session || told()? {
            visible.insert(sibling.num);
        }
    }
    // Where a fold stands above, what was seen stands in it.
    let elsewhere = siblings.iter().map(|it| it.num).filter(|num| !visible.contains(num));
    let seen = view.evidence_briefs(elsewhere)?;
    Ok(Surroundings {
        frame,
        ancestors,
        siblings,
        sibling_counts,
        next_sibling,
        planned,
        planned_count: usize::try_from(planned_count).unwrap_or(usize::MAX),
        pins,
        visible,
        seen,
    })
}

/// Finished frames below one, each before those below itself; as many as a reader can use.
/// Adds the frames that were worked on while one that began by itself was open around them, although
/// they stand elsewhere in the tree.
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

fn slot(counts: &mut StatusCounts, status: Status) -> &mut usize {
    match status {
        Status::Planned => &mut counts.planned,
        Status::InProgress => &mut counts.in_progress,
        Status::Completed => &mut counts.completed,
        Status::Failed => &mut counts.failed,
        Status::Blocked => &mut counts.blocked,
        Status::Invalidated => &mut counts.invalidated,
    }
}
