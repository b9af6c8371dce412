//! No commit takes along what callstack writes, whatever a branch brings: `info/exclude` of the repository names the
//! folders, and nothing is written to what git tracks.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::kept::{git, push, push_in, with_branch};
use super::killed::process::Process;
use super::test_env::TestEnv;

/// Returns what git prints about the project.
fn printed(desk: &TestEnv, args: &[&str]) -> String {
    let mut command = desk.sealed.command_in(&desk.project(), "git");
    command.args(args);
    desk.sealed.run("git", command, Duration::from_secs(30)).unwrap().stdout
}

/// A branch that is checked out under a live agent tracks the logs that callstack writes.
#[test]
fn logs_that_a_branch_tracks_are_not_written() {
    let desk = with_branch(|desk| {
        let store = desk.project().join(".callstack");
        fs::create_dir_all(store.join("logs")).unwrap();
        fs::write(store.join("callstack.log"), "theirs\n").unwrap();
        for frame in 1..9 {
            fs::write(store.join(format!("logs/f{frame}.md")), "theirs\n").unwrap();
        }
    });
    let mut process = Process::start(&desk, None);
    let pop = |process: &mut Process, results: &str| {
        let call = json!({"name": "stack_frame_pop", "session": "ses_a", "message": format!("msg_{results}"),
            "call": format!("call_{results}"), "agent": "build", "args": {"results": results}});
        process.ask("tool", &call).unwrap();
    };
    push_in(&mut process, "first");
    pop(&mut process, "done");
    push_in(&mut process, "newest");
    let logs = desk.project().join(".callstack/logs");
    let begun = Instant::now();
    while fs::read_dir(&logs).unwrap().count() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(30), "the log is not written");
        std::thread::sleep(Duration::from_millis(20));
    }
    git(&desk, "checkout -q theirs");
    pop(&mut process, "confidential");
    assert!(process.close());
    assert_eq!(printed(&desk, &["status", "--porcelain"]), "");
    git(&desk, "checkout -q -");
    let shown = desk.ok(&["tree", "--all"]);
    assert!(shown.contains("newest") && shown.contains("confidential"), "{shown}");
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "more");
    assert!(process.close());
    let log = fs::read_to_string(logs.join("f1.md")).unwrap();
    assert!(!log.contains("theirs"), "{log}");
}

/// A cloned repository tracks the file that callstack would write for other programs.
#[test]
fn files_that_git_tracks_are_not_written() {
    let desk = TestEnv::without_store();
    let stack = desk.project().join(".opencode/stack");
    fs::create_dir_all(stack.join("frames")).unwrap();
    let theirs = r#"{"version":1,"frames":{},"rootFrameIDs":[],"updatedAt":0}"#;
    fs::write(stack.join("state.json"), theirs).unwrap();
    desk.sealed.git_init().unwrap();
    let said = desk.run(&["init", "opencode"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stderr.contains("git tracks .opencode/stack/state.json"), "{}", said.stderr);
    assert!(!said.stdout.contains("Git ignores the rest"), "{}", said.stdout);
    desk.ok(&["push", "real", "-c", "it is there"]);
    desk.ok(&["pop", "-r", "confidential"]);
    assert_eq!(printed(&desk, &["diff", "--name-only"]), "");
    assert_eq!(fs::read_to_string(stack.join("state.json")).unwrap(), theirs);
    assert!(desk.ok(&["doctor"]).contains("git tracks .opencode/stack/state.json"));
    git(&desk, "rm -rq --cached .opencode/stack");
    desk.ok(&["push", "more", "-c", "it is there"]);
    let state = fs::read_to_string(stack.join("state.json")).unwrap();
    assert!(state.contains("confidential"), "{state}");
}

/// A branch has git see the files for other programs.
#[test]
fn a_branch_that_brings_the_files_gitignore_uncovers_nothing() {
    for is_excluded in [true, false] {
        let desk = with_branch(|desk| {
            let stack = desk.project().join(".opencode/stack");
            fs::create_dir_all(&stack).unwrap();
            fs::write(stack.join(".gitignore"), "!*\n").unwrap();
        });
        desk.ok(&["init", "opencode"]);
        desk.ok(&["push", "more", "-c", "it is there"]);
        let state = desk.project().join(".opencode/stack/state.json");
        assert!(state.exists());
        if !is_excluded {
            fs::write(desk.project().join(".git/info/exclude"), "").unwrap();
        }
        git(&desk, "checkout -q theirs");
        if !is_excluded {
            desk.ok(&["push", "another", "-c", "it is there"]);
            assert!(!state.exists(), "git sees it");
        }
        git(&desk, "add -A");
        let staged = printed(&desk, &["diff", "--cached", "--name-only"]);
        assert!(!staged.contains("stack/state.json"), "{is_excluded}: {staged}");
        assert!(!staged.contains("stack/frames"), "{is_excluded}: {staged}");
        git(&desk, "reset -q");
        git(&desk, "checkout -qf -");
        desk.ok(&["push", "last", "-c", "it is there"]);
        assert!(fs::read_to_string(&state).unwrap().contains("last"));
    }
}

/// Presets are the project's own, and may be shared.
#[test]
fn git_sees_presets() {
    let desk = TestEnv::without_store();
    desk.sealed.git_init().unwrap();
    desk.ok(&["init", "opencode"]);
    desk.ok(&["push", "real", "-c", "it is there"]);
    let exclude = || fs::read_to_string(desk.project().join(".git/info/exclude")).unwrap();
    assert!(exclude().contains("/.opencode/stack/\n"), "{}", exclude());
    let presets = desk.project().join(".opencode/stack/presets");
    fs::create_dir(&presets).unwrap();
    fs::write(presets.join("ours.toml"), "").unwrap();
    desk.ok(&["push", "more", "-c", "it is there"]);
    let seen = printed(&desk, &["status", "--porcelain", "--untracked-files=all"]);
    assert!(seen.contains("stack/presets/ours.toml"), "{seen}");
    assert!(!seen.contains("stack/state.json"), "{seen}");
}

#[test]
fn a_long_list_of_exclusions_stays_as_it_is() {
    let desk = TestEnv::without_store();
    desk.sealed.git_init().unwrap();
    let exclude = desk.project().join(".git/info/exclude");
    fs::create_dir_all(exclude.parent().unwrap()).unwrap();
    let long = "generated/file\n".repeat(100_000) + "# the store of callstack\n/.callstack/\n";
    fs::write(&exclude, &long).unwrap();
    desk.ok(&["push", "--here", "real", "-c", "it is there"]);
    desk.ok(&["init", "opencode", "--remove", "--with-store", "--yes"]);
    assert!(fs::read_to_string(&exclude).unwrap() == long);
}

/// A branch brings a `.gitignore` of the store, and takes it away again: the store is in no commit.
#[test]
fn a_branch_that_brings_the_stores_gitignore_uncovers_nothing() {
    for text in ["*\n", "!*\n", "", " *\n"] {
        let desk = with_branch(|desk| {
            let store = desk.project().join(".callstack");
            fs::create_dir(&store).unwrap();
            fs::write(store.join(".gitignore"), text).unwrap();
        });
        for branch in ["theirs", "-"] {
            git(&desk, &format!("checkout -qf {branch}"));
            git(&desk, "add -A");
            let staged = printed(&desk, &["diff", "--cached", "--name-only"]);
            assert!(!staged.contains(".callstack/"), "{text:?}: {staged}");
        }
        assert!(desk.ok(&["tree"]).contains("real"), "{text:?}");
    }
}

#[test]
fn the_line_for_git_goes_with_the_store() {
    let desk = with_branch(|desk| fs::write(desk.project().join("theirs.rs"), "x").unwrap());
    let exclude = desk.project().join(".git/info/exclude");
    let lines = || fs::read_to_string(&exclude).unwrap().matches("/.callstack/\n").count();
    assert_eq!(lines(), 1);
    desk.ok(&["tree"]);
    assert_eq!(lines(), 1);
    desk.ok(&["init", "opencode", "--remove", "--with-store", "--yes"]);
    assert_eq!(lines(), 0);
}

#[test]
fn the_users_own_line_for_git_stays() {
    let desk = TestEnv::without_store();
    desk.sealed.git_init().unwrap();
    let exclude = desk.project().join(".git/info/exclude");
    fs::create_dir_all(exclude.parent().unwrap()).unwrap();
    fs::write(&exclude, "mine\n/.callstack/\nlast").unwrap();
    desk.ok(&["push", "--here", "real", "-c", "it is there"]);
    desk.ok(&["init", "opencode", "--remove", "--with-store", "--yes"]);
    assert_eq!(fs::read_to_string(&exclude).unwrap(), "mine\n/.callstack/\nlast");
}

/// Git keeps the repository of a submodule, and of a further work tree, in the one around it.
#[test]
fn git_excludes_stores_of_submodules_and_work_trees() {
    let desk = TestEnv::without_store();
    desk.sealed.git_init().unwrap();
    let run = |folder: &Path, args: &[&str]| {
        let mut command = desk.sealed.command_in(folder, "git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b.test"]);
        command.args(["-c", "protocol.file.allow=always"]).args(args);
        let said = desk.sealed.run("git", command, Duration::from_secs(30)).unwrap();
        assert!(said.success(), "{args:?}: {said}");
        said.stdout
    };
    let other = desk.sealed.root().join("other");
    fs::create_dir(&other).unwrap();
    run(&other, &["init", "-q"]);
    run(&other, &["commit", "-q", "--allow-empty", "-m", "first"]);
    let project = desk.project();
    run(&project, &["commit", "-q", "--allow-empty", "-m", "first"]);
    run(&project, &["submodule", "--quiet", "add", &other.to_string_lossy(), "module"]);
    run(&project, &["commit", "-q", "-m", "second"]);
    run(&project, &["worktree", "add", "-q", "tree"]);
    run(&project.join("tree"), &["submodule", "--quiet", "update", "--init"]);
    for name in ["module", "tree", "tree/module"] {
        let folder = project.join(name);
        let said = desk.run_in(&folder, &["push", "--here", "real", "-c", "it is there"]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        fs::write(folder.join(".callstack/.gitignore"), "!*\n").unwrap();
        let seen = run(&folder, &["status", "--porcelain", "--untracked-files=all"]);
        assert!(!seen.contains(".callstack"), "{name}: {seen}");
    }
}

/// The agent's folder is a repository of its own, which tracks what callstack would write there.
#[test]
fn files_that_a_repository_in_the_project_tracks_are_not_written() {
    let desk = TestEnv::without_store();
    let own = desk.project().join(".opencode");
    let stack = own.join("stack");
    fs::create_dir_all(&stack).unwrap();
    for name in ["state.json", ".gitignore"] {
        fs::write(stack.join(name), "!*\n").unwrap();
    }
    let run = |args: &[&str]| {
        let mut command = desk.sealed.command_in(&own, "git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b.test"]).args(args);
        let said = desk.sealed.run("git", command, Duration::from_secs(30)).unwrap();
        assert!(said.success(), "{args:?}: {said}");
        said.stdout
    };
    run(&["init", "-q"]);
    run(&["add", "-f", "."]);
    run(&["commit", "-qm", "theirs"]);
    for is_repository in [false, true] {
        if is_repository {
            desk.sealed.git_init().unwrap();
        }
        desk.ok(&["push", "--here", "confidential", "-c", "it is there"]);
        assert_eq!(run(&["status", "--porcelain", "-uall"]), "", "{is_repository}");
    }
    assert!(desk.ok(&["doctor"]).contains("git tracks .opencode/stack/"));
    run(&["rm", "-rq", "--cached", "stack"]);
    fs::remove_dir_all(&stack).unwrap();
    desk.ok(&["push", "more", "-c", "it is there"]);
    assert!(fs::read_to_string(stack.join("state.json")).unwrap().contains("confidential"));
    fs::write(stack.join(".gitignore"), "!*\n").unwrap();
    let seen = run(&["status", "--porcelain", "-uall"]);
    assert!(!seen.contains("?? stack"), "{seen}");
}

/// The agent's folder is a link to another one of the project, which git knows by its own name.
#[test]
fn files_behind_a_link_in_the_project_are_not_written_where_git_tracks_them() {
    let desk = TestEnv::without_store();
    let stack = desk.project().join(".agents/stack");
    fs::create_dir_all(&stack).unwrap();
    fs::write(stack.join("state.json"), "{}\n").unwrap();
    symlink(".agents", desk.project().join(".opencode")).unwrap();
    desk.sealed.git_init().unwrap();
    desk.ok(&["push", "--here", "confidential", "-c", "it is there"]);
    assert_eq!(printed(&desk, &["status", "--porcelain", "-uall"]), "");
    assert!(desk.ok(&["doctor"]).contains("git tracks .agents/stack/state.json"));
    git(&desk, "rm -rq --cached .agents/stack");
    fs::remove_dir_all(&stack).unwrap();
    desk.ok(&["push", "more", "-c", "it is there"]);
    assert!(fs::read_to_string(stack.join("state.json")).unwrap().contains("confidential"));
    fs::write(stack.join(".gitignore"), "!*\n").unwrap();
    let seen = printed(&desk, &["status", "--porcelain", "-uall"]);
    assert!(!seen.contains("?? .agents/stack"), "{seen}");
}

/// They are renamed, and the name is not the one that git was told to ignore.
#[test]
fn files_of_an_earlier_store_are_not_seen_by_git() {
    let desk = TestEnv::without_store();
    desk.sealed.git_init().unwrap();
    desk.ok(&["init", "opencode"]);
    desk.ok(&["push", "confidential", "-c", "it is there"]);
    let stack = desk.project().join(".opencode/stack");
    fs::remove_file(stack.join(".gitignore")).unwrap();
    desk.ok(&["trust", "--revoke"]);
    fs::remove_dir_all(desk.project().join(".callstack")).unwrap();
    desk.ok(&["push", "--here", "new", "-c", "it is there"]);
    let before = stack.with_file_name("stack.before-1");
    assert!(fs::read_to_string(before.join("state.json")).unwrap().contains("confidential"));
    let seen = printed(&desk, &["status", "--porcelain", "-uall"]);
    assert!(!seen.contains("stack.before-1"), "{seen}");
}

/// Git begins to track it while an agent works, and leaves the file itself as it is.
#[test]
fn a_log_that_git_tracks_from_now_on_is_not_written() {
    let desk = with_branch(|desk| {
        let store = desk.project().join(".callstack");
        fs::create_dir(&store).unwrap();
        fs::write(store.join("callstack.log"), "theirs\n").unwrap();
    });
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "first");
    git(&desk, "reset -q theirs");
    let log = desk.project().join(".callstack/callstack.log");
    let before = fs::read_to_string(&log).unwrap();
    assert!(before.contains("first"), "{before}");
    push_in(&mut process, "confidential");
    assert_eq!(fs::read_to_string(&log).unwrap(), before);
    git(&desk, "rm -q --cached .callstack/callstack.log");
    push_in(&mut process, "more");
    let after = fs::read_to_string(&log).unwrap();
    assert!(after.starts_with(&before) && after.contains("more"), "{after}");
    assert!(process.close());
}

/// A link is in the store's place on a branch, and the agent asks for nothing more.
#[test]
fn nothing_is_written_behind_a_link_in_the_place_of_a_store() {
    let desk = with_branch(|desk| {
        symlink("../outside", desk.project().join(".callstack")).unwrap();
    });
    desk.ok(&["init", "opencode"]);
    let outside = desk.sealed.root().join("outside");
    fs::create_dir(&outside).unwrap();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "first");
    git(&desk, "checkout -q theirs");
    // Two looks at the store.
    std::thread::sleep(Duration::from_millis(1_200));
    assert!(process.close());
    let there: Vec<_> = fs::read_dir(&outside).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(there.is_empty(), "{there:?}");
    git(&desk, "checkout -q -");
    push(&desk, "more");
    assert!(desk.ok(&["tree", "--all"]).contains("first"));
}
