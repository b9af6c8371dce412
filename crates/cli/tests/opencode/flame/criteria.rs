//! The acceptance criteria of the specification's compaction phase, one test each.

use callstack_core::frame::{Frame, Status};
use callstack_scripted_model::{RecordedRequest, RequestKind, Step};
use serde_json::json;

use super::super::seen::result_of;
use super::super::steps::{named, work};
use super::super::talk::{Session, Talk};
use super::super::tree::engine;
use super::{FLAME, assert_flame_only};

const GOAL: &str = "It is known what the first part says";
const GENERATED: &str = "The first part says 7, read from part.txt.";

fn push(goal: &str) -> Step {
    Step::call("flame_push", json!({"goal": goal})).reasoning("A subtask.")
}

fn pop_with_summary() -> Step {
    let arguments =
        json!({"status": "completed", "summary": "It says 7.", "generateSummary": true});
    Step::call("flame_pop", arguments).reasoning("Done.")
}

fn summarize() -> Step {
    Step::call("flame_summarize", json!({})).reasoning("Better be safe.")
}

/// The summariser's answer.
fn generated() -> Step {
    Step::text(format!("{GENERATED}\n\n## Rest of the session\n\nThe parts are to be read."))
}

/// Returns the requests to summarisers of the session.
fn asked(session: &Session<'_>) -> Vec<String> {
    let requests = session.talk.project.model.requests();
    let own = |it: &RecordedRequest| it.session == session.id && it.kind == RequestKind::Compaction;
    let asked: Vec<_> = requests.into_iter().filter(own).collect();
    asked.iter().for_each(assert_flame_only);
    asked.iter().map(RecordedRequest::render).collect()
}

/// A turn in a frame that ends with a generated summary.
fn completed(talk: &Talk) -> Session<'_> {
    let steps = [push(GOAL), work("the first part"), pop_with_summary(), Step::text("It says 7.")];
    let session = talk.session_compacting([generated()], steps);
    session.say("Read the parts");
    session.finished().iter().for_each(assert_flame_only);
    session
}

fn frame(talk: &Talk, handle: &str) -> Frame {
    engine(&talk.project.sealed).resolve(handle).unwrap()
}

#[test]
fn custom_compaction_prompt_includes_the_frame_goal() {
    let Some(talk) = Talk::new(&[FLAME]) else { return };
    let session = completed(&talk);
    let [asked] = &asked(&session)[..] else { panic!("not one compaction") };
    assert!(asked.contains("## Flame Frame Compaction"), "{asked}");
    assert!(asked.contains(&format!("- **Goal:** {GOAL}")), "{asked}");
    assert!(asked.contains("**Compaction Type:** frame_completion"), "{asked}");
}

#[test]
fn different_prompts_for_frame_completion_and_overflow() {
    let Some(talk) = Talk::new(&[FLAME]) else { return };
    let session = talk.session_compacting(
        [Step::text("Half of it is read."), generated()],
        [
            push(GOAL),
            work("the first part"),
            Step::text("Half way."),
            work("the rest"),
            pop_with_summary(),
            Step::text("It says 7."),
        ],
    );
    session.say("Read the parts");
    talk.server.summarize(&session.id).unwrap();
    session.say("Go on");
    session.finished();
    let [overflow, completion] = &asked(&session)[..] else { panic!("not two compactions") };
    for (asked, kind, instructions) in [
        (overflow, "overflow", "### Compaction Instructions (Overflow"),
        (completion, "frame_completion", "### Compaction Instructions (Frame Completion)"),
    ] {
        assert!(asked.contains(&format!("**Compaction Type:** {kind}")), "{asked}");
        assert_eq!(asked.matches("### Compaction Instructions").count(), 1, "{asked}");
        assert!(asked.contains(instructions), "{asked}");
        assert!(asked.contains(&format!("- **Goal:** {GOAL}")), "{asked}");
    }
}

#[test]
fn summary_is_captured_after_the_compaction_event() {
    let Some(talk) = Talk::new(&[FLAME]) else { return };
    let mut events = talk.server.events().unwrap();
    let session = completed(&talk);
    events
        .wait("session.compacted", |event| {
            event["type"] == "session.compacted" && event["properties"]["sessionID"] == session.id
        })
        .unwrap();
    let frame = frame(&talk, "f2");
    assert_eq!(frame.status, Status::Completed);
    let results = frame.results.unwrap();
    assert!(results.contains(GENERATED), "{results}");
    assert!(!results.contains("The parts are to be read"), "not the frame's own: {results}");
}

#[test]
fn summary_is_stored_in_frame_metadata() {
    let Some(talk) = Talk::new(&[FLAME]) else { return };
    completed(&talk);
    // As a process sees it that was not there.
    let engine = engine(&talk.project.sealed);
    let metadata = engine.metadata(&engine.resolve("f2").unwrap()).unwrap();
    let results = metadata.results.unwrap();
    assert!(results.starts_with("It says 7.") && results.contains(GENERATED), "{results}");
    assert!(metadata.results_compacted.is_some_and(|dense| !dense.is_empty()));
    assert_eq!(metadata.success_criteria, GOAL);
}

#[test]
fn summary_appears_in_sibling_context() {
    let Some(talk) = Talk::new(&[FLAME]) else { return };
    let session = talk.session_compacting(
        [generated()],
        [
            push(GOAL),
            work("the first part"),
            pop_with_summary(),
            push("It is known what the second part says"),
            named(Step::call("flame_context_preview", json!({})), "around"),
            Step::text("It says 8."),
        ],
    );
    session.say("Read the parts");
    let requests = session.finished();
    let context = result_of(&requests[5], "around");
    let siblings = context.split_once("<completed-siblings count=\"1\">").map(|it| it.1);
    let siblings = siblings.unwrap_or_else(|| panic!("no sibling in {context}"));
    assert!(siblings.contains(GENERATED), "{context}");
    requests.iter().for_each(assert_flame_only);
}

#[test]
fn flame_pop_can_request_a_compaction_based_summary() {
    let Some(talk) = Talk::new(&[FLAME]) else { return };
    let session = completed(&talk);
    assert_eq!(asked(&session).len(), 1);
    let frame = frame(&talk, "f2");
    assert_eq!(frame.status, Status::Completed);
    let results = frame.results.unwrap();
    let own = results.find("It says 7.").unwrap();
    assert!(
        results.find(GENERATED).is_some_and(|at| at > own),
        "the user's words first: {results}"
    );
    // All steps were requested: the agent continued by itself, in the parent.
    assert_eq!(engine(&talk.project.sealed).active(&session.id).unwrap().map(|it| it.0), Some(1));
}

#[test]
fn manual_summary_generation_is_available() {
    let Some(talk) = Talk::new(&[FLAME]) else { return };
    let session = talk.session_compacting(
        [generated()],
        [
            push(GOAL),
            work("the first part"),
            summarize(),
            named(Step::call("flame_get_summary", json!({})), "summary"),
            named(Step::call("flame_compaction_info", json!({})), "info"),
            Step::text("The checkpoint is there."),
        ],
    );
    session.say("Read the parts");
    let requests = session.finished();
    let [asked] = &asked(&session)[..] else { panic!("not one compaction") };
    assert!(asked.contains("**Compaction Type:** manual_summary"), "{asked}");
    assert!(asked.contains(&format!("- **Goal:** {GOAL}")), "{asked}");
    let summary = result_of(requests.last().unwrap(), "summary");
    assert!(summary.contains(GENERATED), "{summary}");
    let info = result_of(requests.last().unwrap(), "info");
    assert!(info.contains("Pending: none") && info.contains("1 manual_summary"), "{info}");
    assert_eq!(frame(&talk, "f2").status, Status::InProgress, "a checkpoint ends nothing");
    requests.iter().for_each(assert_flame_only);
}
