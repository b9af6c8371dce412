//! Reuse of rendered contexts.

use callstack_core::frame::Status;
use callstack_engine::FrameStateManager;
use serde_json::{Value, json};

use crate::support::Project;

const A: &str = "ses_a";

/// A root, a finished child `f2`, a planned one `f3` and the open one `f4`.
fn project() -> Project {
    let project = Project::new();
    project.user(A, "Write the parser of tables");
    let child = |title: &str| json!({"title": title, "successCriteria": "the parser reads tables"});
    project.did(A, "stack_frame_push", child("parser of rows"));
    project.did(A, "stack_frame_pop", json!({"results": "rows of tables are parsed"}));
    project.did(A, "stack_frame_plan", json!({"children": [child("later")]}));
    project.did(A, "stack_frame_push", child("parser of cells"));
    project
}

fn stats(project: &Project) -> (u64, u64) {
    // Looking counts once, too.
    let data = project.did(A, "stack_context_info", json!({"frame": "f4"})).data;
    let count = |name: &str| data["cache"][name].as_u64().unwrap();
    (count("hits"), count("misses"))
}

type Change = fn(&Project, &FrameStateManager<'_>);

/// Each reason that the specification lists.
const REASONS: &[(&str, Change)] = &[
    ("frame status change", |_, manager| {
        manager.update_frame_status("f4", Status::Blocked, None, None).unwrap();
    }),
    ("frame results update", |_, manager| {
        manager.update_frame_status("f4", Status::Failed, Some("no cells"), None).unwrap();
    }),
    ("artifact addition", |project, _| {
        project.did(A, "stack_add_artifact", json!({"artifact": "cells.rs"}));
    }),
    ("decision addition", |project, _| {
        project.did(A, "stack_add_decision", json!({"decision": "no tables"}));
    }),
    ("child frame creation", |project, _| {
        let child = json!([{"title": "inner", "successCriteria": "done"}]);
        project.did(A, "stack_frame_plan", json!({ "children": child }));
    }),
    ("frame completion", |project, _| {
        project.did(A, "stack_frame_pop", json!({"results": "cells are parsed"}));
    }),
    ("frame invalidation", |project, _| {
        project.did(A, "stack_frame_invalidate", json!({"frame": "f3", "reason": "no"}));
    }),
    ("frame ID replacement", |project, manager| {
        let id = project.engine.resolve("f4").unwrap().id;
        manager.replace_frame_id(&id, "ses_cells").unwrap();
    }),
    ("all of it cleared", |project, _| {
        assert!(project.engine.invalidate_all_cache() > 0);
    }),
    ("that of the session cleared", |project, _| {
        assert_eq!(project.engine.invalidate_cache("ses_other"), 0);
        assert!(project.engine.invalidate_cache(A) > 0);
    }),
];

#[test]
fn every_listed_reason_invalidates_it() {
    for (reason, change) in REASONS {
        let project = project();
        let (_, missed) = stats(&project);
        assert_eq!(stats(&project).1, missed, "before the {reason} nothing has changed");
        change(&project, &FrameStateManager::new(&project.engine, A, "test"));
        assert!(stats(&project).1 > missed, "{reason}");
    }
}

#[test]
fn what_changes_nothing_in_it_leaves_it_as_it_was() {
    let project = project();
    let shown = || project.engine.generate_frame_context(A, "f4").unwrap().text.clone();
    let before = shown();
    let (hits, missed) = stats(&project);
    project.user("ses_b", "Write the printer");
    assert_eq!(shown(), before);
    assert_eq!(stats(&project).1, missed, "another session's frame is of no matter here");
    assert!(stats(&project).0 > hits);
    let preview = project.did(A, "stack_context_preview", json!({"frame": "f4"}));
    assert_eq!(preview.data["xml"], Value::from(before));
}

#[test]
fn it_lasts_for_thirty_seconds_although_it_is_asked_for_all_the_time() {
    let project = project();
    let (_, missed) = stats(&project);
    // A second passes with each look at the clock.
    let asked = (1..=60).find(|_| {
        project.user("ses_b", "Something else goes on all the while");
        stats(&project).1 > missed
    });
    assert!(asked.is_some_and(|asked| asked <= 30), "{asked:?}");
}
