//! Agents get true figures about ends, pins and rates.

use serde_json::json;

use crate::support::Project;

fn push(project: &Project, title: &str) {
    let arguments = json!({"title": title, "successCriteria": "done"});
    project.did("ses_a", "stack_frame_push", arguments);
}

#[test]
fn the_end_of_a_root_names_what_is_left_unfinished_at_any_depth() {
    let project = Project::new();
    project.user("ses_a", "Build the parser");
    push(&project, "Outer");
    let planned = json!({"children": [{"title": "Deep plan", "successCriteria": "done"}]});
    project.did("ses_a", "stack_frame_plan", planned);
    project.did("ses_a", "stack_frame_pop", json!({"results": "half of it"}));
    push(&project, "Waiting");
    project.did("ses_a", "stack_frame_pop", json!({"results": "no key", "status": "blocked"}));
    let text =
        project.did("ses_a", "stack_frame_pop", json!({"results": "as far as it goes"})).text;
    let left = "Left unfinished below it: f3 \"Deep plan\" planned, f4 \"Waiting\" blocked.";
    assert!(text.contains(left), "{text}");
    assert!(text.contains("stack_frame_invalidate declares it irrelevant"), "{text}");
    assert_eq!(project.status("f3"), "planned");
}

#[test]
fn the_end_of_a_finished_root_names_nothing() {
    let project = Project::new();
    project.user("ses_a", "Build the parser");
    push(&project, "Outer");
    project.did("ses_a", "stack_frame_pop", json!({"results": "all of it"}));
    let text = project.did("ses_a", "stack_frame_pop", json!({"results": "all"})).text;
    assert!(!text.contains("unfinished"), "{text}");
}

#[test]
fn a_pin_ends_with_its_frame_unless_it_was_made_for_the_parent() {
    let project = Project::new();
    project.user("ses_a", "Build the parser");
    push(&project, "Lexer");
    let own = project.did("ses_a", "stack_pin", json!({"text": "No regex."})).text;
    assert_eq!(own, "Pinned as p1: it holds in f2 and in every frame below, until f2 ends.");
    project.did("ses_a", "stack_pin", json!({"text": "No network.", "frame": "f1"}));
    let text = project.did("ses_a", "stack_frame_pop", json!({"results": "done"})).text;
    assert!(text.contains("Pins, which hold from here on:\n- p2 of f1: No network."), "{text}");
    assert!(!text.contains("No regex."), "{text}");
    let late = project.did("ses_a", "stack_pin", json!({"text": "No macros.", "frame": "f2"})).text;
    assert!(late.contains("which is over: it holds only if f2 is opened again"), "{late}");
}
