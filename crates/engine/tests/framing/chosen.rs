//! Frames that nobody pushed, and what an agent plans, begins and ends beside them.

use serde_json::json;

use super::host::Host;

fn plan(host: &mut Host, titles: &[&str]) {
    let children = titles.iter().map(|title| json!({"title": title, "successCriteria": "done"}));
    host.call("stack_frame_plan", json!({"children": children.collect::<Vec<_>>()}));
}

fn activate(host: &mut Host, frame: &str) {
    host.call("stack_frame_activate", json!({"frame": frame, "in": "here"}));
}

/// A first turn with a plan, and a second one that is clearly work.
fn planned() -> Host {
    let mut host = Host::new().long_outputs();
    host.user("What is to be done?");
    plan(&mut host, &["Parser", "Tests"]);
    host.reply("A parser and tests.");
    host.user("Do it");
    host.step(&["look", "look", "look", "look"]);
    host
}

#[test]
fn a_planned_frame_begins_inside_the_turn_that_is_open() {
    let mut host = planned();
    activate(&mut host, "f2");
    host.step(&["write parser"]);
    assert_eq!(
        host.tree(),
        "What is to be done? in_progress\n  Parser in_progress *\n  Tests planned\n  \
         Do it in_progress\n"
    );
    host.pop("It parses.");
    let folded = host.folded("f2");
    assert!(folded.contains("Next: start f3 \"Tests\""), "{folded}");
    assert!(
        folded.ends_with("[callstack] f4 is open now, for the user's latest message\n"),
        "{folded}"
    );
    activate(&mut host, "f3");
    host.pop("They pass.");
    assert!(host.tree().contains("  Do it in_progress *\n"), "{}", host.tree());
    host.reply("Both are done.");
    host.user("Thanks");
    assert_eq!(
        host.tree(),
        "What is to be done? in_progress *\n  Parser completed\n  Tests completed\n  \
         Do it completed\n"
    );
    // The turn's text is all that is left of them.
    let folded = host.folded("f4");
    let inside = "Frames inside it:\n- f2 \"Parser\" completed: It parses.\n\
                  - f3 \"Tests\" completed: They pass.\n";
    assert!(folded.contains(inside), "{folded}");
    let turn = "msg_12 + [callstack] frame f4 \"Do it\" completed: its steps have left the context; \
                the request and the reply to it stand above.";
    assert_eq!(host.sent(), ["msg_1", "msg_2", "msg_3", "msg_4", "msg_11", turn]);
}

#[test]
fn what_is_planned_stands_below_what_somebody_chose() {
    let mut host = planned();
    plan(&mut host, &["Prose"]);
    host.reply("I have planned it.");
    host.user("Go on");
    assert_eq!(
        host.tree(),
        "What is to be done? in_progress *\n  Parser planned\n  Tests planned\n  \
         Do it completed\n  Prose planned\n"
    );
    activate(&mut host, "f5");
    assert!(host.tree().contains("  Prose in_progress *\n"), "{}", host.tree());
}

#[test]
fn what_was_planned_below_a_finished_turn_can_be_begun() {
    let mut host = planned();
    let child = json!([{"title": "Prose", "successCriteria": "done"}]);
    host.call("stack_frame_plan", json!({"parent": "f4", "children": child}));
    host.reply("I have planned it.");
    host.user("Go on");
    activate(&mut host, "f5");
    host.pop("Written.");
    assert!(host.tree().contains("  Do it completed\n    Prose completed\n"), "{}", host.tree());
    assert!(host.tree().contains("What is to be done? in_progress *\n"), "{}", host.tree());
}

#[test]
fn going_to_a_frame_passes_the_turn_that_is_open() {
    let mut host = planned();
    host.call("stack_navigate", json!({"to": "f1"}));
    host.call("stack_navigate", json!({"to": "f2"}));
    assert!(host.tree().contains("  Parser in_progress *\n"), "{}", host.tree());
    host.call("stack_navigate", json!({"to": "parent"}));
    assert_eq!(
        host.tree(),
        "What is to be done? in_progress\n  Parser blocked\n  Tests planned\n  \
         Do it in_progress *\n"
    );
    activate(&mut host, "f2");
    assert!(host.tree().contains("  Parser in_progress *\n"), "{}", host.tree());
}

#[test]
fn a_pop_of_the_root_ends_the_turn_in_it() {
    let mut host = planned();
    host.todos(&[">parser"], "");
    assert!(host.tree().contains("    parser in_progress *\n"), "{}", host.tree());
    host.call("stack_frame_pop", json!({"frame": "f1", "results": "All is done."}));
    assert_eq!(
        host.tree(),
        "What is to be done? completed\n  Parser planned\n  Tests planned\n  \
         Do it completed\n    parser completed\n"
    );
    host.user("Once more");
    assert!(host.tree().contains("Once more in_progress *\n"), "{}", host.tree());
}

#[test]
fn an_undone_activation_goes_back_to_the_turn() {
    let mut host = planned();
    let before = host.shown.len();
    activate(&mut host, "f2");
    host.step(&["write parser"]);
    host.undo(before);
    assert!(host.tree().contains("  Do it in_progress *\n"), "{}", host.tree());
    assert!(host.tree().contains("  Parser planned\n"), "{}", host.tree());
}

#[test]
fn an_invalidation_says_which_frame_is_open_now() {
    let mut host = planned();
    activate(&mut host, "f2");
    let arguments = json!({"frame": "f2", "reason": "There is one already."});
    let answer = host.call("stack_frame_invalidate", arguments);
    assert_eq!(
        answer,
        "Frame f2 \"Parser\" is invalidated.\n[callstack] f4 is open now, for the user's latest message"
    );
    let arguments = json!({"frame": "f3", "reason": "They are there."});
    let answer = host.call("stack_frame_invalidate", arguments);
    assert_eq!(answer, "Frame f3 \"Tests\" is invalidated.", "nothing else is open than before");
}
