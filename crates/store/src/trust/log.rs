//! The mark that tells the write-ahead log of a store from others. A checkout can put a log beside the user's database,
//! and SQLite would take its pages over.
//!
//! A log begins with a header that SQLite chooses at random whenever it begins the log again. The mark is a hash of that
//! header and of the database's key, so that only who knows the key can make it. It is on the disk before a change is
//! acknowledged: a log that has another header holds nothing that was acknowledged. It lies in the user's state folder,
//! and a copy in the store for the others of a group that shares it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use super::{DatabaseKey, Trusted};
use crate::elsewhere::salts_in_use;
use crate::error::{Damage, StoreError};
use crate::handle::{FileId, Handle};
use crate::messages::hex;
use crate::plain::{give_to_owner, open_plain};
use crate::presence::{beside, logs_at};

/// The file in the store's folder that holds the mark.
pub(crate) const MARK: &str = "callstack.db-wal-mark";
/// The same in the store's folder of the user's state folder.
pub(super) const RECORDED: &str = "log";
/// The beginning of the names of logs that were put aside, in the store's folder.
pub(crate) const ASIDE: &str = "callstack.db-wal-unknown";

/// The header of a write-ahead log: <https://sqlite.org/fileformat2.html#the_write_ahead_log>.
type Header = [u8; 32];

/// The key of a database, and where the mark of its log is.
#[derive(Clone, Debug)]
pub(crate) struct LogKey {
    key: DatabaseKey,
    /// The mark in the user's state folder; none where nothing is on record.
    recorded: Option<PathBuf>,
    /// The one in the store's folder.
    beside: PathBuf,
}

impl LogKey {
    /// That of the database at `path`.
    pub(crate) fn new(
        key: DatabaseKey,
        path: &Path,
        trusted: Option<&Trusted>,
    ) -> Result<Self, StoreError> {
        let recorded = trusted.map(Trusted::recorded).transpose()?.flatten();
        Ok(match recorded {
            Some((records, id)) => Self::recorded(key, path, &records.folder_of(&id)),
            None => Self { key, recorded: None, beside: path.with_file_name(MARK) },
        })
    }

    /// The same of a store on record, to which a `folder` in the user's state folder belongs.
    pub(super) fn recorded(key: DatabaseKey, path: &Path, folder: &Path) -> Self {
        Self { key, recorded: Some(folder.join(RECORDED)), beside: path.with_file_name(MARK) }
    }

    /// The marks to be written: one for this user, and one for others who may use the store.
    fn marks(&self) -> impl Iterator<Item = &PathBuf> {
        self.recorded.iter().chain([&self.beside])
    }

    /// Whether a log with this header has one of the marks.
    fn has_marked(&self, header: &Header) -> bool {
        let hash = self.hash(header);
        self.marks().any(|mark| reads(mark, &hash))
    }

    fn hash(&self, header: &Header) -> String {
        hex(&Sha256::new().chain_update(self.key.to_bytes()).chain_update(header).finalize())
    }
}

/// Marks the write-ahead log of a database as the store's own.
#[derive(Debug)]
pub(crate) struct LogMark {
    key: LogKey,
    /// The header of the log that is the store's own, as far as this connection knows.
    known: Option<Header>,
}

impl LogMark {
    /// For the log beside the database at `path`, which is known to be the store's own. Whoever began it may have ended
    /// before it was marked, or have marked it in another home.
    pub(crate) fn new(key: LogKey, path: &Path, log: FileId) -> Self {
        let [log_path, _] = beside(path);
        let header = header_of(&log_path, Some(log)).ok().flatten();
        let known = header.filter(|header| key.has_marked(header));
        let mark = Self { key, known };
        if let Some(header) = &known {
            // Where it can't be written, the other one is enough.
            drop(mark.write(path, log, header));
        }
        mark
    }

    /// Marks the log beside the database at `path` after it was written to, up to a number of `pages`, and returns once
    /// that is on the disk. Nothing is marked if `log` is not that file any more; an error if somebody else has written
    /// to it.
    pub(crate) fn put(&mut self, path: &Path, log: FileId, pages: i32) -> Result<(), StoreError> {
        const PATIENCE: Duration = Duration::from_secs(1);
        const PAUSE: Duration = Duration::from_millis(2);
        let [log_path, _] = beside(path);
        let failed = |source| StoreError::Io { path: log_path.clone(), source };
        let begun = Instant::now();
        loop {
            let header = header_of(&log_path, Some(log)).map_err(failed)?;
            let Some(header) = header.filter(|header| self.known != Some(*header)) else {
                return Ok(());
            };
            let is_own = self.key.has_marked(&header);
            if is_own || ends_alike(&log_path, &header, pages).map_err(failed)? {
                self.write(path, log, &header)?;
                self.known = Some(header).filter(|_| is_own);
            } else if begun.elapsed() > PATIENCE {
                let (path, damage) = (path.to_path_buf(), Damage::ForeignLog);
                return Err(StoreError::Corrupt { path, damage });
            } else {
                // Another process may have begun the log again since, and is about to mark it.
                std::thread::sleep(PAUSE);
            }
        }
    }

    /// Whether the log is as processes that know the key have left it: what it holds may be written to the database.
    pub(crate) fn is_intact(&self, path: &Path, log: FileId) -> bool {
        let [log_path, _] = beside(path);
        match header_of(&log_path, Some(log)) {
            Ok(Some(header)) => self.known == Some(header) || self.key.has_marked(&header),
            header => header.is_ok(),
        }
    }

    /// Writes the marks of a log with this header where they are not, unless the log has another one by now. One of the
    /// two places is enough: the state folder may not be writable, and the store's belongs to another member of a group,
    /// or is being deleted.
    fn write(&self, path: &Path, log: FileId, header: &Header) -> Result<(), StoreError> {
        let [log_path, _] = beside(path);
        let hash = self.key.hash(header);
        let (there, missing): (Vec<_>, Vec<_>) =
            self.key.marks().partition(|mark| reads(mark, &hash));
        let mut written = false;
        let mut refused = None;
        for mark in missing {
            let file = match open_mark(mark, path, *mark == self.key.beside) {
                Ok(file) => file,
                Err(source) => {
                    refused = Some(StoreError::Io { path: mark.clone(), source });
                    continue;
                }
            };
            let failed = |path: &Path, source| StoreError::Io { path: path.to_path_buf(), source };
            lock(&file).map_err(|it| failed(mark, it))?;
            let found = header_of(&log_path, Some(log)).map_err(|it| failed(&log_path, it))?;
            if found.as_ref() != Some(header) {
                return Ok(());
            }
            // The first one that can be written has to last.
            let outcome = write(file, &hash, !written);
            outcome.map_err(|it| failed(mark, it))?;
            written = true;
        }
        match refused {
            Some(error) if !written && there.is_empty() => Err(error),
            _ => Ok(()),
        }
    }
}

/// Whether a mark is of the log with this hash.
fn reads(mark: &Path, hash: &str) -> bool {
    let mut text = String::new();
    let mark = open_plain(OpenOptions::new().read(true), mark);
    let read = mark.and_then(|mark| mark.take(100).read_to_string(&mut text));
    read.is_ok() && text.trim_end() == hash
}

/// Opens a mark of the log of the database at `path` to write it, making it if it is not there. One in the store's
/// folder is for all who may use the store.
fn open_mark(mark: &Path, path: &Path, is_shared: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    let mut file = open_plain(&mut options, mark);
    if is_shared && file.as_ref().is_err_and(|it| it.kind() == io::ErrorKind::PermissionDenied) {
        // Another member of the group has made it for themselves: whoever may write to the folder may replace it.
        file = fs::remove_file(mark).and_then(|()| open_plain(&mut options, mark));
    }
    let file = file?;
    if is_shared {
        crate::sharing::share(&file, &fs::metadata(path)?);
    } else {
        give_to_owner(&file, mark.parent().unwrap_or(mark));
    }
    Ok(file)
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
pub(crate) fn check_log(path: &Path, trusted: Option<&Trusted>) -> Result<(), StoreError> {
    match log_origin(path, trusted)? {
        LogOrigin::Own => Ok(()),
        LogOrigin::Unclear => Err(StoreError::Disturbed { path: path.to_path_buf() }),
        LogOrigin::Foreign => {
            // Another process may put it aside, and begin one of its own: before that it waits for this lock. Who may
            // not write to it does without.
            let mark = open_mark(&path.with_file_name(MARK), path, true);
            let _held = mark.ok().filter(|file| lock(file).is_ok());
            match log_origin(path, trusted)? {
                LogOrigin::Foreign => put_log_aside(path),
                LogOrigin::Own => Ok(()),
                LogOrigin::Unclear => Err(StoreError::Disturbed { path: path.to_path_buf() }),
            }
        }
    }
}

/// Finds out whose log lies beside the database at `path`.
pub(crate) fn log_origin(path: &Path, trusted: Option<&Trusted>) -> Result<LogOrigin, StoreError> {
    let Some(key) = trusted.map(Trusted::database_key).transpose()?.flatten() else {
        return Ok(LogOrigin::Own);
    };
    origin(path, &LogKey::new(key, path, trusted)?)
}

/// The same where the key of the database is known.
pub(super) fn origin(path: &Path, key: &LogKey) -> Result<LogOrigin, StoreError> {
    let [log, index] = beside(path);
    let failed = |source| StoreError::Io { path: log.clone(), source };
    let Some(header) = header_of(&log, None).map_err(failed)? else { return Ok(LogOrigin::Own) };
    if key.has_marked(&header) {
        return Ok(LogOrigin::Own);
    }
    let found = logs_at(path);
    if Handle::are_logs_of_another(path, found) {
        return Ok(LogOrigin::Unclear);
    }
    if let Some(own) = Handle::logs_open_at(path) {
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
    let mut number: u32 = 1;
    loop {
        let aside = path.with_file_name(format!("{ASIDE}-{number}"));
        match rename_to_free(&log, &aside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(StoreError::Io { path: log, source }),
            Ok(()) => return remove_empty(aside),
        }
    }
}

/// Deletes a log that was put aside if no page is in it, as a process leaves it that is killed while it begins one.
fn remove_empty(aside: PathBuf) -> Result<(), StoreError> {
    const HEAD: usize = 24;
    const SMALLEST_PAGE: usize = 512;
    let is_empty =
        |file: &fs::Metadata| file.len() < (size_of::<Header>() + HEAD + SMALLEST_PAGE) as u64;
    let removed = match fs::symlink_metadata(&aside) {
        Ok(file) if is_empty(&file) => fs::remove_file(&aside),
        found => found.map(drop),
    };
    removed.map_err(|source| StoreError::Io { path: aside, source })
}

/// Renames a file unless the new name is taken.
fn rename_to_free(file: &Path, name: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;

        match renameat_with(CWD, file, CWD, name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            renamed => return renamed.map_err(io::Error::from),
        }
    }
    fs::hard_link(file, name)?;
    fs::remove_file(file)
}

/// Returns the logs that were put aside from the database at `path`.
pub(crate) fn logs_put_aside(path: &Path) -> Vec<PathBuf> {
    let entries = path.parent().and_then(|folder| fs::read_dir(folder).ok());
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let is_aside = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(ASIDE))
    };
    let mut found: Vec<_> = paths.filter(is_aside).collect();
    found.sort();
    found
}

/// Whether the last of a number of `pages` that were written to a log has the random part of its header, which SQLite
/// writes in front of each page.
fn ends_alike(log: &Path, header: &Header, pages: i32) -> io::Result<bool> {
    const HEAD: u64 = 24;
    let Some(before) = u64::try_from(pages).ok().and_then(|pages| pages.checked_sub(1)) else {
        // Nothing was written to it by this connection.
        return Ok(true);
    };
    let [_, _, _, _, _, _, _, _, a, b, c, d, ..] = *header;
    let page = match u32::from_be_bytes([a, b, c, d]) {
        1 => 65_536,
        page => u64::from(page),
    };
    let mut log = open_plain(OpenOptions::new().read(true), log)?;
    log.seek(SeekFrom::Start(header.len() as u64 + before.saturating_mul(HEAD + page) + 8))?;
    let mut salts = [0; 8];
    match log.read_exact(&mut salts) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| header[16..24] == salts),
    }
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

/// Waits for others who write a mark, for a while: a lock is no reason to refuse a change that was made.
fn lock(file: &File) -> io::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(1);
    const PAUSE: Duration = Duration::from_millis(2);
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(PAUSE);
            }
            Err(fs::TryLockError::Error(error)) => return Err(error),
            _ => return Ok(()),
        }
    }
}

fn write(mut file: File, hash: &str, must_last: bool) -> io::Result<()> {
    file.rewind()?;
    file.write_all(format!("{hash}\n").as_bytes())?;
    if must_last { file.sync_all() } else { Ok(()) }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
