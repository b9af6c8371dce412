//! Files that are no session, or only half of one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use callstack_recordings::{Progress, Recording, RecordingError, is_recording, read, read_all};
use proptest::prelude::*;

use crate::fixture;
use crate::halves::{HALVES, NAMES, damaged};

fn refused(name: &str, content: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    let error = read(&path).unwrap_err();
    let message = error.to_string();
    assert!(message.contains(name), "{message} names no file");
    assert!(error.hint().ends_with('.'), "{message}");
    message.split_once(&format!("{name}: ")).unwrap().1.to_owned()
}

#[test]
fn tokens_that_nobody_can_have_sent_are_no_fault() {
    let most = u64::MAX.to_string();
    for (name, counts) in [
        (
            "claude-code/5e55-0001.jsonl",
            ["\"input_tokens\": 10", "\"cache_read_input_tokens\": 90"],
        ),
        ("opencode.json", ["\"input\": 50", "\"output\": 12"]),
        ("codex.jsonl", ["\"input_tokens\": 1000", "\"input_tokens\": 1200"]),
        ("pi.jsonl", ["\"input\": 10", "\"output\": 20"]),
    ] {
        let text = fs::read_to_string(fixture(name)).unwrap();
        let changed = counts.iter().fold(text.clone(), |text, count| {
            let (name, _) = count.split_once(':').unwrap();
            text.replace(count, &format!("{name}: {most}"))
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("session.json");
        fs::write(&path, &changed).unwrap();
        let recordings = read(&path).unwrap();
        assert!(recordings[0].messages.len() > 1, "{name}");
        assert!(changed != text, "{name} has other counts");
    }
}

#[test]
fn what_is_no_session_is_refused_with_what_it_is() {
    let export = fs::read(fixture("opencode.json")).unwrap();
    for (content, why) in [
        (&b""[..], "the file is empty"),
        (b" \n\n", "the file is empty"),
        (b"Dear diary,\n", "no JSON, not a recorded session"),
        (b"\x7fELF\0\0\0", "a binary file, not a recorded session"),
        (b"\xff\xfe{\0\"\0", "the text is in UTF-16"),
        (b"\xfe\xff\0{\0\"", "the text is in UTF-16"),
        (b"{\0\"\0", "the text is in UTF-16"),
        (b"\xef\xbb\xbf\n", "the file is empty"),
        (b"{\"name\":\"shop\"}\n", "JSON of another program, not a recorded session"),
        (b"{\n \"name\": \"shop\"\n}\n", "JSON of another program, not a recorded session"),
        (b"{\n \"name\": \"shop\"\n", "JSON that is cut off or damaged, not a recorded session"),
        (b"[1, 2]", "no JSON, not a recorded session"),
        (
            b"{\"type\":\"session\",\"id\":\"a\",\"cwd\":\"/\"}",
            "there is no message in this session",
        ),
        (&export[..export.len() / 2], "the JSON can't be read: EOF"),
        (b"{\"info\":{},\"messages\":[]}", "there is no message in this session"),
        (
            b"{\"info\":{},\"messages\":[{\"info\":7,\"parts\":7}]}",
            "there is no message in this session",
        ),
        (
            b"{\"info\":{},\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}",
            "JSON of another program, not a recorded session",
        ),
        (b"{\"a\":\n{}\n,\"b\":1}", "JSON of another program, not a recorded session"),
        (b"{\"a\":1}\n{\"info\":", "JSON of another program, not a recorded session"),
        (b"{\"info\":\n{}\n,\"messages\":[", "the JSON can't be read: EOF"),
    ] {
        let message = refused("file.jsonl", content);
        assert!(message.starts_with(why), "{message} is not: {why}");
    }
}

/// Some editors and shells put one before what is UTF-8.
#[test]
fn a_mark_of_the_encoding_is_no_part_of_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    for name in
        ["claude-code-old.jsonl", "codex-old.jsonl", "pi.jsonl", "opencode.json", "swe-agent.traj"]
    {
        let plain = fs::read(fixture(name)).unwrap();
        fs::write(&path, [b"\xef\xbb\xbf", &plain[..]].concat()).unwrap();
        assert_eq!(read(&path).unwrap(), read(&fixture(name)).unwrap(), "{name}");
    }
}

#[test]
fn a_path_without_a_session_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(read(folder.path()), Err(RecordingError::NoneInFolder(_))));
    fs::write(folder.path().join("notes.md"), "nothing").unwrap();
    assert!(matches!(read(folder.path()), Err(RecordingError::NoneInFolder(_))));
    let missing = read(&folder.path().join("gone")).unwrap_err();
    assert!(matches!(missing, RecordingError::Io { .. }), "{missing}");
}

#[test]
fn a_session_is_recognised_without_reading_it() {
    assert!(is_recording(&fixture("codex.jsonl")).unwrap());
    assert!(is_recording(&fixture("swe-agent.traj")).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree.json");
    fs::write(&tree, r#"{"version": 1, "frames": {}}"#).unwrap();
    assert!(!is_recording(&tree).unwrap(), "frames are not a session, and somebody else's to read");
    let text = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    assert!(matches!(is_recording(text), Err(RecordingError::Unknown { .. })));
}

#[test]
fn lines_that_cannot_be_read_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let mut content = b"half a line\"}\n".to_vec();
    content.extend(fs::read(fixture("pi.jsonl")).unwrap());
    content.extend(b"\xff\xfe\n[]\n{\"type\":\"mess");
    fs::write(&path, content).unwrap();
    let found = read(&path).unwrap();
    assert_eq!(found[0].skipped.unreadable, 4);
    assert_eq!(found[0].messages.len(), read(&fixture("pi.jsonl")).unwrap()[0].messages.len());
}

/// Half an emoji, as an escape that strict readers refuse and as bytes that are no characters: each record that has
/// some is read, and all around it.
#[test]
fn half_a_character_is_read_as_what_stands_for_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        for half in HALVES {
            let whole = fs::read(fixture(name)).unwrap();
            let path = folder.path().join(name);
            fs::write(&path, damaged(&whole, half)).unwrap();
            assert!(is_recording(&path).unwrap(), "{name}");

            let (found, expected) = (read(&path).unwrap(), read(&fixture(name)).unwrap());
            assert_eq!(found.len(), expected.len(), "{name}");
            assert_eq!(found[0].skipped.unreadable, 0, "{name}");
            assert_eq!(found[0].messages.len(), expected[0].messages.len(), "{name}");
            assert!(format!("{:?}", found[0].messages).contains('\u{fffd}'), "{name}");
            let records = found[0].messages.iter().flat_map(|message| &message.records);
            let as_it_came = if half[0] == b'\\' { r"\ud83d" } else { "\u{fffd}" };
            assert!(records.clone().any(|record| record.contains(as_it_came)), "{name}");
        }
    }
}

#[test]
fn a_damaged_file_in_a_folder_is_reported_and_the_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let export = fs::read(fixture("opencode.json")).unwrap();
    fs::write(folder.path().join("a.json"), &export[..500]).unwrap();
    fs::write(folder.path().join("b.json"), &export).unwrap();
    let mut refused = Vec::new();
    let found = read_all(&[folder.path()], &mut |progress| {
        if let Progress::Refused(error) = progress {
            refused.push(error.to_string());
        }
    });
    assert_eq!(found.unwrap().len(), 1);
    assert!(matches!(&refused[..], [one] if one.contains("a.json")), "{refused:?}");
}

#[test]
fn records_of_any_shape_are_read_without_a_panic() {
    let shapes = [
        r#"{"type":"assistant","uuid":"a","parentUuid":"a","message":7,"sessionId":1}"#,
        r#"{"type":"assistant","uuid":"b","parentUuid":"a","message":{"content":[7,null,{"type":"tool_use"}]}}"#,
        r#"{"type":"user","uuid":"c","parentUuid":"b","message":{"content":[{"type":"tool_result"}]}}"#,
        r#"{"type":"user","uuid":"c","parentUuid":"zz","isSidechain":true,"message":{"content":{}}}"#,
        r#"{"type":"progress","data":{"type":"agent_progress"}}"#,
        r#"{"type":"attachment","uuid":"d","attachment":[]}"#,
        r#"{"type":"system","subtype":"compact_boundary","uuid":"e"}"#,
        r#"{"type":"response_item","payload":{"type":"function_call","arguments":7}}"#,
        r#"{"type":"response_item","payload":{"type":"function_call_output","output":[7]}}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":"x"}}"#,
        r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":99}}"#,
        r#"{"type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":[]}}}"#,
        r#"{"type":"compacted","payload":{"replacement_history":[7]}}"#,
        r#"{"type":"message","id":"1","parentId":"1","message":{"role":"assistant","content":7}}"#,
        r#"{"type":"message","id":"2","parentId":null,"message":{"role":"toolResult","content":[{}]}}"#,
        r#"{"type":"session","id":"p","cwd":7}"#,
        r#"{"type":"session_meta","payload":7}"#,
        r#"{"info":{"id":7},"messages":[7,{"info":{"role":"assistant"},"parts":[{"type":"tool"}]}]}"#,
        r#"{"info":{"mini_version":7},"messages":[{"role":7},{"role":"assistant","extra":{"actions":[7]}},{"role":"tool"}]}"#,
        r#"{"session":{"id":7},"items":[7,{"type":"message"},{"type":"reasoning"}]}"#,
        r#"{"trajectory":[7,{"action":[],"state":"{"}],"history":[{"role":"user"}]}"#,
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    for first in shapes {
        for second in shapes {
            fs::write(&path, format!("{first}\n{second}\n")).unwrap();
            if let Ok(found) = read(&path) {
                assert!(found.iter().all(|it| !it.messages.is_empty()));
            }
        }
    }
}

/// Cut off anywhere, a session gives what its whole lines before the cut tell, and a last line that only lacks
/// its end.
#[test]
fn a_session_that_is_cut_off_is_read_up_to_there() {
    for name in ["claude-code/5e55-0001.jsonl", "claude-code-old.jsonl", "codex.jsonl", "pi.jsonl"]
    {
        let whole = fs::read_to_string(fixture(name)).unwrap();
        let of_whole = of_cut(&whole).unwrap();
        let of_whole = records(&of_whole);
        let mut start = 0;
        for line in whole.split_inclusive('\n') {
            let end = start + line.trim_end().len();
            for cut in [start + 1, start.midpoint(end), end - 1, end] {
                let cut = whole.floor_char_boundary(cut);
                let complete = if cut == end { start + line.len() } else { start };
                let lines_of_messages =
                    whole[..complete].lines().filter(|line| of_whole.contains(line));
                let expected = of_cut(&whole[..complete]);
                match (of_cut(&whole[..cut]), &expected) {
                    (Ok(found), Ok(expected)) => {
                        let found = records(&found);
                        assert_eq!(found, records(expected), "{name} up to {cut}");
                        for line in lines_of_messages {
                            assert!(found.contains(line), "{name} up to {cut}: {line} is lost");
                        }
                    }
                    (Err(error), Err(_)) => {
                        assert!(error.contains("cut: "), "{error}");
                        assert_eq!(lines_of_messages.count(), 0, "{name} up to {cut}: {error}");
                    }
                    (found, expected) => {
                        panic!("{name} up to {cut}: {found:?} instead of {expected:?}")
                    }
                }
            }
            start += line.len();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Cut off anywhere, a document is none.
    #[test]
    fn a_document_that_is_cut_off_says_so(
        name in prop::sample::select(vec!["opencode.json", "swe-agent.traj", "mini-swe-agent.traj.json"]),
        share in 0.0..1.0,
    ) {
        let whole = fs::read_to_string(fixture(name)).unwrap();
        let whole = whole.trim_end();
        let end = whole.floor_char_boundary(cut(whole, share));
        let error = of_cut(&whole[..end]).unwrap_err();
        prop_assert!(error.contains("cut: "), "{error}");
    }
}

fn records(found: &[Recording]) -> BTreeSet<&str> {
    let messages = found.iter().flat_map(|it| &it.messages);
    messages.flat_map(|it| it.records.iter().map(String::as_str)).collect()
}

fn cut(whole: &str, share: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a share of a length"
    )]
    let end = (whole.len() as f64 * share) as usize;
    end
}

fn of_cut(text: &str) -> Result<Vec<Recording>, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut");
    fs::write(&path, text).unwrap();
    read(&path).map_err(|error| error.to_string())
}
