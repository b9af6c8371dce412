//! The paths that git tracks: a checkout replaces them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::git::{Failure, Git, path};
use crate::index;

/// How long git may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The paths below `folder` in a project that git tracks, relative to the project; none where it finds no
/// repository. Where git is not there or fails, the indexes of its repositories are read. An error says why it
/// can't be found out.
pub fn tracked_below(project: &Path, folder: &str) -> Result<Vec<PathBuf>, String> {
    let told = told_by_git(project, folder);
    told.or_else(|failure| {
        let names = names(Path::new(folder));
        let is_below = |path: &Path| names.iter().any(|name| path.starts_with(name));
        let read = index::tracked_below(project, is_below);
        read.map_err(|error| format!("{}; {error}", failure.told().message))
    })
}

/// Asks git. A project may be a repository of its own inside another one, whose checkout reaches into it, so those
/// around it are asked too.
fn told_by_git(project: &Path, folder: &str) -> Result<Vec<PathBuf>, Failure> {
    let until = Instant::now() + PATIENCE;
    let mut tracked = listed(project, Path::new(folder), until)?;
    let mut roots = project.ancestors().filter(|around| around.join(".git").exists());
    // The nearest one is the project itself, which was asked already.
    roots.next();
    for root in roots {
        let inside = project.strip_prefix(root).unwrap_or(Path::new(""));
        let found = listed(root, &inside.join(folder), until)?;
        tracked
            .extend(found.iter().filter_map(|path| Some(path.strip_prefix(inside).ok()?.into())));
    }
    Ok(tracked)
}

/// The paths below a folder, whose path is relative to `from`, that git tracks there.
fn listed(from: &Path, folder: &Path, until: Instant) -> Result<Vec<PathBuf>, Failure> {
    // The index alone is read, also of a repository of somebody else's, whose configuration calls nothing.
    let options = [
        "-c",
        "safe.directory=*",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "protocol.allow=never",
        "ls-files",
        "-z",
        "--",
    ];
    match Git::at(from, until).args(options).args(names(folder)).run(&[]) {
        Ok(listed) => {
            let listed = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
            let listed: Vec<_> = listed.map(path).collect();
            if listed.iter().all(|path| is_below(path, folder)) {
                Ok(listed)
            } else {
                Err(Failure::Broken("it answers what it was not asked".to_owned()))
            }
        }
        Err(Failure::Refused(words)) if is_no_repository(&words) => Ok(Vec::new()),
        Err(failure) => Err(failure),
    }
}

/// Whether git says that it finds no repository.
pub(crate) fn is_no_repository(words: &str) -> bool {
    words.contains("not a git repository")
}

/// Whether a path is that of a folder or below it; systems may take names for the same that differ in case.
fn is_below(path: &Path, folder: &Path) -> bool {
    let mut names = path.iter();
    folder.iter().all(|name| names.next().is_some_and(|it| it.eq_ignore_ascii_case(name)))
}

/// A folder by all the names that some systems take for the same one.
fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names = vec![folder.to_path_buf()];
    if cfg!(any(target_os = "macos", windows)) {
        let last = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let alike = [last.to_uppercase(), last.replacen(".c", ".C", 1)];
        names.extend(alike.map(|name| folder.with_file_name(name)));
    }
    names
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    #[test]
    fn what_git_tracks_is_listed_from_the_project_on() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("a project/below");
        fs::create_dir_all(project.join(".callstack/git")).unwrap();
        for name in [".callstack/callstack.db", ".callstack/git/config", ".callstacker"] {
            fs::write(project.join(name), "").unwrap();
        }
        assert_eq!(tracked_below(&project, ".callstack"), Ok(Vec::new()), "no repository");
        let git = |args: &[&str]| {
            let done = Command::new("git").current_dir(&project).args(args).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(&["init", "-q", ".."]);
        git(&["add", "-f", ".callstacker"]);
        assert_eq!(tracked_below(&project, ".callstack"), Ok(Vec::new()));
        git(&["add", "-f", "."]);
        let tracked = [".callstack/callstack.db", ".callstack/git/config"].map(PathBuf::from);
        assert_eq!(tracked_below(&project, ".callstack"), Ok(tracked.to_vec()));
        fs::write(folder.path().join("a project/.git/index"), "damaged").unwrap();
        assert!(tracked_below(&project, ".callstack").is_err(), "it is not known");
    }

    #[test]
    fn what_a_repository_around_the_projects_own_tracks_is_listed_too() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("libs/a project");
        fs::create_dir_all(project.join(".callstack")).unwrap();
        fs::write(project.join(".callstack/callstack.db"), "").unwrap();
        fs::write(project.join("file"), "").unwrap();
        let git = |place: &Path, args: &[&str]| {
            let done = Command::new("git").current_dir(place).args(args).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(folder.path(), &["init", "-q"]);
        git(folder.path(), &["add", "-f", "."]);
        git(&project, &["init", "-q"]);
        let tracked = vec![PathBuf::from(".callstack/callstack.db")];
        assert_eq!(tracked_below(&project, ".callstack"), Ok(tracked));
        git(folder.path(), &["rm", "-q", "--cached", "-r", "."]);
        assert_eq!(tracked_below(&project, ".callstack"), Ok(Vec::new()));
        // As a submodule it is one path to the repository around it.
        git(&project, &["add", "file"]);
        let author = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
        git(&project, &[&author[..], &["commit", "-q", "-m", "one"]].concat());
        git(folder.path(), &["add", "libs"]);
        assert_eq!(tracked_below(&project, ".callstack"), Ok(Vec::new()));
    }
}
