//! The repository of our own that holds states of files.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use callstack_engine::{FileChange, FileChangeKind};

use crate::git::{self, Git, GitError, Objects};
use crate::own;
use crate::tree::{self, Entry};

/// The interval between checks whether another process has released it.
const LOOK: Duration = Duration::from_millis(2);
/// The prefix of a file that git has not finished.
const UNFINISHED: &str = "tmp_";

/// The repository, of one project.
#[derive(Debug)]
pub(crate) struct Shadow {
    pub(crate) project: PathBuf,
    folder: PathBuf,
    /// The place of the objects of the project's own repository.
    alternates: Option<OsString>,
    /// The commit's files and the state that last needed nothing that may be dropped.
    safe: Mutex<Option<(String, String)>>,
}

impl Shadow {
    /// Opens the repository in `folder`, making it if there is none. `objects` are those of the
    /// project's own.
    pub(crate) fn open(
        project: &Path,
        folder: &Path,
        objects: Objects,
        until: Instant,
    ) -> Result<Self, GitError> {
        let alternates = fs::canonicalize(&objects.folder).unwrap_or(objects.folder);
        let shadow = Self {
            project: project.to_path_buf(),
            folder: folder.to_path_buf(),
            alternates: objects.named_alike.then(|| git::entry(&alternates)),
            safe: Mutex::default(),
        };
        let alone = shadow.alone(until)?;
        shadow.sweep();
        drop(alone);
        Ok(shadow)
    }

    /// Returns the differences between two states, including files of the first one that can't be restored.
    pub(crate) fn changes(
        &self,
        from: &str,
        to: &str,
        until: Instant,
    ) -> Result<Vec<FileChange>, GitError> {
        let compare = ["diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", from, to];
        let output = self.git_with_alternates(until).args(compare).run(&[])?;
        let entries: Vec<Entry<'_>> = tree::entries(&output).collect();
        let before = entries.iter().filter(|entry| entry.is_recorded_before());
        let gone = self.git_with_alternates(until).missing(before.map(|entry| entry.id_before))?;
        let change = |entry: &Entry<'_>| {
            let kind = if entry.is_unrecorded() || gone.contains(entry.id_before) {
                FileChangeKind::Unrecorded
            } else {
                match entry.letter {
                    b"A" => FileChangeKind::Created,
                    b"D" => FileChangeKind::Deleted,
                    _ => FileChangeKind::Changed,
                }
            };
            match str::from_utf8(entry.path) {
                Ok(path) => FileChange { path: path.to_owned(), kind },
                // A path that can't be shown can't be approved either.
                Err(_) => FileChange {
                    path: entry.path.escape_ascii().to_string(),
                    kind: FileChangeKind::Unnamed,
                },
            }
        };
        Ok(entries.iter().map(change).collect())
    }

    /// Returns the files of the state `to` that were renamed from files of the state `from`. One that has changed as well may
    /// be another one.
    pub(crate) fn moved(
        &self,
        from: &str,
        to: &str,
        until: Instant,
    ) -> Result<BTreeSet<String>, GitError> {
        let compare = [
            "diff-tree",
            "-r",
            "-z",
            "--name-status",
            "--find-renames=100%",
            "--diff-filter=R",
            from,
            to,
        ];
        let output = self.git_with_alternates(until).args(compare).run(&[])?;
        let mut fields = output.split(|byte| *byte == 0);
        let mut moved = BTreeSet::new();
        while let (Some(_), Some(_), Some(new)) = (fields.next(), fields.next(), fields.next()) {
            moved.extend(str::from_utf8(new).ok().map(str::to_owned));
        }
        Ok(moved)
    }

    /// The files of a state.
    pub(crate) fn held(&self, state: &str, until: Instant) -> Result<BTreeSet<String>, GitError> {
        let list = ["ls-tree", "-r", "-z", "--name-only", state];
        let output = self.git_with_alternates(until).args(list).run(&[])?;
        let names = output.split(|byte| *byte == 0).filter_map(|name| str::from_utf8(name).ok());
        Ok(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// Returns a lock that keeps other processes of ours out. Any other lock of the index was left by a process that
    /// died.
    pub(crate) fn alone(&self, until: Instant) -> Result<File, GitError> {
        own::enter(&self.folder)?;
        let lock = File::create(self.folder.join(own::LOCK));
        let lock = lock.map_err(|error| self.unwritable(error))?;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(LOOK),
                Err(TryLockError::WouldBlock) => return Err(GitError::Slow),
                Err(TryLockError::Error(error)) => return Err(self.unwritable(error)),
            }
        }
        own::ensure(&self.folder)?;
        self.remove("index.lock")?;
        Ok(lock)
    }

    /// Forgets the recorded files: all are read again.
    pub(crate) fn forget(&self) -> Result<(), GitError> {
        self.remove("index")
    }

    fn remove(&self, file: &str) -> Result<(), GitError> {
        match fs::remove_file(self.folder.join(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.unwritable(error)),
            _ => Ok(()),
        }
    }

    /// Removes files that interrupted calls of git have left. The caller has to hold the lock.
    pub(crate) fn sweep(&self) {
        let objects = self.objects();
        let inside = list(&objects).into_iter().filter(|path| is_folder(path));
        for file in inside.chain([objects.clone()]).flat_map(|folder| list(&folder)) {
            let name = file.file_name().and_then(OsStr::to_str);
            if name.is_some_and(|name| name.starts_with(UNFINISHED)) {
                // A file that can't be removed only takes space.
                drop(fs::remove_file(&file).or_else(|_| fs::remove_dir_all(&file)));
            }
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.folder.join("objects")
    }

    /// A call that sees only objects of our own.
    pub(crate) fn own_git(&self, until: Instant) -> Git {
        Git::in_own(&self.folder, &self.project, until)
    }

    /// Returns a call that also sees objects of the project's own repository, for files in another folder.
    pub(crate) fn git_in(&self, work_tree: &Path, until: Instant) -> Git {
        Git::in_own(&self.folder, work_tree, until).with_alternates(self.alternates.as_deref())
    }

    /// A call that sees them, too.
    pub(crate) fn git_with_alternates(&self, until: Instant) -> Git {
        self.own_git(until).with_alternates(self.alternates.as_deref())
    }

    pub(crate) fn has_alternates(&self) -> bool {
        self.alternates.is_some()
    }

    /// Whether a state is known to need no object of the project's own repository but those of the committed one.
    pub(crate) fn is_safe(&self, committed: &str, state: &str) -> bool {
        let safe = self.safe.lock().unwrap_or_else(PoisonError::into_inner);
        safe.as_ref().is_some_and(|(known, safe)| known == committed && safe == state)
    }

    pub(crate) fn set_safe(&self, committed: String, state: &str) {
        let mut safe = self.safe.lock().unwrap_or_else(PoisonError::into_inner);
        *safe = Some((committed, state.to_owned()));
    }

    pub(crate) fn unwritable(&self, error: io::Error) -> GitError {
        own::unwritable(&self.folder, error)
    }
}

/// Whether it is a folder itself, and no link to one.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

pub(crate) fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}
