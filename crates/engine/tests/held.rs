//! A purge beside a process that has been shown messages and has not stored them yet.

use std::fs;
use std::path::Path;

use callstack_engine::{Engine, EventBatch, EventCursor, HostMessage};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::batches::{A, made, project, push, step, user};
use crate::plugin::Plugin;
use crate::support::{Project, wait};

/// Whether a file of a folder, or of those in it, holds a text.
fn is_in(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return is_in(&path, text);
        }
        fs::read(&path).unwrap().windows(text.len()).any(|it| it == text.as_bytes())
    })
}

/// The messages in the events `purged` after a place.
fn settled(engine: &Engine, after: EventCursor) -> Vec<Value> {
    let EventBatch::Events(events) = engine.events_after(after, 1_000).unwrap() else { panic!() };
    let events = events.into_iter().map(|event| json!(event)["event"].clone());
    events.filter(|event| event["kind"] == "purged").map(|it| it["messages"].clone()).collect()
}

/// A session in a process that can't store messages just now.
struct Held {
    project: Project,
    plugin: Plugin,
    shown: Vec<HostMessage>,
    store: Connection,
    folder: TempDir,
}

impl Held {
    /// A frame `f2` with a message that is stored, and one that is not.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = project(folder.path());
        let mut plugin = Plugin::default();
        let mut shown = vec![user("u1")];
        plugin.sync(&project.engine, A, &shown);
        push(&project.engine, "a1", "push");
        shown.push(step("a1", &[made("kettle", "read"), made("push", "stack_frame_push")]));
        shown.push(step("a2", &[made("basalt", "read")]));
        plugin.sync(&project.engine, A, &shown);
        wait(|| project.engine.messages(A).unwrap().len() == shown.len());
        let store = Connection::open(folder.path().join(".callstack/callstack.db")).unwrap();
        store
            .execute_batch(
                "CREATE TRIGGER held BEFORE INSERT ON messages BEGIN SELECT RAISE(ABORT, 'held'); END",
            )
            .unwrap();
        let mut held = Self { project, plugin, shown, store, folder };
        held.show("a3", "quartz");
        held
    }

    fn show(&mut self, id: &str, call: &'static str) {
        self.shown.push(step(id, &[made(call, "read")]));
        self.plugin.sync(&self.project.engine, A, &self.shown);
    }

    /// Another process purges.
    fn purge(&self, what: &str) {
        let person = self.project.another();
        let plan = person.purge_plan(what).unwrap();
        person.purge(plan, "somebody").unwrap();
    }

    /// The process stores what it holds, and ends; another one.
    fn end(self) -> (TempDir, Engine) {
        self.store.execute_batch("DROP TRIGGER held").unwrap();
        let another = self.project.another();
        drop(self.project);
        (self.folder, another)
    }
}

#[test]
fn what_is_held_of_a_purged_frame_is_not_written_afterwards() {
    let mut held = Held::new();
    held.purge("f2");
    held.show("a4", "marble");
    let after = held.project.engine.newest_event().unwrap();
    let (folder, engine) = held.end();
    let files = folder.path().join(".callstack");
    let is_in = |text: &str| is_in(&files, text);
    assert_eq!([is_in("basalt"), is_in("quartz")], [false; 2]);
    assert!(is_in("marble"), "what was said since stays");
    let frame = engine.resolve("f2").unwrap();
    let purged: Vec<_> = engine.log(&frame).unwrap().into_iter().map(|it| it.purged).collect();
    assert_eq!(purged, [true, true, false]);
    assert_eq!(settled(&engine, after), [json!([{"session": A, "ids": ["a3"]}])]);
    let health = engine.check().unwrap();
    assert!(health.damage.is_empty() && health.drifted.is_empty(), "{health:?}");
}

#[test]
fn what_is_held_of_other_frames_is_written() {
    let mut held = Held::new();
    push(&held.project.engine, "a4", "inner");
    held.shown.push(step("a4", &[made("inner", "stack_frame_push")]));
    held.show("a5", "onyx");
    held.purge("f3");
    let (folder, _) = held.end();
    let files = folder.path().join(".callstack");
    assert!(is_in(&files, "quartz"));
    assert!(!is_in(&files, "onyx"));
}

#[test]
fn what_is_held_of_a_purged_session_is_not_written_afterwards() {
    let mut held = Held::new();
    held.purge(A);
    held.show("a4", "marble");
    // It comes to nothing either when it is shown to another process.
    let shown = held.shown.clone();
    let (folder, engine) = held.end();
    Plugin::default().sync(&engine, A, &shown);
    drop(engine);
    let files = folder.path().join(".callstack");
    let found = ["kettle", "basalt", "quartz", "marble"].map(|text| is_in(&files, text));
    assert_eq!(found, [false, false, false, true]);
}
