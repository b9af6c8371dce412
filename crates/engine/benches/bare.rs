//! The cost of an empty commit: the least that any durable change can cost on a disk.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

/// A database of one table beside a store, with the same durability.
pub(crate) struct Bare {
    connection: Connection,
}

impl Bare {
    pub(crate) fn open(folder: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(folder.join("bare.db"))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection
            .execute_batch("CREATE TABLE bare (num INTEGER PRIMARY KEY, text TEXT NOT NULL)")?;
        Ok(Self { connection })
    }

    /// Writes one small row and waits for the disk.
    pub(crate) fn commit(&mut self) -> rusqlite::Result<()> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction
            .prepare_cached("INSERT INTO bare (text) VALUES (?1)")?
            .execute(["one small row, about as long as this sentence"])?;
        transaction.commit()
    }
}
