//! Sessions as short text: one line a message, its author first, in it one word a part.
//!
//! - `u` the user, `a` the agent, `h` the host; `"words"`
//! - `edit`, `edit:900` a call, and what it weighs with its result (200 if nothing is said)
//! - `todo(>one,two,+three,xfour)` a list: in progress, pending, completed, cancelled; `two#7` has an id
//! - `sub(what|answer)` a subagent's call, `broken` an abort
//! - `push`, `pop` calls that open and close a frame
//!
//! Messages are `m1`, `m2` and so on, calls `m2.0`, `m2.1`.

use std::fmt::Write as _;
use std::sync::Arc;

use super::{Division, FramingMessage, Speaker, Taken, Todo, TodoStatus, WorkKind, WorkUnit};
use crate::transcript::{Anchor, CallState, ToolCall};

pub(super) struct Session {
    pub(super) moments: Vec<FramingMessage>,
    pub(super) taken: Taken,
}

impl Session {
    pub(super) fn read(text: &str) -> Self {
        let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let mut session = Self { moments: Vec::new(), taken: Taken::default() };
        for line in lines {
            session.message(line);
        }
        session
    }

    pub(super) fn message(&mut self, line: &str) {
        let (who, rest) = line.split_once(' ').unwrap();
        let mut moment = FramingMessage {
            message: format!("m{}", self.moments.len() + 1),
            speaker: match who {
                "u" => Speaker::User,
                "a" => Speaker::Agent,
                _ => Speaker::Host,
            },
            words: String::new(),
            closes: false,
            calls: 0,
            tokens: 0,
            divisions: Vec::new(),
        };
        let mut broken = false;
        for (place, word) in words(rest).into_iter().enumerate() {
            moment.closes = word.starts_with('"');
            if moment.closes {
                word.trim_matches('"').clone_into(&mut moment.words);
                continue;
            }
            broken |= word == "broken";
            self.call(&mut moment, &word, format!("m{}.{place}", self.moments.len() + 1));
        }
        moment.closes &= moment.speaker == Speaker::Agent && !broken;
        self.moments.push(moment);
    }

    fn call(&mut self, moment: &mut FramingMessage, word: &str, call: String) {
        let count = |session: &mut Self, opens, closes| {
            let entry = session.taken.after.entry(moment.message.clone()).or_default();
            *entry = (entry.0 + opens, entry.1 + closes);
        };
        let inner = word.split_once('(').map(|(_, inner)| inner.trim_end_matches(')'));
        match (word.split(['(', ':']).next().unwrap(), inner) {
            ("push", _) => count(self, 1, 0),
            ("pop", _) => count(self, 0, 1),
            ("todo", list) => {
                let items = list.unwrap_or("").split(',').filter(|it| !it.is_empty()).map(item);
                let division = Some(Division::Todos(items.collect()));
                let call = ToolCall::new(call, "todo", CallState::Completed);
                moment.divisions.push(Arc::new(ToolCall { division, ..call }));
                moment.tokens += 100;
                return;
            }
            ("sub", Some(inner)) => {
                let (title, answer) = inner.split_once('|').unwrap_or((inner, ""));
                let prompt = format!("Please {title}");
                let division = Some(Division::Subagent { title: title.to_owned(), prompt });
                let output = Some(answer.to_owned());
                let call = ToolCall::new(call, "sub", CallState::Completed);
                moment.divisions.push(Arc::new(ToolCall { output, division, ..call }));
            }
            _ => {}
        }
        moment.calls += 1;
        moment.tokens += word.split_once(':').map_or(200, |(_, tokens)| tokens.parse().unwrap());
    }

    /// The units as a tree: kind, title, from where to where, status, results.
    pub(super) fn tree(&self) -> String {
        show(&super::frame(&self.moments, &self.taken))
    }
}

pub(super) fn item(text: &str) -> Todo {
    let status = match text.chars().next() {
        Some('>') => TodoStatus::InProgress,
        Some('+') => TodoStatus::Completed,
        Some('x') => TodoStatus::Cancelled,
        _ => TodoStatus::Pending,
    };
    let text = text.trim_start_matches(['>', '+', 'x']);
    let (content, id) = text.split_once('#').map_or((text, None), |(text, id)| (text, Some(id)));
    Todo { id: id.map(str::to_owned), content: content.to_owned(), status }
}

pub(super) fn tree(text: &str) -> String {
    Session::read(text).tree()
}

pub(super) fn show(units: &[WorkUnit]) -> String {
    let mut out = String::new();
    for unit in units {
        let mut depth = 0;
        let mut parent = unit.parent;
        while let Some(above) = parent {
            depth += 1;
            parent = units[above].parent;
        }
        let kind = match unit.kind {
            WorkKind::Turn => "turn",
            WorkKind::Todo => "todo",
            WorkKind::Subagent => "subagent",
        };
        let at = |anchor: &Anchor| anchor.call.clone().or(anchor.message.clone()).unwrap();
        let closed = unit.closed.as_ref().map_or(String::new(), &at);
        write!(
            out,
            "{}{kind} {:?} {}..{closed} {}",
            "  ".repeat(depth),
            unit.identity.title,
            at(&unit.opened),
            unit.status
        )
        .unwrap();
        if let Some(results) = &unit.results {
            write!(out, ": {results}").unwrap();
        }
        if let Some(reason) = unit.reason {
            write!(out, " ({reason})").unwrap();
        }
        if let Some(left) = &unit.left {
            write!(out, " [left: {}]", left.join(", ")).unwrap();
        }
        out.push('\n');
    }
    out
}

/// Splits at white space outside of quotes and brackets.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut quoted, mut deep) = (false, 0);
    for c in line.chars() {
        quoted ^= c == '"';
        deep += i32::from(c == '(') - i32::from(c == ')');
        if c.is_whitespace() && !quoted && deep == 0 {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
