//! Which paths git tracks: what it tracks, a checkout replaces.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::git::{Failure, Git, path};

/// How long git may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The paths below `folder` in a project that git tracks, relative to the project. None where git is not
/// there, or finds no repository. An error says why it can't be found out.
pub fn tracked_below(project: &Path, folder: &str) -> Result<Vec<PathBuf>, String> {
    let until = Instant::now() + PATIENCE;
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
    match Git::at(project, until).args(options).args(names(folder)).run(&[]) {
        Ok(listed) => {
            let listed = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
            let listed: Vec<_> = listed.map(path).collect();
            let is_below = |path: &PathBuf| {
                path.iter().next().is_some_and(|name| name.eq_ignore_ascii_case(folder))
            };
            if listed.iter().all(is_below) {
                Ok(listed)
            } else {
                Err("git answers what it was not asked".to_owned())
            }
        }
        Err(Failure::NotThere) => Ok(Vec::new()),
        Err(Failure::Refused(words)) if words.contains("not a git repository") => Ok(Vec::new()),
        Err(failure) => Err(failure.told().message),
    }
}

/// A folder by all the names that some systems take for the same one.
fn names(folder: &str) -> Vec<String> {
    let mut names = vec![folder.to_owned()];
    if cfg!(any(target_os = "macos", windows)) {
        names.extend([folder.to_uppercase(), folder.replacen(".c", ".C", 1)]);
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
}
