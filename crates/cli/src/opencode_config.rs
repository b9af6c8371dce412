//! `experimental.frameMode` in OpenCode's configuration. OpenCode drops unknown fields before a plugin sees them, so
//! the files are read here.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use callstack_engine::plain;
use serde_json::Value;

const NAMES: [&str; 2] = ["opencode.json", "opencode.jsonc"];

/// The most bytes of a file that are read: a repository may contain anything.
const MOST: u64 = 1 << 20;

/// Whether agents work in frames in a project, if its configuration or the user's says so. A project's configuration
/// can only turn frames off.
pub(crate) fn frame_mode(project: &Path) -> Option<bool> {
    let home = std::env::home_dir();
    let config = absolute("XDG_CONFIG_HOME").or_else(|| home.map(|home| home.join(".config")));
    let own = config.into_iter().flat_map(|config| {
        let folder = config.join("opencode");
        ["config.json", NAMES[0], NAMES[1]].map(|name| folder.join(name))
    });
    let own: Vec<_> = own.chain(absolute("OPENCODE_CONFIG")).collect();
    let of_project = [project.to_path_buf(), project.join(".opencode")];
    let of_project = of_project.iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
    if of_project.filter_map(|file| said_in(&file)).any(|mode| !mode) {
        return Some(false);
    }
    own.iter().filter_map(|file| said_in(file)).next_back()
}

fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn said_in(file: &Path) -> Option<bool> {
    let mut text = String::new();
    plain::open_named(file).ok()?.take(MOST).read_to_string(&mut text).ok()?;
    said(&text)
}

fn said(text: &str) -> Option<bool> {
    let config: Value = serde_json::from_str(&without_comments(text)).ok()?;
    config.get("experimental")?.get("frameMode")?.as_bool()
}

/// Returns the JSON in a text with comments and with commas after the last element, as OpenCode accepts it.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match (letter, rest.peek()) {
            ('"', _) => {
                out.push('"');
                while let Some(inner) = rest.next() {
                    out.push(inner);
                    match inner {
                        '\\' => out.extend(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => while rest.next_if(|letter| *letter != '\n').is_some() {},
            ('/', Some('*')) => {
                rest.next();
                let mut before = None;
                for inner in rest.by_ref() {
                    if before == Some('*') && inner == '/' {
                        break;
                    }
                    before = Some(inner);
                }
            }
            ('}' | ']', _) => {
                let end = out.trim_end();
                if let Some(shorter) = end.strip_suffix(',') {
                    out.truncate(shorter.len());
                }
                out.push(letter);
            }
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_read_from_json_with_comments() {
        let text = "{ // a \"comment\"\n \"url\": \"http://x/*\", /* \"experimental\": 1 */\n\
                    \"experimental\": {\"frameMode\": false,},\n}";
        assert_eq!(said(text), Some(false));
        assert_eq!(said(r#"{"experimental": {"frameMode": true}}"#), Some(true));
        for text in ["", "{}", r#"{"experimental": {"frameMode": "no"}}"#, "{ /* without end"] {
            assert_eq!(said(text), None, "{text}");
        }
        assert_eq!(without_comments(r#"{"a\"//": [1, ], }"#), r#"{"a\"//": [1]}"#);
    }
}
