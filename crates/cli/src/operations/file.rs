//! Files that are written as a whole.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use callstack_engine::{plain, unfinished};

use crate::error::CommandError;

/// Why something was not written.
pub(crate) enum Unwritten {
    /// The content could not be read.
    Read(CommandError),
    /// It could not be written.
    Write(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// Replaces a file as a whole: the old one stays until the new one is complete.
pub(crate) fn write<T>(
    file: &Path,
    put: impl FnOnce(&mut dyn Write) -> Result<T, Unwritten>,
) -> Result<T, CommandError> {
    let failed = |error: io::Error| CommandError::of_file("write", file, error);
    // A device such as /dev/null would be replaced by a file.
    plain::refuse_special(file).map_err(failed)?;
    let folder = file.parent().unwrap_or(file);
    unfinished::sweep(folder);
    // The original error would name the temporary file.
    let unfinished = unfinished::builder()
        .tempfile_in(folder)
        .map_err(|error| failed(io::Error::from(error.kind())))?;
    let mut to = BufWriter::new(unfinished);
    let put = put(&mut to).map_err(|error| match error {
        Unwritten::Read(failure) => failure,
        Unwritten::Write(error) => failed(error),
    })?;
    let unfinished = to.into_inner().map_err(|error| failed(error.into_error()))?;
    unfinished.as_file().sync_data().map_err(failed)?;
    unfinished.persist(file).map_err(|error| failed(error.error))?;
    Ok(put)
}
