//! The names that people read.

use callstack_core::control::escape_line;
use callstack_core::frame::FrameNum;
use callstack_core::trace::SessionTrace;

/// A frame by its handle and title.
pub(crate) fn frame(num: FrameNum, title: &str) -> String {
    let title = escape_line(title.trim());
    if title.is_empty() { num.to_string() } else { format!("{num} {title}") }
}

/// A session by its id and the title of its outermost frame.
pub(crate) fn session(session: &SessionTrace) -> String {
    let title = session.frames.first().map(|frame| escape_line(frame.title.trim()));
    let id = escape_line(&session.id);
    match title.filter(|title| !title.is_empty()) {
        Some(title) => format!("{id} {title}"),
        None => id.into_owned(),
    }
}

/// The sign and word for a model in a stack.
pub(crate) fn model(name: Option<&str>) -> String {
    match name {
        Some(name) => format!("model {}", escape_line(name)),
        None => "model".to_owned(),
    }
}

/// The word for a tool in a stack.
pub(crate) fn tool(name: &str) -> String {
    format!("tool {}", escape_line(name))
}
