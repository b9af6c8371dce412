//! Several calls in one step.

use callstack_scripted_model::Step;

use crate::opencode::seen::{assert_no_work, folds, result_of, seen, snapshot};
use crate::opencode::steps::{bash, named, pop, push, together, work, write};
use crate::opencode::talk::Talk;

#[test]
fn several_calls_in_one_step_fold_rightly() {
    let Some(talk) = Talk::new(&[]) else { return };
    calls_beside_a_push_stay_and_calls_inside_go(&talk);
    two_frames_are_opened_in_one_step_and_closed_in_one(&talk);
    a_pop_and_the_next_push_in_one_step_chain(&talk);
}

fn calls_beside_a_push_stay_and_calls_inside_go(talk: &Talk) {
    let session = talk.session([
        together([
            named(bash("echo beside the push"), "before"),
            push("Sort the list", "list.txt is sorted"),
            named(write("beside.txt", "beside"), "behind"),
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
    assert!(result_of(&requests[3], "behind").contains("Wrote file"));
    assert_no_work(&requests[3]);
    snapshot("beside_a_push", &seen(&requests[3]));
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
    assert!(result_of(&requests[1], "push-outer").contains("(depth 1)"));
    assert!(result_of(&requests[1], "push-inner").contains("(depth 2)"));
    assert_eq!(folds(&requests), ["push-outer"]);
    assert!(result_of(&requests[3], "push-outer").contains("The outer gave 2."));
    assert!(result_of(&requests[3], "push-outer").contains("The inner gave 1."));
    let inner = result_of(&requests[3], "push-inner");
    assert!(inner.contains("has ended") && !inner.contains("You are now in"), "{inner}");
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
