//! The log of what is done in a project.

use callstack_core::subagent::SubagentSettings;
use callstack_engine::{ChildSession, Kept, Settings};
use serde_json::json;

use crate::support::Project;

/// Returns the log without its times, after checking that they are times.
fn logged(project: &Project) -> Vec<String> {
    let path = project.engine.project().join(".callstack/callstack.log");
    let Ok(text) = std::fs::read_to_string(path) else { return Vec::new() };
    let line = |line: &str| {
        let (time, rest) = line.split_once("] ").unwrap();
        assert!(
            time.starts_with("[2023-11-14T") && time.ends_with('Z') && time.len() == 25,
            "{line}"
        );
        rest.strip_prefix("[stack] ").unwrap().to_owned()
    };
    text.lines().map(line).collect()
}

fn work(project: &Project) {
    project.user("ses_a", "Build the shop");
    let one = json!({"title": "one", "successCriteria": "1"});
    project.did("ses_a", "stack_frame_push", one.clone());
    project.did("ses_a", "stack_add_decision", json!({"decision": "no\nJava"}));
    project.did("ses_a", "stack_frame_pop", json!({"results": "done"}));
    project.did("ses_a", "stack_frame_plan", json!({"children": [one]}));
    project.did("ses_a", "stack_frame_activate", json!({"frame": "f3", "in": "here"}));
    project.did("ses_a", "stack_frame_invalidate", json!({"frame": "f3", "reason": "no"}));
    project.call("ses_a", "stack_frame_details", json!({"frame": "f99"})).unwrap_err();
}

#[test]
fn frames_contexts_and_what_is_missing_are_logged() {
    let project = Project::new();
    work(&project);
    insta::assert_snapshot!(logged(&project).join("\n"), @r#"
    Session opened { sessionID: "ses_a" }
    Frame created { frame: "f1", id: "ses_a", sessionID: "ses_a", title: "Build the shop" }
    Frame created { frame: "f2", id: "frm-0001", sessionID: "ses_a", title: "one", parent: "f1" }
    Context generated { sessionID: "ses_a", frame: "f2", tokens: 57, ancestors: 1, siblings: 0 }
    Decision added { frame: "f2", decision: "no\nJava" }
    Frame completed { frame: "f2", results: "done", source: "agent" }
    Frame planned { frame: "f3", id: "plan-0002", title: "one", parent: "f1" }
    Frame activated { frame: "f3", id: "frm-0003", sessionID: "ses_a" }
    Context generated { sessionID: "ses_a", frame: "f3", tokens: 57, ancestors: 1, siblings: 0 }
    Frame invalidated { frame: "f3", reason: "no" }
    Frame not found { reference: "f99" }
    "#);
}

#[test]
fn subagents_and_patterns_that_cant_be_read_are_logged() {
    let patterns = ["(", "sub"].map(str::to_owned).to_vec();
    let subagents = SubagentSettings { patterns, idle_delay: 0, ..SubagentSettings::default() };
    let project = Project::with(Settings { subagents, ..Settings::default() });
    project.user("ses_a", "Build the shop");
    let child = ChildSession {
        session: "ses_b".to_owned(),
        host: "test".to_owned(),
        parent: "ses_a".to_owned(),
        title: "a sub".to_owned(),
    };
    project.engine.child_seen(&child).unwrap();
    project.user("ses_b", "Look");
    project.engine.session_idle("ses_b").unwrap();
    insta::assert_snapshot!(logged(&project).join("\n"), @r#"
    Pattern skipped { pattern: "(", why: "unclosed group" }
    Session opened { sessionID: "ses_a" }
    Frame created { frame: "f1", id: "ses_a", sessionID: "ses_a", title: "Build the shop" }
    Session opened { sessionID: "ses_b", parentID: "ses_a" }
    Subagent detected { title: "a sub", parentID: "ses_a", sessionID: "ses_b" }
    Frame created { frame: "f2", id: "ses_b", sessionID: "ses_b", title: "a sub", parent: "f1" }
    Subagent idle { completesAt: 1700000007000, sessionID: "ses_b" }
    Frame completed { frame: "f2", results: "It ended without a word.", source: "callstack" }
    Subagent completed { by: "auto", sessionID: "ses_b" }
    "#);
}

#[test]
fn it_is_its_owners_ends_where_it_is_switched_off_and_starts_over_where_it_is_full() {
    let Settings { kept, .. } = Settings::default();
    let kept = Kept { log: false, ..kept };
    let project = Project::with(Settings { kept, ..Settings::default() });
    work(&project);
    assert_eq!(logged(&project), [""; 0]);
    project.engine.set_setting("STACK_LOG", Some("on")).unwrap();
    project.user("ses_b", "Once more");
    assert!(logged(&project).iter().any(|line| line.starts_with("Frame created")));
    let path = project.engine.project().join(".callstack/callstack.log");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    std::fs::write(&path, "x".repeat(4 * 1024 * 1024)).unwrap();
    project.user("ses_c", "And again");
    let older = path.with_extension("log.1");
    assert!(older.exists());
    project.user("ses_d", "And again");
    assert!(logged(&project).iter().any(|line| line.contains("ses_d")));
    assert!(!logged(&project).iter().any(|line| line.contains("ses_b")));
}
