//! A server of several projects: each is reached by its own paths, and its store is open only while it is used.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};
use callstack_engine::{Engine, EngineError, Settings, SystemWorld};
use callstack_server::{KnownProject, Limits, Options, ProjectSource};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::live::Live;
use crate::support::{Answer, Site};

/// The longest wait before the test fails.
const PATIENCE: Duration = Duration::from_mins(1);

/// The projects in a folder, with a record of the stores that were opened.
#[derive(Clone)]
struct Shelf {
    folder: Arc<TempDir>,
    opened: Arc<Mutex<Vec<PathBuf>>>,
}

impl ProjectSource for Shelf {
    fn known(&self) -> Result<Vec<KnownProject>, EngineError> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let folders = entries.map(|entry| entry.unwrap().path());
        let known = folders.map(|folder| {
            let is_first = folder.ends_with("one");
            KnownProject { folder, changed_at: is_first.then_some(7) }
        });
        Ok(known.collect())
    }

    fn open(&self, folder: &Path) -> Result<Engine, EngineError> {
        self.opened.lock().unwrap().push(folder.to_path_buf());
        Engine::open_unchecked(folder, Settings::default(), Box::new(SystemWorld))
    }
}

impl Shelf {
    fn of(names: &[&str]) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let shelf = Self { folder, opened: Arc::default() };
        for name in names {
            shelf.add(name);
        }
        shelf
    }

    fn add(&self, name: &str) {
        std::fs::create_dir(self.folder.path().join(name)).unwrap();
    }

    fn opened(&self) -> usize {
        self.opened.lock().unwrap().len()
    }

    fn served(&self) -> callstack_server::Served {
        callstack_server::Served::All(Arc::new(self.clone()))
    }
}

async fn projects(site: &Site) -> Vec<Value> {
    let answer = site.send(Method::GET, "/v1/projects", &site.headers(), "").await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    answer.json().as_array().unwrap().clone()
}

fn id(project: &Value) -> &str {
    project["id"].as_str().unwrap()
}

async fn post(site: &Site, target: &str, body: Value) -> Answer {
    site.send(Method::POST, target, &site.headers(), body.to_string()).await
}

async fn get(site: &Site, target: &str) -> Answer {
    site.send(Method::GET, target, &site.headers(), "").await
}

#[tokio::test]
async fn projects_are_listed_without_being_opened_and_new_ones_appear() {
    let shelf = Shelf::of(&["two", "one"]);
    let site = Site::of(shelf.served());
    let listed = projects(&site).await;
    let names: Vec<_> = listed.iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["one", "two"], "the one that changed last is first");
    assert_eq!((&listed[0]["changed_at"], &listed[1]["changed_at"]), (&json!(7), &Value::Null));
    let folder = shelf.folder.path().join("one");
    assert_eq!(listed[0]["folder"], folder.to_str().unwrap());
    shelf.add("a third");
    assert_eq!(projects(&site).await.len(), 3);
    assert_eq!(shelf.opened(), 0);
}

#[tokio::test]
async fn each_project_has_the_paths_of_a_server_of_its_own() {
    let shelf = Shelf::of(&["one", "two"]);
    let site = Site::of(shelf.served());
    let listed = projects(&site).await;
    for project in &listed {
        let base = format!("/projects/{}", id(project));
        let name = project["name"].as_str().unwrap();
        let push = json!({"title": format!("root of {name}"), "successCriteria": "x"});
        let answer = post(&site, &format!("{base}/v1/operations/stack_frame_push"), push).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        let pushed = post(&site, &format!("{base}/frame/push"), json!({"goal": "inner"})).await;
        assert_eq!(pushed.json()["directory"], project["folder"], "{pushed:?}");
        let tree = get(&site, &format!("{base}/frame/tree")).await.json();
        assert_eq!(tree[0]["title"], format!("root of {name}"));
        assert_eq!(tree.as_array().unwrap().len(), 1);
        let description = get(&site, &format!("{base}/openapi.json")).await.json();
        assert_eq!(description["servers"][0]["url"], base);
        let named = post(&site, &format!("{base}/v1/operations/nothing"), json!({})).await;
        assert_eq!(named.status, StatusCode::NOT_FOUND);
    }
    assert_eq!(shelf.opened(), 2, "a store is opened once");
    let description = get(&site, "/openapi.json").await.json();
    assert_eq!(description["servers"][0]["url"], "/projects/{project}");
}

#[tokio::test]
async fn an_agent_over_mcp_works_in_the_project_of_its_path() {
    let site = Site::of(Shelf::of(&["one", "two"]).served());
    let listed = projects(&site).await;
    let path = format!("/projects/{}/mcp", id(&listed[1]));
    let arguments = json!({"title": "Root", "successCriteria": "x", "session": "mine"});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "stack_frame_push", "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
    let mut headers = site.headers();
    for (name, value) in [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "stack_frame_push"),
    ] {
        headers.push((name, value.to_owned()));
    }
    let answer = site.send(Method::POST, &path, &headers, message.to_string()).await;
    assert!(answer.text.contains("f1 is open now"), "{answer:?}");
    for (project, frames) in listed.iter().zip([0, 1]) {
        let tree = get(&site, &format!("/projects/{}/frame/tree", id(project))).await.json();
        assert_eq!(tree.as_array().unwrap().len(), frames, "{project}");
    }
}

#[tokio::test]
async fn a_project_that_is_not_known_or_not_named_is_refused_and_nothing_is_opened() {
    let shelf = Shelf::of(&["one"]);
    let site = Site::of(shelf.served());
    let mut own = site.headers();
    own.retain(|(name, _)| *name != "authorization");
    let listed = projects(&site).await;
    let known = format!("/projects/{}", id(&listed[0]));
    for (base, status) in [
        ("", StatusCode::BAD_REQUEST),
        ("/projects/0123456789abcdef", StatusCode::NOT_FOUND),
        ("/projects/one", StatusCode::NOT_FOUND),
        ("/projects/..%2fone", StatusCode::NOT_FOUND),
        ("/projects/%ff", StatusCode::NOT_FOUND),
        ("/projects/..", StatusCode::NOT_FOUND),
        ("/projects/", StatusCode::NOT_FOUND),
    ] {
        let target = format!("{base}/v1/operations/stack_tree");
        let answer = post(&site, &target, json!({})).await;
        assert_eq!(answer.status, status, "{base}: {answer:?}");
        assert_eq!(answer.headers["content-type"], "application/problem+json", "{base}");
        assert!(!answer.json()["hint"].as_str().unwrap().is_empty());
    }
    for path in ["/v1/projects", &format!("{known}/frame/tree"), &format!("{known}/openapi.json")] {
        let answer = site.send(Method::GET, path, &own, "").await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    assert_eq!(shelf.opened(), 0);
}

#[tokio::test]
async fn one_project_has_both_its_own_paths_and_those_of_one_of_several() {
    let site = Site::new();
    site.did("stack_frame_push", json!({"title": "a", "successCriteria": "b"})).await;
    let listed = projects(&site).await;
    assert_eq!(listed.len(), 1);
    assert!(listed[0]["changed_at"].as_i64().unwrap() > 0);
    let own = get(&site, "/frame/tree").await;
    let same = get(&site, &format!("/projects/{}/frame/tree", id(&listed[0]))).await;
    assert_eq!((same.status, same.text), (StatusCode::OK, own.text));
    for other in ["0123456789abcdef", "%ff"] {
        let answer = get(&site, &format!("/projects/{other}/frame/tree")).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{other}");
    }
}

#[tokio::test]
async fn a_store_that_nobody_uses_is_closed_and_one_with_a_watcher_stays() {
    let shelf = Shelf::of(&["watched", "quiet"]);
    let limits = Limits { unused: Duration::from_millis(20), ..Limits::default() };
    let live = Live::start_with(shelf.served(), Options { limits, ..Options::default() }).await;
    let listed = live.get("/v1/projects").await;
    let by_name = |name: &str| {
        let listed = listed.as_array().unwrap();
        let found = listed.iter().find(|it| it["name"] == name).unwrap();
        format!("/projects/{}", id(found))
    };
    let (watched, quiet) = (by_name("watched"), by_name("quiet"));
    let mut events = live.follow(&format!("{watched}/v1/events"), "").await;
    assert_eq!(events.next().await.unwrap().name.as_deref(), Some("open"));
    let opened = |name: &str| {
        let opened = shelf.opened.lock().unwrap();
        opened.iter().filter(|folder| folder.ends_with(name)).count()
    };
    // It is opened again at each request after it was closed.
    let begun = Instant::now();
    while opened("quiet") < 3 {
        assert!(begun.elapsed() < PATIENCE, "its store is never closed");
        live.get(&format!("{quiet}/frame/tree")).await;
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
    assert_eq!(opened("watched"), 1);
    let folder = shelf.folder.path().join("watched");
    let another = Engine::open_unchecked(&folder, Settings::default(), Box::new(SystemWorld));
    another.unwrap().set_setting("STACK_LOG", Some("on")).unwrap();
    events.next().await.unwrap();
    live.stop().await;
}
