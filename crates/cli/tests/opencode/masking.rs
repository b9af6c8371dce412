//! Tool outputs that a newer one replaced leave the requests of work that goes on.

use callstack_scripted_model::{Checks, RecordedRequest, Step, content_text};
use serde_json::json;

use super::seen::{result_of, seen, snapshot};
use super::steps::{bash, named, stack};
use super::talk::Talk;

const STEPS: usize = 24;
/// Boards that are looked at in turn.
const BOARDS: usize = 4;

/// Reads about 4,000 tokens of a board.
fn reads(number: usize) -> Step {
    let board = number % BOARDS;
    let command = format!(
        "for n in $(seq 400); do echo \"register 0x$(printf %x $((n * {board} + 4096))) of board {board} is free\"; done"
    );
    named(bash(&command), &format!("read-{number}"))
        .and_text(format!("Board {number} comes next."))
        .reasoning(format!("What about board {number}?"))
}

fn is_masked(request: &RecordedRequest, number: usize) -> bool {
    result_of(request, &format!("read-{number}")).starts_with("[callstack] This output of about ")
}

fn masked(request: &RecordedRequest, shown: usize) -> Vec<usize> {
    (1..=shown).filter(|number| is_masked(request, *number)).collect()
}

#[test]
fn old_outputs_leave_in_batches_and_are_kept_whole() {
    let env = [("STACK_MASK_OUTPUTS", "on")];
    let Some(talk) = Talk::new(&env) else { return };
    let steps = (1..=STEPS).map(reads).chain([
        named(stack("stack_log", &json!({"query": "\"of board 1 is\""})), "call-log"),
        Step::text("All boards have free registers.").reasoning("Tell."),
    ]);
    // A batch changes results in place, which this test checks.
    let session = talk.session_with(Checks { prefix: false, reasoning: true }, steps);
    session.say("Which boards have free registers?");
    let requests = session.finished();

    let mut batches = Vec::new();
    for shown in 1..requests.len() {
        let (earlier, later) = (&requests[shown - 1], &requests[shown]);
        assert_eq!(earlier.raw_tools(), later.raw_tools());
        let (was, is) = (earlier.raw_messages(), later.raw_messages());
        let same = was.iter().zip(is).take_while(|(was, is)| was == is).count();
        let known = shown.min(STEPS);
        let (before, now) = (masked(earlier, known), masked(later, known));
        assert!(now.starts_with(&before), "request {shown}: {before:?} {now:?}");
        if same == was.len() {
            assert_eq!(before, now, "request {shown}");
            continue;
        }
        // The first change is in the result of the first call that is masked.
        let first = now[before.len()];
        assert_eq!(later.messages()[same]["tool_call_id"], format!("read-{first}"));
        assert!(now.len() >= before.len() + 2, "request {shown}: {before:?} {now:?}");
        assert!(now.iter().all(|number| number + 2 <= known), "the newest are whole: {now:?}");
        batches.push(shown);
    }
    assert!((1..=4).contains(&batches.len()), "{batches:?}");

    let batch = &requests[batches[0]];
    let last = *masked(batch, STEPS).last().unwrap();
    snapshot("masked_batch", &result_of(batch, &format!("read-{last}")));
    let last_request = requests.last().unwrap();
    assert!(
        last_request.render().contains(&format!("Board {last} comes next.")),
        "{}",
        seen(last_request)
    );
    let newest = result_of(last_request, &format!("read-{STEPS}"));
    assert_eq!(newest.lines().filter(|line| line.ends_with("is free")).count(), 400, "{newest}");

    let log = result_of(last_request, "call-log");
    assert!(log.contains("register 0x1001 of board 1 is free"), "{log}");
    let sealed = &talk.project.sealed;
    let shown = |args: &[&str]| talk.project.callstack.run(sealed, args).unwrap().stdout;
    let raw = shown(&["log", "f1", "--raw"]);
    for number in 0..BOARDS {
        assert!(raw.contains(&format!("of board {number} is free")), "board {number} is not kept");
    }
    assert!(!raw.contains("This output of about"), "what is kept is what the host has");
    assert!(shown(&["search", "\"register 0x1001\""]).contains("0x1001"));
    assert!(content_text(&last_request.messages().last().unwrap()["content"]).contains("board 1"));
}
