//! A store whose files are deleted, replaced or overwritten under a live process: the store makes itself again, or goes on with
//! the one that is there. The engine forgets what it knew of one that is gone, and says what has happened.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use callstack_core::context::ContextCache;
use callstack_core::log_line::LogLine;
use callstack_store::{Incident, StoreError};

use crate::conversation::Conversation;
use crate::engine::{Engine, lock};
use crate::error::EngineError;

impl Engine {
    /// Looks before a request of a host whether the store is still there, and makes it again if it is not. What was
    /// known of one that another one has replaced is forgotten: the host is asked for everything.
    pub fn attend(&self) -> Result<(), EngineError> {
        match self.store.look() {
            Ok(()) | Err(StoreError::Replaced { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.forget_replaced();
        let incidents = self.store.incidents();
        if !incidents.is_empty() {
            self.log.reopen();
        }
        for incident in &incidents {
            let (line, notice) = notice(*incident);
            self.tell_log(&line);
            lock(&self.notices).push(notice);
        }
        if !incidents.is_empty() {
            self.write_files();
        }
        Ok(())
    }

    /// Has a host show a notice to the user.
    pub fn notify(&self, notice: String) {
        lock(&self.notices).push(notice);
    }

    /// Returns the notices about the store for the user, each once.
    pub fn take_notices(&self) -> String {
        std::mem::take(&mut *lock(&self.notices)).join("; ")
    }

    /// Forgets conversations if another store has taken the place of the one that they were read from. True if so.
    pub(crate) fn forget_replaced(&self) -> bool {
        let generation = self.store.turns().generation();
        let is_another = self.generation.swap(generation, Ordering::Relaxed) != generation;
        if is_another {
            for conversation in lock(&self.conversations).values_mut() {
                *conversation = Arc::new(Mutex::new(Conversation::forgotten()));
            }
            *lock(&self.cache) = ContextCache::default();
        }
        is_another
    }
}

fn notice(incident: Incident) -> (LogLine, String) {
    match incident {
        Incident::Restored => (
            LogLine::new("Store made again"),
            "the store in .callstack had vanished or was overwritten, and was made again; nothing was lost".to_owned(),
        ),
        Incident::Replaced { lost } => (
            LogLine::new("Store replaced").with("lostEvents", lost),
            format!(
                "the store in .callstack was replaced by another one, and {lost} events of the one before are not in \
                 it; callstack goes on with the one that is there"
            ),
        ),
    }
}
