//! A git project in a temporary folder, and the content of its states.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use callstack_engine::{FileChangeKind, WorkTree};
use callstack_work_tree::GitWorkTree;
use tempfile::TempDir;

pub(crate) use FileChangeKind::{Changed, Created, Deleted, Unnamed, Unrecorded};

/// Longer than a test takes.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Repository {
    root: TempDir,
    pub(crate) tree: GitWorkTree,
}

impl Repository {
    /// A project with these files, all committed.
    pub(crate) fn with(files: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        fs::create_dir(&project).unwrap();
        let repository = Self { tree: tree_of(&project), root };
        for file in files {
            repository.write(file, &format!("{file} as it was"));
        }
        repository.git(&["init", "-q", "-b", "main"]);
        repository.commit();
        repository
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git_in(&self.project(), args)
    }

    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "files"]);
    }

    pub(crate) fn write(&self, file: &str, content: &str) {
        let path = self.project().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.project().join(file)).ok()
    }

    #[track_caller]
    pub(crate) fn record(&self) -> String {
        recorded(&self.tree)
    }

    #[track_caller]
    pub(crate) fn changes(&self, from: &str, to: &str) -> Vec<(String, FileChangeKind)> {
        let changes = self.tree.changes(from, to).unwrap();
        changes.into_iter().map(|change| (change.path, change.kind)).collect()
    }

    #[track_caller]
    pub(crate) fn restore(&self, state: &str, file: &str) {
        let left = self.tree.restore(&self.record(), state, &[file.to_owned()]).unwrap();
        assert_eq!(left, []);
    }
}

/// The work tree of a project, as a further process opens it.
pub(crate) fn tree_of(project: &Path) -> GitWorkTree {
    GitWorkTree::new(project, &project.join(".callstack"))
}

#[track_caller]
pub(crate) fn recorded(tree: &GitWorkTree) -> String {
    tree.record(PATIENCE).unwrap().expect("it is a work tree")
}

#[track_caller]
pub(crate) fn git_in(folder: &Path, args: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(folder).args(["-c", "user.name=t", "-c", "user.email=t@localhost"]);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    // Callstack's own folder is ignored by a file in it, which its store makes.
    fs::create_dir_all(folder.join(".callstack")).unwrap();
    fs::write(folder.join(".callstack/.gitignore"), "*\n").unwrap();
    let output = git.args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Changes as a test writes them down.
pub(crate) fn is(changes: &[(&str, FileChangeKind)]) -> Vec<(String, FileChangeKind)> {
    changes.iter().map(|(path, kind)| ((*path).to_owned(), *kind)).collect()
}
