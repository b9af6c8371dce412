//! Pending compactions and their outcome, whatever happens in between.

use callstack_core::compaction::CompactionType;
use callstack_core::transcript::{Anchor, Message, MessageKind, Part, PartBody, Role};
use callstack_engine::effect::{Effect, EffectOutcome};
use callstack_engine::operation::Caller;
use callstack_engine::{Engine, Failure, HostMessage, Kind, Settings, operations};
use serde_json::{Value, json};

use crate::support::{Patient, Project, caller};

const A: &str = "ses_a";

/// A root `f1` and the open frame `f2`.
fn project() -> Project {
    let project = Project::new();
    project.user(A, "Read the parts");
    project.did(A, "stack_frame_push", json!({"title": "part", "successCriteria": "read"}));
    project
}

fn ask(project: &Project, results: Option<&str>) {
    let arguments = json!({"results": results, "generateSummary": true});
    let answer = project.did(A, "stack_frame_pop", arguments);
    let effect = answer.next.map(|next| next.effect);
    assert_eq!(effect, Some(Effect::Summarize { session: A.to_owned() }));
    assert_eq!(answer.closed, None, "nothing has ended yet");
}

/// A message of OpenCode's compaction arrives.
fn summary(engine: &Engine, id: &str, text: &str) {
    let body = PartBody::Text { synthetic: false, chars: text.len(), head: text.to_owned() };
    let shown = HostMessage {
        words: text.to_owned(),
        summary: Some(text.to_owned()),
        ..HostMessage::of(
            Message {
                id: id.to_owned(),
                role: Role::Assistant,
                standing: MessageKind::Summary,
                parts: vec![Part { id: "prt_1".to_owned(), body }],
            },
            "{}".to_owned(),
        )
    };
    engine.record(A, vec![shown]).unwrap();
}

fn results(project: &Project, frame: &str) -> Option<String> {
    project.engine.resolve(frame).unwrap().results
}

fn waits(project: &Project) -> bool {
    project.engine.pending_compaction(A).unwrap().is_some()
}

#[test]
fn a_summary_counts_once_and_stands_after_the_own_results() {
    let project = project();
    assert_eq!(project.engine.compaction_type(A).unwrap(), CompactionType::Overflow);
    ask(&project, Some("mine"));
    assert_eq!(project.engine.compaction_type(A).unwrap(), CompactionType::FrameCompletion);
    let prompt = project.engine.compacting(A).unwrap();
    assert!(prompt.prompt.unwrap().contains("- **Goal:** read"));
    for _ in 0..2 {
        summary(&project.engine, "msg_s", "theirs\n\n## Rest of the session\nnothing");
    }
    assert_eq!(results(&project, "f2").unwrap(), "mine\n\nSummary generated at its end:\ntheirs");
    assert_eq!(
        (project.status("f2"), project.status("f1")),
        ("completed".into(), "in_progress".into())
    );
    assert_eq!(results(&project, "f1"), None, "the second time it was no overflow of the parent");
    assert!(!waits(&project));
    let info = project.did(A, "stack_compaction_info", json!({})).data;
    assert_eq!(info["history"]["session"]["frame_completion"], json!({"came": 1, "failed": 0}));
}

#[test]
fn a_sibling_in_a_session_of_its_own_is_given_the_generated_summary_too() {
    let project = project();
    ask(&project, Some("mine"));
    summary(&project.engine, "msg_s", "theirs\n\n## Rest of the session\nnothing");
    let child = json!({"title": "next part", "successCriteria": "read"});
    project.did(A, "stack_frame_plan", json!({"children": [child]}));
    let context =
        project.engine.generate_frame_context("ses_elsewhere", "f3").unwrap().text.clone();
    assert!(context.contains("mine") && context.contains("theirs"), "{context}");
}

#[test]
fn a_restart_forgets_nothing() {
    let project = project();
    ask(&project, Some("mine"));
    let folder = project.engine.project().to_path_buf();
    let again =
        Engine::open_unchecked(&folder, Settings::default(), Box::<Patient>::default()).unwrap();
    assert_eq!(again.compaction_type(A).unwrap(), CompactionType::FrameCompletion);
    summary(&again, "msg_s", "theirs");
    assert!(results(&project, "f2").unwrap().starts_with("mine\n"));
}

#[test]
fn without_a_summary_the_own_results_stay_and_the_agent_is_notified() {
    for (own, begins) in [(Some("mine"), "mine"), (None, "No results were given, and no summary")] {
        let project = project();
        ask(&project, own);
        let failure = Failure { stopped: false, message: "the model is ill".to_owned() };
        project.engine.session_failed(A, failure).unwrap();
        let effects = project.engine.compaction_over(A).unwrap().effects;
        let [Effect::Prompt { text, wait: false, .. }] = &effects[..] else {
            panic!("{effects:?}")
        };
        assert!(text.contains("the model is ill") && text.contains("f1"), "{text}");
        assert!(results(&project, "f2").unwrap().starts_with(begins));
        assert_eq!(project.status("f2"), "completed");
        assert_eq!(project.engine.compaction_over(A).unwrap().effects, [], "it is told once");
    }
}

#[test]
fn whoever_stops_a_summary_is_left_alone() {
    let project = project();
    ask(&project, Some("mine"));
    let failure = Failure { stopped: true, message: "it was stopped".to_owned() };
    project.engine.session_failed(A, failure).unwrap();
    assert_eq!(project.engine.compaction_over(A).unwrap().effects, []);
    assert_eq!(results(&project, "f2").as_deref(), Some("mine"));
}

#[test]
fn a_deleted_session_and_a_host_that_can_not_compact_end_the_frame_too() {
    let deleted = project();
    ask(&deleted, Some("mine"));
    deleted.engine.compaction_gone(A).unwrap();
    assert_eq!(results(&deleted, "f2").as_deref(), Some("mine"));

    for (aborted, status) in [(false, "completed"), (true, "in_progress")] {
        let project = project();
        ask(&project, Some("mine"));
        let outcome = EffectOutcome::Error { message: "no model".to_owned(), aborted };
        let pop = operations::find("stack_frame_pop").unwrap();
        let answer = pop.resume(&project.engine, &caller(A), json!({}), outcome).unwrap();
        assert_eq!(project.status("f2"), status);
        assert_eq!(answer.closed.is_some(), !aborted);
        assert_eq!(answer.text.contains("no model"), !aborted, "{}", answer.text);
        assert!(!waits(&project));
        assert_eq!(project.engine.compaction_over(A).unwrap().effects, []);
    }
}

#[test]
fn what_happens_to_the_frame_meanwhile_counts() {
    let others: [(&str, Value, &str); 3] = [
        ("stack_frame_pop", json!({"results": "after all"}), "completed"),
        ("stack_frame_pop", json!({"results": "can't", "status": "failed"}), "failed"),
        ("stack_frame_invalidate", json!({"frame": "f2", "reason": "no"}), "invalidated"),
    ];
    for (name, arguments, status) in others {
        let project = project();
        ask(&project, Some("mine"));
        project.did(A, name, arguments);
        assert!(!waits(&project), "{name}");
        summary(&project.engine, "msg_s", "theirs");
        assert_eq!(project.status("f2"), status);
        assert_eq!(results(&project, "f1").as_deref(), Some("theirs"), "it was an overflow then");
    }
}

#[test]
fn nothing_begins_in_a_frame_that_is_ending() {
    let project = project();
    ask(&project, None);
    let child = json!({"title": "more", "successCriteria": "done"});
    let error = project.call(A, "stack_frame_push", child.clone()).unwrap_err();
    assert_eq!(error.kind, Kind::Conflict);
    assert!(error.sentence().contains("stack_frame_pop"), "{}", error.sentence());
    let error = project.call(A, "stack_frame_summarize", json!({})).unwrap_err();
    assert!(error.message.contains("already ending"), "{error}");
    ask(&project, Some("said again"));
    summary(&project.engine, "msg_s", "theirs");
    assert!(results(&project, "f2").unwrap().starts_with("said again\n"));
    project.did(A, "stack_frame_push", child);
}

#[test]
fn a_frame_with_open_children_is_refused_with_their_names() {
    let project = project();
    let arguments = json!({"frame": "f1", "generateSummary": true});
    let error = project.call(A, "stack_frame_pop", arguments).unwrap_err();
    assert!(error.message.contains("f2 \"part\""), "{error}");
    let error = project.call(A, "stack_frame_pop", json!({})).unwrap_err();
    assert!(error.sentence().contains("Say in `results` what was done"), "{}", error.sentence());
    assert!(!waits(&project));
}

#[test]
fn from_a_terminal_the_next_compaction_is_waited_for() {
    let project = project();
    let desk = Caller {
        agent: None,
        performs: false,
        reveal: true,
        key: None,
        session: A.to_owned(),
        host: "cli".to_owned(),
        anchor: Anchor { message: None, call: None },
    };
    let pop = operations::find("stack_frame_pop").unwrap();
    let arguments = json!({"results": "mine", "generateSummary": true});
    let answer = pop.run(&project.engine, &desk, arguments).unwrap();
    assert!(answer.next.is_none() && answer.text.contains("next compaction"), "{}", answer.text);
    assert_eq!(project.engine.compaction_over(A).unwrap().effects, []);
    assert!(waits(&project), "no turn's end makes it impatient");
    summary(&project.engine, "msg_s", "theirs");
    assert_eq!(project.status("f2"), "completed");
    assert_eq!(project.engine.compaction_over(A).unwrap().effects, [], "nobody waits for that");
}

#[test]
fn checkpoints_replace_each_other_but_never_what_the_agent_said() {
    let project = project();
    for text in ["first", "second"] {
        summary(&project.engine, &format!("msg_{text}"), text);
        assert_eq!(results(&project, "f2").as_deref(), Some(text));
    }
    project.did(A, "stack_frame_pop", json!({"results": "mine", "status": "blocked"}));
    project.did(A, "stack_frame_activate", json!({"frame": "f2"}));
    project.did(A, "stack_frame_summarize", json!({"note": "keep the figures"}));
    assert!(project.engine.compacting(A).unwrap().prompt.unwrap().contains("keep the figures"));
    summary(&project.engine, "msg_third", "third");
    assert_eq!(results(&project, "f2").as_deref(), Some("mine"));
    let answer = project.did(A, "stack_get_summary", json!({}));
    assert!(
        answer.text.contains("third") && answer.data["type"] == "manual_summary",
        "{}",
        answer.text
    );
}
