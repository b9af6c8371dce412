//! The places of projects, and other repositories there.

use std::fs;
use std::process::{Command, Stdio};

use callstack_engine::WorkTree as _;

use super::repository::{Changed, Created, PATIENCE, Repository, git_in, is, recorded, tree_of};

/// The variable with the project that a process of this test has to record.
const PROJECT: &str = "CALLSTACK_TEST_PROJECT";

#[test]
fn a_project_may_be_a_part_of_its_work_tree() {
    let repository = Repository::with(&["outside", "part/file"]);
    let part = repository.project().join("part");
    let tree = tree_of(&part);
    let before = recorded(&tree);
    repository.write("outside", "changed");
    repository.write("part/file", "changed");
    repository.write("part/new", "new");
    let after = recorded(&tree);
    let changes: Vec<_> = tree.changes(&before, &after).unwrap();
    let changes: Vec<_> = changes.into_iter().map(|it| (it.path, it.kind)).collect();
    assert_eq!(changes, is(&[("file", Changed), ("new", Created)]));
    tree.restore(&after, &before, &["file".to_owned(), "new".to_owned()]).unwrap();
    assert_eq!(repository.read("part/file").as_deref(), Some("part/file as it was"));
    assert_eq!(repository.read("part/new"), None);
    assert_eq!(repository.read("outside").as_deref(), Some("changed"));
}

#[test]
fn a_part_that_no_commit_holds_is_recorded_too() {
    let repository = Repository::with(&["outside"]);
    repository.write("part/file", "new");
    let tree = tree_of(&repository.project().join("part"));
    let before = recorded(&tree);
    repository.write("part/file", "other");
    let after = recorded(&tree);
    assert_eq!(tree.changes(&before, &after).unwrap().len(), 1);
    tree.restore(&after, &before, &["file".to_owned()]).unwrap();
    assert_eq!(repository.read("part/file").as_deref(), Some("new"));
}

#[test]
fn a_further_work_tree_of_a_repository_is_one() {
    let repository = Repository::with(&["file"]);
    let further = repository.root().join("further");
    repository.git(&["worktree", "add", "-q", further.to_str().unwrap(), "-b", "further"]);
    let tree = tree_of(&further);
    let before = recorded(&tree);
    assert_eq!(before, repository.record(), "the same files");
    fs::write(further.join("file"), "changed").unwrap();
    let after = recorded(&tree);
    assert_eq!(tree.changes(&before, &after).unwrap().len(), 1);
    tree.restore(&after, &before, &["file".to_owned()]).unwrap();
    assert_eq!(fs::read_to_string(further.join("file")).unwrap(), "file as it was");
    assert_eq!(repository.record(), before);
}

#[test]
fn repositories_inside_are_left_alone() {
    let repository = Repository::with(&["file"]);
    for inner in ["nested", "module"] {
        let inner = repository.project().join(inner);
        fs::create_dir(&inner).unwrap();
        git_in(&inner, &["init", "-q"]);
        fs::write(inner.join("inside"), "theirs").unwrap();
        git_in(&inner, &["add", "inside"]);
        git_in(&inner, &["commit", "-q", "-m", "inner"]);
    }
    // A module is one that the project's repository knows.
    repository.git(&["add", "module"]);
    let before = repository.record();
    repository.write("nested/inside", "changed");
    repository.write("module/inside", "changed");
    repository.write("file", "changed");
    let after = repository.record();
    assert_eq!(repository.changes(&before, &after), is(&[("file", Changed)]));
}

#[test]
fn a_project_may_become_a_work_tree() {
    let repository = Repository::with(&["file"]);
    let git = repository.project().join(".git");
    fs::rename(&git, repository.root().join("away")).unwrap();
    assert_eq!(repository.tree.record(PATIENCE).unwrap(), None);
    assert!(!repository.project().join(".callstack/git").exists());
    fs::rename(repository.root().join("away"), &git).unwrap();
    repository.record();
}

#[test]
fn processes_that_record_at_once_do_not_hinder_each_other() {
    let repository = Repository::with(&["file"]);
    let start = || {
        let mut process = Command::new(std::env::current_exe().unwrap());
        process.args(["--exact", "places::another_process", "--ignored", "--nocapture"]);
        process.env(PROJECT, repository.project()).stdout(Stdio::piped()).stderr(Stdio::piped());
        process.spawn().unwrap()
    };
    for process in [start(), start(), start()] {
        let output = process.wait_with_output().unwrap();
        let output_text = String::from_utf8_lossy(&output.stdout);
        let failed = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && output_text.contains("1 passed"),
            "{output_text}{failed}"
        );
    }
    let state = repository.record();
    fs::remove_dir_all(repository.project().join(".callstack/git")).unwrap();
    assert_eq!(recorded(&tree_of(&repository.project())), state, "read anew");
}

#[test]
#[ignore = "started by the test of processes that record at once"]
fn another_process() {
    let project = std::path::PathBuf::from(std::env::var_os(PROJECT).unwrap());
    let own = format!("written-by-{}", std::process::id());
    fs::create_dir(project.join(&own)).unwrap();
    let tree = tree_of(&project);
    let mut before: Option<String> = None;
    for n in 0..8 {
        // So many that recording them takes a while.
        for file in 0..150 {
            fs::write(project.join(&own).join(file.to_string()), format!("{n} of {own}")).unwrap();
        }
        let now = recorded(&tree);
        if let Some(before) = &before {
            let changes = tree.changes(before, &now).unwrap();
            let ours = changes.iter().filter(|change| change.path.starts_with(&own));
            assert_eq!(ours.count(), 150);
        }
        before = Some(now);
    }
}
