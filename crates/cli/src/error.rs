//! The one place where errors become exit codes.

use std::io;
use std::process::ExitCode;

use callstack_engine::{EngineError, Kind};
use callstack_hosts::import::unreadable;
use callstack_recordings::RecordingError;
use callstack_store::StoreError;

/// The reason why a command failed.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// An error to be reported to the person or program that asked.
    Failed(EngineError),
    /// An error that the command's own output has reported already.
    Reported(Kind),
    /// The output is not read any more, as with `| head`.
    BrokenPipe,
}

impl From<EngineError> for CommandError {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

impl From<RecordingError> for CommandError {
    fn from(error: RecordingError) -> Self {
        Self::Failed(unreadable(error))
    }
}

impl CommandError {
    /// Returns the failure for a failed write to standard output.
    pub(crate) fn of_output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        Self::Failed(
            EngineError::new(Kind::Unavailable, format!("the output can't be written: {error}"))
                .with_hint("The command did its work; only its output is missing.")
                .caused_by(error),
        )
    }

    /// Returns the failure for an answer of the engine that lacks the agreed form.
    pub(crate) fn of_shape(error: serde_json::Error) -> Self {
        Self::Failed(EngineError::new(Kind::Internal, error.to_string()).caused_by(error))
    }

    /// Returns the failure for a file that can't be read or written.
    pub(crate) fn of_file(what: &str, path: &std::path::Path, error: io::Error) -> Self {
        Self::Failed(
            EngineError::new(
                Kind::Unavailable,
                format!("can't {what} {}: {error}", path.display()),
            )
            .with_hint("Check that it is there and yours to write.")
            .caused_by(error),
        )
    }

    /// Returns the error that is told to whoever asked.
    pub(crate) fn into_error(self) -> EngineError {
        match self {
            Self::Failed(error) => error,
            Self::Reported(kind) => EngineError::new(kind, "it was reported already"),
            Self::BrokenPipe => Self::of_output(io::Error::other("nobody reads it")).into_error(),
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Failed(error) => code(error.kind),
            Self::Reported(kind) => code(*kind),
            Self::BrokenPipe => ExitCode::SUCCESS,
        }
    }
}

/// The exit codes of a command, with their meanings.
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
        // The exit code of clap when it can't read the command line.
        Kind::Invalid => 2,
        Kind::NotFound => 3,
        Kind::Conflict => 4,
        Kind::Limit => 5,
        Kind::Unavailable => 6,
        Kind::Untrusted => 7,
        Kind::Internal => 70,
    })
}
