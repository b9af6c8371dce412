//! The binary under test.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{Finished, Sealed, TestError};

/// The `callstack` binary. A test knows its path at compile time:
/// `Callstack::at(env!("CARGO_BIN_EXE_callstack"))`.
#[derive(Clone, Debug)]
pub struct Callstack {
    binary: PathBuf,
}

impl Callstack {
    /// The binary at `path`.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { binary: path.into() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.binary
    }

    /// Lets everything in `sealed` find it as `callstack`.
    pub fn put_on_path(&self, sealed: &Sealed) -> Result<(), TestError> {
        sealed.put_on_path("callstack", &self.binary)
    }

    /// Runs it in the project folder; it must end within 30 s.
    pub fn run(&self, sealed: &Sealed, args: &[&str]) -> Result<Finished, TestError> {
        let mut command = sealed.command(&self.binary);
        command.args(args);
        sealed.run("callstack", command, Duration::from_secs(30))
    }
}
