//! Turns the results of framing into frames of the store.

use std::collections::HashMap;

use callstack_core::decide::{
    BeginTurn, Command, EndTurn, Enframe, Invalidate, Pop, Refusal, decide,
};
use callstack_core::event::Event;
use callstack_core::evidence::Budget;
use callstack_core::frame::{Artifact, FrameNum, Identity, Status};
use callstack_core::framing::{Change as Step, Framer, WorkKind, WorkUnit, began_root};
use callstack_core::results::ResultsSource;
use callstack_core::returned::RENDERER_VERSION;
use callstack_core::transcript::{Anchor, Fold, Outcome, Span, SpanNum, SpanOrigin};
use callstack_store::{Change, REMOVED, View};

use crate::conversation::Conversation;
use crate::conversation::framing::WorkFraming;
use crate::error::EngineError;
use crate::evidence;
use crate::evidence::SpanReader;
use crate::settings::Level;

/// The framer's changes that the store does not have.
pub(crate) enum Due {
    /// None. How many it has.
    Nothing(usize),
    /// Some, once the messages are stored that they are about. How many it has.
    Later(usize),
    /// Those that follow.
    Changes(DueChanges),
}

/// Changes that are to be carried out.
pub(crate) struct DueChanges {
    /// How many the store has before them.
    done: usize,
    /// The files that were written in units before their frames began.
    produced: HashMap<usize, Vec<Artifact>>,
    /// Whether automatic frames begin at all.
    begins: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcomes {
    Done,
    /// Something is in the way that will go.
    Waits,
}

/// A frame for a unit.
#[derive(Clone, Copy)]
struct Bound {
    frame: FrameNum,
    span: SpanNum,
    /// Whether the frame is the session's root, which goes on when the unit ends.
    is_root: bool,
    open: bool,
}

impl Bound {
    fn of(span: &Span) -> Self {
        Self {
            frame: span.frame,
            span: span.num,
            is_root: span.origin == SpanOrigin::FirstTurn,
            open: span.live_close().is_none(),
        }
    }
}

impl WorkFraming {
    /// Finds out which of the framer's changes from `done` on are to be carried out. Files are read here, so that no
    /// transaction waits for them. `level` is that of the session's autonomy.
    pub(super) fn due(
        &self,
        conversation: &Conversation,
        framer: &Framer,
        done: usize,
        level: Level,
    ) -> Due {
        let (steps, units, bound) = (framer.changes(), framer.units(), bound(conversation));
        let is_known = |step: &&Step| is_known(units, &bound, **step);
        let done = done + steps.iter().skip(done).take_while(is_known).count();
        if done == steps.len() {
            return Due::Nothing(done);
        }
        let produced = self.produced(conversation, units, &steps[done..]);
        // The evidence of ends is read from the messages, which could not be stored during the transaction.
        if steps[done..].iter().any(|step| matches!(step, Step::Closed(_)))
            && self
                .sessions
                .recorder_started()
                .is_some_and(|recorder| !conversation.written(recorder))
        {
            return Due::Later(done);
        }
        let begins = conversation.is_past() || level == Level::Auto;
        Due::Changes(DueChanges { done, produced, begins })
    }

    /// Carries out the framer's changes, as far as that is possible. Returns how many the store has then.
    pub(super) fn carry_out(
        &self,
        change: &mut Change<'_>,
        conversation: &Conversation,
        session: &str,
        framer: &Framer,
        due: &DueChanges,
    ) -> Result<usize, EngineError> {
        let mut carrier = Carrier {
            parts: self,
            conversation,
            session,
            units: framer.units(),
            bound: bound(conversation),
            pushed: framer.is_in_pushed_frame(),
            begins: due.begins,
        };
        let mut done = due.done;
        for step in &framer.changes()[done..] {
            let outcome = match *step {
                Step::Opened(unit) => carrier.open(change, unit, &due.produced)?,
                Step::Closed(unit) => carrier.close(change, unit)?,
            };
            if outcome == Outcomes::Waits {
                break;
            }
            done += 1;
        }
        Ok(done)
    }

    fn produced(
        &self,
        conversation: &Conversation,
        units: &[WorkUnit],
        steps: &[Step],
    ) -> HashMap<usize, Vec<Artifact>> {
        let mut produced = HashMap::new();
        for step in steps {
            let Step::Opened(unit) = *step else { continue };
            let it = &units[unit];
            let files = conversation.written_between(&it.opened, it.closed.as_ref());
            let mut artifacts: Vec<Artifact> = Vec::new();
            for path in files {
                if artifacts.iter().any(|known| known.path == *path) {
                    continue;
                }
                let (path, hash) = match it.closed {
                    None if !conversation.is_past() => self.kernel.env().project_file(path),
                    // Its content when work in the past ended is not known.
                    _ => (path.clone(), None),
                };
                artifacts.push(Artifact { path, hash });
            }
            produced.insert(unit, artifacts);
        }
        produced
    }
}

/// Whether the store has a change already, or has nothing to do with it.
fn is_known(units: &[WorkUnit], bound: &HashMap<&Anchor, Bound>, step: Step) -> bool {
    let (Step::Opened(unit) | Step::Closed(unit)) = step;
    let it = &units[unit];
    if it.kind == WorkKind::Subagent {
        return true;
    }
    match (step, bound.get(&it.opened)) {
        (Step::Opened(_), found) => found.is_some(),
        (Step::Closed(_), found) => found.is_some_and(|found| !found.open),
    }
}

fn bound(conversation: &Conversation) -> HashMap<&Anchor, Bound> {
    let automatic =
        conversation.spans.iter().filter(|span| span.origin.is_automatic() && !span.detached);
    automatic.map(|span| (&span.open, Bound::of(span))).collect()
}

struct Carrier<'a> {
    parts: &'a WorkFraming,
    conversation: &'a Conversation,
    session: &'a str,
    units: &'a [WorkUnit],
    /// The frames that there are, by where they begin: no two begin at one place.
    bound: HashMap<&'a Anchor, Bound>,
    /// Whether a frame that somebody pushed is open.
    pushed: bool,
    /// Whether automatic frames begin at all.
    begins: bool,
}

impl Carrier<'_> {
    fn of(&self, unit: usize) -> Option<Bound> {
        self.bound.get(&self.units[unit].opened).copied()
    }

    fn open(
        &mut self,
        change: &mut Change<'_>,
        unit: usize,
        produced: &HashMap<usize, Vec<Artifact>>,
    ) -> Result<Outcomes, EngineError> {
        let it = &self.units[unit];
        let origins: &[SpanOrigin] = match it.kind {
            WorkKind::Turn => &[SpanOrigin::Turn, SpanOrigin::FirstTurn],
            WorkKind::Todo => &[SpanOrigin::Todo],
            // A subagent's session has frames of its own.
            WorkKind::Subagent => return Ok(Outcomes::Done),
        };
        let view = change.view();
        for origin in origins {
            if let Some(span) = view.automatic_span(self.session, *origin, &it.opened)? {
                self.bound.insert(&it.opened, Bound::of(&span));
                return Ok(Outcomes::Done);
            }
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
        let (session, anchor) = (self.session.to_owned(), it.opened.clone());
        let command = if self.is_of_root(&view, it, parent)? {
            Command::BeginTurn(BeginTurn { session, frame: parent, anchor })
        } else {
            Command::Enframe(Enframe {
                session,
                parent,
                origin: origins[0],
                anchor,
                identity: self.identity_of(it),
                id: self.parts.kernel.world().id("frm-"),
                goes_on,
            })
        };
        let now = self.conversation.time(self.parts.kernel.now());
        let limits = self.parts.kernel.settings_in(&view)?.limits;
        let decision = match decide(&view, &command, &limits, now) {
            Err(Refusal::Store(error)) => return Err(error.into()),
            // A limit of the tree: work goes on without a frame.
            Err(_) => return Ok(Outcomes::Done),
            Ok(decision) => decision,
        };
        change.append(now, &decision.events)?;
        for event in &decision.events {
            if let Event::SpanOpened { span } = event {
                self.bound.insert(&it.opened, Bound::of(span));
                let artifacts = produced.get(&unit).into_iter().flatten().cloned();
                let recorded: Vec<_> = artifacts
                    .map(|artifact| Event::ArtifactRecorded { frame: span.frame, artifact })
                    .collect();
                change.append(now, &recorded)?;
            }
        }
        Ok(Outcomes::Done)
    }

    /// Returns the identity of a unit's frame: the words with which it began, unless they were removed for good.
    fn identity_of(&self, it: &WorkUnit) -> Identity {
        if !self.conversation.is_purged(it.opened.message.as_deref()) {
            return it.identity.clone();
        }
        let removed = || REMOVED.to_owned();
        Identity {
            title: removed(),
            success_criteria: removed(),
            success_criteria_compacted: removed(),
        }
    }

    /// Whether a unit is the turn with which the frame around it began, a root.
    fn is_of_root(
        &self,
        view: &View<'_>,
        it: &WorkUnit,
        root: FrameNum,
    ) -> Result<bool, EngineError> {
        if it.kind != WorkKind::Turn {
            return Ok(false);
        }
        let spans = view.frame_spans(root)?;
        let Some(first) = spans.first().filter(|span| span.origin == SpanOrigin::Root) else {
            return Ok(false);
        };
        let before = self.conversation.framing_messages_between(&first.open, &it.opened);
        Ok(!spans.iter().any(|span| span.origin == SpanOrigin::FirstTurn && !span.detached)
            && began_root(it, &view.frame(root)?.identity, before))
    }

    /// Returns the outcome of a unit: the agent's last words in it. Where there are none, its evidence shows what
    /// was done.
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

    fn close(&mut self, change: &mut Change<'_>, unit: usize) -> Result<Outcomes, EngineError> {
        let it = &self.units[unit];
        let (Some(bound), Some(end)) = (self.of(unit), &it.closed) else {
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
            status => {
                let (anchor, outcome) = (end.clone(), Self::outcome(status, it.results.as_deref()));
                if bound.is_root {
                    Command::EndTurn(EndTurn { span: bound.span, anchor, outcome })
                } else {
                    let (session, frame) = (self.session.to_owned(), Some(bound.frame));
                    Command::Pop(Pop { session, frame, anchor, outcome })
                }
            }
        };
        let now = self.conversation.time(self.parts.kernel.now());
        let limits = self.parts.kernel.settings_in(&view)?.limits;
        let decision = match decide(&view, &command, &limits, now) {
            Err(Refusal::Store(error)) => return Err(error.into()),
            Err(Refusal::OpenChildren { .. }) => return Ok(Outcomes::Waits),
            Err(_) => return Ok(Outcomes::Done),
            Ok(decision) => decision,
        };
        change.append(now, &decision.events)?;
        self.bound.insert(&it.opened, Bound { open: false, ..bound });
        let view = change.view();
        let known = (it.results.as_deref().unwrap_or_default(), Budget::UNPUSHED);
        let folder = self.conversation.folder(self.parts.kernel.project());
        let mut evidence =
            self.parts.span_reader.evidence_between(&view, self.session, between, known, folder)?;
        let opened = it.opened.message.as_deref();
        // The list may stand in the message that the item was taken up in.
        let is_known =
            !self.conversation.is_purged(opened) && !self.conversation.has_purged(opened);
        evidence.remains.list = it.open_items().filter(|_| is_known);
        evidence.renumbered =
            SpanReader::renumbered(&view, &view.span_row(bound.span)?, &evidence)?;
        // Files are not read in a hook: their hashes were recorded when they were written.
        let evidence = evidence::with_hashes(evidence, &view.frame(bound.frame)?.artifacts);
        let replied = it.kind == WorkKind::Turn && it.results.is_some();
        let text =
            self.parts.contexts.unpushed(&view, &view.span_row(bound.span)?, &evidence, replied)?;
        let goes_on = it.kind == WorkKind::Turn && evidence.files.changed_last;
        let fold = if goes_on { Fold::recent } else { Fold::unweighed };
        let mut folds: Vec<_> = decision
            .events
            .iter()
            .filter_map(|event| match event {
                Event::SpanClosed { span, .. } => {
                    Some(Event::FoldSet { span: *span, fold: fold(text.clone(), RENDERER_VERSION) })
                }
                _ => None,
            })
            .collect();
        folds.extend(evidence::taken(&view, bound.frame, bound.span, &evidence)?);
        change.append(now, &folds)?;
        if !bound.is_root {
            self.parts.commands.consolidate_if_many(change, now, bound.frame)?;
        }
        Ok(Outcomes::Done)
    }
}
