//! Questions that people at a terminal ask, and agents do not.

use crate::error::{EngineError, Kind};
use crate::queries::Queries;

/// Sessions that an ambiguity names.
const NAMED: usize = 5;

impl Queries {
    /// The session that a reference (its id or a unique prefix of it) means, with the last message of
    /// its transcript.
    pub(crate) fn find_session(
        &self,
        reference: &str,
    ) -> Result<(String, Option<String>), EngineError> {
        self.kernel.read(|view| {
            if view.session_row(reference)?.is_some() {
                return Ok((reference.to_owned(), view.last_message(reference)?));
            }
            let mut found: Vec<String> =
                view.sessions(u32::MAX)?.into_iter().map(|session| session.id).collect();
            found.retain(|id| !reference.is_empty() && id.starts_with(reference));
            match found.as_slice() {
                [] => Err(EngineError::new(
                    Kind::NotFound,
                    format!("there is no session `{reference}`"),
                )
                .with_hint("Leave it out for the session that worked last.")),
                [session] => Ok((session.clone(), view.last_message(session)?)),
                several => Err(EngineError::new(
                    Kind::NotFound,
                    format!(
                        "session `{reference}` could be {}",
                        several.get(..NAMED).unwrap_or(several).join(", ")
                    ),
                )
                .with_hint("Give more of the id.")),
            }
        })
    }
}
