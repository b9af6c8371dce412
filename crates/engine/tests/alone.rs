//! The context of a frame that is worked on outside of its parent's conversation.

use callstack_engine::ChildSession;
use serde_json::json;

use crate::support::Project;

fn planned() -> Project {
    let project = Project::new();
    project.user("ses_a", "Build the app");
    let child = |title: &str| json!({"title": title, "successCriteria": format!("{title} works")});
    let mut api = child("API");
    api["children"] = json!([child("Routes"), child("Errors")]);
    project.did("ses_a", "stack_frame_push", child("Auth"));
    project.did("ses_a", "stack_frame_pop", json!({"results": "AUTHRESULT: tokens are HS256."}));
    project.did("ses_a", "stack_frame_plan", json!({"children": [api, child("Docs")]}));
    project
}

fn context(project: &Project, frame: &str) -> String {
    project.engine.generate_frame_context("ses_a", frame).unwrap().text.clone()
}

#[test]
fn it_is_given_what_the_siblings_of_its_ancestors_returned_and_what_is_planned_beside_it() {
    let project = planned();
    let routes = context(&project, "f4");
    assert!(routes.contains("AUTHRESULT: tokens are HS256."), "{routes}");
    assert!(routes.contains("<planned-siblings count=\"1\">"), "{routes}");
    assert!(routes.contains("<frame id=\"f5\" title=\"Errors\" />"), "{routes}");
    // Plans beside its parent do not concern it.
    assert!(!routes.contains("Docs"), "{routes}");
}

#[test]
fn a_subagents_frame_is_given_it_too() {
    let project = planned();
    project.did("ses_a", "stack_frame_activate", json!({"frame": "f3", "in": "here"}));
    let child = ChildSession {
        session: "ses_sub".to_owned(),
        host: "test".to_owned(),
        parent: "ses_a".to_owned(),
        title: "look (@general subagent)".to_owned(),
    };
    project.engine.child_seen(&child).unwrap();
    project.user("ses_sub", "Look into the auth tokens of the routes");
    let frame = project.engine.active("ses_sub").unwrap().unwrap();
    assert_eq!(project.engine.resolve(&frame.to_string()).unwrap().parent.map(|it| it.0), Some(3));
    let context = project.engine.generate_frame_context("ses_sub", &frame.to_string()).unwrap();
    assert!(context.text.contains("AUTHRESULT: tokens are HS256."), "{}", context.text);
}

#[test]
fn what_stands_in_the_same_conversation_is_not_said_again() {
    let project = planned();
    project.did("ses_a", "stack_frame_activate", json!({"frame": "f3"}));
    project.did("ses_a", "stack_frame_activate", json!({"frame": "f4"}));
    let routes = context(&project, "f4");
    assert!(!routes.contains("AUTHRESULT"), "{routes}");
    assert!(!routes.contains("<planned-siblings"), "{routes}");
}

#[test]
fn other_conversations_of_the_project_are_not_shown_for_that() {
    let project = planned();
    project.user("ses_other", "Something else entirely");
    project.did("ses_other", "stack_frame_pop", json!({"results": "OTHERROOT"}));
    assert!(!context(&project, "f4").contains("OTHERROOT"));
}
