//! Taking over a store that is not on record.

use std::path::{Path, PathBuf};

use super::inspect::code_in;
use super::{Distrust, Record, Registry, StoreId, id_of, is_at, resolved, store_folder};
use crate::connect::refuse_any_journal;
use crate::error::StoreError;
use crate::kept;
use crate::locate::{DATABASE, FOLDER};

/// A store that was taken over.
#[derive(Debug, PartialEq, Eq)]
pub struct TakenOver {
    /// The record of it.
    pub record: Record,
    /// The folder outside the project that belongs to it.
    pub states: PathBuf,
    /// The folder that belongs to the store it is a copy of, with states of files that it needs, too.
    pub copied: Option<PathBuf>,
}

impl Registry {
    /// Records the store of a project as one to be trusted. A copy of one that still is where it was made
    /// gets an id of its own, so that each has a record. What is not as this program leaves it, or is
    /// tracked by git, is not taken over.
    pub fn take_over(&self, project: &Path) -> Result<TakenOver, StoreError> {
        let project = resolved(project)?;
        store_folder::at(&project)?;
        self.refuse_exposed(&project)?;
        self.check_tracked(&project)?;
        // The next one that opens the database expects no key, and SQLite would write the journal into it.
        let database = project.join(FOLDER).join(DATABASE);
        refuse_any_journal(&database)?;
        if let Some(code) = code_in(&database) {
            return Err(code.into());
        }
        let found = id_of(&project)?;
        let known = self.id_of_kept(&database, &project, found.as_ref())?.or(found.clone());
        let record = known.as_ref().map(|id| self.records.read(id)).transpose()?.flatten();
        let is_copy = match (&known, &record) {
            (Some(id), Some(record)) => record.project != project && is_at(&record.project, id),
            _ => false,
        };
        if is_copy {
            let separated = kept::separate(&database);
            separated.map_err(|source| StoreError::Io { path: database, source })?;
        }
        let copied = known.as_ref().filter(|_| is_copy).map(|id| self.records.folder_of(id));
        let id = known.filter(|_| !is_copy).unwrap_or_else(StoreId::random);
        let must_put = found.as_ref() != Some(&id);
        let record = Record { id, project };
        self.records.forget_key(&record.id)?;
        self.records.write(&record)?;
        if must_put {
            let folder = record.project.join(FOLDER);
            let put = record.id.put(&folder, true, None);
            put.map_err(|source| StoreError::Io { path: folder, source })?;
        }
        Ok(TakenOver { states: self.records.folder_of(&record.id), record, copied })
    }
}

impl From<Distrust> for StoreError {
    fn from(distrust: Distrust) -> Self {
        Self::Distrusted(distrust)
    }
}
