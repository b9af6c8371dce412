//! Several sessions in one project.

use callstack_store::Store;
use serde_json::json;

use crate::support::Project;

/// The calls at which the spans of a session closed.
fn closing_calls(project: &Project, session: &str) -> Vec<Option<String>> {
    let store = Store::open_unchecked(project.engine.store_path().parent().unwrap()).unwrap();
    let spans = store.read(|view| view.session_spans(session)).unwrap();
    spans.into_iter().filter_map(|span| span.close).map(|close| close.call).collect()
}

/// The other session's transcript never shows the call, which would read as undone there.
#[test]
fn a_frame_that_another_session_ends_does_not_close_at_that_sessions_call() {
    let child = || json!({"title": "work", "successCriteria": "done"});
    for (name, arguments) in [
        ("stack_frame_pop", json!({"frame": "f2", "results": "done elsewhere"})),
        ("stack_frame_invalidate", json!({"frame": "f2", "reason": "not needed"})),
    ] {
        let project = Project::new();
        project.user("ses_a", "Do it");
        project.did("ses_a", "stack_frame_push", child());
        project.user("ses_b", "Do the other thing");
        project.did("ses_b", name, arguments);
        assert_eq!(closing_calls(&project, "ses_a"), [None], "{name}");
        assert_eq!(project.engine.active("ses_a").unwrap().map(|it| it.0), Some(1));
    }
    let project = Project::new();
    project.user("ses_a", "Do it");
    project.did("ses_a", "stack_frame_push", child());
    project.did("ses_a", "stack_frame_pop", json!({"frame": "f2", "results": "done here"}));
    assert_eq!(closing_calls(&project, "ses_a"), [Some("call-ses_a".to_owned())]);
}

#[test]
fn sessions_do_not_touch_each_others_frames() {
    let project = Project::new();
    let child = |title: &str| json!({"title": title, "successCriteria": "done"});
    for session in ["ses_a", "ses_b"] {
        project.user(session, &format!("What {session} is for"));
    }
    project.did("ses_a", "stack_frame_push", child("of a"));
    project.did("ses_b", "stack_frame_push", child("of b"));
    project.did("ses_a", "stack_add_decision", json!({"decision": "by a"}));
    project.did("ses_b", "stack_frame_pop", json!({"results": "b is done"}));
    let active = |session: &str| project.engine.active(session).unwrap().map(|it| it.0);
    assert_eq!((active("ses_a"), active("ses_b")), (Some(3), Some(2)));
    assert_eq!(project.engine.resolve("f3").unwrap().decisions, ["by a"]);
    assert_eq!(project.status("f3"), "in_progress");
    assert_eq!(project.status("f4"), "completed");
}
