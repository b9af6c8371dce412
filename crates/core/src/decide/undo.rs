//! Following a host that undoes, redoes and forks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Decision, Neighbourhood, Refusal};
use crate::event::{Event, Session};
use crate::evidence::Evidence;
use crate::frame::{Frame, FrameNum, Status};
use crate::transcript::{Outcome, Span, SpanNum, SpanOrigin};

/// The calls of a session that left its transcript, and those that are in it again.
#[derive(Clone, Debug, Default)]
pub struct Reconcile {
    /// The session.
    pub session: String,
    /// Spans whose opening call is gone.
    pub detach: Vec<SpanNum>,
    /// Spans whose opening call is back.
    pub attach: Vec<SpanNum>,
    /// Spans whose closing call is gone.
    pub unclose: Vec<SpanNum>,
    /// Spans whose closing call is back.
    pub reclose: Vec<SpanNum>,
}

/// Give a fork of a session copies of the frames whose calls it took along.
#[derive(Clone, Debug)]
pub struct Fork {
    /// The new session; it has a root already.
    pub session: String,
    /// The spans whose calls it took along, in the order of their numbers.
    pub spans: Vec<ForkedSpan>,
    /// Ids for the copied frames, at least as many as there are spans.
    pub ids: Vec<String>,
}

/// A span as it stands in the fork's own transcript.
#[derive(Clone, Debug)]
pub struct ForkedSpan {
    /// The span with the anchors of the fork: its close is none where the fork begins before it.
    pub span: Span,
    /// The frame as it is in the session that was forked.
    pub frame: Frame,
    /// The evidence of the work in the span when it was closed.
    pub evidence: Evidence,
}

pub(super) fn reconcile<N: Neighbourhood>(
    tree: &N,
    command: &Reconcile,
) -> Result<Decision, Refusal<N::Error>> {
    let mut overlay = Overlay {
        tree,
        events: Vec::new(),
        spans: BTreeMap::new(),
        frames: BTreeMap::new(),
        concerned: BTreeSet::from([command.session.clone()]),
    };
    overlay.change_spans(command)?;
    if overlay.events.is_empty() {
        return Ok(Decision::default());
    }
    let touched: BTreeSet<_> = overlay.spans.values().map(|span| span.frame).collect();
    for num in &touched {
        overlay.stand(*num)?;
    }
    for num in &touched {
        overlay.place(*num)?;
    }
    for session in std::mem::take(&mut overlay.concerned) {
        overlay.activate(&session)?;
    }
    Ok(Decision {
        events: overlay.events,
        frames: overlay.frames.into_keys().collect(),
        left: Vec::new(),
    })
}

/// The status of a frame according to its spans.
#[derive(Clone, Debug, PartialEq)]
enum SpanStatus {
    Planned,
    InProgress { session: String },
    Ended { session: String, outcome: Outcome },
}

impl SpanStatus {
    fn status(&self) -> Status {
        match self {
            Self::Planned => Status::Planned,
            Self::InProgress { .. } => Status::InProgress,
            Self::Ended { outcome, .. } => outcome.status,
        }
    }

    /// A frame has the status in which its last span left it. A push that was undone takes the frame out of the tree
    /// and says nothing about its status; an activation that was undone counts as if it had never been made.
    fn of(spans: &[Span]) -> Self {
        let last = spans.iter().rfind(|span| span.origin.made_frame() || !span.detached);
        match last {
            None => Self::Planned,
            Some(span) => {
                let session = span.session.clone();
                match span.live_close().and(span.outcome.clone()) {
                    Some(outcome) => Self::Ended { session, outcome },
                    None => Self::InProgress { session },
                }
            }
        }
    }
}

/// A neighbourhood with the decisions so far on top of it.
struct Overlay<'a, N> {
    tree: &'a N,
    events: Vec<Event>,
    spans: BTreeMap<SpanNum, Span>,
    frames: BTreeMap<FrameNum, Frame>,
    /// Sessions that may work in another frame afterwards.
    concerned: BTreeSet<String>,
}

impl<N: Neighbourhood> Overlay<'_, N> {
    fn change_spans(&mut self, command: &Reconcile) -> Result<(), Refusal<N::Error>> {
        let closes = command.unclose.iter().map(|num| (*num, true));
        let closes = closes.chain(command.reclose.iter().map(|num| (*num, false)));
        for (num, undone) in closes {
            let span = self.span(num)?;
            if span.close.is_some() && span.close_undone != undone {
                self.spans.insert(num, Span { close_undone: undone, ..span });
                self.events.push(Event::CloseUndone { span: num, undone });
            }
        }
        let opens = command.detach.iter().map(|num| (*num, true));
        let opens = opens.chain(command.attach.iter().map(|num| (*num, false)));
        for (num, detached) in opens {
            let span = self.span(num)?;
            if span.detached != detached {
                self.spans.insert(num, Span { detached, ..span });
                self.events.push(Event::SpanDetached { span: num, detached });
            }
        }
        Ok(())
    }

    /// Gives a frame the status that follows from its spans now. A status that did not follow from them before came
    /// from elsewhere (an invalidation while an inner frame went on, the end of a blocked frame), and no undo reaches
    /// it.
    fn stand(&mut self, num: FrameNum) -> Result<(), Refusal<N::Error>> {
        let mut before = self.tree.spans_of(num).map_err(Refusal::Store)?;
        // A turn of a root is not evidence for the root, which goes on after it.
        before.retain(|span| span.origin != SpanOrigin::FirstTurn);
        let after: Vec<Span> = before.iter().map(|span| self.changed(span)).collect();
        let mut frame = self.frame(num)?;
        let (before, standing) = (self.standing(&before), self.standing(&after));
        if before.status() != frame.status || standing == before {
            return Ok(());
        }
        self.concerned.extend(frame.session.clone());
        match &standing {
            SpanStatus::Planned => {
                let status = Status::Planned;
                self.events.push(Event::FrameReopened { frame: num, status });
            }
            SpanStatus::InProgress { session } => self.begin(&frame, session),
            SpanStatus::Ended { session, outcome } => {
                // The session that got the frame by an activation loses it when that is undone.
                if frame.session.as_ref() != Some(session) {
                    self.begin(&frame, session);
                }
                self.events.push(Event::FrameEnded {
                    frame: num,
                    outcome: outcome.clone(),
                    reason: None,
                });
            }
        }
        frame.status = standing.status();
        frame.session = match standing {
            SpanStatus::Planned => None,
            SpanStatus::InProgress { session } | SpanStatus::Ended { session, .. } => Some(session),
        };
        self.concerned.extend(frame.session.clone());
        self.frames.insert(num, frame);
        Ok(())
    }

    fn begin(&mut self, frame: &Frame, session: &str) {
        self.events.push(Event::FrameReopened { frame: frame.num, status: Status::InProgress });
        if frame.session.as_deref() != Some(session) {
            self.events.push(Event::FrameStarted {
                frame: frame.num,
                id: frame.id.clone(),
                session: session.to_owned(),
            });
        }
    }

    /// Returns a frame's status by its spans. A close that was undone may only have tidied up: the frame had been
    /// invalidated while an inner one went on, and its span closed with the inner one's pop or with its own
    /// reopening. It stays invalidated then.
    fn standing(&self, spans: &[Span]) -> SpanStatus {
        let Some(last) = spans.iter().rfind(|span| !span.detached && span.close_undone) else {
            return SpanStatus::of(spans);
        };
        let tidied = |other: &Span| {
            other.num > last.num
                && other.origin != SpanOrigin::FirstTurn
                && (other.close == last.close || Some(&other.open) == last.close.as_ref())
        };
        match &last.outcome {
            Some(outcome)
                if outcome.status == Status::Invalidated && self.spans.values().any(tidied) =>
            {
                SpanStatus::Ended { session: last.session.clone(), outcome: outcome.clone() }
            }
            _ => SpanStatus::of(spans),
        }
    }

    /// Attaches or detaches a frame and everything below it, according to its own span and its parent.
    fn place(&mut self, num: FrameNum) -> Result<(), Refusal<N::Error>> {
        for below in self.tree.subtree(num).map_err(Refusal::Store)? {
            let spans = self.tree.spans_of(below.num).map_err(Refusal::Store)?;
            let itself =
                spans.iter().any(|span| span.origin.made_frame() && self.changed(span).detached);
            let parent = match below.parent {
                Some(parent) => self.frame(parent)?.detached,
                None => false,
            };
            if self.was_taken_out(&below, &spans)? {
                continue;
            }
            let detached = itself || parent;
            let mut frame = self.frame(below.num)?;
            if frame.detached == detached {
                continue;
            }
            let num = below.num;
            self.events.push(if detached {
                Event::FrameDetached { frame: num }
            } else {
                Event::FrameAttached { frame: num }
            });
            frame.detached = detached;
            self.concerned.extend(frame.session.clone());
            self.frames.insert(num, frame);
        }
        Ok(())
    }

    /// Whether a frame is out of the tree by itself, because it was taken out of the plan: no undo or redo
    /// reaches it.
    fn was_taken_out(&self, frame: &Frame, spans: &[Span]) -> Result<bool, Refusal<N::Error>> {
        let undone = spans.iter().any(|span| span.origin.made_frame() && span.detached);
        let parent = match frame.parent {
            Some(parent) => self.tree.frame(parent).map_err(Refusal::Store)?.detached,
            None => false,
        };
        Ok(frame.detached && !undone && !parent)
    }

    /// Makes the innermost frame that a session has in progress its active one.
    fn activate(&mut self, session: &str) -> Result<(), Refusal<N::Error>> {
        let Some(known) = self.tree.session(session).map_err(Refusal::Store)? else {
            return Ok(());
        };
        let open = self.tree.open_spans(session).map_err(Refusal::Store)?;
        let mut spans: BTreeMap<_, _> = open.into_iter().map(|span| (span.num, span)).collect();
        spans.extend(self.spans.iter().map(|(num, span)| (*num, span.clone())));
        let mut active = None;
        for span in spans.values().rev() {
            let frame = self.frame(span.frame)?;
            let works = frame.status == Status::InProgress
                && !frame.detached
                && frame.session.as_deref() == Some(session)
                && span.origin != SpanOrigin::FirstTurn;
            if works && span.session == session && !span.detached && span.live_close().is_none() {
                active = Some(span.frame);
                break;
            }
        }
        if active != known.active {
            let session = session.to_owned();
            self.events.push(Event::ActiveSet { session, frame: active });
        }
        Ok(())
    }

    fn span(&self, num: SpanNum) -> Result<Span, Refusal<N::Error>> {
        match self.spans.get(&num) {
            Some(span) => Ok(span.clone()),
            None => self.tree.span(num).map_err(Refusal::Store),
        }
    }

    fn changed(&self, span: &Span) -> Span {
        self.spans.get(&span.num).unwrap_or(span).clone()
    }

    fn frame(&self, num: FrameNum) -> Result<Frame, Refusal<N::Error>> {
        match self.frames.get(&num) {
            Some(frame) => Ok(frame.clone()),
            None => self.tree.frame(num).map_err(Refusal::Store),
        }
    }
}

pub(super) fn fork<N: Neighbourhood>(
    tree: &N,
    command: &Fork,
    now: i64,
) -> Result<Decision, Refusal<N::Error>> {
    let session: Session = tree
        .session(&command.session)
        .map_err(Refusal::Store)?
        .ok_or_else(|| Refusal::NothingOpen { session: command.session.clone() })?;
    let root = match session.root {
        Some(root) => Some(tree.frame(root).map_err(Refusal::Store)?),
        None => None,
    };
    let next_frame = tree.next_frame().map_err(Refusal::Store)?.0;
    let next_span = tree.next_span().map_err(Refusal::Store)?.0;
    let mut copies: HashMap<FrameNum, Frame> = HashMap::new();
    let mut decision = Decision::default();
    let mut active = session.active;
    for (offset, (forked, id)) in (0..).zip(command.spans.iter().zip(&command.ids)) {
        if !copies.contains_key(&forked.frame.num) {
            let original = forked.frame.parent.and_then(|parent| copies.get(&parent));
            let parent = original.or(root.as_ref());
            let copy = Frame {
                num: FrameNum(next_frame + copies.len() as u64),
                id: id.clone(),
                parent: parent.map(|parent| parent.num),
                session: Some(command.session.clone()),
                depth: parent.map_or(0, |parent| parent.depth + 1),
                created_at: now,
                updated_at: now,
                detached: false,
                pins: Vec::new(),
                ..forked.frame.clone()
            };
            decision.frames.push(copy.num);
            decision.events.push(Event::FrameCreated { frame: Box::new(copy.clone()) });
            copies.insert(forked.frame.num, copy);
        }
        let frame = copies[&forked.frame.num].num;
        let outcome = forked.span.live_close().and(forked.span.outcome.clone());
        decision.events.push(if let Some(outcome) = outcome {
            Event::FrameEnded { frame, outcome, reason: None }
        } else {
            active = Some(frame);
            Event::FrameReopened { frame, status: Status::InProgress }
        });
        let num = SpanNum(next_span + offset);
        decision.events.push(Event::SpanOpened {
            span: Box::new(Span {
                num,
                frame,
                session: command.session.clone(),
                ..forked.span.clone()
            }),
        });
        if forked.span.live_close().is_some() && !forked.evidence.is_empty() {
            let evidence = Box::new(forked.evidence.clone());
            decision.events.push(Event::EvidenceTaken { frame, span: Some(num), evidence });
        }
    }
    decision.events.push(Event::ActiveSet { session: command.session.clone(), frame: active });
    Ok(decision)
}
