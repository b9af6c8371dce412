//! Files of the project: their names and their content.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};

use callstack_store::plain;

/// Larger files are named without a hash: reading them would hold up the tool call that wrote them.
pub const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// The name of a file inside `project`: relative, with `/`. A file outside keeps its whole path.
pub(crate) fn relative(project: &Path, file: &str) -> String {
    let path = Path::new(file);
    let whole = if path.is_absolute() { path.to_path_buf() } else { project.join(path) };
    let whole = without_dots(&whole);
    match whole.strip_prefix(project) {
        Ok(inside) => slashes(inside),
        Err(_) => slashes(&whole),
    }
}

/// Opens a file by its name. A link in the project is followed only to files in the project: it may have come with
/// the project, and may lead anywhere.
fn open(project: &Path, file: &str) -> Option<File> {
    let path = without_dots(&project.join(file));
    let whole = fs::canonicalize(&path).ok()?;
    let leads_out = || fs::canonicalize(project).is_ok_and(|project| !whole.starts_with(project));
    if path.starts_with(project) && leads_out() {
        return None;
    }
    plain::open(&whole).ok()
}

/// Returns the SHA-256 of a file's content in hex; none unless it is a readable file of a reasonable size.
pub(crate) fn hash(project: &Path, file: &str) -> Option<String> {
    let file = open(project, file)?;
    let metadata = file.metadata().ok()?;
    if metadata.len() > LARGEST_FILE {
        return None;
    }
    digest(file).ok()
}

/// Bytes of a file that are read for the description of a change.
const LARGEST_TEXT: u64 = 1_000_000;

/// Returns the content of a file; none for anything but a readable text of a moderate size.
pub(crate) fn text(project: &Path, file: &str) -> Option<String> {
    let mut file = open(project, file)?;
    let metadata = file.metadata().ok()?;
    if metadata.len() > LARGEST_TEXT {
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    Some(text)
}

fn digest(mut file: File) -> io::Result<String> {
    let mut sha = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        sha.update(&buffer[..read]);
    }
    Ok(sha.finalize().iter().fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

fn slashes(path: &Path) -> String {
    let text = path.to_string_lossy();
    if std::path::MAIN_SEPARATOR == '/' { text.into_owned() } else { text.replace('\\', "/") }
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, mode, 0).unwrap();
    assert_eq!(hash(folder.path(), "pipe"), None);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_to_what_lies_in_the_project_only() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let (project, outside) = (folder.path().join("project"), folder.path().join("outside"));
    fs::create_dir(&project).unwrap();
    fs::create_dir(&outside).unwrap();
    for file in [project.join("file"), outside.join("file")] {
        fs::write(file, "content").unwrap();
    }
    symlink("file", project.join("inside")).unwrap();
    symlink(outside.join("file"), project.join("out")).unwrap();
    symlink(&outside, project.join("folder")).unwrap();
    for (name, is_read) in
        [("file", true), ("inside", true), ("out", false), ("folder/file", false)]
    {
        assert_eq!(text(&project, name).is_some(), is_read, "{name}");
        assert_eq!(hash(&project, name).is_some(), is_read, "{name}");
    }
    // A file outside of the project keeps its whole path.
    let named = outside.join("file");
    assert!(hash(&project, named.to_str().unwrap()).is_some());
    assert!(hash(&project, "../outside/file").is_some());
}
