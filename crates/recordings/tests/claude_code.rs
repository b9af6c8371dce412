//! Records of Claude Code that the fixtures do not contain.

use callstack_recordings::{Recorded, RecordedPart, Recording};
use serde_json::{Value, json};

use crate::{of_lines, shown};

fn line(kind: &str, uuid: &str, parent: Option<&str>) -> Value {
    json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "5e55-0007",
        "isSidechain": false, "cwd": "/home/ada/shop", "timestamp": "2026-03-01T10:00:01.000Z"})
}

fn user(uuid: &str, parent: Option<&str>, content: impl Into<Value>) -> Value {
    let mut line = line("user", uuid, parent);
    line["message"] = json!({"role": "user", "content": content.into()});
    line
}

fn agent(uuid: &str, parent: &str, text: &str) -> Value {
    let mut line = line("assistant", uuid, Some(parent));
    let content = json!([{"type": "text", "text": text}]);
    line["message"] = json!({"role": "assistant", "id": format!("m-{uuid}"), "content": content});
    line
}

fn ids(recording: &Recording) -> Vec<&str> {
    recording.messages.iter().map(|message| message.id.as_str()).collect()
}

#[test]
fn content_of_an_unknown_kind_is_counted() {
    let content =
        json!([{"type": "text", "text": "Look"}, {"type": "search_result", "title": "x"}]);
    let recording = of_lines(&[user("u1", None, content), user("u2", Some("u1"), 7)]);
    assert_eq!(recording.skipped.kinds["user: part search_result"], 1);
    assert_eq!(recording.skipped.kinds["user: part"], 1);
    assert!(Recorded::is_of_user(&recording.messages[0]));
}

fn system(uuid: &str, parent: Option<&str>, subtype: &str) -> Value {
    let mut line = line("system", uuid, parent);
    line["subtype"] = subtype.into();
    line
}

fn summary(uuid: &str, parent: Option<&str>) -> Value {
    let mut line = user(uuid, parent, "The basket was read.");
    line["isCompactSummary"] = true.into();
    line
}

#[test]
fn a_record_that_comes_late_leaves_nothing_of_the_conversation_behind() {
    let conversation = [
        user("u1", None, "Read the basket"),
        agent("a1", "u1", "It is read."),
        user("u2", Some("a1"), "Sort it"),
        agent("a2", "u2", "It is sorted."),
    ];
    for late in [system("y", Some("u1"), "turn_duration"), line("progress", "p", Some("a1"))] {
        let lines = [&conversation[..], &[late]].concat();
        let recording = of_lines(&lines);
        assert_eq!(ids(&recording), ["u1", "m-a1", "u2", "m-a2"]);
    }
    // Records that hang on the last one belong to the conversation.
    let mut attached = line("attachment", "t", Some("y"));
    attached["attachment"] = json!({"type": "queued_command", "prompt": "And print it"});
    let after = [system("y", Some("a2"), "turn_duration"), attached];
    let recording = of_lines(&[&conversation[..], &after].concat());
    assert_eq!(ids(&recording), ["u1", "m-a1", "u2", "m-a2", "t"]);
}

#[test]
fn a_summary_without_a_boundary_goes_on_from_the_record_before_it() {
    let recording = of_lines(&[
        user("u1", None, "Read the basket"),
        agent("a1", "u1", "It is read."),
        summary("s", None),
        user("u2", Some("s"), "Sort it"),
    ]);
    assert_eq!(ids(&recording), ["u1", "m-a1", "s", "u2"]);
    assert_eq!(shown(&recording), ["s", "u2"]);
}

/// Later records hang on the last record that was kept, or, where something was shown again, on that; kept records
/// follow the summary or the boundary.
#[test]
fn a_compaction_may_keep_messages() {
    for (anchor, parent) in [("s", "a2"), ("s", "s"), ("b", "a2"), ("b", "s")] {
        let segment = json!({"headUuid": "u2", "anchorUuid": anchor, "tailUuid": "a2"});
        let listed = json!({"anchorUuid": anchor, "uuids": ["u2", "a2"]});
        for kept in [json!({"preservedSegment": segment}), json!({"preservedMessages": listed})] {
            let mut boundary = system("b", None, "compact_boundary");
            boundary["logicalParentUuid"] = "a2".into();
            boundary["compactMetadata"] = kept.clone();
            let recording = of_lines(&[
                user("u1", None, "Read the basket"),
                agent("a1", "u1", "It is read."),
                user("u2", Some("a1"), "Sort it"),
                agent("a2", "u2", "It is sorted."),
                boundary,
                summary("s", Some("b")),
                user("u3", Some(parent), "Print it"),
            ]);
            let case = format!("behind {parent}: {kept}");
            assert_eq!(ids(&recording), ["u1", "m-a1", "u2", "m-a2", "b", "s", "u3"], "{case}");
            assert_eq!(shown(&recording), ["b", "s", "u2", "m-a2", "u3"], "{case}");
        }
    }
}

#[test]
fn what_the_program_wrote_is_known_by_its_marks_and_never_by_its_words() {
    let marked = |uuid: &str, parent: &str, field: &str, value: Value| {
        let mut line = user(uuid, Some(parent), "Here is the list of skills.");
        line[field] = value;
        line
    };
    let mut attachment = line("attachment", "f", Some("o2"));
    attachment["attachment"] = json!({"type": "file", "filename": "src/basket.py",
        "content": {"type": "text", "file": {"filePath": "src/basket.py", "content": "total = 0"}}});
    let recording = of_lines(&[
        user("u1", None, "<system-reminder>is what the page shows. Why?</system-reminder>"),
        user("u2", Some("u1"), "<command-name> must not be empty"),
        marked("m", "u2", "isMeta", true.into()),
        marked("o1", "m", "origin", json!({"kind": "task-notification"})),
        marked("o2", "o1", "origin", json!({"kind": "human"})),
        attachment,
        agent("a1", "f", "I see."),
    ]);
    let of_user = recording.messages.iter().map(Recorded::is_of_user).collect::<Vec<_>>();
    assert_eq!(ids(&recording), ["u1", "u2", "m", "o1", "o2", "f", "m-a1"]);
    assert_eq!(of_user, [true, true, false, false, true, false, false]);
    let attached = &recording.messages[5].parts;
    let text = "src/basket.py\ntotal = 0".to_owned();
    assert_eq!(*attached, [RecordedPart::Text { text, synthetic: true }]);
}
