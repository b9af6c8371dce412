//! OpenCode's plugin in a project: installing, checking and removing it.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use callstack_engine::{EngineError, Kind, Profile, operations, plain, unfinished};
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::slash_files;

/// The plugin as it is in the source tree, with a marked line to be filled in.
const SOURCE: &str = include_str!("../opencode/callstack.ts");
/// The folders that OpenCode loads plugins and commands from, from the outside in.
const FOLDERS: [&str; 3] = [".opencode", ".opencode/plugin", slash_files::FOLDER];
const FILE: &str = ".opencode/plugin/callstack.ts";

const TOOLS: &str = " // callstack:tools";
/// Begins the line of the installed file with the folders that were made for it, so that they can be removed again.
const MADE: &str = "// callstack:folders ";

/// The outcome of a change of the plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Installed,
    Updated,
    Unchanged,
    Removed,
    Absent,
    Kept,
}

impl Outcome {
    /// Returns the outcome as a verb, which an object follows.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
            Self::Removed => "removed",
            Self::Absent => "absent",
            Self::Kept => "kept",
        }
    }
}

/// The plugin that a project has.
#[derive(Debug)]
pub(crate) struct Installed {
    /// Whether it is the one that this version would install.
    pub(crate) current: bool,
}

/// Returns the path of a project's plugin.
pub(crate) fn path(project: &Path) -> PathBuf {
    project.join(FILE)
}

/// Returns the project's plugin, if it has one of ours.
pub(crate) fn installed(project: &Path) -> Result<Option<Installed>, CommandError> {
    let Some(text) = read(&path(project))? else { return Ok(None) };
    if !is_ours(&text) {
        return Ok(None);
    }
    Ok(Some(Installed { current: rendered(&made_for(&text)) == text }))
}

/// Refuses to write the plugin where a link leads out of the project.
pub(crate) fn refuse_outside(project: &Path) -> Result<(), CommandError> {
    refuse_links_out(project, &FOLDERS)
}

/// Refuses to write at places from which a link leads out of a project: the files there belong to something else.
pub(crate) fn refuse_links_out(project: &Path, places: &[&str]) -> Result<(), CommandError> {
    let root =
        project.canonicalize().map_err(|error| CommandError::of_file("read", project, error))?;
    for name in places {
        let folder = project.join(name);
        let leads = match folder.canonicalize() {
            Ok(leads) if leads.starts_with(&root) => continue,
            Ok(leads) => leads.display().to_string(),
            // A link that leads nowhere is refused, too.
            Err(_) if folder.is_symlink() => "nowhere".to_owned(),
            Err(_) => continue,
        };
        return Err(EngineError::new(
            Kind::Conflict,
            format!("{} is a link that leads out of the project, to {leads}", folder.display()),
        )
        .with_hint(
            "Nothing was changed. Put what belongs to the project in its place, and try again.",
        )
        .into());
    }
    Ok(())
}

/// Installs the plugin in a project. A file that is not ours is never touched.
pub(crate) fn install(project: &Path) -> Result<Outcome, CommandError> {
    let file = path(project);
    let before = read(&file)?;
    let before_made = match &before {
        Some(text) if is_ours(text) => made_for(text),
        Some(_) => return Err(foreign(&file).into()),
        None => Vec::new(),
    };
    let missing = |name: &&str| before_made.contains(name) || !project.join(name).exists();
    let made: Vec<_> = FOLDERS.into_iter().filter(missing).collect();
    let text = rendered(&made);
    if before.as_deref() == Some(&text) {
        return Ok(Outcome::Unchanged);
    }
    let folder = project.join(FOLDERS[1]);
    make(project, &folder).map_err(|error| CommandError::of_file("make", &folder, error))?;
    write(&folder, &file, &text).map_err(|error| CommandError::of_file("write", &file, error))?;
    Ok(if before.is_some() { Outcome::Updated } else { Outcome::Installed })
}

/// Removes what [`install`] wrote: the file if it is ours, and the folders that were made for it if nothing else is in
/// them by now.
pub(crate) fn remove(project: &Path) -> Result<Outcome, CommandError> {
    let file = path(project);
    let Some(text) = read(&file)? else { return Ok(Outcome::Absent) };
    if !is_ours(&text) {
        return Err(foreign(&file).into());
    }
    fs::remove_file(&file).map_err(|error| CommandError::of_file("remove", &file, error))?;
    for name in made_for(&text).into_iter().rev() {
        let folder = project.join(name);
        match fs::remove_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => {
                return Err(CommandError::of_file("remove", &folder, error));
            }
            _ => {}
        }
    }
    Ok(Outcome::Removed)
}

fn rendered(made: &[&str]) -> String {
    let tools: Vec<Value> = operations::listed(Profile::Default)
        .map(|operation| {
            json!({
                "name": operation.name,
                "description": operation.summary,
                "parameters": (operation.brief)(),
            })
        })
        .collect();
    let mut text = String::with_capacity(SOURCE.len());
    for line in SOURCE.lines() {
        match line.strip_suffix(TOOLS).and_then(|line| line.split_once(" = ")) {
            Some((declared, _)) => {
                text.extend([declared, " = ", &json!(tools).to_string(), TOOLS, "\n"]);
            }
            None => text.extend([line, "\n"]),
        }
    }
    text.extend(["\n", MADE, &json!(made).to_string(), "\n"]);
    text
}

fn is_ours(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("const TOOLS") && line.ends_with(TOOLS))
}

/// Returns the folders that were made for an installed plugin. Unknown names are ignored: nothing else is ever removed.
fn made_for(text: &str) -> Vec<&'static str> {
    let named: Vec<String> = text
        .lines()
        .find_map(|line| serde_json::from_str(line.strip_prefix(MADE)?).ok())
        .unwrap_or_default();
    FOLDERS.into_iter().filter(|name| named.iter().any(|it| it == name)).collect()
}

fn foreign(file: &Path) -> EngineError {
    EngineError::new(
        Kind::Conflict,
        format!("{} is not callstack's, and is left as it is", file.display()),
    )
    .with_hint("Give it another name, and try again.")
}

/// Reads a file that may be another program's. One that is no text is refused: what can't be read would be lost when
/// the file is written again.
pub(crate) fn read(file: &Path) -> Result<Option<String>, CommandError> {
    match plain::read(file) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| {
            let message = format!("{} is not UTF-8, and is left as it is", file.display());
            let hint = "Save it as UTF-8, or move it away, and try again.";
            EngineError::new(Kind::Conflict, message).with_hint(hint).into()
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CommandError::of_file("read", file, error)),
    }
}

/// Makes a folder in a project, through no link that leads out of it.
pub(crate) fn make(project: &Path, folder: &Path) -> io::Result<()> {
    plain::refuse_way_out(project, folder)?;
    fs::create_dir_all(folder)
}

/// Writes a file by way of a temporary one beside it: OpenCode may be loading the file, and the disk may be full. One
/// that is there keeps its mode: it may hold the keys of other programs.
pub(crate) fn write(folder: &Path, file: &Path, text: &str) -> io::Result<()> {
    unfinished::sweep(folder);
    let mut builder = unfinished::builder();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let kept = fs::metadata(file).map(|metadata| metadata.permissions().mode() & 0o777);
        builder.permissions(fs::Permissions::from_mode(kept.unwrap_or(0o644)));
    }
    let mut beside = builder.tempfile_in(folder)?;
    beside.write_all(text.as_bytes())?;
    beside.persist(file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installed_plugin_differs_from_the_source_in_what_is_marked_only() {
        let text = rendered(&FOLDERS);
        let (mut changed, mut added) = (Vec::new(), Vec::new());
        let mut source = SOURCE.lines();
        for line in text.lines() {
            match source.next() {
                Some(was) if was != line => changed.push(line),
                Some(_) => {}
                None => added.push(line),
            }
        }
        let [tools] = changed[..] else { panic!("{changed:?}") };
        assert!(tools.starts_with(r#"const TOOLS: ToolSpec[] = [{"name":"stack_frame_push""#));
        assert_eq!(
            added,
            ["", r#"// callstack:folders [".opencode",".opencode/plugin",".opencode/command"]"#]
        );
        assert!(is_ours(&text) && made_for(&text) == FOLDERS);
    }

    #[test]
    fn only_known_folders_are_ever_removed() {
        assert!(
            made_for("// callstack:folders [\"/home\", \"..\", \".opencode/../src\"]").is_empty()
        );
        assert!(!is_ours("// a plugin of the user's that mentions // callstack:tools\n"));
    }

    #[test]
    fn a_file_that_is_no_text_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".mcp.json");
        fs::write(&file, b"{\"mcpServers\": {\"caf\xe9\": {}}}").unwrap();
        let refused = read(&file).unwrap_err().into_error();
        assert!(refused.message.contains("is not UTF-8"), "{}", refused.message);
    }

    #[cfg(unix)]
    #[test]
    fn devices_in_place_of_our_files_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("callstack.ts");
        assert!(read(&file).unwrap().is_none());
        std::os::unix::fs::symlink("/dev/null", &file).unwrap();
        assert!(read(&file).is_err());
    }

    #[test]
    fn the_plugin_says_the_version_of_this_binary() {
        let version = format!("const VERSION = \"{}\"", env!("CARGO_PKG_VERSION"));
        assert!(SOURCE.contains(&version));
    }
}
