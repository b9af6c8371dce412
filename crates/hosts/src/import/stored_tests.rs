use std::path::PathBuf;

use callstack_recordings::read;

use super::*;

fn recordings() -> Vec<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recordings/tests/recordings");
    let files = [
        "claude-code/5e55-0001.jsonl",
        "claude-code-old.jsonl",
        "codex.jsonl",
        "codex-long.jsonl",
        "mini-swe-agent.traj.json",
        "opencode.json",
        "opencode-long.json",
        "pi.jsonl",
        "swe-agent.traj",
    ];
    let paths: Vec<PathBuf> = files.iter().map(|file| folder.join(file)).collect();
    paths.iter().flat_map(|path| read(path).unwrap()).collect()
}

#[test]
fn what_is_stored_of_a_recorded_message_is_read_as_it_was_taken_over() {
    let mut messages = 0;
    for recording in recordings() {
        let left = recording.left.iter().map(|left| (&left.message, true));
        let all = recording.messages.iter().map(|message| (message, false)).chain(left);
        for (message, is_aside) in all {
            let (kept, json) = kept(&recording, message, is_aside);
            assert_eq!(Message::read(&json), Some(kept.clone()), "{json}");
            if kept.recording.is_some() {
                let records = stored::records(&json).unwrap();
                assert_eq!(records, message.records, "{json}");
                assert_eq!(kept.is_aside(), is_aside);
            }
            messages += 1;
        }
    }
    assert!(messages > 60, "{messages}");
}

#[test]
fn a_request_for_a_compaction_and_its_summary_are_read_as_such() {
    let recording = Recording::new(Format::Codex);
    for (role, standing) in [
        (Role::User, MessageKind::CompactionRequest),
        (Role::Assistant, MessageKind::Summary),
        (Role::Assistant, MessageKind::Normal),
    ] {
        let mut message = Recorded::new("m", role, Some(5));
        message.standing = standing;
        message.parts.push(RecordedPart::Text { text: "so far".to_owned(), synthetic: true });
        message.parts.push(RecordedPart::File { name: "a".to_owned(), mime: "b".to_owned() });
        let (kept, json) = kept(&recording, &message, false);
        assert_eq!((kept.kind(), Message::read(&json)), (standing, Some(kept)));
    }
}
