//! The files of `.opencode/stack`.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use callstack_core::event::Event;
use callstack_core::frame::{Frame, FrameNum, Identity};
use callstack_engine::layout::{self, load_frame, load_state, save_frame, save_state};
use callstack_engine::{Engine, FrameMetadata, Kept, Kind, Settings, StackState, SystemWorld};
use callstack_store::{Store, StoreError};
use serde_json::json;
use tempfile::TempDir;

use crate::support::Project;

/// A project that uses `OpenCode`.
fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".opencode")).unwrap();
    folder
}

fn open(folder: &TempDir, files: bool) -> Project {
    let kept = Kept { files, ..Settings::default().kept };
    Project::at(folder.path(), Settings { kept, ..Settings::default() })
}

/// A root with a finished, an open and a planned child; the process that made them has ended.
fn worked(folder: &TempDir, files: bool) -> StackState {
    let project = open(folder, files);
    project.user("ses_a", "Build the parser for our configuration files");
    project.did("ses_a", "stack_frame_push", json!({"title": "Read", "successCriteria": "read"}));
    project.did("ses_a", "stack_add_decision", json!({"decision": "by hand"}));
    project.did("ses_a", "stack_frame_pop", json!({"results": "23 rules"}));
    project.did(
        "ses_a",
        "stack_frame_plan",
        json!({"children": [
        {"title": "Document", "successCriteria": "each has a page"}]}),
    );
    project.did("ses_a", "stack_frame_push", json!({"title": "Write", "successCriteria": "green"}));
    project.did("ses_a", "stack_pin", json!({"text": "no generator"}));
    drop(project);
    kept(folder)
}

/// The tree as the store has it once the process has ended that changed it: until then logs are written.
fn kept(folder: &TempDir) -> StackState {
    open(folder, false).engine.state().unwrap()
}

/// Returns the tree in the files, without the identity of its store.
fn filed(folder: &Path) -> StackState {
    let state = load_state(folder).unwrap();
    assert!(state.store.is_some() && state.revision.is_some(), "{state:?}");
    StackState { store: None, revision: None, masked_with: None, ..state }
}

fn frames(folder: &Path) -> Vec<String> {
    names(&folder.join(".opencode/stack/frames"))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Asserts that the files have the content of the store, and nothing else.
#[track_caller]
fn agree(folder: &Path, state: &StackState) {
    assert_eq!(&filed(folder), state);
    for (id, frame) in &state.frames {
        assert_eq!(load_frame(folder, id).unwrap().as_ref(), Some(frame));
    }
    assert_eq!(frames(folder).len(), state.frames.len(), "{:?}", frames(folder));
}

#[test]
fn hold_the_tree_once_the_process_has_ended() {
    let folder = project();
    let state = worked(&folder, true);
    assert_eq!(state.frames.len(), 4);
    agree(folder.path(), &state);
    let ignored = fs::read_to_string(folder.path().join(".opencode/stack/.gitignore")).unwrap();
    assert_eq!(ignored, "*\n!/presets/\n!/presets/**\n", "presets may be shared");
}

#[test]
fn are_not_written_where_nobody_reads_them_or_they_are_turned_off() {
    let without = tempfile::tempdir().unwrap();
    worked(&without, true);
    assert!(!without.path().join(".opencode").exists());
    let off = project();
    worked(&off, false);
    assert_eq!(names(&off.path().join(".opencode")), Vec::<String>::new());
}

#[test]
fn follow_what_is_set_while_the_process_runs() {
    let folder = project();
    let project = open(&folder, true);
    project.engine.set_setting("STACK_FILES", Some("off")).unwrap();
    project.user("ses_a", "Build it");
    drop(project);
    assert_eq!(names(&folder.path().join(".opencode")), Vec::<String>::new());
    let project = open(&folder, true);
    project.engine.set_setting("STACK_FILES", None).unwrap();
    drop(project);
    let state = kept(&folder);
    agree(folder.path(), &state);
}

#[test]
fn only_what_changed_is_written_again() {
    let folder = project();
    let state = worked(&folder, true);
    let file = |id: &str| folder.path().join(".opencode/stack/frames").join(format!("{id}.json"));
    let id = |title: &str| {
        let mut found = state.frames.values().filter(|frame| frame.title == title);
        found.next().unwrap().session_id.clone()
    };
    // A replaced file is another file.
    let inode = |title: &str| fs::metadata(file(&id(title))).unwrap().ino();
    let before: Vec<_> = ["Read", "Document", "Write"].map(inode).into();
    let project = open(&folder, true);
    project.did("ses_a", "stack_add_decision", json!({"decision": "two passes"}));
    drop(project);
    let state = kept(&folder);
    agree(folder.path(), &state);
    let after: Vec<_> = ["Read", "Document", "Write"].map(inode).into();
    assert_eq!(after[..2], before[..2]);
    assert_ne!(after[2], before[2]);
}

#[test]
fn follow_a_frame_to_its_new_id_and_out_of_the_tree() {
    let folder = project();
    let state = worked(&folder, true);
    let of = |state: &StackState, title: &str| {
        state.frames.values().find(|frame| frame.title == title).cloned().unwrap()
    };
    let planned = of(&state, "Document").session_id;
    assert!(frames(folder.path()).contains(&format!("{planned}.json")));
    let project = open(&folder, true);
    project.did("ses_a", "stack_frame_pop", json!({"results": "green"}));
    project.did("ses_a", "stack_frame_activate", json!({"frame": planned.as_str()}));
    drop(project);
    let state = kept(&folder);
    agree(folder.path(), &state);
    assert_ne!(of(&state, "Document").session_id, planned);
    assert_eq!(of(&state, "Document").former_ids, [planned.as_str()]);
    assert_eq!(load_frame(folder.path(), &planned).unwrap(), None);

    let num = of(&state, "Read").handle.parse().unwrap();
    append(folder.path(), &[Event::FrameDetached { frame: num }]);
    let project = open(&folder, true);
    project.engine.write_files();
    drop(project);
    let state = kept(&folder);
    assert!(state.frames.values().all(|frame| frame.title != "Read"));
    agree(folder.path(), &state);
}

fn append(folder: &Path, events: &[Event]) {
    let store = Store::open_unchecked(&folder.join(".callstack")).unwrap();
    store.write(|change| change.append(1_800_000_000_000, events)).unwrap_or_else(
        |error: StoreError| {
            panic!("{error}");
        },
    );
}

#[test]
fn what_a_killed_process_left_behind_is_made_up_for() {
    let folder = project();
    worked(&folder, true);
    let other = open(&folder, false);
    other.did("ses_a", "stack_add_decision", json!({"decision": "never written"}));
    let state = other.engine.state().unwrap();
    drop(other);
    assert_ne!(filed(folder.path()), state);
    let lost = frames(folder.path()).remove(0);
    fs::remove_file(folder.path().join(".opencode/stack/frames").join(lost)).unwrap();
    let next = open(&folder, true);
    next.engine.write_files();
    drop(next);
    agree(folder.path(), &state);
}

#[test]
fn of_another_program_are_set_aside_but_presets() {
    for (state, frame) in [
        (
            r#"{"version":1,"frames":{"ses_old":{"sessionID":"ses_old","status":"completed"}},"rootFrameIDs":["ses_old"],"updatedAt":1}"#,
            None,
        ),
        (r#"{"version":1,"frames":{"ses_old":{"sess"#, None),
        ("[]", None),
        (r#"{"frames":3}"#, Some(r#"{"sessionID":"ses_old","goal":"old"}"#)),
        ("", Some("")),
    ] {
        let folder = project();
        let stack = folder.path().join(".opencode/stack");
        fs::create_dir_all(stack.join("frames")).unwrap();
        fs::write(stack.join("state.json"), state).unwrap();
        fs::create_dir(stack.join("presets")).unwrap();
        fs::write(stack.join("presets/mine.toml"), "").unwrap();
        if let Some(frame) = frame {
            fs::write(stack.join("frames/ses_old.json"), frame).unwrap();
        }
        agree(folder.path(), &worked(&folder, true));
        assert!(stack.join("presets/mine.toml").is_file());
        let aside = folder.path().join(".opencode/stack.before-1");
        assert_eq!(fs::read_to_string(aside.join("state.json")).unwrap(), state);
        if let Some(frame) = frame {
            assert_eq!(fs::read_to_string(aside.join("frames/ses_old.json")).unwrap(), frame);
        }
    }
}

#[test]
fn without_the_state_only_another_programs_frames_are_set_aside() {
    let folder = project();
    worked(&folder, true);
    fs::remove_file(folder.path().join(".opencode/stack/state.json")).unwrap();
    let project = open(&folder, true);
    project.engine.write_files();
    drop(project);
    let state = kept(&folder);
    agree(folder.path(), &state);
    assert_eq!(names(&folder.path().join(".opencode")), ["stack"]);

    fs::remove_file(folder.path().join(".opencode/stack/state.json")).unwrap();
    fs::write(folder.path().join(".opencode/stack/frames/other.json"), "{}").unwrap();
    let project = open(&folder, true);
    project.engine.write_files();
    drop(project);
    agree(folder.path(), &state);
    assert_eq!(names(&folder.path().join(".opencode")), ["stack", "stack.before-1"]);
}

#[test]
fn of_a_newer_callstack_are_left() {
    let folder = project();
    let stack = folder.path().join(".opencode/stack");
    fs::create_dir_all(&stack).unwrap();
    let newer = r#"{"version":99,"frames":{},"rootFrameIDs":[],"updatedAt":1}"#;
    fs::write(stack.join("state.json"), newer).unwrap();
    let state = worked(&folder, true);
    assert_eq!(state.frames.len(), 4);
    assert_eq!(fs::read_to_string(stack.join("state.json")).unwrap(), newer);
    let error = load_state(folder.path()).unwrap_err();
    assert_eq!(error.kind, Kind::Unavailable);
    assert!(error.message.contains("version 99"), "{error}");
}

#[test]
fn that_cannot_be_written_break_nothing() {
    let folder = project();
    let stack = folder.path().join(".opencode/stack");
    fs::write(&stack, "a file where the folder should be").unwrap();
    let project = open(&folder, true);
    project.user("ses_a", "Build it");
    project.wait(|| project.engine.files_failure().is_some());
    let failure = project.engine.files_failure().unwrap();
    assert_eq!(failure.kind, Kind::Unavailable);
    project.did("ses_a", "stack_add_decision", json!({"decision": "it goes on"}));
    fs::remove_file(&stack).unwrap();
    // Its end is one more try.
    drop(project);
    let state = kept(&folder);
    agree(folder.path(), &state);
}

#[test]
fn two_writers_and_a_reader_never_see_half_of_one_or_an_older_after_a_newer() {
    let folder = project();
    let path = folder.path();
    open(&folder, false).user("ses_a", "Build it");
    let done = AtomicBool::new(false);
    let engine =
        || Engine::open_unchecked(path, Settings::default(), Box::new(SystemWorld)).unwrap();
    let seen = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut revisions = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let state = load_state(path).unwrap();
                revisions.push(state.revision.unwrap_or(0));
                for id in state.frames.keys() {
                    load_frame(path, id).unwrap();
                }
            }
            revisions
        });
        let writers = ["left", "right"].map(|name| {
            scope.spawn(move || {
                for n in 0..20 {
                    let project = Project::of(engine());
                    let child = json!({"title": format!("{name} {n}"), "successCriteria": "x"});
                    project.did("ses_a", "stack_frame_plan", json!({"children": [child]}));
                }
            })
        });
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        reader.join().unwrap()
    });
    assert!(seen.is_sorted(), "{seen:?}");
    let state = engine().state().unwrap();
    assert_eq!(state.frames.len(), 41);
    agree(path, &state);
}

#[test]
fn ids_that_are_no_file_names_get_ones_of_their_own() {
    let folder = project();
    worked(&folder, true);
    let long = format!("ses_{}", "x".repeat(400));
    let ids = ["a/b", "a:b", "a_b", "../../up", "", "ses é", long.as_str()];
    let store = Store::open_unchecked(&folder.path().join(".callstack")).unwrap();
    let events: Vec<_> = ids
        .iter()
        .zip(100..)
        .map(|(id, num)| {
            let identity = Identity { title: (*id).to_owned(), ..Identity::default() };
            let frame = Frame::planned(FrameNum(num), (*id).to_owned(), None, 0, identity, 0);
            Event::FrameCreated { frame: Box::new(frame) }
        })
        .collect();
    append(folder.path(), &events);
    drop(store);
    let project = open(&folder, true);
    project.engine.write_files();
    drop(project);
    let state = kept(&folder);
    agree(folder.path(), &state);
    assert!(frames(folder.path()).contains(&"a_b.json".to_owned()));
    assert_eq!(load_frame(folder.path(), "a_b").unwrap().unwrap().title, "a_b");

    // The frame with the plain name goes, and another one gets the name.
    append(folder.path(), &[Event::FrameDetached { frame: FrameNum(102) }]);
    let project = open(&folder, true);
    project.engine.write_files();
    drop(project);
    let state = kept(&folder);
    agree(folder.path(), &state);
    assert_eq!(load_frame(folder.path(), "a_b").unwrap(), None);
}

fn metadata(id: &str) -> FrameMetadata {
    serde_json::from_value(json!({"sessionID": id, "status": "planned", "title": id})).unwrap()
}

#[test]
fn the_storage_functions_keep_what_they_are_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    assert_eq!(load_state(path).unwrap(), StackState::default());
    assert_eq!(load_frame(path, "ses_a").unwrap(), None);
    let state = StackState {
        frames: [("ses_a".to_owned(), metadata("ses_a"))].into(),
        root_frame_ids: vec!["ses_a".to_owned()],
        active_frame_id: Some("ses_a".to_owned()),
        updated_at: 7,
        store: Some("s".to_owned()),
        revision: Some(5),
        ..StackState::default()
    };
    assert!(save_state(path, &state).unwrap());
    assert_eq!(load_state(path).unwrap(), state);
    let older = StackState {
        revision: Some(4),
        ..StackState { store: state.store.clone(), ..StackState::default() }
    };
    assert!(!save_state(path, &older).unwrap());
    assert_eq!(load_state(path).unwrap(), state);
    for id in ["ses_a", "a/b", "a:b", "plan-1"] {
        save_frame(path, &metadata(id)).unwrap();
    }
    for id in ["ses_a", "a/b", "a:b", "plan-1"] {
        assert_eq!(load_frame(path, id).unwrap().unwrap(), metadata(id));
    }
    assert_eq!(load_frame(path, "a?b").unwrap(), None);
    assert!(frames(path).contains(&"a_b.json".to_owned()));
    assert!(frames(path).contains(&"plan-1.json".to_owned()));
}

#[test]
fn the_storage_functions_never_take_what_is_unreadable_for_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    save_state(path, &StackState::default()).unwrap();
    save_frame(path, &metadata("ses_a")).unwrap();
    let files: [PathBuf; 2] =
        ["state.json", "frames/ses_a.json"].map(|name| layout::folder(path).join(name));
    for broken in
        ["", "{\"version\":1,\"fra", "[1]", "{\"status\":\"new\",\"sessionID\":\"ses_a\"}"]
    {
        for file in &files {
            fs::write(file, broken).unwrap();
        }
        let failures = [
            load_state(path).unwrap_err(),
            save_state(path, &StackState::default()).unwrap_err(),
            load_frame(path, "ses_a").unwrap_err(),
            save_frame(path, &metadata("ses_a")).unwrap_err(),
        ];
        for error in failures {
            assert_eq!(error.kind, Kind::Unavailable, "{broken}: {error}");
            assert!(error.hint.unwrap().to_string().contains("move it away"), "{broken}");
        }
        for file in &files {
            assert_eq!(fs::read_to_string(file).unwrap(), broken);
        }
    }
}

#[test]
fn links_in_place_of_the_files_are_not_followed() {
    let folder = project();
    let elsewhere = tempfile::tempdir().unwrap();
    let other = elsewhere.path().join("other.json");
    save_state(elsewhere.path(), &StackState::default()).unwrap();
    fs::rename(layout::folder(elsewhere.path()).join("state.json"), &other).unwrap();
    fs::create_dir_all(layout::folder(folder.path())).unwrap();
    // It might as well lead to a device that never ends.
    let state = layout::folder(folder.path()).join("state.json");
    std::os::unix::fs::symlink(&other, &state).unwrap();
    assert_eq!(load_state(folder.path()).unwrap_err().kind, Kind::Unavailable);
    let before = fs::read(&other).unwrap();
    worked(&folder, true);
    assert_eq!(fs::read(&other).unwrap(), before);
}
