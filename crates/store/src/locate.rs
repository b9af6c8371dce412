//! The store that a working directory belongs to.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::error::StoreError;
use crate::git_exclude::exclude_from_git;
use crate::plain::open_plain;
use crate::sharing::{is_shared, share_file_for, share_file_in, share_folder};
use crate::trust::Distrust;

/// The folder of a store, inside the project.
pub const FOLDER: &str = ".callstack";
/// The database inside that folder.
pub const DATABASE: &str = "callstack.db";

/// The nearest folder from `start` upwards that has a store, as git finds its repository; in a git work
/// tree none above its root. The home folder is never taken for a project, and neither is another user's folder or
/// one that everybody shares.
pub fn find(start: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let root = git_root(start, home);
    folders(start, home)
        .take_while(|folder| root.is_none_or(|root| folder.starts_with(root)))
        .find(|folder| folder.join(FOLDER).is_dir())
        .map(Path::to_path_buf)
}

/// The project that a new store is made in: the root of the git work tree that `start` is in, else
/// `start` itself.
pub fn project_root(start: &Path, home: Option<&Path>) -> PathBuf {
    git_root(start, home).unwrap_or(start).to_path_buf()
}

fn git_root<'a>(start: &'a Path, home: Option<&'a Path>) -> Option<&'a Path> {
    folders(start, home).find(|folder| folder.join(".git").exists())
}

/// A folder and those around it that may be its project.
fn folders<'a>(start: &'a Path, home: Option<&'a Path>) -> impl Iterator<Item = &'a Path> {
    start.ancestors().take_while(move |folder| {
        Some(*folder) != home && (*folder == start || !is_barrier(folder, start))
    })
}

/// Whether a folder around `start` is another user's, or one in which everybody may make folders, such as `/tmp`: a
/// store there may be anybody's.
#[cfg(unix)]
fn is_barrier(folder: &Path, start: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    const SHARED: u32 = 0o1002;
    let Ok(metadata) = fs::metadata(folder) else { return true };
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw()
        || fs::metadata(start).is_ok_and(|start| start.uid() == metadata.uid());
    !is_own || metadata.mode() & SHARED == SHARED
}

#[cfg(not(unix))]
fn is_barrier(_folder: &Path, _start: &Path) -> bool {
    false
}

/// Returns when the store in a project was last written, in milliseconds since 1970, without opening it; none if it has
/// no database.
pub fn last_written(project: &Path) -> Option<i64> {
    let folder = project.join(FOLDER);
    let log = format!("{DATABASE}-wal");
    let times = [DATABASE, &log].into_iter().filter_map(|name| {
        let written = fs::symlink_metadata(folder.join(name)).ok()?.modified().ok()?;
        i64::try_from(written.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
    });
    times.max()
}

/// Makes the store's folder in a project, for its owner only and ignored by git, and returns it. An existing folder
/// is restricted before a store is made in it, and whenever everybody may read it: a store that is shared with a
/// group stays shared. No link is followed.
pub fn prepare(project: &Path) -> Result<PathBuf, StoreError> {
    prepare_for(project, None)
}

/// The same where a database is restored: a folder that is made now is for those who may use that, and one that a group
/// shares stays shared with it. The owner may have ended the sharing by the mode of the folder.
pub(crate) fn prepare_for(
    project: &Path,
    restored: Option<&Metadata>,
) -> Result<PathBuf, StoreError> {
    let folder = project.join(FOLDER);
    let failed = |source| StoreError::Io { path: folder.clone(), source };
    match fs::symlink_metadata(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Another process may make it at the same time.
            if private(&folder).map_err(failed)?
                && let Some(database) = restored
            {
                // Until somebody shares it, it is its owner's alone.
                drop(share_folder(&folder, database));
            }
        }
        Err(error) => return Err(failed(error)),
        Ok(metadata) if metadata.is_symlink() => {
            return Err(Distrust::Link { project: project.to_path_buf(), path: folder }.into());
        }
        Ok(metadata) if !metadata.is_dir() => {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        Ok(_)
            if is_open_to_all(&folder)
                || !(folder.join(DATABASE).exists() || restored.is_some_and(is_shared)) =>
        {
            // A folder of somebody else is theirs to decide on.
            drop(restrict(&folder));
        }
        Ok(_) => {}
    }
    // A read-only store stays usable without it.
    if let Ok(Some(written)) = keep_from_git(&folder, folder.join(DATABASE).exists(), None) {
        share_file_for(&folder, &written, restored);
    }
    exclude_from_git(project, FOLDER);
    Ok(folder)
}

/// Writes the file again by which git ignores a store, if it is gone: a checkout deletes it that leaves a branch which
/// tracks it.
pub(crate) fn keep_from_git_again(folder: &Path) {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|it| it.is_dir());
    if is_folder
        && fs::symlink_metadata(folder.join(".gitignore")).is_err()
        && let Ok(Some(written)) = keep_from_git(folder, true, None)
    {
        share_file_in(folder, &written);
    }
}

/// Makes git ignore a folder of callstack's own, but for the folder `shared` in it. An existing `.gitignore` stays if
/// the folder `is_used`, since the user may have changed it; in a new folder it came with the project, and may let git
/// track files that will be made there. Returns the file if it was written.
pub fn keep_from_git(
    folder: &Path,
    is_used: bool,
    shared: Option<&str>,
) -> io::Result<Option<File>> {
    let ignore = folder.join(".gitignore");
    let mut how = OpenOptions::new();
    if fs::symlink_metadata(&ignore).is_err() {
        how.create_new(true);
    } else if is_used || is_kept_from_git(folder, shared) {
        return Ok(None);
    } else {
        how.truncate(true);
    }
    let mut file = open_plain(how.write(true), &ignore)?;
    file.write_all(ignoring_but(shared).as_bytes()).map(|()| Some(file))
}

/// Whether the `.gitignore` in a folder has git ignore everything in it, but for the folder `shared`.
pub fn is_kept_from_git(folder: &Path, shared: Option<&str>) -> bool {
    let found = read(&folder.join(".gitignore"));
    found.is_ok_and(|found| found == ignoring_but(shared) || ignores_all(&found))
}

fn ignoring_but(shared: Option<&str>) -> String {
    let shared = shared.map(|name| format!("!/{name}/\n!/{name}/**\n"));
    format!("*\n{}", shared.unwrap_or_default())
}

fn read(path: &Path) -> io::Result<String> {
    open_plain(OpenOptions::new().read(true), path).and_then(io::read_to_string)
}

/// Whether a file makes git ignore everything beside it.
pub(crate) fn is_ignoring_all(path: &Path) -> bool {
    read(path).is_ok_and(|text| ignores_all(&text))
}

/// Git strips spaces at the end of a line, and no others.
fn ignores_all(text: &str) -> bool {
    text.lines().any(|line| line.trim_end_matches(' ') == "*")
        && !text.lines().any(|line| line.starts_with('!'))
}

/// Makes a folder in one that is there, since a project that has just been moved away is not made again. Returns false
/// if another process was quicker.
fn private(folder: &Path) -> io::Result<bool> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        made => made.and_then(|()| restrict(folder)).map(|()| true),
    }
}

/// Restricts a folder to its owner, where the system knows of owners. A link is not followed.
#[cfg(unix)]
pub fn restrict(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    open_folder(folder)?.set_permissions(fs::Permissions::from_mode(0o700))
}

/// Opens a folder that is no link.
#[cfg(unix)]
pub(crate) fn open_folder(folder: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    use rustix::fs::OFlags;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(folder)
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

/// Restricts a folder to its owner, where the system knows of owners.
#[cfg(not(unix))]
pub fn restrict(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}
