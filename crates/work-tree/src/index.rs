//! The paths that git tracks, read from its index files where git itself can't be used: versions 2 to 4, whole, split
//! or sparse.
//!
//! Not here: configuration. Where a repository's work tree is configured to lie elsewhere, the folder around its
//! `.git` is assumed all the same, which is git's default.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use callstack_engine::plain;

use crate::git::path;
use crate::tracked::{from_project, from_root, is_below};

/// Bytes of an index: ten times that of the largest projects.
const LARGEST: u64 = 1024 * 1024 * 1024;
/// The bytes of an object's name: by SHA-1, and by SHA-256.
const NAMES: [usize; 2] = [20, 32];
/// The places of the mode in an entry, and of the beginning of the object's name.
const MODE: usize = 24;
const OBJECT: usize = 40;
/// A folder that is tracked whole and not checked out.
const SPARSE: u32 = 0o040_000;
const MODES: [u32; 5] = [0o100_644, 0o100_755, 0o120_000, 0o160_000, SPARSE];

/// The content of an index.
#[derive(Debug, Default, PartialEq, Eq)]
struct Index {
    /// Each path with its mode.
    entries: Vec<(PathBuf, u32)>,
    /// The name of the index that this one adds to, in hexadecimal digits.
    shared: Option<String>,
}

/// The paths below `folder`, relative to the project, that any repository tracks whose `.git` is around the folder, in
/// the project or outside. Paths that a split index removes from the index that it adds to may be among them. `folds`
/// is that of [`is_below`].
pub(crate) fn tracked_below(
    project: &Path,
    folder: &Path,
    folds: bool,
) -> io::Result<Vec<PathBuf>> {
    let target = project.join(folder);
    let mut tracked = Vec::new();
    for root in target.ancestors() {
        let Some(repository) = repository_of(root)? else { continue };
        let wanted = from_root(root, &target);
        for (path, mode) in entries(&repository)? {
            if is_below(&path, wanted, folds) {
                tracked.push(from_project(project, root, &path));
            } else if mode == SPARSE && wanted.starts_with(&path) {
                return Err(unreadable("it does not list what is in the project's folder"));
            }
        }
    }
    Ok(tracked)
}

/// The folder of the repository whose work tree is this one, if there is one.
fn repository_of(root: &Path) -> io::Result<Option<PathBuf>> {
    let git = root.join(".git");
    match fs::metadata(&git) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
        Ok(metadata) if metadata.is_dir() => Ok(Some(git)),
        Ok(_) => {
            let mut text = Vec::new();
            plain::open_named(&git)?.take(64 * 1024).read_to_end(&mut text)?;
            let named = text.strip_prefix(b"gitdir: ").map(<[u8]>::trim_ascii_end);
            let named = named.ok_or_else(|| unreadable("`.git` names no repository"))?;
            Ok(Some(root.join(path(named))))
        }
    }
}

/// The entries of a repository's index; none where nothing was ever added to it.
fn entries(repository: &Path) -> io::Result<Vec<(PathBuf, u32)>> {
    let Some(bytes) = read(&repository.join("index"))? else { return Ok(Vec::new()) };
    let damaged = || unreadable("the index is damaged, or of a kind that is not known here");
    let index = parse(&bytes).ok_or_else(damaged)?;
    let mut entries = index.entries;
    if let Some(shared) = index.shared {
        let bytes = read(&repository.join(format!("sharedindex.{shared}")))?.unwrap_or_default();
        entries.extend(parse(&bytes).ok_or_else(damaged)?.entries);
    }
    Ok(entries)
}

fn read(file: &Path) -> io::Result<Option<Vec<u8>>> {
    let open = match plain::open_named(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        open => open?,
    };
    let mut bytes = Vec::new();
    open.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(unreadable("the index is too large"));
    }
    Ok(Some(bytes))
}

fn unreadable(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Reads an index. The length of objects' names is not recorded in it: only with the right one is every byte
/// accounted for.
fn parse(bytes: &[u8]) -> Option<Index> {
    NAMES.into_iter().find_map(|name| parse_with(bytes, name))
}

fn parse_with(bytes: &[u8], name: usize) -> Option<Index> {
    let rest = bytes.strip_prefix(b"DIRC")?;
    let (version, rest) = number(rest)?;
    let (count, rest) = number(rest)?;
    // The bytes after the last extension are the hash of everything before.
    let mut rest = rest.get(..rest.len().checked_sub(name)?)?;
    let mut index = Index::default();
    let mut before: Vec<u8> = Vec::new();
    for _ in 0..count {
        let (mode, _) = number(rest.get(MODE..)?)?;
        let flags = rest.get(OBJECT + name..)?.first_chunk().map(|it| u16::from_be_bytes(*it))?;
        let is_extended = flags & 0x4000 != 0;
        let head = OBJECT + name + if is_extended { 4 } else { 2 };
        let tail = rest.get(head..)?;
        let (path, length) = match version {
            2 | 3 => {
                let (path, _) = until_null(tail)?;
                // An entry ends in one to eight zeros, at a multiple of eight bytes.
                (path.to_vec(), (head + path.len()) / 8 * 8 + 8)
            }
            4 => {
                let (dropped, kept) = offset(tail)?;
                let (added, _) = until_null(kept)?;
                let shared = before.get(..before.len().checked_sub(dropped)?)?;
                let length = rest.len() - kept.len() + added.len() + 1;
                ([shared, added].concat(), length)
            }
            _ => return None,
        };
        if !MODES.contains(&mode) || is_extended && version == 2 {
            return None;
        }
        rest = rest.get(length..)?;
        // One without a name replaces an entry of the index that this one adds to.
        if !path.is_empty() {
            index.entries.push((crate::git::path(&path), mode));
        }
        before = path;
    }
    while !rest.is_empty() {
        let (kind, after) = rest.split_first_chunk::<4>()?;
        let (length, after) = number(after)?;
        let (content, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
        match kind {
            b"link" => {
                let shared = content.get(..name)?;
                index.shared = shared.iter().any(|byte| *byte != 0).then(|| hexadecimal(shared));
            }
            // The name of an extension that is not needed to understand the entries begins with a capital.
            b"sdir" | [b'A'..=b'Z', ..] => {}
            _ => return None,
        }
        rest = after;
    }
    Some(index)
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

fn until_null(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    Some((bytes.get(..end)?, bytes.get(end + 1..)?))
}

/// A number in as many bytes as it needs, as git writes distances.
fn offset(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0usize;
    for (at, byte) in bytes.iter().enumerate() {
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 127))?;
        if byte & 128 == 0 {
            return Some((value, bytes.get(at + 1..)?));
        }
        value = value.checked_add(1)?;
    }
    None
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
