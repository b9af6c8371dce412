//! A database that was put in the place of an open one, as `mv backup.db callstack.db` does. The write-ahead log beside
//! it is the one of the database that was there before, and SQLite would take it for the new one's.

use std::path::Path;

use rusqlite::TransactionBehavior;

use super::overwritten::{Judged, copy_files, judged};
use super::{COPY, Restored, finished, remove, remove_copy, replace};
use crate::connect::{Open, expected_key};
use crate::error::{StoreError, at};
use crate::history::History;
use crate::presence::beside;
use crate::trust::Trusted;
use crate::write_turns::Turns;

/// Goes on with a copy of the new database and the log if these belong together: it may be a copy of the old one, whose
/// newest changes are in the log alone. Otherwise takes the log away from the path, where only the connections that
/// have it open need it, and returns none. The caller keeps other processes from doing the same.
pub(super) fn settle(
    path: &Path,
    trusted: Option<&Trusted>,
    open: &mut Open,
    turns: &Turns,
) -> Result<Option<Restored>, StoreError> {
    let expected = expected_key(trusted)?;
    let failed = |source| at(path, source);
    // Nobody writes to the log while it is copied.
    let still = open.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let known = History::of(&still).map_err(failed)?;
    let copy = path.with_file_name(COPY);
    let found = copy_files(path, &copy, true)
        .and_then(|()| judged(&copy, expected.as_ref(), known, true))
        .and_then(|judged| match judged {
            Judged::Whole => replace(&copy, path).map(|()| true),
            Judged::Broken | Judged::Empty | Judged::Sound => Ok(false),
        });
    // The next attempt begins with removing it.
    drop(remove_copy(&copy));
    let [log, index] = beside(path);
    match found {
        Ok(true) => {}
        // The database of somebody else will go, and the log is still needed then.
        Err(error) if error.is_full() || matches!(error, StoreError::Distrusted(_)) => {
            return Err(error);
        }
        Ok(false) | Err(_) => {
            remove(&log)?;
            remove(&index)?;
        }
    }
    drop(still);
    if matches!(found, Ok(true)) { finished(path, trusted, turns).map(Some) } else { Ok(None) }
}
