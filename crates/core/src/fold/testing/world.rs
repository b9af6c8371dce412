//! A simulated session: a host that grows, reverts and compacts its transcript, an agent that pushes
//! and pops last in, first out, and an engine that folds before each step and settles what was sent.

use std::collections::HashMap;

use proptest::prelude::*;

use super::super::places::says_something;
use super::super::{Folded, Input, Note, Placement, ReasoningPolicy, fold, since, weigh};
use super::host::{self, Sent};
use super::open_span;
use crate::frame::FrameNum;
use crate::masking::outputs::Weight;
use crate::returned::RENDERER_VERSION;
use crate::transcript::{
    Anchor, CallState, Fold, Held, Message, MessageKind, Part, PartBody, Role, Span, SpanNum,
    SpanOrigin, ToolCall,
};

/// A part of a step after its first reasoning and words.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Call {
    Work(CallState),
    Push,
    /// Work, when nothing is open that may be popped.
    Pop,
    /// A pop that closes the steps from the call that has so many calls after it, or work where they can't be closed.
    PopSince {
        calls: usize,
    },
    /// No call, but words between calls.
    Said,
    /// No call, but reasoning between calls.
    Thought {
        sealed: bool,
    },
}

/// Something that happens in a session.
#[derive(Clone, Debug)]
pub(in super::super) enum Event {
    User {
        words: bool,
        file: bool,
        of_host: bool,
    },
    Step {
        reasoning: bool,
        before: bool,
        calls: Vec<Call>,
        after: bool,
    },
    OpenOutside,
    CloseOutside,
    Note,
    /// The host takes back everything from the user's message that has so many of them after it.
    Revert {
        turns: usize,
    },
    /// The host compacts and keeps that many messages.
    Compact {
        tail: usize,
    },
}

/// The content of one model call.
#[derive(Clone, Debug)]
pub(in super::super) struct Request {
    pub(in super::super) folded: Folded,
    pub(in super::super) sent: Vec<Sent>,
}

/// A session as it stands.
pub(in super::super) struct World {
    pub(in super::super) transcript: Vec<Message>,
    pub(in super::super) spans: Vec<Span>,
    notes: Vec<Note>,
    policy: ReasoningPolicy,
    stale_until: Option<String>,
    /// Folds that are not durable yet: the span, and after how many requests it is.
    pending: Vec<(SpanNum, u8, Fold)>,
    /// Requests until a closed span is durable.
    delay: u8,
    /// The version of the renderer with which frames end.
    pub(in super::super) renderer: u32,
    /// The one with which the session began.
    pub(in super::super) began_with: u32,
    /// The prefix after which each step was written.
    pub(in super::super) made_after: HashMap<String, Vec<Sent>>,
    /// The last request, unless the host changed the transcript in the middle since.
    pub(in super::super) last: Option<Request>,
    serial: usize,
}

impl World {
    pub(in super::super) fn new(policy: ReasoningPolicy, delay: u8, renderer: u32) -> Self {
        let mut world = Self {
            transcript: Vec::new(),
            spans: Vec::new(),
            notes: Vec::new(),
            policy,
            stale_until: None,
            pending: Vec::new(),
            delay,
            renderer,
            began_with: renderer,
            made_after: HashMap::new(),
            last: None,
            serial: 0,
        };
        world.user(true, false, false);
        world
    }

    fn input(&self) -> Input<'_> {
        Input {
            transcript: &self.transcript,
            spans: &self.spans,
            notes: &self.notes,
            masks: &[],
            reasoning: self.policy,
            stale_until: self.stale_until.as_deref(),
            stale: &[],
        }
    }

    pub(in super::super) fn fold(&self) -> Folded {
        fold(&self.input())
    }

    /// Weighs the folds that wait for it. Every other message weighs nothing, and now and then the provider forgets
    /// the requests that it was sent.
    fn weigh(&mut self) {
        let weights = self.transcript.iter().map(|message| {
            let number: usize = message.id[1..].parse().unwrap_or_default();
            Weight { all: number % 2 * 40, results: Vec::new() }
        });
        let weights: Vec<_> = weights.collect();
        for (num, held) in weigh(&self.input(), &weights, !self.serial.is_multiple_of(5)) {
            let span = self.spans.iter_mut().find(|span| span.num == num);
            if let Some(fold) = span.and_then(|span| span.fold.as_mut()) {
                fold.held = held;
            }
        }
    }

    pub(in super::super) fn index_of(&self, id: &str) -> Option<usize> {
        self.transcript.iter().position(|message| message.id == id)
    }

    /// Lets something happen; before a step the request for it is handed to `check`.
    pub(in super::super) fn happen(
        &mut self,
        event: &Event,
        check: &mut dyn FnMut(&Self, &Request),
    ) {
        match event {
            Event::User { words, file, of_host } => self.user(*words, *file, *of_host),
            Event::Step { reasoning, before, calls, after } => {
                if !self.awaits_the_model() {
                    self.user(true, false, false);
                }
                let request = self.send(check);
                let parts = self.step(*reasoning, *before, calls, *after);
                self.made_after.insert(parts, request);
            }
            Event::OpenOutside => self.open(None),
            Event::CloseOutside => self.close(None),
            Event::Note => self.note(),
            Event::Revert { turns } => self.revert(*turns),
            Event::Compact { tail } => self.compact(*tail),
        }
    }

    fn awaits_the_model(&self) -> bool {
        self.transcript.last().is_some_and(|message| match message.role {
            Role::User => true,
            Role::Assistant => {
                message.parts.iter().any(|part| matches!(part.body, PartBody::Tool(_)))
            }
        })
    }

    fn send(&mut self, check: &mut dyn FnMut(&Self, &Request)) -> Vec<Sent> {
        let durable: Vec<_> = self.pending.extract_if(.., |(_, left, _)| *left == 0).collect();
        for (num, _, made) in durable {
            if let Some(span) = self.spans.iter_mut().find(|span| span.num == num) {
                span.fold = Some(made);
            }
        }
        for (_, left, _) in &mut self.pending {
            *left -= 1;
        }
        self.weigh();
        let folded = self.fold();
        let sent = host::apply(&self.transcript, &folded.ops);
        let request = Request { folded, sent };
        check(self, &request);

        let newest = self.transcript.last().map(|message| message.id.clone());
        for span in &mut self.spans {
            if request.folded.unsettled.contains(&span.num)
                && let Some(made) = &mut span.fold
            {
                made.settled_at.clone_from(&newest);
            }
        }
        let sent = request.sent.clone();
        self.last = Some(request);
        sent
    }

    fn next(&mut self, kind: &str) -> String {
        self.serial += 1;
        format!("{kind}{}", self.serial)
    }

    fn push_message(&mut self, kind: &str, bodies: Vec<PartBody>) -> String {
        let id = self.next(kind);
        let (role, standing) = match kind {
            "u" => (Role::User, MessageKind::Normal),
            "c" => (Role::User, MessageKind::CompactionRequest),
            "s" => (Role::Assistant, MessageKind::Summary),
            _ => (Role::Assistant, MessageKind::Normal),
        };
        let parts = bodies.into_iter().enumerate();
        let parts = parts.map(|(part, body)| Part { id: format!("{id}.{part}"), body }).collect();
        self.transcript.push(Message { id: id.clone(), role, standing, parts });
        id
    }

    fn text(&mut self, synthetic: bool) -> PartBody {
        let head = self.next("text ");
        PartBody::Text { synthetic, chars: head.chars().count(), head }
    }

    fn user(&mut self, words: bool, file: bool, of_host: bool) {
        let mut bodies = Vec::new();
        if words {
            bodies.push(self.text(false));
        }
        if file {
            bodies.push(PartBody::File { name: self.next("file"), mime: "image/png".to_owned() });
        }
        if of_host || bodies.is_empty() {
            bodies.push(self.text(true));
        }
        self.push_message("u", bodies);
    }

    fn step(&mut self, reasoning: bool, before: bool, calls: &[Call], after: bool) -> String {
        let mut bodies = vec![PartBody::Other];
        if reasoning {
            bodies.push(PartBody::Reasoning { sealed: self.serial.is_multiple_of(2) });
        }
        if before {
            bodies.push(self.text(false));
        }
        let id = format!("a{}", self.serial + 1 + calls.len() + usize::from(after));
        for call in calls {
            let name = self.next("call");
            let anchor = Anchor { message: Some(id.clone()), call: Some(name.clone()) };
            let mut state = CallState::Completed;
            match call {
                Call::Work(how) => state = *how,
                Call::Push => self.open(Some(anchor)),
                Call::Pop => self.close(Some(anchor)),
                Call::PopSince { calls } => self.close_since(*calls, anchor),
                Call::Said => {
                    let chars = name.chars().count();
                    bodies.push(PartBody::Text { synthetic: false, chars, head: name });
                    continue;
                }
                Call::Thought { sealed } => {
                    bodies.push(PartBody::Reasoning { sealed: *sealed });
                    continue;
                }
            }
            bodies.push(ToolCall::new(name, "tool", state).into());
        }
        if after {
            bodies.push(self.text(false));
        }
        bodies.push(PartBody::Other);
        assert_eq!(self.push_message("a", bodies), id);
        id
    }

    fn after_newest(&self) -> Anchor {
        Anchor { message: self.transcript.last().map(|message| message.id.clone()), call: None }
    }

    fn open(&mut self, call: Option<Anchor>) {
        let num = self.spans.len() as u64 + 1;
        let open = call.unwrap_or_else(|| self.after_newest());
        self.spans.push(open_span(num, FrameNum(num), open));
    }

    fn close(&mut self, call: Option<Anchor>) {
        let close = call.unwrap_or_else(|| self.after_newest());
        let Some(span) = self.spans.iter_mut().rev().find(|span| span.close.is_none()) else {
            return;
        };
        let text = format!("<{} returned>", span.frame);
        // Spans that end without a call are folded only if that is worth it.
        let mut fold = Fold::new(text, self.renderer);
        fold.held = close.call.is_none().then_some(Held::Unweighed);
        self.pending.push((span.num, self.delay, fold));
        span.close = Some(close);
    }

    /// Closes the steps from a call on if they are still sent, unless a frame began in them and is open.
    fn close_since(&mut self, calls: usize, close: Anchor) {
        let made = self.transcript.iter().flat_map(|message| {
            message.calls().filter(|call| call.state == CallState::Completed).map(|call| Anchor {
                message: Some(message.id.clone()),
                call: Some(call.id.clone()),
            })
        });
        let made: Vec<_> = made.collect();
        let Some(first) = made.iter().rev().nth(calls) else { return };
        if since(&self.input(), first, &close).is_none_or(|since| !since.begun.is_empty()) {
            return;
        }
        let num = self.spans.len() as u64 + 1;
        let mut span = open_span(num, FrameNum(num), first.clone());
        span.origin = SpanOrigin::Since;
        span.close = Some(close);
        let fold = Fold::new(format!("<{} returned>", span.frame), RENDERER_VERSION);
        self.pending.push((span.num, self.delay, fold));
        self.spans.push(span);
    }

    /// A note goes to the newest place of the transcript.
    fn note(&mut self) {
        let text = self.next("note ");
        if let Some(newest) = self.transcript.last() {
            let result = newest.calls().rfind(|call| call.state == CallState::Completed);
            let result = result.map(|call| &call.id);
            let placement = match (newest.role, result) {
                (Role::User, _) => Placement::Append,
                (Role::Assistant, Some(call)) if self.serial.is_multiple_of(2) => {
                    Placement::Output(call.clone())
                }
                (Role::Assistant, _) => Placement::Insert,
            };
            self.notes.push(Note { message: newest.id.clone(), text, placement });
        }
    }

    fn revert(&mut self, turns: usize) {
        let users = self.transcript.iter().enumerate().skip(1);
        let users =
            users.filter(|(_, m)| m.role == Role::User && m.standing == MessageKind::Normal);
        let Some((cut, _)) = users.rev().nth(turns) else {
            return;
        };
        let gone: Vec<_> = self.transcript.drain(cut..).map(|message| message.id).collect();
        let is_gone = |anchor: &Anchor| anchor.message.as_ref().is_some_and(|m| gone.contains(m));
        let since_is_gone = |span: &Span| {
            span.origin == SpanOrigin::Since && span.close.as_ref().is_some_and(is_gone)
        };
        self.spans.retain(|span| !is_gone(&span.open) && !since_is_gone(span));
        for span in &mut self.spans {
            if span.close.as_ref().is_some_and(is_gone) {
                span.close = None;
                span.fold = None;
            }
        }
        let open_again = |num| self.spans.iter().all(|s| s.num != num || s.close.is_none());
        self.pending.retain(|(num, ..)| !open_again(*num));
        self.notes.retain(|note| !gone.contains(&note.message));
        if self.stale_until.as_ref().is_some_and(|id| gone.contains(id)) {
            self.stale_until = self.transcript.last().map(|message| message.id.clone());
        }
        self.last = None;
    }

    fn compact(&mut self, tail: usize) {
        if self.transcript.len() < 4 {
            return;
        }
        let tail = self.transcript.split_off(self.transcript.len() - tail.min(3));
        self.transcript.clear();
        let words = self.text(false);
        self.push_message("c", vec![words]);
        let words = self.text(false);
        let summary = self.push_message("s", vec![PartBody::Reasoning { sealed: true }, words]);
        self.made_after.insert(summary, Vec::new());
        self.transcript.extend(tail);
        self.stale_until = self.transcript.last().map(|message| message.id.clone());
        self.user(false, false, true);
        self.last = None;
    }
}

/// Whether a message says anything that is not reasoning.
pub(in super::super) fn speaks(message: &Message) -> bool {
    message.parts.iter().any(|part| says_something(&part.body))
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        3 => Just(Call::Push),
        3 => Just(Call::Pop),
        1 => (0..12_usize).prop_map(|calls| Call::PopSince { calls }),
        3 => Just(Call::Work(CallState::Completed)),
        1 => Just(Call::Work(CallState::Failed)),
        1 => Just(Call::Work(CallState::Open)),
        1 => Just(Call::Said),
        1 => any::<bool>().prop_map(|sealed| Call::Thought { sealed }),
    ]
}

/// Sessions: their events, the treatment of reasoning, and the delay after which spans are durable.
pub(in super::super) fn sessions() -> impl Strategy<Value = (Vec<Event>, ReasoningPolicy, u8)> {
    let user = (proptest::bool::weighted(0.9), proptest::bool::weighted(0.2), any::<bool>())
        .prop_map(|(words, file, of_host)| Event::User { words, file, of_host });
    let step = (
        proptest::bool::weighted(0.7),
        any::<bool>(),
        proptest::collection::vec(call(), 0..7),
        proptest::bool::weighted(0.3),
    )
        .prop_map(|(reasoning, before, calls, after)| Event::Step {
            reasoning,
            before,
            calls,
            after,
        });
    let event = prop_oneof![
        6 => user,
        24 => step,
        1 => Just(Event::OpenOutside),
        1 => Just(Event::CloseOutside),
        2 => Just(Event::Note),
        1 => (0..3_usize).prop_map(|turns| Event::Revert { turns }),
        1 => (0..4_usize).prop_map(|tail| Event::Compact { tail }),
    ];
    let policy = prop_oneof![Just(ReasoningPolicy::Strip), Just(ReasoningPolicy::Wait)];
    (proptest::collection::vec(event, 1..40), policy, 0..3_u8)
}
