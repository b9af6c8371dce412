//! Following a host that undoes, redoes and forks.

use std::collections::HashMap;

use super::{Decision, Neighbourhood, Refusal};
use crate::event::{Event, Session};
use crate::frame::{Frame, FrameNum, Status};
use crate::transcript::{Outcome, Span, SpanNum, SpanOrigin};

/// What of a session's calls is no longer in its transcript, and what is in it again.
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
    /// The spans that it took along, in the order of their numbers.
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
}

pub(super) fn reconcile<N: Neighbourhood>(
    tree: &N,
    command: &Reconcile,
) -> Result<Decision, Refusal<N::Error>> {
    let mut overlay = Overlay {
        tree,
        events: Vec::new(),
        status: HashMap::new(),
    };
    // Newest first on the way back, oldest first on the way forth, as the user stepped through them.
    for num in sorted(&command.unclose).into_iter().rev() {
        overlay.unclose(num)?;
    }
    for num in sorted(&command.detach).into_iter().rev() {
        overlay.detach(num)?;
    }
    for num in sorted(&command.attach) {
        overlay.attach(num)?;
    }
    for num in sorted(&command.reclose) {
        overlay.reclose(num)?;
    }
    if overlay.events.is_empty() {
        return Ok(Decision::default());
    }
    let active = overlay.active(&command.session, command)?;
    overlay.events.push(Event::ActiveSet {
        session: command.session.clone(),
        frame: active,
    });
    let mut frames: Vec<_> = overlay.status.keys().copied().collect();
    frames.sort_unstable();
    Ok(Decision {
        events: overlay.events,
        frames,
        left: Vec::new(),
    })
}

fn sorted(spans: &[SpanNum]) -> Vec<SpanNum> {
    let mut spans = spans.to_vec();
    spans.sort_unstable();
    spans
}

/// A neighbourhood with the events decided so far on top of it. The status is none for a frame that
/// is detached.
struct Overlay<'a, N> {
    tree: &'a N,
    events: Vec<Event>,
    status: HashMap<FrameNum, Option<Status>>,
}

impl<N: Neighbourhood> Overlay<'_, N> {
    fn unclose(&mut self, num: SpanNum) -> Result<(), Refusal<N::Error>> {
        let span = self.tree.span(num).map_err(Refusal::Store)?;
        if span.live_close().is_none() {
            return Ok(());
        }
        self.events.push(Event::CloseUndone {
            span: num,
            undone: true,
        });
        if self.is_last(&span)? {
            self.reopen(span.frame, Status::InProgress);
        }
        Ok(())
    }

    fn reclose(&mut self, num: SpanNum) -> Result<(), Refusal<N::Error>> {
        let span = self.tree.span(num).map_err(Refusal::Store)?;
        let Some(outcome) = span.outcome.clone().filter(|_| span.close_undone) else {
            return Ok(());
        };
        self.events.push(Event::CloseUndone {
            span: num,
            undone: false,
        });
        if self.is_last(&span)? {
            self.status.insert(span.frame, Some(outcome.status));
            self.events.push(Event::FrameEnded {
                frame: span.frame,
                outcome,
                reason: None,
            });
        }
        Ok(())
    }

    fn detach(&mut self, num: SpanNum) -> Result<(), Refusal<N::Error>> {
        let span = self.tree.span(num).map_err(Refusal::Store)?;
        if span.detached {
            return Ok(());
        }
        self.events.push(Event::SpanDetached {
            span: num,
            detached: true,
        });
        match span.origin {
            SpanOrigin::Root | SpanOrigin::Push => {
                self.status.insert(span.frame, None);
                self.events.push(Event::FrameDetached { frame: span.frame });
            }
            SpanOrigin::Activate | SpanOrigin::Reopen => {
                if let Some(outcome) = self.before(&span)? {
                    self.status.insert(span.frame, Some(outcome.status));
                    let frame = span.frame;
                    self.events.push(Event::FrameEnded {
                        frame,
                        outcome,
                        reason: None,
                    });
                } else {
                    self.reopen(span.frame, Status::Planned);
                }
            }
        }
        Ok(())
    }

    fn attach(&mut self, num: SpanNum) -> Result<(), Refusal<N::Error>> {
        let span = self.tree.span(num).map_err(Refusal::Store)?;
        if !span.detached {
            return Ok(());
        }
        self.events.push(Event::SpanDetached {
            span: num,
            detached: false,
        });
        if matches!(span.origin, SpanOrigin::Root | SpanOrigin::Push) {
            self.events.push(Event::FrameAttached { frame: span.frame });
        }
        self.reopen(span.frame, Status::InProgress);
        Ok(())
    }

    fn reopen(&mut self, frame: FrameNum, status: Status) {
        self.status.insert(frame, Some(status));
        self.events.push(Event::FrameReopened { frame, status });
    }

    fn is_last(&self, span: &Span) -> Result<bool, Refusal<N::Error>> {
        let spans = self.tree.spans_of(span.frame).map_err(Refusal::Store)?;
        Ok(spans
            .iter()
            .filter(|other| !other.detached)
            .all(|other| other.num <= span.num))
    }

    /// How the frame stood before this span of it.
    fn before(&self, span: &Span) -> Result<Option<Outcome>, Refusal<N::Error>> {
        let spans = self.tree.spans_of(span.frame).map_err(Refusal::Store)?;
        Ok(spans
            .into_iter()
            .rfind(|other| other.num < span.num && !other.detached)
            .and_then(|other| other.outcome))
    }

    /// The innermost frame that is in progress once the events hold.
    fn active(
        &self,
        session: &str,
        command: &Reconcile,
    ) -> Result<Option<FrameNum>, Refusal<N::Error>> {
        let mut spans = self.tree.open_spans(session).map_err(Refusal::Store)?;
        for num in command.unclose.iter().chain(&command.attach) {
            spans.push(self.tree.span(*num).map_err(Refusal::Store)?);
        }
        spans.sort_by_key(|span| std::cmp::Reverse(span.num));
        spans.dedup_by_key(|span| span.num);
        for span in spans {
            let status = if let Some(status) = self.status.get(&span.frame) {
                *status
            } else {
                let frame = self.tree.frame(span.frame).map_err(Refusal::Store)?;
                Some(frame.status).filter(|_| !frame.detached)
            };
            if status == Some(Status::InProgress) {
                return Ok(Some(span.frame));
            }
        }
        Ok(None)
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
        .ok_or_else(|| Refusal::NothingOpen {
            session: command.session.clone(),
        })?;
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
            decision.events.push(Event::FrameCreated {
                frame: Box::new(copy.clone()),
            });
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
        decision.events.push(Event::SpanOpened {
            span: Box::new(Span {
                num: SpanNum(next_span + offset),
                frame,
                session: command.session.clone(),
                ..forked.span.clone()
            }),
        });
    }
    decision.events.push(Event::ActiveSet {
        session: command.session.clone(),
        frame: active,
    });
    Ok(decision)
}
