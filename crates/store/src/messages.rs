//! Bodies of messages: each version of each message once, in the order in which a session showed them,
//! compressed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use callstack_core::event::{Event, MessageRef};
use callstack_core::json::mended;
use callstack_core::stored::{self, is_stand_in, without_message};
use rusqlite::{OptionalExtension as _, Row, params};
use sha2::{Digest as _, Sha256};

use crate::bodies::{PURGED, packed, unpacked};
use crate::change::Change;
use crate::error::StoreError;
use crate::project::signed;
use crate::store::View;

/// A message as a host shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageBody {
    /// The host's id.
    pub id: String,
    /// The host's JSON, byte for byte as it is kept.
    pub json: String,
}

/// A message as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMessage {
    /// Its place in its session, from 1, by first appearance.
    pub seq: u64,
    /// The number of this version, from 1.
    pub version: u64,
    /// The host's id.
    pub id: String,
    /// The host's JSON, mended where not every reader would take it as it is.
    pub json: String,
    /// The stored bytes, where they differ from `json`: they had to be mended, or could not be read as JSON.
    pub as_it_came: Option<Vec<u8>>,
    /// When it was stored, or purged; milliseconds since 1970.
    pub at: i64,
    /// Whether it was removed for good. Its JSON then contains nothing but that.
    pub purged: bool,
}

impl StoredMessage {
    /// Whether its JSON is the whole message. Otherwise it was mended, or replaces something that is no message.
    pub fn is_whole(&self) -> bool {
        self.as_it_came.is_none() && !is_stand_in(&self.json)
    }
}

impl Change<'_> {
    /// Stores messages in order. One that is already stored with the same content is left alone; one whose content
    /// changed is stored as a further version at its old place. One that was purged stays purged, whatever its
    /// content is now. Returns the number of messages that were written.
    pub fn record_messages(
        &mut self,
        at: i64,
        session: &str,
        messages: &[MessageBody],
    ) -> Result<usize, StoreError> {
        let mut recorded = Vec::new();
        for message in messages {
            let hash = Sha256::digest(message.json.as_bytes());
            let newest = self.view().newest_version(session, &message.id)?;
            if newest.as_ref().is_some_and(|(_, _, known)| *known == hash[..] || known.is_empty()) {
                continue;
            }
            let (seq, version) = match newest {
                Some((seq, version, _)) => (seq, version + 1),
                None => (self.view().next_message(session)?, 1),
            };
            self.write_body(at, session, (seq, version), message, &hash)?;
            recorded.push(MessageRef { id: message.id.clone(), hash: hex(&hash) });
        }
        let written = recorded.len();
        if written > 0 {
            let session = session.to_owned();
            self.append(at, &[Event::MessagesRecorded { session, messages: recorded }])?;
        }
        Ok(written)
    }

    fn write_body(
        &self,
        at: i64,
        session: &str,
        (seq, version): (i64, i64),
        message: &MessageBody,
        hash: &[u8],
    ) -> Result<(), StoreError> {
        let plain = message.json.as_bytes();
        let (code, body) = packed(plain);
        self.view().run(
            "INSERT INTO messages (session, seq, version, id, hash, at, bytes, codec, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                session,
                seq,
                version,
                message.id,
                hash,
                at,
                i64::try_from(plain.len()).unwrap_or(i64::MAX),
                code,
                body
            ],
        )
    }
}

impl View<'_> {
    /// The newest version of every message of a session, in order.
    pub fn messages(&self, session: &str) -> Result<Vec<StoredMessage>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT seq, version, id, bytes, codec, body, at FROM messages AS m
                 WHERE session = ?1 AND version =
                   (SELECT max(version) FROM messages WHERE session = ?1 AND seq = m.seq)
                 ORDER BY seq",
            )
            .and_then(|mut statement| statement.query_map([session], message_of)?.collect())
            .map_err(|source| self.failed(source))
    }

    /// Returns the newest versions of the messages of a session after the one called `open` (none, while that is not
    /// stored; all, if none is named), up to and including `close`, in order. Of many, only the last `limit`.
    pub fn latest_between(
        &self,
        session: &str,
        open: Option<&str>,
        close: Option<&str>,
        limit: u32,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let mut found: Vec<StoredMessage> = self
            .connection
            .prepare_cached(
                "SELECT seq, version, id, bytes, codec, body, at FROM messages AS m
                 WHERE session = ?1 AND version =
                   (SELECT max(version) FROM messages WHERE session = ?1 AND seq = m.seq)
                 AND seq > CASE WHEN ?2 IS NULL THEN -1 ELSE coalesce(
                   (SELECT seq FROM messages WHERE session = ?1 AND id = ?2 LIMIT 1), ?5) END
                 AND seq <= coalesce(
                   (SELECT seq FROM messages WHERE session = ?1 AND id = ?3 LIMIT 1), ?5)
                 ORDER BY seq DESC LIMIT ?4",
            )
            .and_then(|mut statement| {
                let params = params![session, open, close, limit, i64::MAX];
                statement.query_map(params, message_of)?.collect()
            })
            .map_err(|source| self.failed(source))?;
        found.reverse();
        Ok(found)
    }

    /// The ids of a session's messages in order of first appearance.
    pub fn message_order(&self, session: &str) -> Result<Vec<String>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT id FROM messages WHERE session = ?1 AND version = 1 ORDER BY seq",
            )
            .and_then(|mut statement| statement.query_map([session], |row| row.get(0))?.collect())
            .map_err(|source| self.failed(source))
    }

    /// The last message of a session, by order of first appearance.
    pub fn last_message(&self, session: &str) -> Result<Option<String>, StoreError> {
        self.connection
            .prepare_cached("SELECT id FROM messages WHERE session = ?1 ORDER BY seq DESC LIMIT 1")
            .and_then(|mut statement| statement.query_row([session], |row| row.get(0)).optional())
            .map_err(|source| self.failed(source))
    }

    /// The newest version of the last messages of a session, the newest message first.
    pub fn last_messages(
        &self,
        session: &str,
        count: u32,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT seq, version, id, bytes, codec, body, at FROM messages AS m
                 WHERE session = ?1 AND version =
                   (SELECT max(version) FROM messages WHERE session = ?1 AND seq = m.seq)
                 ORDER BY seq DESC LIMIT ?2",
            )
            .and_then(|mut statement| {
                statement.query_map(params![session, count], message_of)?.collect()
            })
            .map_err(|source| self.failed(source))
    }

    /// Whether a message was changed since this version of it.
    pub fn is_outdated(&self, session: &str, message: &StoredMessage) -> Result<bool, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM messages
                   WHERE session = ?1 AND seq = ?2 AND version > ?3)",
            )
            .and_then(|mut statement| {
                let (seq, version) = (signed(message.seq), signed(message.version));
                statement.query_row(params![session, seq, version], |row| row.get(0))
            })
            .map_err(|source| self.failed(source))
    }

    /// Messages and their bytes as they came, and as they are stored, over the whole store.
    pub fn message_sizes(&self) -> Result<(u64, u64, u64), StoreError> {
        self.connection
            .query_row(
                "SELECT count(*), coalesce(sum(bytes), 0), coalesce(sum(length(body)), 0)
                 FROM messages",
                [],
                |row| {
                    Ok((
                        row.get::<_, i64>(0)?.unsigned_abs(),
                        row.get::<_, i64>(1)?.unsigned_abs(),
                        row.get::<_, i64>(2)?.unsigned_abs(),
                    ))
                },
            )
            .map_err(|source| self.failed(source))
    }

    /// The bytes of the newest version of each message, by its session and its place in it.
    pub fn bytes_of_messages(&self) -> Result<BTreeMap<String, Vec<(u64, u64)>>, StoreError> {
        let mut found: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
        self.connection
            .prepare_cached(
                "SELECT session, seq, bytes, max(version) FROM messages
                 GROUP BY session, seq ORDER BY session, seq",
            )
            .and_then(|mut statement| {
                let mut rows = statement.query([])?;
                while let Some(row) = rows.next()? {
                    let (seq, bytes): (i64, i64) = (row.get(1)?, row.get(2)?);
                    let of_session = found.entry(row.get(0)?).or_default();
                    of_session.push((seq.unsigned_abs(), bytes.unsigned_abs()));
                }
                Ok(())
            })
            .map_err(|source| self.failed(source))?;
        Ok(found)
    }

    /// Returns messages whose bodies can't be read, or were changed, a line each; only the first `most`.
    pub(crate) fn damaged_messages(&self, most: usize) -> Result<Vec<String>, StoreError> {
        let sound = |row: &Row<'_>| -> rusqlite::Result<bool> {
            let bytes: i64 = row.get(4)?;
            let plain = unpacked(row.get(5)?, row.get(6)?, usize::try_from(bytes).unwrap_or(0));
            let hash: Vec<u8> = row.get(3)?;
            Ok(plain.is_ok_and(|plain| hash == Sha256::digest(&plain)[..]))
        };
        let mut damaged = Vec::new();
        self.connection
            .prepare(
                "SELECT session, id, version, hash, bytes, codec, body FROM messages
                 WHERE codec <> ?1 ORDER BY num",
            )
            .and_then(|mut statement| {
                let mut rows = statement.query([PURGED])?;
                while let Some(row) = rows.next()?
                    && damaged.len() < most
                {
                    if !sound(row)? {
                        let (session, id): (String, String) = (row.get(0)?, row.get(1)?);
                        let version: i64 = row.get(2)?;
                        damaged.push(format!(
                            "version {version} of message {id} of session {session} is not what it was"
                        ));
                    }
                }
                Ok(damaged)
            })
            .map_err(|source| self.failed(source))
    }

    fn newest_version(
        &self,
        session: &str,
        id: &str,
    ) -> Result<Option<(i64, i64, Vec<u8>)>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT seq, version, hash FROM messages WHERE session = ?1 AND id = ?2
                 ORDER BY version DESC LIMIT 1",
            )
            .and_then(|mut statement| {
                statement
                    .query_row(params![session, id], |row| {
                        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
                    })
                    .optional()
            })
            .map_err(|source| self.failed(source))
    }

    fn next_message(&self, session: &str) -> Result<i64, StoreError> {
        self.connection
            .prepare_cached("SELECT coalesce(max(seq), 0) + 1 FROM messages WHERE session = ?1")
            .and_then(|mut statement| statement.query_row([session], |row| row.get(0)))
            .map_err(|source| self.failed(source))
    }
}

pub(crate) fn message_of(row: &Row<'_>) -> rusqlite::Result<StoredMessage> {
    let bytes: i64 = row.get(3)?;
    let codec: i64 = row.get(4)?;
    let body: Vec<u8> = row.get(5)?;
    let (id, at): (String, i64) = (row.get(2)?, row.get(6)?);
    let purged = codec == PURGED;
    let (json, as_it_came) = if purged {
        (stored::purged(&id, at), None)
    } else {
        readable(&id, codec, body, usize::try_from(bytes).unwrap_or(0))
    };
    Ok(StoredMessage {
        seq: row.get::<_, i64>(0)?.unsigned_abs(),
        version: row.get::<_, i64>(1)?.unsigned_abs(),
        id,
        json,
        as_it_came,
        at,
        purged,
    })
}

/// Returns the readable part of a stored body, and its bytes if that is not all of it. A damaged body does not make
/// the messages around it unreadable.
fn readable(id: &str, code: i64, stored: Vec<u8>, bytes: usize) -> (String, Option<Vec<u8>>) {
    let stands_for = |why: &str| without_message(id, None, why);
    let plain = match unpacked(code, stored, bytes) {
        Ok(plain) => plain,
        Err(error) => {
            return (
                stands_for(&format!("its stored bytes are damaged: {error}")),
                Some(Vec::new()),
            );
        }
    };
    match String::from_utf8(plain) {
        Ok(text) => match mended(&text) {
            Cow::Borrowed(_) => (text, None),
            Cow::Owned(mended) => (mended, Some(text.into_bytes())),
        },
        Err(error) => {
            let bytes = error.into_bytes();
            (stands_for(&String::from_utf8_lossy(&bytes)), Some(bytes))
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
