//! The one place where errors become exit codes.

use std::io;
use std::process::ExitCode;

use callstack_engine::{EngineError, Kind};
use callstack_hosts::import::unreadable;
use callstack_recordings::RecordingError;
use callstack_store::StoreError;

/// Why a command ended otherwise than well.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something to tell the person or program that asked.
    Told(EngineError),
    /// A fault that the command's own output has already told.
    Reported(Kind),
    /// Nobody reads the output any more, as with `| head`.
    BrokenPipe,
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::Told(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Told(error.into())
    }
}

impl From<RecordingError> for Failure {
    fn from(error: RecordingError) -> Self {
        Self::Told(unreadable(&error))
    }
}

impl Failure {
    /// What a failed write to standard output means.
    pub(crate) fn of_output(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        Self::Told(EngineError {
            kind: Kind::Unavailable,
            message: format!("the output can't be written: {error}"),
            hint: Some("The command did its work; only its output is missing.".into()),
        })
    }

    /// An answer of the engine's that has not the shape that was agreed on.
    pub(crate) fn of_shape(error: &serde_json::Error) -> Self {
        Self::Told(EngineError { kind: Kind::Internal, message: error.to_string(), hint: None })
    }

    /// A file that can't be read or written.
    pub(crate) fn of_file(what: &str, path: &std::path::Path, error: &io::Error) -> Self {
        Self::Told(EngineError {
            kind: Kind::Unavailable,
            message: format!("can't {what} {}: {error}", path.display()),
            hint: Some("Check that it is there and yours to write.".into()),
        })
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Told(error) => code(error.kind),
            Self::Reported(kind) => code(*kind),
            Self::BrokenPipe => ExitCode::SUCCESS,
        }
    }
}

/// What a command ends with, and what that means.
pub(crate) const EXIT_CODES: &[(u8, &str)] = &[
    (0, "done"),
    (2, "the command line or a value on it is not right"),
    (3, "a frame, session, store or text was not found, or several are called so"),
    (4, "the state does not allow it"),
    (5, "a limit of the tree is reached"),
    (6, "the store can't be used: damaged, newer, read-only, full or busy"),
    (7, "the store is not trusted: `callstack trust` takes it over"),
    (70, "a fault of callstack"),
];

fn code(kind: Kind) -> ExitCode {
    ExitCode::from(match kind {
        // What clap ends with when it can't read the command line.
        Kind::Invalid => 2,
        Kind::NotFound => 3,
        Kind::Conflict => 4,
        Kind::Limit => 5,
        Kind::Unavailable => 6,
        Kind::Untrusted => 7,
        Kind::Internal => 70,
    })
}
