//! The HTTP server, on a thread of its own, so that callers need no async code.

use std::{
    convert::Infallible,
    io,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::stream;
use serde_json::Value;
use thiserror::Error;
use tokio::sync::oneshot;

use crate::{
    check::Finding,
    format::WireFormat,
    ledger::{Ledger, models},
    request::RecordedRequest,
    script::{Checks, Conversation, Script, Step},
};

/// The model could not be started.
#[derive(Debug, Error)]
#[error("the scripted model cannot listen on 127.0.0.1: {0}; free a port or allow loopback")]
pub struct StartError(#[from] io::Error);

type Shared = Arc<Mutex<Ledger>>;

/// A running model. It stops when it is dropped.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    ledger: SharedLedger,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

#[derive(Clone)]
struct SharedLedger(Shared);

impl std::fmt::Debug for SharedLedger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ledger")
    }
}

impl SharedLedger {
    /// A panic of another thread leaves the ledger readable, and a test needs it then.
    fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ScriptedModel {
    /// Starts a model on a free port of 127.0.0.1.
    pub fn start(script: Script) -> Result<Self, StartError> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let ledger = SharedLedger(Arc::new(Mutex::new(Ledger::new(script))));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let app = router(ledger.clone());
        let thread = thread::Builder::new().name("scripted-model".to_owned()).spawn(move || {
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                    return;
                };
                tokio::select! {
                    _ = axum::serve(listener, app) => {}
                    _ = stopped => {}
                }
            });
            // Answers that are still waiting for their delay must not hold up the drop.
            runtime.shutdown_background();
        })?;
        Ok(Self { address, ledger, stop: Some(stop), thread: Some(thread) })
    }

    /// The address for a provider's `baseURL`: `http://127.0.0.1:PORT/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Every request so far, in the order in which they came.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.ledger.lock().requests().to_vec()
    }

    /// The agent requests of one session.
    pub fn agent_requests(&self, session: &str) -> Vec<RecordedRequest> {
        let agent =
            |r: &&RecordedRequest| r.session == session && r.kind == crate::RequestKind::Agent;
        self.ledger.lock().requests().iter().filter(agent).cloned().collect()
    }

    /// The sessions that have made an agent request, in order of appearance.
    pub fn sessions(&self) -> Vec<String> {
        self.ledger.lock().sessions().to_vec()
    }

    /// Everything that was wrong so far.
    pub fn violations(&self) -> Vec<Finding> {
        self.ledger.lock().findings().to_vec()
    }

    /// Adds a conversation for a session that has not appeared yet.
    pub fn add(&self, conversation: Conversation) {
        self.ledger.lock().add(conversation);
    }

    /// Adds steps to a session's conversation; `false` when the session has not appeared.
    pub fn append(&self, session: &str, steps: impl IntoIterator<Item = Step>) -> bool {
        self.ledger.lock().append(session, steps)
    }

    /// Switches checks for a session from now on; `false` when it has not appeared.
    pub fn set_checks(&self, session: &str, checks: Checks) -> bool {
        self.ledger.lock().set_checks(session, checks)
    }

    /// Leaves out the prefix check for the session's next agent request: an undo, say, lies
    /// between it and the last one. `false` when the session has not appeared.
    pub fn skip_next_prefix_check(&self, session: &str) -> bool {
        self.ledger.lock().forget_previous(session)
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // It fails only when the server has ended already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            // A panic over there was reported when it happened.
            drop(thread.join());
        }
    }
}

fn router(ledger: SharedLedger) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/messages", post(messages))
        .route("/v1/responses", post(responses))
        .route("/v1/models", get(async || Json(models())))
        .layer(DefaultBodyLimit::disable())
        .with_state(ledger)
}

async fn chat(State(ledger): State<SharedLedger>, headers: HeaderMap, body: Bytes) -> Response {
    complete(WireFormat::ChatCompletions, ledger, &headers, &body).await
}

async fn messages(State(ledger): State<SharedLedger>, headers: HeaderMap, body: Bytes) -> Response {
    complete(WireFormat::Messages, ledger, &headers, &body).await
}

async fn responses(
    State(ledger): State<SharedLedger>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    complete(WireFormat::Responses, ledger, &headers, &body).await
}

async fn complete(
    format: WireFormat,
    ledger: SharedLedger,
    headers: &HeaderMap,
    body: &Bytes,
) -> Response {
    let headers = kept_headers(headers);
    let body = String::from_utf8_lossy(body);
    let parsed = RecordedRequest::parse_as(format, headers.clone(), &body);
    let request = match parsed {
        Ok(request) => request,
        Err(why) => {
            let session = headers.into_iter().find(|(name, _)| name == "x-session-id");
            let session = session.map(|(_, id)| id).unwrap_or_default();
            ledger.lock().unreadable(session, why.to_string());
            return error(format, StatusCode::BAD_REQUEST, &why.to_string());
        }
    };
    let taken = ledger.lock().take(request.clone());
    if let Some(why) = taken.refused() {
        return error(format, StatusCode::BAD_REQUEST, why);
    }
    // The closure runs without the lock: it may ask the model for its earlier requests.
    let resolved = taken.resolve(&request);
    let answer = ledger.lock().settle(resolved);
    tokio::time::sleep(answer.step.delay.unwrap_or(Duration::ZERO)).await;
    if let Some(failure) = &answer.step.fail {
        let status = StatusCode::from_u16(failure.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        return error(format, status, &failure.message);
    }
    if request.body["stream"] == Value::Bool(true) {
        let events = format.events(&answer).into_iter().map(Ok::<_, Infallible>);
        let kind =
            [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
        (kind, Body::from_stream(stream::iter(events))).into_response()
    } else {
        Json(format.whole(&answer)).into_response()
    }
}

fn kept_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("x-") || *name == header::USER_AGENT)
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect()
}

fn error(format: WireFormat, status: StatusCode, message: &str) -> Response {
    (status, Json(format.error(message))).into_response()
}
