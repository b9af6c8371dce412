//! The key that ties a database to the record of its store. A checkout can put another database in the place of the
//! user's, and that one does not have the key.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _};
use uuid::Uuid;

use super::record::Records;
use super::{Distrust, StoreId, Trusted, id_of};
use crate::error::{StoreError, at};

/// The file in the store's folder of the user's state folder that holds the key.
pub(super) const KEY: &str = "database";

/// Tells a store's database from others: 32 hexadecimal digits, most of them random, in the database and on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DatabaseKey(String);

impl DatabaseKey {
    pub(crate) fn random() -> Self {
        Self(Uuid::now_v7().simple().to_string())
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?.trim_end();
        let is_key = text.len() == 32 && text.bytes().all(|it| it.is_ascii_hexdigit());
        is_key.then(|| Self(text.to_owned()))
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        format!("{}\n", self.0).into_bytes()
    }

    /// Returns the key in a database; none in one that has no readable key.
    pub(crate) fn of(connection: &Connection) -> rusqlite::Result<Option<Self>> {
        // A view or a virtual table of that name would be a program of whoever made the database.
        let is_table = "SELECT 1 FROM sqlite_schema
                        WHERE type = 'table' AND name = 'store_key' AND rootpage > 0";
        if connection.query_row(is_table, [], |_| Ok(())).optional()?.is_none() {
            return Ok(None);
        }
        let key = connection
            .query_row("SELECT key FROM store_key", [], |row| row.get::<_, String>(0))
            .optional()?;
        Ok(key.and_then(|key| Self::parse(key.as_bytes())))
    }

    /// Puts the key into a database that has none.
    pub(crate) fn put(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.execute("INSERT INTO store_key VALUES (?1)", [&self.0]).map(drop)
    }
}

impl Trusted {
    /// Returns the key that the database must have; none where nothing is on record yet, or nobody asks.
    pub(crate) fn database_key(&self) -> Result<Option<DatabaseKey>, StoreError> {
        match self.recorded()? {
            Some((records, id)) => records.key(&id),
            None => Ok(None),
        }
    }

    /// Records the key of the database that the store has from now on. That of a project which the environment names is
    /// not asked for, but tells that the store had a database.
    pub(crate) fn record_key(&self, key: &DatabaseKey) -> Result<(), StoreError> {
        if let Some((records, id)) = self.recorded()? {
            return records.put_key(&id, key);
        }
        if let Some((records, id)) = self.recorded_here()?
            && records.key(id)?.is_none()
        {
            // Where it can't be written, a store that is deleted later does not come back.
            drop(records.put_key(id, key));
        }
        Ok(())
    }

    /// Whether a database of the store was opened before.
    pub(crate) fn had_database(&self) -> Result<bool, StoreError> {
        let key = match self.recorded()? {
            Some((records, id)) => records.key(&id)?,
            None => match self.recorded_here()? {
                Some((records, id)) => records.key(id)?,
                None => None,
            },
        };
        Ok(key.is_some())
    }

    /// Returns the records and the id of a store that is on record in this project, whether anybody asks for that or not.
    fn recorded_here(&self) -> Result<Option<(&Records, &StoreId)>, StoreError> {
        let Some((registry, id)) = self.registry.as_ref().zip(self.id.as_ref()) else {
            return Ok(None);
        };
        let record = registry.records.read(id)?;
        let is_here = record.is_some_and(|record| record.project == self.project);
        Ok(is_here.then_some((&registry.records, id)))
    }

    /// Returns the folder in the state folder of the store that is there now.
    pub(crate) fn states_in_force(&self) -> Option<PathBuf> {
        match self.recorded().ok()? {
            Some((records, id)) if self.id.as_ref() != Some(&id) => {
                records.is_safe(&id).ok()?.then(|| records.folder_of(&id))
            }
            _ => self.states.clone(),
        }
    }

    /// Returns the records and the id of the store that is there now: another process may have begun it again, under
    /// an id of its own. None for a store whose record nobody asks for.
    pub(super) fn recorded(&self) -> Result<Option<(&Records, StoreId)>, StoreError> {
        let (Some(registry), Some(id)) = (&self.registry, &self.id) else { return Ok(None) };
        if registry.is_named(&self.project) {
            return Ok(None);
        }
        let records = &registry.records;
        if let Some(found) = id_of(&self.project)?.filter(|found| found != id)
            && records.read(&found)?.is_some_and(|record| record.project == self.project)
        {
            return Ok(Some((records, found)));
        }
        Ok(Some((records, id.clone())))
    }
}

/// Whether a database is a new one.
pub(crate) fn has_no_table(connection: &Connection) -> rusqlite::Result<bool> {
    let tables = "SELECT count(*) FROM sqlite_schema";
    connection.query_row(tables, [], |row| row.get::<_, i64>(0)).map(|tables| tables == 0)
}

/// Refuses a database that has not the key on record. One without any table is a new one.
pub(crate) fn check(
    connection: &Connection,
    path: &Path,
    expected: Option<&DatabaseKey>,
) -> Result<(), StoreError> {
    let Some(expected) = expected else { return Ok(()) };
    let failed = |source| at(path, source);
    let transaction = connection.unchecked_transaction().map_err(failed)?;
    let is_new = has_no_table(&transaction).map_err(failed)?;
    let found = DatabaseKey::of(&transaction).map_err(failed)?;
    transaction.finish().map_err(failed)?;
    if is_new || found.as_ref() == Some(expected) {
        return Ok(());
    }
    Err(Distrust::OtherDatabase { path: path.to_path_buf() }.into())
}

#[cfg(test)]
#[path = "database_tests.rs"]
mod tests;
