//! Records of SWE-agent that the fixtures do not contain.

use callstack_core::evidence::Action;
use callstack_core::transcript::CallState;
use callstack_recordings::Recorded;
use serde_json::{Value, json};

use crate::of_text;

fn step(action: &str, observation: &str) -> Value {
    let state = json!({"open_file": "/shop/basket.py", "working_dir": "/shop"}).to_string();
    json!({"action": action, "observation": observation, "response": "", "state": state,
        "thought": "Next."})
}

fn trajectory(history: &[Value], steps: &[Value]) -> String {
    json!({"environment": "shop", "trajectory": steps, "history": history, "info": {}}).to_string()
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text, "agent": "primary"})
}

#[test]
fn commands_of_its_editor_read_and_write_files() {
    let wrote = |path: &str| Action::Wrote(vec![path.to_owned()]);
    let read = |path: &str| Action::Read(path.to_owned());
    let ran = |line: &str| Action::Ran(line.to_owned());
    let open = "/shop/basket.py";
    let commands = [
        ("create tests/basket.py", wrote("/shop/tests/basket.py")),
        ("create a.py && python a.py", ran("create a.py && python a.py")),
        ("edit 1:2\nTOTAL = 3\nend_of_edit", wrote(open)),
        ("insert 'TOTAL = 3' 4", wrote(open)),
        ("open rates.py 20", read("/shop/rates.py")),
        ("open \"/shop/rates.py\"", read("/shop/rates.py")),
        ("goto 40", read(open)),
        ("scroll_down", read(open)),
        ("str_replace_editor view /shop/rates.py --view_range 1 20", read("/shop/rates.py")),
        ("str_replace_editor create /shop/a.py --file_text 'A = 1\n'", wrote("/shop/a.py")),
        (
            "str_replace_editor str_replace '/shop/a.py' --old_str 1 --new_str 2",
            wrote("/shop/a.py"),
        ),
        ("str_replace_editor insert /shop/a.py --insert_line 1 --new_str 2", wrote("/shop/a.py")),
        ("cat rates.py", ran("cat rates.py")),
        ("submit", ran("submit")),
    ];
    let steps: Vec<Value> = commands.iter().map(|(line, _)| step(line, "Done.")).collect();
    let recording = of_text(&trajectory(&[said("user", "Fix it")], &steps));
    let calls: Vec<_> = recording.messages.iter().flat_map(Recorded::calls).collect();
    for (call, (line, action)) in calls.iter().zip(&commands) {
        assert_eq!(call.action, *action, "{line}");
    }
    assert_eq!(calls.len(), commands.len());
}

#[test]
fn an_edit_that_was_not_made_failed() {
    let refused = "Your proposed edit has introduced new syntax error(s).";
    let steps = [step("edit 1:1\nx = (\nend_of_edit", refused), step("make", "Error: boom")];
    let recording = of_text(&trajectory(&[said("user", "Fix it")], &steps));
    let states = recording.messages.iter().flat_map(Recorded::calls).map(|call| call.state);
    assert_eq!(states.collect::<Vec<_>>(), [CallState::Failed, CallState::Completed]);
}

#[test]
fn a_demonstration_in_the_history_is_nobodys_words() {
    let demo = |role: &str, text: &str| {
        let mut said = said(role, text);
        said["is_demo"] = true.into();
        said
    };
    let history = [
        said("system", "You edit files."),
        demo("user", "How another task was"),
        demo("assistant", "How it was solved"),
        demo("tool", "What came of it"),
        said("user", "Fix the basket"),
        said("assistant", "I look"),
        said("user", "Done."),
    ];
    let recording = of_text(&trajectory(&history, &[step("ls", "Done.")]));
    let of_user: Vec<bool> = recording.messages.iter().map(Recorded::is_of_user).collect();
    assert_eq!(of_user, [false, false, false, true, false]);
    assert_eq!(recording.model_calls(), 1, "the demonstration's answers are no calls");
}

#[test]
fn a_trajectory_is_the_same_one_when_it_has_grown() {
    let id = |task: &str, steps: usize, indent: bool| {
        let mut history = vec![said("system", "You edit files."), said("user", task)];
        let steps: Vec<Value> = (0..steps).map(|at| step(&format!("ls {at}"), "Done.")).collect();
        for step in &steps {
            history.push(said("assistant", step["action"].as_str().unwrap()));
            history.push(said("user", "Done."));
        }
        let text = trajectory(&history, &steps);
        let value: Value = serde_json::from_str(&text).unwrap();
        of_text(&if indent { format!("{value:#}") } else { text }).session
    };
    assert_eq!(id("Fix it", 1, false), id("Fix it", 3, true));
    assert_ne!(id("Fix it", 1, false), id("Fix that", 1, false));
}
