//! The environment of the view, which only the binary reads.

use std::path::PathBuf;

use callstack_engine::Hint;

/// The environment of the view.
#[derive(Clone, Debug)]
pub struct Options {
    /// The project's folder, to which paths of files are relative.
    pub project: PathBuf,
    /// Whether colours are wanted.
    pub colours: bool,
    /// The words of the command that edits a file.
    pub editor: Vec<String>,
    /// Returns the words of the command that opens a session, from the name of its host and its id.
    pub resume: fn(&str, &str) -> Option<Vec<String>>,
    /// Returns a hint of the engine in the words for people at a terminal.
    pub for_a_terminal: fn(&Hint) -> String,
}
