//! Reasoning is only sent after the messages it was made after; the scripted model checks that everywhere.

use callstack_scripted_model::Step;

use super::seen::{assert_no_work, folds, seen, snapshot};
use super::steps::{WORK, pop, push, together, work};
use super::talk::Talk;

#[test]
fn with_wait_a_step_that_pops_and_goes_on_keeps_its_reasoning_until_the_user_speaks() {
    let Some(talk) = Talk::new(&[("STACK_FOLD_REASONING", "wait")]) else { return };
    let session = talk.session([
        push("First part", "part 1 is done").reasoning("One."),
        work("part 1"),
        together([pop("Part 1 gave alpha."), push("Second part", "part 2 is done")])
            .reasoning("One is done, now two."),
        work("part 2"),
        pop("Part 2 gave beta.").reasoning("Two is done."),
        Step::text("alpha and beta.").reasoning("Tell."),
        Step::text("You are welcome.").reasoning("Thanked."),
    ]);
    session.say("Do both parts.");
    session.say("Thanks.");
    let requests = session.finished();
    assert_eq!(folds(&requests), ["push-second", "push-first"]);
    let waiting = requests[5].render();
    assert!(waiting.contains("[assistant reasoning] One is done, now two."));
    assert!(waiting.contains(&format!("{WORK} part 1")) && !waiting.contains("WORK part 2\n"));
    assert_no_work(&requests[6]);
    let text = requests[6].render();
    assert!(text.contains("[assistant reasoning] One.\n"), "its prefix never changed");
    assert!(!text.contains("One is done, now two."));
    snapshot("waiting", &seen(&requests[5]));
    snapshot("waited", &seen(&requests[6]));
}
