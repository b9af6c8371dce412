//! Undoing a frame's changes to the project's files.
//!
//! Files that its tools were seen writing, and that are still as it left them, are restored to the state in which it
//! began. Files that were changed since by other means are left as they are.

mod undo;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use callstack_core::event::{Event, FileMoment, FileRestore};
use callstack_core::frame::{Frame, FrameNum};
use callstack_core::transcript::SpanOrigin;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{EngineError, Kind};
use crate::kernel::Kernel;
use crate::queries::Queries;
use crate::work_tree::{
    FileChange, FileChangeKind, FileRecorder, FileStates, LeftAlone, Why, WorkTree, begun,
};
use crate::{files, handles};

/// The longest time that a rollback waits for a state of all files.
const PATIENCE: Duration = Duration::from_mins(1);

/// The plan of a rollback.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollbackPlan {
    /// The frame.
    #[serde(with = "handles::one")]
    #[schemars(with = "String")]
    pub frame: FrameNum,
    /// Files that would be restored.
    pub restored: Vec<RolledBack>,
    /// Files that would be left as they are, although they changed while the frame was worked on.
    pub left: Vec<LeftAlone>,
    /// Whether files go back to how they were some time before the frame began: the state nearest to that is older.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_before: bool,
    #[serde(skip)]
    source: String,
    #[serde(skip)]
    now: String,
    /// Whether this takes back a rollback.
    #[serde(skip)]
    is_undo: bool,
}

/// A file that is restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolledBack {
    /// Its path, relative to the project.
    pub path: String,
    /// The way in which it is restored.
    pub how: Restoring,
}

/// How a file is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Restoring {
    /// It gets the content that it had.
    Reverted,
    /// It was not there, and goes.
    Removed,
    /// It was there, and comes back.
    BroughtBack,
}

/// Whose changes to files are undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Writes that the frame's tools were seen to make.
    Seen,
    /// Everything that changed while it was worked on, if the state at its end is known.
    All,
}

impl RollbackPlan {
    fn put(&mut self, path: String, how: Result<Restoring, Why>) {
        match how {
            Ok(how) => self.restored.push(RolledBack { path, how }),
            Err(why) => self.left.push(LeftAlone { path, why, kept: None }),
        }
    }
}

/// Takes back frames' changes to files.
pub(crate) struct Rollbacks {
    kernel: Arc<Kernel>,
    queries: Arc<Queries>,
    files: Arc<FileStates>,
}

impl Rollbacks {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        queries: &Arc<Queries>,
        files: &Arc<FileStates>,
    ) -> Self {
        Self { kernel: Arc::clone(kernel), queries: Arc::clone(queries), files: Arc::clone(files) }
    }

    /// Returns the plan of a rollback of the files of a frame and the frames below it. Changes no file.
    pub(crate) fn rollback_plan(
        &self,
        frame: &str,
        reach: Reach,
    ) -> Result<RollbackPlan, EngineError> {
        let frame = self.queries.resolve(frame)?;
        let (begun, ended, spans) = self.kernel.read(|view| {
            let ended = view.file_state(frame.num, FileMoment::Ended)?;
            Ok::<_, EngineError>((begun(view, frame.num)?, ended, view.frame_spans(frame.num)?))
        })?;
        let is_since = spans.iter().any(|span| span.origin == SpanOrigin::Since);
        let (moment, begun) = begun.ok_or_else(|| not_recorded(&frame, is_since))?;
        let from_before = moment == FileMoment::Before;
        let (work_tree, now) = self.files.files_now()?;
        let ended = if frame.status.is_finished() { ended } else { Some(now.clone()) };

        let differing = paths_of(work_tree.changes(&begun, &now)?);
        let since = match &ended {
            Some(ended) => paths_of(work_tree.changes(ended, &now)?),
            None => BTreeSet::new(),
        };
        let written = self.written_by(frame.num)?;
        let mut plan = RollbackPlan {
            frame: frame.num,
            restored: Vec::new(),
            left: Vec::new(),
            from_before,
            source: begun.clone(),
            now,
            is_undo: false,
        };
        let until = ended.as_ref().unwrap_or(&plan.now);
        let changes = work_tree.changes(&begun, until)?;
        // A file may be in the state of the end alone although it was there: git ignored it at the beginning, or it
        // lay in a nested repository. Frames that nobody pushed are made after their first files.
        let is_made_later = is_since || spans.iter().any(|span| span.origin.is_automatic());
        let ignores_others = changes.iter().any(|change| change.path.ends_with(".gitignore"));
        let begun_at = frame.begun_at.filter(|_| ignores_others || !is_made_later);
        let was_there = |path: &&String| {
            begun_at.is_some_and(|at| was_there(&self.kernel.project().join(path), at))
        };
        let created = changes.iter().filter(|change| change.kind == FileChangeKind::Created);
        let mut unseen: BTreeSet<_> =
            created.map(|change| &change.path).filter(was_there).cloned().collect();
        if !unseen.is_empty() {
            let moved = work_tree.moved(&begun, until)?;
            unseen.retain(|path| !moved.contains(path));
        }
        for FileChange { path, kind } in changes {
            if !differing.contains(&path) {
                continue;
            }
            let is_seen = || {
                let hash = files::hash(self.kernel.project(), &path);
                hash.is_some_and(|hash| written.get(&path).is_some_and(|put| put.contains(&hash)))
            };
            let how = undoing(kind).and_then(|how| {
                if since.contains(&path) {
                    Err(Why::ChangedSince)
                } else if unseen.contains(&path) {
                    Err(Why::NotRecorded)
                } else if (reach == Reach::All && ended.is_some() && !from_before) || is_seen() {
                    Ok(how)
                } else if ended.is_none() {
                    Err(Why::EndUnknown)
                } else {
                    Err(if from_before { Why::BeginUnknown } else { Why::NotSeen })
                }
            });
            plan.put(path, how);
        }
        plan.left.extend(work_tree.restore(&plan.now, &plan.now, &[])?);
        let unrecorded = self.written_beside(&plan, &written, work_tree)?;
        let left = unrecorded.into_iter().map(|path| LeftAlone {
            path,
            why: Why::NotRecorded,
            kept: None,
        });
        plan.left.extend(left);
        Ok(plan)
    }

    /// Returns files that the frame wrote and that exist, but are in no state.
    fn written_beside(
        &self,
        plan: &RollbackPlan,
        written: &BTreeMap<String, BTreeSet<String>>,
        work_tree: &dyn WorkTree,
    ) -> Result<Vec<String>, EngineError> {
        let restored = plan.restored.iter().map(|file| &file.path);
        let reported: BTreeSet<_> =
            restored.chain(plan.left.iter().map(|file| &file.path)).collect();
        let unreported = written.keys().filter(|path| !reported.contains(path));
        let mut there: Vec<String> = unreported
            .filter(|path| {
                self.kernel.project().join(path).symlink_metadata().is_ok_and(|it| !it.is_dir())
            })
            .cloned()
            .collect();
        if !there.is_empty() {
            let held = work_tree.held(&plan.now)?;
            there.retain(|path| !held.contains(path));
        }
        Ok(there)
    }

    /// Returns the plan of taking back a rollback of a frame: the newest one with a file that can be changed back.
    pub(crate) fn rollback_undo_plan(&self, frame: &str) -> Result<RollbackPlan, EngineError> {
        let frame = self.queries.resolve(frame)?;
        let restores =
            self.kernel.read(|view| Ok::<_, EngineError>(view.file_restores(frame.num)?))?;
        let were_any = !restores.is_empty();
        let mut standing = undo::not_taken_back(restores).into_iter().rev();
        let Some(last) = standing.next() else {
            return Err(undo::nothing_to_take_back(&frame, were_any));
        };
        let (work_tree, now) = self.files.files_now()?;
        let unchangeable = work_tree.restore(&now, &now, &[])?;
        let mut plan = undo::plan_of(frame.num, last, work_tree, &now)?;
        for earlier in standing {
            if !plan.restored.is_empty() {
                break;
            }
            let left = std::mem::take(&mut plan.left);
            plan = undo::plan_of(frame.num, earlier, work_tree, &now)?;
            plan.left.retain(|file| left.iter().all(|it| it.path != file.path));
            plan.left.splice(0..0, left);
        }
        plan.left.splice(0..0, unchangeable);
        Ok(plan)
    }

    /// Carries out a plan, and returns the files that were restored. Refused where one of its files has changed since
    /// the plan was made.
    pub(crate) fn roll_back(&self, plan: &RollbackPlan) -> Result<RollbackPlan, EngineError> {
        let (work_tree, now) = self.files.files_now()?;
        let changed = paths_of(work_tree.changes(&plan.now, &now)?);
        if let Some(file) = plan.restored.iter().find(|file| changed.contains(&file.path)) {
            return Err(EngineError::new(
                Kind::Conflict,
                format!("{} was changed just now", file.path),
            )
            .with_hint("No file was restored. Look at what would be, again."));
        }
        let paths: Vec<String> = plan.restored.iter().map(|file| file.path.clone()).collect();
        let frame = plan.frame;
        let restore = |after, paths: &[String]| {
            let (paths, is_undo) = (paths.to_vec(), plan.is_undo);
            Box::new(FileRestore { before: now.clone(), after, paths, is_undo })
        };
        // If this process ends before it is done, the rollback can be taken back all the same.
        let intent = Event::FilesRestoring { frame, restore: restore(plan.source.clone(), &paths) };
        self.kernel
            .write(|change| Ok::<_, EngineError>(change.append(self.kernel.now(), &[intent])?))?;
        let mut done = plan.clone();
        let left = work_tree.restore(&now, &plan.source, &paths)?;
        let (_, after) = self.files.files_now()?;
        // A file that was written since it was restored stays as it is, also where the rollback is taken back.
        let written = paths_of(work_tree.changes(&plan.source, &after)?);
        done.restored.retain(|file| {
            !written.contains(&file.path) && left.iter().all(|left| left.path != file.path)
        });
        let written =
            plan.restored.iter().map(|file| &file.path).filter(|path| {
                written.contains(*path) && left.iter().all(|left| left.path != **path)
            });
        let why = Why::WrittenMeanwhile;
        let written = written.map(|path| LeftAlone { path: path.clone(), why, kept: None });
        done.left.extend(written.collect::<Vec<_>>());
        done.left.extend(left);
        let restored: Vec<_> = done.restored.iter().map(|file| file.path.clone()).collect();
        let event = Event::FilesRestored { frame, restore: restore(after, &restored) };
        let _outside = self.kernel.env().outside.enter();
        self.kernel.write(|change| {
            let events = [event];
            let now = self.kernel.now();
            change.append(now, &events)?;
            self.kernel.env().record_outside(change, now, &events, &[frame])
        })?;
        Ok(done)
    }

    /// Returns the files that a frame and those below it wrote, with the content that each of them last wrote. Their
    /// order does not show which of them was the last.
    fn written_by(
        &self,
        frame: FrameNum,
    ) -> Result<BTreeMap<String, BTreeSet<String>>, EngineError> {
        self.kernel.read(|view| {
            let mut written = BTreeMap::<_, BTreeSet<_>>::new();
            for num in view.frames_from(frame)? {
                for artifact in view.frame(num)?.artifacts {
                    if let Some(hash) = artifact.hash {
                        written.entry(artifact.path).or_default().insert(hash);
                    }
                }
            }
            Ok(written)
        })
    }
}

impl FileStates {
    /// Records the files as they are now.
    pub(crate) fn files_now(&self) -> Result<(&dyn WorkTree, String), EngineError> {
        let work_tree = self.recording.get().map(FileRecorder::work_tree);
        let state = work_tree.map(|it| it.record(PATIENCE)).transpose()?.flatten();
        match (work_tree, state) {
            (Some(work_tree), Some(state)) => Ok((work_tree, state)),
            _ => Err(EngineError::new(
                Kind::Conflict,
                format!("{} is no git work tree", self.kernel.project().display()),
            )
            .with_hint("Files can only be rolled back where git is there to record them.")),
        }
    }
}

fn paths_of(changes: Vec<FileChange>) -> BTreeSet<String> {
    changes.into_iter().map(|change| change.path).collect()
}

/// Returns the way to restore a file and undo a change, or the reason why that is impossible.
fn undoing(kind: FileChangeKind) -> Result<Restoring, Why> {
    match kind {
        FileChangeKind::Created => Ok(Restoring::Removed),
        FileChangeKind::Changed => Ok(Restoring::Reverted),
        FileChangeKind::Deleted => Ok(Restoring::BroughtBack),
        FileChangeKind::Unrecorded => Err(Why::NotRecorded),
        FileChangeKind::Unnamed => Err(Why::NotText),
    }
}

fn not_recorded(frame: &Frame, is_since: bool) -> EngineError {
    let (moment, hint) = if is_since {
        (
            format!("before the first call of frame {}", frame.label()),
            "For steps that are closed after the fact a state from before them counts: one is recorded at the user's \
             words, where the todo list changes, where frames begin and end, and where the agent looks around after \
             work, in a git work tree, and STACK_ROLLBACK is on. The process that knew of it may have ended before the \
             steps were closed; what frames wrote is told by `callstack show`.",
        )
    } else {
        (
            format!("when frame {} began", frame.label()),
            "They are when a frame is pushed or activated in a git work tree, and STACK_ROLLBACK is on, and for one \
             that begins by itself where it could be done before its first call; what frames wrote is told by \
             `callstack show`.",
        )
    };
    EngineError::new(Kind::Conflict, format!("the files were not recorded {moment}"))
        .with_hint(hint)
}

/// Whether a file was there at a time, in milliseconds since 1970. False where the system does not know when files
/// came to be.
fn was_there(path: &Path, at: i64) -> bool {
    let made = path.symlink_metadata().and_then(|metadata| metadata.created()).ok();
    let made = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    made.is_some_and(|made| i64::try_from(made.as_millis()).is_ok_and(|made| made < at))
}
