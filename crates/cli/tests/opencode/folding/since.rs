//! Steps that a pop closes after the fact.

use callstack_scripted_model::Step;
use serde_json::json;

use crate::opencode::seen::{result_of, seen};
use crate::opencode::steps::{bash, named};
use crate::opencode::talk::Talk;

const READS: usize = 6;

/// Reads about 8,000 characters of a board.
fn reads(number: usize) -> Step {
    let command = format!(
        "for n in $(seq 200); do echo \"INNERWORK register $n of board {number} is free\"; done"
    );
    named(bash(&command), &format!("read-{number}"))
        .reasoning(format!("What about board {number}?"))
}

#[test]
fn steps_are_named_and_leave_when_a_pop_closes_them_by_that_name() {
    let Some(talk) = Talk::new(&[]) else { return };
    let arguments =
        json!({"since": "s1", "title": "Survey", "results": "Board 3 has free registers."});
    let session =
        talk.session(
            (1..=READS).map(reads).chain([
                named(Step::call("stack_frame_pop", arguments), "pop-since")
                    .reasoning("Enough was seen."),
                named(bash("echo beyond"), "beyond").reasoning("Now the rest."),
                Step::text("Board 3 it is."),
            ]),
        );
    session.say("Which boards have free registers?");
    // The scripted model checks that each request begins as the one before, that reasoning stands after the messages
    // it was made after, and that calls have results.
    let requests = session.finished();

    let with_a_name = |request| {
        let result = |number| result_of(request, &format!("read-{number}"));
        (1..=READS)
            .filter(|number| result(*number).contains("[callstack] s1: "))
            .collect::<Vec<_>>()
    };
    let found = with_a_name(&requests[READS]);
    assert_eq!(found.len(), 1, "{}", seen(&requests[READS]));
    let last = result_of(&requests[READS], &format!("read-{}", found[0]));
    assert!(last.contains("of board"), "the output stands in front of the name: {last}");
    let line = format!("s1: the {} calls from `for n in $(seq 200);", found[0] - 1);
    assert!(last.contains(&line), "{last}");

    let folded = &requests[READS + 1];
    let calls: Vec<_> = folded.call_ids().into_iter().collect();
    assert_eq!(calls, ["read-1"], "{}", seen(folded));
    let returned = result_of(folded, "read-1");
    assert!(
        returned.starts_with(
            "[callstack] frame f2 \"Survey\" returned: completed\nIt closed 6 calls, from "
        ),
        "{returned}"
    );
    assert!(returned.contains("Board 3 has free registers."), "{returned}");
    assert!(
        returned.trim_end().ends_with("[callstack] f1 is open now, for the user's latest message"),
        "{returned}"
    );
    assert!(folded.render().contains("Which boards have free registers?"), "{}", seen(folded));
    assert!(!folded.render().contains("register 7 of board"), "{}", seen(folded));
    let after = &requests[READS + 2];
    assert_eq!(after.raw_messages()[..folded.raw_messages().len()], *folded.raw_messages());
}
