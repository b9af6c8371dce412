//! Another try at what a frame was for.

use callstack_core::text::estimate_tokens;
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

/// Returns the first text for a fresh try.
fn learnt(project: &Project) -> String {
    project.did("ses_a", "stack_frame_retry", json!({"frame": "f2"}));
    project.engine.resolve("f3").unwrap().decisions.concat()
}

/// A frame that has failed, with these results, decisions and pins.
fn tried(results: &str, decisions: &[&str], pins: &[&str]) -> Project {
    let project = Project::new();
    project.user("ses_a", "Build the shop");
    let child = json!({"title": "Generator", "successCriteria": "the grammar is compiled"});
    project.did("ses_a", "stack_frame_push", child);
    for decision in decisions {
        project.did("ses_a", "stack_add_decision", json!({"decision": decision}));
    }
    for pin in pins {
        project.did("ses_a", "stack_pin", json!({"text": pin}));
    }
    let results = json!({"results": results, "status": "failed"});
    project.did("ses_a", "stack_frame_pop", results);
    project
}

#[test]
fn what_was_decided_is_learnt_and_what_was_pinned_holds_again() {
    let pins = ["use mutex  M first", "never on \u{1f431} Fridays"];
    let project = tried("It deadlocks.", &["never call foo()", "bar() is free"], &pins);
    project.did("ses_a", "stack_unpin", json!({"frame": "f2", "pin": "p2"}));
    let learnt = learnt(&project);
    assert_eq!(
        learnt,
        "This was tried before in f2 \"Generator\", which is failed: It deadlocks.\n\
         Decided in it: never call foo(); bar() is free"
    );
    let fresh = project.engine.resolve("f3").unwrap();
    let held: Vec<_> = fresh.pins.iter().map(|pin| pin.text.as_str()).collect();
    assert_eq!(held, [pins[0]], "word for word, and not what was taken back");
    assert_eq!(project.engine.resolve("f2").unwrap().pins.len(), 1, "the first try keeps its own");
    let below = json!({"title": "Inner", "successCriteria": "x"});
    let answer = project.did("ses_a", "stack_frame_push", below).text;
    assert!(answer.contains(pins[0]), "{answer}");
}

#[test]
fn a_third_try_knows_of_the_first() {
    let project = tried("It deadlocks.", &["never call foo()"], &[]);
    project.did("ses_a", "stack_frame_retry", json!({"frame": "f2"}));
    project.did("ses_a", "stack_add_decision", json!({"decision": "bar() is slow"}));
    let results = json!({"results": "It crawls.", "status": "failed"});
    project.did("ses_a", "stack_frame_pop", results);
    project.did("ses_a", "stack_frame_retry", json!({"frame": "f3"}));
    let learnt_text = project.engine.resolve("f4").unwrap().decisions.concat();
    assert_eq!(
        learnt_text,
        "This was tried before in f3 \"Generator\", which is failed: It crawls.\n\
         Decided in it: bar() is slow; This was tried before in f2 \"Generator\", which is failed: \
         It deadlocks.\nDecided in it: never call foo()"
    );
}

#[test]
fn of_much_as_much_is_learnt_as_there_is_room_for() {
    let (results, decision) = ("It deadlocks. ".repeat(400), "never call foo() ".repeat(400));
    let learnt_text = learnt(&tried(&results, &[&decision], &[]));
    let (said, decided) = learnt_text.split_once("\nDecided in it: never call").unwrap();
    assert!(said.ends_with('…') && decided.ends_with('…'), "{learnt_text}");
    assert!(estimate_tokens(&learnt_text) < 440, "{}", estimate_tokens(&learnt_text));
    let alone = learnt(&tried(&results, &[], &[]));
    assert!(alone.len() > said.len() && estimate_tokens(&alone) < 440, "{alone}");
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

#[test]
fn below_a_root_that_is_over_the_way_is_to_bring_it_back() {
    let project = failed();
    project.did("ses_a", "stack_frame_pop", json!({"results": "it is built"}));
    for (name, argument) in [
        ("stack_frame_retry", json!({"frame": "f2"})),
        ("stack_navigate", json!({"to": "f2"})),
        ("stack_navigate", json!({"to": "f1"})),
    ] {
        let hint =
            project.call("ses_a", name, argument.clone()).unwrap_err().hint.unwrap().to_string();
        let way = "`stack_frame_reopen` brings f1 back, which is completed.";
        assert_eq!(hint, way, "{name} {argument}");
    }
    let nowhere = project.call("ses_a", "stack_navigate", json!({"to": "f9"})).unwrap_err();
    assert_eq!(nowhere.message, "there is no frame `f9`");
}
