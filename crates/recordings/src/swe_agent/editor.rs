//! The commands that SWE-agent gives its agents for files, beside those of the shell.

use callstack_core::evidence::Action;
use serde_json::Value;

use super::super::tools::text;

/// Returns the action of a command by its first line, as far as it is one of these. `state` is that of the step: the
/// file that is open, and the folder that it runs in.
pub(super) fn action(command: &str, state: &Value) -> Option<Action> {
    let first = command.lines().next()?;
    let words: Vec<&str> =
        first.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
    let open =
        || Some(text(&state["open_file"])).filter(|path| path.starts_with('/')).map(str::to_owned);
    let path = |word: &str| in_folder(text(&state["working_dir"]), word);
    let wrote = |path: String| Action::Wrote(vec![path]);
    match *words.as_slice() {
        ["create", file] => path(file).map(wrote),
        ["open" | "view_image" | "filemap", file] | ["open", file, _] => {
            path(file).map(Action::Read)
        }
        ["edit" | "insert", ..] => open().map(wrote),
        ["goto" | "scroll_down" | "scroll_up", ..] => open().map(Action::Read),
        ["str_replace_editor", "view", file, ..] => path(file).map(Action::Read),
        ["str_replace_editor", "create" | "str_replace" | "insert" | "undo_edit", file, ..] => {
            path(file).map(wrote)
        }
        _ => None,
    }
}

/// A word that names a file, where it is one: the shell may mean something else by it.
fn in_folder(folder: &str, word: &str) -> Option<String> {
    let is_plain = !word.is_empty() && !word.contains(['&', '|', ';', '<', '>', '$', '`', '*']);
    let is_whole = word.starts_with('/') || folder.is_empty();
    is_plain.then(|| if is_whole { word.to_owned() } else { format!("{folder}/{word}") })
}

/// How it begins to say that nothing was done.
const REFUSALS: [&str; 9] = [
    "Error:",
    "File already exists",
    "Invalid `",
    "No file open",
    "No replacement was performed",
    "The path ",
    "Usage:",
    "Your edit was not applied",
    "Your proposed edit has introduced",
];

/// Whether the output of one of these commands is a refusal.
pub(super) fn is_refused(observation: &str) -> bool {
    REFUSALS.iter().any(|begin| observation.trim_start().starts_with(begin))
}
