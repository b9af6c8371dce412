//! Resources: the tree, a frame and its log, which clients read without a call. Each is the answer of an operation of
//! the engine.

use callstack_engine::operation::Caller;
use callstack_engine::{Engine, EngineError, operations};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

/// The tree, whatever is in it.
pub(crate) const TREE: &str = "callstack://tree";
/// The beginning of the addresses of frames.
const FRAME: &str = "callstack://frame/";
/// The end of the addresses of logs.
const LOG: &str = "/log";

/// A resource by its URI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address<'u> {
    Tree,
    Frame(&'u str),
    Log(&'u str),
}

impl<'u> Address<'u> {
    pub(crate) fn of(uri: &'u str) -> Option<Self> {
        if uri == TREE {
            return Some(Self::Tree);
        }
        let rest = uri.strip_prefix(FRAME)?;
        let (frame, is_log) = match rest.strip_suffix(LOG) {
            Some(frame) => (frame, true),
            None => (rest, false),
        };
        let is_name = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
        let names = !frame.is_empty() && frame.chars().all(is_name);
        names.then_some(if is_log { Self::Log(frame) } else { Self::Frame(frame) })
    }

    /// Returns the operation that answers it, with its arguments.
    fn operation(self) -> (&'static str, Value) {
        match self {
            Self::Tree => ("stack_tree", json!({})),
            Self::Frame(frame) => ("stack_frame_details", json!({"frame": frame})),
            Self::Log(frame) => ("stack_log", json!({"frame": frame})),
        }
    }

    /// Reads it.
    pub(crate) fn read(
        self,
        engine: &Engine,
        caller: &Caller,
        uri: &str,
    ) -> Result<ResourceContents, EngineError> {
        let (name, arguments) = self.operation();
        let answer = operations::named(name)?.run(engine, caller, arguments)?;
        Ok(ResourceContents::text(answer.text, uri).with_mime_type(self.mime_type()))
    }

    fn mime_type(self) -> &'static str {
        match self {
            Self::Tree | Self::Frame(_) => "text/plain",
            Self::Log(_) => "text/markdown",
        }
    }
}

/// Returns the resources that have a URI of their own.
pub(crate) fn listed() -> Vec<Resource> {
    let tree = Resource::new(TREE, "tree")
        .with_title("Frames")
        .with_description("All frames as a tree, with their handles and statuses.")
        .with_mime_type(Address::Tree.mime_type());
    vec![tree]
}

/// Returns those that each frame has.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let frame = ResourceTemplate::new(format!("{FRAME}{{handle}}"), "frame")
        .with_title("Frame")
        .with_description("Everything about a frame, by its handle such as f12.")
        .with_mime_type(Address::Frame("").mime_type());
    let log = ResourceTemplate::new(format!("{FRAME}{{handle}}{LOG}"), "log")
        .with_title("Log of a frame")
        .with_description("The first messages of a frame's log, where its agent's program shows them to callstack.")
        .with_mime_type(Address::Log("").mime_type());
    vec![frame, log]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_frame_and_nothing_else() {
        assert_eq!(Address::of("callstack://tree"), Some(Address::Tree));
        assert_eq!(Address::of("callstack://frame/f12"), Some(Address::Frame("f12")));
        assert_eq!(Address::of("callstack://frame/f12/log"), Some(Address::Log("f12")));
        for wrong in [
            "callstack://frame/",
            "callstack://frame//log",
            "callstack://frame/../tree",
            "callstack://frame/f1/log/log",
            "callstack://tree/",
            "file:///etc/passwd",
            "callstack://frame/f1?x",
        ] {
            assert_eq!(Address::of(wrong), None, "{wrong}");
        }
    }
}
