//! Follows a project's event log for all clients at once.
//!
//! One thread waits for the next events and keeps the newest ones as clients are sent them. A client that keeps up
//! takes them from there; one that lags reads the store until it has caught up.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use axum::body::Bytes;
use callstack_engine::{
    Engine, EngineError, EventBatch, EventCursor, EventWatch, FeedEvent, StopWatch,
};
use serde_json::json;
use tokio::sync::watch;

/// Events that are taken from the store at a time.
const AT_ONCE: usize = 256;
/// Events that are kept for clients that keep up, and their bytes.
const KEPT: usize = 1024;
const KEPT_BYTES: usize = 4 << 20;
/// The longest single wait for events.
const WAIT: Duration = Duration::from_hours(1);
/// The pause after the log could not be read.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Events as they are sent, and the place after them.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) bytes: Bytes,
    pub(crate) cursor: EventCursor,
}

/// The event log of one project.
#[derive(Debug)]
pub(crate) struct Feed {
    newest: Arc<Newest>,
    stop: StopWatch,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

impl Feed {
    /// Begins to follow the log from its end.
    pub(crate) fn begin(engine: &Engine) -> Result<Self, EngineError> {
        let watch = engine.watch_events(engine.newest_event()?);
        let stop = watch.stopper();
        let newest = Arc::new(Newest::after(watch.cursor()));
        let follower = Arc::clone(&newest);
        thread::spawn(move || follow(watch, &follower));
        Ok(Self { newest, stop })
    }

    /// Returns a receiver that is notified of each new end of the log.
    pub(crate) fn subscribe(&self) -> watch::Receiver<EventCursor> {
        self.newest.place.subscribe()
    }

    /// Returns the events after a place, if they are among the newest ones.
    pub(crate) fn recent(&self, after: EventCursor) -> Option<Batch> {
        self.newest.kept().after(after)
    }
}

fn follow(mut watch: EventWatch, newest: &Newest) {
    while !watch.is_stopped() {
        let batch = match watch.wait(WAIT) {
            Ok(true) => watch.next_batch(AT_ONCE),
            Ok(false) => continue,
            Err(error) => Err(error),
        };
        match batch {
            Ok(EventBatch::Events(events)) => newest.add(&events),
            Ok(EventBatch::Gap { newest: place }) => newest.restart(place),
            // Clients that read the store themselves get the error; here it is tried again.
            Err(_) => thread::sleep(AFTER_FAILURE),
        }
    }
}

/// The newest events.
#[derive(Debug)]
struct Newest {
    kept: Mutex<Kept>,
    place: watch::Sender<EventCursor>,
}

#[derive(Debug)]
struct Kept {
    /// The place before the first event.
    from: EventCursor,
    events: VecDeque<Batch>,
    bytes: usize,
}

impl Newest {
    fn after(place: EventCursor) -> Self {
        let kept = Kept { from: place, events: VecDeque::new(), bytes: 0 };
        Self { kept: Mutex::new(kept), place: watch::Sender::new(place) }
    }

    fn add(&self, events: &[FeedEvent]) {
        let Some(last) = events.last() else { return };
        let mut kept = self.kept();
        for event in events {
            if is_purge(event) {
                kept.forget();
            }
            kept.push(Batch { bytes: sent(event).into(), cursor: event.cursor });
        }
        drop(kept);
        self.place.send_replace(last.cursor);
    }

    fn restart(&self, place: EventCursor) {
        *self.kept() = Kept { from: place, events: VecDeque::new(), bytes: 0 };
        self.place.send_replace(place);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether an event is a purge of messages: earlier events may have lost the removed content.
fn is_purge(event: &FeedEvent) -> bool {
    event.event.as_ref().is_some_and(|event| event["kind"] == "purged")
}

impl Kept {
    /// Forgets the events: a client that is not at the end has to read the store.
    fn forget(&mut self) {
        if let Some(last) = self.events.back() {
            *self = Self { from: last.cursor, events: VecDeque::new(), bytes: 0 };
        }
    }

    fn push(&mut self, event: Batch) {
        self.bytes += event.bytes.len();
        self.events.push_back(event);
        while self.events.len() > KEPT || self.bytes > KEPT_BYTES {
            let Some(oldest) = self.events.pop_front() else { return };
            self.bytes -= oldest.bytes.len();
            self.from = oldest.cursor;
        }
    }

    fn after(&self, place: EventCursor) -> Option<Batch> {
        let first = if place == self.from {
            0
        } else {
            1 + self.events.binary_search_by_key(&place.seq, |event| event.cursor.seq).ok()?
        };
        // Another store may have had an event of that number.
        let known = first.checked_sub(1).and_then(|known| self.events.get(known));
        if known.is_some_and(|known| known.cursor != place) {
            return None;
        }
        let mut bytes = Vec::new();
        let mut cursor = place;
        for event in self.events.iter().skip(first).take(AT_ONCE) {
            bytes.extend_from_slice(&event.bytes);
            cursor = event.cursor;
        }
        Some(Batch { bytes: bytes.into(), cursor })
    }
}

/// Reads the events after a place from the store, with a gap in the form that clients get.
pub(crate) fn stored(engine: &Engine, after: EventCursor) -> Result<Batch, EngineError> {
    Ok(match engine.events_after(after, AT_ONCE)? {
        EventBatch::Events(events) => Batch {
            cursor: events.last().map_or(after, |event| event.cursor),
            bytes: events.iter().map(sent).collect::<String>().into(),
        },
        EventBatch::Gap { newest } => {
            Batch { bytes: place_event("gap", newest).into(), cursor: newest }
        }
    })
}

/// An event in the format of server-sent events.
fn sent(event: &FeedEvent) -> String {
    // JSON has its line breaks escaped, so it is one line.
    format!("id: {}\ndata: {}\n\n", event.cursor, json!(event))
}

/// Returns a place in the log, in the format of server-sent events, from which a client begins, or continues after a
/// gap.
pub(crate) fn place_event(name: &str, place: EventCursor) -> String {
    format!("event: {name}\nid: {place}\ndata: {}\n\n", json!({"cursor": place}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(seq: u64, at: i64) -> EventCursor {
        EventCursor { seq, at: Some(at) }
    }

    fn kept(count: u64, size: usize) -> Kept {
        let mut kept = Kept { from: place(0, 0), events: VecDeque::new(), bytes: 0 };
        for seq in 1..=count {
            kept.push(Batch { bytes: vec![b'x'; size].into(), cursor: place(seq, 7) });
        }
        kept
    }

    #[test]
    fn a_client_that_keeps_up_gets_the_rest() {
        let kept = kept(3, 1);
        for (seen, rest) in [(place(0, 0), 3), (place(1, 7), 2), (place(3, 7), 0)] {
            let batch = kept.after(seen).unwrap();
            assert_eq!((batch.bytes.len(), batch.cursor.seq), (rest, 3));
        }
    }

    #[test]
    fn one_at_a_place_that_is_not_kept_has_to_read_the_store() {
        let kept = kept(3, 1);
        for seen in [place(0, 9), place(2, 9), place(4, 7), EventCursor::from(2)] {
            assert!(kept.after(seen).is_none(), "{seen}");
        }
    }

    #[test]
    fn a_purge_is_the_first_event_that_is_kept() {
        let event = |seq: u64, kind: &str| FeedEvent {
            cursor: place(seq, 7),
            seq,
            at: 7,
            session: None,
            frame: None,
            event: Some(json!({"kind": kind, "title": "quartz"})),
        };
        let newest = Newest::after(place(0, 0));
        newest.add(&[event(1, "frame_created"), event(2, "purged"), event(3, "root_set")]);
        assert!(newest.kept().after(place(0, 0)).is_none());
        assert_eq!(newest.kept().after(place(1, 7)).unwrap().cursor.seq, 3);
        newest.add(&[event(4, "purged")]);
        assert!(newest.kept().after(place(2, 7)).is_none());
        assert_eq!(newest.kept().after(place(3, 7)).unwrap().cursor.seq, 4);
    }

    #[test]
    fn old_and_large_events_are_not_kept() {
        let many = kept(KEPT as u64 + 10, 1);
        assert!(many.after(place(9, 7)).is_none());
        assert_eq!(many.after(place(10, 7)).unwrap().bytes.len(), AT_ONCE);
        let large = kept(3, KEPT_BYTES / 2);
        assert_eq!((large.events.len(), large.from), (2, place(1, 7)));
    }
}
