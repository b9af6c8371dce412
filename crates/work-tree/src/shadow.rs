//! The repository of our own that holds states of files.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use callstack_engine::{EngineError, FileChange, FileChangeKind, Kind};

use crate::git::{Failure, Git};

/// Files are taken as they are.
const ATTRIBUTES: &str = "* -text -filter -ident -working-tree-encoding\n";
/// What makes our repository leave alone what it holds, and what other configuration says.
const CONFIGURATION: [&str; 7] = [
    "gc.auto=0",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
];

/// What follows the tree of frames by itself.
const OURS: [&str; 2] = [".callstack/", ".opencode/stack/"];

#[derive(Debug)]
pub(crate) struct Shadow {
    project: PathBuf,
    folder: PathBuf,
}

impl Shadow {
    /// Opens the repository in `folder`, making it if there is none. `objects` are those of the
    /// project's own.
    pub(crate) fn open(project: &Path, folder: &Path, objects: &Path) -> Result<Self, EngineError> {
        let shadow = Self { project: project.to_path_buf(), folder: folder.to_path_buf() };
        if !folder.join("HEAD").exists() {
            let folder = folder.as_os_str();
            let made = Git::at(project).args(["init", "--quiet", "--bare", "--template="]);
            made.args([folder]).run(&[]).map_err(Failure::told)?;
        }
        let objects = fs::canonicalize(objects).unwrap_or_else(|_| objects.to_path_buf());
        let lent = format!("{}\n", objects.display());
        for (file, content) in [("info/attributes", ATTRIBUTES), ("objects/info/alternates", &lent)]
        {
            keep(&folder.join(file), content).map_err(|error| unwritable(folder, &error))?;
        }
        Ok(shadow)
    }

    /// Records the files as they are now.
    pub(crate) fn record(&self) -> Result<String, EngineError> {
        let _alone = self.alone()?;
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let there = run(Git::at(&self.project).args(list), &[])?;
        let known = run(self.git().args(["ls-files", "-z"]), &[])?;
        let paths: BTreeSet<&[u8]> =
            there.split(|byte| *byte == 0).chain(known.split(|byte| *byte == 0)).collect();
        let mut input = Vec::new();
        for path in paths.into_iter().filter(|path| self.is_taken(path)) {
            input.extend_from_slice(path);
            input.push(0);
        }
        let update = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
        run(self.git().args(update), &input)?;
        let tree = run(self.git().args(["write-tree"]), &[])?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    /// What differs between two states.
    pub(crate) fn changes(&self, from: &str, to: &str) -> Result<Vec<FileChange>, EngineError> {
        let compare = ["diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to];
        let told = run(self.git().args(compare), &[])?;
        let mut fields = told.split(|byte| *byte == 0);
        let mut changes = Vec::new();
        while let (Some(letter), Some(path)) = (fields.next(), fields.next()) {
            let kind = match letter {
                b"A" => FileChangeKind::Created,
                b"D" => FileChangeKind::Deleted,
                _ => FileChangeKind::Changed,
            };
            // A name that is no text can't be shown to anybody, who then can't agree.
            if let Ok(path) = str::from_utf8(path) {
                changes.push(FileChange { path: path.to_owned(), kind });
            }
        }
        Ok(changes)
    }

    /// Makes files what they were in a state; those that it does not hold are removed.
    pub(crate) fn restore(&self, state: &str, paths: &[String]) -> Result<(), EngineError> {
        if paths.is_empty() {
            return Ok(());
        }
        let _alone = self.alone()?;
        let source = format!("--source={state}");
        let restore =
            ["restore", &source, "--worktree", "--pathspec-from-file=-", "--pathspec-file-nul"];
        run(self.git().args(restore), paths.join("\0").as_bytes())?;
        Ok(())
    }

    fn is_taken(&self, path: &[u8]) -> bool {
        if path.is_empty() || OURS.iter().any(|ours| path.starts_with(ours.as_bytes())) {
            return false;
        }
        // A folder in git's list is a repository of its own.
        let path = self.project.join(String::from_utf8_lossy(path).as_ref());
        !path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
    }

    /// Keeps other processes of ours out as long as it is held. What else would lock the index has died.
    fn alone(&self) -> Result<File, EngineError> {
        let lock = File::create(self.folder.join("callstack.lock")).and_then(|file| {
            file.lock()?;
            Ok(file)
        });
        let lock = lock.map_err(|error| unwritable(&self.folder, &error))?;
        match fs::remove_file(self.folder.join("index.lock")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(unwritable(&self.folder, &error))
            }
            _ => Ok(lock),
        }
    }

    fn git(&self) -> Git {
        let mut options = vec!["--git-dir".into(), self.folder.clone().into_os_string()];
        options.extend(["--work-tree".into(), self.project.clone().into_os_string()]);
        for setting in CONFIGURATION {
            options.extend(["-c".into(), setting.into()]);
        }
        Git::at(&self.project).args(options)
    }
}

fn run(git: Git, input: &[u8]) -> Result<Vec<u8>, EngineError> {
    git.run(input).map_err(Failure::told)
}

/// Makes sure that a file holds this.
fn keep(file: &Path, content: &str) -> io::Result<()> {
    if fs::read_to_string(file).is_ok_and(|there| there == content) {
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(file, content)
}

fn unwritable(folder: &Path, error: &io::Error) -> EngineError {
    EngineError {
        kind: Kind::Internal,
        message: format!("{} can't be written: {error}", folder.display()),
        hint: Some("States of files are kept there: make it writable.".to_owned()),
    }
}
