//! Git doesn't see a store, whatever a branch brings: `info/exclude` of the repository names it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::kept::{git, with_branch};
use super::test_env::TestEnv;

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
            let mut command = desk.sealed.command_in(&desk.project(), "git");
            command.args(["diff", "--cached", "--name-only"]);
            let said = desk.sealed.run("git", command, Duration::from_secs(30)).unwrap();
            assert!(!said.stdout.contains(".callstack/"), "{text:?}: {}", said.stdout);
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
    run(&project, &["worktree", "add", "-q", "tree"]);
    for name in ["module", "tree"] {
        let folder = project.join(name);
        let said = desk.run_in(&folder, &["push", "--here", "real", "-c", "it is there"]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        fs::write(folder.join(".callstack/.gitignore"), "!*\n").unwrap();
        let seen = run(&folder, &["status", "--porcelain", "--untracked-files=all"]);
        assert!(!seen.contains(".callstack"), "{name}: {seen}");
    }
}
