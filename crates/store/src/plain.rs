//! Opening files of a store as the plain files that they have to be: a link is not followed, and a FIFO or
//! a device is refused without waiting for its other end.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file with `options`, unless it is a link or no regular file. A file that is made is for its owner
/// only.
pub fn open_plain(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::OFlags;
        // A FIFO would wait for somebody at its other end.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options.mode(0o600).custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"))
}

/// Reads a file of ours as text; none if it is not there.
pub(crate) fn read_plain(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    use std::io::Read as _;
    let file = match open_plain(OpenOptions::new().read(true), path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}
