//! Logs, search and purges of frames whose calls stand beside others in a step.

use std::fs;
use std::path::Path;

use callstack_engine::operation::{Caller, TERMINAL};
use callstack_engine::search::{Depth, SearchRequest};
use callstack_engine::{Engine, HostMessage, Kind, LogRequest, operations};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::batches::{A, made, pop, project, push, step, user};
use crate::plugin::Plugin;
use crate::support::{Project, caller};

/// A frame whose step has reads on either side of the push, one more read, and a pop with a read on either side.
fn worked() -> (TempDir, Project, Plugin, Vec<HostMessage>) {
    let folder = tempfile::tempdir().unwrap();
    let project = project(folder.path());
    let engine = &project.engine;
    let mut plugin = Plugin::default();
    let mut shown = vec![user("u1")];
    plugin.sync(engine, A, &shown);
    push(engine, "a1", "push");
    let calls = [made("kettle", "read"), made("push", "stack_frame_push"), made("quartz", "read")];
    shown.push(step("a1", &calls));
    plugin.sync(engine, A, &shown);
    shown.push(step("a2", &[made("marble", "read")]));
    plugin.sync(engine, A, &shown);
    pop(engine, "a3", "pop");
    let calls = [made("basalt", "read"), made("pop", "stack_frame_pop"), made("later", "read")];
    shown.push(step("a3", &calls));
    plugin.sync(engine, A, &shown);
    (folder, project, plugin, shown)
}

/// The outputs in each message of a frame's log.
fn log(engine: &Engine, frame: &str) -> Vec<(u64, Vec<String>)> {
    let frame = engine.resolve(frame).unwrap();
    let part = engine.read_log(&frame, &LogRequest::default()).unwrap();
    assert_eq!(
        (part.total, engine.log_length(&frame).unwrap()),
        (part.entries.len() as u64, part.total)
    );
    let outputs = |json: &str| {
        let message: Value = serde_json::from_str(json).unwrap();
        let parts = message["parts"].as_array().cloned().unwrap_or_default();
        parts.iter().map(|part| part["callID"].as_str().unwrap().to_owned()).collect()
    };
    part.entries.iter().map(|it| (it.position, outputs(&it.message.json))).collect()
}

fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if fs::read(&path).unwrap().windows(text.len()).any(|it| it == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn the_log_of_a_frame_begins_with_the_calls_after_its_push() {
    let (_folder, project, ..) = worked();
    let engine = &project.engine;
    let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let text = log(engine, "f2");
    assert_eq!(
        text,
        [(1, names(&["quartz"])), (2, names(&["marble"])), (3, names(&["basalt", "pop", "later"]))]
    );
    assert_eq!(
        log(engine, "f1")[1],
        (2, names(&["kettle", "push", "quartz"])),
        "the parent shows all"
    );
    let words = LogRequest { query: Some("kettle".to_owned()), ..LogRequest::default() };
    let frame = engine.resolve("f2").unwrap();
    assert!(engine.read_log(&frame, &words).unwrap().entries.is_empty());
}

#[test]
fn search_places_a_call_after_a_push_in_the_frame() {
    let (_folder, project, ..) = worked();
    let place = |text: &str| {
        let (text, depth) = (text.to_owned(), Depth::Thorough);
        let request =
            SearchRequest { text, exact: true, frame: None, limit: 10, depth, reveal: false };
        let places = project.engine.search(&request).unwrap().places;
        let found = places.into_iter().find_map(|place| Some((place.frame?, place.message?)));
        let (frame, message) = found.unwrap();
        (frame.handle, message.position)
    };
    assert_eq!(place("output of quartz"), ("f2".to_owned(), 1));
    assert_eq!(place("output of marble"), ("f2".to_owned(), 2));
    assert_eq!(place("output of kettle"), ("f1".to_owned(), 2));
}

#[test]
fn a_purge_removes_nothing_once_there_is_more_than_was_agreed_to() {
    let (folder, project, _, _) = worked();
    let person = Caller { host: TERMINAL.to_owned(), ..caller(A) };
    let purge = |at_most: u64| {
        let operation = operations::find("stack_purge").unwrap();
        operation.run(&project.engine, &person, json!({"what": "f2", "atMost": at_most}))
    };
    let files = folder.path().join(".callstack");
    let refused = purge(2).unwrap_err();
    assert_eq!(refused.kind, Kind::Conflict);
    assert!(refused.message.ends_with("has 3 messages by now, and 2 were to go"), "{refused}");
    assert!(!holding(&files, "quartz").is_empty());
    purge(3).unwrap();
    assert_eq!(holding(&files, "quartz"), Vec::<String>::new());
}

#[test]
fn a_purge_takes_the_step_whose_calls_are_the_frames() {
    let (folder, project, mut plugin, shown) = worked();
    let engine = &project.engine;
    let files = folder.path().join(".callstack");
    assert!(!holding(&files, "quartz").is_empty());
    let plan = engine.purge_plan("f2").unwrap();
    assert_eq!(plan.shared.iter().map(ToString::to_string).collect::<Vec<_>>(), ["f2"]);
    assert_eq!(plan.messages, 3);
    engine.purge(plan, "somebody").unwrap();
    assert_eq!(holding(&files, "quartz"), Vec::<String>::new());
    // Shown again, it does not come back.
    plugin.sync(engine, A, &shown);
    project
        .another()
        .search(&SearchRequest {
            text: "quartz".to_owned(),
            exact: true,
            frame: None,
            limit: 1,
            depth: Depth::Thorough,
            reveal: false,
        })
        .unwrap();
    assert_eq!(holding(&files, "quartz"), Vec::<String>::new());
}

#[test]
fn a_purge_takes_a_frame_of_a_single_step_and_nothing_of_one_that_was_pushed_alone() {
    let folder = tempfile::tempdir().unwrap();
    let project = project(folder.path());
    let engine = &project.engine;
    let mut plugin = Plugin::default();
    let mut shown = vec![user("u1")];
    plugin.sync(engine, A, &shown);
    push(engine, "a1", "one");
    pop(engine, "a1", "end");
    push(engine, "a1", "two");
    let names = ["one", "quartz", "end", "two"];
    let tools = ["stack_frame_push", "read", "stack_frame_pop", "stack_frame_push"];
    let calls: Vec<_> = names.into_iter().zip(tools).map(|(name, tool)| made(name, tool)).collect();
    shown.push(step("a1", &calls));
    plugin.sync(engine, A, &shown);
    pop(engine, "a2", "done");
    shown.push(step("a2", &[made("done", "stack_frame_pop")]));
    plugin.sync(engine, A, &shown);
    let alone = engine.purge_plan("f3").unwrap();
    assert_eq!((alone.messages, alone.shared.len()), (1, 0));
    let plan = engine.purge_plan("f2").unwrap();
    assert_eq!((plan.messages, plan.shared.len()), (1, 1));
    engine.purge(plan, "somebody").unwrap();
    assert_eq!(holding(&folder.path().join(".callstack"), "quartz"), Vec::<String>::new());
}

#[test]
fn files_are_of_the_frame_that_is_open_where_the_call_that_wrote_them_stands() {
    let folder = tempfile::tempdir().unwrap();
    let project = project(folder.path());
    let engine = &project.engine;
    let mut plugin = Plugin::default();
    let mut shown = vec![user("u1")];
    plugin.sync(engine, A, &shown);
    let wrote = |call: &str| engine.files_written_by(A, call, &[format!("{call}.rs")]).unwrap();
    wrote("before");
    push(engine, "a1", "one");
    wrote("inside");
    wrote("slow");
    let names = ["before", "slow", "one", "inside"];
    let tools = ["edit", "edit", "stack_frame_push", "edit"];
    let calls: Vec<_> = names.into_iter().zip(tools).map(|(name, tool)| made(name, tool)).collect();
    shown.push(step("a1", &calls));
    plugin.sync(engine, A, &shown);
    let files = |frame: &str| {
        let frame = engine.resolve(frame).unwrap();
        frame.artifacts.into_iter().map(|it| it.path).collect::<Vec<_>>()
    };
    assert_eq!(files("f1"), ["before.rs", "slow.rs"]);
    assert_eq!(files("f2"), ["inside.rs"]);

    wrote("first");
    pop(engine, "a2", "end");
    wrote("late");
    push(engine, "a2", "two");
    wrote("next");
    let names = ["first", "late", "end", "two", "next"];
    let tools = ["edit", "edit", "stack_frame_pop", "stack_frame_push", "edit"];
    let calls: Vec<_> = names.into_iter().zip(tools).map(|(name, tool)| made(name, tool)).collect();
    shown.push(step("a2", &calls));
    plugin.sync(engine, A, &shown);
    assert_eq!(files("f1"), ["before.rs", "slow.rs"]);
    assert_eq!(files("f2"), ["inside.rs", "first.rs", "late.rs"]);
    assert_eq!(files("f3"), ["next.rs"]);

    // Where the process ends first, they are of the frame that was open when the step began.
    pop(engine, "a3", "done");
    wrote("unshown");
    engine.sum_up_sessions();
    assert_eq!(files("f3"), ["next.rs", "unshown.rs"]);
}
