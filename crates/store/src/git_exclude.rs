//! The line by which the user's own git ignores a store, in `info/exclude` of the repository. A checkout may replace the
//! `.gitignore` in the store, but not this file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::locate::FOLDER;
use crate::plain::{open_plain, read_plain};

/// The longest file that is read.
const LONGEST: u64 = 1024 * 1024;

/// Has the repository that a project lies in ignore the project's store. Where that is not possible, the `.gitignore`
/// in the store does so alone.
pub(crate) fn add(project: &Path) {
    drop(try_to_add(project));
}

fn try_to_add(project: &Path) -> io::Result<()> {
    let Some((root, git)) = repository(project) else { return Ok(()) };
    let Some(line) = line_for(&root, project) else { return Ok(()) };
    let path = git.join("info/exclude");
    let text = read_plain(&path, LONGEST)?.unwrap_or_default();
    if text.split(|byte| *byte == b'\n').any(|it| it.trim_ascii_end() == line.as_bytes()) {
        return Ok(());
    }
    match fs::create_dir(git.join("info")) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let separator = if text.last().is_none_or(|byte| *byte == b'\n') { "" } else { "\n" };
    let mut file = open_plain(OpenOptions::new().append(true).create(true), &path)?;
    file.write_all(format!("{separator}{line}\n").as_bytes())
}

/// Takes the line out again; the rest of the file stays as it is.
pub(crate) fn remove(project: &Path) -> io::Result<()> {
    let Some((root, git)) = repository(project) else { return Ok(()) };
    let Some(line) = line_for(&root, project) else { return Ok(()) };
    let path = git.join("info/exclude");
    let Some(text) = read_plain(&path, LONGEST)? else { return Ok(()) };
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let kept: Vec<u8> =
        lines.filter(|it| it.trim_ascii_end() != line.as_bytes()).flatten().copied().collect();
    if kept.len() == text.len() {
        return Ok(());
    }
    let mut file = open_plain(OpenOptions::new().write(true).truncate(true), &path)?;
    file.write_all(&kept)
}

/// The pattern for a project's store, from the root of its work tree; none for a path that is no text or that git would
/// read as a pattern.
fn line_for(root: &Path, project: &Path) -> Option<String> {
    let store = project.strip_prefix(root).ok()?.join(FOLDER);
    let store = store.to_str()?;
    let is_plain = !store.contains(['*', '?', '[', '\\', '\n', '\r']);
    is_plain.then(|| format!("/{store}/"))
}

/// The root of the work tree that a project lies in, and the folder of what all work trees of its repository share.
fn repository(project: &Path) -> Option<(PathBuf, PathBuf)> {
    let root = project.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    let git = root.join(".git");
    if git.symlink_metadata().ok()?.is_dir() {
        return Some((root.to_path_buf(), git));
    }
    let of_tree = PathBuf::from(read_line(&git)?.strip_prefix("gitdir: ")?);
    // A file that came with the project may name any folder; a work tree's own names the file, too.
    let named = fs::canonicalize(read_line(&of_tree.join("gitdir"))?).ok()?;
    if named != fs::canonicalize(&git).ok()? {
        return None;
    }
    let common = of_tree.join(read_line(&of_tree.join("commondir"))?);
    Some((root.to_path_buf(), common))
}

fn read_line(path: &Path) -> Option<String> {
    let text = String::from_utf8(read_plain(path, 4096).ok()??).ok()?;
    Some(text.trim_end().to_owned())
}
