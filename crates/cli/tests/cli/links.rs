//! Links in place of files that callstack writes in a project: they may have come with the project, and their targets
//! are never written.

use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::json;

use super::host::serve;
use super::test_env::TestEnv;

/// Files below a folder, relative to the project; no links and no folders.
fn files_below(project: &Path, folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(project.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            files.extend(files_below(project, &name));
        } else {
            files.push(name);
        }
    }
    files.sort();
    files
}

/// Makes a project with every file that callstack writes in one.
fn full() -> TestEnv {
    let desk = TestEnv::with_frames();
    desk.ok(&["init", "opencode"]);
    work(&desk);
    // The logs of frames are written after the commands.
    desk.ok(&["log", "f2"]);
    let others = [
        ".callstack/logs/f2.md",
        ".callstack/callstack.log.1",
        ".opencode/stack/frames/frm-0.json",
    ];
    for other in others.map(|it| desk.project().join(it)) {
        fs::create_dir_all(other.parent().unwrap()).unwrap();
        if !other.exists() {
            fs::write(other, "").unwrap();
        }
    }
    desk
}

/// Writes each of them again, as far as that is not refused.
fn work(desk: &TestEnv) {
    for args in
        [&["push", "Go on", "-c", "It goes"][..], &["pop", "-r", "It went."], &["init", "opencode"]]
    {
        drop(desk.run(args));
    }
    let params = json!({"session": "ses_a", "message": "msg_a", "text": "Write the tests"});
    drop(serve(
        desk,
        &[
            json!({"id": 1, "method": "message", "params": params}),
            json!({"id": 2, "method": "wake"}),
        ],
    ));
}

/// Returns a state that changes if a file is written, replaced or made accessible to others.
fn seen(file: &Path) -> (Vec<u8>, u64, i64, i64, u32) {
    let metadata: Metadata = fs::metadata(file).unwrap();
    (
        fs::read(file).unwrap(),
        metadata.ino(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.mode(),
    )
}

#[test]
fn no_file_is_written_through_a_link_in_its_place() {
    let desk = full();
    let project = desk.project();
    let outside = desk.sealed.root().join("outside");
    fs::create_dir(&outside).unwrap();
    let mut files = files_below(&project, ".callstack");
    files.extend(files_below(&project, ".opencode"));
    // Of many files of a kind one stands for the others.
    for (kind, count) in [("/command/", 1), ("/frames/", 2), ("/logs/", 1)] {
        let mut left = count;
        files.retain(|file| {
            let is_of_kind = file.contains(kind);
            left -= i32::from(is_of_kind);
            !is_of_kind || left >= 0
        });
    }
    for name in [
        "/callstack.db",
        "/callstack.log",
        "/id",
        "/.gitignore",
        "/logs/",
        "/command/",
        "/frames/",
        "/callstack.ts",
        "/state.json",
    ] {
        assert!(files.iter().any(|file| file.contains(name)), "{name} is not among {files:#?}");
    }
    for file in files {
        let place = project.join(&file);
        // Its target could be taken for ours, or it is missing.
        for content in [fs::read(&place).ok(), None] {
            let target = outside.join("target");
            if let Some(content) = &content {
                fs::write(&target, content).unwrap();
            }
            let before = content.is_some().then(|| seen(&target));
            // Some come and go.
            let was_there = fs::rename(&place, outside.join("kept")).is_ok();
            symlink(&target, &place).unwrap();
            work(&desk);
            assert_eq!(
                target.exists().then(|| seen(&target)),
                before,
                "{file} was written through a link"
            );
            drop(fs::remove_file(&place));
            drop(fs::remove_file(&target));
            if was_there {
                fs::rename(outside.join("kept"), &place).unwrap();
            }
        }
    }
}

#[test]
fn no_folder_is_written_to_through_a_link_in_its_place() {
    for folder in [
        ".callstack",
        ".callstack/logs",
        ".opencode",
        ".opencode/stack",
        ".opencode/stack/frames",
        ".opencode/plugin",
        ".opencode/command",
        ".opencode/tui",
        ".opencode/tui/callstack",
    ] {
        let desk = full();
        let outside: PathBuf = desk.sealed.root().join("outside");
        fs::create_dir(&outside).unwrap();
        let place = desk.project().join(folder);
        fs::remove_dir_all(&place).unwrap();
        symlink(&outside, &place).unwrap();
        work(&desk);
        let made: Vec<_> = fs::read_dir(&outside).unwrap().map(|it| it.unwrap().path()).collect();
        assert!(made.is_empty(), "{folder}: {made:?}");
    }
}

#[test]
fn a_link_in_place_of_the_list_of_plugins_leaves_the_project_as_it_was() {
    let desk = TestEnv::new();
    let project = desk.project();
    fs::remove_dir_all(project.join(".callstack")).unwrap();
    fs::create_dir(project.join(".opencode")).unwrap();
    fs::write(project.join("shared.json"), "{}").unwrap();
    symlink("../shared.json", project.join(".opencode/tui.json")).unwrap();
    let refused = desk.run(&["init", "opencode"]);
    assert_ne!(refused.code, 0, "{}", refused.stdout);
    assert!(refused.stderr.contains("tui.json"), "{}", refused.stderr);
    assert!(!project.join(".callstack").exists());
    assert!(!project.join(".opencode/plugin").exists());
}
