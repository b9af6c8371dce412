//! Reads a transcript message by message and finds its units.

use super::todos::{Todo, TodoStatus, Todos};
use super::{
    Division, FORGOTTEN, FramingMessage, LEAST_TOKENS, Speaker, Taken, WORK_CALLS, WORK_TOKENS,
    WorkKind, WorkUnit, identity_of, identity_of_item,
};
use crate::frame::{Identity, Status};
use crate::transcript::{Anchor, CallState, ToolCall};

/// Reasons with which an item is given up.
const CANCELLED: &str = "it was cancelled on the todo list";
const DROPPED: &str = "it is no longer on the todo list";
const LEFT: &str = "it was left in progress and not spoken of again";

/// A change of a unit, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It began.
    Opened(usize),
    /// It ended.
    Closed(usize),
}

/// Frames a session as it goes on.
#[derive(Clone, Debug, Default)]
pub struct Framer {
    units: Vec<WorkUnit>,
    changes: Vec<Change>,
    open: Vec<Open>,
    turn: Option<Turn>,
    /// The agent's newest step since the user spoke.
    step: Option<Step>,
    /// Pushed frames that are open.
    pushed: usize,
    todos: Todos,
}

/// A unit that goes on.
#[derive(Clone, Debug)]
struct Open {
    unit: usize,
    /// The number of its item; none of a turn.
    item: Option<u64>,
    /// The agent's last words in it.
    said: Option<String>,
    /// The status with which its item ended while a pushed frame inside was open: it ends when that one does.
    ended: Option<TodoStatus>,
    /// User messages since the list was written with nothing else in progress.
    turns: usize,
    /// The list was written in it.
    listed: bool,
}

/// The user's last request.
#[derive(Clone, Debug)]
struct Turn {
    message: String,
    words: String,
    calls: usize,
    tokens: usize,
    /// It has a unit, or is in no need of one.
    framed: bool,
    /// The list was written in it.
    listed: bool,
}

#[derive(Clone, Debug)]
struct Step {
    message: String,
    closing: Option<String>,
}

impl Framer {
    /// Begins with a transcript of which nothing was read yet.
    pub fn new(taken: &Taken) -> Self {
        Self { pushed: taken.at_start, ..Self::default() }
    }

    /// Begins with a transcript whose beginning is hidden, for instance by a compaction. `open` are the units
    /// that were open there, outer ones first: kind, identity and beginning.
    pub fn resume(taken: &Taken, open: Vec<(WorkKind, Identity, Anchor)>) -> Self {
        let mut framer = Self::new(taken);
        for (kind, identity, opened) in open {
            let item = (kind == WorkKind::Todo).then(|| {
                let content = identity.success_criteria.clone();
                framer.todos.write(&[Todo { id: None, content, status: TodoStatus::InProgress }]);
                framer.todos.items[0].0
            });
            framer.begin(kind, identity, opened, item);
        }
        framer.changes.clear();
        framer
    }

    /// Returns the units, in the order in which they were found.
    pub fn units(&self) -> &[WorkUnit] {
        &self.units
    }

    /// Returns the units by value.
    pub fn into_stretches(self) -> Vec<WorkUnit> {
        self.units
    }

    /// Returns the changes so far, in order; units that were open from the start did not begin. A subagent's
    /// unit begins and ends at once.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Whether a pushed frame is open.
    pub fn is_in_pushed_frame(&self) -> bool {
        self.pushed > 0
    }

    /// Reads the next message. `taken` holds all frames that were pushed up to it.
    pub fn read(&mut self, moment: &FramingMessage, taken: &Taken) {
        match moment.speaker {
            Speaker::User => self.user_spoke(moment, taken),
            Speaker::Agent => self.agent_went_on(moment),
            Speaker::Host => {}
        }
        let (opened, closed) = taken.after.get(&moment.message).copied().unwrap_or_default();
        if opened > 0
            && let Some(turn) = &mut self.turn
        {
            turn.framed = true;
        }
        if opened + closed > 0 {
            self.pushed = (self.pushed + opened).saturating_sub(closed);
            self.end_what_waited(moment, None);
        }
        if moment.speaker == Speaker::Agent {
            self.look_at_divisions(moment);
        }
    }

    /// Records that the session rests: units that would end with the user's next message end now.
    pub fn rest(&mut self) {
        self.end_turn();
    }

    /// Work of the current turn is being handed on, which makes it clear that it is work before the
    /// transcript shows it.
    pub fn hand_on(&mut self) {
        self.open_turn();
    }

    fn user_spoke(&mut self, moment: &FramingMessage, taken: &Taken) {
        for open in self.open.iter_mut().filter(|open| open.item.is_some()) {
            open.turns += 1;
        }
        self.end_turn();
        self.step = None;
        if self.open.iter().all(|open| self.units[open.unit].kind != WorkKind::Turn) {
            self.turn = Some(Turn {
                message: moment.message.clone(),
                words: moment.words.clone(),
                calls: 0,
                tokens: 0,
                framed: self.pushed > 0 || !self.open.is_empty(),
                listed: false,
            });
            if taken.turns.contains(&moment.message) {
                self.open_turn();
            }
        }
    }

    fn end_turn(&mut self) {
        let Some(Step { message, closing: Some(words) }) = self.step.clone() else { return };
        if self.pushed > 0 {
            return;
        }
        let end = Anchor { message: Some(message), call: None };
        if let Some(open) = self.open.last()
            && open.item.is_some()
            && open.turns >= FORGOTTEN
        {
            self.todos.forgotten.extend(open.item);
            self.close(&end, Status::Invalidated, Some(LEFT), None);
        }
        if let [open] = &self.open[..]
            && open.item.is_none()
        {
            self.close(&end, Status::Completed, None, Some(words));
            self.turn = None;
        }
    }

    fn agent_went_on(&mut self, moment: &FramingMessage) {
        let closing = moment.closes.then(|| moment.words.clone());
        self.step = Some(Step { message: moment.message.clone(), closing });
        // Words that end in a colon announce something and are no result.
        if !moment.words.is_empty()
            && !moment.words.trim_end().ends_with(':')
            && let Some(open) = self.open.last_mut()
        {
            open.said = Some(moment.words.clone());
        }
        if let Some(turn) = &mut self.turn {
            turn.calls += moment.calls;
            turn.tokens += moment.tokens;
        }
    }

    fn look_at_divisions(&mut self, moment: &FramingMessage) {
        if self.turn.as_ref().is_some_and(Turn::is_work) {
            self.open_turn();
        }
        for call in &moment.divisions {
            match &call.division {
                Some(Division::Todos(items)) => self.list_written(moment, &call.id, items),
                Some(Division::Subagent { title, prompt }) => {
                    self.subagent_called(moment, call, (title, prompt));
                }
                None => {}
            }
        }
    }

    fn open_turn(&mut self) {
        let Some(turn) = self.turn.as_mut().filter(|turn| !turn.framed) else { return };
        if self.pushed > 0 {
            return;
        }
        turn.framed = true;
        let identity = identity_of(&turn.words);
        let opened = Anchor { message: Some(turn.message.clone()), call: None };
        let listed = turn.listed;
        self.begin(WorkKind::Turn, identity, opened, None);
        if let Some(open) = self.open.last_mut() {
            open.listed = listed;
        }
    }

    fn list_written(&mut self, moment: &FramingMessage, call: &str, items: &[Todo]) {
        let before = self.todos.in_progress();
        self.todos.write(items);
        self.todos.whole = true;
        self.note_list();
        // The only item in progress stays in progress, and another one is taken up: the agent has turned to that one.
        let now = self.todos.in_progress();
        let set_aside = match before[..] {
            [item] if now.len() == 2 && now.contains(&item) => Some(item),
            _ => None,
        };
        let current = self.open.iter_mut().rfind(|open| open.item.is_some());
        if let Some(open) = current {
            // A list that was written because of another item says nothing about this one.
            if !self.todos.is_beside_another(open.item) {
                open.turns = 0;
            }
            let status = open.item.map(|item| self.todos.status_of(item));
            let ended = match status.flatten() {
                Some(TodoStatus::InProgress) => {
                    self.todos.forgotten.extend(set_aside);
                    set_aside
                        .filter(|item| open.item == Some(*item))
                        .map(|_| TodoStatus::InProgress)
                }
                Some(status) => Some(status),
                None => Some(TodoStatus::Cancelled),
            };
            open.ended = ended;
            self.end_what_waited(moment, Some(call));
        }
        if self.pushed > 0 || self.open.iter().any(|open| open.item.is_some()) {
            return;
        }
        let Some((number, item)) = self.todos.first_in_progress() else { return };
        let identity = identity_of_item(&item.content);
        self.open_turn();
        let opened = Anchor { message: Some(moment.message.clone()), call: Some(call.to_owned()) };
        self.begin(WorkKind::Todo, identity, opened, Some(number));
    }

    fn note_list(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.listed = true;
        }
        if let Some(outer) = self.open.first_mut() {
            outer.listed = true;
        }
    }

    /// Ends the item that is worked on if it is over and no pushed frame is open in it. `call` is the one that wrote
    /// the list.
    fn end_what_waited(&mut self, moment: &FramingMessage, call: Option<&str>) {
        let Some(open) = self.open.last() else { return };
        let (Some(item), Some(ended)) = (open.item, open.ended) else { return };
        if self.pushed > 0 {
            return;
        }
        let (status, reason) = match ended {
            TodoStatus::Completed => (Status::Completed, None),
            TodoStatus::Cancelled if self.todos.status_of(item).is_none() => {
                (Status::Invalidated, Some(DROPPED))
            }
            TodoStatus::Cancelled => (Status::Invalidated, Some(CANCELLED)),
            TodoStatus::Pending | TodoStatus::InProgress => (Status::Blocked, None),
        };
        let end = Anchor { message: Some(moment.message.clone()), call: call.map(str::to_owned) };
        self.close(&end, status, reason, None);
    }

    fn subagent_called(
        &mut self,
        moment: &FramingMessage,
        call: &ToolCall,
        (title, prompt): (&str, &str),
    ) {
        self.open_turn();
        let mut identity = identity_of(prompt);
        if !title.trim().is_empty() {
            title.trim().clone_into(&mut identity.title);
        }
        let anchor = Anchor { message: Some(moment.message.clone()), call: Some(call.id.clone()) };
        self.begin(WorkKind::Subagent, identity, anchor.clone(), None);
        let status = match call.state {
            CallState::Completed => Status::Completed,
            CallState::Failed | CallState::Open => Status::Failed,
        };
        self.close(&anchor, status, None, call.output.clone());
    }

    fn begin(&mut self, kind: WorkKind, identity: Identity, opened: Anchor, item: Option<u64>) {
        let unit = self.units.len();
        self.units.push(WorkUnit {
            kind,
            parent: self.open.last().map(|open| open.unit),
            identity,
            opened,
            closed: None,
            results: None,
            status: Status::InProgress,
            reason: None,
            left: None,
        });
        self.changes.push(Change::Opened(unit));
        self.open.push(Open { unit, item, said: None, ended: None, turns: 0, listed: false });
    }

    /// Closes the innermost unit. Its results are `results`, or the last words in it.
    fn close(
        &mut self,
        end: &Anchor,
        status: Status,
        reason: Option<&'static str>,
        results: Option<String>,
    ) {
        let Some(open) = self.open.pop() else { return };
        let unit = &mut self.units[open.unit];
        unit.closed = Some(end.clone());
        unit.results = results.or(open.said).filter(|words| !words.trim().is_empty());
        unit.status = status;
        unit.reason = reason;
        if unit.kind == WorkKind::Todo || open.listed {
            unit.left = self.todos.left();
        }
        self.changes.push(Change::Closed(open.unit));
    }
}

impl Turn {
    fn is_work(&self) -> bool {
        self.tokens >= WORK_TOKENS || (self.calls >= WORK_CALLS && self.tokens >= LEAST_TOKENS)
    }
}
