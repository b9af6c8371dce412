//! Several calls in one step.

use callstack_scripted_model::Step;
use serde_json::json;

use crate::opencode::seen::{assert_no_work, folds, result_of, seen, snapshot};
use crate::opencode::steps::{bash, handle_of, named, plan, pop, push, together, work, write};
use crate::opencode::talk::Talk;

#[test]
fn several_calls_in_one_step_fold_rightly() {
    let Some(talk) = Talk::new(&[]) else { return };
    calls_before_a_push_stay_and_calls_after_it_go(&talk);
    calls_beside_a_pop_belong_to_the_frame_and_what_became_of_them_is_named(&talk);
    an_activation_takes_the_calls_after_it(&talk);
    two_frames_are_opened_in_one_step_and_closed_in_one(&talk);
    a_pop_and_the_next_push_in_one_step_chain(&talk);
}

fn calls_before_a_push_stay_and_calls_after_it_go(talk: &Talk) {
    let session = talk.session([
        together([
            named(bash("echo beside the push"), "before"),
            push("Sort the list", "list.txt is sorted"),
            named(write("beside.txt", "INNERWORK"), "behind"),
            named(bash("printf INNER; echo WORK behind the push"), "behind-too"),
        ])
        .reasoning("Begin."),
        together([work("the list"), write("list.txt", "INNERWORK")]),
        pop("list.txt is sorted."),
        Step::text("Sorted."),
    ]);
    session.say("Sort the list.");
    let requests = session.finished();
    assert_eq!(folds(&requests), ["push-sort"]);
    assert!(result_of(&requests[3], "before").contains("beside the push"));
    assert!(result_of(&requests[1], "behind").contains("Wrote file"));
    assert!(!requests[3].call_ids().iter().any(|id| id.contains("behind")));
    assert_no_work(&requests[3]);
    snapshot("beside_a_push", &seen(&requests[3]));
}

fn calls_beside_a_pop_belong_to_the_frame_and_what_became_of_them_is_named(talk: &Talk) {
    let session = talk.session([
        push("Check the list", "it is known whether list.txt is sorted"),
        work("the list"),
        together([
            work("the order"),
            named(bash("printf INNER; echo WORK; exit 3"), "check"),
            pop("list.txt is sorted."),
            named(bash("echo beyond the pop"), "beyond"),
            push("Count the list", "the number of lines is known"),
            work("the number"),
        ])
        .reasoning("All at once."),
        together([named(bash("echo INNERWORK; true"), "count"), pop("It has 40 lines.")]),
        Step::text("Sorted, 40 lines."),
    ]);
    session.say("Check and count.");
    let requests = session.finished();
    assert_eq!(folds(&requests), ["push-check", "push-count"]);
    let result = result_of(&requests[3], "push-check");
    assert!(
        result.contains("so the results were written without its outcome:\n- `printf"),
        "{result}"
    );
    assert!(result.contains("failed with exit 3"), "{result}");
    assert!(result_of(&requests[3], "beyond").contains("beyond the pop"));
    assert!(requests[3].render().contains("WORK the number"), "the second one is open");
    assert_eq!(result_of(&requests[4], "push-check"), result, "it stays as it was sent");
    assert!(result_of(&requests[4], "beyond").contains("beyond the pop"));
    let calls: Vec<_> = requests[4].call_ids().into_iter().collect();
    assert_eq!(calls, ["beyond", "push-check", "push-count"]);
    snapshot("beside_a_pop", &seen(&requests[4]));
}

fn an_activation_takes_the_calls_after_it(talk: &Talk) {
    let start = Step::from_request(|request| {
        let frame = handle_of(request, "Sort them");
        let arguments = json!({"frame": frame, "in": "here"});
        let step = named(Step::call("stack_frame_activate", arguments), "activate-sort");
        together([step, work("the words"), work("the order")])
    });
    let session = talk.session([
        plan(&json!([{"title": "Sort them", "successCriteria": "sorted"}])),
        start,
        pop("They are sorted."),
        Step::text("Sorted."),
    ]);
    session.say("Plan it, then sort.");
    let requests = session.finished();
    assert_eq!(folds(&requests), ["activate-sort"]);
    assert_no_work(&requests[3]);
}

fn two_frames_are_opened_in_one_step_and_closed_in_one(talk: &Talk) {
    let session = talk.session([
        together([
            push("Outer work", "the outer is done"),
            push("Inner work", "the inner is done"),
        ])
        .reasoning("Two at once."),
        work("both"),
        together([pop("The inner gave 1."), pop("The outer gave 2.")]).reasoning("Both done."),
        Step::text("1 and 2."),
    ]);
    session.say("Do both.");
    let requests = session.finished();
    assert!(result_of(&requests[1], "push-outer").contains(" is open now: Outer work"));
    assert!(result_of(&requests[1], "push-inner").contains(" is open now: Inner work"));
    assert_eq!(folds(&requests), ["push-outer"]);
    assert!(result_of(&requests[3], "push-outer").contains("The outer gave 2."));
    assert!(result_of(&requests[3], "push-outer").contains("The inner gave 1."));
    assert!(!requests[3].call_ids().contains("push-inner"), "it was called in the outer one");
    assert_no_work(&requests[3]);
    snapshot("two_in_one_step", &seen(&requests[3]));
}

fn a_pop_and_the_next_push_in_one_step_chain(talk: &Talk) {
    let session = talk.session([
        push("First part", "part 1 is done").reasoning("One."),
        work("part 1"),
        together([pop("Part 1 gave alpha."), push("Second part", "part 2 is done")])
            .reasoning("One is done, now two."),
        work("part 2"),
        together([pop("Part 2 gave beta."), push("Third part", "part 3 is done")])
            .reasoning("Two is done, now three."),
        work("part 3"),
        pop("Part 3 gave gamma.").reasoning("All done."),
        Step::text("alpha, beta, gamma."),
        Step::text("You are welcome."),
    ]);
    session.say("Do the three parts.");
    session.say("Thanks.");
    let requests = session.finished();
    assert_eq!(folds(&requests), ["push-first", "push-second", "push-third"]);
    assert!(!requests[3].render().contains("INNERWORK part 1"), "the first is folded at once");
    assert_no_work(&requests[7]);
    for (push, returned) in
        [("push-first", "alpha"), ("push-second", "beta"), ("push-third", "gamma")]
    {
        let result = result_of(&requests[7], push);
        assert!(result.contains(returned), "{push}: {result}");
    }
    snapshot("chain_second_open", &seen(&requests[3]));
    snapshot("chain_returned", &seen(&requests[7]));
}
