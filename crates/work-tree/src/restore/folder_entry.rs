//! Places of files, reached without following a link, and the exchange of two files.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use sha1::{Digest as _, Sha1};

use crate::tree::Recorded;

const FOLDER: OFlags =
    OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// A name in a folder.
#[derive(Debug)]
pub(super) struct FolderEntry {
    folder: OwnedFd,
    name: OsString,
}

/// Opens a folder by its path.
pub(super) fn open(folder: &Path) -> io::Result<OwnedFd> {
    Ok(fs::openat(CWD, folder, FOLDER.difference(OFlags::NOFOLLOW), Mode::empty())?)
}

/// Opens a folder in another one. Missing ones are made where `make` gives their mode.
pub(super) fn folder(root: &OwnedFd, path: &Path, make: Option<Mode>) -> io::Result<OwnedFd> {
    let mut folder = root.try_clone()?;
    for part in path.components() {
        let Component::Normal(name) = part else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let opened = fs::openat(&folder, name, FOLDER, Mode::empty());
        folder = match (opened, make) {
            (Err(Errno::NOENT), Some(mode)) => {
                match fs::mkdirat(&folder, name, mode) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                fs::openat(&folder, name, FOLDER, Mode::empty())?
            }
            (opened, _) => opened?,
        };
    }
    Ok(folder)
}

impl FolderEntry {
    /// The place of a path in a folder.
    pub(super) fn of(root: &OwnedFd, path: &Path, make: Option<Mode>) -> io::Result<Self> {
        let around = path.parent().unwrap_or_else(|| Path::new(""));
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_owned();
        // Git keeps its repositories there.
        if path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(Self { folder: folder(root, around, make)?, name })
    }

    /// Another name in the same folder.
    pub(super) fn beside(&self, name: impl Into<OsString>) -> io::Result<Self> {
        Ok(Self { folder: self.folder.try_clone()?, name: name.into() })
    }

    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    /// Whether a folder lies there.
    pub(super) fn is_folder(&self) -> bool {
        let stat = fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    }

    /// Returns the entry that a state would hold of it; none for nothing, or for kinds that are not recorded.
    pub(super) fn recorded(&self) -> Option<Recorded> {
        let stat = fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let mut sha = Sha1::new();
        let mode: &[u8] = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                let to = fs::readlinkat(&self.folder, &self.name, Vec::new()).ok()?;
                sha.update(format!("blob {}\0", to.as_bytes().len()));
                sha.update(to.as_bytes());
                b"120000"
            }
            FileType::RegularFile => {
                let file = fs::openat(&self.folder, &self.name, FILE, Mode::empty()).ok()?;
                let mut file = std::fs::File::from(file);
                let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
                sha.update(format!("blob {}\0", metadata.len()));
                let mut buffer = vec![0; 64 * 1024];
                loop {
                    match io::Read::read(&mut file, &mut buffer).ok()? {
                        0 => break,
                        read => sha.update(&buffer[..read]),
                    }
                }
                if stat.st_mode & 0o100 == 0 { b"100644" } else { b"100755" }
            }
            _ => return None,
        };
        let mut id = Vec::new();
        for byte in sha.finalize() {
            write!(id, "{byte:02x}").ok()?;
        }
        Some(Recorded::new(mode, &id))
    }

    /// Gives a file the group and the permissions of another one that it replaces, except whether it can be run.
    pub(super) fn permit_as(&self, other: &Self) {
        let of = |place: &Self| {
            let stat = fs::statat(&place.folder, &place.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            is_file.then_some(stat)
        };
        let (Some(own), Some(other)) = (of(self), of(other)) else { return };
        let readable = other.st_mode & 0o666;
        let runs = if own.st_mode & 0o100 == 0 { 0 } else { 0o100 | (readable & 0o444) >> 2 };
        let Ok(file) = fs::openat(&self.folder, &self.name, FILE, Mode::empty()) else { return };
        if own.st_gid != other.st_gid {
            // A user who may not change the group keeps it.
            let _ = fs::fchown(&file, None, Some(fs::Gid::from_raw(other.st_gid)));
        }
        let _ = fs::fchmod(&file, Mode::from_raw_mode(readable | runs));
    }

    /// Moves a file to where nothing is.
    pub(super) fn move_to(&self, to: &Self) -> Result<(), Errno> {
        let moved = fs::renameat_with(
            &self.folder,
            &self.name,
            &to.folder,
            &to.name,
            RenameFlags::NOREPLACE,
        );
        match moved {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.link_to(to),
            moved => moved,
        }
    }

    /// The same where the file system does not know of it.
    fn link_to(&self, to: &Self) -> Result<(), Errno> {
        match fs::linkat(&self.folder, &self.name, &to.folder, &to.name, AtFlags::empty()) {
            Ok(()) => fs::unlinkat(&self.folder, &self.name, AtFlags::empty()),
            Err(Errno::PERM | Errno::NOTSUP | Errno::NOSYS) => {
                match fs::statat(&to.folder, &to.name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(_) => Err(Errno::EXIST),
                    Err(_) => fs::renameat(&self.folder, &self.name, &to.folder, &to.name),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Exchanges two files, atomically where the file system can. Fails where there is only one.
    pub(super) fn exchange(&self, other: &Self) -> Result<(), Errno> {
        let exchanged = fs::renameat_with(
            &self.folder,
            &self.name,
            &other.folder,
            &other.name,
            RenameFlags::EXCHANGE,
        );
        match exchanged {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.exchange_in_steps(other),
            exchanged => exchanged,
        }
    }

    /// The same where the file system can't: for a moment there is nothing in the other place, and a file that is
    /// made there meanwhile stays.
    pub(super) fn exchange_in_steps(&self, other: &Self) -> Result<(), Errno> {
        let mut name = self.name.clone();
        name.push(".callstack-out");
        let out = Self { folder: self.folder.try_clone().map_err(|_| Errno::MFILE)?, name };
        other.move_to(&out)?;
        match self.move_to(other) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => {
                out.move_to(other)?;
                return Err(error);
            }
        }
        fs::renameat(&out.folder, &out.name, &self.folder, &self.name)
    }

    /// Copies a file or a link to an empty place in another file system.
    pub(super) fn copy_to(&self, to: &Self) -> io::Result<()> {
        let stat = fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            let target = fs::readlinkat(&self.folder, &self.name, Vec::new())?;
            return Ok(fs::symlinkat(target, &to.folder, &to.name)?);
        }
        let mut from =
            std::fs::File::from(fs::openat(&self.folder, &self.name, FILE, Mode::empty())?);
        let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
        let mut copy = std::fs::File::from(fs::openat(&to.folder, &to.name, new, mode)?);
        io::copy(&mut from, &mut copy).map(drop)
    }

    /// Removes a file or a link.
    pub(super) fn remove(&self) {
        // A file that can't be removed stays where it is.
        let _ = fs::unlinkat(&self.folder, &self.name, AtFlags::empty());
    }
}

/// Removes the folders on a path as far as they are empty.
pub(super) fn prune(root: impl AsFd, path: &Path) {
    let root = root.as_fd();
    let Ok(root) = root.try_clone_to_owned() else { return };
    for around in path.ancestors().skip(1).filter(|it| !it.as_os_str().is_empty()) {
        let Ok(place) = FolderEntry::of(&root, around, None) else { return };
        if fs::unlinkat(&place.folder, &place.name, AtFlags::REMOVEDIR).is_err() {
            return;
        }
    }
}

/// Returns a name for a file that is kept beside another one, the `n`-th one.
pub(super) fn kept_name(name: &OsStr, n: usize) -> OsString {
    // A name may have 255 bytes.
    let mut kept = OsStr::from_bytes(&name.as_bytes()[..name.len().min(220)]).to_owned();
    kept.push(".callstack-kept");
    if n > 1 {
        kept.push(format!("-{n}"));
    }
    kept
}
