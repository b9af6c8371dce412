//! An agent's changes to files inside a frame can be undone.

use std::fs;
use std::time::Duration;

use callstack_scripted_model::{Script, Step};
use callstack_testkit::{Run, assert_clean};
use serde_json::Value;

use super::auto::{AUTO, todos};
use super::delegations::{children, works_on};
use super::project::Project;
use super::steps::{bash, delegate, plan, pop, push, write};
use super::talk::Talk;

#[test]
fn what_the_tools_of_a_frame_wrote_is_rolled_back_and_the_work_around_it_stays() {
    let script = Script::steps([
        write("before.txt", "before"),
        push("Try it out", "It is known whether it works"),
        write("old.txt", "overwritten"),
        write("made.txt", "made"),
        bash("echo built > built.txt"),
        pop("It does not work."),
        write("after.txt", "after"),
        plan(&children(&["Elsewhere"])),
        delegate("Elsewhere"),
        Step::text("Done."),
    ]);
    let elsewhere =
        [write("elsewhere.txt", "there"), pop("Written."), Step::text("It is written.")];
    let script = script.conversation(works_on("Elsewhere", elsewhere));
    let Some(project) = Project::new(script) else { return };
    let sealed = &project.sealed;
    sealed.write("old.txt", "old").unwrap();
    sealed.git_init().unwrap();
    project.run(&Run::prompt("Try it."));
    assert_clean(&project.model);

    let run = |args: &[&str]| project.callstack.run(sealed, args).unwrap();
    let read = |file: &str| fs::read_to_string(sealed.project().join(file)).ok();
    let done = run(&["rollback", "f2", "--yes", "--json"]);
    let plan: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{done}"));
    let paths = |list: &str| {
        let files = plan[list].as_array().unwrap().iter();
        files.map(|file| file["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths("restored"), ["made.txt", "old.txt"]);
    assert_eq!(paths("left"), ["built.txt"]);
    assert_eq!((read("old.txt").as_deref(), read("made.txt")), (Some("old"), None));
    assert_eq!(read("before.txt").as_deref(), Some("before"));
    assert_eq!(read("after.txt").as_deref(), Some("after"));

    run(&["rollback", "f3", "--yes"]);
    assert_eq!(read("elsewhere.txt"), None, "a session of its own is rolled back too");
    run(&["rollback", "f2", "--undo", "--yes"]);
    assert_eq!(read("old.txt").as_deref(), Some("overwritten"));
}

#[test]
fn the_agent_is_shown_which_files_were_put_back() {
    let Some(talk) = Talk::new(&[]) else { return };
    let sealed = &talk.project.sealed;
    sealed.write("old.txt", "old").unwrap();
    sealed.git_init().unwrap();
    let session = talk.session([
        push("Try it out", "It is known whether it works"),
        write("old.txt", "overwritten"),
        pop("It does not work."),
        Step::text("Done."),
        Step::text("I see."),
    ]);
    session.say("Try it.");
    let done = talk.project.callstack.run(sealed, &["rollback", "f2", "--yes"]).unwrap();
    assert_eq!(fs::read_to_string(sealed.project().join("old.txt")).unwrap(), "old", "{done}");
    session.say("And now?");
    let request = session.finished().pop().unwrap().render();
    let line = "- changed files by a rollback of f2 \"Try it out\", so read them again before you rely \
                on them: old.txt";
    assert!(request.contains(line), "{request}");
}

/// Longer than it takes to record the files of a small project.
const THINKS: Duration = Duration::from_secs(6);

#[test]
fn a_turn_and_an_item_that_nobody_pushed_are_rolled_back_to_what_they_found() {
    let script = Script::steps([
        write("first.txt", "overwritten").delay(THINKS),
        todos(&[">Write the second"], "the second"),
        write("second.txt", "overwritten").delay(THINKS),
        bash("make"),
        bash("make test"),
        Step::text("Done."),
    ]);
    let Some(project) = Project::new(script) else { return };
    let sealed = &project.sealed;
    for file in ["first.txt", "second.txt"] {
        sealed.write(file, "as it was").unwrap();
    }
    sealed.git_init().unwrap();
    project.run(&Run::prompt("Write both, please.").env(AUTO[0].0, AUTO[0].1));
    assert_clean(&project.model);

    let run = |args: &[&str]| project.callstack.run(sealed, args).unwrap();
    let read = |file: &str| fs::read_to_string(sealed.project().join(file)).unwrap();
    let done = run(&["rollback", "f2", "--yes"]);
    assert_eq!(
        (read("first.txt").as_str(), read("second.txt").as_str()),
        ("overwritten", "as it was"),
        "{done}"
    );
    let done = run(&["rollback", "f1", "--yes"]);
    assert_eq!(read("first.txt"), "as it was", "{done}");
}
