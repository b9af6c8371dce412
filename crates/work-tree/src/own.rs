//! The folder of our repository: all of its files are written here, and foreign files in it are ignored.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::git::GitError;

/// Nothing but this is configured.
const CONFIGURATION: &str =
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n";
const HEAD: &str = "ref: refs/heads/main\n";
/// Files are taken as they are.
const ATTRIBUTES: &str = "* -text -filter -ident -working-tree-encoding\n";
const FOLDERS: [&str; 5] = ["info", "objects", "objects/info", "objects/pack", "refs"];
/// The only files in `info`, and those in the folder itself beside those that begin with `OURS`.
const INFO: [&str; 1] = ["attributes"];
const FILES: [&str; 4] = ["HEAD", "config", "index", "index.lock"];
const OURS: &str = "callstack.";

/// The file whose lock keeps other processes out.
pub(crate) const LOCK: &str = "callstack.lock";

/// Makes sure that the folder is there, and that its lock is a file in it.
pub(crate) fn enter(folder: &Path) -> Result<(), GitError> {
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, error))?;
    is_folder(folder)?;
    restrict(folder).map_err(|error| unwritable(folder, error))?;
    let lock = folder.join(LOCK);
    match fs::symlink_metadata(&lock) {
        Ok(metadata) if !metadata.is_file() => {
            Err(GitError::Foreign(format!("{} is no file", lock.display())))
        }
        _ => Ok(()),
    }
}

/// Makes sure that the folder is a repository of the kind that is made here: nothing in it leads elsewhere, and its
/// configuration is ours. The caller has to hold the lock.
pub(crate) fn ensure(folder: &Path) -> Result<(), GitError> {
    for name in FOLDERS {
        let inner = folder.join(name);
        if !is_folder(&inner)? {
            fs::create_dir_all(&inner).map_err(|error| unwritable(&inner, error))?;
        }
    }
    clear(folder, |name| FILES.contains(&name) || name.starts_with(OURS))?;
    clear(&folder.join("info"), |name| INFO.contains(&name))?;
    clear(&folder.join("objects"), |_| true)?;
    clear(&folder.join("objects/pack"), |_| true)?;
    // Lists of other places with objects. Those of the project's repository are named with each call.
    clear(&folder.join("objects/info"), |name| !name.ends_with("alternates"))?;
    for (name, content) in
        [("config", CONFIGURATION), ("HEAD", HEAD), ("info/attributes", ATTRIBUTES)]
    {
        let file = folder.join(name);
        keep(&file, content).map_err(|error| unwritable(&file, error))?;
    }
    Ok(())
}

/// Whether there is a folder; anything else is foreign.
pub(crate) fn is_folder(path: &Path) -> Result<bool, GitError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(true),
        Ok(_) => Err(GitError::Foreign(format!("{} is no folder", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(unwritable(path, error)),
    }
}

/// Returns the failure to write a path.
pub(crate) fn unwritable(path: &Path, source: io::Error) -> GitError {
    GitError::Unwritable { path: path.to_path_buf(), source }
}

/// Removes unknown files, and anything that is not a file in the place of one. Our calls never read unknown folders.
fn clear(folder: &Path, is_known: impl Fn(&str) -> bool) -> Result<(), GitError> {
    let failed = |error| unwritable(folder, error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let stays = kind.is_file() && entry.file_name().to_str().is_some_and(&is_known);
        if !stays && !kind.is_dir() {
            fs::remove_file(entry.path()).map_err(failed)?;
        }
    }
    Ok(())
}

/// Makes sure that a file holds this.
fn keep(file: &Path, content: &str) -> io::Result<()> {
    if fs::read(file).is_ok_and(|there| there == content.as_bytes()) {
        return Ok(());
    }
    let new = file.with_file_name("callstack.new");
    drop(fs::remove_file(&new));
    OpenOptions::new().write(true).create_new(true).open(&new)?.write_all(content.as_bytes())?;
    fs::rename(&new, file)
}

/// Restricts a folder to those who may read the one around it, where the system knows of owners: it contains copies
/// of files that may be for their owner only.
#[cfg(unix)]
fn restrict(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |folder: &Path| Ok::<_, io::Error>(fs::metadata(folder)?.permissions().mode());
    let (is, around) = (mode(folder)?, folder.parent().map_or(Ok(0o700), mode)?);
    // Even if everybody may enter that one, not everybody may enter this one.
    let wanted = is & (around | 0o700) & !0o007;
    if is == wanted {
        Ok(())
    } else {
        fs::set_permissions(folder, fs::Permissions::from_mode(wanted))
    }
}

#[cfg(not(unix))]
fn restrict(_folder: &Path) -> io::Result<()> {
    Ok(())
}
