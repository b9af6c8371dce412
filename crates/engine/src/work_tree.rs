//! States of the project's files: what records and restores them is given from outside.

use callstack_core::event::{Event, FileMoment};
use callstack_core::frame::FrameNum;
use callstack_core::log_line::LogLine;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::Answer;

/// Records states of the project's files, tells what differs between two, and restores files.
pub trait WorkTree: Send + Sync {
    /// Records the files as they are now and names that state; none where states can't be recorded.
    fn record(&self) -> Result<Option<String>, EngineError>;

    /// The files that differ between two states, by path.
    fn changes(&self, from: &str, to: &str) -> Result<Vec<FileChange>, EngineError>;

    /// Makes these files what they were in a state. Those that were not there are removed.
    fn restore(&self, state: &str, paths: &[String]) -> Result<(), EngineError>;
}

/// A file that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Its path, relative to the project with `/`.
    pub path: String,
    /// What became of it.
    pub kind: FileChangeKind,
}

/// What became of a file from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChangeKind {
    /// It came to be.
    Created,
    /// It has other content, or another kind.
    Changed,
    /// It is gone.
    Deleted,
}

impl Engine {
    /// Has the state of the project's files recorded where frames begin and end. Without it they can't be
    /// rolled back. The first one counts.
    pub fn record_files_with(&self, work_tree: Box<dyn WorkTree>) {
        self.work_tree.get_or_init(|| work_tree);
    }

    /// Records the state of the files where a call has begun or ended work in a frame. That it can't be
    /// recorded is told by the log: the work itself is not held up.
    pub(crate) fn record_files_of(&self, answer: &Answer) {
        let moments = [(answer.opened, FileMoment::Begun), (answer.closed, FileMoment::Ended)];
        for (frame, moment) in moments {
            if let Some(frame) = frame {
                self.record_files(frame, moment);
            }
        }
        if let Some(frame) = answer.returned
            && self.has_no_end(frame)
        {
            self.record_files(frame, FileMoment::Ended);
        }
    }

    /// Whether no state was recorded where a frame ended: its session fell silent without ending it.
    fn has_no_end(&self, frame: FrameNum) -> bool {
        self.store
            .read(|view| view.file_state(frame, FileMoment::Ended))
            .is_ok_and(|it| it.is_none())
    }

    /// Records the state of the files for a frame.
    pub(crate) fn record_files(&self, frame: FrameNum, moment: FileMoment) {
        let Some(work_tree) = self.work_tree.get() else { return };
        let recorded = match self.current_settings() {
            Ok(settings) if settings.kept.rollback => work_tree.record(),
            _ => return,
        };
        let written = recorded.and_then(|state| {
            let Some(state) = state else { return Ok(()) };
            let event = Event::FilesRecorded { frame, moment, state };
            self.store.write(|change| Ok(change.append(self.now(), &[event])?))
        });
        if let Err(error) = written {
            let line = LogLine::new("Files not recorded").with("frame", frame.to_string());
            self.tell_log(&line.with("error", error.sentence()));
        }
    }
}
