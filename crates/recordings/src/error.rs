//! The ways in which a file can fail to be read as a recording.

use std::io;
use std::path::PathBuf;

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A file or folder could not be read.
    #[error("{} can't be read: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is empty.
    #[error("{}: the file is empty", .0.display())]
    Empty(PathBuf),
    /// The file is text in an encoding that no program writes its sessions in.
    #[error("{}: the text is in UTF-16", .0.display())]
    Utf16(PathBuf),
    /// It is not a session of a program that is known here.
    #[error("{}: {found}, not a recorded session", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// Its kind instead, as far as that can be detected.
        found: &'static str,
    },
    /// The file is of a known program and holds no message.
    #[error("{}: there is no message in this session", .0.display())]
    NoMessages(PathBuf),
    /// A document that was cut off or is damaged.
    #[error("{}: the JSON can't be read: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where it breaks off, and why.
        source: serde_json::Error,
    },
    /// A document that would take too much memory.
    #[error("{}: a session of more than 1 GB in one document is not read", .0.display())]
    TooLarge(PathBuf),
    /// A folder in which no file is a recorded session.
    #[error("{}: there is no recorded session in this folder or in those in it", .0.display())]
    NoneInFolder(PathBuf),
}

impl RecordingError {
    /// Returns the next step for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Io { .. } => "Check that it is there and yours to read.",
            Self::Utf16(_) => {
                "A shell may have written it so: save it as UTF-8, or export the session again."
            }
            Self::Empty(_) | Self::Unknown { .. } | Self::NoneInFolder(_) => {
                "Known are the session files of Claude Code, Codex and pi, what `opencode export` \
                 writes, trajectories of SWE-agent and mini-swe-agent, and folders with these."
            }
            Self::NoMessages(_) => {
                "Either nothing was said in it, or the file lacks its beginning."
            }
            Self::TooLarge(_) => "Export a part of it, such as its last messages.",
            Self::Damaged { .. } => "It was cut off or changed: export the session again.",
        }
    }
}
