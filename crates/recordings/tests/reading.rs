//! Reading each program's files.

use std::collections::BTreeSet;
use std::fs;

use callstack_recordings::{Format, Progress, Recorded, Recording, parts, read, read_all};

use crate::fixture;
use crate::rendered::rendered;

fn of(name: &str) -> Vec<Recording> {
    read(&fixture(name)).unwrap()
}

#[test]
fn claude_code() {
    insta::assert_snapshot!(rendered(&of("claude-code/5e55-0001.jsonl")));
}

#[test]
fn claude_code_with_side_chains_in_the_session_itself() {
    insta::assert_snapshot!(rendered(&of("claude-code-old.jsonl")));
}

#[test]
fn codex() {
    let files = ["codex.jsonl", "codex-child.jsonl", "codex-old.jsonl"].map(fixture);
    insta::assert_snapshot!(rendered(&read_all(&files, &mut |_| {}).unwrap()));
}

#[test]
fn pi() {
    insta::assert_snapshot!(rendered(&of("pi.jsonl")));
}

#[test]
fn opencode() {
    let files = ["opencode-child.json", "opencode.json"].map(fixture);
    insta::assert_snapshot!(rendered(&read_all(&files, &mut |_| {}).unwrap()));
}

#[test]
fn swe_agent() {
    insta::assert_snapshot!(rendered(&of("swe-agent.traj")));
}

#[test]
fn mini_swe_agent() {
    insta::assert_snapshot!(rendered(&of("mini-swe-agent.traj.json")));
}

/// The name tells nothing: each is found out under any.
#[test]
fn formats_are_recognized_by_content() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format) in [
        ("claude-code/5e55-0001.jsonl", Format::ClaudeCode),
        ("claude-code-old.jsonl", Format::ClaudeCode),
        ("codex.jsonl", Format::Codex),
        ("codex-old.jsonl", Format::Codex),
        ("pi.jsonl", Format::Pi),
        ("opencode.json", Format::OpenCode),
        ("swe-agent.traj", Format::SweAgent),
        ("mini-swe-agent.traj.json", Format::MiniSweAgent),
    ] {
        let path = folder.path().join("session.txt");
        fs::copy(fixture(name), &path).unwrap();
        let found = read(&path).unwrap();
        assert!(found.iter().all(|it| it.format == format), "{name}");
    }
    // A document on one line is a document too.
    let path = folder.path().join("line");
    let text = fs::read_to_string(fixture("opencode.json")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    fs::write(&path, value.to_string()).unwrap();
    assert_eq!(read(&path).unwrap()[0].format, Format::OpenCode);
    // A line of a document may be an object.
    fs::write(&path, text.replacen('{', "{\n \"share\":\n{}\n,", 1)).unwrap();
    assert_eq!(read(&path).unwrap(), of("opencode.json"));
}

#[test]
fn a_folder_holds_the_sessions_of_all_folders_in_it() {
    let found = read(&fixture("")).unwrap();
    let ids: BTreeSet<&str> = found.iter().map(|it| it.session.as_str()).collect();
    assert_eq!(ids.len(), found.len(), "a session is there twice");
    for id in ["5e55-0001", "5e55-0001.agent-b1", "5e55-0002.agent-b2", "c0de-2", "31415", "ses_2"]
    {
        assert!(ids.contains(id), "{id} is not in {ids:?}");
    }
    let started = found.iter().skip_while(|it| it.parent.is_none());
    assert!(started.clone().count() >= 5 && started.clone().all(|it| it.parent.is_some()));
    let linked = started.filter(|it| it.parent.as_ref().is_some_and(|it| it.call.is_some()));
    assert_eq!(linked.count(), 5, "a session does not know its call");
}

#[test]
fn a_folder_of_folders_is_read_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["a/2026/01", "a/2026/02", "b/s/subagents", ".hidden/c"] {
        fs::create_dir_all(path(name)).unwrap();
    }
    for name in ["a/2026/01/s.jsonl", "a/2026/02/t.jsonl", "b/s.jsonl", "b/s/subagents/x.jsonl"] {
        fs::write(path(name), "").unwrap();
    }
    let wanted = ["a/2026/01", "a/2026/02", "b"].map(path);
    assert_eq!(parts(folder.path()), wanted);
    assert_eq!(parts(&path("b")), [path("b")]);
    assert_eq!(parts(&path("b/s.jsonl")), [path("b/s.jsonl")]);
}

#[test]
fn a_session_without_an_id_has_the_same_one_again_when_it_has_grown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let line = |uuid: &str| {
        format!(
            r#"{{"type":"user","uuid":"{uuid}","parentUuid":null,"message":{{"content":"x"}}}}"#
        )
    };
    fs::write(&path, line("a")).unwrap();
    let first = read(&path).unwrap()[0].session.clone();
    fs::write(&path, line("a").replace('\n', "") + "\n" + &line("b").replace("null", "\"a\""))
        .unwrap();
    assert_eq!(read(&path).unwrap()[0].session, first);
    assert!(first.starts_with("claude-code-"), "{first}");
}

#[test]
fn agents_files_beside_a_session_belong_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let agent = fixture("claude-code/5e55-0001/subagents/agent-b1.jsonl");
    fs::copy(fixture("claude-code/5e55-0001.jsonl"), folder.path().join("s.jsonl")).unwrap();
    fs::copy(&agent, folder.path().join("agent-b1.jsonl")).unwrap();
    let other = fs::read_to_string(&agent).unwrap().replace("5e55-0001", "5e55-0009");
    fs::write(folder.path().join("agent-zz.jsonl"), other).unwrap();
    let found = read(&folder.path().join("s.jsonl")).unwrap();
    let ids: Vec<&str> = found.iter().map(|it| it.session.as_str()).collect();
    assert_eq!(ids, ["5e55-0001", "5e55-0001.agent-b1"]);
    // Read by itself, it still names the session that started it.
    let alone = read(&agent).unwrap();
    assert_eq!(alone[0].parent.as_ref().unwrap().session, "5e55-0001");
}

/// Every line of the conversation can be had back, byte for byte.
#[test]
fn records_are_kept_byte_for_byte() {
    for (name, kinds) in [
        ("claude-code-old.jsonl", &["\"type\": \"user\"", "\"type\": \"assistant\""][..]),
        ("codex.jsonl", &["function_call_output", "custom_tool_call", "reasoning"][..]),
        ("pi.jsonl", &["toolResult", "compaction"][..]),
    ] {
        let found = of(name);
        let kept: BTreeSet<&str> = found
            .iter()
            .flat_map(|it| &it.messages)
            .flat_map(|it| it.records.iter().map(String::as_str))
            .collect();
        let text = fs::read_to_string(fixture(name)).unwrap();
        let wanted: Vec<&str> =
            text.lines().filter(|line| kinds.iter().any(|kind| line.contains(kind))).collect();
        assert!(wanted.len() >= 3, "{name}");
        for line in wanted {
            assert!(kept.contains(line), "{name} lost {line}");
        }
    }
    let text = fs::read_to_string(fixture("opencode.json")).unwrap();
    for message in &of("opencode.json")[0].messages {
        assert!(message.records.iter().all(|record| text.contains(record)));
    }
}

fn shown(recording: &Recording, id: &str) -> Vec<String> {
    let at = recording.messages.iter().position(|it| it.id == id).unwrap();
    let shown = recording.shown(at).into_iter();
    shown.map(|place| recording.messages[place].id.clone()).collect()
}

#[test]
fn after_a_compaction_the_model_is_shown_the_summary_and_what_was_kept() {
    let claude = &of("claude-code/5e55-0001.jsonl")[0];
    assert_eq!(shown(claude, "msg_12"), ["y2", "u6", "u7", "u8"]);
    assert_eq!(shown(claude, "msg_1"), ["u1", "u1a"]);
    assert!(shown(claude, "msg_10").contains(&"msg_8".to_owned()));
    let pi = &of("pi.jsonl")[0];
    assert_eq!(shown(pi, "14"), ["10", "8", "9", "12", "13"]);
    let opencode = &of("opencode.json")[0];
    assert_eq!(shown(opencode, "msg_08"), ["msg_05", "msg_06", "msg_04", "msg_07"]);
    let codex = &of("codex.jsonl")[0];
    let last = codex.messages.last().unwrap().id.clone();
    assert_eq!(shown(codex, &last), ["1", "2", "3", "10", "11"]);
}

#[test]
fn answers_are_counted_as_calls_of_the_model() {
    for (name, calls) in [
        ("claude-code/5e55-0001.jsonl", 11),
        ("codex.jsonl", 5),
        ("pi.jsonl", 4),
        ("opencode.json", 5),
        ("swe-agent.traj", 2),
        ("mini-swe-agent.traj.json", 3),
    ] {
        let found = &of(name)[0];
        assert_eq!(found.model_calls(), calls, "{name}");
        assert_eq!(found.messages.iter().filter(|it| Recorded::is_answer(it)).count(), calls);
    }
}

#[test]
fn a_long_file_reports_how_far_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.jsonl");
    let session = r#"{"type":"session","id":"long","cwd":"/","timestamp":"2026-01-01T00:00:00Z"}"#;
    let line = format!(
        r#"{{"type":"message","message":{{"role":"user","content":"{}"}}}}"#,
        "x".repeat(90_000)
    );
    fs::write(
        &path,
        [session].into_iter().chain([line.as_str(); 120]).collect::<Vec<_>>().join("\n"),
    )
    .unwrap();
    let mut progress_seen = Vec::new();
    let found = read_all(&[&path], &mut |progress| {
        if let Progress::Reading { read, bytes, .. } = progress {
            progress_seen.push((read, bytes));
        }
    });
    assert_eq!(found.unwrap()[0].messages.len(), 120);
    assert!(progress_seen.len() >= 3 && progress_seen.is_sorted(), "{progress_seen:?}");
    assert!(progress_seen.iter().all(|(read, bytes)| read <= bytes));
}
