//! Whether git tracks paths in a folder that callstack writes to. A commit would take along what is written there, also
//! where a checkout has brought them under a live process.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::{Distrust, Trusted};
use crate::error::StoreError;
use crate::git_exclude::git_folder;
use crate::locate::FOLDER;

/// The pause before the next look whether git has written an index.
const PAUSE: Duration = Duration::from_millis(20);

/// What was found out, by project and folder.
pub(super) type Answers = Arc<Mutex<HashMap<(PathBuf, String), Answer>>>;

/// The paths that git tracks, and its indexes at that time.
#[derive(Debug)]
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
        let indexes = indexes(&self.project);
        wait_for_git(&indexes, patience).map_err(|lock| {
            let why = format!("git has not finished its work, since {} is there", lock.display());
            Distrust::Unclear { folder: self.project.join(folder), why }
        })?;
        let stamps: Vec<Stamp> = indexes.iter().map(|index| stamp(index)).collect();
        let place = (self.project.clone(), folder.to_owned());
        let answers = || registry.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = answers().get(&place)
            && known.indexes == stamps
        {
            return Ok(known.paths.clone());
        }
        let paths = registry.tracked(&self.project, folder)?;
        answers().insert(place, Answer { indexes: stamps, paths: paths.clone() });
        Ok(paths)
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

/// The indexes of the repositories that a project lies in.
fn indexes(project: &Path) -> Vec<PathBuf> {
    let folders = project.ancestors().filter_map(git_folder);
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

fn stamp(index: &Path) -> Stamp {
    let metadata = fs::metadata(index).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
