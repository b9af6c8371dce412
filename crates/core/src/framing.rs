//! Framing: finds the units of work in a transcript, without anybody having pushed a frame.
//!
//! A user turn in which clearly some work is done is a unit, and so are an item of the agent's todo list from the
//! moment when it is in progress to its completion, and a call that hands work to a subagent. Each is a [`WorkUnit`];
//! units nest and never overlap. The result of a unit is the agent's own text at its end.
//!
//! A [`Framer`] reads a transcript message by message and never takes back its output: as the transcript grows, a
//! unit may only be closed, and new ones may appear. So a session that is framed while it goes on, one that is
//! taken up after a restart, and one that is read from a recording get the same units.
//!
//! - A turn lasts from the user's words to the agent's closing reply. One that was broken off, or in which the user
//!   spoke before the agent had closed, goes on with the user's next message: work without a summary must not be
//!   folded away.
//! - A turn is a unit only once it is clear that it is work; see [`WORK_CALLS`] and [`WORK_TOKENS`].
//! - One item of a todo list is worked on at a time. Of several in progress the first counts, and the
//!   others begin when it ends. One that is completed without having been in progress has no unit: there
//!   is nothing that could be called its work.
//! - An item that is in progress when its turn ends stays open, and the turn with it, until the item ends or
//!   [`FORGOTTEN`] user messages have passed without a change of the list. An item is also forgotten when the list is
//!   written with another one in progress: agents that leave an item for another often do not say so.
//! - Pushed work is framed already ([`Taken`]): a turn in which the agent pushes before the turn is clear makes no
//!   unit, and none begins inside a pushed frame.
//!
//! Not here: frames in a store, and the time at which they fold.

mod framer;
mod todos;

#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod todo_tests;
#[cfg(test)]
mod turn_tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use framer::{Change, Framer};
pub use todos::{Todo, TodoStatus, open_items};

use crate::evidence::OpenItems;
use crate::fold::user_speaks;
use crate::frame::{Identity, Status};
use crate::secrets::{cut_to_token_budget, take_to_token_budget};
use crate::text::first_sentence;
use crate::transcript::{
    Anchor, CallState, Message, MessageKind, PartBody, Role, Span, SpanOrigin, ToolCall,
};

/// Calls after which a turn counts as work, if they weigh at least [`LEAST_TOKENS`]. A question that is answered
/// after a look or two stays below; a change that is tried out does not.
pub const WORK_CALLS: usize = 4;

/// Estimated tokens of a turn's calls and their results with which it counts as work, however few calls there are:
/// about ten times the text of a folded turn.
pub const WORK_TOKENS: usize = 3_000;

/// Estimated tokens below which no number of calls makes a turn work: the text of a folded turn costs about as much.
pub const LEAST_TOKENS: usize = 300;

/// User messages after which a todo item that is still in progress counts as forgotten, unless the list was written
/// in between with nothing else in progress.
pub const FORGOTTEN: usize = 3;

/// The kind of work in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkKind {
    /// A user's turn, from the message to the agent's closing reply.
    Turn,
    /// A todo item that was worked on.
    Todo,
    /// A call that a subagent carried out.
    Subagent,
}

/// A unit of work in a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkUnit {
    /// The kind of its work.
    pub kind: WorkKind,
    /// The index of the unit around it.
    pub parent: Option<usize>,
    /// Its purpose: the user's words, the item, the prompt of the subagent.
    pub identity: Identity,
    /// The user's message, or the call that took the item up or began the subagent. The work begins after that
    /// message.
    pub opened: Anchor,
    /// The last message that belongs to it, or the call that wrote on the list that the item is over; none
    /// while it goes on.
    pub closed: Option<Anchor>,
    /// The agent's own text at its end.
    pub results: Option<String>,
    /// In progress until it is closed.
    pub status: Status,
    /// Why it is no longer relevant, where it was given up.
    pub reason: Option<&'static str>,
    /// Unfinished items of the todo list when the unit was closed, those in progress first. None where no list was
    /// written in it, and for a subagent's call.
    pub left: Option<Vec<String>>,
}

impl WorkUnit {
    /// Returns the items that the todo list still held when it was closed, for its evidence.
    pub fn open_items(&self) -> Option<OpenItems> {
        let open = self.left.as_deref()?;
        Some(match self.kind {
            WorkKind::Todo => OpenItems::after_an_item(open),
            WorkKind::Turn | WorkKind::Subagent => OpenItems::at_the_end(open),
        })
    }
}

/// A division of work that a call shows, as far as the host's tools are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Division {
    /// The agent's whole todo list, as it stood after the call.
    Todos(Vec<Todo>),
    /// Work that was handed to a subagent.
    Subagent {
        /// The task, in a few words.
        title: String,
        /// The prompt of the subagent.
        prompt: String,
    },
}

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The user, in words of their own.
    User,
    /// The agent.
    Agent,
    /// The host.
    Host,
}

/// A message, as far as framing reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FramingMessage {
    /// The message's id.
    pub message: String,
    /// The author.
    pub speaker: Speaker,
    /// The user's text, or the agent's last words in the message.
    pub words: String,
    /// Whether it is a closing reply: it ends in words and not with a call.
    pub closes: bool,
    /// The number of finished calls in it, except those that only write the todo list.
    pub calls: usize,
    /// Estimated tokens of its calls and their results; 0 of a message without any.
    pub tokens: usize,
    /// Those of its calls that divide work.
    pub divisions: Vec<Arc<ToolCall>>,
}

impl FramingMessage {
    /// Reads a message. `words` are the user's text or the agent's last words in it, `tokens` is the estimated weight
    /// of its calls and their results. `broken_off` where it was aborted or ended with an error.
    pub fn of(message: &Message, words: String, tokens: usize, broken_off: bool) -> Self {
        let of_agent = message.role == Role::Assistant && message.standing == MessageKind::Normal;
        let speaker = match message.role {
            Role::User if user_speaks(message) => Speaker::User,
            Role::Assistant if of_agent => Speaker::Agent,
            _ => Speaker::Host,
        };
        let calls = message.calls().filter(|call| call.state != CallState::Open).count();
        let divisions: Vec<_> =
            message.calls().filter(|call| call.division.is_some()).cloned().collect();
        let is_list = |call: &&Arc<ToolCall>| matches!(call.division, Some(Division::Todos(_)));
        let lists = divisions.iter().filter(is_list).count();
        let last = message.parts.iter().rev().find_map(|part| match part.body {
            PartBody::Text { chars, .. } if chars > 0 => Some(true),
            PartBody::Tool(_) => Some(false),
            _ => None,
        });
        Self {
            message: message.id.clone(),
            speaker,
            words,
            closes: speaker == Speaker::Agent && !broken_off && last == Some(true),
            calls: calls.saturating_sub(lists),
            tokens: if calls > 0 { tokens } else { 0 },
            divisions,
        }
    }

    /// Returns the todo list that was written last in it.
    pub fn list(&self) -> Option<&[Todo]> {
        self.divisions.iter().rev().find_map(|call| match &call.division {
            Some(Division::Todos(items)) => Some(items.as_slice()),
            _ => None,
        })
    }
}

/// Work that has a frame already: the places where pushed frames begin and end, and the turns that began one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The number of frames that are open where the transcript begins.
    pub at_start: usize,
    /// The numbers of frames that begin and end after a message, by its id.
    pub after: BTreeMap<String, (usize, usize)>,
    /// User messages whose turns have a frame: it was clear once that they are work, whatever is left
    /// of them after an undo.
    pub turns: BTreeSet<String>,
}

impl Taken {
    /// Reads the spans of a session; `is_shown` returns whether a message is in the transcript.
    pub fn of(spans: &[Span], is_shown: impl Fn(&str) -> bool) -> Self {
        let mut taken = Self::default();
        // Steps that were closed after the fact were ordinary work at the time.
        let begun = |span: &&Span| span.foldable && span.origin != SpanOrigin::Since;
        for span in spans.iter().filter(begun).filter(|span| !span.detached) {
            if span.origin.is_automatic() {
                let is_turn = span.origin.is_turn();
                taken.turns.extend(span.open.message.clone().filter(|_| is_turn));
                continue;
            }
            let shown = |anchor: &Anchor| anchor.message.clone().filter(|id| is_shown(id));
            let open = shown(&span.open);
            let close = span.live_close().map(shown);
            if open.is_none() && close == Some(None) {
                continue;
            }
            match open {
                Some(message) => taken.after.entry(message).or_default().0 += 1,
                None => taken.at_start += 1,
            }
            if let Some(Some(message)) = close {
                taken.after.entry(message).or_default().1 += 1;
            }
        }
        taken
    }
}

/// Whether a turn is the one with which a session's root began. The root is then the frame of both. `root` is the
/// identity of the root, and `before` are the user's words in it before the turn.
pub fn began_root<'a>(
    turn: &WorkUnit,
    root: &Identity,
    mut before: impl Iterator<Item = &'a FramingMessage>,
) -> bool {
    let (asked, given) = (&turn.identity.success_criteria, &root.success_criteria);
    turn.kind == WorkKind::Turn
        && asked.split_whitespace().eq(given.split_whitespace())
        && before.all(|moment| moment.speaker != Speaker::User)
}

/// Returns the units of a whole transcript, in the order in which they were found. Nothing is closed at its end,
/// since the transcript may continue.
pub fn frame(moments: &[FramingMessage], taken: &Taken) -> Vec<WorkUnit> {
    let mut framer = Framer::new(taken);
    for moment in moments {
        framer.read(moment, taken);
    }
    framer.into_stretches()
}

/// Tokens of criteria that are taken from a user's words, whole and dense.
const CRITERIA: usize = 200;
const CRITERIA_COMPACTED: usize = 60;

/// Returns a frame's identity from the user's words with which it began.
pub fn identity_of(words: &str) -> Identity {
    identity(title_of(words), words)
}

/// Returns the identity of a frame that was requested in these words; they are its criteria unchanged.
pub fn identity_of_goal(goal: &str) -> Identity {
    let success_criteria = cut_to_token_budget(goal.trim(), CRITERIA, " …").into_owned();
    Identity { success_criteria, ..identity_of(goal) }
}

/// Returns a title made of the first sentence of a text.
pub fn title_of(words: &str) -> String {
    let title = first_sentence(words);
    if title.is_empty() { "Session".to_owned() } else { title }
}

pub(crate) fn identity_of_item(content: &str) -> Identity {
    let title = first_sentence(content);
    identity(if title.is_empty() { "Item".to_owned() } else { title }, content)
}

fn identity(title: String, criteria: &str) -> Identity {
    let cut = |tokens| take_to_token_budget(criteria.trim(), tokens, " …");
    Identity {
        title,
        success_criteria: cut(CRITERIA),
        success_criteria_compacted: cut(CRITERIA_COMPACTED),
    }
}
