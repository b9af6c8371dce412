//! Changes by a person from outside a session, at the command line, are kept for the sessions that they concern:
//! their agents are informed at their next request.

use std::sync::atomic::{AtomicUsize, Ordering};

use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_core::outside::outside_changes;
use callstack_core::returned::RENDERER_VERSION;
use callstack_core::session_state::RenderedText;
use callstack_store::{Change, StoreError, View};

use crate::call::is_person;
use crate::error::EngineError;
use crate::kernel::Env;

/// The slot of a session's changes until it is informed of them; it is followed by a number, the frame, and whether
/// the change matters when the frame is over.
pub(crate) const SLOT: &str = RenderedText::Outside.prefix();

const OUTLASTS: &str = " outlasts";

/// Whether a change that is kept there still matters. Nothing is known about those that an earlier version kept.
pub(crate) fn still_matters(view: &View<'_>, kept: &str) -> Result<bool, StoreError> {
    let (place, outlasts) = match kept.strip_suffix(OUTLASTS) {
        Some(place) => (place, true),
        None => (kept, false),
    };
    let frame = place.split_once(' ').and_then(|(_, frame)| frame.parse().ok());
    let Some(num) = frame else { return Ok(false) };
    let mut frame = view.frame(num)?;
    if outlasts && frame.status.is_finished() {
        let Some(parent) = frame.parent else { return Ok(false) };
        frame = view.frame(parent)?;
    }
    Ok(!frame.detached && !frame.status.is_finished())
}

/// Whether a person changes something just now.
#[derive(Debug, Default)]
pub(crate) struct Outside(AtomicUsize);

/// Marks changes as made by a person from outside, while it lives.
#[derive(Debug)]
pub(crate) struct Entered<'a>(&'a Outside);

impl Outside {
    pub(crate) fn enter(&self) -> Entered<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Entered(self)
    }

    fn is_entered(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Env {
    /// Stores changes for the agents that they concern, where a person makes them from outside.
    pub(crate) fn record_outside(
        &self,
        change: &mut Change<'_>,
        at: i64,
        events: &[Event],
        named: &[FrameNum],
    ) -> Result<(), EngineError> {
        if !self.outside.is_entered() {
            return Ok(());
        }
        let view = change.view();
        let changes = outside_changes(events, named, |num| view.frame(num))?;
        let newest = view.revision()?;
        let mut kept = Vec::new();
        for outside in changes {
            let over = if outside.outlasts { OUTLASTS } else { "" };
            for session in concerned(&view, outside.frame)? {
                kept.push(Event::Rendered {
                    session,
                    slot: format!("{SLOT}{newest}.{} {}{over}", kept.len(), outside.frame),
                    text: outside.text.clone(),
                    renderer: RENDERER_VERSION,
                });
            }
        }
        Ok(change.append(at, &kept)?)
    }
}

/// The sessions whose agents a change of a frame concerns: the one that works in it or in the nearest frame above it
/// that a session has, and those that work somewhere below it.
fn concerned(view: &View<'_>, num: FrameNum) -> Result<Vec<String>, EngineError> {
    let mut sessions = Vec::new();
    let owner = std::iter::once(view.frame(num)?).chain(view.ancestors(num)?);
    if let Some(id) = owner.into_iter().find_map(|frame| frame.session)
        && view.session_row(&id)?.is_some_and(|session| !is_person(&session.host))
    {
        sessions.push(id);
    }
    for session in view.working_sessions()? {
        let Some(active) = session.active else { continue };
        if is_person(&session.host) || sessions.contains(&session.id) {
            continue;
        }
        if active == num || view.ancestors(active)?.iter().any(|above| above.num == num) {
            sessions.push(session.id);
        }
    }
    Ok(sessions)
}
