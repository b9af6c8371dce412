//! Whether git tracks paths in a folder that callstack writes to. A commit would take along what is written there, also
//! where a checkout has brought them under a live process.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::{Distrust, Registry, Trusted};
use crate::error::StoreError;
use crate::git_exclude::git_folder;
use crate::locate::FOLDER;

/// The pause before the next look whether git has written an index.
const PAUSE: Duration = Duration::from_millis(20);

/// What was found out, by project and folder.
pub(super) type Answers = Arc<Mutex<HashMap<(PathBuf, String), Answer>>>;

/// The paths that git tracks, and its indexes at that time.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    indexes: Vec<Stamp>,
    paths: Vec<PathBuf>,
}

/// An index of git: its time of change and its length. None where there is none yet.
type Stamp = Option<(SystemTime, u64)>;

impl Trusted {
    /// Returns the paths in a folder of the project that git tracks, relative to the project. Git is asked again
    /// whenever one of its indexes has changed. An error if git is about to write one for longer than `patience`.
    pub fn tracked_in(&self, folder: &str, patience: Duration) -> Result<Vec<PathBuf>, StoreError> {
        let Some(registry) = &self.registry else { return Ok(Vec::new()) };
        let indexes = indexes(&self.project.join(folder));
        wait_for_git(&indexes, patience).map_err(|lock| {
            let why = format!("git has not finished its work, since {} is there", lock.display());
            Distrust::Unclear { folder: self.project.join(folder), why }
        })?;
        let place = (self.project.clone(), folder.to_owned());
        let known = registry.answers().get(&place).cloned();
        match known.filter(|known| known.indexes == stamps(&indexes)) {
            Some(known) => Ok(known.paths),
            None => registry.tracked(&self.project, folder),
        }
    }

    /// Refuses to write to a store in which git tracks paths.
    pub fn refuse_tracked(&self, patience: Duration) -> Result<(), StoreError> {
        let paths = self.tracked_in(FOLDER, patience)?;
        if paths.is_empty() {
            return Ok(());
        }
        Err(Distrust::Tracked { project: self.project.clone(), paths }.into())
    }
}

impl Registry {
    /// Asks git which paths in a folder it tracks, and keeps the answer.
    pub(super) fn tracked(&self, project: &Path, folder: &str) -> Result<Vec<PathBuf>, StoreError> {
        // Before git is asked: a change meanwhile has it asked again.
        let indexes = stamps(&indexes(&project.join(folder)));
        let paths = self.tracked_now(project, folder)?;
        let answer = Answer { indexes, paths: paths.clone() };
        self.answers().insert((project.to_path_buf(), folder.to_owned()), answer);
        Ok(paths)
    }

    fn answers(&self) -> MutexGuard<'_, HashMap<(PathBuf, String), Answer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The indexes of the repositories that a folder lies in.
fn indexes(folder: &Path) -> Vec<PathBuf> {
    let folders = folder.ancestors().filter_map(git_folder);
    folders.map(|folder| folder.join("index")).collect()
}

/// Waits until git has written its indexes; it does so last in a checkout. Returns the lock that stays.
fn wait_for_git(indexes: &[PathBuf], patience: Duration) -> Result<(), PathBuf> {
    let begun = Instant::now();
    let locks = indexes.iter().map(|index| index.with_extension("lock"));
    for lock in locks {
        while fs::symlink_metadata(&lock).is_ok() {
            if begun.elapsed() >= patience {
                return Err(lock);
            }
            std::thread::sleep(PAUSE);
        }
    }
    Ok(())
}

fn stamps(indexes: &[PathBuf]) -> Vec<Stamp> {
    let stamp = |index: &PathBuf| {
        let metadata = fs::metadata(index).ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    indexes.iter().map(stamp).collect()
}
