//! The state that all requests share, and the routes.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use axum::{Json, Router};
use callstack_engine::{Engine, EngineError, Kind};
use tokio::sync::{Semaphore, watch};

use crate::access::Token;
use crate::events;
use crate::feed::Feed;
use crate::guard;
use crate::mcp;
use crate::openapi;
use crate::operations;
use crate::page;
use crate::problem::Problem;
use crate::proposal;

/// The limits on clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body: usize,
    /// The time that a request may take, the event stream aside.
    pub request: Duration,
    /// The time in which a request's head has to arrive.
    pub head: Duration,
    /// The time for which a client may read nothing of its answer.
    pub write: Duration,
    /// Calls on the engine at the same time.
    pub calls: usize,
    /// Connections that have not shown the token yet. Of more than that the oldest is closed.
    pub strangers: usize,
    /// Connections that have shown the token.
    pub clients: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 1024 * 1024,
            request: Duration::from_secs(30),
            head: Duration::from_secs(10),
            write: Duration::from_secs(30),
            calls: 8,
            strangers: 128,
            clients: 512,
        }
    }
}

/// The state that the requests of one server share.
#[derive(Clone)]
pub(crate) struct App {
    engine: Arc<Engine>,
    pub(crate) token: Token,
    pub(crate) port: u16,
    pub(crate) limits: Limits,
    calls: Arc<Semaphore>,
    feed: Arc<Mutex<Option<Arc<Feed>>>>,
    /// Tells streams that the server stops.
    pub(crate) stopping: watch::Sender<()>,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("port", &self.port).finish_non_exhaustive()
    }
}

impl App {
    pub(crate) fn new(engine: Arc<Engine>, token: Token, port: u16, limits: Limits) -> Self {
        let calls = Arc::new(Semaphore::new(limits.calls));
        let stopping = watch::Sender::new(());
        Self { engine, token, port, limits, calls, feed: Arc::default(), stopping }
    }

    /// Returns the feed of the project's events, which begins when somebody first asks for it.
    pub(crate) async fn feed(&self) -> Result<Arc<Feed>, EngineError> {
        let feed = Arc::clone(&self.feed);
        self.call(move |engine| {
            let mut feed = feed.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(feed) = &*feed {
                return Ok(Arc::clone(feed));
            }
            let begun = Arc::new(Feed::begin(engine)?);
            *feed = Some(Arc::clone(&begun));
            Ok(begun)
        })
        .await
    }

    /// Runs work on the engine, which blocks, beside the tasks that serve connections.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let ended = |why: &dyn fmt::Display| EngineError {
            kind: Kind::Internal,
            message: format!("the call did not end: {why}"),
            hint: None,
        };
        let permit = Arc::clone(&self.calls).acquire_owned().await;
        let permit = permit.map_err(|error| ended(&error))?;
        let engine = Arc::clone(&self.engine);
        // The permit is held until the work ends, also where nobody waits for it any more.
        let work = tokio::task::spawn_blocking(move || {
            let done = work(&engine);
            drop(permit);
            done
        });
        work.await.map_err(|error| ended(&error))?
    }
}

/// The routes of a server that listens on `port`.
pub fn app(engine: Arc<Engine>, token: Token, port: u16, limits: Limits) -> Router {
    routes(App::new(engine, token, port, limits))
}

/// The routes, with the state of their requests.
pub(crate) fn routes(app: App) -> Router {
    page::paths()
        .fold(Router::new(), |router, path| router.route(path, get(page::file)))
        .route("/v1/operations/{name}", post(operations::run))
        .route("/v1/events", get(events::follow))
        .route("/frame/push", post(proposal::push))
        .route("/frame/pop", post(proposal::pop))
        .route("/frame/tree", get(proposal::tree))
        .route("/frame/context", get(proposal::context))
        .route_service(mcp::PATH, mcp::service(&app.engine, app.port))
        .route("/openapi.json", get(async || Json(openapi::description())))
        .fallback(nothing_here)
        .method_not_allowed_fallback(not_so)
        .layer(DefaultBodyLimit::max(app.limits.body))
        .layer(from_fn_with_state(app.clone(), guard::let_in))
        .with_state(app)
}

async fn nothing_here() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "there is nothing at this path")
        .hint("`/openapi.json` lists what there is.")
}

async fn not_so() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not take this method")
        .hint("`/openapi.json` lists what there is.")
}
