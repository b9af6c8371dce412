//! What broke a session's turn off. A host tells of it before it tells that the session fell silent, which
//! may be in another process.

use callstack_core::event::Event;
use callstack_core::returned::RENDERER_VERSION;
use callstack_core::subagent::Trouble;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::sessions::Sessions;

/// Why a turn of an agent ended before its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Whether somebody stopped it.
    pub stopped: bool,
    /// What the host says of it.
    pub message: String,
}

const SLOT: &str = "broken";

/// What broke the last turn off, until it is taken account of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Broken {
    /// For a compaction that was waited for.
    pub(crate) failure: Option<Failure>,
    /// For the frames of a child session.
    pub(crate) trouble: Option<Trouble>,
}

impl Sessions {
    /// Looks at what broke a session's last turn off, and keeps what `change` makes of it.
    pub(crate) fn broken<T>(
        &self,
        session: &str,
        change: impl FnOnce(&mut Broken) -> T,
    ) -> Result<T, EngineError> {
        let kept = self.kernel.read(|view| view.render(session, SLOT))?;
        let before: Broken =
            kept.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let mut broken = before.clone();
        let outcome = change(&mut broken);
        if broken != before {
            let event = Event::Rendered {
                session: session.to_owned(),
                slot: SLOT.to_owned(),
                text: serde_json::json!(broken).to_string(),
                renderer: RENDERER_VERSION,
            };
            self.kernel.write(|write| write.append(self.kernel.now(), &[event]))?;
        }
        Ok(outcome)
    }
}
