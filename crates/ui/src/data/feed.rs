//! The thread that follows the event feed.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use callstack_engine::{Engine, EngineError, EventBatch};

use crate::terminal::news::News;

/// Events that are taken at a time.
const BATCH: usize = 1_000;
/// The pause after a store could not be read.
const PAUSE: Duration = Duration::from_secs(1);
/// The length of a wait, which then begins again.
const WAIT: Duration = Duration::from_mins(10);

/// Reports every change of the store, whichever process made it, until nobody listens.
pub(crate) fn follow(engine: &Arc<Engine>, news: &Sender<News>) {
    let mut watch = loop {
        match engine.newest_event() {
            Ok(newest) => break engine.watch_events(newest),
            Err(_) => thread::sleep(PAUSE),
        }
    };
    loop {
        let change = match watch.wait(WAIT) {
            Ok(true) => all(|| watch.next_batch(BATCH)).map(|()| News::Changed),
            Ok(false) => continue,
            Err(error) => Err(error),
        };
        let change = change.unwrap_or_else(|error| {
            thread::sleep(PAUSE);
            News::Disturbed(error)
        });
        if news.send(change).is_err() {
            return;
        }
    }
}

/// Takes all waiting events, without reading them: the state has their content.
fn all<T>(mut next: impl FnMut() -> Result<EventBatch<T>, EngineError>) -> Result<(), EngineError> {
    loop {
        match next()? {
            EventBatch::Events(events) if events.len() == BATCH => {}
            EventBatch::Events(_) | EventBatch::Gap { .. } => return Ok(()),
        }
    }
}
