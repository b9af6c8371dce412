//! Commands on frames: what each leads to is decided by `core` and appended in the transaction of its caller.

use std::sync::Arc;

use callstack_core::decide::{Command, Decision, decide};
use callstack_core::frame::FrameNum;
use callstack_store::Change;

use crate::error::{EngineError, Kind};
use crate::kernel::Env;

/// Carries out commands on frames within a transaction.
pub(crate) struct Commands {
    pub(crate) env: Arc<Env>,
}

impl Commands {
    pub(crate) fn new(env: &Arc<Env>) -> Self {
        Self { env: Arc::clone(env) }
    }

    /// Decides a command and appends what it leads to.
    pub(crate) fn carry_out(
        &self,
        change: &mut Change<'_>,
        command: &Command,
    ) -> Result<Decision, EngineError> {
        let now = self.env.now();
        let decision =
            decide(&change.view(), command, &self.env.settings_in(&change.view())?.limits, now)?;
        change.append(now, &decision.events)?;
        let followed = crate::autonomy::followed(&change.view(), &decision.events, now)?;
        change.append(now, &followed)?;
        self.env.tell_of_outside(change, &decision.events, &decision.frames)?;
        Ok(decision)
    }
}

/// The frame that a command was carried out on.
pub(crate) fn first(decision: &Decision) -> Result<FrameNum, EngineError> {
    decision.frames.first().copied().ok_or_else(|| EngineError {
        kind: Kind::Internal,
        message: "a command was carried out on no frame".to_owned(),
        hint: None,
    })
}
