//! Takes each step in the store and in the model, and compares.

use std::collections::BTreeMap;

use callstack_core::decide::{
    Activate, Command, Invalidate, OpenRoot, Plan, PlannedChild, Pop, Push, Reconcile, Refusal,
    Reopen, decide,
};
use callstack_core::frame::{Artifact, Frame, FrameNum, Identity, Status};
use callstack_core::limits::Limits;
use callstack_core::results::ResultsSource;
use callstack_core::transcript::{Anchor, Outcome, Span, SpanNum};
use callstack_store::{Store, StoreError};

use super::model::{CHILDREN, Call, DEPTH, LIVE, Model, Outline};

const NAMES: [&str; 3] = ["ses_a", "ses_b", "ses_c"];
const LIMITS: Limits =
    Limits { depth: DEPTH, children: CHILDREN as u64, live_frames: LIVE as u64, live_sessions: 32 };

#[derive(Clone, Debug)]
pub(super) enum Step {
    OpenRoot(usize),
    Push(usize),
    Pop(usize, Option<usize>, usize),
    Plan(Option<usize>, usize),
    Activate(usize, usize),
    Invalidate(usize, usize),
    Reopen(usize, usize),
    Undo(usize, usize),
    Redo(usize, usize),
    Identity(usize, bool),
    Artifact(usize, usize, usize),
    Decision(usize, usize),
    Pin(usize, usize),
    Unpin(usize, u64),
}

pub(super) struct Harness {
    store: Store,
    model: Model,
    /// Whether the model still follows.
    modelled: bool,
    now: i64,
    ids: u64,
    /// The state of each frame after the last step.
    before: BTreeMap<FrameNum, Frame>,
}

type Refused = Refusal<StoreError>;

struct Failed(Refused);

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self(Refusal::Store(error))
    }
}

impl Harness {
    pub(super) fn new(started_by: &[Option<usize>]) -> Self {
        Self {
            store: Store::in_memory().unwrap(),
            model: Model::new(started_by),
            modelled: true,
            now: 1_000,
            ids: 0,
            before: BTreeMap::new(),
        }
    }

    /// Checks only the properties of any tree from now on.
    pub(super) fn leave_the_model(&mut self) {
        self.modelled = false;
    }

    pub(super) fn take(&mut self, step: &Step) {
        self.now += 10;
        match step {
            Step::Undo(session, calls) => {
                self.model.undo(*session, *calls);
                self.follow_transcript(*session);
            }
            Step::Redo(session, calls) => {
                self.model.redo(*session, *calls);
                self.follow_transcript(*session);
            }
            step => {
                let Some((command, agreed)) = self.command(step) else { return };
                let done = self.carry_out(&command);
                assert_eq!(
                    done.is_ok(),
                    agreed,
                    "{command:?}: the store says {done:?}, the model {}",
                    if agreed { "yes" } else { "no" }
                );
            }
        }
        let may_come_back = matches!(step, Step::Undo(..) | Step::Redo(..) | Step::Reopen(..));
        self.compare(may_come_back);
    }

    fn carry_out(&self, command: &Command) -> Result<(), String> {
        let outcome = self.store.write(|change| {
            let decision = decide(&change.view(), command, &LIMITS, self.now).map_err(Failed)?;
            change.append(self.now, &decision.events)?;
            Ok::<_, Failed>(())
        });
        match outcome {
            Ok(()) => Ok(()),
            Err(Failed(Refusal::Store(error))) => panic!("{command:?}: the store failed: {error}"),
            Err(Failed(refusal)) => Err(refusal.to_string()),
        }
    }

    fn id(&mut self, prefix: &str) -> String {
        self.ids += 1;
        format!("{prefix}{:04}", self.ids)
    }

    fn ago(&self, frames: usize) -> Option<usize> {
        let count = self.model.nodes.len();
        (count > 0).then(|| count - 1 - frames % count)
    }

    /// Returns the command that a step means now, and whether the model allows it; none where it is about a frame and
    /// there is none yet.
    fn command(&mut self, step: &Step) -> Option<(Command, bool)> {
        Some(match step {
            Step::OpenRoot(session) => self.open_root(*session),
            Step::Push(session) => {
                let call = self.model.call(*session);
                let id = self.id("frm-");
                let title = format!("work {id}");
                let agreed = self.model.push(call, &id, &title);
                let session = NAMES[*session].to_owned();
                let identity = identity(&title);
                (Command::Push(Push { session, anchor: anchor(call), identity, id }), agreed)
            }
            Step::Pop(session, frame, ending) => self.pop(*session, *frame, *ending)?,
            Step::Plan(parent, shape) => self.plan(*parent, *shape)?,
            Step::Activate(session, frame) => {
                let node = self.ago(*frame)?;
                let call = self.model.call(*session);
                let id = self.id("frm-");
                let agreed = self.model.activate(call, node, &id);
                let session = NAMES[*session].to_owned();
                let command = Activate { frame: num(node), session, anchor: anchor(call), id };
                (Command::Activate(command), agreed)
            }
            Step::Invalidate(session, frame) => {
                let node = self.ago(*frame)?;
                let call = self.model.call(*session);
                let anchor = self.anchor_in(call, node);
                let agreed = self.model.invalidate(call, node);
                let reason = format!("no longer needed since {}", self.now);
                (Command::Invalidate(Invalidate { frame: num(node), reason, anchor }), agreed)
            }
            Step::Reopen(session, frame) => {
                let node = self.ago(*frame)?;
                let call = self.model.call(*session);
                let agreed = self.model.reopen(call, node);
                let session = NAMES[*session].to_owned();
                let command = Reopen { frame: num(node), session, anchor: anchor(call) };
                (Command::Reopen(command), agreed)
            }
            Step::Identity(frame, derived) => {
                let node = self.ago(*frame)?;
                let title = format!("renamed at {}", self.now);
                let agreed = self.model.set_identity(node, &title, *derived);
                let identity = identity(&title);
                (
                    Command::SetIdentity {
                        frame: num(node),
                        identity,
                        derived: *derived,
                        again: false,
                    },
                    agreed,
                )
            }
            Step::Artifact(frame, path, hash) => {
                let node = self.ago(*frame)?;
                let path = format!("src/file{path}.rs");
                let hash = (*hash > 0).then(|| format!("{hash:064}"));
                let agreed = self.model.add_artifact(node, &path, hash.as_deref());
                let artifact = Artifact { path, hash };
                (Command::AddArtifact { frame: num(node), artifact }, agreed)
            }
            Step::Decision(frame, text) => {
                let node = self.ago(*frame)?;
                let text = format!("decision {text}");
                let agreed = self.model.add_decision(node, &text);
                (Command::AddDecision { frame: num(node), text }, agreed)
            }
            Step::Pin(frame, text) => {
                let node = self.ago(*frame)?;
                let text = format!("never {text}");
                let agreed = self.model.pin(node, &text);
                (Command::Pin { frame: num(node), text }, agreed)
            }
            Step::Unpin(frame, pin) => {
                let node = self.ago(*frame)?;
                let agreed = self.model.unpin(node, *pin);
                (Command::Unpin { frame: num(node), pin: *pin }, agreed)
            }
            Step::Undo(..) | Step::Redo(..) => return None,
        })
    }

    fn open_root(&mut self, session: usize) -> (Command, bool) {
        let spare_id = self.id("frm-");
        let title = format!("root {spare_id}");
        let agreed = self.model.open_root(session, NAMES[session], &spare_id, &title);
        let command = OpenRoot {
            session: NAMES[session].to_owned(),
            host: "test".to_owned(),
            parent_session: self.model.started_by[session].map(|it| NAMES[it].to_owned()),
            caller: None,
            identity: identity(&title),
            derived: true,
            spare_id,
            anchor: Anchor { message: None, call: None },
        };
        (Command::OpenRoot(command), agreed)
    }

    fn pop(
        &mut self,
        session: usize,
        frame: Option<usize>,
        ending: usize,
    ) -> Option<(Command, bool)> {
        let named = match frame {
            Some(frame) => Some(self.ago(frame)?),
            None => None,
        };
        let status = Status::ALL[[2, 2, 3, 4, 5, 0][ending]];
        let results = format!("done at {}", self.now);
        let call = self.model.call(session);
        let anchor = match named {
            Some(node) => self.anchor_in(call, node),
            None => anchor(call),
        };
        let agreed = self.model.pop(call, named, status, &results);
        let command = Pop {
            session: NAMES[session].to_owned(),
            frame: named.map(num),
            anchor,
            outcome: Outcome {
                status,
                results: Some(results),
                results_compacted: None,
                source: Some(ResultsSource::Agent),
            },
        };
        Some((Command::Pop(command), agreed))
    }

    fn plan(&mut self, parent: Option<usize>, shape: usize) -> Option<(Command, bool)> {
        let parent = match parent {
            Some(parent) => Some(self.ago(parent)?),
            None => None,
        };
        let outlines = outlines(shape);
        let mut planned = Vec::new();
        for outline in &outlines {
            planned.push(self.planned(outline));
        }
        let mut ids = Vec::new();
        for child in &planned {
            collect_ids(child, &mut ids);
        }
        let mut ids = ids.into_iter();
        let agreed = self.model.plan(parent, &outlines, &mut || ids.next().unwrap());
        (Command::Plan(Plan { parent: parent.map(num), children: planned }), agreed).into()
    }

    fn planned(&mut self, outline: &Outline) -> PlannedChild {
        PlannedChild {
            id: self.id("plan-"),
            identity: identity(&outline.title),
            children: outline.below.iter().map(|it| self.planned(it)).collect(),
        }
    }

    /// A call ends a frame at its own place only in the session that works in the frame.
    fn anchor_in(&self, call: Call, node: usize) -> Anchor {
        if self.model.begun_in(node) == Some(call.0) {
            anchor(call)
        } else {
            Anchor { message: None, call: None }
        }
    }

    /// Reports, as a host does, that a transcript has lost calls or got them back.
    fn follow_transcript(&mut self, session: usize) {
        let spans = self.spans(session);
        let mut reconcile =
            Reconcile { session: NAMES[session].to_owned(), ..Reconcile::default() };
        for span in &spans {
            match self.shown(session, &span.open) {
                Some(false) if !span.detached => reconcile.detach.push(span.num),
                Some(true) if span.detached => reconcile.attach.push(span.num),
                _ => {}
            }
            match span.close.as_ref().and_then(|close| self.shown(session, close)) {
                Some(false) if !span.close_undone => reconcile.unclose.push(span.num),
                Some(true) if span.close_undone => reconcile.reclose.push(span.num),
                _ => {}
            }
        }
        self.carry_out(&Command::Reconcile(reconcile)).unwrap();
    }

    fn shown(&self, session: usize, anchor: &Anchor) -> Option<bool> {
        let place = anchor.call.as_ref()?.strip_prefix("call-")?.parse().unwrap();
        Some(self.model.shows((session, place)))
    }

    pub(super) fn reconcile_wildly(&mut self, session: usize, picks: [&Vec<usize>; 4]) {
        self.now += 10;
        let spans = self.spans(session);
        if spans.is_empty() {
            return;
        }
        let [detach, attach, unclose, reclose] = picks.map(|picks| {
            picks.iter().map(|pick| spans[pick % spans.len()].num).collect::<Vec<SpanNum>>()
        });
        let session = NAMES[session].to_owned();
        let reconcile = Reconcile { session, detach, attach, unclose, reclose };
        self.carry_out(&Command::Reconcile(reconcile)).unwrap();
        self.compare(true);
    }

    /// Every session that is known can go on.
    pub(super) fn push_everywhere(&mut self) {
        for session in NAMES.map(str::to_owned) {
            if self.store.read(|view| view.session_row(&session)).unwrap().is_none() {
                continue;
            }
            let anchor = Anchor { message: None, call: None };
            let (id, identity) = (self.id("frm-"), identity("more"));
            let push = Push { session, anchor, identity, id };
            // At a limit it is refused, which is as good.
            let _refused = self.carry_out(&Command::Push(push)).err();
            self.compare(true);
        }
    }

    fn spans(&self, session: usize) -> Vec<Span> {
        self.store.read(|view| view.session_spans(NAMES[session])).unwrap()
    }

    fn compare(&mut self, may_come_back: bool) {
        let frames = self.frames();
        self.check_tree(&frames);
        for (num, before) in &self.before {
            let now = &frames[num];
            assert_eq!(now.parent, before.parent, "{num} has another parent");
            if before.status.is_terminal() && !may_come_back {
                assert_eq!(now.status, before.status, "{num} was {}", before.status);
            }
        }
        if self.modelled {
            self.compare_with_model(&frames);
        }
        self.before = frames;
    }

    /// Every frame that ever was, since handles are given out in order and nothing is deleted.
    fn frames(&self) -> BTreeMap<FrameNum, Frame> {
        self.store
            .read(|view| {
                let mut frames = BTreeMap::new();
                for num in 1.. {
                    match view.frame(FrameNum(num)) {
                        Ok(frame) => frames.insert(frame.num, frame),
                        Err(StoreError::NoFrame(_)) => break,
                        Err(error) => return Err(error),
                    };
                }
                Ok(frames)
            })
            .unwrap()
    }

    /// Checks the properties of every tree, whatever was done to it.
    fn check_tree(&self, frames: &BTreeMap<FrameNum, Frame>) {
        let mut counts: BTreeMap<Option<FrameNum>, BTreeMap<Status, u64>> = BTreeMap::new();
        let mut all: BTreeMap<Status, u64> = BTreeMap::new();
        let mut roots = Vec::new();
        for (num, frame) in frames {
            // A parent is always older, so there is no cycle.
            let parent = frame.parent.map(|parent| {
                assert!(parent < *num, "{num} is below the younger {parent}");
                &frames[&parent]
            });
            assert_eq!(frame.depth, parent.map_or(0, |parent| parent.depth + 1), "{num}");
            if frame.detached {
                continue;
            }
            assert!(parent.is_none_or(|it| !it.detached), "{num} is an orphan");
            assert_eq!(
                frame.status == Status::Invalidated,
                frame.invalidation_reason.is_some() && frame.invalidated_at.is_some(),
                "{num} is {} because {:?} at {:?}",
                frame.status,
                frame.invalidation_reason,
                frame.invalidated_at
            );
            *counts.entry(frame.parent).or_default().entry(frame.status).or_default() += 1;
            *all.entry(frame.status).or_default() += 1;
            if frame.parent.is_none() {
                roots.push(*num);
            }
        }
        self.store
            .read(|view| {
                for parent in frames.keys().map(|num| Some(*num)).chain([None]) {
                    let counted = view.counts(parent)?;
                    assert_eq!(counted, counts.remove(&parent).unwrap_or_default(), "{parent:?}");
                }
                assert_eq!(view.all_counts()?, all);
                let found: Vec<_> = view.children(None)?.iter().map(|it| it.num).collect();
                assert_eq!(found, roots);
                for session in NAMES {
                    let Some(session) = view.session_row(session)? else { continue };
                    let Some(active) = session.active else { continue };
                    let frame = &frames[&active];
                    assert!(
                        frame.status == Status::InProgress && !frame.detached,
                        "{} works in {active}, which is {} and {}",
                        session.id,
                        frame.status,
                        if frame.detached { "detached" } else { "attached" }
                    );
                    assert_eq!(frame.session.as_deref(), Some(session.id.as_str()));
                }
                Ok::<_, StoreError>(())
            })
            .unwrap();
    }

    fn compare_with_model(&self, frames: &BTreeMap<FrameNum, Frame>) {
        let model = &self.model;
        assert_eq!(frames.len(), model.nodes.len(), "the number of frames");
        for (node, expected) in model.nodes.iter().enumerate() {
            let frame = &frames[&num(node)];
            let label = frame.label();
            assert_eq!(frame.detached, model.detached(node), "{label} detached");
            assert_eq!(frame.parent, expected.parent.map(num), "parent of {label}");
            assert_eq!(frame.id, expected.id, "id of {label}");
            assert_eq!(frame.identity.title, expected.title, "title of {label}");
            assert_eq!(frame.identity_derived, expected.derived, "{label} derived");
            let artifacts: Vec<_> =
                frame.artifacts.iter().map(|it| (it.path.clone(), it.hash.clone())).collect();
            assert_eq!(artifacts, expected.artifacts, "artifacts of {label}");
            assert_eq!(frame.decisions, expected.decisions, "decisions of {label}");
            let pins: Vec<_> = frame.pins.iter().map(|it| (it.num, it.text.clone())).collect();
            assert_eq!(pins, expected.pins, "pins of {label}");
            if frame.detached {
                continue;
            }
            assert_eq!(frame.status, model.status(node), "status of {label}");
            let session = match frame.status {
                Status::Planned => None,
                _ => model.begun_in(node).map(|it| NAMES[it]),
            };
            assert_eq!(frame.session.as_deref(), session, "session of {label}");
            if matches!(frame.status, Status::Completed | Status::Failed | Status::Blocked) {
                assert_eq!(frame.results.as_deref(), model.results(node), "results of {label}");
            }
        }
        self.store
            .read(|view| {
                for (at, expected) in model.sessions.iter().enumerate() {
                    let session = view.session_row(NAMES[at])?;
                    assert_eq!(session.is_some(), expected.known, "{}", NAMES[at]);
                    let active = session.as_ref().and_then(|it| it.active);
                    assert_eq!(active, expected.active.map(num), "active frame of {}", NAMES[at]);
                    assert_eq!(session.and_then(|it| it.root), expected.root.map(num));
                }
                for (node, expected) in model.nodes.iter().enumerate() {
                    for name in expected.former.iter().chain([&expected.id]) {
                        assert_eq!(view.resolve(name)?.num, num(node), "{name}");
                    }
                    let children: Vec<_> =
                        view.children(Some(num(node)))?.iter().map(|it| it.num).collect();
                    let expected: Vec<_> =
                        model.children(Some(node)).into_iter().map(num).collect();
                    assert_eq!(children, expected, "children of {}", num(node));
                }
                Ok::<_, StoreError>(())
            })
            .unwrap();
    }

    /// The derived tables are what the log says.
    pub(super) fn check_store(&self) {
        let health = self.store.check().unwrap();
        assert_eq!(health.damage, Vec::<String>::new());
        assert_eq!(health.drifted, Vec::<String>::new());
    }
}

/// Handles are given out from 1 on.
fn num(node: usize) -> FrameNum {
    FrameNum(node as u64 + 1)
}

fn anchor(call: Call) -> Anchor {
    Anchor { message: Some(format!("msg-{}", call.1)), call: Some(format!("call-{}", call.1)) }
}

fn identity(title: &str) -> Identity {
    Identity { title: title.to_owned(), ..Identity::default() }
}

fn leaf(title: &str) -> Outline {
    Outline { title: title.to_owned(), below: Vec::new() }
}

fn outlines(shape: usize) -> Vec<Outline> {
    let above = |title: &str, below| Outline { title: title.to_owned(), below };
    match shape {
        0 | 1 => vec![leaf("one")],
        2 => vec![leaf("first"), leaf("second")],
        3 => vec![above("outer", vec![above("middle", vec![leaf("inner")])])],
        4 => vec![above("wide", (0..=CHILDREN).map(|_| leaf("leaf")).collect())],
        _ => vec![above("outer", vec![leaf("left"), leaf("right")]), leaf("after")],
    }
}

fn collect_ids(child: &PlannedChild, ids: &mut Vec<String>) {
    ids.push(child.id.clone());
    for child in &child.children {
        collect_ids(child, ids);
    }
}
