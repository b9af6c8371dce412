//! Exports that are printed: operations write them to a file, since they print nothing.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::error::CommandError;
use crate::output::Output;

/// A file that is printed once an operation has written it.
pub(crate) struct Printed(TempDir);

impl Printed {
    pub(crate) fn new() -> Result<Self, CommandError> {
        let folder = tempfile::Builder::new().prefix("callstack-export-").tempdir();
        let at = std::env::temp_dir();
        Ok(Self(folder.map_err(|error| CommandError::of_file("make", &at, error))?))
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("export")
    }

    pub(crate) fn print(&self, output: &mut Output) -> Result<(), CommandError> {
        let file = self.file();
        let failed = |error: io::Error| CommandError::of_file("read", &file, error);
        let mut from = File::open(&file).map_err(failed)?;
        output.stream(|to| {
            io::copy(&mut from, to).map_err(CommandError::of_output)?;
            Ok(())
        })
    }
}
