//! The figures of `callstack status` for a session's requests, beside those on the wire, with callstack and without.

use callstack_scripted_model::{Checks, Conversation, RecordedRequest, Script, Step};
use callstack_testkit::{Run, assert_clean};
use serde_json::Value;

use super::project::Project;
use super::steps::{bash, pop, push, together};

/// The largest error of the estimate, in hundredths.
const WITHIN: u64 = 5;

#[test]
fn what_requests_would_have_taken_is_about_what_they_take_without_callstack() {
    // A frame that begins and ends between two requests changes the newest result, as no other fold does.
    let checks = Checks { prefix: false, ..Checks::default() };
    let script = Script::new().conversation(Conversation::new(steps(true)).checks(checks));
    let Some(with) = Project::new(script) else { return };
    with.run(&Run::prompt("Count the lines."));
    assert_clean(&with.model);
    let sent = tokens(&with.requests());
    let status = with.callstack.run(&with.sealed, &["status", "--json"]).unwrap();
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    let session = &status["requests"]["session"];
    assert_eq!(session["requests"], with.requests().len(), "{session}");
    assert_eq!(session["sent"], sent, "{session}");

    let Some(without) = Project::without_plugin(Script::steps(steps(false))) else { return };
    without.run(&Run::prompt("Count the lines."));
    let wanted = tokens(&without.requests());
    assert!(sent < wanted * 7 / 10, "frames saved too little for a measurement: {sent}, {wanted}");
    let estimated = session["estimatedWithout"]["sent"].as_u64().unwrap();
    let wrong = estimated.abs_diff(wanted);
    assert!(wrong * 100 <= wanted * WITHIN, "estimated {estimated}, it was {wanted}: {session}");
}

/// Work in three frames, with calls after pushes and pops in their steps; the same without frames.
fn steps(has_frames: bool) -> Vec<Step> {
    let step = |begin: Option<Step>, work: Vec<Step>, end: Option<Step>| {
        let only_then = |step: Option<Step>| step.filter(|_| has_frames);
        together(only_then(begin).into_iter().chain(work).chain(only_then(end)))
    };
    vec![
        step(Some(push("First part", "counted")), vec![look("one"), look("two")], None),
        step(None, vec![look("three")], None),
        step(
            Some(pop("It has 400 lines.")),
            vec![look("between")],
            Some(push("Second part", "counted")),
        ),
        step(None, vec![look("four")], Some(pop("It has 200 lines."))),
        step(Some(push("Third part", "counted")), vec![look("five")], Some(pop("It has 100."))),
        step(None, vec![look("six")], None),
        step(None, vec![look("seven")], None),
        Step::text("Counted."),
    ]
}

/// A call with an output of 20,000 characters.
fn look(topic: &str) -> Step {
    bash(&format!(
        "for line in $(seq 400); do printf 'line %s of what is shown of {topic:12}\\n' $line; done"
    ))
}

fn tokens(requests: &[RecordedRequest]) -> u64 {
    requests.iter().map(RecordedRequest::token_estimate).sum()
}
