//! Agents' programs that start `callstack mcp`: adding our entry to their configuration, and removing it.

mod claude_code;
mod codex;

use std::fs;
use std::path::{Path, PathBuf};

use callstack_engine::{EngineError, Kind};

use crate::error::CommandError;
use crate::plugin::{self, Outcome};
use crate::user::home;

/// The name of our entry.
const NAME: &str = "callstack";
/// The command that serves such a program.
pub(crate) const ARGUMENT: &str = "mcp";

/// A configuration after a change, none if its file is to be removed, and the outcome of the change.
struct Edited {
    outcome: Outcome,
    text: Option<String>,
}

/// A program whose configuration callstack can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    ClaudeCode,
    Codex,
}

impl Client {
    pub(crate) const ALL: [Self; 2] = [Self::ClaudeCode, Self::Codex];

    /// Returns the program's name as people know it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
        }
    }

    /// Whether the user has the program: its command is on the path, or its folder exists.
    pub(crate) fn is_there(self) -> bool {
        let (command, folder) = match self {
            Self::ClaudeCode => ("claude", own_folder("CLAUDE_CONFIG_DIR", ".claude")),
            Self::Codex => ("codex", own_folder("CODEX_HOME", ".codex")),
        };
        on_path(command).is_some() || folder.is_some_and(|folder| folder.is_dir())
    }

    /// Returns the file with our entry: the project's, or the user's where the program has none for projects.
    pub(crate) fn file(self, project: &Path) -> Option<PathBuf> {
        match self {
            Self::ClaudeCode => Some(project.join(".mcp.json")),
            Self::Codex => own_folder("CODEX_HOME", ".codex").map(|it| it.join("config.toml")),
        }
    }

    /// Writes our entry, which starts `command`; everything else in the file stays as it is.
    pub(crate) fn install(self, file: &Path, command: &str) -> Result<Outcome, CommandError> {
        self.edit(file, |text| match self {
            Self::ClaudeCode => claude_code::with_entry(text, command),
            Self::Codex => codex::with_entry(text, command),
        })
    }

    /// Removes our entry, and the file if nothing else is in it.
    pub(crate) fn remove(self, file: &Path) -> Result<Outcome, CommandError> {
        self.edit(file, |text| match self {
            Self::ClaudeCode => claude_code::without_entry(text),
            Self::Codex => codex::without_entry(text),
        })
    }

    fn edit(
        self,
        file: &Path,
        edit: impl FnOnce(&str) -> Result<Edited, String>,
    ) -> Result<Outcome, CommandError> {
        // A user's file may be a link into a folder of such files.
        let file = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
        let before = plugin::read(&file)?;
        let edited = edit(before.as_deref().unwrap_or_default()).map_err(|why| {
            EngineError::new(Kind::Conflict, format!("{} can't be changed: {why}", file.display()))
                .with_hint(format!(
                    "It is left as it is. {} does not read it either: mend it.",
                    self.name()
                ))
        })?;
        match (edited.outcome, edited.text) {
            (Outcome::Unchanged | Outcome::Absent | Outcome::Kept, _) => {}
            (_, Some(text)) => {
                let folder = file.parent().unwrap_or(&file);
                fs::create_dir_all(folder)
                    .and_then(|()| plugin::write(folder, &file, &text))
                    .map_err(|error| CommandError::of_file("write", &file, error))?;
            }
            (_, None) => {
                fs::remove_file(&file)
                    .map_err(|error| CommandError::of_file("remove", &file, error))?;
            }
        }
        Ok(edited.outcome)
    }
}

/// Returns the command by which programs start this one: its name where the path leads to it, else its whole path.
pub(crate) fn command() -> Result<String, EngineError> {
    let this = crate::binary::this()?;
    if on_path(NAME).and_then(|found| found.canonicalize().ok()) == this.canonicalize().ok() {
        return Ok(NAME.to_owned());
    }
    this.to_str().map(str::to_owned).ok_or_else(|| {
        EngineError::invalid(
            format!("the path of this program, {}, is not UTF-8", this.display()),
            "Install callstack into a folder with a plain name.",
        )
    })
}

/// Whether the arguments of a configured command are those that we write.
fn is_ours(arguments: &[&str]) -> bool {
    arguments == [ARGUMENT]
}

fn on_path(command: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|it| it.join(command)).find(|it| it.is_file())
}

/// Returns the folder of a program: the one that its variable names, else the one below the home folder.
fn own_folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let said = std::env::var_os(variable).map(PathBuf::from).filter(|it| it.is_absolute());
    said.or_else(|| home().map(|home| home.join(below_home)))
}
