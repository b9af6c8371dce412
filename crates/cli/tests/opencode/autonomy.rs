//! Unasked suggestions to an agent, as the model reads them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use callstack_scripted_model::{RecordedRequest, Step};
use serde_json::{Value, json};

use super::failures::{kill_host, wait_for_host};
use super::seen::{folds, result_of};
use super::steps::{named, pop, push, stack, work};
use super::talk::Talk;

const SUGGESTION: &str = "[STACK SUGGESTION: Consider ";

/// The same command, failing; OpenCode refuses calls that are exactly equal.
fn failing(time: u32) -> Step {
    let call = json!({"command": "echo broken; exit 3", "description": format!("try {time}")});
    Step::call("bash", call).reasoning(format!("Try {time}."))
}

fn times(request: &RecordedRequest, words: &str) -> usize {
    request.render().matches(words).count()
}

/// Returns the answer of the call with this id, as the next request shows it.
fn answer_of(requests: &[RecordedRequest], id: &str) -> String {
    requests.iter().map(|it| result_of(it, id)).find(|it| !it.is_empty()).unwrap()
}

fn ask(op: &str, args: &Value, id: &str) -> Step {
    named(stack(op, args), id)
}

#[test]
fn a_loop_of_failures_is_suggested_a_frame_once_also_across_a_restart() {
    let Some(mut talk) = Talk::new(&[]) else { return };
    let pid = Arc::new(AtomicU32::new(talk.server.process().pid()));
    let restarting = |step: Step| {
        let pid = Arc::clone(&pid);
        Step::from_request(move |_| {
            kill_host(pid.load(Ordering::SeqCst));
            wait_for_host(pid.load(Ordering::SeqCst));
            step.clone()
        })
    };
    let session = talk.session([
        failing(1),
        restarting(failing(2)),
        failing(3),
        failing(4),
        restarting(failing(5)),
        ask("stack_auto_suggest", &json!({}), "waiting"),
        Step::text("It still fails."),
        push("Find the cause", "the command ends with 0").reasoning("A frame."),
        work("the cause"),
        ask("stack_autonomy_stats", &json!({}), "stats"),
        pop("It cannot work."),
        Step::text("It cannot work."),
    ]);
    session.say("Make the command work, please");
    session.say("Then try it another way");
    let requests = session.finished();
    let suggested: Vec<_> = requests.iter().map(|request| times(request, SUGGESTION)).collect();
    assert_eq!(suggested, [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    let text = requests[3].render();
    let line = text.lines().find(|line| line.contains(SUGGESTION)).unwrap();
    for part in [
        "f1 is open. [STACK SUGGESTION: Consider pushing a new frame for \"echo broken; exit 3\"",
        "(stack_frame_push)",
        " - Reason: 3 failures were not put right, `echo broken; exit 3` failed 3 times",
    ] {
        assert!(line.contains(part), "{line}");
    }
    for request in &requests[3..] {
        assert_eq!(times(request, line), 1, "what was said stays as it was said");
    }
    assert_eq!(folds(&requests), ["push-find"], "until the pop there is nothing but growth");
    let waiting = answer_of(&requests, "waiting");
    assert!(waiting.contains("- s1 push f1 (failure_boundary, 75 %"), "{waiting}");
    let stats = answer_of(&requests, "stats");
    assert!(stats.contains("failure_boundary (push): 1 made, 1 acted on"), "{stats}");
}

#[test]
fn with_the_level_manual_nothing_is_said_unasked() {
    let level = ("STACK_AUTONOMY_LEVEL", "manual");
    let Some(talk) = Talk::new(&[level]) else { return };
    let session = talk.session([
        push("Try it", "it works").reasoning("A frame."),
        failing(1),
        failing(2),
        failing(3).usage(99_000, 100),
        failing(4).usage(99_000, 100),
        Step::text("It fails.").usage(99_000, 100),
        Step::text("As before."),
        Step::text("As ever."),
        ask("stack_should_push", &json!({}), "asked"),
        ask("stack_autonomy_stats", &json!({}), "stats"),
        Step::text("So be it."),
    ]);
    for words in ["Make the command work", "And now?", "And now?", "Please"] {
        session.say(words);
    }
    let requests = session.finished();
    assert_eq!(requests.iter().map(|request| times(request, SUGGESTION)).sum::<usize>(), 0);
    let asked = answer_of(&requests, "asked");
    assert!(asked.starts_with("push: yes."), "who asks is told: {asked}");
    assert!(answer_of(&requests, "stats").starts_with("Suggestions: 0 made"));
}

#[test]
fn thresholds_and_the_list_of_heuristics_decide_what_is_said() {
    let Some(talk) = Talk::new(&[
        ("STACK_PUSH_THRESHOLD", "90"),
        ("STACK_POP_THRESHOLD", "40"),
        ("STACK_ENABLED_HEURISTICS", "failure_boundary,context_overflow,luck"),
    ]) else {
        return;
    };
    let session = talk.session([
        push("Try it", "it works").reasoning("A frame."),
        failing(1),
        failing(2),
        failing(3),
        Step::text("It fails."),
        Step::text("As before."),
        Step::text("As ever."),
        ask("stack_autonomy", &json!({}), "settings"),
        work("it").usage(64_000, 100),
        Step::text("So be it."),
    ]);
    for words in ["Make the command work", "And now?", "And now?", "Please"] {
        session.say(words);
    }
    let requests = session.finished();
    let suggested: Vec<_> = requests.iter().map(|request| times(request, SUGGESTION)).collect();
    assert_eq!(suggested, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1], "no push at 75 %, no stagnation");
    let last = requests.last().unwrap().render();
    assert!(last.contains("the context is 50 % full (64100 of 128000 tokens)"), "{last}");
    let settings = answer_of(&requests, "settings");
    for line in [
        "STACK_PUSH_THRESHOLD: 90 (from the environment)",
        "STACK_POP_THRESHOLD: 40 (from the environment)",
        "STACK_SUGGEST_IN_CONTEXT: on (default)",
        "Heuristics that are asked: failure_boundary, context_overflow.",
        "No heuristic is called luck",
    ] {
        assert!(settings.contains(line), "{line} is missing in\n{settings}");
    }
}

#[test]
fn suggestions_that_are_kept_out_of_the_context_wait_for_who_asks() {
    let Some(talk) = Talk::new(&[]) else { return };
    // Variables take precedence over an agent's own settings, so the agent can't change them.
    let session = talk.session([
        ask("stack_auto_suggest", &json!({"enabled": false}), "off"),
        failing(1),
        failing(2),
        failing(3),
        ask("stack_auto_suggest", &json!({"enabled": true}), "waiting"),
        ask("stack_auto_suggest", &json!({"clear": true}), "cleared"),
        push("Try it", "it works").reasoning("A frame."),
        failing(4),
        failing(5),
        failing(6),
        Step::text("It fails."),
    ]);
    session.say("Make the command work");
    let requests = session.finished();
    let suggested: Vec<_> = requests.iter().map(|request| times(request, SUGGESTION)).collect();
    assert_eq!(
        suggested,
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        "once it is on, and not what came before"
    );
    let waiting = answer_of(&requests, "waiting");
    assert!(waiting.contains("- s1 push f1 (failure_boundary"), "{waiting}");
    let cleared = answer_of(&requests, "cleared");
    assert!(cleared.contains("1 cleared.") && cleared.contains("None waits"), "{cleared}");
}
