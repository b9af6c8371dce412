//! Another try at what a frame was for.

use callstack_engine::Kind;
use serde_json::json;

use crate::support::Project;

fn failed() -> Project {
    let project = Project::new();
    project.user("ses_a", "Build the shop");
    let child = json!({"title": "Generator", "successCriteria": "the grammar is compiled"});
    project.did("ses_a", "stack_frame_push", child);
    let results = json!({"results": "The generator knows no left recursion.", "status": "failed"});
    project.did("ses_a", "stack_frame_pop", results);
    project
}

#[test]
fn a_fresh_sibling_knows_what_was_learnt() {
    let project = failed();
    let answer = project.did("ses_a", "stack_frame_retry", json!({"frame": "f2"}));
    let fresh = project.engine.resolve("f3").unwrap();
    let tried = project.engine.resolve("f2").unwrap();
    assert_eq!((&fresh.identity, fresh.parent), (&tried.identity, tried.parent));
    assert_eq!(project.engine.active("ses_a").unwrap(), Some(fresh.num));
    let learnt = "This was tried before in f2 \"Generator\", which is failed: The generator knows no \
                  left recursion.";
    assert_eq!(fresh.decisions, [learnt]);
    assert!(answer.text.ends_with(&format!("{learnt}\n")), "{}", answer.text);
    assert_eq!(project.status("f2"), "failed", "the first try stays as it is");
}

#[test]
fn what_can_not_be_tried_again_is_refused() {
    let project = failed();
    let refused = |frame: &str| {
        let error =
            project.call("ses_a", "stack_frame_retry", json!({"frame": frame})).unwrap_err();
        assert!(error.hint.is_some());
        (error.kind, error.message)
    };
    assert_eq!(refused("f9").0, Kind::NotFound);
    assert_eq!(
        refused("f1"),
        (Kind::Conflict, "frame f1 \"Build the shop\" is in_progress".into())
    );
    project.did("ses_a", "stack_frame_push", json!({"title": "x", "successCriteria": "y"}));
    let elsewhere = refused("f2");
    assert!(elsewhere.1.contains("which is not the open one"), "{elsewhere:?}");
}
