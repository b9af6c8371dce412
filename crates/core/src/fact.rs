//! What tool calls show, whatever is later said of them.

use crate::framing::Mark;

/// Something that a tool call shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A command was run.
    Command {
        /// Its first line.
        line: String,
        /// Its exit code, where the host tells.
        exit: Option<i64>,
    },
    /// A file was read.
    Read {
        /// Relative to the project.
        path: String,
    },
    /// A file was written.
    Wrote {
        /// Relative to the project.
        path: String,
    },
    /// Another tool did what it was asked to.
    Done {
        /// The tool.
        tool: String,
        /// A hash of what it was asked for, which tells a repeated call from a new one.
        asked: u64,
    },
    /// A tool failed.
    Failed {
        /// The tool.
        tool: String,
        /// The first line of its error.
        message: String,
    },
    /// Something about how work is divided.
    Division(Mark),
}
