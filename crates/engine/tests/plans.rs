//! The places of plans that name no parent.

use serde_json::json;

use crate::support::Project;

/// The parent of what is planned in this way, and the project in which the call is made.
fn parent_of(project: &Project, session: &str, name: &str, parent: Option<&str>) -> Option<u64> {
    let mut arguments = json!({"children": [{"title": "later", "successCriteria": "done"}]});
    if let Some(parent) = parent {
        arguments["parentSessionID"] = parent.into();
    }
    let answer = project.did(session, name, arguments);
    let handle = answer.data[0]["handle"].as_str().unwrap();
    project.engine.resolve(handle).unwrap().parent.map(|parent| parent.0)
}

#[test]
fn a_plan_goes_below_the_named_frame_else_the_active_one_else_the_sessions() {
    for name in ["stack_frame_plan", "stack_frame_plan_children"] {
        let project = Project::new();
        project.user("ses_a", "Do it");
        let child = json!({"title": "part", "successCriteria": "done"});
        project.did("ses_a", "stack_frame_push", child.clone());
        project.user("ses_b", "Do another thing");
        // Of two sessions the caller's active frame counts, not the one that was active last.
        assert_eq!(parent_of(&project, "ses_a", name, None), Some(2), "{name}: the active one");
        assert_eq!(
            parent_of(&project, "ses_a", name, Some("f1")),
            Some(1),
            "{name}: the named one"
        );
        let blocked = json!({"results": "waits", "status": "blocked"});
        project.did("ses_b", "stack_frame_pop", blocked);
        assert_eq!(project.engine.active("ses_b").unwrap(), None);
        assert_eq!(parent_of(&project, "ses_b", name, None), Some(3), "{name}: the session's");
        assert_eq!(parent_of(&project, "ses_unknown", name, None), None, "{name}: none");
        project.user("ses_c", "Do a third thing");
        project.did("ses_c", "stack_frame_pop", json!({"results": "done"}));
        assert_eq!(parent_of(&project, "ses_c", name, None), None, "{name}: an ended session's");
    }
}

#[test]
fn a_goal_that_was_given_is_only_replaced_where_that_is_asked_for() {
    let project = Project::new();
    project.user("ses_a", "Do it");
    let goal = |title: &str, current: bool| json!({"title": title, "successCriteria": "done", "current": current});
    project.did("ses_a", "stack_frame_push", json!({"title": "a", "successCriteria": "b"}));
    project.did("ses_a", "stack_set_goal", goal("of the root", false));
    project.call("ses_a", "stack_set_goal", goal("again", false)).unwrap_err();
    project.did("ses_a", "stack_set_goal", goal("of the open frame", true));
    let title = |frame: &str| project.engine.resolve(frame).unwrap().identity.title;
    assert_eq!((title("f1").as_str(), title("f2").as_str()), ("of the root", "of the open frame"));
    project.did("ses_a", "stack_frame_pop", json!({"results": "done"}));
    let ended = json!({"title": "x", "successCriteria": "y", "current": true, "frame": "f2"});
    let error = project.call("ses_a", "stack_set_goal", ended).unwrap_err();
    assert!(error.message.contains("fixed"), "{error}");
}

#[test]
fn an_activation_that_names_no_frame_starts_the_next_planned_one() {
    let project = Project::new();
    project.user("ses_a", "Do it");
    let child = |title: &str| json!({"title": title, "successCriteria": "done"});
    let outer = json!({"title": "outer", "successCriteria": "done", "children": [child("inner")]});
    project.did("ses_a", "stack_frame_plan", json!({"children": [outer, child("last")]}));
    let open = || {
        let open = project.engine.active("ses_a").unwrap().unwrap();
        project.engine.resolve(&open.to_string()).unwrap().identity.title
    };
    for title in ["outer", "inner"] {
        project.did("ses_a", "stack_frame_activate", json!({}));
        assert_eq!(open(), title);
    }
    project.did("ses_a", "stack_frame_pop", json!({"results": "done"}));
    // The one that is open has to end first.
    let error = project.call("ses_a", "stack_frame_activate", json!({})).unwrap_err();
    assert!(error.message.contains("is open"), "{error}");
    project.did("ses_a", "stack_frame_pop", json!({"results": "done"}));
    project.did("ses_a", "stack_frame_activate", json!({}));
    assert_eq!(open(), "last");
    project.did("ses_a", "stack_frame_pop", json!({"results": "done"}));
    let error = project.call("ses_a", "stack_frame_activate", json!({})).unwrap_err();
    assert_eq!(error.message, "no frame is planned here");
}

#[test]
fn an_activation_without_a_frame_takes_no_plan_of_others() {
    let project = Project::new();
    let child = |title: &str| json!({"children": [{"title": title, "successCriteria": "done"}]});
    project.did("ses_none", "stack_frame_plan", child("a root"));
    project.user("ses_a", "Do it");
    // What stands below no frame is not for a session that works in one.
    let error = project.call("ses_a", "stack_frame_activate", json!({})).unwrap_err();
    assert_eq!(error.message, "no frame is planned here");
}

#[test]
fn criteria_have_a_short_name_too() {
    let project = Project::new();
    project.user("ses_a", "Do it");
    project.did("ses_a", "stack_frame_push", json!({"title": "a", "criteria": "b"}));
    assert_eq!(project.engine.resolve("f2").unwrap().identity.success_criteria, "b");
}

#[test]
fn an_activation_beside_its_plan_repeats_nothing_of_it() {
    let project = Project::new();
    project.user("ses_a", "Do it");
    let child =
        |title: &str| json!({"title": title, "successCriteria": "tests pass", "context": "make t"});
    project.did("ses_a", "stack_frame_plan", json!({"children": [child("a"), child("b")]}));
    let text = project.did("ses_a", "stack_frame_activate", json!({})).text;
    assert!(!text.contains("tests pass") && !text.contains("make t"), "{text}");
    let returned = project.did("ses_a", "stack_frame_pop", json!({"results": "done"})).text;
    assert!(!returned.contains("Goal: tests pass"), "{returned}");
    // The plan may have left by the next message.
    let text = project.did_in("msg-later", "ses_a", "stack_frame_activate", json!({})).text;
    assert!(text.contains("Success criteria: tests pass\nContext: make t\n"), "{text}");
}
