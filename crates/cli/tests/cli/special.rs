//! Named pipes and devices in place of files: a program that opens one could wait for ever.

use std::fs;
use std::fs::FileTimes;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::test_env::{Said, TestEnv};

fn pipe(desk: &TestEnv, path: &str) -> PathBuf {
    let path = desk.project().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    drop(fs::remove_file(&path));
    let mut command = desk.sealed.command("mkfifo");
    command.arg(&path);
    assert_eq!(desk.finish(command).code, 0);
    path
}

/// Asserts that a command ends, and names the file and its kind.
fn refused(said: &Said, path: &Path, what: &str) {
    let output = format!("{}{}", said.stdout, said.stderr);
    assert_ne!(said.code, 0, "{output}");
    assert!(output.contains(path.file_name().unwrap().to_str().unwrap()), "{output}");
    assert!(output.contains(&format!("it is {what}, not a file")), "{output}");
}

#[test]
fn files_that_are_named_are_refused() {
    let desk = TestEnv::with_frames();
    let path = pipe(&desk, "session.jsonl");
    for args in [
        &["import", "session.jsonl"][..],
        &["replay", "session.jsonl"],
        &["export", "-o", "session.jsonl"],
        &["report", "-o", "session.jsonl"],
    ] {
        refused(&desk.run(args), &path, "a named pipe");
    }
    let null = desk.project().join("null");
    std::os::unix::fs::symlink("/dev/null", &null).unwrap();
    for args in [&["import", "null"][..], &["replay", "null"], &["export", "-o", "null"]] {
        refused(&desk.run(args), &null, "a device");
    }
    assert!(null.symlink_metadata().unwrap().is_symlink());
    // Nothing of it has a hash, and that is all.
    desk.ok(&["artifact", "session.jsonl"]);
    desk.ok(&["pop", "-r", "Done."]);
    desk.ok(&["show", "f5"]);
}

#[test]
fn files_of_the_agents_folder_are_refused() {
    let desk = TestEnv::with_frames();
    desk.ok(&["init", "opencode"]);
    let plugin = pipe(&desk, ".opencode/plugin/callstack.ts");
    for args in [&["init", "opencode"][..], &["init", "opencode", "--remove"], &["doctor"]] {
        refused(&desk.run(args), &plugin, "a named pipe");
    }
    let doctor = desk.run(&["doctor"]);
    assert!(doctor.stdout.contains("events, and the tables agree"), "{}", doctor.stdout);
    fs::remove_file(&plugin).unwrap();

    let command = pipe(&desk, ".opencode/command/push.md");
    refused(&desk.run(&["init", "opencode"]), &command, "a named pipe");
    fs::remove_file(&command).unwrap();

    for interface in [".opencode/tui/callstack.tsx", ".opencode/tui.json"] {
        let interface = pipe(&desk, interface);
        for args in [&["init", "opencode"][..], &["init", "opencode", "--remove"], &["doctor"]] {
            refused(&desk.run(args), &interface, "a named pipe");
        }
        fs::remove_file(&interface).unwrap();
        desk.ok(&["init", "opencode"]);
    }

    let preset = pipe(&desk, ".opencode/stack/presets/mine.toml");
    refused(&desk.run(&["preset", "show", "mine"]), &preset, "a named pipe");
    fs::remove_file(&preset).unwrap();

    let state = desk.project().join(".opencode/stack/state.json");
    fs::create_dir_all(state.with_file_name("frames")).unwrap();
    let frame = pipe(&desk, ".opencode/stack/frames/x.json");
    let said = desk.run(&["import", ".opencode/stack"]);
    assert!(said.stdout.contains("it is a named pipe, not a file"), "{}", said.stdout);
    fs::remove_file(&frame).unwrap();

    pipe(&desk, ".opencode/stack/state.json");
    let said = desk.run_with(&["host", "opencode"], b"{\"id\":1,\"method\":\"wake\"}\n");
    assert_eq!((said.code, said.stdout.lines().count()), (0, 1), "{}", said.stderr);
    desk.ok(&["push", "Goes on", "-c", "It does"]);
}

#[test]
fn a_pipe_in_place_of_the_log_of_what_is_done_is_no_store_of_ours() {
    let desk = TestEnv::with_frames();
    let log = pipe(&desk, ".callstack/callstack.log");
    for args in [&["push", "Goes on", "-c", "It does"][..], &["doctor"]] {
        let said = desk.run(args);
        let line = format!("{} is not the file or folder that a store has there", log.display());
        let output = said.stdout + &said.stderr;
        assert!(said.code == 7 && output.contains(&line), "{} {output}", said.code);
    }
}

#[test]
fn unfinished_files_of_yesterday_are_swept() {
    let desk = TestEnv::with_frames();
    desk.ok(&["init", "opencode"]);
    let before = SystemTime::now() - Duration::from_hours(25);
    let places =
        [".opencode/plugin", ".opencode/command", ".opencode/stack", ".opencode/stack/frames"];
    let leave = |places: &[&str], name: &str, old: bool| {
        let leave = |place: &&str| {
            let folder = desk.project().join(place);
            fs::create_dir_all(&folder).unwrap();
            let file = fs::File::create(folder.join(name)).unwrap();
            if old {
                file.set_times(FileTimes::new().set_modified(before)).unwrap();
            }
            folder.join(name)
        };
        places.iter().map(leave).collect::<Vec<_>>()
    };
    let old = leave(&places, ".callstack-a1B2c3D4e5F6.tmp", true);
    let new = leave(&places, ".callstack-x1B2c3D4e5F6.tmp", false);
    let foreign = leave(&places[..2], ".tmpa1B2c3.ts", true);
    let said = desk.run_with(&["host", "opencode"], b"{\"id\":1,\"method\":\"wake\"}\n");
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(old.iter().all(|path| !path.exists()), "{old:?}");
    // Among the frames: their writer knows that there is no other one.
    assert!(new[..3].iter().chain(&foreign).all(|path| path.exists()), "{new:?}{foreign:?}");
}
