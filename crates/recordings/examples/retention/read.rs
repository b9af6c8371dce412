//! Recordings as spans of what was said and done: user turns, and tasks that were worked on.

use std::collections::HashMap;
use std::path::Path;

use callstack_core::evidence::Activity;
use callstack_core::framing::{Division, Todo, TodoStatus};
use callstack_core::transcript::MessageKind;
use callstack_recordings::{Recorded, Recording, read};

/// A recorded session.
#[derive(Default)]
pub(crate) struct Session {
    pub project: String,
    pub activities: Vec<Activity>,
    /// Where the user spoke: in front of these activities.
    turns: Vec<usize>,
    tasks: Vec<(usize, usize)>,
    /// Tasks that are worked on, with where that began.
    begun: HashMap<String, usize>,
}

impl Session {
    /// User turns and tasks.
    pub(crate) fn spans(&self) -> Vec<(usize, usize)> {
        let ends = self.turns.iter().skip(1).copied().chain([self.activities.len()]);
        let turns = self.turns.iter().copied().zip(ends);
        turns.chain(self.tasks.iter().copied()).filter(|(from, to)| from < to).collect()
    }

    fn take(&mut self, message: &Recorded) {
        // Messages before a compaction are replaced by it already: a turn ends there too.
        if message.is_of_user() || message.standing == MessageKind::Summary {
            self.turns.push(self.activities.len());
        }
        if message.standing == MessageKind::Normal {
            self.activities.extend(message.activities().into_iter().map(|(_, it)| it));
        }
        for call in message.calls() {
            if let Some(Division::Todos(items)) = &call.division {
                self.follow(items);
            }
        }
    }

    /// Follows a task list.
    fn follow(&mut self, items: &[Todo]) {
        let here = self.activities.len();
        for item in items {
            match item.status {
                TodoStatus::InProgress => {
                    self.begun.entry(item.content.clone()).or_insert(here);
                }
                TodoStatus::Completed => {
                    if let Some(from) = self.begun.remove(&item.content) {
                        self.tasks.push((from, here));
                    }
                }
                TodoStatus::Pending | TodoStatus::Cancelled => {}
            }
        }
    }
}

/// Reads the sessions of a folder, each with its program and its id. Unreadable ones are skipped; a reader that needs
/// one reports it on standard error.
pub(crate) fn sessions(folder: &Path) -> Vec<(String, Session)> {
    let recordings = read(folder).unwrap_or_default();
    recordings.iter().map(|it| (format!("{:?} {}", it.format, it.session), session(it))).collect()
}

fn session(recording: &Recording) -> Session {
    let mut session =
        Session { project: recording.project.replace('\\', "/"), ..Session::default() };
    recording.messages.iter().for_each(|message| session.take(message));
    session
}
