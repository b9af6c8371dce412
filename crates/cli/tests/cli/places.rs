//! The project that a command works in.

use super::test_env::{TestEnv, says};

#[test]
fn the_store_is_found_from_a_folder_below() {
    let desk = TestEnv::with_frames();
    let below = desk.sealed.write("src/deep/x.rs", "").unwrap();
    let below = below.parent().unwrap();
    let said = desk.run_in(below, &["push", "From below", "-c", "x"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(desk.ok(&["tree"]).contains("From below"));
    assert!(!below.join(".callstack").exists());
}

#[test]
fn a_new_store_is_made_at_the_root_of_the_work_tree() {
    let desk = TestEnv::without_store();
    desk.sealed.git_init().unwrap();
    let below = desk.sealed.write("src/x.rs", "").unwrap();
    let said = desk.run_in(below.parent().unwrap(), &["push", "--here", "First", "-c", "x"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(desk.database().is_file());
    let ignored = desk.sealed.read(".callstack/.gitignore").unwrap();
    assert_eq!(ignored, "*\n");
}

#[test]
fn work_makes_a_store_only_where_that_is_asked_for_and_says_where() {
    for args in [
        &["push", "First", "-c", "x"][..],
        &["plan", "Later"],
        &["preset", "apply", "bugfix", "bug=it panics"],
        &["import", "past.jsonl"],
    ] {
        let desk = TestEnv::without_store();
        desk.sealed.git_init().unwrap();
        let past = desk.sealed.write("src/past.jsonl", "{}").unwrap();
        let below = past.parent().unwrap();
        let said = desk.run_in(below, args);
        assert_eq!(said.code, 3, "{args:?}: {}", said.stdout);
        assert!(said.stderr.contains("with --here"), "{args:?}: {}", said.stderr);
        assert!(!desk.project().join(".callstack").exists(), "{args:?}");
        let said = desk.run_in(below, &[args, &["--here"]].concat());
        let line = format!("made a store in {}", desk.project().join(".callstack").display());
        assert!(said.stderr.contains(&line), "{args:?}: {}", said.stderr);
        assert!(desk.database().is_file(), "{args:?}");
        let said = desk.run_in(below, args);
        assert!(!said.stderr.contains("made a store"), "{args:?}: {}", said.stderr);
    }
}

#[test]
fn settings_of_all_projects_need_no_store() {
    let desk = TestEnv::without_store();
    let data = desk.json(&["config", "log", "off", "--user"]);
    assert_eq!(data["source"], "user");
    assert_eq!(desk.run(&["config", "log", "off"]).code, 3);
    assert!(!desk.project().join(".callstack").exists());
}

#[test]
fn looking_never_makes_a_store() {
    let desk = TestEnv::without_store();
    says!(desk, ["tree"], @r#"
    exit 3
    --- stderr
    error: no callstack store in $ROOT/project or above
    hint: `callstack init opencode` makes one, and so do `push`, `plan` and `import` with --here.
    "#);
    for args in [&["status"][..], &["show", "f1"], &["log", "f1"], &["context"], &["doctor"]] {
        assert_eq!(desk.run(args).code, 3, "{args:?}");
    }
    for args in [&["pop", "-r", "x"][..], &["activate", "f1"], &["decision", "x"]] {
        assert_eq!(desk.run(args).code, 3, "{args:?}");
    }
    assert_eq!(desk.files(), [""; 0]);
    assert!(!desk.project().join(".callstack").exists());
}

#[test]
fn the_home_folder_is_never_taken() {
    let desk = TestEnv::without_store();
    let home = desk.sealed.home();
    says!(output: desk, desk.run_in(&home, &["push", "--here", "x", "-c", "y"]), @r#"
    exit 2
    --- stderr
    error: the home folder $ROOT/home is never taken for a project
    hint: Go to the project's folder, or name it with -C DIR.
    "#);
    assert_eq!(desk.run_in(&home, &["init", "opencode"]).code, 2);
    assert_eq!(desk.run(&["init", "opencode", home.to_str().unwrap()]).code, 2);
    assert_eq!(desk.run(&["-C", home.to_str().unwrap(), "plan", "--here", "x"]).code, 2);
    assert!(!home.join(".callstack").exists() && !home.join(".opencode").exists());

    // A store that somebody put there all the same, and a repository, are not found from below.
    std::fs::create_dir_all(home.join(".callstack")).unwrap();
    std::fs::create_dir_all(home.join(".git")).unwrap();
    let below = home.join("project");
    std::fs::create_dir(&below).unwrap();
    assert_eq!(desk.run_in(&below, &["tree"]).code, 3);
    assert_eq!(desk.run_in(&below, &["push", "--here", "x", "-c", "y"]).code, 0);
    assert!(below.join(".callstack/callstack.db").is_file());
    assert!(!home.join(".callstack/callstack.db").exists());
}

#[test]
fn a_home_behind_a_link_is_the_home_folder_too() {
    let desk = TestEnv::without_store();
    let link = desk.sealed.root().join("link");
    std::os::unix::fs::symlink(desk.sealed.home(), &link).unwrap();
    let mut command = desk.command(&desk.sealed.home(), &["push", "--here", "x", "-c", "y"]);
    command.env("HOME", &link);
    assert_eq!(desk.finish(command).code, 2);
    assert!(!desk.sealed.home().join(".callstack").exists());
}

#[test]
fn another_place_can_be_named() {
    let desk = TestEnv::with_frames();
    let here = desk.ok(&["status"]);
    let said = desk.run_in(desk.sealed.root(), &["-C", "project", "status"]);
    assert_eq!(said.stdout, here);
    let said = desk.run_in(desk.sealed.root(), &["status", "-C", "project"]);
    assert_eq!(said.stdout, here);
    desk.sealed.write("a-file", "").unwrap();
    says!(desk, ["-C", "nowhere", "status"], @r#"
    exit 2
    --- stderr
    error: nowhere is no folder that can be used: No such file or directory (os error 2)
    hint: Name a folder that is there.
    "#);
    says!(desk, ["-C", "a-file", "status"], @r#"
    exit 2
    --- stderr
    error: a-file is no folder that can be used: it is a file
    hint: Name a folder that is there.
    "#);
}

#[test]
fn settings_come_from_the_environment() {
    let desk = TestEnv::without_store();
    let mut command = desk.command(&desk.project(), &["push", "--here", "x", "-c", "y"]);
    command.env("STACK_TOOLS", "some");
    says!(output: desk, desk.finish(command), @r#"
    exit 2
    --- stderr
    error: STACK_TOOLS is `some`
    hint: It may be default, full or flame.
    "#);
    desk.ok(&["push", "--here", "Root", "-c", "y"]);
    let mut command = desk.command(&desk.project(), &["push", "Deeper", "-c", "y"]);
    command.env("STACK_LIMIT_DEPTH", "1");
    says!(output: desk, desk.finish(command), @r#"
    exit 5
    --- stderr
    error: the depth of the tree would be 2, and the limit is 1
    hint: Pop what is finished, or do the work in the frame that is open.
    "#);
    desk.is_whole(&["f1"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_was_there_before_holds_nothing_that_others_may_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = TestEnv::without_store();
    let folder = desk.project().join(".callstack");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    desk.ok(&["push", "Write it", "-c", "written"]);
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
}
