//! States of the project's files: their recorder is given from outside.

mod places;
mod steps;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use callstack_core::event::{Event, FileMoment};
use callstack_core::frame::FrameNum;
use callstack_core::log_line::LogLine;
use callstack_store::{StoreError, Trusted, View};
use places::Places;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::background::{Background, Work};
use crate::call::Answer;
use crate::error::{EngineError, Kind};
use crate::kernel::Kernel;
use crate::kernel::connection::Connection;
use crate::lock::lock;
use crate::world::World;
pub(crate) use places::StateAt;
pub(crate) use steps::may_write;

/// Records states of the project's files, compares two of them, and restores files.
pub trait WorkTree: Send + Sync {
    /// Checks that states can be recorded, or that there is nothing to record here.
    fn check(&self, patience: Duration) -> Result<(), EngineError>;

    /// Records the files as they are now and names that state; none where states can't be recorded. An
    /// error of the kind `Unavailable` says that it would have taken longer than `patience`.
    fn record(&self, patience: Duration) -> Result<Option<String>, EngineError>;

    /// The files that differ between two states, by path.
    fn changes(&self, from: &str, to: &str) -> Result<Vec<FileChange>, EngineError>;

    /// Returns the files of the state `to` that hold what a file of `from` held that is not in `to`.
    fn moved(&self, from: &str, to: &str) -> Result<BTreeSet<String>, EngineError>;

    /// The changes of these files, as far as both states have their content.
    fn patches(
        &self,
        from: &str,
        to: &str,
        paths: &[String],
    ) -> Result<Vec<FilePatch>, EngineError>;

    /// Returns the files that a state contains: not those that git ignores.
    fn held(&self, state: &str) -> Result<BTreeSet<String>, EngineError>;

    /// Restores these files to the state `to`; those that were not there are removed. A file that no longer is as in
    /// the state `from` is left as it is and returned, and so is one that can't be written. So are files of which a
    /// killed process holds the only copy, also where there are no paths.
    fn restore(
        &self,
        from: &str,
        to: &str,
        paths: &[String],
    ) -> Result<Vec<LeftAlone>, EngineError>;

    /// Whether it is time to drop unneeded states.
    fn is_crowded(&self) -> bool;

    /// Drops states that are not among `needed`, except for those that were recorded recently. Those for which there
    /// is no time within `patience` are left for later.
    fn keep_only(&self, needed: &[String], patience: Duration) -> Result<(), EngineError>;
}

/// A file that differs between two states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Its path, relative to the project with `/`.
    pub path: String,
    /// The kind of its change.
    pub kind: FileChangeKind,
}

/// The change of a file from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChangeKind {
    /// It came to be.
    Created,
    /// It has other content, or another kind.
    Changed,
    /// It is gone.
    Deleted,
    /// It is no longer the same file, and one of the states does not have its content.
    Unrecorded,
    /// Any change: its name is no text, and its path is only similar.
    Unnamed,
}

/// The lines that changed in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePatch {
    /// Its path, relative to the project with `/`.
    pub path: String,
    /// The numbers of lines that were added and removed; none where its content is no text.
    pub lines: Option<(usize, usize)>,
    /// The hunks of a unified diff.
    pub text: String,
}

/// A file that is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LeftAlone {
    /// Its path, relative to the project.
    pub path: String,
    /// Why.
    pub why: Why,
    /// Where something else that was written to it is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
}

/// Why a file is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It was changed after the frame had ended.
    ChangedSince,
    /// No tool of the frame was seen writing its content: a command of the frame may have, or somebody else.
    NotSeen,
    /// Its content is not recorded: git ignores it, it lies outside of the project, is too large, could not be read,
    /// or is lost.
    NotRecorded,
    /// It was written, or removed, while files were restored.
    WrittenMeanwhile,
    /// Its name is no text: a name that can't be shown can't be approved.
    NotText,
    /// It can't be written, or a folder or a link is in its way.
    NotWritable,
    /// As `NotSeen`, where the files were not recorded when the frame ended: later changes, perhaps by somebody else,
    /// can't be separated from its own.
    EndUnknown,
    /// As `NotSeen`, where the state of the files is older than the frame: earlier changes can't be separated from
    /// its own.
    BeginUnknown,
}

/// The longest time that a call of an agent waits for states, in all. All sessions of its process wait with it.
const PATIENCE: Duration = Duration::from_secs(2);
/// Milliseconds for which no state is recorded for calls of agents once one has taken too long.
const REST: i64 = 10 * 60 * 1000;

/// The recorder of states.
pub(crate) struct FileRecorder {
    shared: Arc<Recording>,
    /// Records those at places of transcripts.
    background: Background,
}

/// The state that calls share with the work after them.
struct Recording {
    work_tree: Box<dyn WorkTree>,
    /// The store that knows which states are needed.
    trusted: Arc<Trusted>,
    world: Arc<dyn World>,
    /// The time of the next try after one was too slow.
    rests_until: AtomicI64,
    /// The reported reason why the last one was not recorded.
    reported: Mutex<Option<String>>,
    places: Mutex<Places>,
}

impl FileRecorder {
    fn new(work_tree: Box<dyn WorkTree>, trusted: Arc<Trusted>, world: Arc<dyn World>) -> Self {
        let (rests_until, reported, places) =
            (AtomicI64::new(0), Mutex::default(), Mutex::default());
        let shared = Recording {
            work_tree,
            trusted,
            world: Arc::clone(&world),
            rests_until,
            reported,
            places,
        };
        let shared = Arc::new(shared);
        let recording = Arc::clone(&shared);
        let background = Background::at_once("callstack-files", world, move || -> Work {
            let recording = Arc::clone(&recording);
            Box::new(move || recording.record_places())
        });
        Self { shared, background }
    }

    pub(crate) fn work_tree(&self) -> &dyn WorkTree {
        self.shared.work_tree.as_ref()
    }
}

impl Recording {
    /// Whether it was too slow a while ago.
    fn rests(&self, now: i64) -> bool {
        now < self.rests_until.load(Ordering::Relaxed)
    }

    /// Records the state of the files, and rests where that takes too long.
    fn record(&self, now: i64) -> Result<Option<String>, EngineError> {
        let recorded = self.work_tree.record(PATIENCE);
        if recorded.as_ref().is_err_and(too_slow) {
            self.rests_until.store(now + REST, Ordering::Relaxed);
        }
        if recorded.is_ok() {
            lock(&self.reported).take();
        }
        recorded
    }

    /// Returns the line of the log about frames whose files were not recorded, unless the same was logged of the
    /// frames before.
    fn untaken(&self, frames: &str, error: &EngineError) -> Option<LogLine> {
        let why = error.sentence();
        if lock(&self.reported).replace(why.clone()).as_ref() == Some(&why) {
            return None;
        }
        let again = if too_slow(error) { "in ten minutes" } else { "at once" };
        let line = LogLine::new("Files not recorded").with("frame", frames);
        Some(line.with("error", why).with("triedAgain", again))
    }

    /// Drops states, now and then, that no frame has.
    fn forget_unneeded(&self) -> Result<(), EngineError> {
        if !self.work_tree.is_crowded() {
            return Ok(());
        }
        let connection = Connection::another(&self.trusted)?;
        let mut needed =
            connection.read(|view| Ok::<_, EngineError>(view.needed_file_states()?))?;
        needed.extend(lock(&self.places).states());
        self.work_tree.keep_only(&needed, PATIENCE)
    }
}

fn too_slow(error: &EngineError) -> bool {
    error.kind == Kind::Unavailable
}

/// Returns the state to which a frame's files are rolled back, and the moment that it shows.
pub(crate) fn begun(
    view: &View<'_>,
    frame: FrameNum,
) -> Result<Option<(FileMoment, String)>, StoreError> {
    for moment in [FileMoment::Begun, FileMoment::Before] {
        if let Some(state) = view.file_state(frame, moment)? {
            return Ok(Some((moment, state)));
        }
    }
    Ok(None)
}

/// The states of the project's files at the begin and end of frames.
pub(crate) struct FileStates {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) recording: OnceLock<FileRecorder>,
}

impl FileStates {
    pub(crate) fn new(kernel: &Arc<Kernel>) -> Self {
        Self { kernel: Arc::clone(kernel), recording: OnceLock::default() }
    }

    /// Checks that states of the project's files can be recorded, where they should be.
    pub(crate) fn check_work_tree(&self) -> Result<(), EngineError> {
        match self.recording.get() {
            Some(recording)
                if self.kernel.read(|view| self.kernel.settings_in(view))?.kept.rollback =>
            {
                recording.work_tree().check(PATIENCE)
            }
            _ => Ok(()),
        }
    }

    /// Compares states, where any can be recorded.
    pub(crate) fn work_tree(&self) -> Option<&dyn WorkTree> {
        self.recording.get().map(FileRecorder::work_tree)
    }

    /// Sets the recorder of the project's files, which is used where frames begin and end. Without it frames can't be
    /// rolled back. The first one counts.
    pub(crate) fn record_files_with(&self, work_tree: Box<dyn WorkTree>) {
        self.recording.get_or_init(|| {
            let world = self.kernel.env().shared_world();
            FileRecorder::new(work_tree, Arc::clone(self.kernel.trusted()), world)
        });
    }

    /// Records the state of the files where a call has begun or ended work in a frame. A failure is logged: the work
    /// itself is not held up.
    pub(crate) fn record_files_of(&self, answer: &Answer) {
        if let Some(frame) = answer.opened {
            self.record_begin(frame);
        }
        self.record_ends(answer.closed.as_slice());
    }

    /// Records the state of the files where work in a frame begins.
    pub(crate) fn record_begin(&self, frame: FrameNum) {
        self.record_files(&[frame], FileMoment::Begun);
    }

    /// Records the state of the files where work in these frames ends at this moment. The end of frames that have
    /// been silent for a while records nothing: others may have changed files since.
    pub(crate) fn record_ends(&self, frames: &[FrameNum]) {
        // Without a beginning there is nothing to go back to.
        let has_begun = |frame: &FrameNum| {
            let begun = self.kernel.read(|view| begun(view, *frame));
            begun.is_ok_and(|state| state.is_some())
        };
        let frames: Vec<_> = frames.iter().copied().filter(has_begun).collect();
        if !frames.is_empty() {
            self.record_files(&frames, FileMoment::Ended);
        }
    }

    fn record_files(&self, frames: &[FrameNum], moment: FileMoment) {
        let Some(recording) = self.recording.get() else { return };
        if recording.shared.rests(self.kernel.world().now()) {
            return;
        }
        let recorded = match self.kernel.read(|view| self.kernel.settings_in(view)) {
            Ok(settings) if settings.kept.rollback => {
                recording.shared.record(self.kernel.world().now())
            }
            _ => return,
        };
        let written = recorded.and_then(|state| {
            let Some(state) = state else { return Ok(()) };
            let recorded = |frame: &FrameNum| {
                let (frame, state) = (*frame, state.clone());
                Event::FilesRecorded { frame, moment, state }
            };
            let events: Vec<_> = frames.iter().map(recorded).collect();
            self.kernel.write(|change| Ok(change.append(self.kernel.now(), &events)?))
        });
        if let Err(error) = written {
            let frames: Vec<_> = frames.iter().map(ToString::to_string).collect();
            if let Some(line) = recording.shared.untaken(&frames.join(", "), &error) {
                self.kernel.log_now(&line);
            }
        }
    }
}
