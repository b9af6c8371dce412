//! Errors of a store, in words on which people can act.

use std::path::PathBuf;

use callstack_core::frame::FrameNum;

use crate::trust::Distrust;

pub use causes::{Damage, Unrestorable};

mod causes;

/// A failure of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file is no database of ours, or its pages are damaged.
    #[error("the store {path} is damaged: {damage}")]
    Corrupt {
        /// The database file.
        path: PathBuf,
        /// The sign of it.
        #[source]
        damage: Damage,
    },
    /// A newer callstack wrote the store.
    #[error("the store {path} has schema {found}, and this callstack knows schemas up to {known}")]
    Newer {
        /// The database file.
        path: PathBuf,
        /// The schema of the store.
        found: i64,
        /// The newest schema that is known here.
        known: i64,
    },
    /// The store can be read but not written.
    #[error("the store {path} is read-only")]
    ReadOnly {
        /// The database file.
        path: PathBuf,
    },
    /// The files of an open store are gone, and can't be made again.
    #[error("the store {path} has vanished while it was in use, and can't be made again: {cause}")]
    Vanished {
        /// The database file.
        path: PathBuf,
        /// The obstacle.
        #[source]
        cause: Unrestorable,
    },
    /// Another store took the place of an open one. The next call continues with the new one.
    #[error("the store {path} was replaced by another one while it was in use")]
    Replaced {
        /// The database file.
        path: PathBuf,
    },
    /// Somebody is deleting or exchanging the files of the store, or has done so while another process works with it
    /// that has not noticed yet.
    #[error(
        "files of the store {path} were deleted or exchanged while another process works with it"
    )]
    Disturbed {
        /// The database file.
        path: PathBuf,
    },
    /// No space is left for the store.
    #[error("no space is left on the disk of {path}")]
    Full {
        /// The database file.
        path: PathBuf,
    },
    /// Another process held the store for longer than we wait.
    #[error("the store {path} is busy: another process has been writing for too long")]
    Busy {
        /// The database file.
        path: PathBuf,
    },
    /// The system did not let SQLite read or write.
    #[error("the store {path} can't be used: {source}")]
    System {
        /// The database file.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
        /// Whether a write was refused. After a failed read, the content may be damaged or cut.
        writing: bool,
    },
    /// No store could be found or made.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The store is not one to be opened.
    #[error(transparent)]
    Distrusted(Distrust),
    /// No frame is called so.
    #[error("there is no frame `{0}`")]
    NoFrame(String),
    /// Several frames are called so.
    #[error("`{reference}` could be {}", listed(.candidates, *.more))]
    Ambiguous {
        /// The reference that was asked for.
        reference: String,
        /// Handle, id and title of the frames that match; the first few.
        candidates: Vec<(FrameNum, String, String)>,
        /// Whether others match, too.
        more: bool,
    },
    /// Anything else that SQLite reports.
    #[error("the store {path}: {source}")]
    Database {
        /// The database file.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// A row has a value that this program never writes.
    #[error("the store holds a value that can't be read: {0}")]
    Value(#[from] serde_json::Error),
}

impl StoreError {
    /// Whether no space is left on the disk.
    pub(crate) fn is_full(&self) -> bool {
        match self {
            Self::Full { .. } => true,
            Self::Io { source, .. } => source.kind() == std::io::ErrorKind::StorageFull,
            _ => false,
        }
    }
}

fn listed(candidates: &[(FrameNum, String, String)], more: bool) -> String {
    let named: Vec<_> =
        candidates.iter().map(|(num, id, title)| format!("{num} ({id}, \"{title}\")")).collect();
    format!("{}{}", named.join(", "), if more { " or others" } else { "" })
}

/// Makes the error of the store at `path` from an SQLite error.
pub(crate) fn at(path: &std::path::Path, source: rusqlite::Error) -> StoreError {
    use rusqlite::ErrorCode;
    let path = path.to_path_buf();
    if is_of_value(&source) {
        return StoreError::Corrupt { path, damage: source.into() };
    }
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Corrupt { path, damage: source.into() }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full { path },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { path },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::FileLockingProtocolFailed,
        ) => StoreError::System { path, writing: is_of_write(&source), source },
        _ => StoreError::Database { path, source },
    }
}

/// Whether a row has a value of a kind that is never written there.
fn is_of_value(source: &rusqlite::Error) -> bool {
    use rusqlite::Error;
    matches!(
        source,
        Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
    )
}

/// Whether the system refused to write or to keep a write.
fn is_of_write(source: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{
        SQLITE_IOERR_DIR_FSYNC, SQLITE_IOERR_FSYNC, SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_TRUNCATE,
        SQLITE_IOERR_WRITE,
    };
    let of_write = [
        SQLITE_IOERR_WRITE,
        SQLITE_IOERR_FSYNC,
        SQLITE_IOERR_DIR_FSYNC,
        SQLITE_IOERR_TRUNCATE,
        SQLITE_IOERR_SHMSIZE,
    ];
    source.sqlite_error().is_some_and(|error| of_write.contains(&error.extended_code))
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::path::Path;

    use rusqlite::ffi;

    use super::*;

    #[test]
    fn a_refused_write_is_distinguished_from_a_log_that_is_cut() {
        for (code, expected) in [
            (ffi::SQLITE_IOERR_WRITE, true),
            (ffi::SQLITE_IOERR_FSYNC, true),
            (ffi::SQLITE_IOERR_SHORT_READ, false),
            (ffi::SQLITE_IOERR_READ, false),
            (ffi::SQLITE_CANTOPEN, false),
        ] {
            let source = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let error = at(Path::new("/a/callstack.db"), source);
            assert!(
                matches!(error, StoreError::System { writing, .. } if writing == expected),
                "{code}: {error:?}"
            );
        }
    }

    #[test]
    fn a_value_that_is_never_written_is_damage() {
        let database = rusqlite::Connection::open_in_memory().unwrap();
        for value in ["CAST(x'ff' AS TEXT)", "7", "NULL"] {
            let read = database.query_row(&format!("SELECT {value}"), [], |row| row.get(0));
            let read: rusqlite::Result<String> = read;
            let error = at(Path::new("/a/callstack.db"), read.unwrap_err());
            assert!(matches!(error, StoreError::Corrupt { .. }), "{value}: {error:?}");
        }
    }

    #[test]
    fn every_error_leads_to_the_one_of_sqlite() {
        let codes = [ffi::SQLITE_NOTADB, ffi::SQLITE_IOERR_READ, ffi::SQLITE_ERROR];
        for code in codes {
            let source = || rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let path = Path::new("/a/callstack.db");
            let lost = StoreError::Vanished { path: path.into(), cause: at(path, source()).into() };
            for error in [at(path, source()), lost] {
                assert!(error.to_string().ends_with(&source().to_string()), "{error}");
                let mut next: Option<&dyn Error> = Some(&error);
                let mut causes = std::iter::from_fn(|| {
                    next = next?.source();
                    next
                });
                let known = causes.any(|cause| cause.downcast_ref() == Some(&source()));
                assert!(known, "{code}: {error:?}");
            }
        }
    }
}
