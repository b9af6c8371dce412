//! Paths that are not UTF-8.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::Value;

use super::test_env::{BINARY, Said, TestEnv};

const NAME: &[u8] = b"x\xff";
const SHOWN: &str = "x\u{fffd}";

fn folder(desk: &TestEnv) -> PathBuf {
    let folder = desk.sealed.root().join(OsStr::from_bytes(NAME));
    std::fs::create_dir(&folder).unwrap();
    folder
}

fn parsed(said: &Said, args: &[&str]) -> Value {
    assert_eq!(said.code, 0, "{args:?}: {}{}", said.stdout, said.stderr);
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}"))
}

#[test]
fn a_project_works_in_a_folder_whose_name_is_not_utf_8() {
    let desk = TestEnv::new();
    let project = folder(&desk);
    let shown = |path: &str| format!("{}/{SHOWN}{path}", desk.sealed.root().display());
    let said = desk.run_in(&project, &["init", "opencode", "--json"]);
    let made = parsed(&said, &["init"]);
    assert_eq!(made["project"], shown("").as_str());
    assert_eq!(made["store"]["path"], shown("/.callstack/callstack.db").as_str());
    assert_eq!(made["commands"].as_array().unwrap().len(), 4);
    let presets = project.join(".opencode/stack/presets");
    std::fs::create_dir_all(&presets).unwrap();
    std::fs::write(presets.join("mine.toml"), "[[frames]]\ntitle = \"Read it\"\n").unwrap();
    let all: &[&[&str]] = &[
        &["init", "opencode"],
        &["push", "First", "-c", "It is there"],
        &["plan", "Second", "-c", "It is planned"],
        &["pop", "-r", "It is."],
        &["status"],
        &["tree"],
        &["show", "f1"],
        &["search", "First"],
        &["log", "f1"],
        &["context", "f1"],
        &["config"],
        &["preset", "list"],
        &["preset", "show", "mine"],
        &["export"],
        &["export", "-o", "all.json"],
        &["import", "all.json"],
        &["import", "."],
        &["doctor"],
        &["doctor", "--rebuild"],
        &["init", "opencode", "--remove"],
    ];
    for args in all {
        parsed(&desk.run_in(&project, &[args, &["--json"][..]].concat()), args);
        if !matches!(args[0], "push" | "plan" | "pop") {
            let said = desk.run_in(&project, args);
            assert_eq!(said.code, 0, "{args:?}: {}", said.stderr);
        }
    }
}

#[test]
fn a_store_that_can_only_be_read_is_read_there_too() {
    let desk = TestEnv::new();
    let project = folder(&desk);
    assert_eq!(desk.run_in(&project, &["push", "First", "-c", "x", "--here"]).code, 0);
    let store = project.join(".callstack");
    let mode = |path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    for entry in std::fs::read_dir(&store).unwrap() {
        mode(entry.unwrap().path(), 0o400);
    }
    mode(store.clone(), 0o500);
    let said = desk.run_in(&project, &["tree"]);
    mode(store, 0o700);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.contains("First"), "{}", said.stdout);
}

#[test]
fn a_binary_in_such_a_folder_can_not_be_named_in_the_plugin_and_says_so() {
    let desk = TestEnv::new();
    let binary = folder(&desk).join("callstack");
    std::fs::copy(BINARY, &binary).unwrap();
    let run = |args: &[&str]| {
        let mut command = desk.sealed.command(&binary);
        command.args(args);
        desk.finish(command)
    };
    let said = run(&["init", "opencode"]);
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains(&format!("{SHOWN}/callstack, is not UTF-8")), "{}", said.stderr);
    assert!(said.stderr.contains("hint: Install callstack into"), "{}", said.stderr);
    assert!(!desk.project().join(".opencode").exists());
    let said = run(&["doctor", "--json"]);
    assert!(serde_json::from_str::<Value>(&said.stdout).is_ok(), "{}{}", said.stdout, said.stderr);
}

#[test]
fn a_request_that_is_not_utf_8_is_passed_over() {
    let desk = TestEnv::with_frames();
    let wake = r#"{"id":1,"method":"wake"}"#;
    let input = [wake.as_bytes(), b"\n\xff\n{\"id\":9,\"\xff\":1}\n", wake.as_bytes()].concat();
    let said = desk.run_with(&["host", "opencode"], &input);
    let answers: Vec<Value> =
        said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!((said.code, ids), (0, vec![1, 9, 1]), "{}{}", said.stdout, said.stderr);
    assert_eq!(answers[1]["error"]["kind"], "invalid", "the line that names a request is answered");
    assert_eq!(said.stderr.matches("a request can't be read").count(), 2, "{}", said.stderr);
}
