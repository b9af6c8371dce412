//! Keeping the mark of a store whose folder vanishes while a process has it open.

use std::fs::{self, Metadata};

use super::{Distrust, StoreId, Trusted, id_of, store_folder};
use crate::error::StoreError;
use crate::locate::{DATABASE, FOLDER, prepare_for};

impl Trusted {
    /// Makes sure that the store that is now in place of an open one may be opened. Where no mark is, the store's id
    /// is written again, so that its record stays true, unless beside a database that is not known to be the store's
    /// own. A folder that has to be made is for those who may use the database, whose `owner` and mode are given.
    pub(crate) fn settle(&self, is_own: bool, owner: Option<&Metadata>) -> Result<(), StoreError> {
        let (Some(registry), Some(id)) = (&self.registry, &self.id) else { return Ok(()) };
        let project = &self.project;
        store_folder::at(project)?;
        registry.check_tracked(project)?;
        let is_here = |id: &StoreId| {
            let record = registry.records.read(id)?;
            Ok::<_, StoreError>(record.is_some_and(|record| record.project == *project))
        };
        let is_named = registry.is_named(project);
        let found = id_of(project)?;
        let mark = found.as_ref().unwrap_or(id);
        let database = project.join(FOLDER).join(DATABASE);
        let is_foreign = !is_own && fs::metadata(database).is_ok_and(|it| it.len() > 0);
        // A store that was deleted for good is not made again, nor put in the place of one that was begun since.
        let is_gone = !is_here(id)?;
        if !is_named && (is_gone || !is_here(mark)? || found.is_none() && is_foreign) {
            let (project, is_marked) = (project.clone(), found.is_some());
            return Err(Distrust::Unrecorded { project, is_marked }.into());
        }
        if found.is_none() {
            let folder = prepare_for(project, owner)?;
            let put = id.put(&folder, false, owner);
            put.map_err(|source| StoreError::Io { path: folder, source })?;
        }
        Ok(())
    }

    /// Marks the store that is now in place as this one, after its content was restored.
    pub(crate) fn mark(&self) -> Result<(), StoreError> {
        let Some(id) = &self.id else { return Ok(()) };
        if id_of(&self.project)?.as_ref() == Some(id) {
            return Ok(());
        }
        let folder = self.project.join(FOLDER);
        let put = id.put(&folder, true, None);
        put.map(drop).map_err(|source| StoreError::Io { path: folder, source })
    }
}
