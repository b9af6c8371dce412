//! A session as a stack that changes: over time, over the tokens that were sent, and over those that were written.
//!
//! At each moment one stack is open: the frames around the innermost one, and below them the work there. From one
//! moment to the next, entries close and open, so that the result is well nested for any session.

use std::collections::{BTreeSet, HashMap, HashSet};

use callstack_core::frame::FrameNum;
use callstack_core::trace::SessionTrace;
use callstack_core::transcript::Role;

/// An entry of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Entry {
    /// A frame.
    Frame(FrameNum),
    /// The work in it.
    Leaf(Leaf),
}

/// Work in a frame. Steps and tools are named by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Leaf {
    /// The model answers.
    Model { step: usize },
    /// A tool runs.
    Tool { step: usize, tool: usize },
    /// The user has not spoken yet.
    Waiting,
    /// Tokens of a request that came from the cache.
    Cached,
    /// Other tokens of a request.
    New,
    /// The user's words.
    User,
    /// The model's words.
    Words,
}

/// A stretch of a timeline with one stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) frame: Option<FrameNum>,
    pub(crate) leaf: Option<Leaf>,
}

/// An entry that opens or closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) at: u64,
    pub(crate) opens: bool,
    pub(crate) entry: Entry,
}

/// The changes of the stack over some slices, in order. Each closes what was opened last.
pub(crate) fn changes(session: &SessionTrace, slices: &[Slice]) -> Vec<Change> {
    let parents = session.all_frames().map(|it| (it.num, it.parent.as_ref().map(|it| it.num)));
    let parents: HashMap<FrameNum, Option<FrameNum>> = parents.collect();
    let (mut changes, mut open) = (Vec::new(), Vec::new());
    let mut at = 0;
    for slice in slices {
        if slice.from > at {
            go_to(&[], at, &mut open, &mut changes);
        }
        let stack = stack(slice, &parents);
        go_to(&stack, slice.from, &mut open, &mut changes);
        at = slice.to;
    }
    go_to(&[], at, &mut open, &mut changes);
    changes
}

/// The frames of the session around a slice's, and its leaf.
fn stack(slice: &Slice, parents: &HashMap<FrameNum, Option<FrameNum>>) -> Vec<Entry> {
    let mut stack = Vec::new();
    let mut next = slice.frame;
    while let Some(num) = next
        && let Some(parent) = parents.get(&num)
        && stack.len() <= parents.len()
    {
        stack.push(Entry::Frame(num));
        next = *parent;
    }
    stack.reverse();
    stack.extend(slice.leaf.map(Entry::Leaf));
    stack
}

fn go_to(stack: &[Entry], at: u64, open: &mut Vec<Entry>, changes: &mut Vec<Change>) {
    let common = open.iter().zip(stack).take_while(|(one, other)| one == other).count();
    while open.len() > common {
        changes.extend(open.pop().map(|entry| Change { at, opens: false, entry }));
    }
    for entry in &stack[common..] {
        open.push(*entry);
        changes.push(Change { at, opens: true, entry: *entry });
    }
}

/// An activity that lasts for a while. Of several, the one that began last is shown.
#[derive(Clone, Copy, Debug)]
struct Activity {
    from: i64,
    to: i64,
    frame: Option<FrameNum>,
    leaf: Option<Leaf>,
}

/// The slices of a session over time. Their places are milliseconds since 1970.
pub(crate) fn over_time(session: &SessionTrace, now: i64) -> Vec<Slice> {
    let mut activities = Vec::new();
    let mut end: Option<i64> = None;
    for (place, step) in session.steps.iter().enumerate() {
        let from = step.from.max(end.unwrap_or(step.from));
        if let Some(end) = end.filter(|end| *end < from) {
            let leaf = (step.role == Role::User).then_some(Leaf::Waiting);
            activities.push(Activity { from: end, to: from, frame: step.frame, leaf });
        }
        let to = step.to.max(from);
        let leaf = step.call.is_some().then_some(Leaf::Model { step: place });
        activities.push(Activity { from, to, frame: step.frame, leaf });
        let mut last = to;
        for (tool, call) in step.tools.iter().enumerate() {
            let from = call.from.max(from);
            let to = call.to.max(from);
            let leaf = Some(Leaf::Tool { step: place, tool });
            activities.push(Activity { from, to, frame: call.frame, leaf });
            last = last.max(to);
        }
        end = Some(last);
    }
    let known: HashSet<FrameNum> = activities.iter().filter_map(|it| it.frame).collect();
    for frame in session.frames.iter().filter(|frame| !known.contains(&frame.num)) {
        if let Some(from) = frame.begun_at {
            let to = frame.ended_at.unwrap_or(if frame.status.is_finished() { from } else { now });
            let (to, frame) = (to.max(from), Some(frame.num));
            activities.push(Activity { from, to, frame, leaf: None });
        }
    }
    let all = activities.len();
    let slices = sweep(&activities, all);
    let shown: HashSet<Option<FrameNum>> = slices.iter().map(|slice| slice.frame).collect();
    let mut hidden: HashSet<Option<FrameNum>> = HashSet::new();
    for place in 0..all {
        let activity = activities[place];
        // It is shown even if calls beside it took all of its time, or it took none.
        if !shown.contains(&activity.frame) && hidden.insert(activity.frame) {
            activities.push(Activity { to: activity.from, ..activity });
        }
    }
    if hidden.is_empty() { slices } else { sweep(&activities, all) }
}

/// The order of what happens at one time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    End,
    Instant,
    Begin,
}

/// Returns the slices of activities. Those that take no time are left out, except from the place `instants` on.
fn sweep(activities: &[Activity], instants: usize) -> Vec<Slice> {
    let mut edges: Vec<(i64, Edge, usize)> = Vec::with_capacity(activities.len() * 2);
    for (place, activity) in activities.iter().enumerate() {
        if activity.from == activity.to {
            edges.extend((place >= instants).then_some((activity.from, Edge::Instant, place)));
        } else {
            edges.push((activity.from, Edge::Begin, place));
            edges.push((activity.to, Edge::End, place));
        }
    }
    edges.sort_unstable();
    let mut slices = Vec::new();
    let mut open: BTreeSet<(i64, usize)> = BTreeSet::new();
    let mut since = i64::MIN;
    let slice = |place: usize, from: i64, to: i64| {
        let Activity { frame, leaf, .. } = activities[place];
        let place = |at: i64| u64::try_from(at).unwrap_or_default();
        Slice { from: place(from), to: place(to), frame, leaf }
    };
    for (at, edge, place) in edges {
        if at > since {
            slices.extend(open.last().map(|(_, top)| slice(*top, since, at)));
            since = at;
        }
        match edge {
            Edge::Begin => drop(open.insert((at, place))),
            Edge::End => drop(open.remove(&(activities[place].from, place))),
            Edge::Instant => slices.push(slice(place, at, at)),
        }
    }
    slices
}

/// The slices of a session over the tokens of its requests.
pub(crate) fn over_sent(session: &SessionTrace) -> Vec<Slice> {
    let mut slices = Slices::default();
    for step in &session.steps {
        if let Some(call) = &step.call {
            let cached = call.usage.cached.min(call.usage.input);
            slices.add(cached, step.frame, Leaf::Cached);
            slices.add(call.usage.input - cached, step.frame, Leaf::New);
        }
    }
    slices.all
}

/// The slices of a session over the tokens of its messages, each once.
pub(crate) fn over_written(session: &SessionTrace) -> Vec<Slice> {
    let mut slices = Slices::default();
    for (place, step) in session.steps.iter().enumerate() {
        let who = if step.role == Role::User { Leaf::User } else { Leaf::Words };
        slices.add(step.tokens, step.frame, who);
        for (tool, call) in step.tools.iter().enumerate() {
            slices.add(call.tokens, call.frame, Leaf::Tool { step: place, tool });
        }
    }
    slices.all
}

/// Slices one after the other.
#[derive(Default)]
struct Slices {
    all: Vec<Slice>,
    at: u64,
}

impl Slices {
    fn add(&mut self, length: u64, frame: Option<FrameNum>, leaf: Leaf) {
        if length > 0 {
            let from = self.at;
            self.at += length;
            self.all.push(Slice { from, to: self.at, frame, leaf: Some(leaf) });
        }
    }
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
