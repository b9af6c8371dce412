//! Causes of a store's errors that are no error of SQLite or of the system alone.

use crate::error::StoreError;
use crate::trust::Distrust;

/// The sign that a store is damaged.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// SQLite found it.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    /// SQLite's check of a copy found it, and describes it so.
    #[error("{0}")]
    Checked(String),
    /// The file does not begin as a database does.
    #[error("it is not a database")]
    NoDatabase,
    /// The database has the mark of another program.
    #[error("it is a database of another program")]
    Foreign,
    /// The database is empty, and its write-ahead log is not.
    #[error("the database is empty, but its write-ahead log is not")]
    EmptyBesideLog,
    /// The write-ahead log is there without its database.
    #[error("the database is gone, but its write-ahead log is not")]
    GoneBesideLog,
    /// The database is empty, and other files of the store show that it was not.
    #[error("the database is empty, and what lies beside it is of a store that was not")]
    EmptyBesideSigns,
    /// The database was emptied in place.
    #[error("it was emptied while it was in use")]
    Emptied,
    /// The files were overwritten in place, and belong together in no way.
    #[error("it was overwritten while it was in use, and what is there now is no whole store")]
    Overwritten,
    /// A copy lacks events.
    #[error("its newest events are missing")]
    EventsMissing,
    /// Events appear in the log while it is read, as in a file whose tables share pages.
    #[error("the log of events changes while it is read")]
    ChangingLog,
    /// The write-ahead log has a part that no process of ours has written.
    #[error("another program has written to its write-ahead log")]
    ForeignLog,
}

/// The obstacle to making a store again whose files are gone.
#[derive(Debug, thiserror::Error)]
pub enum Unrestorable {
    /// The folder of the project is gone.
    #[error("its project is gone, too")]
    NoProject,
    /// The place of the store, or what is there now, is not to be trusted.
    #[error("{0}")]
    Distrusted(#[from] Distrust),
    /// The store could not be read, or not be written.
    #[error("{0}")]
    Failed(#[source] Box<StoreError>),
}

impl From<StoreError> for Unrestorable {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Distrusted(distrust) => Self::Distrusted(distrust),
            error => Self::Failed(Box::new(error)),
        }
    }
}
