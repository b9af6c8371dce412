//! Messages on branches that were left are found and read, but don't count as work.

use std::fs;

use callstack_engine::LogRequest;
use callstack_engine::search::{Depth, SearchRequest};
use callstack_recordings::{Recording, read};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::importing::Project;

struct Session(Vec<String>);

impl Session {
    fn add(&mut self, id: &str, parent: Option<&str>, message: &Value) -> String {
        let kind = message["role"].as_str().unwrap();
        let line = json!({"type": kind, "uuid": id, "parentUuid": parent, "sessionId": "left-1",
            "isSidechain": false, "cwd": "/shop", "version": "2.1.0",
            "timestamp": format!("2026-03-01T10:00:{:02}.000Z", self.0.len()), "message": message});
        self.0.push(line.to_string());
        self.0.last().unwrap().clone()
    }

    fn user(&mut self, id: &str, parent: Option<&str>, words: &str) -> String {
        self.add(id, parent, &json!({"role": "user", "content": words}))
    }

    fn agent(&mut self, id: &str, parent: &str, content: &Value) -> String {
        let message = json!({"role": "assistant", "id": format!("msg_{id}"), "model": "m",
            "content": [content]});
        self.add(id, Some(parent), &message)
    }

    fn says(&mut self, id: &str, parent: &str, words: &str) -> String {
        self.agent(id, parent, &json!({"type": "text", "text": words}))
    }

    /// Adds a command of the agent, and its output.
    fn runs(&mut self, id: &str, parent: &str, command: &str) -> Vec<String> {
        let input = json!({"command": command});
        let call = self.agent(
            id,
            parent,
            &json!({"type": "tool_use", "id": format!("toolu_{id}"), "name": "Bash", "input": input}),
        );
        let result = json!([{"type": "tool_result", "tool_use_id": format!("toolu_{id}"),
            "content": format!("{command} is done. ").repeat(100)}]);
        let result =
            self.add(&format!("r{id}"), Some(id), &json!({"role": "user", "content": result}));
        vec![call, result]
    }

    fn written(&self, folder: &TempDir) -> Vec<Recording> {
        let path = folder.path().join("left-1.jsonl");
        fs::write(&path, self.0.join("\n")).unwrap();
        read(&path).unwrap()
    }
}

/// Returns a session whose user went back twice, after work of the agent and to say something else at once, and the
/// records of the branches that were left.
fn gone_back() -> (Session, Vec<String>) {
    let mut session = Session(Vec::new());
    let mut left = Vec::new();
    session.user("u1", None, "Look at the basket");
    session.says("a1", "u1", "It has a total.");
    left.push(session.user("u2", Some("a1"), "Rewrite it in zymurgy"));
    left.extend(session.runs("a2", "u2", "zymurgy --all"));
    left.push(session.says("a3", "ra2", "It is rewritten."));
    left.push(session.user("u3", Some("a1"), "Are the quillworts still there?"));
    session.user("u4", Some("a1"), "Add a discount");
    for (step, parent) in ["u4", "rb1", "rb2", "rb3"].into_iter().enumerate() {
        session.runs(&format!("b{}", step + 1), parent, &format!("make step {step}"));
    }
    session.says("b5", "rb4", "The discount is there.");
    (session, left)
}

fn imported() -> (Project, Session, Vec<String>, TempDir) {
    let (session, left) = gone_back();
    let folder = tempfile::tempdir().unwrap();
    let project = Project::new();
    let recordings = session.written(&folder);
    let counts = callstack_hosts::import::import(&project.engine, &recordings, &mut |_, _| {});
    assert_eq!(counts.unwrap().messages, 12);
    (project, session, left, folder)
}

#[test]
fn they_are_stored_where_they_were_said() {
    let (project, session, left, _folder) = imported();
    let root = project.engine.resolve("left-1").unwrap();
    let part = project.engine.read_log(&root, &LogRequest::default()).unwrap();
    let back: Vec<String> = part.entries.iter().map(|entry| entry.to_raw(true)).collect();
    let back = back.join("\n");
    let mut last = 0;
    for record in &session.0 {
        // Results of calls stand with their calls, and so with the messages before these.
        let at = back.find(record.as_str()).unwrap_or_else(|| panic!("{record} in {back}"));
        assert!(at >= last || record.contains("tool_result"), "{record}");
        last = last.max(at);
    }
    assert_eq!(left.len(), 5);
    for word in ["zymurgy", "quillworts"] {
        let request = SearchRequest {
            text: word.to_owned(),
            exact: true,
            frame: None,
            limit: 5,
            depth: Depth::Thorough,
            reveal: false,
        };
        let found = project.engine.search(&request).unwrap();
        let frame = found.places[0].frame.as_ref().unwrap();
        assert_eq!(frame.handle, "f1", "{word}");
    }
}

#[test]
fn nothing_was_done_in_them() {
    let (project, ..) = imported();
    let state = serde_json::to_string(&project.engine.state().unwrap()).unwrap();
    assert!(state.contains("Add a discount") && state.contains("The discount is there."));
    assert!(!state.contains("zymurgy") && !state.contains("rewritten"), "{state}");
    for span in project.engine.spans("left-1").unwrap() {
        let fold = span.fold.map_or_else(String::new, |fold| fold.text);
        assert!(!fold.contains("zymurgy"), "{fold}");
    }
}

#[test]
fn they_are_stored_once_also_when_the_session_grows() {
    let (project, mut session, _, folder) = imported();
    let import = |session: &Session| {
        let recordings = session.written(&folder);
        let counts = callstack_hosts::import::import(&project.engine, &recordings, &mut |_, _| {});
        counts.unwrap().messages
    };
    assert_eq!(import(&session), 0);
    session.user("u5", Some("b5"), "What about vetiver?");
    session.user("u6", Some("b5"), "Round it up");
    session.says("a6", "u6", "It is rounded.");
    assert_eq!(import(&session), 3);
    assert_eq!(import(&session), 0);
    // A branch that was continued may be left later.
    session.user("u7", Some("b5"), "Round it down");
    session.says("a7", "u7", "It is rounded down.");
    assert_eq!(import(&session), 2);
    assert_eq!(import(&session), 0);
    let kept = project.engine.messages("left-1").unwrap();
    assert_eq!(kept.len(), 17);
    assert!(kept.iter().any(|message| message.json.contains("vetiver")));
}

#[test]
fn the_records_of_them_are_counted_and_a_broken_one_is_passed_over() {
    let (mut session, _) = gone_back();
    session.0.insert(3, "{\"type\":\"user\",\"uuid\":\"u2x\",\"parentUuid\":\"a1\"".to_owned());
    session.0.insert(4, json!({"type": "user", "uuid": "u2y", "parentUuid": "u2y"}).to_string());
    let folder = tempfile::tempdir().unwrap();
    let recording = &session.written(&folder)[0];
    let kind = "of a branch that was left, kept for log and search only";
    assert_eq!(recording.skipped.kinds.get(kind), Some(&6), "{:?}", recording.skipped);
    assert_eq!((recording.skipped.unreadable, recording.left.len()), (1, 4));
    let before: Vec<_> = recording.left.iter().map(|left| left.before).collect();
    assert_eq!(before, [2, 2, 2, 2]);
    assert_eq!(recording.messages[2].id, "u4");
}
