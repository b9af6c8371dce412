//! The state that is kept of sessions beside the texts that their models were sent.

use callstack_core::session_state::{BrokenTurn, SessionState, StaleReach};
use rusqlite::{OptionalExtension as _, params};

use crate::error::StoreError;
use crate::project::Writer;
use crate::store::View;

const FRAME_MODE: &str = "frame_mode";
const TOKENS_PER_ESTIMATE: &str = "tokens_per_estimate";
const MODEL_LIMIT: &str = "model_limit";
const UNDONE: &str = "undone";
const BROKEN_TURN: &str = "broken_turn";
const STALE: &str = "stale_";

impl Writer<'_, '_> {
    /// Replaces an earlier state of the same kind; each message has its own marks.
    pub(crate) fn set_session_state(
        &self,
        session: &str,
        state: &SessionState,
    ) -> Result<(), StoreError> {
        let none = String::new;
        let (name, message, value) = match state {
            SessionState::FrameMode { on } => {
                (FRAME_MODE.to_owned(), none(), if *on { "on" } else { "off" }.to_owned())
            }
            SessionState::TokensPerEstimate { percent } => {
                (TOKENS_PER_ESTIMATE.to_owned(), none(), percent.to_string())
            }
            SessionState::ModelLimit { tokens } => {
                (MODEL_LIMIT.to_owned(), none(), tokens.to_string())
            }
            SessionState::Undone { messages } => {
                (UNDONE.to_owned(), none(), serde_json::to_string(messages)?)
            }
            SessionState::BrokenTurn(broken) => {
                (BROKEN_TURN.to_owned(), none(), serde_json::to_string(broken)?)
            }
            SessionState::Stale { reach, message } => {
                (format!("{STALE}{}", reach.as_str()), message.clone(), none())
            }
        };
        self.run(
            "INSERT INTO session_states (session, name, message, value, seq)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (session, name, message) DO UPDATE
               SET value = excluded.value, seq = excluded.seq",
            params![session, name, message, value, self.seq],
        )?;
        // Other processes that follow the session read it again.
        self.run("UPDATE sessions SET changed_seq = ?2 WHERE id = ?1", params![session, self.seq])
    }
}

impl View<'_> {
    /// Whether frame mode was on when a session last continued. None where no text of ours was sent in it before.
    pub fn kept_frame_mode(&self, session: &str) -> Result<Option<bool>, StoreError> {
        Ok(self.session_state(session, FRAME_MODE)?.map(|value| value == "on"))
    }

    /// Real tokens for 100 estimated ones in a session, where that is known.
    pub fn tokens_per_estimate(&self, session: &str) -> Result<Option<u32>, StoreError> {
        Ok(self.session_state(session, TOKENS_PER_ESTIMATE)?.and_then(|it| it.parse().ok()))
    }

    /// The most tokens that a session's model takes, where that is known.
    pub fn model_limit(&self, session: &str) -> Result<Option<u64>, StoreError> {
        Ok(self.session_state(session, MODEL_LIMIT)?.and_then(|it| it.parse().ok()))
    }

    /// The messages of a session that its host has undone and does not show any more.
    pub fn undone_messages(&self, session: &str) -> Result<Vec<String>, StoreError> {
        let kept = self.session_state(session, UNDONE)?;
        Ok(kept.and_then(|value| serde_json::from_str(&value).ok()).unwrap_or_default())
    }

    /// The failure that broke a session's last turn off, as far as it is not handled.
    pub fn broken_turn(&self, session: &str) -> Result<BrokenTurn, StoreError> {
        let kept = self.session_state(session, BROKEN_TURN)?;
        Ok(kept.and_then(|value| serde_json::from_str(&value).ok()).unwrap_or_default())
    }

    /// The marks of stale reasoning in a session, in the order in which they were set.
    pub fn stale_marks(&self, session: &str) -> Result<Vec<(StaleReach, String)>, StoreError> {
        let rows: Vec<(String, String)> = self
            .connection
            .prepare_cached(
                "SELECT name, message FROM session_states
                 WHERE session = ?1 AND name GLOB 'stale_*' ORDER BY seq",
            )
            .and_then(|mut statement| {
                statement.query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(|source| self.failed(source))?;
        let mark = |(name, message): (String, String)| {
            let name = name.strip_prefix(STALE)?;
            let reach = StaleReach::ALL.into_iter().find(|it| it.as_str() == name)?;
            Some((reach, message))
        };
        Ok(rows.into_iter().filter_map(mark).collect())
    }

    fn session_state(&self, session: &str, name: &str) -> Result<Option<String>, StoreError> {
        self.connection
            .prepare_cached(
                "SELECT value FROM session_states
                 WHERE session = ?1 AND name = ?2 AND message = ''",
            )
            .and_then(|mut statement| {
                statement.query_row(params![session, name], |row| row.get(0)).optional()
            })
            .map_err(|source| self.failed(source))
    }
}
