//! A store with many frames, written as events in big transactions.

use std::path::Path;

use callstack_core::event::{Event, Session};
use callstack_core::evidence::{CommandRun, Evidence, WrittenFile};
use callstack_core::frame::{Artifact, Frame, FrameNum, Identity, Pin, Status};
use callstack_core::transcript::{Anchor, Fold, Outcome, Span, SpanNum, SpanOrigin};
use callstack_store::{Store, StoreError};

use super::measure::Dice;

/// The session in a frame of which most other frames are finished children.
pub(crate) const WIDE: &str = "ses_wide";
/// The session that works far below its root.
pub(crate) const DEEP: &str = "ses_deep";

/// Ancestors above the frame that is open in the deep session.
const CHAIN: u64 = 6;
/// Finished children of the wide frame at most.
const MOST_CHILDREN: u64 = 100_000;
/// Frames of one session.
const A_SESSION: u64 = 50;
const A_TRANSACTION: u64 = 10_000;
const START: i64 = 1_700_000_000_000;

/// Fills the store in `folder` with `count` frames: two roots in progress, a chain of open frames
/// below the second, nine tenths of all others finished children of the first, the rest spread over a
/// tree below the chain.
pub(crate) fn plant(folder: &Path, count: u64) -> Result<(), StoreError> {
    let store = Store::open_unchecked(folder)?;
    let mut grower = Grower { dice: Dice::new(count), parents: Vec::new() };
    let mut next = 1;
    while next <= count {
        let end = (next + A_TRANSACTION).min(count + 1);
        store.write(|change| {
            for num in next..end {
                let events = grower.events(num, count);
                change.append(at(num), &events)?;
            }
            Ok::<_, StoreError>(())
        })?;
        next = end;
    }
    Ok(())
}

fn at(num: u64) -> i64 {
    START + i64::try_from(num).unwrap_or(0) * 1_000
}

struct Grower {
    dice: Dice,
    /// Frames of the deep tree that may have children, with their depths.
    parents: Vec<(FrameNum, u32)>,
}

impl Grower {
    fn events(&mut self, num: u64, count: u64) -> Vec<Event> {
        let first = CHAIN + 2;
        match num {
            1 => self.open(num, None, 0, WIDE),
            2 => self.open(num, None, 0, DEEP),
            num if num <= first => {
                let depth = u32::try_from(num - 2).unwrap_or(0);
                self.open(num, Some(FrameNum(num - 1)), depth, DEEP)
            }
            num => {
                let wide = ((count - first) * 9 / 10).min(MOST_CHILDREN);
                // Spread evenly, so that the children of the wide frame lie between all others.
                let place = (num - first) * wide / (count - first);
                let before = (num - first - 1) * wide / (count - first);
                let (parent, depth) = if place > before {
                    (FrameNum(1), 1)
                } else {
                    let (parent, depth) = self.parents[self.dice.below(self.parents.len())];
                    (parent, depth + 1)
                };
                self.finished(num, parent, depth)
            }
        }
    }

    fn open(
        &mut self,
        num: u64,
        parent: Option<FrameNum>,
        depth: u32,
        session: &str,
    ) -> Vec<Event> {
        let mut frame = self.frame(num, parent, depth, Status::InProgress, session);
        frame.pins.clear();
        let (frame_num, pin) = (frame.num, Pin { num, text: self.dice.words(8) });
        self.parents.extend((session == DEEP).then_some((frame_num, depth)));
        let mut events = Vec::new();
        if parent.is_none() {
            events.push(Event::SessionOpened { session: session_of(session) });
        }
        let span = span(&frame, session, None);
        events.push(Event::FrameCreated { frame: Box::new(frame) });
        events.push(Event::PinSet { frame: frame_num, pin });
        if parent.is_none() {
            events.push(Event::RootSet { session: session.to_owned(), frame: frame_num });
        }
        events.push(Event::ActiveSet { session: session.to_owned(), frame: Some(frame_num) });
        events.push(Event::SpanOpened { span: Box::new(span) });
        events
    }

    fn finished(&mut self, num: u64, parent: FrameNum, depth: u32) -> Vec<Event> {
        let session = format!("ses_{:06}", num / A_SESSION);
        let status = match self.dice.below(100) {
            0..85 => Status::Completed,
            85..93 => Status::Failed,
            93..96 => Status::Blocked,
            96..98 => Status::Invalidated,
            _ => Status::Planned,
        };
        let mut frame = self.frame(num, Some(parent), depth, status, &session);
        if parent != FrameNum(1) && depth < 7 {
            self.parents.push((frame.num, depth));
        }
        let mut events = Vec::new();
        if num.is_multiple_of(A_SESSION) {
            events.push(Event::SessionOpened { session: session_of(&session) });
        }
        if status == Status::Planned {
            frame.session = None;
            events.push(Event::FrameCreated { frame: Box::new(frame) });
            return events;
        }
        let outcome = Outcome {
            status,
            results: frame.results.clone(),
            results_compacted: frame.results_compacted.clone(),
            source: frame.results_source,
        };
        let span = span(&frame, &session, Some(outcome));
        let taken = Event::EvidenceTaken {
            frame: frame.num,
            span: Some(span.num),
            evidence: Box::new(self.evidence(&frame)),
        };
        events.push(Event::FrameCreated { frame: Box::new(frame) });
        events.push(Event::SpanOpened { span: Box::new(span) });
        events.push(taken);
        events
    }

    fn evidence(&mut self, frame: &Frame) -> Evidence {
        let dice = &mut self.dice;
        let files = frame.artifacts.iter();
        Evidence {
            written: files
                .map(|it| WrittenFile { path: it.path.clone(), hash: it.hash.clone() })
                .collect(),
            commands: (0..3).map(|_| CommandRun { line: dice.words(5), exits: vec![0] }).collect(),
            unchecked: (0..40).map(|_| dice.words(1)).collect(),
            ..Evidence::default()
        }
    }

    fn frame(
        &mut self,
        num: u64,
        parent: Option<FrameNum>,
        depth: u32,
        status: Status,
        session: &str,
    ) -> Frame {
        let dice = &mut self.dice;
        let finished = status.is_finished();
        Frame {
            num: FrameNum(num),
            id: format!("frm-{num:032x}"),
            parent,
            session: Some(session.to_owned()),
            status,
            identity: Identity {
                title: dice.words(3),
                success_criteria: dice.words(14),
                success_criteria_compacted: dice.words(6),
            },
            identity_derived: false,
            results: finished.then(|| dice.words(60)),
            results_compacted: finished.then(|| dice.words(20)),
            results_source: None,
            created_at: at(num),
            updated_at: at(num),
            begun_at: None,
            ended_at: finished.then_some(at(num)),
            artifacts: (0..dice.below(4))
                .map(|_| Artifact {
                    path: format!("src/{}/{}.rs", dice.words(1), dice.words(1)),
                    hash: Some(format!("{num:064x}")),
                })
                .collect(),
            decisions: (0..dice.below(3)).map(|_| dice.words(10)).collect(),
            pins: Vec::new(),
            log_path: None,
            invalidation_reason: (status == Status::Invalidated).then(|| dice.words(5)),
            invalidated_at: (status == Status::Invalidated).then_some(at(num)),
            depth,
            detached: false,
            consolidated: None,
        }
    }
}

fn session_of(id: &str) -> Session {
    Session { id: id.to_owned(), host: "bench".to_owned(), parent: None, root: None, active: None }
}

fn span(frame: &Frame, session: &str, outcome: Option<Outcome>) -> Span {
    let num = frame.num.0;
    let anchor = |what: &str| Anchor {
        message: Some(format!("msg_{num:08}_{what}")),
        call: Some(format!("call_{num:08}_{what}")),
    };
    Span {
        num: SpanNum(num),
        frame: frame.num,
        session: session.to_owned(),
        open: anchor("open"),
        origin: if frame.parent.is_none() { SpanOrigin::Root } else { SpanOrigin::Push },
        close: outcome.as_ref().map(|_| anchor("close")),
        fold: outcome.as_ref().map(|outcome| Fold {
            text: outcome.results.clone().unwrap_or_default(),
            settled_at: Some(format!("msg_{num:08}_close")),
            settled_serial: Some(1),
            renderer: 1,
            held: None,
        }),
        outcome,
        close_undone: false,
        detached: false,
        foldable: frame.parent.is_some(),
    }
}
