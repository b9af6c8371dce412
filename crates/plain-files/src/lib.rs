//! Opening files as the plain files that they have to be.
//!
//! Files in a project may have come with it. So no link is followed, a FIFO is refused without waiting for its other
//! end, and nothing is read from a device, which may never end. Only a path that a person or that person's
//! configuration names may be a link: its target is opened in the same way.

use std::fs::{self, DirBuilder, File, FileType, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// Opens a file with `options`, unless it is a link or no regular file. A file that is made is for its owner
/// only.
pub fn open_plain(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Opening a device may already set something off.
    refuse(fs::symlink_metadata(path).map(|it| it.file_type()))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::OFlags;
        // Something else may be there by now. Opening a FIFO would wait for a process at its other end.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    refuse(file.metadata().map(|it| it.file_type()))?;
    Ok(file)
}

/// Makes a folder, with those around it that are missing, for its owner only, whatever the process's umask is. What root
/// makes belongs to whom the folder around it does, who would else be locked out of their own home.
pub fn make_private(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if rustix::process::geteuid().is_root() {
        return make_for_owner(folder);
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Makes each missing folder in the one around it, as that is open: its owner may put a link in its place meanwhile.
#[cfg(unix)]
fn make_for_owner(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};

    use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
    let there = folder.ancestors().find(|it| it.symlink_metadata().is_ok());
    let (around, missing) = match there {
        Some(around) => (around, folder.strip_prefix(around).unwrap_or(folder)),
        None => (Path::new("."), folder),
    };
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = File::from(open(around, flags, Mode::empty())?);
    let owner = at.metadata()?;
    for name in missing {
        let made = mkdirat(&at, name, Mode::RWXU);
        at = File::from(openat(&at, name, flags | OFlags::NOFOLLOW, Mode::empty())?);
        match made {
            Ok(()) => fchown(&at, Some(owner.uid()), Some(owner.gid()))?,
            Err(error) if error == rustix::io::Errno::EXIST => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Gives a file that root makes in a folder of another user to that user.
#[cfg(unix)]
pub fn give_to_owner(file: &File, folder: &Path) {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let (Ok(own), Ok(folder)) = (file.metadata(), fs::metadata(folder)) else { return };
    // One with another name may be a file of root's that the user has linked there.
    if rustix::process::geteuid().is_root() && own.uid() != folder.uid() && own.nlink() == 1 {
        // Where it fails, root alone can use it.
        drop(fchown(file, Some(folder.uid()), Some(folder.gid())));
    }
}

/// Gives a file that root makes in a folder of another user to that user.
#[cfg(not(unix))]
pub fn give_to_owner(_file: &File, _folder: &Path) {}

/// Opens a file to be read, as [`open_plain`] does.
pub fn open(path: &Path) -> io::Result<File> {
    open_plain(OpenOptions::new().read(true), path)
}

/// Opens a file that a person has named for reading. If it is a link, its target is opened.
pub fn open_named(path: &Path) -> io::Result<File> {
    open(&fs::canonicalize(path)?)
}

/// Reads all of a file that is opened by [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    all(open(path)?)
}

/// Reads all of a file that is opened by [`open_named`].
pub fn read_named(path: &Path) -> io::Result<Vec<u8>> {
    all(open_named(path)?)
}

/// Reads a file of ours, up to the length that it may have; none if it is not there.
pub fn read_plain(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        file => all(file?.take(most)).map(Some),
    }
}

/// Refuses a folder in a project if a link on its path leads out of the project. One that does not exist yet is
/// accepted.
pub fn refuse_way_out(project: &Path, folder: &Path) -> io::Result<()> {
    let whole = fs::canonicalize(project)?;
    let mut at = project.to_path_buf();
    for name in folder.strip_prefix(project).unwrap_or(folder) {
        at.push(name);
        let stays = || fs::canonicalize(&at).is_ok_and(|it| it.starts_with(&whole));
        match fs::symlink_metadata(&at) {
            Ok(metadata) if metadata.is_symlink() && !stays() => {
                let why = format!("{} is a link that leads out of the project", at.display());
                return Err(io::Error::new(io::ErrorKind::NotADirectory, why));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Refuses a path that a person has named if it leads to something that is neither a file nor a folder. A missing
/// file is no error.
pub fn refuse_special(path: &Path) -> io::Result<()> {
    match fs::metadata(path).map(|it| it.file_type()) {
        Ok(kind) if kind.is_dir() => Ok(()),
        kind => refuse(kind),
    }
}

fn all(mut file: impl io::Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn refuse(kind: io::Result<FileType>) -> io::Result<()> {
    match kind {
        Ok(kind) if kind.is_file() => Ok(()),
        Ok(kind) if kind.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(kind) => {
            let what = name(kind);
            Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a file")))
        }
        // One that is not there may be made.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn name(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    if kind.is_symlink() {
        "a link"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn name(kind: FileType) -> &'static str {
    if kind.is_symlink() { "a link" } else { "a device" }
}

#[cfg(all(test, unix))]
#[path = "lib_tests.rs"]
mod tests;
