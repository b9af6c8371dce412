//! Frames that end in other ways than completed, and pops that are refused.

use callstack_scripted_model::Step;
use serde_json::json;

use crate::opencode::seen::{assert_no_work, folds, result_of, seen, snapshot};
use crate::opencode::steps::{
    activate, handle_of, named, pop, pop_as, push, stack, together, work,
};
use crate::opencode::talk::Talk;

#[test]
fn other_endings_fold_and_senseless_ones_are_refused() {
    let Some(talk) = Talk::new(&[]) else { return };
    a_blocked_frame_is_taken_up_again_and_a_failed_one_is_not(&talk);
    a_pop_that_makes_no_sense_is_refused_and_folds_nothing(&talk);
    a_frame_that_is_pushed_and_popped_in_one_step_reads_as_one_call(&talk);
}

fn a_blocked_frame_is_taken_up_again_and_a_failed_one_is_not(talk: &Talk) {
    let session = talk.session([
        push("Deploy the service", "it answers on staging"),
        work("staging"),
        pop_as("blocked", "The staging key is missing; everything else is built."),
        push("Restore the backup", "the old data is back"),
        work("the backup"),
        pop_as("failed", "The backup is empty: 0 bytes since Monday."),
        Step::text("I need the staging key. The backup could not be restored: it is empty."),
        activate("Deploy the service"),
        work("staging with the key"),
        pop("It answers on staging with 200."),
        Step::text("Deployed."),
    ]);
    session.say("Deploy the service and restore the backup.");
    session.say("The key is in KEY.");
    let requests = session.finished();
    assert_eq!(folds(&requests), ["push-deploy", "push-restore", "activate-deploy"]);
    let blocked = result_of(&requests[10], "push-deploy");
    assert!(blocked.contains("returned: blocked"), "its first span stays as it was: {blocked}");
    assert!(result_of(&requests[10], "activate-deploy").contains("returned: completed"));
    assert_no_work(&requests[6]);
    assert_no_work(&requests[10]);
    snapshot("blocked_and_failed", &seen(&requests[6]));
    snapshot("blocked_taken_up_again", &seen(&requests[8]));
    snapshot("blocked_returned", &seen(&requests[10]));
}

fn a_pop_that_makes_no_sense_is_refused_and_folds_nothing(talk: &Talk) {
    let pop_parent = Step::from_request(|request| {
        let opened = result_of(request, "push-collect");
        let own = opened.trim_start_matches("[callstack] f").split(' ').next().unwrap();
        // The root was opened just before it.
        let parent = format!("f{}", own.parse::<u64>().unwrap() - 1);
        let pop = Step::call("stack_frame_pop", json!({"results": "Done.", "frame": parent}));
        named(pop, "with-child")
    });
    let session = talk.session([
        push("Collect the words", "words.txt is there"),
        pop_parent,
        work("the words"),
        pop("words.txt has 40 words."),
        named(pop("All words are collected."), "root"),
        named(pop("Once more."), "none-open"),
        Step::text("There are 40 words."),
        named(stack("stack_status", &json!({})), "status"),
        Step::text("Frame by frame."),
    ]);
    session.say("Collect the words.");
    session.say("And now count the letters.");
    let requests = session.finished();
    assert_eq!(folds(&requests), ["push-collect"], "the root folds nothing");
    let last = &requests[8];
    let refused = result_of(last, "none-open");
    assert!(refused.starts_with("Error: "), "{refused}");
    let with_child = result_of(&requests[3], "with-child");
    assert!(with_child.starts_with("Error: "), "{with_child}");
    let child = handle_of(&requests[1], "Collect the words");
    assert!(with_child.contains(&format!("Pop {child} first")), "{with_child}");
    let status = result_of(last, "status");
    assert!(status.contains("And now count the letters"), "a new root is open: {status}");
    snapshot("refused_pops_before", &seen(&requests[3]));
    snapshot("refused_pops", &seen(last));
}

fn a_frame_that_is_pushed_and_popped_in_one_step_reads_as_one_call(talk: &Talk) {
    let session = talk.session([
        together([push("Answer at once", "the answer is there"), pop("The answer is 42.")])
            .reasoning("That needs no work."),
        Step::text("42."),
    ]);
    session.say("What is the answer?");
    let requests = session.finished();
    assert!(result_of(&requests[1], "push-answer").contains("The answer is 42."));
    snapshot("pushed_and_popped", &seen(&requests[1]));
}
