//! The arguments of tool calls, whichever program the tools belong to.

use callstack_core::evidence::{Action, Edit, hunks};
use callstack_core::transcript::{CallState, ToolCall, texts};
use serde_json::Value;

/// Names that programs give to the old and to the new text.
const PAIRS: [(&str, &str); 4] = [
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("oldText", "newText"),
    ("old_str", "new_str"),
];

/// Names that they give to the whole of a file.
const WHOLES: [&str; 3] = ["content", "file_text", "new_source"];

/// Returns the edits of a call that wrote the files `written`: the arguments of an edit, of several, of a whole file,
/// or a patch.
pub fn edits(input: &Value, written: &[String]) -> Vec<Edit> {
    let patch = texts(input);
    if patch.contains(PATCH) {
        return patched(&patch);
    }
    let Some(file) = written.first() else { return Vec::new() };
    let text = |value: &Value, name: &str| value[name].as_str().map(str::to_owned);
    let replaced = |value: &Value| {
        let texts =
            PAIRS.iter().find_map(|(old, new)| Some((text(value, old)?, text(value, new)?)));
        let all = ["replaceAll", "replace_all"].iter().any(|name| value[*name] == true);
        texts.map(|(before, after)| Edit {
            path: file.clone(),
            before: Some(before),
            after,
            all,
            ..Edit::default()
        })
    };
    let several = input["edits"].as_array().into_iter().flatten();
    let edits: Vec<Edit> = std::iter::once(input).chain(several).filter_map(replaced).collect();
    if !edits.is_empty() {
        return edits;
    }
    let whole = WHOLES.iter().find_map(|name| text(input, name));
    let edit = |after| Edit { path: file.clone(), after, ..Edit::default() };
    whole.map(edit).into_iter().collect()
}

/// Adds the host's notes to the edits of a call: from OpenCode a unified diff, and whether a file that was written
/// was there before; from Claude Code the file before it.
pub fn with_places(mut edits: Vec<Edit>, metadata: &Value) -> Vec<Edit> {
    if let [edit] = edits.as_mut_slice() {
        if let Some(diff) = metadata["diff"].as_str() {
            edit.hunks = hunks(diff);
        }
        if let Some(original) = metadata["originalFile"].as_str() {
            edit.original = Some(original.to_owned());
        }
        if edit.before.is_none() && metadata["exists"] == false {
            edit.original = Some(String::new());
        }
    }
    let files = metadata["files"].as_array();
    for file in files.into_iter().flatten() {
        let text = |names: &[&str]| names.iter().find_map(|name| file[*name].as_str());
        let Some(path) = text(&["filePath", "file", "path"]) else { continue };
        let name = text(&["relativePath"]).unwrap_or(path);
        let mut of_file =
            edits.iter_mut().filter(|edit| path.ends_with(&edit.path) || edit.path.ends_with(name));
        // Several edits of one file share one diff, in which the first of them finds its place.
        if let (Some(first), None) = (of_file.next(), of_file.next())
            && let Some(diff) = text(&["patch", "diff"])
        {
            first.hunks = hunks(diff);
        }
    }
    edits
}

/// A text that a call replaces in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The file.
    pub path: String,
    /// The text, exactly as it has to stand there; of a hunk of a patch, the removed lines with those around them.
    /// None where the file is written as a whole.
    pub text: Option<String>,
}

/// Returns the texts that a call replaced in files.
pub fn replaced_by(call: &ToolCall) -> Vec<Replaced> {
    match &call.action {
        Action::Wrote(paths) if call.state == CallState::Completed => replaced(&call.input, paths),
        _ => Vec::new(),
    }
}

/// Returns the texts that a call replaces that wrote the files `written`.
fn replaced(input: &Value, written: &[String]) -> Vec<Replaced> {
    let patch = texts(input);
    if patch.contains(PATCH) {
        return replaced_by_patch(&patch);
    }
    let edits = edits(input, written).into_iter();
    let replaced = edits.map(|edit| Replaced { path: edit.path, text: edit.before });
    replaced.filter(|it| it.text.as_deref() != Some("")).collect()
}

fn replaced_by_patch(patch: &str) -> Vec<Replaced> {
    let mut hunks: Vec<Replaced> = Vec::new();
    let mut current: Option<&str> = None;
    for line in patch.lines() {
        let hunk = |path: &str| Replaced { path: path.to_owned(), text: Some(String::new()) };
        if let Some(updated) = line.strip_prefix("*** Update File: ") {
            current = Some(updated.trim());
            hunks.push(hunk(updated.trim()));
        } else if let Some(added) = line.strip_prefix("*** Add File: ") {
            current = None;
            hunks.push(Replaced { path: added.trim().to_owned(), text: None });
        } else if line.starts_with("*** ") {
            current = None;
        } else if let (Some(path), true) = (current, line.starts_with("@@")) {
            hunks.push(hunk(path));
        } else if let (Some(_), Some(text)) =
            (current, hunks.last_mut().and_then(|hunk| hunk.text.as_mut()))
        {
            // Programs write an empty line of context without its blank.
            let old = line.strip_prefix([' ', '-']).or_else(|| line.is_empty().then_some(""));
            if let Some(old) = old {
                text.push_str(old);
                text.push('\n');
            }
        }
    }
    hunks.retain(|hunk| hunk.text.as_ref().is_none_or(|text| !text.trim().is_empty()));
    hunks
}

/// How a patch of the kind begins that several programs have a tool for.
const PATCH: &str = "*** Begin Patch";

/// The edits of a patch, one for each hunk.
fn patched(patch: &str) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    let mut current: Option<&str> = None;
    for line in patch.lines() {
        if let Some(added) = line.strip_prefix("*** Add File: ") {
            current = Some(added.trim());
            let original = Some(String::new());
            edits.push(Edit { path: added.trim().to_owned(), original, ..Edit::default() });
        } else if let Some(deleted) = line.strip_prefix("*** Delete File: ") {
            current = None;
            edits.push(Edit { path: deleted.trim().to_owned(), removes: true, ..Edit::default() });
        } else if let Some(updated) = line.strip_prefix("*** Update File: ") {
            current = Some(updated.trim());
            edits.push(hunk(updated.trim()));
        } else if line.starts_with("*** ") {
            current = None;
        } else if let (Some(path), true) = (current, line.starts_with("@@")) {
            edits.push(hunk(path));
        } else if let (Some(_), Some(edit)) = (current, edits.last_mut()) {
            let push = |to: &mut String, line: &str| {
                to.push_str(line);
                to.push('\n');
            };
            match (line.split_at_checked(1), &mut edit.before) {
                (Some(("+", line)), _) => push(&mut edit.after, line),
                (Some(("-", line)), Some(before)) => push(before, line),
                // Lines around a change show its place.
                (Some((" ", line)), Some(before)) => {
                    push(before, line);
                    push(&mut edit.after, line);
                }
                (None, Some(before)) => {
                    push(before, "");
                    push(&mut edit.after, "");
                }
                _ => {}
            }
        }
    }
    edits.retain(|edit| {
        edit.removes
            || !edit.after.is_empty()
            || edit.before.as_ref().is_some_and(|it| !it.is_empty())
    });
    edits
}

fn hunk(path: &str) -> Edit {
    Edit { path: path.to_owned(), before: Some(String::new()), ..Edit::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edits_of(input: &Value) -> Vec<(String, Option<String>, String)> {
        let edits = edits(input, &["src/a.rs".to_owned()]);
        edits.into_iter().map(|edit| (edit.path, edit.before, edit.after)).collect()
    }

    fn replaced(before: &str, after: &str) -> (String, Option<String>, String) {
        ("src/a.rs".to_owned(), Some(before.to_owned()), after.to_owned())
    }

    #[test]
    fn one_edit_by_any_of_its_names_and_several_at_once() {
        for (old, new) in PAIRS {
            let input = json!({ "path": "src/a.rs", old: "one", new: "two" });
            assert_eq!(edits_of(&input), [replaced("one", "two")], "{old}");
        }
        let input = json!({ "file_path": "src/a.rs", "edits": [
            { "old_string": "one", "new_string": "two" },
            { "oldText": "three", "newText": "" },
        ] });
        assert_eq!(edits_of(&input), [replaced("one", "two"), replaced("three", "")]);
    }

    #[test]
    fn a_whole_file_and_nothing_that_is_known() {
        let whole = ("src/a.rs".to_owned(), None, "all of it".to_owned());
        assert_eq!(edits_of(&json!({ "content": "all of it" })), [whole]);
        assert_eq!(edits_of(&json!({ "path": "src/a.rs", "how": 7 })), []);
        assert_eq!(edits(&json!({ "content": "nowhere" }), &[]), []);
    }

    #[test]
    fn what_a_patch_replaces_has_the_lines_around_it() {
        let patch = "*** Begin Patch\n*** Add File: new.rs\n+fn new() {}\n*** Update File: src/a.rs\n\
                     @@ fn one\n context\n-old\n+two\n\n-older\n@@\n+only new\n*** End Patch";
        let of = |path: &str, text: Option<&str>| Replaced {
            path: path.to_owned(),
            text: text.map(str::to_owned),
        };
        let wanted = [of("new.rs", None), of("src/a.rs", Some("context\nold\n\nolder\n"))];
        assert_eq!(super::replaced(&json!({ "patchText": patch }), &[]), wanted);
        let written = ["src/a.rs".to_owned()];
        let input = json!({ "old_string": "one", "new_string": "two" });
        assert_eq!(super::replaced(&input, &written), [of("src/a.rs", Some("one"))]);
        assert_eq!(super::replaced(&json!({ "content": "all" }), &written), [of("src/a.rs", None)]);
        assert_eq!(super::replaced(&json!({ "how": 7 }), &written), []);
    }

    #[test]
    fn a_patch_by_its_hunks() {
        let patch = "*** Begin Patch\n*** Add File: new.rs\n+fn new() {}\n*** Update File: src/a.rs\n\
                     @@ fn one\n context\n-old\n+two\n@@\n-gone\n*** Delete File: b.rs\n*** End Patch";
        for input in [
            json!({ "patchText": patch }),
            json!(patch),
            json!({ "command": ["apply_patch", patch] }),
        ] {
            let new = ("new.rs".to_owned(), None, "fn new() {}\n".to_owned());
            let removed = ("b.rs".to_owned(), None, String::new());
            let first = replaced("context\nold\n", "context\ntwo\n");
            assert_eq!(edits_of(&input), [new, first, replaced("gone\n", ""), removed]);
        }
    }
}
