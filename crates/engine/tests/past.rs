//! Recorded sessions that are taken over while other work goes on.

use std::path::PathBuf;

use callstack_core::event::RecordedFigures;
use callstack_core::transcript::{Message, MessageKind, Part, PartBody, Role};
use callstack_engine::{
    Engine, EventBatch, HostMessage, PastMessage, PastSession, Settings, World as _,
};
use serde_json::{Value, json};

use crate::support::{Clock, Project};

/// When the recorded session began; a step of it takes a second.
const THEN: i64 = 1_600_000_000_000;
const STEPS: usize = 6;

fn message(place: usize) -> PastMessage {
    let id = format!("msg_{place}");
    let role = if place.is_multiple_of(2) { Role::User } else { Role::Assistant };
    let words = format!("Rename the function number {place}");
    let text = PartBody::Text { synthetic: false, chars: words.len(), head: words.clone() };
    let parts = vec![Part { id: format!("prt_{place}"), body: text }];
    let message = Message { id, role, standing: MessageKind::Normal, parts };
    let at = THEN + 1_000 * i64::try_from(place).unwrap();
    let shown =
        HostMessage { words, ..HostMessage::of(message, json!({"place": place}).to_string()) };
    PastMessage { at: Some(at), shown }
}

fn session() -> PastSession {
    PastSession {
        session: "ses_past".to_owned(),
        host: "codex".to_owned(),
        caller: None,
        folder: PathBuf::from("/elsewhere"),
        title: None,
        outcome: None,
        figures: RecordedFigures { calls: 3, ..RecordedFigures::default() },
        messages: (0..STEPS).map(|place| format!("msg_{place}")).collect(),
        left: Vec::new(),
        stored: false,
    }
}

/// The times of the events that a condition takes.
fn times(engine: &Engine, is_meant: impl Fn(&Value) -> bool) -> Vec<i64> {
    let EventBatch::Events(events) = engine.events_after(0, usize::MAX).unwrap() else {
        panic!("a gap at the beginning of the log")
    };
    let taken = events.iter().filter(|it| it.event.as_ref().is_some_and(&is_meant));
    taken.map(|it| it.at).collect()
}

#[test]
fn what_is_done_meanwhile_is_done_now_and_the_past_stays_the_past() {
    let clock = Clock::default();
    let folder = tempfile::tempdir().unwrap();
    let engine =
        Engine::open_unchecked(folder.path(), Settings::default(), Box::new(clock.clone()))
            .unwrap();
    let project = Project::of(engine);
    project.user("ses_now", "Look at the parser");
    let now = clock.now();
    let read = |_: usize, place: usize| {
        // Other work goes on beside each message of the recording.
        let title = format!("beside message {place}");
        let push = json!({"title": title, "successCriteria": "it is done"});
        project.did("ses_now", "stack_frame_push", push);
        Some(message(place))
    };
    let counts = project.engine.take_over_sessions(&[session()], &read, &mut |_, _| {}).unwrap();
    assert_eq!((counts.sessions, counts.messages), (1, STEPS as u64));
    assert!(counts.frames > 0);

    let beside = |event: &Value| {
        let title = event["frame"]["identity"]["title"].as_str();
        title.is_some_and(|title| title.starts_with("beside"))
    };
    let beside = times(&project.engine, beside);
    assert!(beside.len() >= STEPS);
    assert!(beside.iter().all(|at| *at == now), "{beside:?}");
    let past = times(&project.engine, |event| event.to_string().contains("ses_past"));
    let last = THEN + 1_000 * i64::try_from(STEPS - 1).unwrap();
    assert!(past.len() > STEPS);
    assert!(past.iter().all(|at| (THEN..=last).contains(at)), "{past:?}");
    let figures = times(&project.engine, |event| {
        event["kind"] == "session_recorded" && !event["figures"].is_null()
    });
    assert_eq!(figures, [last]);
}
