use callstack_core::evidence::Edit;
use serde_json::{Value, json};

use super::*;

fn of(message: &Value) -> Vec<Activity> {
    let found = activities(Message::of(message.clone()), Path::new("/project"));
    found.into_iter().map(|(_, activity)| activity).collect()
}

fn tool(name: &str, state: &Value) -> Value {
    json!({"type": "tool", "tool": name, "callID": "call_1", "state": state})
}

#[test]
fn words_commands_and_files_are_activities_and_our_own_tools_are_not() {
    let message = json!({"info": {"role": "assistant"}, "parts": [
        {"type": "text", "text": "I look."},
        {"type": "text", "text": "not said", "synthetic": true},
        {"type": "reasoning", "text": "It may fail."},
        {"type": "reasoning", "text": " "},
        tool("bash", &json!({"status": "completed", "input": {"command": "make test"},
            "output": "3 passed", "metadata": {"exit": 2}})),
        tool("read", &json!({"status": "completed", "input": {"filePath": "/project/src/a.rs"},
            "output": "fn a() {}"})),
        tool("write", &json!({"status": "completed", "input": {"filePath": "/project/b.rs",
            "content": "fn b() {}"}, "metadata": {"filepath": "/project/b.rs"}})),
        tool("edit", &json!({"status": "error", "input": {"filePath": "/project/c.rs"},
            "error": "no such text"})),
        tool("stack_frame_pop", &json!({"status": "completed", "output": "returned"})),
    ]});
    let found = of(&message);
    let called = |at: usize| match &found[at] {
        Activity::Called(call) => call.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(found.len(), 6, "{found:?}");
    assert_eq!(found[0], Activity::Said("I look.".to_owned()));
    assert_eq!(found[1], Activity::Thought("It may fail.".to_owned()));
    let run = called(2);
    assert_eq!((&run.action, run.exit), (&Action::Ran("make test".to_owned()), Some(2)));
    assert_eq!(run.output_text(), "3 passed");
    assert_eq!(called(3).action, Action::Read("src/a.rs".to_owned()));
    let written = called(4);
    assert_eq!(written.action, Action::Wrote(vec!["b.rs".to_owned()]));
    let whole =
        Edit { path: "/project/b.rs".to_owned(), after: "fn b() {}".to_owned(), ..Edit::default() };
    assert_eq!(written.edits, [whole]);
    let failed = called(5);
    assert!(
        failed.is_failed() && failed.action == Action::Wrote(vec!["c.rs".to_owned()]),
        "{failed:?}"
    );
    assert_eq!(failed.output_text(), "no such text");
}

#[test]
fn what_a_user_said_and_what_can_not_be_read_is_nothing() {
    let parts = json!([{"type": "text", "text": "Do it"}]);
    assert_eq!(of(&json!({"info": {"role": "user"}, "parts": parts})), []);
    assert_eq!(of(&json!({"info": {"role": "assistant"}, "parts": [7, {"type": "tool"}]})), []);
    assert_eq!(of(&json!("{")), []);
}
