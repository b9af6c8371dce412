//! One project of a server, and the requests that are about it.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, OriginalUri, Path};
use axum::http::request::Parts;
use callstack_engine::{Engine, EngineError, Profile};
use callstack_mcp::{HttpService, McpServer, Sessions, http_service};

use crate::app::App;
use crate::feed::Feed;
use crate::problem::Problem;
use crate::projects::unknown;
use crate::record::key;

/// The parameter of a path that names the project.
pub(crate) const PARAMETER: &str = "project";

/// A project whose store is open.
pub(crate) struct Project {
    id: String,
    engine: Arc<Engine>,
    feed: Mutex<Option<Arc<Feed>>>,
    mcp: HttpService,
}

impl Project {
    pub(crate) fn new(engine: Arc<Engine>, port: u16) -> Arc<Self> {
        Arc::new_cyclic(|project| Self {
            id: key(engine.project()),
            engine,
            feed: Mutex::default(),
            mcp: service(Weak::clone(project), port),
        })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Returns the service for agents. Each client of it uses the project as long as its session lasts.
    pub(crate) fn mcp(&self) -> HttpService {
        self.mcp.clone()
    }

    /// Returns the feed of the project's events, which begins when somebody first asks for it.
    fn feed(&self) -> Result<Arc<Feed>, EngineError> {
        let mut feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(feed) = &*feed {
            return Ok(Arc::clone(feed));
        }
        let begun = Arc::new(Feed::begin(&self.engine)?);
        *feed = Some(Arc::clone(&begun));
        Ok(begun)
    }
}

/// Returns the service for agents of a server that listens on `port`. The guard has let its requests in.
fn service(project: Weak<Project>, port: u16) -> HttpService {
    let make = move || {
        let project = project.upgrade().ok_or(io::ErrorKind::NotConnected)?;
        Ok(McpServer::new(project, Sessions::Argument, env!("CARGO_PKG_VERSION")))
    };
    let hosts = ["127.0.0.1", "localhost"];
    http_service(make, hosts.map(|host| format!("http://{host}:{port}")))
}

impl callstack_mcp::Project for Project {
    fn existing(&self) -> Result<Option<Arc<Engine>>, EngineError> {
        Ok(Some(Arc::clone(&self.engine)))
    }

    fn existing_or_new(&self) -> Result<Arc<Engine>, EngineError> {
        Ok(Arc::clone(&self.engine))
    }

    fn profile(&self) -> Result<Profile, EngineError> {
        Ok(self.engine.current_settings()?.profile)
    }
}

/// The project that a request is about: the one that its path names, else the one that is served.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) app: App,
    pub(crate) project: Arc<Project>,
}

impl Asked {
    /// Runs work on the project's engine, which blocks, beside the tasks that serve connections.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Engine) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let project = Arc::clone(&self.project);
        self.app.call(move || work(project.engine())).await
    }

    pub(crate) async fn feed(&self) -> Result<Arc<Feed>, EngineError> {
        let project = Arc::clone(&self.project);
        self.app.call(move || project.feed()).await
    }
}

impl FromRequestParts<App> for Asked {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let named: Result<Path<HashMap<String, String>>, PathRejection> =
            Path::from_request_parts(parts, app).await;
        let id = if let Ok(Path(mut named)) = named {
            named.remove(PARAMETER)
        } else {
            // An id that is no text belongs to no project.
            let OriginalUri(whole) = OriginalUri::from_request_parts(parts, app)
                .await
                .unwrap_or_else(|never| match never {});
            if whole.path().starts_with("/projects/") {
                return Err(unknown().into());
            }
            None
        };
        let project = match (app.projects.at_hand(id.as_deref())?, id) {
            (Some(project), _) => project,
            (None, id) => {
                let projects = Arc::clone(&app.projects);
                app.call(move || projects.opened(&id.unwrap_or_default())).await?
            }
        };
        Ok(Self { app: app.clone(), project })
    }
}
