//! The paths that git tracks: a checkout replaces them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::git::{Git, GitError, path};
use crate::index;

/// The longest time for git to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether file systems here treat names as the same that differ only in case, or in invisible characters.
const FOLDS: bool = cfg!(any(target_os = "macos", windows));

/// The paths below `folder` in a project that git tracks, relative to the project; none where it finds no
/// repository. Where git is not there or fails, the indexes of its repositories are read. An error has the reason why
/// they can't be found out.
pub fn tracked_below(project: &Path, folder: &str) -> Result<Vec<PathBuf>, String> {
    let by_git = listed_by_git(project, folder, FOLDS);
    by_git.or_else(|failure| {
        let read = index::tracked_below(project, Path::new(folder), FOLDS);
        read.map_err(|error| format!("{}; {error}", failure.into_error().message))
    })
}

/// Asks git. A project may be a repository of its own inside another one, whose checkout reaches into it, and so may a
/// folder in the project, such as a submodule: all of them are asked.
fn listed_by_git(project: &Path, folder: &str, folds: bool) -> Result<Vec<PathBuf>, GitError> {
    let until = Instant::now() + PATIENCE;
    let target = project.join(folder);
    let is_root = |place: &&Path| place.join(".git").exists();
    let mut tracked = listed(project, Path::new(folder), folds, until)?;
    // The nearest one around the project was asked already.
    let around = project.ancestors().filter(is_root).skip(1);
    let within = target.ancestors().take_while(|it| *it != project).filter(is_root);
    for root in within.chain(around) {
        let found = listed(root, from_root(root, &target), folds, until)?;
        tracked.extend(found.iter().map(|path| from_project(project, root, path)));
    }
    Ok(tracked)
}

/// Returns the path of a folder from the root of a repository around it.
pub(crate) fn from_root<'f>(root: &Path, folder: &'f Path) -> &'f Path {
    folder.strip_prefix(root).unwrap_or(folder)
}

/// Returns the path of a file from a project, which lies in the repository with the root `root`, or around it.
pub(crate) fn from_project(project: &Path, root: &Path, file: &Path) -> PathBuf {
    if let Ok(inside) = root.strip_prefix(project) {
        return inside.join(file);
    }
    // The names of folders around it may be spelt otherwise.
    file.iter().skip(from_root(root, project).iter().count()).collect()
}

/// The paths below a folder, whose path is relative to `from`, that git tracks there.
fn listed(
    from: &Path,
    folder: &Path,
    folds: bool,
    until: Instant,
) -> Result<Vec<PathBuf>, GitError> {
    // Only the index is read, even of a foreign repository, whose configuration starts no program.
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
    // Git knows only some of the names that count as the same, so all paths are listed.
    let asked = Some(folder).filter(|folder| !folds && !folder.as_os_str().is_empty());
    match Git::at(from, until).args(options).args(asked).run(&[]) {
        Ok(listed) => {
            let listed = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
            let mut listed: Vec<_> = listed.map(path).collect();
            let asked_for = listed.len();
            listed.retain(|path| is_below(path, folder, folds));
            if folds || listed.len() == asked_for {
                Ok(listed)
            } else {
                Err(GitError::Broken("it answers what it was not asked".to_owned()))
            }
        }
        Err(GitError::Refused(words)) if is_no_repository(&words) => Ok(Vec::new()),
        Err(failure) => Err(failure),
    }
}

/// Whether git says that it finds no repository.
pub(crate) fn is_no_repository(words: &str) -> bool {
    words.contains("not a git repository")
}

/// Whether a path is that of a folder or below it, by the names in it, or by names that count as the same.
pub(crate) fn is_below(path: &Path, folder: &Path, folds: bool) -> bool {
    let mut names = path.iter();
    folder.iter().all(|name| {
        names.next().is_some_and(|it| it == name || folds && folded(it) == folded(name))
    })
}

/// Returns a name in one case, without the characters that file systems may ignore.
fn folded(name: &OsStr) -> String {
    let is_ignored = |char: &char| matches!(char, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let name = name.to_string_lossy();
    let seen = name.chars().filter(|char| !is_ignored(char));
    // Some letters have another one only in one direction, such as the long s.
    seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
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
    fn names_that_a_file_system_takes_for_the_same_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("libs/project");
        fs::create_dir_all(&project).unwrap();
        let git = |place: &Path, args: &[&str]| {
            let done = Command::new("git").current_dir(place).args(args).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        git(folder.path(), &["init", "-q"]);
        git(&project, &["init", "-q"]);
        let alike = [
            ".cAllstacK",
            ".CALLSTACK",
            ".call\u{17f}tack",
            ".callstac\u{212a}",
            "\u{200c}.callstack",
            ".call\u{feff}stack",
        ];
        let names = alike.iter().chain(&[".callstacks", "callstack", ".call"]);
        for path in names.map(|name| format!("{name}/callstack.db")) {
            // Not every file system could hold them beside each other.
            let object = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
            let entry = format!("100644,{object},{path}");
            git(&project, &["update-index", "--add", "--cacheinfo", &entry]);
            let entry = format!("100644,{object},Libs/project/{path}");
            git(folder.path(), &["update-index", "--add", "--cacheinfo", &entry]);
        }
        let mut expected: Vec<_> =
            alike.iter().flat_map(|name| vec![Path::new(name).join("callstack.db"); 2]).collect();
        expected.sort();
        let mut found = listed_by_git(&project, ".callstack", true).unwrap();
        found.sort();
        assert_eq!(found, expected);
        let mut read = index::tracked_below(&project, Path::new(".callstack"), true).unwrap();
        read.sort();
        assert_eq!(read, expected);
        assert_eq!(listed_by_git(&project, ".callstack", false).unwrap(), Vec::<PathBuf>::new());
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

    #[test]
    fn what_a_repository_in_the_project_tracks_is_listed_too() {
        let folder = tempfile::tempdir().unwrap();
        let (project, inner) =
            (folder.path().join("project"), folder.path().join("project/.opencode"));
        fs::create_dir_all(inner.join("stack")).unwrap();
        for name in ["stack/state.json", "plugin.ts"] {
            fs::write(inner.join(name), "").unwrap();
        }
        let git = |place: &Path, args: &[&str]| {
            let done = Command::new("git").current_dir(place).args(args).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        let both = || {
            let read = |folds| index::tracked_below(&project, Path::new(".opencode/stack"), folds);
            let listed = |folds| listed_by_git(&project, ".opencode/stack", folds).unwrap();
            let found = listed(false);
            assert_eq!(read(false).unwrap(), found);
            assert_eq!([read(true).unwrap(), listed(true)], [found.clone(), found.clone()]);
            found
        };
        git(&inner, &["init", "-q"]);
        git(&inner, &["add", "plugin.ts"]);
        assert_eq!(both(), Vec::<PathBuf>::new());
        git(&inner, &["add", "-f", "."]);
        let tracked = [PathBuf::from(".opencode/stack/state.json")];
        assert_eq!(both(), tracked);
        git(&project, &["init", "-q"]);
        assert_eq!(both(), tracked);
        let stack = inner.join("stack");
        fs::remove_dir_all(inner.join(".git")).unwrap();
        git(&stack, &["init", "-q"]);
        git(&stack, &["add", "-f", "."]);
        assert_eq!(both(), tracked);
    }
}
