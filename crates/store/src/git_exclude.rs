//! Lines by which the user's own git ignores folders of callstack's, in `info/exclude` of the repository. A checkout may
//! replace the `.gitignore` in such a folder, but not this file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::locate::FOLDER;
use crate::plain::{open_plain, read_plain};

/// The longest file that is read. A longer one is left alone.
const LONGEST: u64 = 1024 * 1024;

/// Has the repository that a folder of a project lies in ignore it. Where that is not possible, the
/// `.gitignore` in the folder does so alone.
pub fn exclude_from_git(project: &Path, folder: &str) {
    drop(try_to_add(project, folder));
}

fn try_to_add(project: &Path, folder: &str) -> io::Result<()> {
    let target = project.join(folder);
    let Some((root, git)) = repository(&target, project) else { return Ok(()) };
    let Some(line) = line_for(&root, &target) else { return Ok(()) };
    let path = git.join("info/exclude");
    let text = read(&path)?.unwrap_or_default();
    if lines(&text).any(|it| it.trim_ascii_end() == line.as_bytes()) {
        return Ok(());
    }
    match fs::create_dir(git.join("info")) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if fs::symlink_metadata(git.join("info"))?.is_symlink() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let is_new = fs::symlink_metadata(&path).is_err();
    let mut file = open_plain(OpenOptions::new().append(true).create(true), &path)?;
    if is_new {
        // Others who share the repository read it, too.
        file.set_permissions(fs::metadata(git.join("HEAD"))?.permissions())?;
    }
    let separator = if text.last().is_none_or(|byte| *byte == b'\n') { "" } else { "\n" };
    file.write_all(format!("{separator}{}\n{line}\n", comment(folder)).as_bytes())
}

/// Takes the line out again; the rest of the file stays as it is.
pub fn include_in_git(project: &Path, folder: &str) -> io::Result<()> {
    let target = project.join(folder);
    let Some((root, git)) = repository(&target, project) else { return Ok(()) };
    let Some(line) = line_for(&root, &target) else { return Ok(()) };
    let path = git.join("info/exclude");
    let Some(text) = read(&path)? else { return Ok(()) };
    let all: Vec<&[u8]> = lines(&text).collect();
    let is_ours = |at: usize| {
        all[at].trim_ascii_end() == comment(folder).as_bytes()
            && all.get(at + 1).is_some_and(|next| next.trim_ascii_end() == line.as_bytes())
    };
    let Some(at) = (0..all.len()).find(|at| is_ours(*at)) else { return Ok(()) };
    let mut file = NamedTempFile::new_in(git.join("info"))?;
    file.write_all(&[all[..at].concat(), all[at + 2..].concat()].concat())?;
    file.as_file().set_permissions(fs::metadata(&path)?.permissions())?;
    file.persist(&path).map(drop).map_err(|error| error.error)
}

/// The line before ours, which tells it from one that the user wrote.
fn comment(folder: &str) -> &'static str {
    if folder == FOLDER { "# the store of callstack" } else { "# the files of callstack" }
}

/// Reads the file; none if it is not there.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let text = read_plain(path, LONGEST + 1)?;
    match &text {
        Some(text) if text.len() as u64 > LONGEST => Err(io::ErrorKind::FileTooLarge.into()),
        _ => Ok(text),
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n')
}

/// The pattern for a folder, from the root of its work tree; none for that itself, and for a path that is no text or has
/// a line break.
fn line_for(root: &Path, folder: &Path) -> Option<String> {
    let folder = folder.strip_prefix(root).ok()?;
    let folder = folder.to_str().filter(|path| !path.is_empty() && !path.contains(['\n', '\r']))?;
    let escaped = folder.chars().flat_map(|char| {
        let escape = matches!(char, '*' | '?' | '[' | '\\').then_some('\\');
        escape.into_iter().chain([char])
    });
    Some(format!("/{}/", escaped.collect::<String>()))
}

/// The root of the work tree that a folder of a project lies in, and the folder of what all work trees of its repository
/// share. None for a repository of another user, or for one that only the project says is its own.
fn repository(folder: &Path, project: &Path) -> Option<(PathBuf, PathBuf)> {
    let root = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    let git = root.join(".git");
    let kind = git.symlink_metadata().ok()?.file_type();
    let shared = if kind.is_dir() { git } else { of_file(root, &fs::canonicalize(&git).ok()?)? };
    has_owner_of(&shared, project).then(|| (root.to_path_buf(), shared))
}

/// The folder that a `.git` file leads to, of a further work tree or of a submodule.
fn of_file(root: &Path, file: &Path) -> Option<PathBuf> {
    if file.is_dir() {
        // A link to a folder may lead anywhere.
        return None;
    }
    let folder = root.join(read_line(file)?.strip_prefix("gitdir: ")?);
    let folder = fs::canonicalize(folder).ok()?;
    if let Some(common) = read_line(&folder.join("commondir")) {
        let common = fs::canonicalize(folder.join(common)).ok()?;
        return folder.starts_with(common.join("worktrees")).then_some(common);
    }
    let modules = root.parent()?.ancestors().find_map(modules)?;
    folder.starts_with(fs::canonicalize(modules).ok()?).then_some(folder)
}

/// The folder in which git keeps the repositories of a work tree's submodules; a further work tree has its own.
fn modules(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    let is_own = git.symlink_metadata().ok()?.is_dir()
        || of_file(root, &fs::canonicalize(&git).ok()?).is_some();
    Some(git_folder(root).filter(|_| is_own)?.join("modules")).filter(|it| it.is_dir())
}

/// The folder in which git keeps the index of a work tree; none if the folder is not the root of one.
pub(crate) fn git_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    let kind = fs::metadata(&git).ok()?;
    if kind.is_dir() {
        return Some(git);
    }
    Some(root.join(read_line(&git)?.strip_prefix("gitdir: ")?))
}

#[cfg(unix)]
fn has_owner_of(git: &Path, project: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = |path: &Path| fs::symlink_metadata(path).map(|it| it.uid()).ok();
    owner(git).is_some() && owner(git) == owner(project)
}

#[cfg(not(unix))]
fn has_owner_of(_git: &Path, _project: &Path) -> bool {
    true
}

fn read_line(path: &Path) -> Option<String> {
    let text = String::from_utf8(read_plain(path, 4096).ok()??).ok()?;
    Some(text.trim_end().to_owned())
}
