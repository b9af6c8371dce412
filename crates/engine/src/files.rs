//! Files of the project: how they are named, and what is in them.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::plain_file;

/// Larger files are named without a hash: reading them would hold up the tool call that wrote them.
pub const LARGEST_FILE: u64 = 64 * 1024 * 1024;

/// The name of a file inside `project`: relative, with `/`. What lies outside keeps its whole path.
pub(crate) fn relative(project: &Path, file: &str) -> String {
    let path = Path::new(file);
    let whole = if path.is_absolute() { path.to_path_buf() } else { project.join(path) };
    let whole = without_dots(&whole);
    match whole.strip_prefix(project) {
        Ok(inside) => slashes(inside),
        Err(_) => slashes(&whole),
    }
}

/// SHA-256 of a file's content in hex; none for what is no readable file of a reasonable size.
pub(crate) fn hash(project: &Path, file: &str) -> Option<String> {
    let file = plain_file::open(&project.join(file)).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST_FILE {
        return None;
    }
    digest(file).ok()
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
