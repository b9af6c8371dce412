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
                [] => Err(EngineError {
                    kind: Kind::NotFound,
                    message: format!("there is no session `{reference}`"),
                    hint: Some("Leave it out for the session that worked last.".to_owned()),
                }),
                [session] => Ok((session.clone(), view.last_message(session)?)),
                several => Err(EngineError {
                    kind: Kind::NotFound,
                    message: format!(
                        "session `{reference}` could be {}",
                        several.get(..NAMED).unwrap_or(several).join(", ")
                    ),
                    hint: Some("Give more of the id.".to_owned()),
                }),
            }
        })
    }
}
