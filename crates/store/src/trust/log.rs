//! The mark that tells the write-ahead log of a store from others. A checkout can put a log beside the user's database,
//! and SQLite would take its pages over.
//!
//! A log begins with a header that SQLite chooses at random whenever it begins the log again. The mark is a hash of that
//! header and of the database's key, so that only who knows the key can make it. It is on the disk before a change is
//! acknowledged: a log that has another header holds nothing that was acknowledged.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::DatabaseKey;
use crate::error::StoreError;
use crate::handle::{FileId, Handle};
use crate::messages::hex;
use crate::plain::open_plain;
use crate::presence::{beside, logs_at};

/// The file in the store's folder that holds the mark.
pub(crate) const MARK: &str = "callstack.db-wal-mark";
/// The place of a log that was put aside, in the store's folder.
pub(crate) const ASIDE: &str = "callstack.db-wal-unknown";

/// The header of a write-ahead log: <https://sqlite.org/fileformat2.html#the_write_ahead_log>.
type Header = [u8; 32];

/// Marks the write-ahead log of a database as the store's own.
#[derive(Debug)]
pub(crate) struct LogMark {
    key: DatabaseKey,
    /// The header that has the mark, as far as this connection knows.
    marked: Option<Header>,
}

impl LogMark {
    pub(crate) fn new(key: DatabaseKey) -> Self {
        Self { key, marked: None }
    }

    /// Marks the log beside the database at `path` after it was written to, and returns once that is on the disk.
    /// Nothing is marked if `log` is not that file any more.
    pub(crate) fn put(&mut self, path: &Path, log: FileId) -> Result<(), StoreError> {
        let [log_path, _] = beside(path);
        let failed = |source| StoreError::Io { path: log_path.clone(), source };
        let Some(header) = header_of(&log_path, Some(log)).map_err(failed)? else { return Ok(()) };
        if self.marked == Some(header) {
            return Ok(());
        }
        let mark = path.with_file_name(MARK);
        let failed = |source| StoreError::Io { path: mark.clone(), source };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let mut file = open_plain(&mut options, &mark).map_err(failed)?;
        file.lock().map_err(failed)?;
        // Another process may have begun the log again, and marked it, while this one waited.
        let Some(header) = header_of(&log_path, Some(log)).map_err(failed)? else { return Ok(()) };
        write(&mut file, path, &hash(&self.key, &header)).map_err(failed)?;
        self.marked = Some(header);
        Ok(())
    }
}

/// Whose log lies beside a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogOrigin {
    /// The store's own. So is any where no key is on record, and one that is too short to hold anything.
    Own,
    /// A process has the database open, and this is not its log, or it is just beginning it again.
    Unclear,
    /// Somebody else's.
    Foreign,
}

/// Makes sure that the log beside the database at `path` is the store's own before it is opened. Another one is put
/// aside.
pub(crate) fn check_log(path: &Path, key: Option<&DatabaseKey>) -> Result<(), StoreError> {
    match log_origin(path, key)? {
        LogOrigin::Own => Ok(()),
        LogOrigin::Unclear => Err(StoreError::Disturbed { path: path.to_path_buf() }),
        LogOrigin::Foreign => put_log_aside(path),
    }
}

/// Finds out whose log lies beside the database at `path`.
pub(crate) fn log_origin(path: &Path, key: Option<&DatabaseKey>) -> Result<LogOrigin, StoreError> {
    let [log, index] = beside(path);
    let failed = |source| StoreError::Io { path: log.clone(), source };
    let Some(key) = key else { return Ok(LogOrigin::Own) };
    let Some(header) = header_of(&log, None).map_err(failed)? else { return Ok(LogOrigin::Own) };
    let mark = open_plain(OpenOptions::new().read(true), &path.with_file_name(MARK));
    let mut text = String::new();
    let read = mark.and_then(|mark| mark.take(100).read_to_string(&mut text));
    if read.is_ok() && text.trim_end() == hash(key, &header) {
        return Ok(LogOrigin::Own);
    }
    if let Some(own) = Handle::logs_open_at(path) {
        let found = logs_at(path);
        if found == own.map(Some) {
            return Ok(LogOrigin::Own);
        }
        if found[1] == Some(own[1]) {
            // To open the index a second time and close it would cost this process its locks.
            return Ok(LogOrigin::Unclear);
        }
    }
    let salts = salts_in_use(&index).map_err(|source| StoreError::Io { path: index, source })?;
    Ok(match salts {
        Some(salts) if header[16..24] == salts => LogOrigin::Own,
        Some(_) => LogOrigin::Unclear,
        None => LogOrigin::Foreign,
    })
}

/// Moves the log beside the database at `path` to where SQLite does not find it.
pub(crate) fn put_log_aside(path: &Path) -> Result<(), StoreError> {
    let [log, _] = beside(path);
    match fs::rename(&log, path.with_file_name(ASIDE)) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::Io { path: log, source })
        }
        _ => Ok(()),
    }
}

/// Returns where a log lies that was put aside from the database at `path`; none if there is none.
pub(crate) fn log_put_aside(path: &Path) -> Option<PathBuf> {
    let path = path.with_file_name(ASIDE);
    fs::symlink_metadata(&path).is_ok().then_some(path)
}

/// Reads the header of a log; none if it is shorter, or not the file that it should be.
fn header_of(path: &Path, expected: Option<FileId>) -> io::Result<Option<Header>> {
    let mut log = match open_plain(OpenOptions::new().read(true), path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        log => log?,
    };
    if expected.is_some() && FileId::of(&log.metadata()?) != expected {
        return Ok(None);
    }
    let mut header = Header::default();
    match log.read_exact(&mut header) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        read => read.map(|()| Some(header)),
    }
}

fn hash(key: &DatabaseKey, header: &Header) -> String {
    hex(&Sha256::new().chain_update(key.to_bytes()).chain_update(header).finalize())
}

fn write(file: &mut File, database: &Path, hash: &str) -> io::Result<()> {
    crate::checkpoint::share(file, &fs::metadata(database)?);
    file.rewind()?;
    file.write_all(format!("{hash}\n").as_bytes())?;
    file.sync_all()
}

/// The random part of the header of the log that other processes work with, as the index of that log has it. None if no
/// process has the index open: SQLite then holds a lock on it.
#[cfg(unix)]
fn salts_in_use(index: &Path) -> io::Result<Option<[u8; 8]>> {
    use std::os::unix::fs::FileExt as _;

    use rustix::process::{Flock, FlockType, fcntl_getlk};

    // See <https://sqlite.org/walformat.html>; `DMS` is the byte after the locks that are described there.
    const DMS: u64 = 128;
    const SALTS: u64 = 32;
    let file = match open_plain(OpenOptions::new().read(true), index) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let lock = Flock { start: DMS, length: 1, ..FlockType::WriteLock.into() };
    if fcntl_getlk(&file, &lock)?.is_none() {
        return Ok(None);
    }
    let mut salts = [0; 8];
    file.read_exact_at(&mut salts, SALTS)?;
    Ok(Some(salts))
}

#[cfg(not(unix))]
fn salts_in_use(_index: &Path) -> io::Result<Option<[u8; 8]>> {
    Ok(None)
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
