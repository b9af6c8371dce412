//! The state that all requests share, and the routes.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{any, get, post};
use callstack_engine::{EngineError, Kind};
use tokio::sync::{Semaphore, watch};

use crate::access::Token;
use crate::events;
use crate::guard;
use crate::mcp;
use crate::openapi;
use crate::operations;
use crate::page;
use crate::problem::Problem;
use crate::project::PARAMETER;
use crate::projects::{self, Projects, Served};
use crate::proposal;

/// The path of the description for programs.
const OPENAPI: &str = "/openapi.json";

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
    /// The most connections that have not shown the token yet. Of more, the oldest is closed.
    pub strangers: usize,
    /// Connections that have shown the token.
    pub clients: usize,
    /// The time after which a store that nobody asks for is closed, where all projects are served.
    pub unused: Duration,
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
            unused: Duration::from_mins(10),
        }
    }
}

/// The state that the requests of one server share.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) projects: Arc<Projects>,
    pub(crate) token: Token,
    pub(crate) port: u16,
    pub(crate) limits: Limits,
    calls: Arc<Semaphore>,
    /// Notifies streams that the server stops.
    pub(crate) stopping: watch::Sender<()>,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("port", &self.port).finish_non_exhaustive()
    }
}

impl App {
    pub(crate) fn new(served: Served, token: Token, port: u16, limits: Limits) -> Self {
        let projects = Arc::new(Projects::new(served, port));
        let calls = Arc::new(Semaphore::new(limits.calls));
        let stopping = watch::Sender::new(());
        Self { projects, token, port, limits, calls, stopping }
    }

    /// Runs work that blocks, beside the tasks that serve connections.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let ended = |why: &dyn fmt::Display| {
            EngineError::new(Kind::Internal, format!("the call did not end: {why}"))
        };
        let permit = Arc::clone(&self.calls).acquire_owned().await;
        let permit = permit.map_err(|error| ended(&error))?;
        // The permit is held until the work ends, even if nobody waits for it any more.
        let work = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(permit);
            done
        });
        work.await.map_err(|error| ended(&error))?
    }
}

/// The routes of a server that listens on `port`.
pub fn app(served: impl Into<Served>, token: Token, port: u16, limits: Limits) -> Router {
    routes(App::new(served.into(), token, port, limits))
}

/// The routes, with the state of their requests.
pub(crate) fn routes(app: App) -> Router {
    page::paths()
        .fold(Router::new(), |router, path| router.route(path, get(page::file)))
        .route("/v1/projects", get(projects::list))
        .route(OPENAPI, get(openapi::of_server))
        .merge(of_a_project())
        .nest(
            &format!("/projects/{{{PARAMETER}}}"),
            of_a_project().route(OPENAPI, get(openapi::of_project)),
        )
        .fallback(nothing_here)
        .method_not_allowed_fallback(not_so)
        .layer(DefaultBodyLimit::max(app.limits.body))
        .layer(from_fn_with_state(app.clone(), guard::let_in))
        .with_state(app)
}

/// The routes that are about one project.
fn of_a_project() -> Router<App> {
    Router::new()
        .route("/v1/operations/{name}", post(operations::run))
        .route("/v1/events", get(events::follow))
        .route("/frame/push", post(proposal::push))
        .route("/frame/pop", post(proposal::pop))
        .route("/frame/tree", get(proposal::tree))
        .route("/frame/context", get(proposal::context))
        .route(mcp::PATH, any(mcp::answer))
}

async fn nothing_here() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "there is nothing at this path")
        .hint("`/openapi.json` lists what there is.")
}

async fn not_so() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this path does not take this method")
        .hint("`/openapi.json` lists what there is.")
}
