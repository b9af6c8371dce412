//! Summaries that don't come: no words are lost, and the agent continues.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use callstack_core::compaction::CompactionType;
use callstack_core::results::ResultsSource;
use callstack_scripted_model::{Checks, Conversation, RecordedRequest, RequestKind, Script, Step};
use serde_json::json;

use super::super::failures::{kill_host, wait_for_host};
use super::super::project::Project;
use super::super::seen::seen;
use super::super::steps::{pop, push, work};
use super::super::talk::Talk;
use super::super::tree::{engine, frame, tree, wait_for, wait_for_tree};
use super::compactions;
use super::completion::pop_with_summary;

const DONE: &str = "Read the parts in_progress *\n  First part completed\n";

fn ending_without_words() -> Step {
    Step::call("stack_frame_pop", json!({"generateSummary": true}))
}

#[test]
fn a_frame_whose_summary_fails_ends_with_its_own_results() {
    let Some(talk) = Talk::new(&[]) else { return };
    let sealed = &talk.project.sealed;
    let session = talk.session_compacting(
        [Step::fail(400, "the summariser is ill")],
        [
            push("First part", "it is read"),
            work("the first part"),
            pop_with_summary("It says 7."),
            Step::text("All is read."),
        ],
    );
    session.say("Read the parts");
    wait_for("true", || {
        let names_the_failure =
            |it: &RecordedRequest| it.render().contains("the summariser is ill");
        session.requests().iter().any(names_the_failure).to_string()
    });
    wait_for_tree(sealed, &session.id, DONE);
    assert_eq!(frame(sealed, "First part").results.as_deref(), Some("It says 7."));
    let requests = session.requests();
    let last = requests.last().unwrap();
    assert!(last.render().contains("It says 7."), "{}", seen(last));
}

#[test]
fn an_empty_summary_leaves_what_the_agent_said_last() {
    let Some(talk) = Talk::new(&[]) else { return };
    let sealed = &talk.project.sealed;
    let session = talk.session_compacting(
        [Step::text("")],
        [
            push("First part", "it is read"),
            work("the first part"),
            ending_without_words(),
            Step::text("All is read."),
        ],
    );
    session.say("Read the parts");
    wait_for_tree(sealed, &session.id, DONE);
    let ended = frame(sealed, "First part");
    assert_eq!(ended.results_source, Some(ResultsSource::Extracted));
    assert!(ended.results.unwrap().contains("I look at the first part."));
    session.finished();
}

#[test]
fn a_killed_host_process_forgets_no_summary() {
    let Some(mut talk) = Talk::new(&[]) else { return };
    let opencode = Arc::new(AtomicU32::new(talk.server.process().pid()));
    let sealed = &talk.project.sealed;
    let killing = Step::from_request(move |_| {
        kill_host(opencode.load(Ordering::SeqCst));
        wait_for_host(opencode.load(Ordering::SeqCst));
        Step::text("The part says 7.")
    });
    let steps = [
        push("First part", "it is read"),
        work("the first part"),
        pop_with_summary("Mine."),
        push("Second part", "it is read"),
        work("the second part"),
        pop("It says 8."),
        Step::text("All is read."),
    ];
    // The next request may go out before the new process has answered: it lacks the new notes.
    let checks = Checks { prefix: false, ..Checks::default() };
    let session = talk.converse(Conversation::new(steps).compactions([killing]).checks(checks));
    session.say("Read the parts");
    assert_eq!(
        tree(sealed, &session.id),
        "Read the parts in_progress *\n  First part completed\n  Second part completed\n"
    );
    assert_eq!(
        frame(sealed, "First part").results.as_deref(),
        Some("Mine.\n\nSummary generated at its end:\nThe part says 7.")
    );
    session.finished();
}

#[test]
fn a_summary_is_still_awaited_when_opencode_comes_back() {
    let Some(project) = Project::new(Script::new()) else { return };
    let server = project.opencode.serve_with(&project.sealed, &[]).unwrap();
    let mut talk = Talk { project, server };
    let id = {
        let session = talk.session_compacting(
            [
                Step::text("never read").delay(Duration::from_mins(2)),
                Step::text("The part says 7."),
            ],
            [
                push("First part", "it is read"),
                work("the first part"),
                pop_with_summary("Mine."),
                Step::text("All is read."),
            ],
        );
        talk.server.prompt_async(&session.id, "Read the parts").unwrap();
        wait_for("1", || compactions(&session).len().to_string());
        session.id
    };
    let sealed = &talk.project.sealed;
    let pending = |id: &str| engine(sealed).pending_compaction(id).unwrap().map(|it| it.kind());
    assert_eq!(pending(&id), Some(CompactionType::FrameCompletion));
    talk.server = talk.project.opencode.serve_with(sealed, &[]).unwrap();
    talk.server.prompt(&id, "Are you still there?").unwrap();
    wait_for_tree(sealed, &id, DONE);
    assert_eq!(pending(&id), None);
    assert_eq!(
        frame(sealed, "First part").results.as_deref(),
        Some("Mine.\n\nSummary generated at its end:\nThe part says 7.")
    );
    let requests = talk.project.model.requests();
    let asked = requests.iter().rfind(|it| it.kind == RequestKind::Compaction).unwrap();
    assert!(asked.render().contains("**Compaction Type:** frame_completion"), "{}", seen(asked));
}
