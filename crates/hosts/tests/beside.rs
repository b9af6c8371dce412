//! Recorded sessions beside work that goes on.

use callstack_core::limits::Limits;
use callstack_core::transcript::Anchor;
use callstack_engine::operation::{Answer, Caller};
use callstack_engine::{Engine, EngineError, Settings, SystemWorld, UserMessage, operations};
use callstack_hosts::import::import;
use callstack_recordings::read;
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
        self.try_call(session, name, arguments).unwrap()
    }

    fn try_call(&self, session: &str, name: &str, arguments: Value) -> Result<Answer, EngineError> {
        let caller = Caller {
            session: session.to_owned(),
            host: "cli".to_owned(),
            anchor: Anchor { message: None, call: None },
            agent: None,
            performs: false,
            reveal: true,
            key: None,
        };
        operations::find(name).unwrap().run(&self.engine, &caller, arguments)
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
fn new_frames_are_not_shown_imported_sessions() {
    let project = Project::with(Settings::default());
    project.import("swe-agent.traj");
    let frame = project.push("here", "The discount is wrong again");
    let context = project.context("here", &frame);
    assert!(!context.contains(RETURNED), "{context}");
    assert!(context.contains(r#"<sibling-status completed="0""#), "{context}");
    // Work here is shown, however many imported sessions there are.
    project.call("here", "stack_frame_pop", json!({ "results": "Rounded at last." }));
    project.import("mini-swe-agent.traj.json");
    let next = project.push("next", "The discount is wrong once more");
    let context = project.context("next", &next);
    assert!(context.contains("Rounded at last.") && !context.contains("right now"), "{context}");
    // Their own contexts are as they were.
    let own = project.engine.resolve("f1").unwrap();
    assert!(own.session.is_some_and(|it| project.context(&it, "f1").contains("discount")));
}

#[test]
fn new_frames_are_shown_imported_sessions_where_that_is_wanted() {
    let settings = Settings { imported_siblings: true, ..Settings::default() };
    let project = Project::with(settings);
    project.import("swe-agent.traj");
    let frame = project.push("here", "The discount is wrong again");
    let context = project.context("here", &frame);
    assert!(context.contains(RETURNED), "{context}");
}

/// A session that works below an imported frame needs to know the frames there.
#[test]
fn frames_below_an_imported_one_are_shown_what_stands_beside_them() {
    let project = Project::with(Settings::default());
    project.import("claude-code/5e55-0001.jsonl");
    for _ in 0..2 {
        project.call("5e55-0001", "stack_frame_pop", json!({ "results": "It is rounded." }));
    }
    let frame = project.push("5e55-0001", "Compute the discount of the basket");
    let context = project.context("5e55-0001", &frame);
    assert!(context.contains("The discount is computed in basket.py."), "{context}");
}

#[test]
fn what_a_recording_left_open_is_not_in_progress() {
    let project = Project::with(Settings::default());
    project.import("claude-code/5e55-0001.jsonl");
    for session in ["here", "5e55-0001"] {
        let status = project.call(session, "stack_status", json!({}));
        assert!(status.text.contains("No frame is open in this session."), "{}", status.text);
        assert!(status.text.contains("In all: 3 completed, 3 imported."), "{}", status.text);
        assert_eq!(status.data["counts"], json!({ "completed": 3, "imported": 3 }));
        assert_eq!(status.data["stack"], json!([]));
        let tree = project.call(session, "stack_tree", json!({}));
        assert!(tree.text.contains("◌ f6 Round [imported]"), "{}", tree.text);
        assert!(tree.text.contains("◌ imported, never ended"), "{}", tree.text);
        assert!(!tree.text.contains("active"), "{}", tree.text);
    }
    let details = project.call("here", "stack_frame_details", json!({ "frame": "f6" }));
    assert!(details.text.contains("nobody works in it"), "{}", details.text);
    assert!(!details.text.contains("open for"), "{}", details.text);
    assert_eq!(details.data["imported"], true);
    // Work that goes on beside it is.
    project.push("here", "Round");
    let status = project.call("here", "stack_status", json!({}));
    assert!(status.text.contains("1 in_progress, 3 completed, 3 imported."), "{}", status.text);
}

#[test]
fn what_a_recording_left_open_takes_no_place_in_the_limits() {
    let limits = Limits { live_frames: 2, ..Limits::default() };
    let project = Project::with(Settings { limits, ..Settings::default() });
    // Three frames that never ended, whatever the limit is.
    project.import("claude-code/5e55-0001.jsonl");
    project.push("here", "One");
    project.push("here", "Two");
    let third = json!({ "title": "Three", "successCriteria": "It is there" });
    let refused = project.try_call("here", "stack_frame_push", third).unwrap_err();
    assert!(refused.message.contains("frames in progress"), "{}", refused.message);
}

/// The figures of a recording are kept, and updated when it has grown or was imported before that.
#[test]
fn figures_of_a_recording_are_kept() {
    let project = Project::with(Settings::default());
    let path = fixture("claude-code/5e55-0001.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("5e55-0001.jsonl");
    let figures = |text: &str| {
        std::fs::write(&file, text).unwrap();
        import(&project.engine, &read(&file).unwrap(), &mut |_, _| {}).unwrap();
        let notes = project.engine.tree_notes(&project.engine.tree(None).unwrap()).unwrap();
        notes.sessions["5e55-0001"].figures.unwrap()
    };
    let lines: Vec<&str> = whole.lines().collect();
    let begun = figures(&lines[..20].join("\n"));
    let grown = figures(&whole);
    assert_eq!((begun.calls, grown.calls), (5, 11));
    assert_eq!(grown.largest, Some(390));
    assert!(begun.largest.is_some() && begun.largest < grown.largest, "{begun:?}");
    let took = |(begun, ended): (i64, i64)| (ended - begun) / 1000;
    assert_eq!(grown.times.map(took), Some(41));
    assert!(begun.times.map(took) < Some(41), "{begun:?}");
    assert_eq!(figures(&whole), grown);
}

/// An imported session that is continued is work like any other.
#[test]
fn an_imported_session_that_is_gone_on_with_is_worked_in() {
    let project = Project::with(Settings::default());
    project.import("opencode.json");
    assert_eq!(project.engine.latest_session().unwrap(), None);
    let message = UserMessage {
        session: "ses_1".to_owned(),
        host: "opencode".to_owned(),
        text: "Go on with the discount".to_owned(),
    };
    project.engine.user_message(&message).unwrap();
    assert_eq!(project.engine.latest_session().unwrap().unwrap().0, "ses_1");
    let status = project.call("ses_1", "stack_status", json!({}));
    assert!(!status.data["stack"].as_array().unwrap().is_empty(), "{}", status.text);
    assert!(!status.text.contains("imported"), "{}", status.text);
    // The store's newer knowledge of it is better than the recording.
    let again = read(&fixture("opencode.json")).unwrap();
    let counts = import(&project.engine, &again, &mut |_, _| {}).unwrap();
    assert_eq!((counts.followed, counts.known), (1, 0));
    project.engine.rebuild().unwrap();
    assert_eq!(project.engine.latest_session().unwrap().unwrap().0, "ses_1");
}
