//! The files in a project that follow its store: those of `.opencode/stack`, and the documents of frames' logs.

use std::sync::Arc;

use crate::error::EngineError;
use crate::kernel::Kernel;
use crate::layout;
use crate::log::files::LogFiles;
use crate::mirror::{self, Mirror};
use crate::unfinished;

/// The writers of the files that follow the store.
pub(crate) struct ProjectFiles {
    kernel: Arc<Kernel>,
    logs: LogFiles,
    mirror: Mirror,
}

impl ProjectFiles {
    pub(crate) fn new(kernel: &Arc<Kernel>) -> Self {
        let logs = LogFiles::new(kernel.trusted(), kernel.env().shared_world());
        let mirror = Mirror::new(kernel.trusted(), kernel.env());
        kernel.connection().observe(mirror.observer());
        kernel.connection().observe(logs.observer());
        Self { kernel: Arc::clone(kernel), logs, mirror }
    }

    /// Returns the writer of the documents of frames' logs.
    pub(crate) fn logs(&self) -> &LogFiles {
        &self.logs
    }

    /// Requests that the files of `.opencode/stack` and the logs be brought up to date, in the background: a process
    /// that was killed may have left them out of date, and somebody may have removed some. They follow every change
    /// by themselves.
    pub(crate) fn write_files(&self) {
        self.mirror.want();
        if !self.kernel.is_read_only() {
            self.logs.look();
        }
        let host = self.kernel.project().join(layout::HOST_FOLDER);
        // Plugin and slash commands are installed into these two folders.
        for folder in [host.join("plugin"), host.join("command")] {
            unfinished::sweep(&folder);
        }
        for folder in
            [layout::folder(self.kernel.project()), layout::flame_folder(self.kernel.project())]
        {
            unfinished::sweep(&folder);
            unfinished::sweep(&folder.join(layout::FRAMES));
        }
    }

    /// Returns why the files of `.opencode/stack` could not be written last, until they are.
    pub(crate) fn files_failure(&self) -> Option<EngineError> {
        self.mirror.failure()
    }

    /// Why logs were last not written, until they are.
    pub(crate) fn logs_failure(&self) -> Option<EngineError> {
        self.logs.failure()
    }

    /// Refuses the folder `.opencode/stack` if git tracks files in it that would be written.
    pub(crate) fn check_untracked(&self) -> Result<(), EngineError> {
        mirror::check_untracked(self.kernel.trusted())
    }

    /// Removes the files of `.opencode/stack` if they are this store's, and returns whether they were; none where
    /// there are none.
    pub(crate) fn remove_files(&self) -> Result<Option<bool>, EngineError> {
        let identity = self.kernel.read(|view| Ok::<_, EngineError>(view.identity()?))?;
        mirror::remove(self.kernel.trusted(), self.kernel.world(), identity.as_deref())
    }
}
