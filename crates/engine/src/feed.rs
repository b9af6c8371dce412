//! The event log as other programs follow it: see `docs/events.md`.

use std::time::Duration;

use callstack_core::frame::FrameNum;
use callstack_core::secrets::mask_value;
pub use callstack_store::{EventBatch, EventCursor, InvalidCursor, StopWatch};
use callstack_store::{LoggedEvent, StoreError, Watch};
use serde::Serialize;
use serde_json::Value;

use crate::error::EngineError;
use crate::queries::Queries;

/// An event as other programs read it, with secrets masked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FeedEvent {
    /// The place after the event, from which a reader continues.
    pub cursor: EventCursor,
    /// The number of the event, from 1, without gaps.
    pub seq: u64,
    /// When it happened; milliseconds since 1970.
    pub at: i64,
    /// The session that the event names.
    pub session: Option<String>,
    /// The number of the frame that the event names.
    pub frame: Option<FrameNum>,
    /// The event as it is logged, with its `kind`. None if it can't be read.
    pub event: Option<Value>,
}

impl TryFrom<LoggedEvent> for FeedEvent {
    type Error = EngineError;

    fn try_from(logged: LoggedEvent) -> Result<Self, EngineError> {
        let event = logged.event.as_ref().map(serde_json::to_value).transpose();
        let mut event = event.map_err(StoreError::from)?;
        if let Some(event) = &mut event {
            mask_value(event);
        }
        Ok(Self {
            cursor: logged.cursor(),
            seq: logged.seq,
            at: logged.at,
            session: logged.session().map(str::to_owned),
            frame: logged.frame(),
            event,
        })
    }
}

/// Follows the event log and waits for its next events, whichever process appends them.
#[derive(Debug)]
pub struct EventWatch(Watch);

impl EventWatch {
    /// Waits until there are events, or a gap, to be taken. False if `timeout` passes first, or the watch was
    /// stopped. After an error, `wait` can be called again.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, EngineError> {
        Ok(self.0.wait(timeout)?)
    }

    /// Takes the next events, at most `limit`, without waiting. After a gap the watch continues from the end of the
    /// log.
    pub fn next_batch(&mut self, limit: usize) -> Result<EventBatch<FeedEvent>, EngineError> {
        masked(self.0.next_batch(limit)?)
    }

    /// The place up to which events were taken.
    pub fn cursor(&self) -> EventCursor {
        self.0.cursor()
    }

    /// Returns a handle that stops the watch from another thread.
    pub fn stopper(&self) -> StopWatch {
        self.0.stopper()
    }

    /// Whether the watch was stopped.
    pub fn is_stopped(&self) -> bool {
        self.0.is_stopped()
    }
}

impl Queries {
    /// The end of the event log.
    pub(crate) fn newest_event(&self) -> Result<EventCursor, EngineError> {
        self.kernel.read(|view| Ok(view.newest_event()?))
    }

    /// The events after a place, at most `limit` and about 8 MB.
    pub(crate) fn events_after(
        &self,
        after: EventCursor,
        limit: usize,
    ) -> Result<EventBatch<FeedEvent>, EngineError> {
        masked(self.kernel.events_after(after, limit)?)
    }

    /// A watch of the events after a place.
    pub(crate) fn watch_events(&self, after: EventCursor) -> EventWatch {
        EventWatch(self.kernel.watch_events(after))
    }
}

fn masked(batch: EventBatch) -> Result<EventBatch<FeedEvent>, EngineError> {
    Ok(match batch {
        EventBatch::Events(events) => {
            let events: Result<_, EngineError> =
                events.into_iter().map(TryInto::try_into).collect();
            EventBatch::Events(events?)
        }
        EventBatch::Gap { newest } => EventBatch::Gap { newest },
    })
}
