//! Files become artifacts of the frame that they were written in.

use callstack_scripted_model::{Script, Step};
use callstack_testkit::{Run, assert_clean};
use serde_json::{Value, json};

use super::project::Project;
use super::steps::{pop, push, together, write};

#[test]
fn a_written_file_belongs_to_the_frame_whose_work_the_step_is() {
    let inner = json!({"filePath": "old.txt", "oldString": "old", "newString": "new"});
    let script = Script::steps([
        write("before.txt", "before"),
        together([push("Write inside", "inside.txt is there"), write("beside.txt", "beside")]),
        write("inside.txt", "inside"),
        together([
            Step::call("edit", inner),
            write("sub/deep.txt", "deep"),
            Step::call("read", json!({"filePath": "before.txt"})),
        ]),
        together([write("last.txt", "last"), pop("Everything is inside.")]),
        write("after.txt", "after"),
        Step::text("Written."),
    ]);
    let Some(project) = Project::new(script) else { return };
    project.sealed.write("old.txt", "old").unwrap();
    project.run(&Run::prompt("Write it all."));
    assert_clean(&project.model);
    let shown = project.callstack.run(&project.sealed, &["tree", "--json"]).unwrap();
    let state: Value = serde_json::from_str(&shown.stdout).unwrap();
    let paths = |title: &str| {
        let frames = state["frames"].as_object().unwrap();
        let frame = frames.values().find(|frame| frame["title"] == title).unwrap();
        let artifacts = frame["artifacts"].as_array().unwrap().iter();
        let mut paths: Vec<_> = artifacts.map(|path| path.as_str().unwrap().to_owned()).collect();
        paths.sort();
        paths
    };
    // After the push and before the pop, whichever call of a step was quicker.
    assert_eq!(paths("Write it all"), ["after.txt", "before.txt"]);
    let inside = ["beside.txt", "inside.txt", "last.txt", "old.txt", "sub/deep.txt"];
    assert_eq!(paths("Write inside"), inside);
}
