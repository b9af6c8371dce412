//! Steps in which frames begin and end beside other calls.

use std::path::Path;

use callstack_core::evidence::{Action, Activity};
use callstack_core::transcript::{
    Anchor, CallState, FoldOp, Message, MessageKind, Part, PartBody, Role, ToolCall,
};
use callstack_engine::operation::Caller;
use callstack_engine::{Engine, HostMessage, Reach, Settings, operations};
use serde_json::{Value, json};

use crate::plugin::Plugin;
use crate::rollback::Copies;
use crate::support::Project;

pub(crate) const A: &str = "ses_a";

/// A call of a step: its name, which is also the id of the call and of the part, and its outcome. `edit` writes the
/// file of its name, `run` is a command.
pub(crate) type Made = (&'static str, &'static str, CallState);

pub(crate) fn made(name: &'static str, tool: &'static str) -> Made {
    (name, tool, CallState::Completed)
}

/// A step of the agent as a host shows it.
pub(crate) fn step(id: &str, calls: &[Made]) -> HostMessage {
    let parts = calls.iter().map(|(name, tool, state)| {
        let body = PartBody::from(ToolCall::new(*name, *tool, *state));
        Part { id: (*name).to_owned(), body }
    });
    let json = calls.iter().map(|(name, tool, state)| {
        let status = match state {
            CallState::Open => "running",
            CallState::Completed => "completed",
            CallState::Failed => "error",
        };
        json!({"id": name, "callID": name, "tool": tool, "state": {"status": status, "output": format!("the output of {name}")}})
    });
    let parts = parts.collect();
    let message =
        Message { id: id.to_owned(), role: Role::Assistant, standing: MessageKind::Normal, parts };
    let json = json!({"id": id, "parts": json.collect::<Vec<_>>()});
    HostMessage::of(message, json.to_string())
}

pub(crate) fn user(id: &str) -> HostMessage {
    let body = PartBody::Text { synthetic: false, chars: 2, head: "do".to_owned() };
    let parts = vec![Part { id: format!("{id}.0"), body }];
    let (role, standing) = (Role::User, MessageKind::Normal);
    HostMessage::of(
        Message { id: id.to_owned(), role, standing, parts },
        json!({"id": id}).to_string(),
    )
}

pub(crate) fn activities(json: &str, _: &Path) -> Vec<(String, Activity)> {
    let message: Value = serde_json::from_str(json).unwrap();
    let parts = message["parts"].as_array().into_iter().flatten();
    let activity = |part: &Value| {
        let text = |name: &str| part[name].as_str().unwrap_or_default().to_owned();
        let name = text("id");
        let state = match part["state"]["status"].as_str() {
            Some("completed") => CallState::Completed,
            Some("error") => CallState::Failed,
            _ => CallState::Open,
        };
        let action = match part["tool"].as_str()? {
            "run" => Action::Ran(name.clone()),
            "read" => Action::Read(format!("{name}.txt")),
            "edit" => Action::Wrote(vec![format!("{name}.txt")]),
            _ => return None,
        };
        let output = (state == CallState::Failed).then(|| "error: it broke".to_owned());
        let call = ToolCall { action, output, ..ToolCall::new("", text("tool"), state) };
        Some((name, Activity::called(call)))
    };
    parts.filter_map(activity).collect()
}

fn call(engine: &Engine, message: &str, call: &str, name: &str, arguments: Value) -> String {
    let anchor = Anchor { message: Some(message.to_owned()), call: Some(call.to_owned()) };
    let (session, host) = (A.to_owned(), "test".to_owned());
    let caller =
        Caller { session, host, anchor, agent: None, performs: false, reveal: true, key: None };
    operations::find(name).unwrap().run(engine, &caller, arguments).unwrap().text
}

pub(crate) fn push(engine: &Engine, message: &str, id: &str) {
    let arguments = json!({"title": id, "successCriteria": "it is done"});
    call(engine, message, id, "stack_frame_push", arguments);
}

pub(crate) fn pop(engine: &Engine, message: &str, id: &str) -> String {
    call(engine, message, id, "stack_frame_pop", json!({"results": "all is well"}))
}

pub(crate) fn project(folder: &Path) -> Project {
    let project = Project::at(folder, Settings::default());
    project.engine.read_messages_with(activities);
    project.user(A, "do");
    project
}

/// The text that a call's result was given.
fn returned(plugin: &Plugin, wanted: &str) -> String {
    let text = plugin.ops.iter().find_map(|op| match op {
        FoldOp::Output { part, text, .. } if part == wanted => Some(text.clone()),
        _ => None,
    });
    text.unwrap_or_else(|| panic!("{:?}", plugin.ops))
}

/// A frame that is pushed with calls on either side, and has been popped with calls on either side, which are
/// not shown yet.
fn popped(project: &Project) -> (Vec<HostMessage>, Plugin) {
    let engine = &project.engine;
    let mut plugin = Plugin::default();
    let mut shown = vec![user("u1")];
    plugin.sync(engine, A, &shown);
    push(engine, "a1", "push");
    let calls = [made("look", "run"), made("push", "stack_frame_push"), made("inside", "read")];
    shown.push(step("a1", &calls));
    plugin.sync(engine, A, &shown);
    let answer = pop(engine, "a2", "pop");
    assert!(answer.contains("all is well"), "{answer}");
    let spans = engine.spans(A).unwrap();
    let before = spans.iter().find_map(|span| span.fold.clone()).unwrap();
    assert!(!before.text.contains("check"), "its outcome is not known: {}", before.text);
    shown.push(step(
        "a2",
        &[
            ("check", "run", CallState::Failed),
            ("endless", "run", CallState::Open),
            made("fine", "edit"),
            made("pop", "stack_frame_pop"),
            ("beyond", "run", CallState::Failed),
        ],
    ));
    (shown, plugin)
}

#[test]
fn what_a_frame_returned_shows_how_the_calls_beside_its_end_ended() {
    let folder = tempfile::tempdir().unwrap();
    let project = project(folder.path());
    let (shown, mut plugin) = popped(&project);
    plugin.sync(&project.engine, A, &shown);
    let text = returned(&plugin, "push");
    assert!(text.contains("- `check` failed: error: it broke\n"), "{text}");
    assert!(text.contains("- `endless`: how it ended was not seen\n"), "{text}");
    assert!(text.contains("inside.txt") && text.contains("fine.txt"), "{text}");
    assert!(!text.contains("look") && !text.contains("beyond"), "{text}");
    let keep = |id: &str, parts: &[&str]| FoldOp::Keep {
        message: id.to_owned(),
        parts: parts.iter().map(|part| (*part).to_owned()).collect(),
    };
    assert!(plugin.ops.contains(&keep("a1", &["look", "push"])), "{:?}", plugin.ops);
    assert!(plugin.ops.contains(&keep("a2", &["beyond"])), "{:?}", plugin.ops);

    // From then on it stays, whatever becomes known, in every process.
    let mut later = shown.clone();
    later[2] = step("a2", &[made("check", "run"), made("pop", "stack_frame_pop")]);
    later.push(step("a3", &[made("more", "run")]));
    let mut another = Plugin::default();
    another.sync(&project.another(), A, &later);
    assert_eq!(returned(&another, "push"), text);
}

#[test]
fn another_process_fixes_what_the_one_that_ended_it_did_not() {
    let folder = tempfile::tempdir().unwrap();
    let first = project(folder.path());
    let (shown, _) = popped(&first);
    let second = first.another();
    second.read_messages_with(activities);
    let mut plugin = Plugin::default();
    plugin.sync(&second, A, &shown);
    let text = returned(&plugin, "push");
    assert!(text.contains("- `check` failed: error: it broke\n"), "{text}");
    let mut plugin = Plugin::default();
    plugin.sync(&first.engine, A, &shown);
    assert_eq!(returned(&plugin, "push"), text);
}

#[test]
fn each_frame_of_one_step_has_seen_its_own_calls() {
    let folder = tempfile::tempdir().unwrap();
    let project = project(folder.path());
    let engine = &project.engine;
    let mut plugin = Plugin::default();
    let mut shown = vec![user("u1")];
    plugin.sync(engine, A, &shown);
    push(engine, "a1", "one");
    pop(engine, "a1", "end");
    push(engine, "a1", "two");
    shown.push(step(
        "a1",
        &[
            made("one", "stack_frame_push"),
            made("first", "read"),
            made("end", "stack_frame_pop"),
            made("between", "read"),
            made("two", "stack_frame_push"),
            made("second", "read"),
        ],
    ));
    plugin.sync(engine, A, &shown);
    let text = returned(&plugin, "one");
    assert!(text.contains("first.txt"), "{text}");
    assert!(!text.contains("between.txt") && !text.contains("second.txt"), "{text}");
    pop(engine, "a2", "done");
    shown.push(step("a2", &[made("done", "stack_frame_pop")]));
    plugin.sync(engine, A, &shown);
    let text = returned(&plugin, "two");
    assert!(text.contains("second.txt"), "{text}");
    assert!(!text.contains("between.txt") && !text.contains("first.txt"), "{text}");
}

#[test]
fn the_next_step_is_what_is_so_once_the_step_of_the_pop_is_over() {
    // The last line of a frame's text, if these calls stand after the pop in its step.
    let footer = |later: &[(&'static str, &'static str, Value)]| {
        let folder = tempfile::tempdir().unwrap();
        let project = project(folder.path());
        let engine = &project.engine;
        let titles = ["one", "two", "three"].map(|it| json!({"title": it, "successCriteria": it}));
        project.did(A, "stack_frame_plan", json!({"children": titles}));
        call(engine, "a1", "begin", "stack_frame_activate", json!({"frame": "f2"}));
        let mut plugin = Plugin::default();
        let mut shown = vec![user("u1"), step("a1", &[made("begin", "stack_frame_activate")])];
        plugin.sync(engine, A, &shown);
        let answer = pop(engine, "a2", "pop");
        assert!(answer.contains("Next: start f3") && answer.contains("behind it: f4"), "{answer}");
        let mut calls = vec![made("pop", "stack_frame_pop")];
        for (id, name, arguments) in later {
            call(engine, "a2", id, name, arguments.clone());
            calls.push(made(id, name));
        }
        shown.push(step("a2", &calls));
        plugin.sync(engine, A, &shown);
        let returned = returned(&plugin, "begin");
        returned.split_once("\n\n").map_or("", |(_, footer)| footer).to_owned()
    };
    let opens = ("open", "stack_frame_activate", json!({"frame": "f3"}));
    let ends = ("end", "stack_frame_pop", json!({"results": "all is well"}));
    let drops = |id, frame: &str| {
        (id, "stack_frame_invalidate", json!({"frame": frame, "reason": "it is not needed"}))
    };
    assert_eq!(footer(std::slice::from_ref(&opens)), "", "the answer behind it says so");
    assert!(footer(&[opens, ends.clone()]).starts_with("Next: start f4 "));
    assert!(footer(&[drops("drop", "f3")]).starts_with("Next: start f4 "));
    let all_dropped = footer(&[drops("drop", "f3"), drops("drop 2", "f4")]);
    assert!(all_dropped.starts_with("Next: hold what is done against "), "{all_dropped}");
    let none = "[callstack] no frame is open now: the user's next request opens one.\n";
    assert_eq!(footer(&[ends]), none);
}

#[test]
fn files_are_rolled_back_only_to_a_state_without_what_calls_beside_the_push_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let project = project(folder.path());
    let engine = &project.engine;
    engine.record_files_with(Box::new(Copies::of(engine)));
    let mut plugin = Plugin::default();
    let mut shown = vec![user("u1")];
    plugin.sync(engine, A, &shown);
    push(engine, "a1", "alone");
    let calls = [made("alone", "stack_frame_push"), made("looked", "read")];
    shown.push(step("a1", &calls));
    plugin.sync(engine, A, &shown);
    push(engine, "a2", "beside");
    let calls = [made("beside", "stack_frame_push"), made("written", "edit")];
    shown.push(step("a2", &calls));
    plugin.sync(engine, A, &shown);
    assert!(engine.rollback_plan("f2", Reach::Seen).is_ok());
    let refused = engine.rollback_plan("f3", Reach::Seen).unwrap_err();
    assert!(refused.message.contains("recorded"), "{refused:?}");
    // Nor is one recorded where the frame ends, since there is no state to restore.
    pop(engine, "a3", "pop");
    shown.push(step("a3", &[made("pop", "stack_frame_pop")]));
    plugin.sync(engine, A, &shown);
    assert!(engine.rollback_plan("f3", Reach::Seen).is_err());
}
