//! A store whose files are deleted, replaced or overwritten under a live process: the store makes itself again, or
//! continues with the one that is there. The engine forgets its state of a store that is gone, and reports the
//! change.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use callstack_core::context::ContextCache;
use callstack_core::log_line::LogLine;
use callstack_store::{Incident, StoreError};

use crate::assembly::Contexts;
use crate::conversation::Conversation;
use crate::error::EngineError;
use crate::kernel::Kernel;
use crate::lock::lock;
use crate::project_files::ProjectFiles;
use crate::sessions::Sessions;

/// Notices a store that was deleted, replaced or overwritten under this process.
pub(crate) struct Presence {
    kernel: Arc<Kernel>,
    files: Arc<ProjectFiles>,
    contexts: Arc<Contexts>,
    sessions: Arc<Sessions>,
    /// The newest event at which purges were looked for.
    looked_for_purges: AtomicU64,
}

impl Presence {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        files: &Arc<ProjectFiles>,
        contexts: &Arc<Contexts>,
        sessions: &Arc<Sessions>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            files: Arc::clone(files),
            contexts: Arc::clone(contexts),
            sessions: Arc::clone(sessions),
            looked_for_purges: AtomicU64::default(),
        }
    }

    /// Checks before a request of a host that the store is still there, and makes it again if it is not. If another
    /// store has replaced it, the state of the old one is forgotten, and the host is asked for everything.
    pub(crate) fn attend(&self) -> Result<(), EngineError> {
        match self.kernel.look_after_files() {
            Ok(()) | Err(StoreError::Replaced { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        self.forget_replaced();
        self.forget_purged()?;
        let notices = self.notices();
        if !notices.is_empty() {
            lock(&self.kernel.notices).extend(notices);
            self.files.write_files();
        }
        Ok(())
    }

    /// Logs what happened to the files of the store since the last call, and returns a notice of each for the user.
    pub(crate) fn notices(&self) -> Vec<String> {
        let incidents = self.kernel.incidents();
        if !incidents.is_empty() {
            self.kernel.env().log.reopen();
        }
        let report = |incident| {
            let (line, notice) = notice(incident);
            self.kernel.log_now(&line);
            notice
        };
        incidents.into_iter().map(report).collect()
    }

    /// Forgets the state of sessions with messages that were purged since the last call.
    pub(crate) fn forget_purged(&self) -> Result<(), EngineError> {
        let known = self.looked_for_purges.load(Ordering::Relaxed);
        let conversations: Vec<_> = lock(&self.sessions.conversations)
            .iter()
            .map(|(session, conversation)| (session.clone(), Arc::clone(conversation)))
            .collect();
        let (newest, purges) = self.kernel.read(|view| {
            let newest = view.newest_event()?.seq;
            let is_due = newest != known && !conversations.is_empty();
            let purges = if is_due { view.purges_after(known)? } else { Vec::new() };
            Ok::<_, StoreError>((newest, purges))
        })?;
        for (session, conversation) in conversations {
            if purges.iter().any(|purge| purge.concerns(&session)) {
                lock(&conversation).forget_messages();
            }
        }
        if !purges.is_empty() {
            *lock(&self.contexts.cache) = ContextCache::default();
        }
        self.looked_for_purges.store(newest, Ordering::Relaxed);
        Ok(())
    }

    /// Forgets conversations if another store has taken the place of the one that they were read from. True if so.
    pub(crate) fn forget_replaced(&self) -> bool {
        let is_another = self.kernel.was_replaced();
        if is_another {
            for conversation in lock(&self.sessions.conversations).values_mut() {
                *conversation = Arc::new(Mutex::new(Conversation::forgotten()));
            }
            *lock(&self.contexts.cache) = ContextCache::default();
        }
        is_another
    }
}

impl Kernel {
    /// Has a host show a notice to the user.
    pub(crate) fn notify(&self, notice: String) {
        lock(&self.notices).push(notice);
    }

    /// Returns the notices about the store for the user, each once.
    pub(crate) fn take_notices(&self) -> String {
        std::mem::take(&mut *lock(&self.notices)).join("; ")
    }
}

fn notice(incident: Incident) -> (LogLine, String) {
    match incident {
        Incident::Restored => (
            LogLine::new("Store made again"),
            "the store in .callstack had vanished or was overwritten, and was made again; nothing was lost".to_owned(),
        ),
        Incident::WithoutLog => (
            LogLine::new("Store opened without its log"),
            "files of the store in .callstack had been deleted, and it was opened without its newest changes: their log may \
             be another program's, and was put aside; `callstack doctor` says where it is"
                .to_owned(),
        ),
        Incident::Gone => (
            LogLine::new("Store begun anew"),
            "the store in .callstack had been deleted and could not be restored: an empty one was begun".to_owned(),
        ),
        Incident::PutAside => (
            LogLine::new("Store put aside"),
            "the store in .callstack is an earlier one, such as a backup; the later one was put aside, and \
             `callstack doctor` says where it is"
                .to_owned(),
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
