//! The state of framing.

use std::collections::HashSet;

use callstack_core::framing::{Framer, FramingMessage, Taken};

use crate::conversation::entry::Entry;

/// The state of framing in this process. All of it can be restored from the transcript and the store.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    /// Messages that the host has reported and not shown yet, such as a closing reply.
    pub(crate) recorded: Vec<FramingMessage>,
    pub(crate) framer: Option<Framer>,
    /// The number of messages that the framer has read, and the frames that it was given.
    pub(crate) read: usize,
    pub(crate) taken: Taken,
    /// The session's revision that `taken` was made from.
    pub(crate) revision: i64,
    /// How many of the framer's changes the store has.
    pub(crate) done: usize,
    /// How many there were when one could not be carried out: it waits for the next turn.
    pub(crate) waiting: usize,
    /// The session has fallen silent since its last call; messages that are still reported count at once.
    pub(crate) resting: bool,
    /// Whether the session is one that a user leads.
    pub(crate) led_by_user: Option<bool>,
}

impl Framing {
    pub(crate) fn truncate(&mut self, keep: usize) {
        self.recorded.clear();
        self.resting = false;
        if keep < self.read {
            self.framer = None;
        }
    }

    /// Takes note of how many of the framer's changes the store has. The others wait for the next turn.
    pub(crate) fn carried_out(&mut self, done: usize) {
        let all = self.framer.as_ref().map_or(0, |framer| framer.changes().len());
        self.done = done;
        self.waiting = if done < all { all } else { 0 };
    }

    pub(crate) fn is_due(&self) -> bool {
        let changes = self.framer.as_ref().map_or(0, |framer| framer.changes().len());
        changes > self.done.max(self.waiting)
    }

    /// Sets the frames that exist already. Messages of the transcript that were read with other knowledge are read
    /// again.
    pub(crate) fn know(&mut self, taken: Taken, revision: i64, transcript: &[Entry]) {
        let unread: HashSet<&str> =
            transcript.iter().skip(self.read).map(|entry| entry.message.id.as_str()).collect();
        let differs = |(message, places): (&String, &(usize, usize))| {
            self.taken.after.get(message) != Some(places) && !unread.contains(message.as_str())
        };
        let gone = |message: &String| !taken.after.contains_key(message);
        if taken.at_start != self.taken.at_start
            || taken.after.iter().any(differs)
            || self.taken.after.keys().any(gone)
        {
            self.framer = None;
        }
        self.taken = taken;
        self.revision = revision;
    }
}
