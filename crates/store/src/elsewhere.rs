//! Finds out by SQLite's locks what other processes have open. A process does not see its own locks.

use std::fs::File;
use std::io;
use std::path::Path;

/// The random part of the header of a write-ahead log.
pub(crate) type Salts = [u8; 8];

/// Whether another process has a database open that has a write-ahead log: it holds a shared lock on it all the time.
///
/// See the `unixShm` part and `SHARED_FIRST` of <https://sqlite.org/src/file/src/os_unix.c>.
#[cfg(unix)]
pub(crate) fn has_open(database: &File) -> io::Result<bool> {
    const SHARED_FIRST: u64 = 0x4000_0002;
    const SHARED_SIZE: u64 = 510;
    is_locked(database, SHARED_FIRST, SHARED_SIZE)
}

/// The salts of the log that other processes work with, as the `index` of that log has them; zeros while it is being
/// begun. None if no process has the index open: SQLite then holds a lock on it. Closing the index costs this process
/// its own locks on it.
///
/// See <https://sqlite.org/walformat.html>; the byte of the lock comes after those that are described there.
#[cfg(unix)]
pub(crate) fn salts_in_use(index: &Path) -> io::Result<Option<Salts>> {
    use std::fs::OpenOptions;
    use std::os::unix::fs::FileExt as _;

    use crate::plain::open_plain;

    const DEAD_MAN_SWITCH: u64 = 128;
    const SALTS: u64 = 32;
    let file = match open_plain(OpenOptions::new().read(true), index) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    if !is_locked(&file, DEAD_MAN_SWITCH, 1)? {
        return Ok(None);
    }
    let mut salts = Salts::default();
    match file.read_exact_at(&mut salts, SALTS) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Some(Salts::default())),
        read => read.map(|()| Some(salts)),
    }
}

#[cfg(unix)]
fn is_locked(file: &File, start: u64, length: u64) -> io::Result<bool> {
    use rustix::process::{Flock, FlockType, fcntl_getlk};

    let lock = Flock { start, length, ..FlockType::WriteLock.into() };
    Ok(fcntl_getlk(file, &lock)?.is_some())
}

#[cfg(not(unix))]
pub(crate) fn has_open(_database: &File) -> io::Result<bool> {
    Ok(false)
}

#[cfg(not(unix))]
pub(crate) fn salts_in_use(_index: &Path) -> io::Result<Option<Salts>> {
    Ok(None)
}
