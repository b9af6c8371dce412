//! Frames, by the code that makes them in a session that goes on: stretches become frames, finished ones
//! are folded.

use std::collections::HashMap;

use callstack_core::cost::PAUSE;
use callstack_core::dialect::Dialect;
use callstack_core::evidence::{Budget, Happening, span_tokens, take};
use callstack_core::fold::{Input, Mask, ReasoningPolicy, fold, weigh};
use callstack_core::frame::{Artifact, Frame, FrameNum, Status};
use callstack_core::framing::{Change, Framer, Kind, Stretch, Taken};
use callstack_core::masking::outputs::Weight;
use callstack_core::masking::{Limits, Output, Request, due};
use callstack_core::results::ResultsSource;
use callstack_core::returned::{MARK, RENDERER_VERSION, Unpushed, masked, unpushed};
use callstack_core::text::truncate_to_token_budget;
use callstack_core::transcript::{
    Anchor, Fold, FoldOp, Message, Outcome, Role, Span, SpanNum, SpanOrigin,
};

use crate::figures::Requests;
use crate::item::ItemNum;
use crate::session::{self, Call, Session};

/// What is kept of finished work.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// Tokens of evidence of a finished frame.
    pub evidence: Budget,
    /// Whether todo items fold as soon as they are over.
    pub items: bool,
    /// Whether evidence leaves out what is told in front of it.
    pub told: bool,
    /// Which outputs are masked in work that goes on; none where nothing is.
    pub masks: Option<Limits>,
    /// Tokens of evidence of a batch of masked outputs.
    pub masked: Budget,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            evidence: Budget::UNPUSHED,
            items: true,
            told: true,
            masks: Some(Limits::default()),
            masked: Budget::MASKED,
        }
    }
}

/// Tokens of dense results.
const COMPACTED: usize = 60;

/// A session in frames.
#[derive(Debug)]
pub struct Framed {
    /// What would have been sent.
    pub requests: Requests,
    /// The frames, the session's root first.
    pub frames: Vec<Frame>,
    /// The spans, in the order in which they began.
    pub spans: Vec<Span>,
}

/// What would have been sent.
pub fn requests(session: &mut Session, policy: &Policy) -> Framed {
    let mut work = Work::new(session, policy);
    let calls = work.session.calls.clone();
    let mut requests = Vec::with_capacity(calls.len());
    for call in &calls {
        work.read_up_to(call);
        requests.push(work.request(call));
    }
    let Work { frames, spans, .. } = work;
    Framed { requests, frames, spans }
}

/// What is sent of each message: its pieces, and whether each stays.
type Sent = Vec<Vec<(session::Piece, bool)>>;

struct Work<'s> {
    session: &'s mut Session,
    policy: &'s Policy,
    framer: Framer,
    taken: Taken,
    /// The messages that are shown, as the host would show them.
    transcript: Vec<Message>,
    /// Their places among all.
    shown: Vec<usize>,
    done: usize,
    places: HashMap<String, usize>,
    frames: Vec<Frame>,
    spans: Vec<Span>,
    masks: Vec<Mask>,
    /// What was sent last.
    last: Vec<ItemNum>,
    last_at: Option<i64>,
    /// Whether the provider's cache is empty at the call that is prepared.
    paused: bool,
    /// The span of each stretch that has one, by where it begins.
    bound: HashMap<Anchor, usize>,
}

impl<'s> Work<'s> {
    fn new(session: &'s mut Session, policy: &'s Policy) -> Self {
        let ids = session.transcript.iter().enumerate();
        let places = ids.map(|(at, message)| (message.id.clone(), at)).collect();
        let identity = session.moments.first().map(|moment| moment.words.clone());
        let identity = callstack_core::framing::identity_of(&identity.unwrap_or_default());
        let began = session.times.iter().flatten().next().copied().unwrap_or_default();
        let mut root = Frame::planned(FrameNum(1), session.id.clone(), None, 0, identity, began);
        root.status = Status::InProgress;
        let taken = Taken::default();
        Self {
            framer: Framer::new(&taken),
            taken,
            policy,
            transcript: Vec::new(),
            shown: Vec::new(),
            done: 0,
            places,
            frames: vec![root],
            spans: Vec::new(),
            masks: Vec::new(),
            last: Vec::new(),
            last_at: None,
            paused: false,
            bound: HashMap::new(),
            session,
        }
    }

    fn read_up_to(&mut self, call: &Call) {
        let since = self.last_at.zip(call.at).map(|(before, at)| at - before);
        self.paused = since.is_some_and(|since| since > PAUSE);
        if !call.shown.starts_with(&self.shown) {
            self.begin_behind_compaction();
        }
        for at in &call.shown[self.shown.len()..] {
            self.transcript.push(self.session.transcript[*at].clone());
            self.shown.push(*at);
            // The root of a child session is the one thing that it was started for.
            if !self.session.is_child {
                self.framer.read(&self.session.moments[*at], &self.taken);
            }
        }
        let changes = self.framer.changes()[self.done..].to_vec();
        self.done += changes.len();
        for change in changes {
            let (Change::Opened(stretch) | Change::Closed(stretch)) = change;
            let stretch = self.framer.stretches()[stretch].clone();
            if stretch.kind == Kind::Subagent {
                continue;
            }
            match change {
                Change::Opened(_) => self.open(&stretch),
                Change::Closed(_) => self.close(&stretch),
            }
        }
    }

    fn begin_behind_compaction(&mut self) {
        let open = self.spans.iter().filter(|span| span.close.is_none());
        let open = open.map(|span| {
            let kind = if span.origin == SpanOrigin::Todo { Kind::Todo } else { Kind::Turn };
            let identity = self.frame(span.frame).identity.clone();
            (kind, identity, span.open.clone())
        });
        self.framer = Framer::resume(&self.taken, open.collect());
        self.transcript.clear();
        self.shown.clear();
        self.done = 0;
    }

    fn frame(&self, num: FrameNum) -> &Frame {
        &self.frames[usize::try_from(num.0).unwrap_or(usize::MAX) - 1]
    }

    fn place(&self, anchor: &Anchor) -> usize {
        let known = anchor.message.as_ref().and_then(|id| self.places.get(id));
        known.copied().unwrap_or_default()
    }

    fn time(&self, anchor: &Anchor) -> i64 {
        let at = self.place(anchor);
        self.session.times[..=at].iter().rev().flatten().next().copied().unwrap_or_default()
    }

    fn open(&mut self, stretch: &Stretch) {
        let around = stretch.parent.map(|around| &self.framer.stretches()[around].opened);
        let around = around.and_then(|anchor| self.bound.get(anchor));
        let parent = around.map_or(FrameNum(1), |span| self.spans[*span].frame);
        let depth = self.frame(parent).depth + 1;
        let num = FrameNum(self.frames.len() as u64 + 1);
        let identity = stretch.identity.clone();
        let began = self.time(&stretch.opened);
        let mut frame =
            Frame::planned(num, format!("frm-{num}"), Some(parent), depth, identity, began);
        frame.status = Status::InProgress;
        self.frames.push(frame);
        let origin = if stretch.kind == Kind::Todo { SpanOrigin::Todo } else { SpanOrigin::Turn };
        self.bound.insert(stretch.opened.clone(), self.spans.len());
        self.spans.push(Span {
            num: SpanNum(self.spans.len() as u64 + 1),
            frame: num,
            session: self.session.id.clone(),
            open: stretch.opened.clone(),
            origin,
            close: None,
            outcome: None,
            close_undone: false,
            detached: false,
            foldable: true,
            fold: None,
        });
    }

    fn close(&mut self, stretch: &Stretch) {
        let (Some(&at), Some(end)) = (self.bound.get(&stretch.opened), &stretch.closed) else {
            return;
        };
        let num = self.spans[at].frame;
        let ended = self.time(end);
        let (from, to) = (self.place(&stretch.opened) + 1, self.place(end) + 1);
        let happened = self.session.happenings.get(from..to).unwrap_or_default();
        let happened: Vec<Happening> = happened.iter().flatten().cloned().collect();
        let frame = &mut self.frames[usize::try_from(num.0).unwrap_or(usize::MAX) - 1];
        frame.status = stretch.status;
        frame.ended_at = Some(ended);
        frame.results.clone_from(&stretch.results);
        let dense = |text: &String| truncate_to_token_budget(text, COMPACTED, " …").into_owned();
        frame.results_compacted = stretch.results.as_ref().map(dense);
        frame.invalidation_reason = stretch.reason.map(str::to_owned);
        frame.artifacts = artifacts(&happened, &self.session.project);
        let text = self.text(num, at, stretch, &happened);
        let items = self.policy.items;
        let span = &mut self.spans[at];
        span.close = Some(end.clone());
        if !items && let Some(close) = &mut span.close {
            close.call = None;
        }
        span.outcome = Some(match &stretch.results {
            Some(results) => {
                Outcome::with(stretch.status, results.clone(), None, ResultsSource::LastWords)
            }
            None => Outcome::without_results(stretch.status),
        });
        span.fold = Some(Fold::unweighed(text, RENDERER_VERSION));
    }

    /// Decides which of the spans that have ended are worth their folds.
    fn weigh(&mut self) {
        let held = |span: &Span| span.fold.as_ref().is_some_and(|fold| fold.held.is_some());
        if !self.spans.iter().any(held) {
            return;
        }
        let tokens = |piece: &session::Piece| {
            usize::try_from(self.session.items.get(piece.item).estimated).unwrap_or(usize::MAX)
        };
        let weights = self.shown.iter().map(|at| {
            let pieces = &self.session.pieces[*at];
            let results = pieces.iter().filter(|piece| piece.kind == session::Kind::Result);
            Weight {
                all: pieces.iter().map(tokens).sum(),
                results: results.map(|it| (it.part.to_string(), tokens(it))).collect(),
            }
        });
        let weighed = weigh(&self.input(), &weights.collect::<Vec<_>>(), !self.paused);
        for (num, held) in weighed {
            let span = self.spans.iter_mut().find(|span| span.num == num);
            if let Some(fold) = span.and_then(|span| span.fold.as_mut()) {
                fold.held = held;
            }
        }
    }

    fn input(&self) -> Input<'_> {
        Input {
            transcript: &self.transcript,
            spans: &self.spans,
            notes: &[],
            masks: &self.masks,
            reasoning: ReasoningPolicy::Strip,
            stale_until: None,
            stale: &[],
        }
    }

    fn text(
        &self,
        num: FrameNum,
        span: usize,
        stretch: &Stretch,
        happened: &[Happening],
    ) -> String {
        let mut results = stretch.results.clone().unwrap_or_default();
        if self.policy.told {
            // What stands in front of it is neither inside it nor around it.
            let begins = self.place(&self.spans[span].open);
            let before = self.spans[..span]
                .iter()
                .filter(|it| it.close.as_ref().is_some_and(|close| self.place(close) <= begins));
            for text in before.filter_map(|it| it.fold.as_ref()).map(|fold| &fold.text) {
                results.push('\n');
                results.push_str(text);
            }
        }
        let results = results.as_str();
        let room = self.policy.evidence.of(span_tokens(happened));
        let evidence = take(happened, results, &self.session.project, room).lines();
        let mut inside = Vec::new();
        self.below(num, &mut inside);
        unpushed(&Unpushed {
            frame: self.frame(num),
            inside: &inside,
            evidence: &evidence,
            replied: stretch.kind == Kind::Turn && stretch.results.is_some(),
            left: &stretch.left,
            pins: &[],
            dialect: Dialect::Stack,
        })
    }

    fn below(&self, num: FrameNum, found: &mut Vec<Frame>) {
        for frame in self.frames.iter().filter(|frame| frame.parent == Some(num)) {
            found.push(frame.clone());
            self.below(frame.num, found);
        }
    }

    fn request(&mut self, call: &Call) -> Vec<ItemNum> {
        self.weigh();
        let mut sent = self.sent();
        if self.mask(&sent) {
            sent = self.sent();
        }
        let stays = sent.iter().flatten().filter(|(_, stays)| *stays);
        let request: Vec<ItemNum> = stays.map(|(piece, _)| piece.item).collect();
        self.last.clone_from(&request);
        self.last_at = call.at.or(self.last_at);
        request
    }

    fn sent(&mut self) -> Sent {
        let folded = fold(&self.input());
        if let Some(last) = self.transcript.last() {
            for num in folded.unsettled {
                let span = self.spans.iter_mut().find(|span| span.num == num);
                if let Some(fold) = span.and_then(|span| span.fold.as_mut()) {
                    fold.settled_at = Some(last.id.clone());
                }
            }
        }
        let pieces = |at: &usize| self.session.pieces[*at].iter().map(|piece| (*piece, true));
        let mut sent: Sent = self.shown.iter().map(|at| pieces(at).collect()).collect();
        for op in &folded.ops {
            self.apply(op, &mut sent);
        }
        sent
    }

    /// Masks what is due. Whether there was anything.
    fn mask(&mut self, sent: &Sent) -> bool {
        let Some(limits) = &self.policy.masks else { return false };
        let mut at = 0;
        let mut cached = if self.paused { Some(0) } else { None };
        let mut before = self.last.iter();
        let (mut outputs, mut places) = (Vec::new(), Vec::new());
        for (message, pieces) in sent.iter().enumerate() {
            for (piece, _) in pieces.iter().filter(|(_, stays)| *stays) {
                let tokens = usize::try_from(self.session.items.get(piece.item).estimated)
                    .unwrap_or_default();
                if cached.is_none() && before.next() != Some(&piece.item) {
                    cached = Some(at);
                }
                let original = &self.session.pieces[self.shown[message]];
                if piece.kind == session::Kind::Result && original.contains(piece) {
                    let unread = message + 1 == sent.len();
                    outputs.push(Output { tokens, at, unread });
                    places.push((self.shown[message], *piece));
                }
                at += tokens;
            }
        }
        let request = Request {
            tokens: at,
            cached: cached.unwrap_or(at),
            calls: self.calls(),
            since_the_user: self.calls_since_the_user(),
        };
        let due = due(&outputs, &request, limits);
        let batch: Vec<_> = due.iter().map(|place| places[*place]).collect();
        let Some((last, batch)) = batch.split_last() else { return false };
        let all: Vec<Happening> = batch
            .iter()
            .chain([last])
            .filter_map(|(message, piece)| self.session.called(*message, piece.part))
            .collect();
        let evidence = self.evidence_of_masked(&all);
        let newest = self.transcript.last().map(|message| message.id.clone());
        let line = |(message, piece): &(usize, session::Piece), evidence: &[String]| {
            let tokens = self.session.items.get(piece.item).estimated;
            Mask {
                message: self.session.transcript[*message].id.clone(),
                part: piece.part.to_string(),
                text: masked(usize::try_from(tokens).unwrap_or_default(), evidence),
                settled_at: newest.clone(),
            }
        };
        let mut masks: Vec<Mask> = batch.iter().map(|it| line(it, &[])).collect();
        masks.push(line(last, &evidence));
        self.masks.extend(masks);
        true
    }

    fn calls(&self) -> usize {
        self.transcript.iter().filter(|it| it.role == Role::Assistant).count()
    }

    /// How many calls of the model were made since the user spoke.
    fn calls_since_the_user(&self) -> usize {
        let agent = |message: &&Message| message.role == Role::Assistant;
        self.transcript.iter().rev().take_while(agent).count()
    }

    fn evidence_of_masked(&self, outputs: &[Happening]) -> Vec<String> {
        let room = self.policy.masked.of(span_tokens(outputs));
        let mut told = String::new();
        if self.policy.told {
            for item in &self.last {
                let item = self.session.items.get(*item);
                if !item.id.ends_with("/result") || item.text.starts_with(MARK) {
                    told.push('\n');
                    told.push_str(&item.text);
                }
            }
        }
        take(outputs, &told, &self.session.project, room).lines()
    }

    fn apply(&mut self, op: &FoldOp, sent: &mut Sent) {
        let at = |id: &String| {
            let place = self.places.get(id)?;
            self.shown.iter().rposition(|shown| shown == place)
        };
        match op {
            FoldOp::Cut { from, to } => {
                let (Some(from), Some(to)) = (at(from), at(to)) else { return };
                sent[from..=to].iter_mut().for_each(Vec::clear);
            }
            FoldOp::Keep { message, parts } => {
                let Some(at) = at(message) else { return };
                for (piece, stays) in &mut sent[at] {
                    *stays &= parts.contains(&piece.part.to_string());
                }
            }
            FoldOp::Output { message, part, text } | FoldOp::Replace { message, part, text } => {
                let Some(at) = at(message) else { return };
                let is_output = matches!(op, FoldOp::Output { .. });
                let found = sent[at].iter_mut().find(|(piece, _)| {
                    piece.part.to_string() == *part
                        && (piece.kind == session::Kind::Result) == is_output
                });
                if let Some((piece, _)) = found {
                    let id = self.session.items.get(piece.item).id.clone();
                    piece.item = self.session.items.ours(&id, text);
                }
            }
            FoldOp::Append { message, text } | FoldOp::Insert { after: message, text } => {
                let Some(at) = at(message) else { return };
                let item = self.session.items.ours(&format!("{message}/callstack"), text);
                let piece = session::Piece { part: usize::MAX, kind: session::Kind::Words, item };
                sent[at].push((piece, true));
            }
        }
    }
}

/// The files that were written, in order of their first writing.
fn artifacts(happened: &[Happening], project: &str) -> Vec<Artifact> {
    let mut artifacts: Vec<Artifact> = Vec::new();
    for happening in happened {
        let Happening::Called(call) = happening else { continue };
        let callstack_core::evidence::Action::Wrote(paths) = &call.action else { continue };
        for path in paths {
            let path = callstack_core::evidence::terms::relative(path, project);
            if artifacts.iter().all(|known| known.path != path) {
                artifacts.push(Artifact { path: path.to_owned(), hash: None });
            }
        }
    }
    artifacts
}
