//! `GET /v1/events`: the event log as server-sent events.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use callstack_engine::{EngineError, EventCursor};
use futures_util::stream;
use serde::Deserialize;
use tokio::sync::watch;

use crate::body::Parameters;
use crate::feed::{Batch, Feed, place_event, stored};
use crate::problem::Problem;
use crate::project::Asked;

/// The header with which a browser continues where it was.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// The milliseconds after which a browser connects again.
const RETRY: &str = "retry: 1000\n\n";
/// The sign that the connection stands, and its interval.
const ALIVE: &str = ":\n\n";
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// The place where the stream begins.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct From {
    /// The place after which events are wanted; none for those that are yet to come.
    after: Option<String>,
}

/// Sends the events after a place, and all later ones.
pub(crate) async fn follow(
    asked: Asked,
    Parameters(from): Parameters<From>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let last = headers.get(LAST_EVENT).map(|last| last.to_str().unwrap_or_default().to_owned());
    let after = last.or(from.after).map(|place| parsed(&place)).transpose()?;
    let feed = asked.feed().await?;
    // Subscribed before the first read, so that no event in between is missed.
    let newest = feed.subscribe();
    let (after, first) = asked
        .call(move |engine| {
            let after = after.map_or_else(|| engine.newest_event(), Ok)?;
            Ok::<_, EngineError>((after, stored(engine, after)?))
        })
        .await?;
    let head = format!("{RETRY}{}", place_event("open", after));
    let reader = Reader {
        stopping: asked.app.stopping.subscribe(),
        asked,
        feed,
        newest,
        cursor: first.cursor,
        ready: Some([head.as_bytes(), &first.bytes].concat().into()),
    };
    let body = Body::from_stream(stream::try_unfold(reader, Reader::next));
    Ok(([(CONTENT_TYPE, "text/event-stream")], body).into_response())
}

fn parsed(place: &str) -> Result<EventCursor, Problem> {
    place.parse().map_err(|error: callstack_engine::InvalidCursor| {
        Problem::new(StatusCode::BAD_REQUEST, error.to_string())
            .hint("Give the `cursor` of the last event that you had.")
    })
}

/// A client that reads the log. It holds no more than the bytes that it is about to send.
struct Reader {
    asked: Asked,
    feed: Arc<Feed>,
    newest: watch::Receiver<EventCursor>,
    stopping: watch::Receiver<()>,
    cursor: EventCursor,
    ready: Option<Bytes>,
}

impl Reader {
    /// Returns the next bytes to send, as soon as there are any; none when the server stops.
    async fn next(mut self) -> Result<Option<(Bytes, Self)>, EngineError> {
        if let Some(bytes) = self.ready.take() {
            return Ok(Some((bytes, self)));
        }
        loop {
            self.newest.borrow_and_update();
            let batch = self.batch().await?;
            if batch.cursor != self.cursor {
                self.cursor = batch.cursor;
                return Ok(Some((batch.bytes, self)));
            }
            tokio::select! {
                changed = self.newest.changed() => if changed.is_err() { return Ok(None) },
                _ = self.stopping.changed() => return Ok(None),
                () = tokio::time::sleep(ALIVE_EVERY) => {
                    return Ok(Some((Bytes::from_static(ALIVE.as_bytes()), self)));
                }
            }
        }
    }

    async fn batch(&self) -> Result<Batch, EngineError> {
        let cursor = self.cursor;
        if let Some(batch) = self.feed.recent(cursor) {
            return Ok(batch);
        }
        self.asked.call(move |engine| stored(engine, cursor)).await
    }
}
