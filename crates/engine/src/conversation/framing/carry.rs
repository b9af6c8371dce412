//! From what framing tells to frames in the store.

use std::collections::HashMap;

use callstack_core::decide::{Command, Enframe, Invalidate, Pop, Refusal, decide};
use callstack_core::event::Event;
use callstack_core::evidence::Budget;
use callstack_core::frame::{Artifact, FrameNum, Status};
use callstack_core::framing::{Change as Step, Framer, Kind, Stretch};
use callstack_core::results::ResultsSource;
use callstack_core::returned::RENDERER_VERSION;
use callstack_core::transcript::{Anchor, Fold, Outcome, SpanNum, SpanOrigin};
use callstack_store::{Change, View};

use crate::conversation::{Conversation, Fact};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::evidence;
use crate::settings::Level;

/// How far changes were carried out.
pub(super) struct Carried {
    /// How many the store has.
    pub(super) done: usize,
    /// Whether it had any of them not before.
    pub(super) changed: bool,
    /// Whether the rest is to be tried again at the next call.
    pub(super) again: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcomes {
    Done,
    /// Something is in the way that will go.
    Waits,
}

/// A frame that stands for a stretch.
#[derive(Clone, Copy)]
struct Bound {
    frame: FrameNum,
    span: SpanNum,
    open: bool,
}

impl Engine {
    /// Carries out the framer's changes from `done` on, as far as that is possible, in one transaction.
    pub(super) fn carry_out_framing(
        &self,
        conversation: &Conversation,
        session: &str,
        framer: &Framer,
        done: usize,
    ) -> Result<Carried, EngineError> {
        let mut carrier = Carrier {
            engine: self,
            conversation,
            session,
            stretches: framer.stretches(),
            bound: bound(conversation),
            pushed: framer.is_in_pushed_frame(),
            begins: conversation.is_past()
                || self.current_settings()?.autonomy.level == Level::Auto,
        };
        let steps = framer.changes();
        let known = steps.iter().skip(done).take_while(|step| carrier.is_known(**step)).count();
        let mut done = done + known;
        if done == steps.len() {
            return Ok(Carried { done, changed: false, again: false });
        }
        let produced = carrier.produced(&steps[done..]);
        // What is told of what ends is read from the messages, which nothing could write in the transaction.
        if steps[done..].iter().any(|step| matches!(step, Step::Closed(_)))
            && self.recorder.get().is_some_and(|recorder| !conversation.written(recorder))
        {
            return Ok(Carried { done, changed: false, again: true });
        }
        self.store.write(|change| {
            for step in &steps[done..] {
                let outcome = match *step {
                    Step::Opened(stretch) => carrier.open(change, stretch, &produced)?,
                    Step::Closed(stretch) => carrier.close(change, stretch)?,
                };
                if outcome == Outcomes::Waits {
                    break;
                }
                done += 1;
            }
            Ok::<_, EngineError>(())
        })?;
        Ok(Carried { done, changed: true, again: false })
    }
}

fn bound(conversation: &Conversation) -> HashMap<&Anchor, Bound> {
    let automatic =
        conversation.spans.iter().filter(|span| span.origin.is_automatic() && !span.detached);
    automatic
        .map(|span| {
            let open = span.live_close().is_none();
            (&span.open, Bound { frame: span.frame, span: span.num, open })
        })
        .collect()
}

struct Carrier<'a> {
    engine: &'a Engine,
    conversation: &'a Conversation,
    session: &'a str,
    stretches: &'a [Stretch],
    /// The frames that there are, by where they begin: no two begin at one place.
    bound: HashMap<&'a Anchor, Bound>,
    /// Whether a frame that somebody pushed is open.
    pushed: bool,
    /// Whether frames begin by themselves at all.
    begins: bool,
}

impl Carrier<'_> {
    fn of(&self, stretch: usize) -> Option<Bound> {
        self.bound.get(&self.stretches[stretch].opened).copied()
    }

    /// Whether the store has a change already, or has nothing to do with it.
    fn is_known(&self, step: Step) -> bool {
        let (Step::Opened(stretch) | Step::Closed(stretch)) = step;
        if self.stretches[stretch].kind == Kind::Subagent {
            return true;
        }
        match (step, self.of(stretch)) {
            (Step::Opened(_), found) => found.is_some(),
            (Step::Closed(_), found) => found.is_some_and(|found| !found.open),
        }
    }

    /// The files that were written in stretches before their frames began.
    fn produced(&self, steps: &[Step]) -> HashMap<usize, Vec<Artifact>> {
        let mut produced = HashMap::new();
        for step in steps {
            let Step::Opened(stretch) = *step else { continue };
            let it = &self.stretches[stretch];
            let files = self.conversation.facts_between(&it.opened, it.closed.as_ref());
            let mut artifacts: Vec<Artifact> = Vec::new();
            for fact in files {
                let Fact::Wrote { path } = fact else { continue };
                if artifacts.iter().any(|known| known.path == *path) {
                    continue;
                }
                let (path, hash) = match it.closed {
                    None if !self.conversation.is_past() => self.engine.project_file(path),
                    // What it held when work in the past ended is not known.
                    _ => (path.clone(), None),
                };
                artifacts.push(Artifact { path, hash });
            }
            produced.insert(stretch, artifacts);
        }
        produced
    }

    fn open(
        &mut self,
        change: &mut Change<'_>,
        stretch: usize,
        produced: &HashMap<usize, Vec<Artifact>>,
    ) -> Result<Outcomes, EngineError> {
        let it = &self.stretches[stretch];
        let origin = match it.kind {
            Kind::Turn => SpanOrigin::Turn,
            Kind::Todo => SpanOrigin::Todo,
            // A subagent's session has frames of its own.
            Kind::Subagent => return Ok(Outcomes::Done),
        };
        let view = change.view();
        if let Some(span) = view.automatic_span(self.session, origin, &it.opened)? {
            let open = span.live_close().is_none();
            let found = Bound { frame: span.frame, span: span.num, open };
            self.bound.insert(&it.opened, found);
            return Ok(Outcomes::Done);
        }
        let active = view.session_row(self.session)?.and_then(|session| session.active);
        let goes_on = it.closed.is_none();
        let parent = match it.parent {
            Some(around) => self.of(around).map(|around| around.frame),
            None if goes_on => active,
            None => self.outermost(&view, active)?,
        };
        let Some(parent) = parent.filter(|_| self.begins) else { return Ok(Outcomes::Done) };
        // Somebody works in a frame of their own choice.
        if goes_on && (self.pushed || active != Some(parent)) {
            return Ok(Outcomes::Done);
        }
        let command = Command::Enframe(Enframe {
            session: self.session.to_owned(),
            parent,
            origin,
            anchor: it.opened.clone(),
            identity: it.identity.clone(),
            id: self.engine.world().id("frm-"),
            goes_on,
        });
        let now = self.engine.now();
        let limits = self.engine.settings_in(&view)?.limits;
        let decision = match decide(&view, &command, &limits, now) {
            Err(Refusal::Store(error)) => return Err(error.into()),
            // A limit of the tree: work goes on without a frame.
            Err(_) => return Ok(Outcomes::Done),
            Ok(decision) => decision,
        };
        change.append(now, &decision.events)?;
        for event in &decision.events {
            if let Event::SpanOpened { span } = event {
                let made = Bound { frame: span.frame, span: span.num, open: true };
                self.bound.insert(&it.opened, made);
                let artifacts = produced.get(&stretch).into_iter().flatten().cloned();
                let recorded: Vec<_> = artifacts
                    .map(|artifact| Event::ArtifactRecorded { frame: span.frame, artifact })
                    .collect();
                change.append(now, &recorded)?;
            }
        }
        Ok(Outcomes::Done)
    }

    /// How a stretch ended: with the agent's last words in it. Where there are none, what was done in it is
    /// told by its evidence.
    fn outcome(status: Status, said: Option<&str>) -> Outcome {
        match said {
            Some(said) => Outcome::with(status, said.to_owned(), None, ResultsSource::LastWords),
            None => Outcome::without_results(status),
        }
    }

    /// The frame in which work stands that was done before anything that is open now.
    fn outermost(
        &self,
        view: &View<'_>,
        active: Option<FrameNum>,
    ) -> Result<Option<FrameNum>, EngineError> {
        match active {
            Some(active) => {
                let ancestors = view.ancestors(active)?;
                Ok(Some(ancestors.last().map_or(active, |outermost| outermost.num)))
            }
            None => Ok(view.session_row(self.session)?.and_then(|session| session.root)),
        }
    }

    /// What is said of a stretch already where its text is read: its results, and the texts of what had
    /// ended when it began.
    fn told_in_front(&self, view: &View<'_>, it: &Stretch) -> Result<String, EngineError> {
        let place = |anchor: &Anchor| {
            let message = anchor.message.as_ref();
            message.and_then(|id| self.conversation.order.get(id)).copied()
        };
        let begins = place(&it.opened);
        let spans = view.session_spans(self.session)?;
        let before = spans.iter().filter(|span| {
            let ends = span.live_close().and_then(place);
            !span.detached && ends.is_some() && ends <= begins
        });
        let mut told = it.results.clone().unwrap_or_default();
        for text in before.filter_map(|span| span.fold.as_ref()).map(|fold| &fold.text) {
            told.push('\n');
            told.push_str(text);
        }
        Ok(told)
    }

    fn close(&mut self, change: &mut Change<'_>, stretch: usize) -> Result<Outcomes, EngineError> {
        let it = &self.stretches[stretch];
        let (Some(bound), Some(end)) = (self.of(stretch), &it.closed) else {
            return Ok(Outcomes::Done);
        };
        let view = change.view();
        if view.span_row(bound.span)?.live_close().is_some() {
            return Ok(Outcomes::Done);
        }
        let between = (it.opened.message.as_deref(), end.message.as_deref());
        let command = match it.status {
            Status::Invalidated => Command::Invalidate(Invalidate {
                frame: bound.frame,
                reason: it.reason.unwrap_or_default().to_owned(),
                anchor: end.clone(),
            }),
            status => Command::Pop(Pop {
                session: self.session.to_owned(),
                frame: Some(bound.frame),
                anchor: end.clone(),
                outcome: Self::outcome(status, it.results.as_deref()),
            }),
        };
        let now = self.engine.now();
        let limits = self.engine.settings_in(&view)?.limits;
        let decision = match decide(&view, &command, &limits, now) {
            Err(Refusal::Store(error)) => return Err(error.into()),
            Err(Refusal::OpenChildren { .. }) => return Ok(Outcomes::Waits),
            Err(_) => return Ok(Outcomes::Done),
            Ok(decision) => decision,
        };
        change.append(now, &decision.events)?;
        self.bound.insert(&it.opened, Bound { open: false, ..bound });
        let view = change.view();
        let told = self.told_in_front(&view, it)?;
        let told = (told.as_str(), Budget::UNPUSHED);
        let folder = self.conversation.folder(self.engine);
        let mut evidence =
            self.engine.evidence_between(&view, self.session, between, told, folder)?;
        evidence.remains.list = it.open_items();
        // Files are not read in a hook: what they held was recorded when they were written.
        let evidence = evidence::with_hashes(evidence, &view.frame(bound.frame)?.artifacts);
        let replied = it.kind == Kind::Turn && it.results.is_some();
        let text = self.engine.unpushed(&view, bound.frame, &evidence, replied)?;
        let mut folds: Vec<_> = decision
            .events
            .iter()
            .filter_map(|event| match event {
                Event::SpanClosed { span, .. } => Some(Event::FoldSet {
                    span: *span,
                    fold: Fold::unweighed(text.clone(), RENDERER_VERSION),
                }),
                _ => None,
            })
            .collect();
        folds.extend(evidence::taken(&view, bound.frame, bound.span, &evidence)?);
        change.append(now, &folds)?;
        self.engine.consolidate_if_many(change, bound.frame)?;
        Ok(Outcomes::Done)
    }
}
