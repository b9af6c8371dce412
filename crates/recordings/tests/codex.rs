//! Records of Codex that the fixtures do not contain.

use callstack_core::evidence::Action;
use callstack_core::transcript::MessageKind;
use callstack_recordings::{Format, Recorded, RecordedPart, Recording};
use serde_json::{Value, json};

use crate::{of_lines, of_text, shown};

const SUMMARY: &str = "A summary of what another model did:\nthe basket is sorted.";

fn line(kind: &str, payload: &Value) -> Value {
    json!({"timestamp": "2026-03-01T10:00:01.000Z", "type": kind, "payload": payload})
}

fn item(role: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
}

fn said(text: &str) -> [Value; 2] {
    [
        line("response_item", &item("user", text)),
        line("event_msg", &json!({"type": "user_message", "message": text})),
    ]
}

fn session(said_before: &[&str], compacted: &Value) -> Recording {
    let mut lines = vec![line("session_meta", &json!({"id": "c0de-7", "cwd": "/home/ada/shop"}))];
    let opening = "<environment_context>\n  <cwd>/home/ada/shop</cwd>\n</environment_context>";
    lines.push(line("response_item", &item("user", opening)));
    for text in said_before {
        lines.extend(said(text));
        lines.push(line("response_item", &item("assistant", "Done.")));
    }
    lines.push(line("compacted", compacted));
    lines.extend(said("Print it"));
    of_lines(&lines)
}

/// Returns the messages that the model was shown after the compaction: whether each is the user's, and its words.
fn shown_words(recording: &Recording) -> Vec<(bool, String)> {
    let message = |id: &&str| recording.messages.iter().find(|it| it.id == **id).unwrap();
    let words = |part: &RecordedPart| match part {
        RecordedPart::Text { text, .. } => text.clone(),
        other => format!("{other:?}"),
    };
    let shown = shown(recording);
    let shown = shown.iter().map(message).flat_map(|message| {
        message.parts.iter().map(move |part| (message.is_of_user(), words(part)))
    });
    shown.collect()
}

fn by(user: bool, text: &str) -> (bool, String) {
    (user, text.to_owned())
}

#[test]
fn a_compaction_that_lists_what_is_left_gives_the_summary_once() {
    let history = [
        item("developer", "Be brief."),
        item("user", "Sort the basket"),
        item("user", "Go on"),
        item("user", SUMMARY),
    ];
    let compacted = json!({"message": SUMMARY, "replacement_history": history});
    let recording = session(&["Read the basket", "Sort the basket", "Go on", "Go on"], &compacted);
    let wanted = [
        by(true, "Sort the basket"),
        by(true, "Go on"),
        by(false, "Be brief."),
        by(false, SUMMARY),
        by(true, "Print it"),
    ];
    assert_eq!(shown_words(&recording), wanted);
    // It is the last of two equal messages.
    assert_eq!(shown(&recording)[..2], ["4", "8"]);
    let summary = recording.messages.iter().find(|it| it.standing == MessageKind::Summary).unwrap();
    let of_program =
        |part: &RecordedPart| matches!(part, RecordedPart::Text { synthetic: true, .. });
    assert_eq!(summary.parts.iter().map(of_program).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_summary_that_the_provider_keeps_to_itself_leaves_the_users_messages() {
    let history = [
        item("user", "Read the basket"),
        json!({"type": "compaction", "encrypted_content": "c2VjcmV0"}),
    ];
    let compacted = json!({"message": "", "replacement_history": history});
    let wanted = [by(true, "Read the basket"), by(false, "Reasoning(\"\")"), by(true, "Print it")];
    assert_eq!(shown_words(&session(&["Read the basket"], &compacted)), wanted);
}

#[test]
fn what_is_left_may_be_named_by_its_id() {
    let mut first = line("response_item", &item("user", "Read the basket"));
    first["payload"]["id"] = "msg_a".into();
    let entries = [
        json!({"type": "reference", "item_id": "msg_a"}),
        json!({"type": "inline", "item": item("user", SUMMARY)}),
    ];
    let compacted = json!({"message": SUMMARY, "replacement_history_entries": entries});
    let recording = of_lines(&[
        line("session_meta", &json!({"id": "c0de-8"})),
        first,
        line("response_item", &item("assistant", "Done.")),
        line("compacted", &compacted),
    ]);
    assert_eq!(shown_words(&recording), [by(true, "Read the basket"), by(false, SUMMARY)]);
}

#[test]
fn a_compaction_that_does_not_list_it_leaves_the_latest_that_the_user_said() {
    let compacted = json!({"message": SUMMARY});
    let opening = "<environment_context>\n  <cwd>/home/ada/shop</cwd>\n</environment_context>";
    let recording = session(&["Read the basket", "Sort it"], &compacted);
    let wanted = [
        by(false, opening),
        by(true, "Read the basket"),
        by(true, "Sort it"),
        by(false, SUMMARY),
        by(true, "Print it"),
    ];
    assert_eq!(shown_words(&recording), wanted);
    let long = "word ".repeat(8_000);
    let recording = session(&["Read the basket", &long, &long, "Sort it"], &compacted);
    let kept: Vec<usize> = shown_words(&recording).iter().map(|(_, text)| text.len()).collect();
    let wanted = [opening.len(), long.len(), "Sort it".len(), SUMMARY.len(), "Print it".len()];
    assert_eq!(kept, wanted, "two of these are more than is left");
}

fn actions(calls: &[(&str, Value)]) -> Vec<Action> {
    let mut lines = vec![line("session_meta", &json!({"id": "c0de-6"}))];
    for (place, (name, arguments)) in calls.iter().enumerate() {
        let call = json!({"type": "function_call", "name": name, "call_id": format!("k{place}"),
            "arguments": arguments.to_string()});
        lines.push(line("response_item", &call));
    }
    of_lines(&lines).messages[0].calls().map(|call| call.action.clone()).collect()
}

#[test]
fn a_patch_that_is_given_to_a_shell_writes_its_files() {
    let patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-1\n+2\n*** Delete File: b.py\n\
                 *** Add File: c.py\n+3\n*** End Patch";
    let heredoc = format!("cd src && apply_patch <<'EOF'\n{patch}\nEOF\n");
    let wrote = || Action::Wrote(["a.py", "b.py", "c.py"].map(str::to_owned).to_vec());
    let named = format!("cat <<'EOF' >notes.md\n{patch}\nEOF\n");
    let found = actions(&[
        ("shell", json!({"command": ["apply_patch", patch]})),
        ("shell", json!({"command": ["bash", "-lc", heredoc]})),
        ("shell_command", json!({"command": heredoc})),
        ("container.exec", json!({"command": ["applypatch", patch]})),
        ("exec_command", json!({"cmd": heredoc})),
        ("shell", json!({"command": ["bash", "-lc", named]})),
    ]);
    assert_eq!(found[..5], [wrote(), wrote(), wrote(), wrote(), wrote()]);
    assert_eq!(found[5], Action::Ran(named));
}

#[test]
fn what_the_user_said_is_theirs_also_where_more_stands_around_it() {
    let around = "# Context from my editor:\n\nbasket.py\n\n## My request:\nok";
    let two =
        json!([{"type": "input_text", "text": "Sort"}, {"type": "input_text", "text": "the list"}]);
    let long = "Read the basket, and tell what it holds";
    let recording = of_lines(&[
        line("session_meta", &json!({"id": "c0de-9"})),
        line("response_item", &item("user", "Instructions of an unknown kind: say ok.")),
        line("response_item", &item("user", around)),
        line("event_msg", &json!({"type": "user_message", "message": "ok"})),
        line("response_item", &item("user", &format!("<hint>{long}</hint>"))),
        line("event_msg", &json!({"type": "user_message", "message": long})),
        line("response_item", &json!({"type": "message", "role": "user", "content": two})),
        line("event_msg", &json!({"type": "user_message", "message": "Sort\nthe list"})),
    ]);
    let of_user: Vec<bool> = recording.messages.iter().map(Recorded::is_of_user).collect();
    assert_eq!(of_user, [false, true, true, true]);
}

#[test]
fn the_first_versions_wrote_one_document() {
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "k1", "name": "shell",
        "arguments": "{\"command\":[\"bash\",\"-lc\",\"make check\"]}"});
    let output = r#"{"output":"one fails","metadata":{"exit_code":2,"duration_seconds":0.1}}"#;
    let document = json!({
        "session": {"id": "c0de-0", "timestamp": "2025-04-20T10:00:00.000Z", "instructions": ""},
        "items": [
            item("user", "Check it"),
            {"type": "reasoning", "id": "rs_1", "summary": []},
            call,
            {"type": "function_call_output", "call_id": "k1", "output": output},
            {"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": "One fails."}]},
        ],
    });
    for text in [document.to_string(), format!("{document:#}")] {
        let recording = of_text(&text);
        assert_eq!((recording.format, &recording.session[..]), (Format::Codex, "c0de-0"));
        assert_eq!(recording.model_calls(), 2);
        assert!(recording.messages[0].is_of_user());
        assert_eq!(recording.messages[0].at, Some(1_745_143_200_000));
        let call = recording.messages[1].calls().next().unwrap();
        assert_eq!(call.action, Action::Ran("make check".to_owned()));
        assert_eq!((call.exit, call.output.as_deref()), (Some(2), Some("one fails")));
    }
}

#[test]
fn what_the_program_wrote_is_known_by_its_role_and_by_what_events_say_of_the_user() {
    let agents = "# AGENTS.md instructions for /home/ada/shop\nPrices are in cents.";
    let before = [
        line("session_meta", &json!({"id": "c0de-8", "cwd": "/home/ada/shop"})),
        line("response_item", &item("developer", "Be brief.")),
        line("response_item", &item("user", agents)),
    ];
    let of_user = |after: &[Value]| {
        let recording = of_lines(&[&before[..], after].concat());
        recording.messages.iter().map(Recorded::is_of_user).collect::<Vec<_>>()
    };
    assert_eq!(of_user(&said("Read the basket")), [false, false, true]);
    // Nothing tells whose words they are.
    assert_eq!(of_user(&said("Read the basket")[..1]), [false, true, true]);
}
