//! Recorded sessions in a store.

use std::fs;
use std::path::Path;

use callstack_core::frame::{Frame, Status};
use callstack_core::transcript::Anchor;
use callstack_engine::operation::Caller;
use callstack_engine::search::{Depth, SearchAnswer, SearchRequest};
use callstack_engine::{Engine, LogRequest, PastCounts, Settings, SystemWorld, operations};
use callstack_hosts::import::{activities, import};
use callstack_recordings::{read, read_all};
use serde_json::json;
use tempfile::TempDir;

use crate::fixture;

pub(crate) struct Project {
    pub(crate) engine: Engine,
    _folder: TempDir,
}

impl Project {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let engine =
            Engine::open_unchecked(folder.path(), Settings::default(), Box::new(SystemWorld))
                .unwrap();
        engine.read_messages_with(activities);
        Self { engine, _folder: folder }
    }

    pub(crate) fn import(&self, path: &Path) -> PastCounts {
        import(&self.engine, &read(path).unwrap(), &mut |_, _| {}).unwrap()
    }

    /// The tree as text: a line a frame, with what it returned.
    fn tree(&self) -> String {
        let state = self.engine.state().unwrap();
        let mut frames: Vec<Frame> =
            state.frames.keys().map(|id| self.engine.resolve(id).unwrap()).collect();
        frames.sort_by_key(|frame| frame.num);
        let line = |frame: &Frame| {
            let parent = frame.parent.map_or_else(|| "-".to_owned(), |it| it.to_string());
            let results = frame.results.as_deref().unwrap_or("-");
            let files: Vec<&str> = frame.artifacts.iter().map(|it| it.path.as_str()).collect();
            format!(
                "{} < {parent} [{}] {} ({} to {}): {results:?} {files:?}",
                frame.num,
                frame.status,
                frame.identity.title,
                frame.created_at,
                frame.ended_at.map_or_else(|| "-".to_owned(), |at| at.to_string()),
            )
        };
        frames.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn search(&self, text: &str) -> SearchAnswer {
        let text = text.to_owned();
        let (exact, depth, reveal) = (false, Depth::Thorough, false);
        let request = SearchRequest { text, exact, frame: None, limit: 5, depth, reveal };
        self.engine.search(&request).unwrap()
    }
}

#[test]
fn tasks_turns_and_subagents_of_claude_code_become_frames() {
    let project = Project::new();
    let counts = project.import(&fixture("claude-code/5e55-0001.jsonl"));
    assert_eq!((counts.sessions, counts.followed), (2, 0));
    insta::assert_snapshot!(project.tree());
}

/// A subagent whose call is marked as failed, or returned its program's text about a model that could not be asked,
/// has failed, whatever its last words were.
#[test]
fn subagents_that_failed_are_failed_frames() {
    let said = r#"{"type": "text", "text": "Four tests are in test_basket.py."}"#;
    let error = r#"{"type": "text", "text": "API Error: 529 overloaded"}"#;
    let answer = r#"{"tool_use_id": "s1", "type": "tool_result","#;
    let marked = r#"{"tool_use_id": "s1", "type": "tool_result", "is_error": true,"#;
    for (from, to, result) in
        [(said, error, "API Error: 529 overloaded"), (answer, marked, "Four tests are in")]
    {
        let folder = tempfile::tempdir().unwrap();
        let whole = fs::read_to_string(fixture("claude-code/5e55-0001.jsonl")).unwrap();
        assert!(whole.contains(from), "{from}");
        let file = folder.path().join("5e55-0001.jsonl");
        fs::write(&file, whole.replace(from, to)).unwrap();
        let below = "5e55-0001/subagents/agent-b1.jsonl";
        let copy = folder.path().join(below);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(fixture(&format!("claude-code/{below}")), copy).unwrap();
        let project = Project::new();
        project.import(&file);
        let frame = project.engine.resolve("f4").unwrap();
        assert_eq!(frame.identity.title, "Write the tests");
        assert_eq!(frame.status, Status::Failed, "{result}");
        let results = frame.results.unwrap_or_default();
        assert!(results.starts_with(result), "{results}");
    }
}

#[test]
fn a_codex_session_becomes_frames() {
    let project = Project::new();
    let files = ["codex.jsonl", "codex-child.jsonl"].map(fixture);
    let recordings = read_all(&files, &mut |_| {}).unwrap();
    import(&project.engine, &recordings, &mut |_, _| {}).unwrap();
    insta::assert_snapshot!(project.tree());
}

#[test]
fn an_export_of_opencode_becomes_frames() {
    let project = Project::new();
    let files = ["opencode.json", "opencode-child.json"].map(fixture);
    let recordings = read_all(&files, &mut |_| {}).unwrap();
    import(&project.engine, &recordings, &mut |_, _| {}).unwrap();
    insta::assert_snapshot!(project.tree());
}

#[test]
fn a_trajectory_that_was_handed_in_is_over() {
    for (name, result) in [
        ("swe-agent.traj", "The discount is right now."),
        ("mini-swe-agent.traj.json", "It is right now."),
    ] {
        let project = Project::new();
        project.import(&fixture(name));
        let root = project.engine.resolve("f1").unwrap();
        assert_eq!(root.status, Status::Completed, "{name}");
        assert_eq!(root.results.as_deref(), Some(result), "{name}");
    }
}

#[test]
fn importing_twice_changes_nothing() {
    let project = Project::new();
    let first = project.import(&fixture(""));
    assert!(first.sessions > 8 && first.frames > 8 && first.messages > 40, "{first:?}");
    let (tree, sizes) = (project.tree(), project.engine.message_sizes().unwrap());
    let events = project.engine.check().unwrap();
    let again = project.import(&fixture(""));
    let known = PastCounts { known: first.sessions, ..PastCounts::default() };
    assert_eq!(again, known);
    assert_eq!(project.tree(), tree);
    assert_eq!(project.engine.message_sizes().unwrap(), sizes);
    assert_eq!(format!("{:?}", project.engine.check().unwrap()), format!("{events:?}"));
}

/// A session that went on after it was imported is imported further, whatever was cut off then.
#[test]
fn a_session_that_has_grown_is_gone_on_with() {
    let whole = fs::read_to_string(fixture("claude-code/5e55-0001.jsonl")).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    for cut in (3..lines.len()).step_by(7) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        let project = Project::new();
        for end in [cut, lines.len()] {
            fs::write(&path, lines[..end].join("\n")).unwrap();
            project.import(&path);
        }
        let stored = project.engine.messages("5e55-0001").unwrap();
        let ids: Vec<&str> = stored.iter().map(|message| message.id.as_str()).collect();
        for message in &read(&path).unwrap()[0].messages {
            assert!(ids.contains(&message.id.as_str()), "cut at {cut}: {} is lost", message.id);
            let kept = stored.iter().find(|it| it.id == message.id).unwrap();
            for record in &message.records {
                assert!(kept.json.contains(record), "cut at {cut}: {record} is lost");
            }
        }
        let twice = project.import(&path);
        assert_eq!((twice.sessions, twice.known), (0, 1), "cut at {cut}");
    }
}

#[test]
fn logs_give_the_records_back_byte_for_byte() {
    let project = Project::new();
    for (name, session) in [
        ("claude-code/5e55-0001.jsonl", "5e55-0001"),
        ("codex.jsonl", "c0de-1"),
        ("pi.jsonl", "31415"),
        ("opencode.json", "ses_1"),
        ("swe-agent.traj", ""),
        ("mini-swe-agent.traj.json", ""),
    ] {
        let recordings = read(&fixture(name)).unwrap();
        import(&project.engine, &recordings, &mut |_, _| {}).unwrap();
        let session = if session.is_empty() { &recordings[0].session } else { session };
        let root = project.engine.resolve(session).unwrap();
        let part = project.engine.read_log(&root, &LogRequest::default()).unwrap();
        let mut raw: Vec<String> = part.entries.iter().map(|entry| entry.to_raw(true)).collect();
        raw.retain(|raw| !raw.is_empty());
        // Messages of a left branch keep their place.
        let recording = &recordings[0];
        let messages = recording.messages.iter().enumerate().flat_map(|(place, message)| {
            let left = recording.left.iter().filter(move |left| left.before == place);
            left.map(|left| &left.message).chain([message])
        });
        let recorded: Vec<String> = messages
            .filter(|message| !message.records.is_empty())
            .map(|message| message.records.join("\n"))
            .collect();
        assert_eq!(raw, recorded, "{name}");
        for entry in &part.entries {
            assert!(!entry.to_markdown(true).contains("\"records\""), "{name}");
        }
    }
}

/// However a record is written, and however deeply it nests, it comes back, and the message is read.
#[test]
fn odd_records_come_back_byte_for_byte() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let call = |id: &str, arguments: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"k{id}","name":"look","arguments":{arguments}}}]}}}}"#
        )
    };
    let lines = [
        r#"{"type":"session","version":3,"id":"odd","cwd":"/home/ada/shop"}"#.to_owned(),
        r#"{ "type" :"message", "id": "1","message":{"role":"user","content":"Look at \u00e9 \/ \"1}\"" },"n":[1.50e+1,-0.0,123456789012345678901] }"#.to_owned(),
        call("2", r#"{"a": 1, "a": 2, "b": "[[[[{{{"}"#),
        call("3", &nested(94)),
        call("4", &nested(95)),
        call("5", &nested(96)),
        call("6", &nested(122)),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.jsonl");
    fs::write(&path, lines.join("\n")).unwrap();
    let project = Project::new();
    project.import(&path);
    let root = project.engine.resolve("odd").unwrap();
    let part = project.engine.read_log(&root, &LogRequest::default()).unwrap();
    let back: Vec<String> = part.entries.iter().map(|entry| entry.to_raw(true)).collect();
    assert_eq!(back, lines[1..]);
    for entry in &part.entries[1..] {
        let text = entry.to_markdown(true);
        assert!(text.starts_with(&format!("\n## {} · assistant", entry.position)), "{text}");
    }
}

#[test]
fn what_was_said_is_found_in_its_frame() {
    let project = Project::new();
    project.import(&fixture("claude-code/5e55-0001.jsonl"));
    let found = project.search("\"1 failed, 3 passed\"");
    let frame = found.places[0].frame.as_ref().unwrap();
    assert_eq!(frame.title, "Compute the discount");
    assert!(found.places[0].snippet.contains("1 failed, 3 passed"));
}

/// The text of an ended frame contains evidence, whatever its program calls its tools.
#[test]
fn evidence_is_taken_of_every_program() {
    for (name, session, seen) in [
        (
            "claude-code/5e55-0001.jsonl",
            "5e55-0001",
            &["`python -m pytest -q`: failed", "basket.py"][..],
        ),
        ("opencode-long.json", "ses_3", &["`make check`: failed, exit 2", "rates.py"][..]),
        ("codex-long.jsonl", "c0de-3", &["`make check`: failed, exit 2", "rates.py"][..]),
        ("pi-long.jsonl", "27182", &["`make check`: failed, exit 2", "rates.py"][..]),
    ] {
        let project = Project::new();
        project.import(&fixture(name));
        let spans = project.engine.spans(session).unwrap();
        let mut folds = spans.iter().filter_map(|span| span.fold.as_ref());
        let has_all = |text: &str| seen.iter().all(|words| text.contains(words));
        assert!(folds.any(|fold| has_all(&fold.text)), "{name}: {spans:#?}");
    }
}

#[test]
fn a_secret_is_masked_in_what_is_raw() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let text = fs::read_to_string(fixture("pi.jsonl")).unwrap();
    fs::write(&path, text.replace("Show me the basket", &secret)).unwrap();
    let project = Project::new();
    project.import(&path);
    let root = project.engine.resolve("31415").unwrap();
    let part = project.engine.read_log(&root, &LogRequest::default()).unwrap();
    let raw = |reveal| part.entries.iter().any(|it| it.to_raw(reveal).contains(&secret));
    assert!(raw(true) && !raw(false));
}

/// Recorded work belongs to no session here, neither to one beside the import nor to a later one.
#[test]
fn a_recorded_session_is_never_the_one_that_was_worked_in_last() {
    let project = Project::new();
    project.import(&fixture("pi.jsonl"));
    assert_eq!(project.engine.latest_session().unwrap(), None);
    let anchor = Anchor { message: None, call: None };
    let here = Caller {
        session: "here".to_owned(),
        host: "cli".to_owned(),
        anchor,
        agent: None,
        performs: false,
        reveal: true,
        key: None,
    };
    let push = operations::find("stack_frame_push").unwrap();
    let pop = operations::find("stack_frame_pop").unwrap();
    let frame = |title: &str| json!({ "title": title, "successCriteria": "it works" });
    push.run(&project.engine, &here, frame("Outer")).unwrap();
    push.run(&project.engine, &here, frame("Inner")).unwrap();
    let mut popped = false;
    import(&project.engine, &read(&fixture("codex.jsonl")).unwrap(), &mut |_, _| {
        let last = project.engine.latest_session().unwrap().unwrap().0;
        assert_eq!(last, "here");
        if !std::mem::replace(&mut popped, true) {
            pop.run(&project.engine, &here, json!({ "results": "done" })).unwrap();
        }
    })
    .unwrap();
    let active = project.engine.active("here").unwrap().unwrap();
    let active = project.engine.resolve(&active.to_string()).unwrap();
    assert_eq!(active.identity.title, "Outer", "what ended meanwhile stays ended");
}
