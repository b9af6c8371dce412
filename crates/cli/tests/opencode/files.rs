//! The files of `.opencode/stack` follow what an agent does.

use std::fs;

use callstack_engine::layout::{load_frame, load_state};
use callstack_engine::{FrameMetadata, StackState};
use callstack_scripted_model::{Script, Step};
use callstack_testkit::{Run, assert_clean};
use serde_json::json;

use super::project::Project;
use super::steps::{activate, plan, pop, push, write};
use super::tree::engine;

#[test]
fn hold_the_tree_that_a_session_made() {
    let script = Script::steps([
        push("Read the grammar", "Every rule is known"),
        write("grammar.txt", "23 rules"),
        pop("23 rules."),
        plan(&json!([{"title": "Write the parser", "successCriteria": "It parses"},
            {"title": "Document it", "successCriteria": "A page"}])),
        activate("Write the parser"),
        write("parser.txt", "parser"),
        Step::text("The parser is half done."),
    ]);
    let Some(project) = Project::new(script) else { return };
    project.run(&Run::prompt("Build the parser."));
    assert_clean(&project.model);
    let folder = project.sealed.project();
    let filed = load_state(&folder).unwrap();
    let state = StackState { store: None, revision: None, masked_with: None, ..filed };
    assert_eq!(state, engine(&project.sealed).state().unwrap());
    let described =
        |frame: &FrameMetadata| format!("{} {} {:?}", frame.title, frame.status, frame.artifacts);
    let mut frames: Vec<_> = state.frames.values().map(described).collect();
    frames.sort();
    assert_eq!(
        frames,
        [
            "Build the parser in_progress []",
            "Document it planned []",
            r#"Read the grammar completed ["grammar.txt"]"#,
            r#"Write the parser in_progress ["parser.txt"]"#,
        ]
    );
    for (id, frame) in &state.frames {
        assert_eq!(load_frame(&folder, id).unwrap().as_ref(), Some(frame));
    }
    let count = fs::read_dir(folder.join(".opencode/stack/frames")).unwrap().count();
    assert_eq!(count, 4);
}
