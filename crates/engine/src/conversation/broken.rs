//! The failure that broke a session's turn off. A host reports it before it reports that the session fell silent,
//! which may be in another process.

use callstack_core::event::Event;
use callstack_core::session_state::{BrokenTurn, SessionState};
use callstack_store::View;

use crate::error::EngineError;
use crate::sessions::Sessions;

/// Why a turn of an agent ended before its time.
pub use callstack_core::session_state::Failure;

impl Sessions {
    /// Reads the failure of a session's last turn, and stores the changes of `change`. Where there are any, `change`
    /// is called a second time, with the failure as it is stored by then.
    pub(crate) fn broken<T>(
        &self,
        session: &str,
        change: impl Fn(&mut BrokenTurn) -> T,
    ) -> Result<T, EngineError> {
        let changed = |view: &View<'_>| -> Result<_, EngineError> {
            let before = view.broken_turn(session)?;
            let mut after = before.clone();
            let outcome = change(&mut after);
            Ok((outcome, (after != before).then_some(after)))
        };
        // Nearly always nothing changes; reading takes no lock that others wait for.
        let (outcome, after) = self.kernel.read(changed)?;
        if after.is_none() {
            return Ok(outcome);
        }
        self.kernel.write(|write| {
            let (outcome, after) = changed(&write.view())?;
            if let Some(after) = after {
                let state = SessionState::BrokenTurn(after);
                let event = Event::SessionStateSet { session: session.to_owned(), state };
                write.append(self.kernel.now(), &[event])?;
            }
            Ok(outcome)
        })
    }
}

#[cfg(test)]
#[path = "broken_tests.rs"]
mod tests;
