//! Questions about child sessions.

use callstack_core::frame::FrameNum;
use callstack_core::subagent::{AtIdle, Change, SubagentSession, SubagentStats};
use callstack_store::StoreError;

use crate::error::{EngineError, Kind};
use crate::hint::Hint;
use crate::queries::Queries;
use crate::subagents::Subagents;

/// Candidates that an ambiguity names.
const NAMED: u32 = 5;

/// The state of a child session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildStatus {
    /// It is at work.
    Active,
    /// It is silent, and its frames are open, or it has none.
    Idle,
    /// Its frames have ended.
    Completed,
}

impl ChildStatus {
    /// Returns the state of a session.
    pub fn of(session: &SubagentSession) -> Self {
        match (session.is_completed, session.is_idle) {
            (true, _) => Self::Completed,
            (false, true) => Self::Idle,
            (false, false) => Self::Active,
        }
    }

    /// `active`, `idle` or `completed`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Idle => "idle",
            Self::Completed => "completed",
        }
    }
}

/// The child sessions that are meant.
#[derive(Clone, Debug, Default)]
pub struct SubagentFilter {
    /// Only those that stand so.
    pub standing: Option<ChildStatus>,
    /// Only those whose title matches a pattern.
    pub subagents_only: bool,
    /// Only those that have, or had, a frame.
    pub framed_only: bool,
    /// Only those that this session started.
    pub parent: Option<String>,
    /// Only those that were started in this frame.
    pub caller: Option<FrameNum>,
}

impl SubagentFilter {
    fn takes(&self, session: &SubagentSession) -> bool {
        self.standing.is_none_or(|standing| standing == ChildStatus::of(session))
            && (!self.subagents_only || session.is_subagent)
            && (!self.framed_only || session.has_frame)
            && self.parent.as_ref().is_none_or(|parent| *parent == session.parent)
            && self.caller.is_none_or(|caller| session.caller == Some(caller))
    }
}

impl Queries {
    /// The child sessions that a filter takes, in the order in which they were first seen.
    pub(crate) fn subagents(
        &self,
        filter: &SubagentFilter,
    ) -> Result<Vec<SubagentSession>, EngineError> {
        let mut sessions = self.kernel.read(|view| Ok::<_, EngineError>(view.subagents()?))?;
        sessions.retain(|session| filter.takes(session));
        Ok(sessions)
    }

    /// Returns the number of child sessions since the store was made, by their ends.
    pub(crate) fn subagent_stats(&self) -> Result<SubagentStats, EngineError> {
        self.kernel.read(|view| Ok(view.subagent_stats()?))
    }

    /// The child session that a reference means: its id or a unique prefix of it, or a frame of it.
    pub(crate) fn find_subagent(&self, reference: &str) -> Result<SubagentSession, EngineError> {
        let reference = reference.trim();
        let mut found = match reference {
            "" => Vec::new(),
            id => self.kernel.read(|view| view.subagents_beginning_with(id, NAMED + 1))?,
        };
        if let Some(exact) = found.iter().position(|session| session.session == reference) {
            return Ok(found.swap_remove(exact));
        }
        match found.len() {
            0 => {}
            1 => return Ok(found.swap_remove(0)),
            _ => {
                let named: Vec<_> = found.into_iter().map(|session| session.session).collect();
                return Err(EngineError::new(
                    Kind::NotFound,
                    format!("`{reference}` may be each of {}", named.join(", ")),
                )
                .with_hint("Give more of the id."));
            }
        }
        let unknown = |what: String| {
            EngineError::new(Kind::NotFound, what).with_hint(
                Hint::operation("stack_subagent_list")
                    .then(" lists the sessions that are tracked."),
            )
        };
        let frame = match self.kernel.read(|view| view.resolve(reference)) {
            Ok(frame) => frame,
            Err(StoreError::NoFrame(_)) => {
                return Err(unknown(format!("no session and no frame is `{reference}`")));
            }
            Err(error) => return Err(error.into()),
        };
        let tracked = match &frame.session {
            Some(session) => self.kernel.read(|view| view.subagent(session))?,
            None => None,
        };
        tracked.ok_or_else(|| unknown(format!("frame {} is no subagent's", frame.label())))
    }
}

impl Subagents {
    /// Follows changed settings: sessions that are silent already get the deadline that they would get
    /// now.
    pub(crate) fn reconsider_silent(&self) -> Result<(), EngineError> {
        let settings = self.queries.subagent_settings()?;
        let now = self.kernel.now();
        let idle =
            SubagentFilter { standing: Some(ChildStatus::Idle), ..SubagentFilter::default() };
        for session in self.queries.subagents(&idle)? {
            let until = match settings.at_idle(
                &session,
                self.queries.is_delegation(&session.session)?,
                now,
            ) {
                AtIdle::CompleteAt(until) => Some(until),
                AtIdle::Complete => Some(now),
                AtIdle::Nothing | AtIdle::Stays => None,
            };
            // A session that deserves a frame only by now gets it when it is asked again.
            let until = until.filter(|_| session.has_frame);
            if until.is_some() != session.completes_at.is_some() {
                let trouble = session.trouble.clone();
                self.note(&session.session, Change::Idle { until, trouble })?;
            }
        }
        self.settle_due()?;
        Ok(())
    }
}
