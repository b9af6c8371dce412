//! Repositories that name commands, none of which is ever run.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use callstack_engine::WorkTree as _;

use super::repository::{Changed, Created, Repository, git_in, is, recorded, tree_of};

/// A command that leaves a mark.
struct Trap {
    marker: PathBuf,
    script: PathBuf,
}

impl Trap {
    fn set(repository: &Repository) -> Self {
        let (marker, script) =
            (repository.root().join("it-ran"), repository.root().join("command"));
        fs::write(&script, format!("#!/bin/sh\necho \"$@\" >> '{}'\nexit 1\n", marker.display()))
            .unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        Self { marker, script }
    }

    /// Everything in a configuration that names a command.
    fn configuration(&self) -> String {
        let command = self.script.display();
        format!(
            "[core]\n\tfsmonitor = {command}\n\tsshCommand = {command}\n\tpager = {command}\n\
             \teditor = {command}\n\taskPass = {command}\n\tgitProxy = {command}\n\
             \talternateRefsCommand = {command}\n\thooksPath = {hooks}\n\tautocrlf = true\n\
             [pager]\n\tls-files = {command}\n[alias]\n\tls-files = !{command}\n\
             [credential]\n\thelper = !{command}\n[diff]\n\texternal = {command}\n\
             [diff \"x\"]\n\ttextconv = {command}\n\tcommand = {command}\n\
             [filter \"x\"]\n\tclean = {command}\n\tsmudge = {command}\n\tprocess = {command}\n\
             \trequired = true\n[submodule]\n\trecurse = true\n[diff]\n\tignoreSubmodules = none\n\
             [uploadpack]\n\tpackObjectsHook = {command}\n[protocol]\n\tallow = always\n\
             [hook \"x\"]\n\tevent = post-index-change\n\tcommand = {command}\n\
             [trace2]\n\teventTarget = {target}\n",
            hooks = self.hooks().display(),
            target = self.marker.display(),
        ) + &self.promisor()
    }

    /// Configures a repository to be asked for missing objects.
    fn promisor(&self) -> String {
        let command = self.script.display();
        format!(
            "[remote \"origin\"]\n\tpromisor = true\n\turl = .\n\tuploadpack = {command}\n\
             [remote \"other\"]\n\tpromisor = true\n\turl = ext::{command}\n\
             [remote \"ssh\"]\n\tpromisor = true\n\turl = ssh://localhost/x\n\
             [core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n"
        )
    }

    fn hooks(&self) -> PathBuf {
        let hooks = self.script.with_file_name("hooks");
        fs::create_dir_all(&hooks).unwrap();
        for name in ["post-index-change", "post-checkout", "reference-transaction"] {
            fs::copy(&self.script, hooks.join(name)).unwrap();
        }
        hooks
    }

    #[track_caller]
    fn assert_untouched(&self) {
        let ran = fs::read_to_string(&self.marker);
        assert!(ran.is_err(), "a command ran: {ran:?}");
    }
}

fn append(file: &Path, text: &str) {
    File::options()
        .append(true)
        .create(true)
        .open(file)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

/// Records, compares and restores after changes to two files.
#[track_caller]
fn works(repository: &Repository) {
    let before = repository.record();
    repository.write("a", "changed");
    repository.write("new", "new");
    let after = repository.record();
    assert_eq!(repository.changes(&before, &after), is(&[("a", Changed), ("new", Created)]));
    let patches = repository.tree.patches(&before, &after, &["a".to_owned()]).unwrap();
    assert_eq!(patches.iter().map(|patch| patch.lines).collect::<Vec<_>>(), [Some((1, 1))]);
    repository.restore(&before, "a");
    assert_eq!(repository.read("a").as_deref(), Some("a as it was"));
    repository.tree.keep_only(&[before, after], super::repository::PATIENCE).unwrap();
}

#[test]
fn the_configuration_of_the_users_repository_runs_nothing() {
    let repository = Repository::with(&["a", "d/b"]);
    let trap = Trap::set(&repository);
    append(&repository.project().join(".git/config"), &trap.configuration());
    repository.write(".gitattributes", "* filter=x diff=x text=auto\n");
    works(&repository);
    trap.assert_untouched();
}

#[test]
fn a_configuration_that_another_one_includes_runs_nothing() {
    let repository = Repository::with(&["a"]);
    let trap = Trap::set(&repository);
    fs::write(repository.root().join("included"), trap.configuration()).unwrap();
    let include = format!("[include]\n\tpath = {}\n", repository.root().join("included").display());
    append(&repository.project().join(".git/config"), &include);
    append(
        &repository.project().join(".git/config"),
        "[extensions]\n\tworktreeConfig = true\n[core]\n\trepositoryformatversion = 1\n",
    );
    fs::write(repository.project().join(".git/config.worktree"), trap.configuration()).unwrap();
    repository.write(".gitattributes", "* filter=x diff=x\n");
    works(&repository);
    trap.assert_untouched();
}

/// The commit, and so the files in it, are not there and would be fetched.
#[test]
fn what_the_users_repository_lacks_is_not_fetched() {
    let repository = Repository::with(&["a"]);
    let trap = Trap::set(&repository);
    append(&repository.project().join(".git/config"), &trap.promisor());
    let head = repository.project().join(".git/refs/heads/main");
    fs::write(&head, "0123456789".repeat(4) + "\n").unwrap();
    works(&repository);
    let tree = repository.git(&["write-tree"]);
    fs::write(&head, tree).unwrap();
    fs::remove_file(repository.project().join("new")).unwrap();
    works(&repository);
    trap.assert_untouched();
}

#[test]
fn a_part_of_a_commit_that_is_not_there_is_not_fetched() {
    let repository = Repository::with(&["a"]);
    let trap = Trap::set(&repository);
    let tree = repository.git(&["rev-parse", "HEAD^{tree}"]);
    let (folder, file) = tree.trim().split_at(2);
    fs::remove_file(repository.project().join(".git/objects").join(folder).join(file)).unwrap();
    append(&repository.project().join(".git/config"), &trap.promisor());
    let before = repository.record();
    repository.write("a", "changed");
    let after = repository.record();
    assert_eq!(repository.changes(&before, &after), is(&[("a", Changed)]));
    trap.assert_untouched();
}

#[test]
fn a_work_tree_that_lies_elsewhere_is_not_followed() {
    let repository = Repository::with(&["a"]);
    let elsewhere = repository.root().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("theirs"), "theirs").unwrap();
    let config = repository.project().join(".git/config");
    let plain = fs::read_to_string(&config).unwrap();
    append(&config, &format!("[core]\n\tworktree = {}\n", elsewhere.display()));
    let state = repository.tree.record(super::repository::PATIENCE).unwrap();
    assert_eq!(state, None, "the project is no part of that work tree");
    // A work tree around the project has only the project's files here.
    fs::write(&config, plain + &format!("[core]\n\tworktree = {}\n", repository.root().display()))
        .unwrap();
    let state = repository.record();
    let held: Vec<_> = repository.tree.held(&state).unwrap().into_iter().collect();
    assert_eq!(held, ["a"]);
}

#[test]
fn a_repository_inside_is_not_asked() {
    let repository = Repository::with(&["a"]);
    let trap = Trap::set(&repository);
    // Its entry in our index is git's entry for a repository inside another.
    let pipe = repository.project().join("inner");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    repository.record();
    fs::remove_file(&pipe).unwrap();
    fs::create_dir(&pipe).unwrap();
    git_in(&pipe, &["init", "-q"]);
    fs::write(pipe.join("file"), "content").unwrap();
    git_in(&pipe, &["add", "file"]);
    git_in(&pipe, &["commit", "-q", "-m", "inner"]);
    append(&pipe.join(".git/config"), &trap.configuration());
    fs::write(pipe.join("file"), "changed").unwrap();
    fs::write(pipe.join(".gitattributes"), "* filter=x\n").unwrap();
    repository.git(&["update-index", "--add", "--cacheinfo", &gitlink("inner")]);
    works(&repository);
    trap.assert_untouched();
}

fn gitlink(path: &str) -> String {
    format!("160000,{},{path}", "0123456789".repeat(4))
}

/// Our own repository as somebody may have left it.
fn own(repository: &Repository) -> PathBuf {
    repository.project().join(".callstack/git")
}

#[test]
fn a_repository_for_states_that_was_made_elsewhere_runs_nothing() {
    let repository = Repository::with(&["a"]);
    let (trap, own) = (Trap::set(&repository), own(&repository));
    for folder in ["refs", "objects", "hooks"] {
        fs::create_dir_all(own.join(folder)).unwrap();
    }
    fs::write(own.join("HEAD"), "ref: refs/heads/x").unwrap();
    fs::write(own.join("config"), "[core]\n\tbare = true\n").unwrap();
    // An entry whose content is missing, and which is not read.
    let in_own = |args: &[&str]| {
        let place = ["--git-dir", own.to_str().unwrap(), "--work-tree", "."];
        git_in(&repository.project(), &[&place, args].concat());
    };
    let entry = format!("100644,{},a", "1".repeat(40));
    in_own(&["update-index", "--add", "--cacheinfo", &entry]);
    in_own(&["update-index", "--assume-unchanged", "a"]);
    let promisor = trap.promisor();
    fs::write(own.join("config"), format!("[core]\n\tbare = true\n{promisor}")).unwrap();
    repository.record();
    trap.assert_untouched();

    // Somebody writes into it while we live.
    fs::write(own.join("config"), trap.configuration()).unwrap();
    for name in ["config.worktree", "commondir", "packed-refs", "shallow"] {
        fs::write(own.join(name), trap.configuration()).unwrap();
    }
    fs::copy(&trap.script, own.join("hooks/post-index-change")).unwrap();
    fs::write(own.join("info/attributes"), "* filter=x diff=x text\n").unwrap();
    fs::write(own.join("objects/info/alternates"), "/nowhere\n").unwrap();
    works(&repository);
    for gone in
        ["config.worktree", "commondir", "packed-refs", "shallow", "objects/info/alternates"]
    {
        assert!(!own.join(gone).exists(), "{gone}");
    }
    assert!(!fs::read_to_string(own.join("config")).unwrap().contains("promisor"));
    trap.assert_untouched();
}

#[test]
fn nothing_is_written_through_links_in_the_repository_for_states() {
    let repository = Repository::with(&["a"]);
    let own = own(&repository);
    let outside = repository.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "mine").unwrap();
    fs::write(outside.join("tmp_mine"), "mine").unwrap();
    repository.record();
    for name in ["config", "HEAD", "info/attributes", "index", "callstack.kept"] {
        drop(fs::remove_file(own.join(name)));
        symlink(outside.join("file"), own.join(name)).unwrap();
    }
    drop(fs::remove_dir_all(own.join("objects/ab")));
    symlink(&outside, own.join("objects/ab")).unwrap();
    works(&repository);
    recorded(&tree_of(&repository.project()));
    for name in ["objects", "refs", "info"] {
        let there = own.join(name);
        fs::rename(&there, repository.root().join(name)).unwrap();
        symlink(&outside, &there).unwrap();
        let error = repository.tree.record(super::repository::PATIENCE).unwrap_err();
        assert!(error.message.ends_with(&format!("{name} is no folder")), "{error}");
        fs::remove_file(&there).unwrap();
        fs::rename(repository.root().join(name), &there).unwrap();
    }
    fs::remove_file(own.join("callstack.lock")).unwrap();
    symlink(outside.join("file"), own.join("callstack.lock")).unwrap();
    assert!(repository.tree.record(super::repository::PATIENCE).is_err());
    fs::remove_dir_all(&own).unwrap();
    symlink(&outside, &own).unwrap();
    assert!(repository.tree.record(super::repository::PATIENCE).is_err());
    let mut left: Vec<_> =
        fs::read_dir(&outside).unwrap().map(|it| it.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["file", "tmp_mine"]);
    assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "mine");
}
