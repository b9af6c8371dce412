//! The evidence of the work in a frame can be read everywhere.

use callstack_scripted_model::{Script, Step};
use callstack_testkit::{Run, assert_clean};
use serde_json::{Value, json};

use super::project::Project;
use super::steps::{pop, push, write};

fn run(command: &str) -> Step {
    Step::call("bash", json!({"command": command, "description": "run it"}))
}

#[test]
fn a_popped_frame_has_files_commands_and_tests_with_it() {
    let script = Script::steps([
        push("Write the greeting", "greeting.txt says hello"),
        write("greeting.txt", "hello"),
        run("sh check.sh; exit 101"),
        run("sh check.sh"),
        pop("It greets."),
        Step::text("The greeting is written."),
    ]);
    let Some(project) = Project::new(script) else { return };
    // Nothing is done in the same way twice.
    let check = "echo 'test result: ok. 4 passed; 0 failed; 2 ignored; 0 measured'\n";
    project.sealed.write("check.sh", check).unwrap();
    project.run(&Run::prompt("Please write a greeting into greeting.txt"));
    assert_clean(&project.model);
    let said = |args: &[&str]| project.callstack.run(&project.sealed, args).unwrap().stdout;
    let frame: Value = serde_json::from_str(&said(&["show", "f2", "--json"])).unwrap();
    let evidence = &frame["evidence"];
    // SHA-256 of `hello`.
    let hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert_eq!(evidence["written"], json!([{"path": "greeting.txt", "hash": hash}]), "{frame:#}");
    let last = evidence["checks"].as_array().unwrap().last().unwrap();
    assert_eq!(last["line"], "sh check.sh", "{evidence:#}");
    assert_eq!(last["passed"], true, "{evidence:#}");
    assert_eq!(last["said"], "4 passed, 2 skipped", "{evidence:#}");
    let line = "`sh check.sh`: 4 passed, 2 skipped";
    let requests = project.requests();
    let returned = requests.last().unwrap().render();
    for text in [
        &said(&["show", "f2", "--evidence"]),
        &said(&["export", "--format", "markdown"]),
        &returned,
    ] {
        assert!(text.contains(line), "{text}");
    }
    let found: Value = serde_json::from_str(&said(&["search", "check.sh", "--json"])).unwrap();
    let places = found["places"].as_array().unwrap();
    // The call that popped the frame shows its evidence, so that this is not found a second time.
    let is_evidence = |place: &Value| {
        place["frame"]["handle"] == "f2" && place["snippet"].as_str().unwrap().contains(line)
    };
    assert_eq!(places.iter().filter(|place| is_evidence(place)).count(), 1, "{found:#}");
}
