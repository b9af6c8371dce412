//! The facts that tool calls show, independent of their later use.

use crate::framing::WorkMarker;

/// Something that a tool call shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A command was run.
    Command {
        /// Its first line.
        line: String,
        /// Its exit code, where the host reports it.
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
    /// Another tool succeeded.
    Done {
        /// The tool.
        tool: String,
        /// A hash of its input, which distinguishes a repeated call from a new one.
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
    Division(WorkMarker),
}
