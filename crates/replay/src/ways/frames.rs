//! Frames, by the code that makes them in a live session: units become frames, finished ones are folded.

mod refold;
mod sent;

use std::collections::{BTreeMap, HashMap, HashSet};

use callstack_core::dialect::Dialect;
use callstack_core::evidence::{Activity, Budget, Remains, span_tokens, take};
use callstack_core::fold::{Folded, Input, Last, Mask, ReasoningPolicy, fold, weigh_against};
use callstack_core::frame::{Artifact, Frame, FrameNum, Status};
use callstack_core::framing::{
    Change, Framer, Speaker, Taken, WorkKind, WorkUnit, began_root, identity_of,
};
use callstack_core::masking::Limits;
use callstack_core::results::ResultsSource;
use callstack_core::returned::{OUTLINES, RENDERER_VERSION, Unpushed, pressed, replaced, unpushed};
use callstack_core::secrets::cut_to_token_budget;
use callstack_core::text::estimate_tokens;
use callstack_core::transcript::{Anchor, Fold, Outcome, Span, SpanNum, SpanOrigin};

use crate::calibration::Fit;
use crate::figures::is_paused;
use crate::requests::Requests;
use crate::sent_messages::SentMessages;
use crate::session::{Call, Session};

use refold::{Due, Reach};
use sent::{Changed, Sent};

/// The parts of finished work that stay.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Tokens of evidence of a finished frame.
    pub evidence: Budget,
    /// Whether todo items fold as soon as they are over.
    pub items: bool,
    /// The limits for masking outputs in work that goes on; none if nothing is masked.
    pub masks: Option<Limits>,
    /// Estimated tokens of all outlines of a batch of masked outputs.
    pub outlines: usize,
    /// Whether the provider forgets a request in a pause.
    pub pauses: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            evidence: Budget::UNPUSHED,
            items: true,
            masks: Some(Limits::default()),
            outlines: OUTLINES,
            pauses: true,
        }
    }
}

/// Tokens that common models take at most.
const LIMIT: u64 = 200_000;

/// Tokens of dense results.
const COMPACTED: usize = 60;

/// Messages up to which debug builds compare the request with one that is folded from the beginning.
const CHECKED: usize = 400;

/// A session in frames.
#[derive(Debug)]
pub struct Framed {
    /// The requests.
    pub requests: Requests,
    /// The frames, the session's root first.
    pub frames: Vec<Frame>,
    /// The spans, in the order in which they began.
    pub spans: Vec<Span>,
}

/// Returns the requests. Reports the number of finished ones after each call.
pub fn requests(
    session: &mut Session,
    policy: &Policy,
    fit: &Fit,
    progress: &mut dyn FnMut(usize),
) -> Framed {
    let mut work = Work::new(session, policy, *fit);
    let mut requests = Requests::default();
    for number in 0..work.session.calls.len() {
        let call = work.session.calls[number].clone();
        work.read_up_to(&call);
        let changed = work.request(&call);
        requests.begin();
        requests.splice(changed.at, changed.removed.len(), changed.added);
        progress(number + 1);
    }
    let Work { frames, spans, .. } = work;
    Framed { requests, frames, spans }
}

struct Work<'s> {
    session: &'s mut Session,
    policy: &'s Policy,
    /// The calibration of estimated tokens.
    fit: Fit,
    /// Whether it was announced at the last call that outputs will leave.
    is_announced: bool,
    framer: Framer,
    taken: Taken,
    /// The messages that are shown, and the content of them that is sent.
    sent: Sent,
    /// The messages that were last read.
    shown: SentMessages,
    done: usize,
    /// The messages by their ids.
    places: HashMap<String, usize>,
    /// The newest time that is known up to each message.
    times: Vec<i64>,
    frames: Vec<Frame>,
    /// The frames directly below each.
    below: Vec<Vec<usize>>,
    spans: Vec<Span>,
    /// The closed spans, in the order in which they were closed.
    closed: Vec<usize>,
    /// By their messages.
    masks: BTreeMap<usize, Vec<Mask>>,
    due: Due,
    last_at: Option<i64>,
    /// Whether the provider's cache is empty at the call that is prepared.
    paused: bool,
    /// The span of each unit that has one, by its beginning.
    bound: HashMap<Anchor, usize>,
}

impl<'s> Work<'s> {
    fn new(session: &'s mut Session, policy: &'s Policy, fit: Fit) -> Self {
        let ids = session.transcript.iter().enumerate();
        let places = ids.map(|(at, message)| (message.id.clone(), at)).collect();
        let first = session.moments.iter().find(|moment| moment.speaker == Speaker::User);
        let identity = identity_of(&first.map(|moment| moment.words.clone()).unwrap_or_default());
        let began = session.times.iter().flatten().next().copied().unwrap_or_default();
        let mut root = Frame::planned(FrameNum(1), session.id.clone(), None, 0, identity, began);
        root.status = Status::InProgress;
        let taken = Taken::default();
        let newest = |newest: &mut i64, time: &Option<i64>| {
            *newest = time.unwrap_or(*newest);
            Some(*newest)
        };
        let times = session.times.iter().scan(0, newest).collect();
        Self {
            framer: Framer::new(&taken),
            taken,
            policy,
            fit,
            is_announced: false,
            sent: Sent::new(policy.masks.as_ref()),
            shown: SentMessages::default(),
            done: 0,
            places,
            times,
            frames: vec![root],
            below: vec![Vec::new()],
            spans: Vec::new(),
            closed: Vec::new(),
            masks: BTreeMap::new(),
            due: Due::default(),
            last_at: None,
            paused: false,
            bound: HashMap::new(),
            session,
        }
    }

    fn read_up_to(&mut self, call: &Call) {
        self.paused = self.policy.pauses && is_paused(self.last_at, call.at);
        if !call.shown.starts_with(&self.shown) {
            self.begin_after_compaction();
        }
        let users = self.sent.users.len();
        for at in call.shown.from(self.shown.len()) {
            self.sent.show(self.session, at);
            // The root of a child session is all that the session was started for.
            if !self.session.is_child {
                self.framer.read(&self.session.moments[at], &self.taken);
            }
        }
        self.shown = call.shown.clone();
        self.due.user_spoke = self.sent.users.len() > users;
        let changes = self.framer.changes()[self.done..].to_vec();
        self.done += changes.len();
        for change in changes {
            let (Change::Opened(unit) | Change::Closed(unit)) = change;
            let unit = self.framer.units()[unit].clone();
            if unit.kind == WorkKind::Subagent {
                continue;
            }
            match change {
                Change::Opened(_) => self.open(&unit),
                Change::Closed(_) => self.close(&unit),
            }
        }
    }

    fn begin_after_compaction(&mut self) {
        let open = self.spans.iter().filter(|span| span.close.is_none());
        let open = open.map(|span| {
            let kind =
                if span.origin == SpanOrigin::Todo { WorkKind::Todo } else { WorkKind::Turn };
            let identity = self.frame(span.frame).identity.clone();
            (kind, identity, span.open.clone())
        });
        self.framer = Framer::resume(&self.taken, open.collect());
        self.sent.clear();
        self.shown = SentMessages::default();
        self.due.everything = true;
        self.done = 0;
    }

    fn frame(&self, num: FrameNum) -> &Frame {
        &self.frames[index(num)]
    }

    fn place(&self, anchor: &Anchor) -> usize {
        let known = anchor.message.as_ref().and_then(|id| self.places.get(id));
        known.copied().unwrap_or_default()
    }

    fn time(&self, anchor: &Anchor) -> i64 {
        self.times.get(self.place(anchor)).copied().unwrap_or_default()
    }

    fn open(&mut self, unit: &WorkUnit) {
        let around = unit.parent.map(|around| &self.framer.units()[around].opened);
        let around = around.and_then(|anchor| self.bound.get(anchor));
        let parent = around.map_or(FrameNum(1), |span| self.spans[*span].frame);
        let depth = self.frame(parent).depth + 1;
        let (num, origin) = if self.is_of_root(unit) {
            (FrameNum(1), SpanOrigin::FirstTurn)
        } else {
            let num = FrameNum(self.frames.len() as u64 + 1);
            let identity = unit.identity.clone();
            let began = self.time(&unit.opened);
            let mut frame =
                Frame::planned(num, format!("frm-{num}"), Some(parent), depth, identity, began);
            frame.status = Status::InProgress;
            if let Some(around) = self.below.get_mut(index(parent)) {
                around.push(self.frames.len());
            }
            self.below.push(Vec::new());
            self.frames.push(frame);
            let is_todo = unit.kind == WorkKind::Todo;
            (num, if is_todo { SpanOrigin::Todo } else { SpanOrigin::Turn })
        };
        self.bound.insert(unit.opened.clone(), self.spans.len());
        self.spans.push(Span {
            num: SpanNum(self.spans.len() as u64 + 1),
            frame: num,
            session: self.session.id.clone(),
            open: unit.opened.clone(),
            origin,
            close: None,
            outcome: None,
            close_undone: false,
            detached: false,
            foldable: true,
            fold: None,
        });
    }

    /// Whether a unit is the turn with which the session's root began.
    fn is_of_root(&self, unit: &WorkUnit) -> bool {
        let before = &self.session.moments[..self.place(&unit.opened)];
        let root = self.frames.first();
        root.is_some_and(|root| began_root(unit, &root.identity, before.iter()))
    }

    fn close(&mut self, unit: &WorkUnit) {
        let (Some(&at), Some(end)) = (self.bound.get(&unit.opened), &unit.closed) else {
            return;
        };
        let num = self.spans[at].frame;
        let ended = self.time(end);
        let (from, to) = (self.place(&unit.opened) + 1, self.place(end) + 1);
        let happened = self.session.happened(from..to);
        let goes_on = self.spans[at].origin == SpanOrigin::FirstTurn;
        let frame = &mut self.frames[index(num)];
        if !goes_on {
            frame.status = unit.status;
            frame.ended_at = Some(ended);
            frame.results.clone_from(&unit.results);
            let dense = |text: &String| cut_to_token_budget(text, COMPACTED, " …").into_owned();
            frame.results_compacted = unit.results.as_ref().map(dense);
            frame.invalidation_reason = unit.reason.map(str::to_owned);
        }
        frame.artifacts = artifacts(happened, &self.session.project);
        let (text, is_recent) = self.text(num, at, unit, happened);
        let items = self.policy.items;
        let span = &mut self.spans[at];
        span.close = Some(end.clone());
        if !items && let Some(close) = &mut span.close {
            close.call = None;
        }
        span.outcome = Some(match &unit.results {
            Some(results) => {
                Outcome::with(unit.status, results.clone(), None, ResultsSource::LastWords)
            }
            None => Outcome::without_results(unit.status),
        });
        let goes_on = is_recent && unit.kind == WorkKind::Turn;
        let fold = if goes_on { Fold::recent } else { Fold::unweighed };
        span.fold = Some(fold(text, RENDERER_VERSION));
        self.closed.push(at);
        self.due.unweighed.push(at);
    }

    /// Returns the text that replaces a unit, and whether one of its last calls changed a file.
    fn text(
        &self,
        num: FrameNum,
        span: usize,
        unit: &WorkUnit,
        happened: &[Activity],
    ) -> (String, bool) {
        let results = unit.results.as_deref().unwrap_or_default();
        let room = self.policy.evidence.of(span_tokens(happened));
        let project = &self.session.project;
        let mut evidence = take(happened, results, project, room, &|_| None);
        evidence.remains = Remains::of(happened, project);
        evidence.remains.list = unit.open_items();
        let mut inside = Vec::new();
        self.below(num, &mut inside);
        let text = unpushed(&Unpushed {
            frame: self.frame(num),
            inside: &inside,
            evidence: &evidence.lines(),
            files: &evidence.files,
            gaps: evidence.gaps,
            replied: unit.kind == WorkKind::Turn && unit.results.is_some(),
            goes_on: self.spans[span].origin == SpanOrigin::FirstTurn,
            pins: &[],
            dialect: Dialect::Stack,
        });
        (text, evidence.files.changed_last)
    }

    fn below(&self, num: FrameNum, found: &mut Vec<Frame>) {
        for inner in self.below.get(index(num)).into_iter().flatten() {
            let frame = &self.frames[*inner];
            found.push(frame.clone());
            self.below(frame.num, found);
        }
    }

    fn request(&mut self, call: &Call) -> Changed {
        self.weigh();
        if let Some(reach) = self.reach() {
            self.refold(reach);
        }
        self.mask();
        debug_assert!(self.sent.shown.len() > CHECKED || self.is_folded_right());
        let changed = self.sent.send();
        self.last_at = call.at.or(self.last_at);
        changed
    }

    /// Folds the spans that are due again.
    fn refold(&mut self, reach: Reach) {
        let folded = self.folded(reach.window);
        if let Some(last) = self.sent.transcript.last() {
            for num in folded.unsettled {
                let span = usize::try_from(num.0 - 1).ok().and_then(|at| self.spans.get_mut(at));
                if let Some(fold) = span.and_then(|span| span.fold.as_mut()) {
                    fold.settled_at = Some(last.id.clone());
                }
            }
        }
        self.sent.fold(self.session, reach, &folded.ops);
    }

    fn folded(&self, window: usize) -> Folded {
        let shown = self.sent.shown[window..].iter();
        let masks: Vec<Mask> =
            shown.filter_map(|at| self.masks.get(at)).flatten().cloned().collect();
        fold(&self.input(window, &masks))
    }

    fn input<'a>(&'a self, window: usize, masks: &'a [Mask]) -> Input<'a> {
        Input {
            transcript: &self.sent.transcript[window..],
            spans: self.spans_from(window),
            notes: &[],
            masks,
            reasoning: ReasoningPolicy::Strip,
            stale_until: None,
            stale: &[],
        }
    }

    /// Decides which of the spans that have ended are worth their folds.
    fn weigh(&mut self) {
        let Some(window) = self.weighing() else { return };
        let weigh_of =
            |at: &usize| usize::try_from(super::weight(self.session, *at)).unwrap_or(usize::MAX);
        let weights: Vec<usize> = self.sent.shown[window..].iter().map(weigh_of).collect();
        let last = Last { tokens: self.sent.last_tokens(), calls: self.sent.calls };
        let weighed = weigh_against(&self.input(window, &[]), &weights, last, !self.paused);
        for (num, held) in weighed {
            let Some(at) = usize::try_from(num.0 - 1).ok() else { continue };
            if let Some(fold) = self.spans.get_mut(at).and_then(|span| span.fold.as_mut()) {
                fold.held = held;
            }
            self.due.weighed(at, held);
        }
    }

    fn is_folded_right(&mut self) -> bool {
        let folded = self.folded(0);
        self.sent.is_folded_by(self.session, &folded.ops)
    }

    /// Masks the outputs that are due. The announcement of outputs that leave under pressure, some hundred tokens, is
    /// not sent.
    fn mask(&mut self) {
        let Some(limits) = self.policy.masks else { return };
        let open = self.spans.iter().filter(|span| span.close.is_none());
        let begins: Vec<usize> =
            open.filter_map(|span| self.sent.place(self.place(&span.open))).collect();
        let fit = &self.fit;
        let fill = |estimated: usize| {
            let tokens = fit.beside + fit.tokens(estimated as u64);
            usize::try_from(tokens * 100 / LIMIT).unwrap_or(usize::MAX)
        };
        // Outputs that were announced at the last call leave now, and no others.
        let steps = limits.steps + usize::from(self.is_announced);
        let limits = Limits { steps, ..limits };
        let due = self.sent.due(self.session, &limits, self.paused, fill, &begins);
        let was_announced = std::mem::take(&mut self.is_announced);
        let Some(due) = due else { return };
        if due.is_announced && !was_announced {
            self.is_announced = true;
            return;
        }
        let newest = self.sent.transcript.last().map(|message| message.id.clone());
        let mut room = self.policy.outlines;
        let mut texts = Vec::with_capacity(due.slots.len());
        for (slot, is_replaced) in due.slots {
            let at = self.sent.slot(slot);
            let (message, piece) = (self.sent.shown[at.place], at.piece);
            let tokens = self.session.items.get(piece.item).estimated;
            let tokens = usize::try_from(tokens).unwrap_or_default();
            let activity = self.session.called(message, piece.part);
            let call = activity.and_then(Activity::call);
            let text = if is_replaced {
                replaced(tokens, call)
            } else {
                let text = pressed(tokens, call, room);
                room = room.saturating_sub(estimate_tokens(&text));
                text
            };
            texts.push((slot, text.clone()));
            self.masks.entry(message).or_default().push(Mask {
                message: self.session.transcript[message].id.clone(),
                part: piece.part.to_string(),
                text,
                settled_at: newest.clone(),
            });
        }
        self.sent.mask(&mut self.session.items, &texts);
    }
}

/// A frame's place among all.
fn index(num: FrameNum) -> usize {
    usize::try_from(num.0).unwrap_or(usize::MAX) - 1
}

/// The files that were written, in order of their first writing.
fn artifacts(happened: &[Activity], project: &str) -> Vec<Artifact> {
    let mut artifacts: Vec<Artifact> = Vec::new();
    let mut known = HashSet::new();
    for activity in happened {
        let Activity::Called(call) = activity else { continue };
        let callstack_core::evidence::Action::Wrote(paths) = &call.action else { continue };
        for path in paths {
            let path = callstack_core::evidence::terms::relative(path, project);
            if known.insert(path) {
                artifacts.push(Artifact { path: path.to_owned(), hash: None });
            }
        }
    }
    artifacts
}
