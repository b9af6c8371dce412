//! Logs as files: there once a frame has ended, whatever happened since.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::fs;

use callstack_core::transcript::{Message, MessageKind, Role};
use callstack_engine::operation::{Caller, TERMINAL};
use callstack_engine::{HostMessage, LogRequest, LoggedMessage, WholeLog, operations};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Project, caller};

/// A message of which only its JSON matters.
fn shown(id: &str, role: Role, text: &str) -> HostMessage {
    let name = if role == Role::User { "user" } else { "assistant" };
    let json = json!({"info": {"id": id, "role": name, "time": {"created": 1_700_000_000_000_i64}},
        "parts": [{"id": format!("prt_{id}"), "type": "text", "text": text}]});
    HostMessage {
        words: text.to_owned(),
        ..HostMessage::of(
            Message { id: id.to_owned(), role, standing: MessageKind::Normal, parts: Vec::new() },
            json.to_string(),
        )
    }
}

/// Records messages of the model, and waits until they are stored.
pub(crate) fn record(project: &Project, session: &str, messages: &[(&str, &str)]) {
    let engine = &project.engine;
    let shown = messages.iter().map(|(id, text)| shown(id, Role::Assistant, text)).collect();
    engine.record(session, shown).unwrap();
    let stored = |id: &str| engine.messages(session).unwrap().iter().any(|it| it.id == id);
    project.wait(|| messages.iter().all(|(id, _)| stored(id)));
}

/// A session with a finished frame f2, whose step that ended it is known, and its project.
fn finished() -> (TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::at(folder.path(), callstack_engine::Settings::default());
    project.user("ses_a", "Build the parser");
    record(&project, "ses_a", &[("msg-before", "before the frame")]);
    push(&project);
    let steps = [("msg-call", "the push"), ("msg-inside", "## 9 · user\ninside the frame")];
    record(&project, "ses_a", &steps);
    project.by_hand("ses_a", "stack_frame_pop", json!({"results": "23 rules"})).unwrap();
    record(&project, "ses_a", &[("msg-last", "the step that ended it")]);
    (folder, project)
}

fn push(project: &Project) {
    project.did("ses_a", "stack_frame_push", json!({"title": "Read", "successCriteria": "read"}));
}

fn log(folder: &TempDir, frame: &str) -> Option<String> {
    fs::read_to_string(folder.path().join(format!(".callstack/logs/{frame}.md"))).ok()
}

#[test]
fn lie_beside_the_store_for_their_owner_only_and_frames_point_to_them() {
    let (folder, project) = finished();
    project.wait(|| log(&folder, "f2").is_some_and(|text| text.contains("the step that ended it")));
    project.wait(|| project.engine.resolve("f2").unwrap().log_path.is_some());
    let frame = project.engine.resolve("f2").unwrap();
    assert_eq!(frame.log_path.as_deref(), Some(".callstack/logs/f2.md"));
    assert_eq!(json!(project.engine.metadata(&frame).unwrap())["logPath"], ".callstack/logs/f2.md");
    let text = log(&folder, "f2").unwrap();
    assert!(text.starts_with("# f2 \"Read\"\n\n- status: completed\n"), "{text}");
    assert!(text.contains("**Results, by the user**\n\n23 rules\n"), "{text}");
    assert!(text.contains("\n\\## 9 · user\ninside the frame\n"), "{text}");
    assert_eq!(log(&folder, "f1"), None, "the root is open");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &str| {
            fs::metadata(folder.path().join(path)).unwrap().permissions().mode() & 0o777
        };
        assert_eq!(mode(".callstack"), 0o700);
        assert_eq!(mode(".callstack/logs"), 0o700);
        assert_eq!(mode(".callstack/logs.lock"), 0o600);
        assert_eq!(mode(".callstack/logs/f2.md"), 0o600);
        assert_eq!(mode(".callstack/callstack.db"), 0o600);
        assert_eq!(mode(".callstack/callstack.db-wal"), 0o600);
    }
}

#[test]
fn are_written_again_when_they_are_missing_and_when_the_frame_goes_on() {
    let (folder, project) = finished();
    drop(project);
    let first = log(&folder, "f2").unwrap();
    fs::remove_file(folder.path().join(".callstack/logs/f2.md")).unwrap();
    fs::write(folder.path().join(".callstack/logs/.left.tmp"), "half").unwrap();
    let project = Project::at(folder.path(), callstack_engine::Settings::default());
    project.engine.write_files();
    project.wait(|| log(&folder, "f2").is_some());
    assert_eq!(log(&folder, "f2").unwrap(), first);
    assert!(!folder.path().join(".callstack/logs/.left.tmp").exists());
    project.did("ses_a", "stack_frame_reopen", json!({"frame": "f2"}));
    project.wait(|| log(&folder, "f2").unwrap().contains("- status: in_progress"));
    project.did("ses_a", "stack_frame_pop", json!({"results": "24 rules"}));
    project.wait(|| log(&folder, "f2").unwrap().contains("24 rules"));
    project.engine.rebuild().unwrap();
    assert!(project.engine.resolve("f2").unwrap().log_path.is_some());
}

#[test]
fn wait_for_a_disk_that_can_be_written() {
    let (folder, project) = finished();
    drop(project);
    let logs = folder.path().join(".callstack/logs");
    fs::remove_dir_all(&logs).unwrap();
    fs::write(&logs, "a file in the place of the folder").unwrap();
    let project = Project::at(folder.path(), callstack_engine::Settings::default());
    push(&project);
    project.did("ses_a", "stack_frame_pop", json!({"results": "done all the same"}));
    project.wait(|| project.engine.logs_failure().is_some());
    assert_eq!(project.status("f3"), "completed");
    drop(project);
    fs::remove_file(&logs).unwrap();
    let project = Project::at(folder.path(), callstack_engine::Settings::default());
    project.engine.write_files();
    project.wait(|| log(&folder, "f3").is_some() && log(&folder, "f2").is_some());
}

#[test]
fn can_be_read_in_parts_and_searched() {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::at(folder.path(), callstack_engine::Settings::default());
    project.user("ses_a", "Count");
    let texts: Vec<_> =
        (1..=100).map(|n| (format!("msg-{n}"), format!("number {n} here"))).collect();
    let messages: Vec<_> = texts.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    project
        .engine
        .record("ses_a", messages.iter().map(|(id, text)| shown(id, Role::User, text)).collect())
        .unwrap();
    project.wait(|| project.engine.messages("ses_a").unwrap().len() == 100);
    let read = |arguments: Value| project.did("ses_a", "stack_log", arguments);
    let part = read(json!({"from": 40, "count": 3}));
    assert_eq!(part.data["positions"], json!([40, 41, 42]));
    assert_eq!(part.data["next"], 43);
    assert!(part.text.contains("messages 40 to 42 of 100"), "{}", part.text);
    assert!(part.text.contains("\n## 41 · user · ") && part.text.contains("number 41 here"));
    assert!(part.text.ends_with("go on with from 43."), "{}", part.text);
    let found = read(json!({"query": "number 77"}));
    assert_eq!(found.data["positions"], json!([77]));
    assert!(found.text.contains("1 line in 1 message of 100 holds number 77"), "{}", found.text);
    let beyond = read(json!({"from": 101}));
    assert_eq!(beyond.data["positions"], json!([]));
    assert!(beyond.text.ends_with("no message from 101 on, of 100\n"), "{}", beyond.text);
    assert_eq!(read(json!({"count": 0})).data["positions"], json!([1]), "less than one is one");
    assert_eq!(read(json!({})).data["positions"].as_array().unwrap().len(), 20);
    let empty = project.call("ses_a", "stack_log", json!({"query": " "})).unwrap_err();
    assert_eq!(empty.message, "there is nothing to search for");
    let root = project.engine.resolve("f1").unwrap();
    let all = project.engine.read_log(&root, &LogRequest::default()).unwrap();
    let positions: Vec<_> = all.entries.iter().map(|entry| entry.position).collect();
    assert_eq!(positions, (1..=100).collect::<Vec<_>>());
}

#[test]
fn a_long_message_is_shown_in_parts_and_from_where_it_holds_what_is_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::at(folder.path(), callstack_engine::Settings::default());
    project.user("ses_a", "Tell");
    let words: Vec<_> = (0..60_000).map(|n| format!("{n}é")).collect();
    let long = words.join(" ");
    let messages = [("msg-1", "short"), ("msg-2", &long), ("msg-3", "the end")];
    record(&project, "ses_a", &messages);
    project.wait(|| project.engine.messages("ses_a").unwrap().len() == 3);
    let read = |arguments: Value| project.did("ses_a", "stack_log", arguments);
    let first = read(json!({}));
    assert_eq!((&first.data["positions"], &first.data["next"]), (&json!([1]), &json!(2)));
    let (mut shown, mut offset) = (String::new(), Value::Null);
    loop {
        let part = read(json!({"from": 2, "offset": offset}));
        assert!(part.text.len() < 41_000, "{}", part.text.len());
        shown.extend(part.text.lines().filter(|line| line.contains('é')));
        offset = part.data["offset"].clone();
        if offset.is_null() {
            assert!(part.text.contains("## 3 · "), "what follows is told with the rest");
            break;
        }
        assert_eq!(part.data["next"], 2);
        assert!(part.text.ends_with(&format!("with from 2 and offset {offset}.")), "{}", part.text);
    }
    assert_eq!(shown.trim_end(), long.trim_end(), "nothing is left out and nothing told twice");
    let found = read(json!({"query": "54321é"}));
    assert_eq!(found.data["positions"], json!([2]));
    assert!(found.text.contains(" 54321é ") && found.text.len() < 1_000);
    assert_eq!(read(json!({"from": 2, "offset": 10_000_000})).data["positions"], json!([2, 3]));
}

#[test]
fn a_person_reads_whole_messages_in_each_form_and_in_parts_with_secrets_only_if_revealed() {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::at(folder.path(), callstack_engine::Settings::default());
    project.user("ses_a", "Tell");
    let token = format!("ghp_{}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    let long = "word ".repeat(300_000);
    let secret = format!("use {token}\npassword=\"{token}\" now");
    let messages = [("msg-1", secret.as_str()), ("msg-2", &long), ("msg-3", "the end")];
    record(&project, "ses_a", &messages);
    project.wait(|| project.engine.messages("ses_a").unwrap().len() == 3);
    let read = |reveal: bool, arguments: Value| {
        let person = Caller { host: TERMINAL.to_owned(), reveal, ..caller("ses_a") };
        let operation = operations::find("stack_log").unwrap();
        let answer = operation.run(&project.engine, &person, arguments).unwrap();
        serde_json::from_value::<WholeLog>(answer.data).unwrap()
    };
    let first = read(false, json!({"frame": "f1", "whole": true}));
    let positions: Vec<_> = first.entries.iter().map(|entry| entry.position).collect();
    assert_eq!((positions, first.total, first.next), (vec![1, 2], 3, Some(3)), "a part ends");
    let rest = read(false, json!({"frame": "f1", "whole": true, "from": 3}));
    assert_eq!((rest.entries.len(), rest.next), (1, None));
    let found = read(false, json!({"frame": "f1", "whole": true, "query": "end"}));
    assert_eq!(found.entries.iter().map(|it| it.position).collect::<Vec<_>>(), [3]);
    let stored = &project.engine.messages("ses_a").unwrap()[0].json;
    for form in ["json", "markdown", "stored"] {
        let of = |reveal: bool| {
            let arguments = json!({"frame": "f1", "whole": true, "count": 1, "form": form});
            read(reveal, arguments).entries.remove(0)
        };
        let (masked, open) = (of(false), of(true));
        let json = |it: &LoggedMessage| serde_json::to_string(it).unwrap();
        assert!(json(&open).contains(&token), "{form}");
        assert!(!json(&masked).contains(&token) && json(&masked).contains("now"), "{form}");
        let filled = [masked.message.is_some(), masked.markdown.is_some()];
        assert_eq!(filled, [form == "json", form == "markdown"]);
        if form == "stored" {
            assert_eq!(open.stored_lines.as_ref(), Some(stored), "byte for byte");
            let line = masked.stored_lines.unwrap();
            let parsed: Value = serde_json::from_str(&line).expect("it stays JSON");
            assert_eq!(parsed["info"]["id"], "msg-1");
        }
    }
    let refused = project.call("ses_a", "stack_log", json!({"whole": true})).unwrap_err();
    assert_eq!(refused.message, "`whole` of `stack_log` is for a terminal alone");
}

#[test]
fn keep_older_versions_of_a_message() {
    let (_folder, project) = finished();
    record(&project, "ses_a", &[("msg-inside", "said otherwise")]);
    let frame = project.engine.resolve("f2").unwrap();
    let read = |versions| {
        let request = LogRequest { versions, ..LogRequest::default() };
        let part = project.engine.read_log(&frame, &request).unwrap();
        part.entries.iter().map(|entry| entry.to_markdown(true)).collect::<String>()
    };
    project.wait(|| read(false).contains("said otherwise"));
    assert!(!read(false).contains("inside the frame"));
    assert!(read(true).contains("inside the frame") && read(true).contains("version 2"));
    let found = project.did("ses_a", "stack_search", json!({"query": "\"inside the frame\""})).text;
    assert!(found.contains(", changed since): ") && found.contains("With versions"), "{found}");
    let found = project.did("ses_a", "stack_search", json!({"query": "otherwise"})).text;
    assert!(found.contains("said otherwise") && !found.contains("since"), "{found}");
    let versions_of = |versions: bool| {
        let part = project.did("ses_a", "stack_log", json!({"frame": "f2", "versions": versions}));
        (part.text.contains("inside the frame"), part.data["versions"].clone())
    };
    assert!(!versions_of(false).0);
    let (is_there, versions) = versions_of(true);
    assert!(is_there && versions.as_array().unwrap().contains(&json!(2)), "{versions}");
    let long = |sign: &str| format!("{sign} ").repeat(20_000);
    record(&project, "ses_a", &[("msg-inside", &long("α"))]);
    record(&project, "ses_a", &[("msg-inside", &long("β"))]);
    project.wait(|| read(false).contains("β β"));
    let (mut from, mut offset, mut text) = (json!(1), Value::Null, String::new());
    while !from.is_null() {
        let args =
            json!({"frame": "f2", "versions": true, "count": 1, "from": from, "offset": offset});
        let part = project.did("ses_a", "stack_log", args);
        text.push_str(&part.text);
        (from, offset) = (part.data["next"].clone(), part.data["offset"].clone());
        assert!(text.len() < 400_000, "it goes round in circles");
    }
    for sign in ["α ", "β "] {
        assert!(text.matches(sign).count() >= 19_999, "{sign}: {}", text.matches(sign).count());
    }
}

#[test]
fn one_that_can_not_be_written_keeps_no_other_from_it() {
    let (folder, project) = finished();
    drop(project);
    let logs = folder.path().join(".callstack/logs");
    fs::remove_dir_all(&logs).unwrap();
    fs::create_dir_all(logs.join("f2.md/in the way")).unwrap();
    let project = Project::at(folder.path(), callstack_engine::Settings::default());
    push(&project);
    project.did("ses_a", "stack_frame_pop", json!({"results": "done all the same"}));
    // The older frame's log has been due since it was seen to be missing.
    project.did("ses_a", "stack_frame_reopen", json!({"frame": "f2"}));
    project.wait(|| log(&folder, "f3").is_some());
    project.wait(|| project.engine.logs_failure().is_some());
}

#[test]
fn what_is_noted_on_a_frame_later_stands_in_its_log() {
    let (folder, project) = finished();
    project.wait(|| log(&folder, "f2").is_some());
    project.did("ses_a", "stack_add_decision", json!({"decision": "no recursion", "frame": "f2"}));
    project.wait(|| log(&folder, "f2").unwrap().contains("no recursion"));
}

#[test]
fn of_a_purged_frame_none_is_left_whatever_was_being_written() {
    let (folder, project) = finished();
    project.wait(|| log(&folder, "f2").is_some());
    let logs = folder.path().join(".callstack/logs");
    let text = fs::read(logs.join("f2.md")).unwrap();
    fs::remove_file(logs.join("f2.md")).unwrap();
    let plan = project.engine.purge_plan("f2").unwrap();
    assert!(plan.logs.is_empty() && plan.unplaced.is_empty(), "{plan:?}");
    // The file of a writer that was at work when the plan was made.
    fs::write(logs.join("f2.md"), &text).unwrap();
    fs::write(logs.join(".left.tmp"), &text).unwrap();
    project.engine.purge(plan, "somebody").unwrap();
    assert_eq!(log(&folder, "f2"), None);
    assert!(!logs.join(".left.tmp").exists());
}

#[test]
fn a_log_that_can_not_be_read_keeps_nothing_else_from_being_purged() {
    let (folder, project) = finished();
    project.wait(|| log(&folder, "f2").is_some());
    // No file can be read there.
    fs::create_dir(folder.path().join(".callstack/callstack.log.1")).unwrap();
    let plan = project.engine.purge_plan("f2").unwrap();
    let error = project.engine.purge(plan, "somebody").unwrap_err();
    assert!(error.message.contains("callstack.log.1"), "{error:?}");
    assert_eq!(log(&folder, "f2"), None);
    let left = project.engine.messages("ses_a").unwrap();
    assert!(left.iter().any(|message| message.purged), "{left:?}");
}

#[test]
fn a_frame_whose_beginning_was_never_stored_takes_nothing_else_with_it_when_it_is_purged() {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::at(folder.path(), callstack_engine::Settings::default());
    project.user("ses_a", "Build the parser");
    record(&project, "ses_a", &[("msg-before", "before the frame")]);
    // The message after which it begins is not stored.
    let frame = json!({"title": "Read", "successCriteria": "read"});
    project.by_hand("ses_a", "stack_frame_push", frame).unwrap();
    let plan = project.engine.purge_plan("f2").unwrap();
    assert_eq!((plan.messages, plan.unplaced.len()), (0, 1), "{plan:?}");
    project.engine.purge(plan, "somebody").unwrap();
    let kept = project.engine.messages("ses_a").unwrap();
    assert!(kept.iter().all(|message| !message.purged), "{kept:?}");
    let whole = project.engine.purge_plan("ses_a").unwrap();
    assert!(whole.messages > 0 && whole.unplaced.is_empty(), "{whole:?}");
}
