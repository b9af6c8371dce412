//! What can be wrong with a file that is to be read as a recording.

use std::io;
use std::path::PathBuf;

/// Why nothing could be read: what, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A file or folder could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is empty.
    #[error("{}: the file is empty; name a session file that an agent wrote", .0.display())]
    Empty(PathBuf),
    /// It is not a session of a program that is known here.
    #[error(
        "{}: {found}, not a recorded session; known are the session files of Claude Code, Codex and \
         pi, what `opencode export` writes, and trajectories of SWE-agent",
        path.display()
    )]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What it is instead, as far as that can be told.
        found: &'static str,
    },
    /// The file is of a known program and holds no message.
    #[error(
        "{}: no message in this session; it was begun and nothing was said, or the file was cut \
         off at its beginning",
        .0.display()
    )]
    NoMessages(PathBuf),
    /// A document that was cut off or is damaged.
    #[error("{}: the JSON cannot be read: {source}; export the session anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where it breaks off, and why.
        source: serde_json::Error,
    },
    /// A folder in which no file is a recorded session.
    #[error(
        "{}: no recorded session in this folder and those in it; name a session file, or the folder \
         where an agent keeps them",
        .0.display()
    )]
    NoneInFolder(PathBuf),
}
