//! What recorded sessions are to the work that goes on beside them.

use callstack_core::transcript::Anchor;
use callstack_engine::operation::{Answer, Caller};
use callstack_engine::{Engine, Settings, SystemWorld, operations};
use callstack_hosts::recording::{import, read};
use serde_json::{Value, json};

use crate::fixture;

struct Project {
    engine: Engine,
    _folder: tempfile::TempDir,
}

impl Project {
    fn with(settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let world = Box::new(SystemWorld);
        let engine = Engine::open_unchecked(folder.path(), settings, world).unwrap();
        Self { engine, _folder: folder }
    }

    fn import(&self, name: &str) {
        import(&self.engine, &read(&fixture(name)).unwrap(), &mut |_, _| {}).unwrap();
    }

    fn call(&self, session: &str, name: &str, arguments: Value) -> Answer {
        let caller = Caller {
            session: session.to_owned(),
            host: "cli".to_owned(),
            anchor: Anchor { message: None, call: None },
            agent: None,
            performs: false,
        };
        operations::find(name).unwrap().run(&self.engine, &caller, arguments).unwrap()
    }

    fn push(&self, session: &str, title: &str) -> String {
        let criteria = json!({ "title": title, "successCriteria": "The discount is right" });
        let answer = self.call(session, "stack_frame_push", criteria);
        answer.opened.unwrap().to_string()
    }

    fn context(&self, session: &str, frame: &str) -> String {
        self.engine.generate_frame_context(session, frame).unwrap().text.clone()
    }
}

const RETURNED: &str = "The discount is right now.";

#[test]
fn new_frames_are_not_told_of_imported_sessions() {
    let project = Project::with(Settings::default());
    project.import("swe-agent.traj");
    let frame = project.push("here", "The discount is wrong again");
    let told = project.context("here", &frame);
    assert!(!told.contains(RETURNED), "{told}");
    assert!(told.contains(r#"<sibling-status completed="0""#), "{told}");
    // What was worked in here is told, however many imported ones there are.
    project.call("here", "stack_frame_pop", json!({ "results": "Rounded at last." }));
    project.import("mini-swe-agent.traj.json");
    let next = project.push("next", "The discount is wrong once more");
    let told = project.context("next", &next);
    assert!(told.contains("Rounded at last.") && !told.contains("right now"), "{told}");
    // Their own contexts are as they were.
    let own = project.engine.resolve("f1").unwrap();
    assert!(own.session.is_some_and(|it| project.context(&it, "f1").contains("discount")));
}

#[test]
fn new_frames_are_told_of_imported_sessions_where_that_is_wanted() {
    let settings = Settings { imported_siblings: true, ..Settings::default() };
    let project = Project::with(settings);
    project.import("swe-agent.traj");
    let frame = project.push("here", "The discount is wrong again");
    let told = project.context("here", &frame);
    assert!(told.contains(RETURNED), "{told}");
}

/// Who works below an imported frame wants to know what stands there.
#[test]
fn frames_below_an_imported_one_are_told_what_stands_beside_them() {
    let project = Project::with(Settings::default());
    project.import("claude-code/5e55-0001.jsonl");
    for _ in 0..2 {
        project.call("5e55-0001", "stack_frame_pop", json!({ "results": "It is rounded." }));
    }
    let frame = project.push("5e55-0001", "Compute the discount of the basket");
    let told = project.context("5e55-0001", &frame);
    assert!(told.contains("The discount is computed in basket.py."), "{told}");
}
