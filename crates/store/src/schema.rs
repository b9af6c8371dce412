//! The schema, its versions and their migrations.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use crate::error::{Damage, StoreError, at};
use crate::trust::DatabaseKey;
use crate::trust::Distrust;

/// Migration `n` brings a store of version `n` to `n + 1`. Entries are only ever added.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/0001.sql"),
    include_str!("schema/0002.sql"),
    include_str!("schema/0003.sql"),
    include_str!("schema/0004.sql"),
    include_str!("schema/0005.sql"),
    include_str!("schema/0006.sql"),
    include_str!("schema/0007.sql"),
    include_str!("schema/0008.sql"),
];

/// The schema that this program writes.
#[expect(clippy::cast_possible_wrap, reason = "there are few migrations")]
pub const VERSION: i64 = MIGRATIONS.len() as i64;

/// Marks the file as ours ("clst"), so that another program's database is never taken for a store.
const APPLICATION_ID: i64 = 0x636c_7374;

/// Brings a store to the newest schema, or refuses one that a newer callstack wrote. One that has no key gets `key`,
/// or a random one.
pub(crate) fn migrate(
    connection: &mut Connection,
    path: &Path,
    key: Option<&DatabaseKey>,
) -> Result<(), StoreError> {
    let failed = |source| at(path, source);
    if found(connection).map_err(failed)? == (VERSION, APPLICATION_ID) {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Read again: another process may have migrated while this one waited for the lock.
    let (version, application) = found(&transaction).map_err(failed)?;
    check(path, version, application, &transaction)?;
    for step in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or(0)) {
        transaction.execute_batch(step).map_err(failed)?;
    }
    if DatabaseKey::of(&transaction).map_err(failed)?.is_none() {
        let key = key.cloned().unwrap_or_else(DatabaseKey::random);
        key.put(&transaction).map_err(failed)?;
    }
    transaction.pragma_update(None, "user_version", VERSION).map_err(failed)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    transaction.commit().map_err(failed)
}

/// Refuses a database of another program, and one that a newer callstack wrote.
pub(crate) fn check_ours(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    check_at_once(connection, path).map(|_| ())
}

/// Refuses a database with triggers or views, which callstack makes none of: they would change what is stored.
pub(crate) fn refuse_code(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let code = "SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view') LIMIT 1";
    let found = connection.query_row(code, [], |row| Ok((row.get(0)?, row.get(1)?))).optional();
    match found.map_err(|source| at(path, source))? {
        Some((kind, name)) => Err(Distrust::Code { path: path.to_path_buf(), kind, name }.into()),
        None => Ok(()),
    }
}

/// Checks a store that can only be read: it can't be migrated.
pub(crate) fn check_readable(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    if check_at_once(connection, path)? < VERSION {
        return Err(StoreError::ReadOnly { path: path.to_path_buf() });
    }
    Ok(())
}

/// Checks in one transaction, since another process may be making the store: the marks before and the tables after
/// that would look like those of another program. Returns the version.
fn check_at_once(connection: &Connection, path: &Path) -> Result<i64, StoreError> {
    let failed = |source| at(path, source);
    let transaction = connection.unchecked_transaction().map_err(failed)?;
    let (version, application) = found(&transaction).map_err(failed)?;
    check(path, version, application, &transaction)?;
    transaction.finish().map_err(failed)?;
    Ok(version)
}

fn check(
    path: &Path,
    version: i64,
    application: i64,
    connection: &Connection,
) -> Result<(), StoreError> {
    let empty = version == 0 && application == 0 && {
        let tables: i64 = connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(|source| at(path, source))?;
        tables == 0
    };
    if !empty && application != APPLICATION_ID {
        return Err(StoreError::Corrupt { path: path.to_path_buf(), damage: Damage::Foreign });
    }
    if version > VERSION {
        return Err(StoreError::Newer { path: path.to_path_buf(), found: version, known: VERSION });
    }
    Ok(())
}

fn found(connection: &Connection) -> rusqlite::Result<(i64, i64)> {
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let application = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    Ok((version, application))
}
