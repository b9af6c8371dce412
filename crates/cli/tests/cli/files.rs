//! The files of `.opencode/stack` as commands leave them.

use std::fs;

use serde_json::Value;

use super::test_env::TestEnv;

fn filed(desk: &TestEnv) -> Value {
    let path = desk.project().join(".opencode/stack/state.json");
    let mut state: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let state = state.as_object_mut().unwrap();
    for name in ["store", "revision", "maskedWith"] {
        assert!(state.remove(name).is_some(), "{name}");
    }
    Value::Object(state.clone())
}

#[test]
fn each_command_leaves_them_as_the_tree_is() {
    let desk = TestEnv::new();
    fs::create_dir(desk.project().join(".opencode")).unwrap();
    for args in [
        &["push", "Build", "-c", "x"][..],
        &["plan", "Later"],
        &["decision", "by hand"],
        &["pin", "always"],
        &["unpin", "p1"],
        &["invalidate", "f2", "-r", "no longer"],
        &["pop", "-r", "done"],
    ] {
        desk.ok(args);
        assert_eq!(filed(&desk), desk.json(&["tree"]), "{args:?}");
    }
    let frame =
        fs::read(desk.project().join(format!(".opencode/stack/frames/{}.json", desk.id("f2"))));
    let frame: Value = serde_json::from_slice(&frame.unwrap()).unwrap();
    assert_eq!(frame, desk.json(&["tree"])["frames"][desk.id("f2")]);
}

#[test]
fn commands_at_once_leave_the_newest() {
    let desk = TestEnv::new();
    fs::create_dir(desk.project().join(".opencode")).unwrap();
    desk.ok(&["push", "Build", "-c", "x"]);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let desk = &desk;
            scope.spawn(move || desk.ok(&["plan", &format!("Later {n}")]));
        }
    });
    assert_eq!(filed(&desk), desk.json(&["tree"]));
    assert_eq!(filed(&desk)["frames"].as_object().unwrap().len(), 9);
}

#[test]
fn a_variable_turns_them_off() {
    let desk = TestEnv::new();
    fs::create_dir(desk.project().join(".opencode")).unwrap();
    let run = |value: &str| {
        let mut command = desk.command(&desk.project(), &["plan", "Later"]);
        command.env("STACK_FILES", value);
        desk.finish(command)
    };
    assert_eq!(run("off").code, 0);
    assert!(!desk.project().join(".opencode/stack").exists());
    let wrong = run("perhaps");
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("on or off"), "{}", wrong.stderr);
    assert_eq!(run("on").code, 0);
    assert_eq!(filed(&desk), desk.json(&["tree"]));
}
