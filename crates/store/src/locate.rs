//! Which store a working directory belongs to.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// The folder of a store, inside the project.
pub const FOLDER: &str = ".callstack";
/// The database inside that folder.
pub const DATABASE: &str = "callstack.db";

/// The nearest folder from `start` upwards that has a store, as git finds its repository. The home
/// folder is never taken for a project.
pub fn find(start: &Path, home: Option<&Path>) -> Option<PathBuf> {
    start
        .ancestors()
        .take_while(|folder| Some(*folder) != home)
        .find(|folder| folder.join(FOLDER).is_dir())
        .map(Path::to_path_buf)
}

/// The project that a new store is made in: the root of the git work tree that `start` is in, else
/// `start` itself.
pub fn project_root(start: &Path, home: Option<&Path>) -> PathBuf {
    start
        .ancestors()
        .take_while(|folder| Some(*folder) != home)
        .find(|folder| folder.join(".git").exists())
        .unwrap_or(start)
        .to_path_buf()
}

/// Makes the store's folder in a project, for its owner only and ignored by git, and returns it. One that is
/// there is restricted before a store is made in it, and whenever everybody may look into it: who shares a
/// store with a group keeps it shared.
pub fn prepare(project: &Path) -> Result<PathBuf, StoreError> {
    let folder = project.join(FOLDER);
    let failed = |source| StoreError::Io { path: folder.clone(), source };
    if !folder.is_dir() {
        fs::create_dir_all(&folder).map_err(failed)?;
        restrict(&folder).map_err(failed)?;
    } else if !folder.join(DATABASE).exists() || is_open_to_all(&folder) {
        // It may belong to somebody else, who then decides.
        drop(restrict(&folder));
    }
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        // A read-only store stays usable without it.
        drop(fs::write(&ignore, "*\n"));
    }
    Ok(folder)
}

/// Lets nobody but its owner into a folder, where the system knows of owners.
#[cfg(unix)]
pub fn restrict(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

#[cfg(unix)]
fn is_open_to_all(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(folder).is_ok_and(|it| it.permissions().mode() & 0o007 != 0)
}

#[cfg(not(unix))]
fn is_open_to_all(_folder: &Path) -> bool {
    false
}

/// Lets nobody but its owner into a folder, where the system knows of owners.
#[cfg(not(unix))]
pub fn restrict(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}
