//! Frames in frames, and frames one after the other.

use callstack_scripted_model::Step;
use serde_json::json;

use crate::opencode::seen::{assert_no_work, folds, result_of, seen, snapshot};
use crate::opencode::steps::{activate, plan, pop, push, work};
use crate::opencode::talk::Talk;

#[test]
fn frames_in_and_after_each_other_fold() {
    let Some(talk) = Talk::new(&[]) else { return };
    three_nested_frames_fold_one_after_the_other_into_one(&talk);
    a_sibling_sees_what_the_first_one_returned(&talk);
    planned_frames_are_worked_off_in_order(&talk);
}

fn three_nested_frames_fold_one_after_the_other_into_one(talk: &Talk) {
    let session = talk.session([
        push("Release the parser", "version 2 is tagged").reasoning("First the parser."),
        work("the changelog"),
        push("Fix the tests", "all tests pass").reasoning("The tests are red."),
        work("the failing test"),
        push("Find the cause", "the cause is known").reasoning("Why are they red?"),
        work("the stack trace"),
        pop("The lexer drops the last token; lexer.rs line 40.").reasoning("Found."),
        work("the fix"),
        pop("Fixed in lexer.rs; 12 tests pass.").reasoning("Green."),
        work("the tag"),
        pop("Tagged v2.0.0.").reasoning("Tagged."),
        Step::text("Version 2 is released.").reasoning("Tell."),
    ]);
    session.say("Please release version 2 of the parser.");
    let requests = session.finished();
    assert_eq!(folds(&requests), ["push-find", "push-fix", "push-release"]);
    assert!(!requests[7].render().contains("INNERWORK the stack trace"));
    assert!(requests[7].render().contains("INNERWORK the failing test"), "the middle one is open");
    assert!(!requests[9].render().contains("push-find"), "it went with the middle one");
    let [.., last] = &requests[..] else { unreachable!() };
    assert_no_work(last);
    snapshot("nested_open", &seen(&requests[7]));
    snapshot("nested_returned", &seen(last));
}

fn a_sibling_sees_what_the_first_one_returned(talk: &Talk) {
    let session = talk.session([
        push("Measure the old parser", "there is a time"),
        work("the old parser"),
        pop("The old parser takes 31 ms."),
        push("Time the new parser", "there is a time"),
        work("the new parser"),
        pop("The new parser takes 12 ms."),
        Step::text("31 ms before, 12 ms now."),
    ]);
    session.say("How much faster is the new parser?");
    let requests = session.finished();
    assert_eq!(folds(&requests), ["push-measure", "push-time"]);
    assert!(result_of(&requests[4], "push-measure").contains("31 ms"));
    assert!(result_of(&requests[4], "push-time").contains("is open now"));
    assert_no_work(&requests[6]);
    snapshot("siblings_second_open", &seen(&requests[4]));
    snapshot("siblings_returned", &seen(&requests[6]));
}

fn planned_frames_are_worked_off_in_order(talk: &Talk) {
    let children = json!([
        {"title": "Design the schema", "successCriteria": "schema.sql is agreed", "children": [
            {"title": "List the entities", "successCriteria": "every entity is named"},
        ]},
        {"title": "Write the migration", "successCriteria": "migrate.sql runs"},
    ]);
    let session = talk.session([
        plan(&children).reasoning("Two parts."),
        activate("Design the schema"),
        activate("List the entities"),
        work("the entities"),
        pop("Two entities: user, order."),
        work("the schema"),
        pop("schema.sql has the tables user and order."),
        activate("Write the migration"),
        work("the migration"),
        pop("migrate.sql runs in 2 s."),
        Step::text("Both are there."),
    ]);
    session.say("We need a schema and a migration.");
    let requests = session.finished();
    assert_eq!(folds(&requests), ["activate-list", "activate-design", "activate-write"]);
    let designed = result_of(&requests[7], "activate-design");
    assert!(
        designed.contains("Next: start f") && designed.contains("Write the migration"),
        "{designed}"
    );
    assert_no_work(&requests[10]);
    snapshot("planned_second_open", &seen(&requests[8]));
    snapshot("planned_returned", &seen(&requests[10]));
}
