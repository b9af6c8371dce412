//! Changes by a person from outside a session, at the command line, are kept for the sessions that they concern:
//! their agents are informed at their next request.

use std::sync::atomic::{AtomicUsize, Ordering};

use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_core::outside::outside_changes;
use callstack_core::rendered_slot::{OutsideSlot, RenderedSlot};
use callstack_core::returned::RENDERER_VERSION;
use callstack_store::{Change, StoreError, View};

use crate::call::is_person;
use crate::error::EngineError;
use crate::kernel::Env;

/// Whether a change that is kept for a session still matters. Nothing is known about those that an earlier version
/// kept.
pub(crate) fn still_matters(view: &View<'_>, kept: &OutsideSlot) -> Result<bool, StoreError> {
    let Some(num) = kept.frame else { return Ok(false) };
    let mut frame = view.frame(num)?;
    if kept.outlasts && frame.status.is_finished() {
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
            for session in concerned(&view, outside.frame)? {
                kept.push(Event::Rendered {
                    session,
                    slot: RenderedSlot::Outside(OutsideSlot {
                        after: newest,
                        index: kept.len(),
                        frame: Some(outside.frame),
                        outlasts: outside.outlasts,
                    }),
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
