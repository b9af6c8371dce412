//! A trial with frames: the reader is informed when work was folded.

use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use callstack_testkit::trial::{Next, Part, Plan, Reader, Wheel, ledger, run};
use callstack_testkit::{Callstack, OpenCode};
use serde_json::{Value, json};

fn step(name: &str, input: &Value) -> String {
    json!({"text": "", "calls": [{"name": name, "input": input}]}).to_string()
}

#[test]
fn a_reader_hands_over_where_a_frame_was_folded() {
    if OpenCode::locate_or_skip().is_none() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let project = root.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let folder = root.path().join("trial");
    let plan = Plan {
        project: project.clone(),
        folder: folder.clone(),
        turns: vec!["Write a long list into list.txt.".to_owned()],
        callstack: Some((Callstack::at(env!("CARGO_BIN_EXE_callstack")), "suggest".to_owned())),
        env: Vec::new(),
        wheel: Wheel::Reader,
        context: 200_000,
        limit: Some(Duration::from_secs(90)),
    };
    let trial = thread::spawn(move || run(&plan, &AtomicBool::new(false), &mut |_| {}));
    while !folder.join("trial.json").exists() {
        thread::sleep(Duration::from_millis(20));
    }
    let reader = Reader::of(&folder);
    let next = |part| reader.next(part, Duration::from_mins(1)).unwrap();
    let list = "INNERWORK\n".repeat(400);
    for answer in [
        step(
            "stack_frame_push",
            &json!({"title": "Write the list", "successCriteria": "it is there"}),
        ),
        step("write", &json!({"filePath": "list.txt", "content": list})),
        step("stack_frame_pop", &json!({"results": "list.txt holds 400 lines."})),
    ] {
        let Next::Shown(_) = next(Part::New) else { panic!("no request is shown") };
        reader.answer(&answer).unwrap();
    }
    let Next::Handover(why) = next(Part::New) else { panic!("nothing was handed over") };
    assert!(why.contains("gone or changed"), "{why}");
    let Next::Shown(text) = next(Part::Whole) else { panic!("whoever takes over sees nothing") };
    assert!(
        text.contains("list.txt holds 400 lines.") || text.contains("read all of it"),
        "{text}"
    );
    // Evidence names the first lines of a file that can't be parsed.
    let is_left = |line: &str| line.contains("INNERWORK") && !line.contains(": `+");
    assert!(!text.lines().any(is_left), "{text}");
    reader.answer(r#"{"text": "It is written."}"#).unwrap();
    trial.join().unwrap().unwrap();
    assert!(project.join(".opencode/plugin/callstack.ts").exists());
    let took = ledger::of(&folder).unwrap();
    assert_eq!((took.requests, took.calls, took.changes), (4, 3, 1));
    assert!(took.sent < took.sent_linear, "{took:?}");
}
