//! Text that `OpenCode` cuts in the middle of an emoji: strict readers of JSON refuse half of one.

use callstack_scripted_model::{Script, Step};
use callstack_testkit::{Run, assert_clean};
use serde_json::json;

use super::project::Project;
use super::seen::{assert_no_work, folds};
use super::steps::{bash, pop, push, work};
use super::tree::engine;

/// UTF-16 units of a line at which the tool `read` cuts it.
const LINE: usize = 2_000;
/// UTF-16 units of the end of a command's output that the tool `bash` keeps in its metadata.
const TAIL: usize = 30_000;

/// Returns a line of which the emoji's first unit is the last that is kept.
fn long_line() -> String {
    format!("{}😀 and so on", "x".repeat(LINE - 1))
}

/// Returns an output with one unit too many, of which the emoji's second unit is the first that is kept.
fn long_output() -> String {
    format!("printf '\\360\\237\\230\\200'; head -c {} /dev/zero | tr '\\0' y", TAIL - 1)
}

#[test]
fn of_a_file_and_a_command_is_stored_and_the_folds_go_on() {
    let script = Script::steps([
        push("Read the file", "it is read"),
        Step::call("read", json!({"filePath": "long.txt"})),
        bash(&long_output()),
        work("the file"),
        pop("The file is long."),
        push("Write it down", "it is written"),
        work("the notes"),
        pop("It is written down."),
        Step::text("All of it is done."),
    ]);
    let Some(project) = Project::new(script) else { return };
    project.sealed.write("long.txt", &long_line()).unwrap();
    project.run(&Run::prompt("Read long.txt."));
    assert_clean(&project.model);

    let requests = project.requests();
    let last = requests.last().unwrap();
    assert_no_work(last);
    assert!(!last.render().contains("xxxxxxxx"), "{}", last.render());
    assert_eq!(folds(&requests), ["push-read", "push-write"]);

    let engine = engine(&project.sealed);
    let [session] = &project.model.sessions()[..] else { panic!("more than one session") };
    let stored = engine.messages(session).unwrap();
    // A half comes as an escape, which is replaced by the escape of U+FFFD. OpenCode itself would have written that
    // character unescaped.
    let half = |half: &str| stored.iter().filter(|it| it.json.contains(half)).count();
    assert_eq!(half(r"x\ufffd... (line truncated"), 1, "the first half, in an output");
    assert_eq!(half(r"\ufffdyyyy"), 1, "the second half, in a call's metadata");
    let stored_json: Vec<&str> = stored.iter().map(|it| it.json.as_str()).collect();
    let steps = stored_json.iter().filter(|json| json.contains(r#""role":"assistant""#)).count();
    assert_eq!(steps, 9, "every step is stored: {stored_json:#?}");
}
