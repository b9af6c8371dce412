//! The sessions that this process works with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use callstack_store::MessageBody;

use crate::conversation::Conversation;
use crate::error::EngineError;
use crate::kernel::Kernel;
use crate::lock::lock;
use crate::project_files::ProjectFiles;
use crate::recorder::{PATIENCE, Recorder, Ticket};

/// The sessions that this process works with, and the recorder of their messages.
pub(crate) struct Sessions {
    pub(crate) kernel: Arc<Kernel>,
    files: Arc<ProjectFiles>,
    pub(crate) conversations: Mutex<HashMap<String, Arc<Mutex<Conversation>>>>,
    pub(crate) recorder: OnceLock<Recorder>,
}

impl Sessions {
    pub(crate) fn new(kernel: &Arc<Kernel>, files: &Arc<ProjectFiles>) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            files: Arc::clone(files),
            conversations: Mutex::default(),
            recorder: OnceLock::default(),
        }
    }

    pub(crate) fn recorder(&self) -> Result<&Recorder, EngineError> {
        if let Some(recorder) = self.recorder.get() {
            return Ok(recorder);
        }
        let recorder = Recorder::start(&self.kernel, self.files.logs().observer())?;
        Ok(self.recorder.get_or_init(|| recorder))
    }

    /// Hands messages of a session that a host has shown to the recorder.
    pub(crate) fn record(
        &self,
        session: &str,
        messages: Vec<MessageBody>,
    ) -> Result<Ticket, EngineError> {
        // Messages wait even if the store can't be read at the moment.
        let newest = self.kernel.read(|view| Ok::<_, EngineError>(view.newest_event()?)).ok();
        self.record_since(newest.map(|it| it.seq), session, messages)
    }

    /// The same, where `newest` is the newest event, as far as it is known.
    pub(crate) fn record_since(
        &self,
        newest: Option<u64>,
        session: &str,
        messages: Vec<MessageBody>,
    ) -> Result<Ticket, EngineError> {
        Ok(self.recorder()?.record((self.kernel.now(), newest), session, messages))
    }

    /// Returns the reason why messages can't be stored at the moment, if they can't.
    pub(crate) fn recording_failure(&self) -> Option<EngineError> {
        self.recorder().map_or_else(Some, Recorder::failure)
    }

    /// Waits a little until the session's messages are on the disk.
    pub(crate) fn written(&self, conversation: &Conversation) -> Result<(), EngineError> {
        self.recorder()?.flush(conversation.ticket(), PATIENCE);
        Ok(())
    }

    /// Returns the recorder of messages, if anything was recorded in this process.
    pub(crate) fn recorder_started(&self) -> Option<&Recorder> {
        self.recorder.get()
    }

    pub(crate) fn conversation(&self, session: &str) -> Arc<Mutex<Conversation>> {
        let mut conversations = lock(&self.conversations);
        Arc::clone(conversations.entry(session.to_owned()).or_default())
    }

    /// Forgets this process's state of a session; the store keeps all of it.
    pub(crate) fn forget(&self, session: &str) {
        lock(&self.conversations).remove(session);
    }
}
