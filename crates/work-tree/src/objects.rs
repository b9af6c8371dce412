//! Taking over the objects of a repository of states, and nothing else of it: no configuration, no hooks and no
//! index, which could change git's behaviour.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;

/// Copies the objects of a repository into another one, which need not exist yet. Returns the number of files. Links
/// and files whose names are not those of objects are left out.
pub fn take_objects(from: &Path, to: &Path) -> io::Result<u64> {
    let (from, to) = (from.join("objects"), to.join("objects"));
    let mut taken = 0;
    for folder in entries(&from)? {
        let name = folder.file_name();
        let Some(name) = name.to_str() else { continue };
        if !folder.file_type()?.is_dir() || !(name == "pack" || is_hex(name, 2)) {
            continue;
        }
        for file in entries(&folder.path())? {
            let object = file.file_name();
            let Some(object) = object.to_str() else { continue };
            let is_object = if name == "pack" { is_pack(object) } else { is_hex(object, 38) };
            if is_object && file.file_type()?.is_file() {
                let place = to.join(name);
                fs::create_dir_all(&place)?;
                take(&file.path(), &place.join(object))?;
                taken += 1;
            }
        }
    }
    Ok(taken)
}

/// Copies a file as a whole, if it is not there.
fn take(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        return Ok(());
    }
    let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let unfinished = to.with_file_name(format!("tmp_{name}"));
    fs::copy(from, &unfinished)?;
    fs::rename(unfinished, to)
}

/// Returns the content of a folder; nothing if that is not there, or is a link.
fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    match fs::symlink_metadata(folder) {
        Ok(metadata) if metadata.is_dir() => fs::read_dir(folder)?.collect(),
        Ok(_) => Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn is_hex(name: &str, length: usize) -> bool {
    name.len() == length && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_pack(name: &str) -> bool {
    let stem = name.strip_suffix(".pack").or_else(|| name.strip_suffix(".idx"));
    stem.and_then(|stem| stem.strip_prefix("pack-")).is_some_and(|hash| is_hex(hash, 40))
}
