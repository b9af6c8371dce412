//! `callstack demo`, and its report compared with the requests on the wire.

use callstack_engine::{Engine, Settings, SystemWorld};
use callstack_hosts::opencode::{Fate, calls};
use callstack_scripted_model::{Script, Step};
use callstack_testkit::{Callstack, OpenCode, Run, Sealed};
use serde_json::{Value, json};

use super::project::Project;

#[test]
fn the_demo_shows_three_nested_frames_and_what_they_saved() {
    let Some(opencode) = OpenCode::locate_or_skip() else { return };
    let sealed = Sealed::new().unwrap();
    sealed.put_on_path("opencode", opencode.path()).unwrap();
    let callstack = Callstack::at(env!("CARGO_BIN_EXE_callstack"));

    let demo = callstack.run(&sealed, &["demo", "--json"]).unwrap();

    assert!(demo.success(), "{demo}");
    let shown: Value = serde_json::from_str(&demo.stdout).unwrap();
    let titles: Vec<_> = shown["state"]["frames"]
        .as_object()
        .unwrap()
        .values()
        .map(|frame| (frame["title"].as_str().unwrap(), frame["status"].as_str().unwrap()))
        .collect();
    for title in ["Greeting script", "Test of the script", "Find the failure"] {
        assert!(titles.contains(&(title, "completed")), "{titles:?}");
    }
    let calls = shown["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 17);
    let tokens = |at: usize, of: &str| calls[at][of].as_u64().unwrap();
    assert_eq!(tokens(13, "sentTokens"), tokens(13, "wholeTokens"));
    assert!(tokens(16, "sentTokens") * 4 < tokens(16, "wholeTokens"));
    let kept = std::path::Path::new(shown["project"].as_str().unwrap());
    assert!(kept.join("greet.sh").is_file());
    std::fs::remove_dir_all(kept.parent().unwrap()).unwrap();

    let demo = callstack.run(&sealed, &["demo", "--remove"]).unwrap();

    assert!(demo.success(), "{demo}");
    let lines: Vec<_> = demo.stdout.lines().collect();
    let end = lines.iter().position(|it| *it == "The tree").unwrap();
    let place = |text: &str| lines[..end].iter().position(|it| it.trim() == text).unwrap();
    assert!(place("▶ f3 Test of the script") < place("✓ f3 Test of the script"), "{demo}");
    let last = lines.last().unwrap();
    assert!(last.starts_with("Call 17: ") && last.ends_with(" %"), "{last}");
    assert!(last.contains(" tokens instead of ") && last.contains(", −"), "{last}");
}

#[test]
fn what_calls_show_is_what_was_on_the_wire() {
    let push = |title: &str| {
        Step::call("stack_frame_push", json!({"title": title, "successCriteria": "it is done"}))
            .reasoning(format!("reasoning before {title}"))
    };
    let pop = |results: &str| Step::call("stack_frame_pop", json!({"results": results}));
    let script = Script::steps([
        push("outer work"),
        Step::call("write", json!({"filePath": "a.txt", "content": "alpha"})),
        push("inner work"),
        Step::call("bash", json!({"command": "cat a.txt", "description": "look at it"})),
        Step::text("half-way").reasoning("the turn ends inside"),
        Step::call("bash", json!({"command": "echo beta", "description": "say beta"})),
        pop("inner results"),
        pop("outer results"),
        Step::text("all done"),
    ]);
    let Some(project) = Project::new(script) else { return };
    project.run(&Run::prompt("begin the work"));
    project.run(&Run::prompt("now go on").continued());

    let engine = Engine::open_unchecked(
        &project.sealed.project(),
        Settings::default(),
        Box::new(SystemWorld),
    )
    .unwrap();
    let (session, _) = engine.latest_session().unwrap().unwrap();
    let shown = calls(&engine, &session).unwrap();
    let requests = project.requests();

    assert_eq!(shown.len(), requests.len());
    let mut folded = 0;
    for (shown, request) in shown.iter().zip(&requests) {
        let wire: String = request.messages().iter().map(ToString::to_string).collect();
        for line in shown.lines.iter().filter(|line| line.from != "call") {
            let quoted = Value::from(line.text.as_str()).to_string();
            let found = wire.contains(quoted.trim_matches('"').trim());
            let sent = line.fate != Fate::Folded;
            // The same words may be sent elsewhere, too; a line that is shown as sent must be there.
            assert!(!sent || found, "{line:?}\n{wire}");
            if !sent && line.text.starts_with("reasoning before inner") {
                assert!(!found, "{line:?}\n{wire}");
                folded += 1;
            }
        }
    }
    assert!(folded > 0);
}
