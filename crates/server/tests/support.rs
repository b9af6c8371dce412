//! The routes of a server for a temporary project, asked without a socket.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use callstack_engine::{Engine, Settings, SystemWorld};
use callstack_server::{Limits, Served, Token, app};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

/// The port that the routes believe to be theirs.
pub(crate) const PORT: u16 = 4096;

/// An engine for a project.
pub(crate) fn engine(project: &TempDir) -> Engine {
    let world = Box::new(SystemWorld);
    Engine::open_unchecked(project.path(), Settings::default(), world).unwrap()
}

/// The routes of a server, with its project.
pub(crate) struct Site {
    pub(crate) token: Token,
    router: Router,
    project: Arc<TempDir>,
}

/// A response that was read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

impl Site {
    pub(crate) fn new() -> Self {
        let project = tempfile::tempdir().unwrap();
        let engine = Arc::new(engine(&project));
        Self { project: Arc::new(project), ..Self::of(engine.into()) }
    }

    /// The routes of a server of these projects.
    pub(crate) fn of(served: Served) -> Self {
        let token = Token::random().unwrap();
        let router = app(served, token.clone(), PORT, Limits::default());
        Self { token, router, project: Arc::new(tempfile::tempdir().unwrap()) }
    }

    /// The routes of a further server of the project, with another engine.
    pub(crate) fn restarted(&self) -> Self {
        let engine = Arc::new(engine(&self.project));
        let router = app(engine, self.token.clone(), PORT, Limits::default());
        Self { router, token: self.token.clone(), project: Arc::clone(&self.project) }
    }

    /// The headers that a client sends.
    pub(crate) fn headers(&self) -> Vec<(&'static str, String)> {
        vec![
            ("host", format!("127.0.0.1:{PORT}")),
            ("authorization", format!("Bearer {}", self.token.as_str())),
            ("content-type", "application/json".to_owned()),
        ]
    }

    /// Sends a request with these headers and no others.
    pub(crate) async fn send(
        &self,
        method: Method,
        target: &str,
        headers: &[(&str, String)],
        body: impl Into<Body>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(body.into()).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: parts.status, headers: parts.headers, text }
    }

    /// Calls an operation.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Answer {
        let target = format!("/v1/operations/{name}");
        self.send(Method::POST, &target, &self.headers(), arguments.to_string()).await
    }

    /// Calls an operation that must go well; its data.
    pub(crate) async fn did(&self, name: &str, arguments: Value) -> Value {
        let answer = self.call(name, arguments).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        answer.json()["data"].clone()
    }

    /// The titles of all frames.
    pub(crate) async fn titles(&self) -> Vec<String> {
        let state = self.did("stack_tree", json!({})).await;
        let frames = state["frames"].as_object().unwrap();
        let mut titles: Vec<_> =
            frames.values().map(|frame| frame["title"].as_str().unwrap().to_owned()).collect();
        titles.sort();
        titles
    }
}
