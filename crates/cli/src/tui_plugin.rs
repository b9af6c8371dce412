//! The plugin of OpenCode's full-screen interface in a project: its file, and its entry in `tui.json`, which people
//! edit, too. OpenCode loads such a plugin only if it is listed there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstRootNode};
use serde_json::json;

use crate::error::CommandError;
use crate::plugin::{Outcome, make, read, refuse_links_out, write};

/// The plugin as it is in the source tree: the file that is listed, and those that it imports.
const SOURCE: &str = include_str!("../opencode/tui/callstack.tsx");
const IMPORTED: [(&str, &str); 2] = [
    (".opencode/tui/callstack/back-end.ts", include_str!("../opencode/tui/callstack/back-end.ts")),
    (".opencode/tui/callstack/text.ts", include_str!("../opencode/tui/callstack/text.ts")),
];
const FILE: &str = ".opencode/tui/callstack.tsx";
/// The folders of these files, from the outside in.
const FOLDERS: [&str; 2] = [".opencode/tui", ".opencode/tui/callstack"];
/// The files of which OpenCode reads the list of plugins; the first one is made where there is none.
const LISTS: [&str; 2] = [".opencode/tui.json", ".opencode/tui.jsonc"];
/// The entry in such a list, relative to the file.
const ENTRY: &str = "./tui/callstack.tsx";

/// Folders and files that may be made for the plugin, and are then removed with it.
const MAKES: [&str; 3] = [FOLDERS[0], FOLDERS[1], LISTS[0]];
/// Begins the line of an installed file with the folders and files that were made for it.
const MADE: &str = "// callstack:made ";

/// The outcome for the plugin's file, and for its entry.
pub(crate) struct Change {
    pub(crate) file: (PathBuf, Outcome),
    pub(crate) entry: (PathBuf, Outcome),
}

/// Returns the path of a project's plugin of the interface.
pub(crate) fn path(project: &Path) -> PathBuf {
    project.join(FILE)
}

/// Whether a project's plugin is the one that this version would install, and is listed. `None` without one of ours.
pub(crate) fn current(project: &Path) -> Result<Option<bool>, CommandError> {
    let Some(text) = read(&path(project))?.filter(|text| is_ours(text)) else { return Ok(None) };
    let list = read(&list_of(project))?;
    let is_listed = list.is_some_and(|list| matches!(listed(&list), Some(Listed::Already)));
    Ok(Some(is_listed && rendered(&made_for(&text)) == text && outdated(project)?.is_empty()))
}

/// Refuses to write where a link leads out of a project, and where what is there can't be read.
pub(crate) fn refuse_outside(project: &Path) -> Result<(), CommandError> {
    refuse_links_out(project, &FOLDERS)?;
    refuse_links_out(project, &LISTS)?;
    read(&path(project)).and_then(|_| read(&list_of(project))).map(drop)
}

/// Installs the plugin, and lists it. A file that is not ours, and a list that can't be read, are left alone.
pub(crate) fn install(project: &Path) -> Result<Change, CommandError> {
    let (file, list) = (path(project), list_of(project));
    let (before, list_before) = (read(&file)?, read(&list)?);
    let change = |of_file, of_entry| Change {
        file: (file.clone(), of_file),
        entry: (list.clone(), of_entry),
    };
    if before.as_deref().is_some_and(|text| !is_ours(text)) {
        return Ok(change(Outcome::Kept, Outcome::Absent));
    }
    let entered = match list_before.as_deref().map(listed) {
        None => Some(format!("{:#}\n", json!({"plugin": [ENTRY]}))),
        Some(Some(Listed::Already)) => None,
        Some(Some(Listed::With(text))) => Some(text),
        Some(None) => return Ok(change(Outcome::Absent, Outcome::Kept)),
    };
    let made_before = before.as_deref().map(made_for).unwrap_or_default();
    let is_made = |name: &&str| {
        let is_another = LISTS.contains(name) && !list.ends_with(name);
        !is_another && (made_before.contains(name) || !project.join(name).exists())
    };
    let made: Vec<&str> = MAKES.into_iter().filter(is_made).collect();
    let text = rendered(&made);
    let imported = outdated(project)?;
    for (name, text) in &imported {
        put(project, &project.join(name), text)?;
    }
    let is_same = before.as_deref() == Some(&text);
    if !is_same {
        put(project, &file, &text)?;
    }
    let of_file = match before {
        Some(_) if is_same && imported.is_empty() => Outcome::Unchanged,
        Some(_) => Outcome::Updated,
        None => Outcome::Installed,
    };
    // The file comes first, so that the list never names one that is not there.
    let of_entry = match entered {
        None => Outcome::Unchanged,
        Some(text) => {
            put(project, &list, &text)?;
            Outcome::Installed
        }
    };
    Ok(change(of_file, of_entry))
}

/// Returns the imported files that are not as this version would install them, with their content.
fn outdated(project: &Path) -> Result<Vec<(&'static str, &'static str)>, CommandError> {
    let mut outdated = Vec::new();
    for (name, text) in IMPORTED {
        if read(&project.join(name))?.as_deref() != Some(text) {
            outdated.push((name, text));
        }
    }
    Ok(outdated)
}

fn put(project: &Path, file: &Path, text: &str) -> Result<(), CommandError> {
    let folder = file.parent().unwrap_or(project);
    make(project, folder).map_err(|error| CommandError::of_file("make", folder, error))?;
    write(folder, file, text).map_err(|error| CommandError::of_file("write", file, error))
}

fn delete(file: &Path) -> Result<(), CommandError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(CommandError::of_file("remove", file, error))
        }
        _ => Ok(()),
    }
}

/// Removes the plugin and its entry, and the folders and files that were made for them if nothing else is in these by
/// now.
pub(crate) fn remove(project: &Path) -> Result<Change, CommandError> {
    let (file, list) = (path(project), list_of(project));
    let before = read(&file)?;
    let change = |of_file, of_entry| Change {
        file: (file.clone(), of_file),
        entry: (list.clone(), of_entry),
    };
    if before.as_deref().is_some_and(|text| !is_ours(text)) {
        return Ok(change(Outcome::Kept, Outcome::Absent));
    }
    let made = before.as_deref().map(made_for).unwrap_or_default();
    // The entry goes first, so that the list never names a file that is not there.
    let of_entry = match read(&list)?.and_then(|text| without(&text)) {
        None => Outcome::Absent,
        Some(rest) => {
            if made.contains(&LISTS[0]) && says_nothing(&rest) {
                delete(&list)?;
            } else {
                put(project, &list, &rest)?;
            }
            Outcome::Removed
        }
    };
    if before.is_none() {
        return Ok(change(Outcome::Absent, of_entry));
    }
    delete(&file)?;
    for (name, _) in IMPORTED {
        delete(&project.join(name))?;
    }
    for name in FOLDERS.into_iter().rev().filter(|name| made.contains(name)) {
        let folder = project.join(name);
        match fs::remove_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => {
                return Err(CommandError::of_file("remove", &folder, error));
            }
            _ => {}
        }
    }
    Ok(change(Outcome::Removed, of_entry))
}

/// Returns the file with the list of plugins: the one that is there, else the one to be made.
fn list_of(project: &Path) -> PathBuf {
    let there = LISTS.iter().map(|name| project.join(name)).find(|path| path.exists());
    there.unwrap_or_else(|| project.join(LISTS[0]))
}

fn rendered(made: &[&str]) -> String {
    format!("{}\n\n{MADE}{}\n", SOURCE.trim_end(), json!(made))
}

fn is_ours(text: &str) -> bool {
    text.lines().any(|line| line.starts_with(MADE))
}

/// Returns the folders and files that were made for an installed plugin. Unknown names are ignored: nothing else is
/// ever removed.
fn made_for(text: &str) -> Vec<&'static str> {
    let named: Vec<String> = text
        .lines()
        .find_map(|line| serde_json::from_str(line.strip_prefix(MADE)?).ok())
        .unwrap_or_default();
    MAKES.into_iter().filter(|name| named.iter().any(|it| it == name)).collect()
}

/// A configuration that lists the plugin.
enum Listed {
    /// It does already.
    Already,
    /// The text of the file with the entry.
    With(String),
}

/// Returns a configuration with the plugin's entry, and everything else as it was. `None` if it is no object, or its
/// plugins are no list.
fn listed(text: &str) -> Option<Listed> {
    let root = parsed(text)?;
    let object = root.object_value_or_create()?;
    let plugins = object.array_value_or_create("plugin")?;
    if ours_in(&plugins).is_some() {
        return Some(Listed::Already);
    }
    plugins.append(CstInputValue::String(ENTRY.to_owned()));
    Some(Listed::With(root.to_string()))
}

/// Returns a configuration without the plugin's entry. `None` if it has none, or can't be read.
fn without(text: &str) -> Option<String> {
    let root = parsed(text)?;
    let plugins = root.object_value()?.array_value("plugin")?;
    ours_in(&plugins)?.remove();
    Some(root.to_string())
}

fn parsed(text: &str) -> Option<CstRootNode> {
    CstRootNode::parse(text, &ParseOptions::default()).ok()
}

/// Returns the plugin's entry in a list. One with options is a list of its own.
fn ours_in(plugins: &CstArray) -> Option<CstNode> {
    let names_ours = |node: &CstNode| {
        let text = node.as_string_lit().and_then(|text| text.decoded_value().ok());
        text.as_deref() == Some(ENTRY)
    };
    let is_ours = |node: &CstNode| match node.as_array() {
        Some(with_options) => with_options.elements().first().is_some_and(names_ours),
        None => names_ours(node),
    };
    plugins.elements().into_iter().find(is_ours)
}

/// Whether a configuration holds no more than an empty list of plugins.
fn says_nothing(text: &str) -> bool {
    let text: String = text.split_whitespace().collect();
    text == r#"{"plugin":[]}"#
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> String {
        match listed(text) {
            Some(Listed::With(text)) => text,
            Some(Listed::Already) => panic!("it is listed in {text}"),
            None => panic!("it can't be read: {text}"),
        }
    }

    #[test]
    fn comments_and_other_entries_stay() {
        let text = "{\n  // mine\n  \"theme\": \"system\",\n  \"plugin\": [\n    \"./a.tsx\", // first\n  ],\n}\n";
        let listed_in = with(text);
        assert_eq!(
            listed_in,
            "{\n  // mine\n  \"theme\": \"system\",\n  \"plugin\": [\n    \"./a.tsx\", // first\n    \
             \"./tui/callstack.tsx\",\n  ],\n}\n"
        );
        assert!(matches!(listed(&listed_in), Some(Listed::Already)));
        assert_eq!(without(&listed_in).as_deref(), Some(text));
        assert_eq!(without(text), None);
    }

    #[test]
    fn an_entry_with_options_is_the_plugins_own() {
        let text = "{\"plugin\": [[\"./tui/callstack.tsx\", {\"x\": 1}], \"./b.ts\"]}";
        assert!(matches!(listed(text), Some(Listed::Already)));
        assert_eq!(without(text).as_deref(), Some("{\"plugin\": [ \"./b.ts\"]}"));
    }

    #[test]
    fn what_is_no_configuration_is_left_alone() {
        for text in ["[1]", "{\"plugin\": \"./a.tsx\"}", "{", "nothing"] {
            assert!(listed(text).is_none() && without(text).is_none(), "{text}");
        }
        for text in ["", "{}", "// later\n", "{\"plugin\": []}"] {
            assert!(with(text).contains(ENTRY), "{text}");
        }
    }

    #[test]
    fn only_what_was_made_for_it_is_ever_removed() {
        assert!(made_for("// callstack:made [\"/home\", \"..\"]").is_empty());
        assert_eq!(made_for(&rendered(&[FOLDERS[0]])), [FOLDERS[0]]);
        assert!(is_ours(&rendered(&[])) && !is_ours(SOURCE));
    }

    #[test]
    fn the_interface_speaks_the_protocol_of_this_binary() {
        let line = format!("const PROTOCOL = {}\n", crate::opencode_tui::PROTOCOL);
        assert!(IMPORTED.iter().any(|(_, text)| text.contains(&line)));
    }
}
