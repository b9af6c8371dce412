//! The evidence of the work in a frame is stored when that ends, and shown wherever the frame is.

use std::path::Path;

use callstack_core::evidence::{CheckRun, Evidence, WrittenFile};
use callstack_core::text::estimate_tokens;
use callstack_core::transcript::{
    Anchor, CallState, Message, MessageKind, Part, PartBody, Role, ToolCall,
};
use callstack_engine::operation::{Answer, Caller};
use callstack_engine::search::{Depth, PlaceKind, SearchRequest};
use callstack_engine::tree::Checked;
use callstack_engine::{Engine, HostMessage, Settings, operations};
use serde_json::{Value, json};

use crate::support::Project;
use crate::witness::{activities, did};

const A: &str = "ses_a";

/// Shows the engine a step of a session's agent in which these things were done.
fn step(engine: &Engine, session: &str, id: &str, doings: &[Value]) {
    let call = format!("call-{id}");
    let body = PartBody::from(ToolCall::new(call, "bash", CallState::Completed));
    let mut shown = HostMessage::of(
        Message {
            id: id.to_owned(),
            role: Role::Assistant,
            standing: MessageKind::Normal,
            parts: vec![Part { id: format!("prt-{id}"), body }],
        },
        json!({ "id": id }).to_string(),
    );
    did(&mut shown, doings.iter().cloned());
    engine.record(session, vec![shown]).unwrap();
}

/// Calls an operation in a step of its own.
fn call(engine: &Engine, session: &str, id: &str, name: &str, arguments: Value) -> Answer {
    let caller = Caller {
        session: session.to_owned(),
        host: "test".to_owned(),
        anchor: Anchor { message: Some(id.to_owned()), call: Some(format!("call-{id}")) },
        agent: None,
        performs: false,
        reveal: true,
        key: None,
    };
    let answer = operations::find(name).unwrap().run(engine, &caller, arguments);
    step(engine, session, id, &[]);
    answer.unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

fn frame(title: &str) -> Value {
    json!({"title": title, "successCriteria": format!("the {title} works")})
}

fn tests(passed: u64, failed: u64) -> String {
    let ok = if failed == 0 { "ok" } else { "FAILED" };
    format!("test result: {ok}. {passed} passed; {failed} failed; 0 ignored; 0 measured")
}

const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

/// A root `f1`, the planned `f2` "lexer" and the finished `f3` "grammar", in which a file was written and
/// tests failed and then passed.
fn worked(folder: &Path) -> Project {
    let project = Project::at(folder, Settings::default());
    let engine = &project.engine;
    engine.read_messages_with(activities);
    project.user(A, "Write the parser");
    call(engine, A, "m1", "stack_frame_plan", json!({"children": [frame("lexer")]}));
    step(engine, A, "m2", &[json!({"ran": "make before", "exit": 0})]);
    step(engine, A, "m3", &[]);
    call(engine, A, "m3", "stack_frame_push", frame("grammar"));
    std::fs::write(folder.join("rules.txt"), "rules").unwrap();
    let failed = json!({"ran": "cargo test", "exit": 101, "output": tests(3, 1)});
    step(engine, A, "m4", &[json!({"wrote": "rules.txt"}), failed]);
    let login = json!({"ran": format!("login {TOKEN}"), "exit": 0});
    let passed = json!({"ran": "cargo test", "exit": 0, "output": tests(4, 0)});
    step(engine, A, "m5", &[login, passed]);
    step(engine, A, "m6", &[]);
    call(engine, A, "m6", "stack_frame_pop", json!({"results": "23 rules"}));
    project
}

fn of(engine: &Engine, handle: &str) -> Evidence {
    engine.metadata(&engine.resolve(handle).unwrap()).unwrap().evidence
}

fn search(engine: &Engine, text: &str) -> Vec<(PlaceKind, String)> {
    let request = SearchRequest {
        text: text.to_owned(),
        exact: false,
        frame: None,
        limit: 10,
        depth: Depth::Thorough,
        reveal: false,
    };
    let found = engine.search(&request).unwrap().places.into_iter();
    found.map(|place| (place.kind, place.frame.map_or_else(String::new, |it| it.handle))).collect()
}

#[test]
fn it_is_stored_with_the_pop_as_the_fold_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let project = worked(folder.path());
    let engine = &project.engine;
    let evidence = of(engine, "f3");
    let [WrittenFile { path, hash: Some(written) }] = &evidence.written[..] else {
        panic!("{evidence:?}")
    };
    assert_eq!((path.as_str(), written.len()), ("rules.txt", 64));
    assert_eq!(Some(written.clone()), project_hash(engine, "rules.txt"));
    let run =
        CheckRun { line: "cargo test".to_owned(), passed: Some(true), said: "4 passed".to_owned() };
    assert_eq!(evidence.checks, [run], "and not what was run before the frame");
    let fold = engine.spans(A).unwrap().into_iter().filter_map(|span| span.fold).next_back();
    let line = "`cargo test`: 4 passed\n";
    let fold = fold.unwrap();
    assert!(fold.text.contains(line), "{}", fold.text);
    // Another process shows the same, and the whole state contains it.
    assert_eq!(of(&project.another(), "f3"), evidence);
    let state = engine.state().unwrap();
    let in_state = state.frames.values().find(|it| it.handle == "f3").unwrap();
    assert_eq!(in_state.evidence, evidence);
}

#[test]
fn a_drawn_tree_knows_how_large_frames_were_and_how_their_checks_ended() {
    let folder = tempfile::tempdir().unwrap();
    let project = worked(folder.path());
    let engine = &project.engine;
    let notes = engine.tree_notes(&engine.tree(None).unwrap()).unwrap();
    let num = |handle: &str| engine.resolve(handle).unwrap().num;
    assert_eq!(notes.checked.get(&num("f3")), Some(&Checked::Passed));
    let size = |handle: &str| notes.tokens.get(&num(handle)).copied();
    let [said, asked] = [tests(3, 1), format!("login {TOKEN}")].map(|it| estimate_tokens(&it));
    assert!(size("f3").is_some_and(|size| size > said + asked), "{:?}", size("f3"));
    assert_eq!(size("f1"), size("f3"), "a frame is as large as those below it");
    assert_eq!(size("f2"), None, "nobody has worked in it");
}

/// Returns the hash of a file's present content, by the way in which artifacts are recorded.
fn project_hash(engine: &Engine, path: &str) -> Option<String> {
    engine.files_written(A, &[path.to_owned()]).unwrap();
    let root = engine.resolve("f1").unwrap();
    root.artifacts.into_iter().find(|it| it.path == path).and_then(|it| it.hash)
}

#[test]
fn it_is_shown_searched_logged_and_given_to_those_beside_the_frame() {
    let folder = tempfile::tempdir().unwrap();
    let project = worked(folder.path());
    let engine = &project.engine;
    let details = project.did(A, "stack_frame_details", json!({"frame": "f3"}));
    let written = "evidence: written: rules.txt\n";
    assert!(details.text.contains(written), "{}", details.text);
    assert_eq!(details.data["evidence"]["checks"][0]["said"], "4 passed");
    let context = project.did(A, "stack_context_preview", json!({"frame": "f2"})).text;
    assert!(context.contains("<evidence>`cargo test`: 4 passed</evidence>"), "{context}");
    let pushed = call(engine, A, "m7", "stack_frame_push", frame("grammar speed")).text;
    assert!(!pushed.contains("completed") && !pushed.contains("<evidence>"), "{pushed}");
    let evidence = (PlaceKind::Evidence, "f3".to_owned());
    assert!(search(engine, "rules.txt").contains(&evidence));
    assert!(search(engine, "cargo test 23").contains(&evidence), "with what is said");
    assert_eq!(search(engine, "23 rules")[0], (PlaceKind::Frame, "f3".to_owned()));
    assert!(!search(engine, "login").contains(&evidence), "a command that checks nothing");
    assert!(!search(engine, TOKEN).contains(&evidence), "its secret is not");
    let said = engine.messages(A).unwrap();
    assert!(said.iter().any(|message| message.json.contains(TOKEN)), "it is kept as it was said");
    let found = project.did(A, "stack_search", json!({"query": "rules.txt"})).text;
    assert!(found.contains("- f3 \"grammar\", evidence: "), "{found}");
    let markdown = engine.export(None).unwrap().to_markdown();
    assert!(markdown.contains("**Evidence**") && markdown.contains("cargo test"), "{markdown}");
    let log = written_log(&project, folder.path());
    assert!(log.contains("**Evidence**") && log.contains("cargo test"), "{log}");
    assert!(log.contains("login ‹masked: GitHub token›") && !log.contains(TOKEN), "{log}");
}

/// The log file of `f3`, once it is there.
fn written_log(project: &Project, folder: &Path) -> String {
    let path = folder.join(callstack_store::log_path(callstack_core::frame::FrameNum(3)));
    project.wait(|| path.is_file());
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_frame_that_goes_elsewhere_takes_it_along() {
    let folder = tempfile::tempdir().unwrap();
    let project = worked(folder.path());
    let exported = serde_json::to_string(&project.engine.state().unwrap()).unwrap();
    let other = tempfile::tempdir().unwrap();
    let file = other.path().join("tree.json");
    std::fs::write(&file, &exported).unwrap();
    let there = Project::at(other.path(), Settings::default());
    there.engine.import(std::slice::from_ref(&file)).unwrap();
    assert_eq!(of(&there.engine, "f3"), of(&project.engine, "f3"));
    assert!(there.engine.check().unwrap().drifted.is_empty());
    // Another program's field of that name is not ours, and does not keep the frame from being imported.
    let mut foreign: Value = serde_json::from_str(&exported).unwrap();
    for frame in foreign["frames"].as_object_mut().unwrap().values_mut() {
        frame["evidence"] = json!({"written": 7});
    }
    std::fs::write(&file, foreign.to_string()).unwrap();
    let third = tempfile::tempdir().unwrap();
    let third = Project::at(third.path(), Settings::default());
    assert_eq!(third.engine.import(&[file]).unwrap().counts.imported, 3);
    assert!(of(&third.engine, "f3").is_empty());
}

#[test]
fn it_goes_with_the_messages_that_it_was_taken_from() {
    let folder = tempfile::tempdir().unwrap();
    let project = worked(folder.path());
    let engine = &project.engine;
    let plan = engine.purge_plan("f3").unwrap();
    engine.purge(plan, "somebody").unwrap();
    assert!(of(engine, "f3").is_empty());
    assert!(search(engine, "rules.txt").is_empty());
    let health = engine.check().unwrap();
    assert!(health.damage.is_empty() && health.drifted.is_empty(), "{health:?}");
}

#[test]
fn a_fresh_try_is_given_how_the_first_one_stood() {
    let folder = tempfile::tempdir().unwrap();
    let project = worked(folder.path());
    call(&project.engine, A, "m7", "stack_frame_retry", json!({"frame": "f3"}));
    let learnt = project.engine.resolve("f4").unwrap().decisions.concat();
    let first = "This was tried before in f3 \"grammar\", which is completed: 23 rules\n";
    assert_eq!(learnt, format!("{first}How it stood at its end: `cargo test`: 4 passed"));
}

#[test]
fn a_frame_that_is_taken_up_again_has_that_of_all_its_work() {
    let folder = tempfile::tempdir().unwrap();
    let project = worked(folder.path());
    let engine = &project.engine;
    call(engine, A, "m7", "stack_frame_reopen", json!({"frame": "f3"}));
    step(engine, A, "m8", &[json!({"ran": "cargo test", "exit": 1, "output": tests(2, 3)})]);
    step(engine, A, "m9", &[json!({"ran": "git stash", "exit": 0})]);
    call(engine, A, "n1", "stack_frame_pop", json!({"results": "24 rules", "status": "failed"}));
    let evidence = of(engine, "f3");
    let checks: Vec<_> = evidence.checks.iter().map(|it| (it.passed, it.said.as_str())).collect();
    assert_eq!(checks, [(Some(false), "2 passed, 3 failed")]);
    assert_eq!(evidence.written.len(), 1);
}

#[test]
fn line_numbers_that_an_earlier_frame_gave_are_called_out_of_date() {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::at(folder.path(), Settings::default());
    let engine = &project.engine;
    engine.read_messages_with(activities);
    project.user(A, "Write the parser");
    let file = |text: &str| std::fs::write(folder.path().join("notes.adoc"), text).unwrap();
    let change = |id: &str, before: &str, after: &str| {
        step(engine, A, id, &[json!({"wrote": "notes.adoc", "before": before, "after": after})]);
    };
    let text = |id: &str| {
        let num = engine.resolve(id).unwrap().num;
        let spans = engine.spans(A).unwrap();
        spans.into_iter().find(|span| span.frame == num).unwrap().fold.unwrap().text
    };
    call(engine, A, "m1", "stack_frame_push", frame("first"));
    file("one\ntwo\nthree rules\n");
    change("m2", "three\n", "three rules\n");
    call(engine, A, "m3", "stack_frame_pop", json!({"results": "It is in."}));
    assert!(text("f2").contains("\n- notes.adoc +1 -1 (now line 3)"), "{}", text("f2"));

    call(engine, A, "m4", "stack_frame_push", frame("second"));
    step(
        engine,
        A,
        "m5",
        &[json!({"read": "notes.adoc", "output": "1\tone\n2\ttwo\n3\tthree rules"})],
    );
    call(engine, A, "m6", "stack_frame_push", frame("inner"));
    file("zero\nnought\none\ntwo\nthree rules\n");
    change("m7", "one\n", "zero\nnought\none\n");
    call(engine, A, "m8", "stack_frame_pop", json!({"results": "It begins at zero."}));
    let inner = text("f4");
    let outdated = "Read before f4 changed it, so out of date further up: notes.adoc\n";
    assert!(inner.contains(outdated), "{inner}");
    assert!(!inner.contains("line numbers"), "said once: {inner}");
    call(engine, A, "m9", "stack_frame_pop", json!({"results": "It begins at zero."}));
    let moved =
        "\n- line numbers of notes.adoc further up are out of date: +2 from the first line on\n";
    assert!(text("f3").contains(moved), "{}", text("f3"));

    call(engine, A, "n1", "stack_frame_push", frame("third"));
    file("zero\nnought\none\ntwo\nfour rules\n");
    step(
        engine,
        A,
        "n2",
        &[
            json!({"read": "notes.adoc", "output": "1\tzero\n2\tnought\n3\tone\n4\ttwo\n5\tthree rules"}),
        ],
    );
    change("n3", "three rules", "four rules");
    call(engine, A, "n4", "stack_frame_pop", json!({"results": "There are four."}));
    assert!(!text("f5").contains("line numbers"), "they are as they were: {}", text("f5"));
}

/// Shows a step of calls beside one of callstack's, which stands as `null` among them.
fn beside(engine: &Engine, id: &str, doings: &[Value]) {
    let part = |at: usize, own: bool| {
        let call = if own { format!("call-{id}") } else { format!("call-{id}-{at}") };
        json!({"id": at.to_string(), "callID": call})
    };
    let parts: Vec<_> =
        doings.iter().enumerate().map(|(at, did)| part(at, did.is_null())).collect();
    let body = PartBody::Text { synthetic: false, chars: 1, head: "x".to_owned() };
    let mut shown = HostMessage::of(
        Message {
            id: id.to_owned(),
            role: Role::Assistant,
            standing: MessageKind::Normal,
            parts: vec![Part { id: "0".to_owned(), body }],
        },
        json!({"id": id, "parts": parts}).to_string(),
    );
    let own = json!({"ran": "callstack"});
    did(&mut shown, doings.iter().map(|it| if it.is_null() { own.clone() } else { it.clone() }));
    engine.record(A, vec![shown]).unwrap();
}

#[test]
fn what_was_read_beside_a_pop_or_a_push_is_out_of_date_where_it_stays() {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::at(folder.path(), Settings::default());
    let engine = &project.engine;
    engine.read_messages_with(activities);
    project.user(A, "Write the parser");
    let read = |path: &str| json!({"read": path, "output": "1\tone"});
    call(engine, A, "m1", "stack_frame_push", frame("first"));
    beside(engine, "m1", &[Value::Null, read("left.rs")]);
    call(engine, A, "m2", "stack_frame_pop", json!({"results": "It is in."}));
    beside(engine, "m2", &[read("left too.rs"), Value::Null, read("after the pop.rs")]);
    call(engine, A, "m3", "stack_frame_push", frame("second"));
    beside(engine, "m3", &[read("before the push.rs"), Value::Null, read("its own.rs")]);
    let all = ["left.rs", "left too.rs", "after the pop.rs", "before the push.rs", "its own.rs"];
    step(engine, A, "m4", &all.map(|path| json!({"wrote": path})));
    call(engine, A, "m5", "stack_frame_pop", json!({"results": "It is in, too."}));
    assert_eq!(of(engine, "f3").outdated, ["after the pop.rs", "before the push.rs"]);
}
