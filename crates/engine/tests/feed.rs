//! The event log as other programs follow it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use callstack_core::event::Event;
use callstack_engine::{EventBatch, EventCursor, FeedEvent};
use serde_json::json;

use crate::support::Project;

fn events(batch: EventBatch<FeedEvent>) -> Vec<FeedEvent> {
    match batch {
        EventBatch::Events(events) => events,
        EventBatch::Gap { newest } => panic!("a gap up to {newest}"),
    }
}

#[test]
fn the_events_of_another_process_come_as_json_with_secrets_masked() {
    let project = Project::new();
    let other = project.another();
    let mut watch = other.watch_events(other.newest_event().unwrap());
    project.user("ses_a", "Look at the parser");
    project
        .call(
            "ses_a",
            "stack_frame_push",
            json!({
                "title": "Try ghp_16C7e42F292c6912E7710c838347Ae178B4a",
                "successCriteria": "it is tried",
            }),
        )
        .unwrap();
    assert!(watch.wait(Duration::from_mins(1)).unwrap());
    let seen = events(watch.next_batch(100).unwrap());
    let created =
        |it: &&FeedEvent| it.event.as_ref().is_some_and(|it| it["kind"] == "frame_created");
    let pushed = serde_json::to_value(seen.iter().rfind(created).unwrap()).unwrap();
    let (seq, at) = (pushed["seq"].as_u64().unwrap(), pushed["at"].as_i64().unwrap());
    assert_eq!(pushed["cursor"], format!("{seq}-{at}"));
    assert_eq!((&pushed["session"], &pushed["frame"]), (&json!("ses_a"), &json!(2)));
    assert_eq!(
        pushed["event"]["frame"]["identity"]["title"], "Try ‹masked: GitHub token›",
        "{pushed:#}"
    );
    let cursor: EventCursor = pushed["cursor"].as_str().unwrap().parse().unwrap();
    let rest = events(other.events_after(cursor, 100).unwrap());
    assert_eq!(rest[..], seen[usize::try_from(seq).unwrap()..]);
}

#[test]
fn every_kind_of_event_is_described() {
    let unknown = serde_json::from_value::<Event>(json!({"kind": "?"})).unwrap_err().to_string();
    let kinds: Vec<_> = unknown.split('`').skip(3).step_by(2).collect();
    assert!(kinds.contains(&"frame_created") && kinds.contains(&"subagent"), "{unknown}");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/events.md");
    let page = fs::read_to_string(page).unwrap();
    let table = page.split("## Kinds").nth(1).unwrap();
    let described: Vec<_> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(kind, _)| kind)
        .collect();
    assert_eq!(described, kinds);
}
