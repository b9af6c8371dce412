//! The rollbacks of a frame that can still be taken back.

use callstack_core::event::FileRestore;
use callstack_core::frame::{Frame, FrameNum};

use super::{RollbackPlan, paths_of, undoing};
use crate::error::{EngineError, Kind};
use crate::work_tree::{FileChange, Why, WorkTree};

/// Returns the restores that were not taken back, with the files for which that holds, the newest last.
pub(super) fn not_taken_back(restores: Vec<FileRestore>) -> Vec<FileRestore> {
    let mut standing: Vec<FileRestore> = Vec::new();
    for restore in restores {
        if !restore.is_undo {
            standing.push(restore);
            continue;
        }
        for path in &restore.paths {
            let newest = standing.iter_mut().rev().find(|earlier| earlier.paths.contains(path));
            if let Some(newest) = newest {
                newest.paths.retain(|it| it != path);
            }
        }
        standing.retain(|earlier| !earlier.paths.is_empty());
    }
    standing
}

/// Returns the plan of taking back one restore.
pub(super) fn plan_of(
    frame: FrameNum,
    restore: FileRestore,
    work_tree: &dyn WorkTree,
    now: &str,
) -> Result<RollbackPlan, EngineError> {
    let since = paths_of(work_tree.changes(&restore.after, now)?);
    // Not all may have been restored, or somebody has put them back.
    let differing = paths_of(work_tree.changes(&restore.before, now)?);
    let changes = work_tree.changes(&restore.before, &restore.after)?;
    let mut plan = RollbackPlan {
        frame,
        restored: Vec::new(),
        left: Vec::new(),
        from_before: false,
        source: restore.before,
        now: now.to_owned(),
        is_undo: true,
    };
    for FileChange { path, kind } in changes {
        if restore.paths.contains(&path) && differing.contains(&path) {
            let untouched = !since.contains(&path);
            let how = undoing(kind);
            plan.put(path, how.and_then(|how| untouched.then_some(how).ok_or(Why::ChangedSince)));
        }
    }
    Ok(plan)
}

/// The error where there is no rollback to take back.
pub(super) fn nothing_to_take_back(frame: &Frame, were_any: bool) -> EngineError {
    let (label, num) = (frame.label(), frame.num);
    let (message, hint) = if were_any {
        let message = format!("every rollback of frame {label} was taken back");
        (message, format!("`callstack rollback {num}` rolls its files back once more."))
    } else {
        let message = format!("the files of frame {label} were not rolled back");
        (message, format!("`callstack rollback {num}` does that."))
    };
    EngineError::new(Kind::Conflict, message).with_hint(hint)
}
