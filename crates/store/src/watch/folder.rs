//! The system's notices about the folder of a store.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::handle::FileId;
use crate::watch::Signal;

/// The notices about one folder; they end when this is dropped.
#[derive(Debug)]
pub(crate) struct FolderWatch {
    /// None where the system does not identify folders.
    folder: Option<FileId>,
    _watcher: RecommendedWatcher,
}

/// The notices that all watches of a store share.
#[derive(Debug, Default)]
pub(crate) struct Folders(Mutex<Weak<FolderWatch>>);

impl Folders {
    /// Raises `signal` when a file of the database at `path` changes. None where the system can't watch its folder:
    /// the folder is missing, or the limit of watches is reached.
    pub(crate) fn watch(&self, path: &Path, signal: &Arc<Signal>) -> Option<Arc<FolderWatch>> {
        let name = path.file_name()?.to_os_string();
        let folder = path.parent()?;
        let id = FileId::of(&fs::metadata(folder).ok()?);
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A folder that was deleted and made again is another one, for which the old watch gets no notices.
        if let Some(watch) = shared.upgrade().filter(|watch| watch.folder == id) {
            return Some(watch);
        }
        let raised = Arc::downgrade(signal);
        let notice = move |event: notify::Result<Event>| {
            let Some(signal) = raised.upgrade() else { return };
            // An error, such as an overflow of the system's queue, may stand for a change.
            if event.map_or(true, |event| is_change_of(&event, &name)) {
                signal.raise();
            }
        };
        let mut watcher = notify::recommended_watcher(notice).ok()?;
        watcher.watch(folder, RecursiveMode::NonRecursive).ok()?;
        let watch = Arc::new(FolderWatch { folder: id, _watcher: watcher });
        *shared = Arc::downgrade(&watch);
        Some(watch)
    }
}

/// Whether a notice is about a change of the file `name` or of one that belongs to it, such as its write-ahead log, or
/// about no file in particular. Our own reads make notices too.
fn is_change_of(event: &Event, name: &OsStr) -> bool {
    let belongs = |path: &PathBuf| {
        let found = path.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default();
        found.starts_with(name.as_encoded_bytes())
    };
    !event.kind.is_access() && (event.paths.is_empty() || event.paths.iter().any(belongs))
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
