//! The content of the system prompt, and its changes.

use callstack_engine::operation::CallerKind;
use callstack_engine::operations;
use callstack_scripted_model::{Checks, Step};
use serde_json::json;

use super::seen::{assert_no_work, folds, our_system, result_of, seen, snapshot, tools};
use super::steps::{named, pop, push, stack, work};
use super::talk::Talk;

#[test]
fn a_goal_and_a_pin_of_mid_session_appear_in_what_is_sent_later_only() {
    let Some(talk) = Talk::new(&[]) else { return };
    let goal = json!({"title": "Move the blog", "successCriteria": "It answers at the new host."});
    let session = talk.session([
        stack("stack_set_goal", &goal),
        named(stack("stack_pin", &json!({"text": "Never delete the old server."})), "pin"),
        push("Copy the pictures", "all 200 are there"),
        work("the pictures"),
        pop("All 200 pictures are copied."),
        push("Copy the posts", "all 31 are there"),
        work("the posts"),
        Step::text("The posts are next; is that right?"),
        pop("All 31 posts are copied."),
        Step::text("Moved."),
    ]);
    session.say("**Please move** the blog to the new host, with its pictures.");
    session.say("Yes.");
    let requests = session.finished();
    assert_eq!(folds(&requests), ["push-copy", "push-copy"]);
    let system = our_system(&requests[9]);
    assert!(system[0].contains("goal=\"the request of the user, in this"), "{}", system[0]);
    assert!(!system[0].contains("move the blog"), "it stands below: {}", system[0]);
    assert!(!system[0].contains("Never delete"));
    let words = "Never delete the old server.";
    for (number, what) in [(3, "a push"), (5, "a fold"), (6, "the next push")] {
        let result = requests[number].last_result_of("stack_frame_push").unwrap();
        assert!(result.contains(words), "{what}: {result}");
    }
    let fold = requests[5].last_result_of("stack_frame_push").unwrap();
    assert!(fold.contains("Move the blog"), "{fold}");
    let again = requests[9].last_user_text().unwrap();
    assert!(!again.contains(words), "what stands for the frame before says it: {again}");
    assert!(result_of(&requests[9], "pin").starts_with("Pinned as p1"));
    snapshot("pinned_open", &seen(&requests[6]));
    snapshot("pinned_returned", &seen(&requests[9]));
}

#[test]
fn placed_in_the_system_prompt_the_context_is_rebuilt_and_all_tools_can_be_listed() {
    let env = [("STACK_CONTEXT_PLACEMENT", "system"), ("STACK_TOOLS", "full")];
    let Some(talk) = Talk::new(&env) else { return };
    let checks = Checks { prefix: false, reasoning: false };
    let steps = [
        push("Read the manual", "the option is known"),
        work("the manual"),
        Step::call("stack_add_artifact", json!({"artifact": "manual.pdf"})),
        pop("The option is --quiet."),
        Step::text("Use --quiet."),
    ];
    let session = talk.session_with(checks, steps);
    session.say("How do I silence it?");
    let requests = session.finished();
    let system = |number: usize| our_system(&requests[number]).join("\n");
    assert!(system(0).contains("goal=\"the request of the user, in this"));
    assert!(system(1).contains("<title>Read the manual</title>"), "{}", system(1));
    assert!(!result_of(&requests[1], "push-read").contains("<stack-context"));
    assert!(system(3).contains("manual.pdf") && !system(2).contains("manual.pdf"));
    assert!(!system(4).contains("<title>Read the manual</title>") && system(4) != system(3));
    assert!(result_of(&requests[4], "push-read").contains("--quiet"));
    assert_eq!(system(1), system(2), "what did not change stays as it was");
    assert_no_work(&requests[4]);
    let names: Vec<_> = tools(&requests[0]).into_iter().map(|(name, _)| name).collect();
    for operation in operations::callable_by(CallerKind::Agent) {
        assert!(names.iter().any(|name| name == operation.name), "{}", operation.name);
    }
    for (name, entry) in tools(&requests[0]) {
        if name.starts_with("stack") {
            let entry: serde_json::Value = serde_json::from_str(&entry).unwrap();
            super::budget::assert_plain(&name, &entry["function"]["parameters"]);
        }
    }
    snapshot("placed_in_system_open", &seen(&requests[2]));
    snapshot("placed_in_system_returned", &seen(&requests[4]));
}
