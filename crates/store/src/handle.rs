//! One handle of each database file for all connections of a process.
//!
//! POSIX locks belong to a process and a file: closing any handle of the file gives up the locks that SQLite holds
//! through others. The next process to close the database would then take itself for the last one, and delete the
//! write-ahead log to which this process still writes.

use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::elsewhere;
use crate::plain::open_plain;

static OPEN: Mutex<BTreeMap<FileId, Weak<Handle>>> = Mutex::new(BTreeMap::new());

/// Identifies a file among all others that exist at the same time, whatever its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    /// None where the system does not identify files.
    #[cfg(unix)]
    #[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
    pub(crate) fn of(metadata: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt as _;
        Some(Self { device: metadata.dev(), inode: metadata.ino() })
    }

    /// None where the system does not identify files.
    #[cfg(not(unix))]
    pub(crate) fn of(_metadata: &Metadata) -> Option<Self> {
        None
    }
}

/// A database file, open for reading and writing.
#[derive(Debug)]
pub(crate) struct Handle {
    id: Option<FileId>,
    /// The path at which it was found.
    path: PathBuf,
    /// None only while it is being closed.
    file: Option<File>,
    /// The write-ahead log and its index that connections of this process have open, while any has. SQLite shares the
    /// index among them, so all must have the same log.
    logs: Mutex<Weak<LogFiles>>,
    /// Held while a connection is opened.
    opening: Mutex<()>,
}

/// A database's write-ahead log and the index of that.
pub(crate) type LogFiles = [FileId; 2];

impl Handle {
    /// Opens a database file, making it for its owner only if it is not there. As long as the handle is kept, the
    /// process opens the file no second time.
    pub(crate) fn open(path: &Path) -> io::Result<Arc<Self>> {
        let mut open = lock();
        if let Some(known) = known_at(&open, path) {
            return Ok(known);
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = open_plain(&mut options, path)?;
        let id = FileId::of(&file.metadata()?);
        if let Some(known) = id.and_then(|id| open.get(&id)).and_then(Weak::upgrade) {
            // It has come to this path since the check: closing it would cost the others their locks.
            std::mem::forget(file);
            return Ok(known);
        }
        let handle = Arc::new(Self {
            id,
            path: path.to_path_buf(),
            file: Some(file),
            logs: Mutex::default(),
            opening: Mutex::default(),
        });
        if let Some(id) = id {
            open.insert(id, Arc::downgrade(&handle));
        }
        Ok(handle)
    }

    /// Returns the file that this is a handle of; none where the system does not identify files.
    pub(crate) fn id(&self) -> Option<FileId> {
        self.id
    }

    /// Whether this process has the file at `path` open. True for any file where the system does not identify files.
    pub(crate) fn is_open_at(path: &Path) -> bool {
        match std::fs::symlink_metadata(path) {
            Ok(metadata) if FileId::of(&metadata).is_none() => true,
            Ok(_) => known_at(&lock(), path).is_some(),
            Err(_) => false,
        }
    }

    /// Returns the mode and owner of the database that this process opened at `path` and still has open, also where it
    /// is no longer there. Of several it is the one that was last written.
    pub(crate) fn opened_at(path: &Path) -> Option<Metadata> {
        let open = lock();
        let handles = open.values().filter_map(Weak::upgrade).filter(|it| it.path == path);
        let found: Vec<Metadata> = handles.filter_map(|it| it.metadata()).collect();
        found.into_iter().max_by_key(|it| it.modified().ok())
    }

    /// The write-ahead log and its index that connections of this process have open to the database at `path`.
    pub(crate) fn logs_open_at(path: &Path) -> Option<Arc<LogFiles>> {
        let known = known_at(&lock(), path);
        known.and_then(|handle| handle.logs())
    }

    /// Whether connections of this process to another database than the one at `path` have one of these files open as
    /// their log or its index. SQLite would open it a second time, and closing that would cost the others their locks.
    pub(crate) fn are_logs_of_another(path: &Path, logs: [Option<FileId>; 2]) -> bool {
        let at_path = std::fs::symlink_metadata(path).ok().as_ref().and_then(FileId::of);
        let open = lock();
        let others = open.iter().filter(|(id, _)| Some(**id) != at_path);
        let mut others = others.filter_map(|(_, handle)| handle.upgrade()?.logs());
        others.any(|theirs| theirs.iter().any(|file| logs.contains(&Some(*file))))
    }

    /// The write-ahead log and its index that connections of this process have open.
    pub(crate) fn logs(&self) -> Option<Arc<LogFiles>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }

    /// Records the log that a connection has open, which keeps the result. None if other connections of this process
    /// have another log open.
    pub(crate) fn has_open(&self, files: LogFiles) -> Option<Arc<LogFiles>> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = logs.upgrade() {
            return (*known == files).then_some(known);
        }
        let files = Arc::new(files);
        *logs = Arc::downgrade(&files);
        Some(files)
    }

    /// Keeps other threads from opening a connection to the file as long as the result is held: one may look into the
    /// index of the log only while no other one locks it.
    pub(crate) fn opening(&self) -> MutexGuard<'_, ()> {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another process has the file open as a database with a write-ahead log.
    pub(crate) fn is_open_elsewhere(&self) -> io::Result<bool> {
        self.file.as_ref().map_or(Ok(false), elsewhere::has_open)
    }

    /// The file's mode and owner, whether it has a path or not.
    pub(crate) fn metadata(&self) -> Option<Metadata> {
        self.file.as_ref().and_then(|file| file.metadata().ok())
    }

    /// The file's length.
    pub(crate) fn length(&self) -> io::Result<u64> {
        self.file.as_ref().map_or(Ok(0), |file| file.metadata().map(|metadata| metadata.len()))
    }

    /// Copies all of the file.
    pub(crate) fn copy_to(&self, to: &mut File) -> io::Result<()> {
        use std::io::{Seek as _, Write as _};
        let Some(mut file) = self.file.as_ref() else { return Ok(()) };
        // Nobody else reads from where the handle stands.
        file.rewind()?;
        io::copy(&mut file, to)?;
        to.flush()
    }

    /// Reads the beginning of the file; false where it is shorter.
    #[cfg(unix)]
    pub(crate) fn read_beginning(&self, into: &mut [u8]) -> io::Result<bool> {
        use std::os::unix::fs::FileExt as _;
        let read = self.file.as_ref().map_or(Ok(()), |file| file.read_exact_at(into, 0));
        long_enough(read)
    }

    /// Reads the beginning of the file; false where it is shorter.
    #[cfg(not(unix))]
    pub(crate) fn read_beginning(&self, into: &mut [u8]) -> io::Result<bool> {
        use std::io::{Read as _, Seek as _};
        let read = self.file.as_ref().map_or(Ok(()), |mut file| {
            file.rewind()?;
            file.read_exact(into)
        });
        long_enough(read)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut open = lock();
        if open.get(&id).is_some_and(|other| other.strong_count() > 0) {
            // Another connection has opened the file in the meantime: closing it would cost that one its locks.
            std::mem::forget(self.file.take());
        } else {
            // Closed before anybody else can look it up.
            drop(self.file.take());
            open.remove(&id);
        }
    }
}

fn long_enough(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The handle that the process has of the file at a path.
fn known_at(open: &BTreeMap<FileId, Weak<Handle>>, path: &Path) -> Option<Arc<Handle>> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    open.get(&FileId::of(&metadata)?)?.upgrade()
}

fn lock() -> MutexGuard<'static, BTreeMap<FileId, Weak<Handle>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}
