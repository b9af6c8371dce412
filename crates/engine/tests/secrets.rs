//! Secrets in what is written beside the store.

use std::fs;
use std::path::Path;

use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_engine::layout::{load_frame, load_state, save_frame, save_state};
use callstack_engine::{Settings, StackState};
use callstack_store::{Store, StoreError};
use serde_json::json;
use tempfile::TempDir;

use crate::support::Project;

const MASKED: &str = "‹masked: GitHub token›";

/// Returns a fake that looks like a token and stands in no source as a whole.
fn token(n: u32) -> String {
    ["gh", "p_", &format!("a1B2c{n}").repeat(6)].concat()
}

/// Work with a token in each of its texts, in a project that uses `OpenCode`; its process has ended.
fn worked() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".opencode")).unwrap();
    let project = open(&folder);
    let with = |words: &str| format!("{words} {}", token(1));
    project.user("ses_a", &with("Log in with"));
    let push = json!({"title": with("Log"), "successCriteria": with("in with")});
    project.did("ses_a", "stack_frame_push", push);
    project.did("ses_a", "stack_add_decision", json!({"decision": with("use")}));
    project.did("ses_a", "stack_add_artifact", json!({"artifact": with("notes/of")}));
    project.did("ses_a", "stack_pin", json!({"text": with("never show")}));
    project.did("ses_a", "stack_frame_pop", json!({"results": with("logged in with")}));
    let plan = json!({"title": "Log out", "successCriteria": "out"});
    project.did("ses_a", "stack_frame_plan", plan);
    let why = json!({"frame": "f3", "reason": with("it still has")});
    project.did("ses_a", "stack_frame_invalidate", why);
    drop(project);
    folder
}

fn open(folder: &TempDir) -> Project {
    Project::at(folder.path(), Settings::default())
}

/// All files of a folder and below it as texts.
fn texts(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let each = entries.flat_map(|path| {
        if path.is_dir() { texts(&path) } else { vec![fs::read_to_string(path).unwrap()] }
    });
    each.collect()
}

fn undo(folder: &TempDir, frame: FrameNum) {
    let store = Store::open_unchecked(&folder.path().join(".callstack")).unwrap();
    let events = [Event::FrameDetached { frame }];
    let undone: Result<_, StoreError> = store.write(|change| change.append(1, &events));
    undone.unwrap();
}

#[test]
fn are_masked_in_the_files_for_other_programs_and_in_the_log() {
    let folder = worked();
    let kept = open(&folder).engine.state().unwrap();
    assert!(json!(kept).to_string().contains(&token(1)), "the store has it");
    let mut written = texts(&folder.path().join(".opencode"));
    assert_eq!(written.len(), 5, "an ignore file, the state and three frames");
    written.push(fs::read_to_string(folder.path().join(".callstack/callstack.log")).unwrap());
    for text in &written {
        assert!(!text.contains(&token(1)), "{text}");
    }
    let log = written.last().unwrap();
    assert!(log.contains(&format!("results: \"logged in with {MASKED}\"")), "{log}");

    // All else stands there as it is.
    let filed = load_state(folder.path()).unwrap();
    assert_eq!(
        StackState { store: None, revision: None, masked_with: None, ..filed },
        kept.clone().masked()
    );
    for (id, frame) in &kept.masked().frames {
        assert_eq!(load_frame(folder.path(), id).unwrap().as_ref(), Some(frame));
    }
    let tried = load_state(folder.path()).unwrap().frames;
    let tried = tried.values().find(|frame| frame.handle == "f2").unwrap();
    assert_eq!(tried.results.as_deref(), Some(format!("logged in with {MASKED}").as_str()));
    assert_eq!(tried.pins["p1"], format!("never show {MASKED}"));
}

#[test]
fn that_were_masked_are_never_taken_over_what_the_store_has() {
    let folder = worked();
    let before = open(&folder).engine.state().unwrap();
    let project = open(&folder);
    // Without being named they are left: they are the store's own.
    assert!(!project.engine.has_frames_of_others().unwrap());
    let own = folder.path().join(".opencode/stack");
    let outcome = project.engine.import(std::slice::from_ref(&own)).unwrap();
    assert_eq!((outcome.counts.imported, outcome.counts.known), (0, 3));
    assert_eq!(project.engine.state().unwrap(), before);
    // Nor from files that are older than the frames, or from before one was undone.
    let aside = folder.path().join(".opencode/stack.before-1");
    fs::create_dir(&aside).unwrap();
    fs::copy(folder.path().join(".opencode/stack/state.json"), aside.join("state.json")).unwrap();
    project.did("ses_a", "stack_add_decision", json!({"decision": token(2)}));
    undo(&folder, FrameNum(2));
    let before = project.engine.state().unwrap();
    assert_eq!(before.frames.len(), 2);
    assert!(!project.engine.has_frames_of_others().unwrap());
    assert_eq!(project.engine.import(&[own, aside]).unwrap().counts.imported, 0);
    assert_eq!(project.engine.state().unwrap(), before);
}

#[test]
fn that_are_said_later_are_masked_too_and_nothing_is_written_again_without_need() {
    let folder = worked();
    let named = |handle: &str| {
        let state = load_state(folder.path()).unwrap();
        let id = state.frames.values().find(|it| it.handle == handle).unwrap().session_id.clone();
        folder.path().join(format!(".opencode/stack/frames/{id}.json"))
    };
    let marks = ["f1", "f2"].map(|handle| {
        // Only a file that is not replaced still ends with this.
        let text = fs::read_to_string(named(handle)).unwrap() + "\n\n";
        fs::write(named(handle), &text).unwrap();
        text
    });
    let project = open(&folder);
    project.did("ses_a", "stack_add_decision", json!({"decision": token(2)}));
    drop(project);
    let [root, tried] = ["f1", "f2"].map(|handle| fs::read_to_string(named(handle)).unwrap());
    assert_eq!(tried, marks[1]);
    assert!(root != marks[0] && root.contains(&format!("\"{MASKED}\"")), "{root}");
    assert!(!texts(&folder.path().join(".opencode")).concat().contains(&token(2)));
}

#[test]
fn that_an_older_callstack_wrote_down_are_masked_with_the_next_change() {
    let folder = worked();
    let kept = open(&folder).engine.state().unwrap();
    let masked = load_state(folder.path()).unwrap();
    let plain = |masked_with: Option<&str>| {
        let StackState { store, revision, .. } = masked.clone();
        let masked_with = masked_with.map(str::to_owned);
        let state = StackState { store, revision, masked_with, ..kept.clone() };
        save_state(folder.path(), &state).unwrap();
        for frame in state.frames.values() {
            save_frame(folder.path(), frame).unwrap();
        }
        assert!(texts(&folder.path().join(".opencode")).concat().contains(&token(1)));
    };
    for masked_with in [None, Some("other forms")] {
        plain(masked_with);
        let project = open(&folder);
        project.engine.write_files();
        drop(project);
        assert!(!texts(&folder.path().join(".opencode")).concat().contains(&token(1)));
        assert_eq!(load_state(folder.path()).unwrap().masked_with, masked.masked_with);
    }
}
