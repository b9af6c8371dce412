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
            Ok(listed.map(path).collect())
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
