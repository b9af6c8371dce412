//! The page of callstack, as it is built from `web/`: the files that a server sends, and the page as one file that
//! holds its data and works from a disk.
//!
//! The built files are part of the crate, so that compiling it does not need Node.

use std::fmt::Write as _;

/// A file of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// The path under which the page asks for it.
    pub path: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// Its content.
    pub bytes: &'static [u8],
}

/// The files of the page that a server sends. They hold nothing of a project.
pub const FILES: [File; 3] = [
    File {
        path: "/",
        media_type: "text/html; charset=utf-8",
        bytes: include_bytes!("../assets/index.html"),
    },
    File {
        path: "/page.css",
        media_type: "text/css; charset=utf-8",
        bytes: include_bytes!("../assets/page.css"),
    },
    File {
        path: "/page.js",
        media_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../assets/page.js"),
    },
];

/// The page as one file, without data.
const OFFLINE: &str = include_str!("../assets/offline.html");
/// The end of the tag after which the data is inserted.
const DATA: &str = "id=\"data\">";

/// Returns the page as one file with `data`, which is a JSON document. The file loads nothing and sends nothing.
///
/// Characters that could end the element of the data, or have a meaning in a script, are escaped, which does not
/// change the document's content.
pub fn offline(data: &str) -> String {
    let (before, after) = OFFLINE.split_once(DATA).unwrap_or((OFFLINE, ""));
    let mut page = String::with_capacity(OFFLINE.len() + data.len() + data.len() / 8);
    page.push_str(before);
    page.push_str(DATA);
    let mut rest = data;
    while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        let (plain, special) = rest.split_at(at);
        page.push_str(plain);
        let mut characters = special.chars();
        if let Some(character) = characters.next() {
            // Writing to a string can't fail.
            let _ = write!(page, "\\u{:04x}", u32::from(character));
        }
        rest = characters.as_str();
    }
    page.push_str(rest);
    page.push_str(after);
    page
}
