//! Where agents keep the sessions that they record, and which of these are of a project.

use std::fs::Metadata;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use callstack_plain_files as plain;
use serde_json::Value;

use super::disk::files_in;
use super::{Format, lines};

/// Bytes at the beginning of a file in which it has to say where its session worked.
const HEAD: u64 = 256 * 1024;

/// A folder in which an agent keeps its sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shelf {
    /// The format that the agent writes.
    pub format: Format,
    /// The folder.
    pub folder: PathBuf,
}

/// A session's file on a shelf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shelved {
    /// The program that wrote it.
    pub format: Format,
    /// The file.
    pub path: PathBuf,
    /// The folder that was worked in, as recorded; empty where the file's beginning names none.
    pub project: PathBuf,
    /// When it was last written.
    pub changed: SystemTime,
    /// How long it is.
    pub bytes: u64,
}

impl Shelved {
    /// Whether its session worked in a project, or in a folder of it.
    pub fn is_of(&self, project: &Path) -> bool {
        self.project.starts_with(project)
            || self.project.canonicalize().is_ok_and(|whole| whole.starts_with(project))
    }
}

/// The usual folders of the agents that keep a file a session, where they are there: below the home folder, or
/// where an agent's own variable says.
pub fn shelves(home: &Path, variable: &dyn Fn(&str) -> Option<String>) -> Vec<Shelf> {
    let usual = [
        (Format::ClaudeCode, "CLAUDE_CONFIG_DIR", ".claude", "projects"),
        (Format::Codex, "CODEX_HOME", ".codex", "sessions"),
        (Format::Pi, "PI_CODING_AGENT_DIR", ".pi/agent", "sessions"),
    ];
    let shelves = usual.into_iter().map(|(format, said, below_home, folder)| {
        let own = variable(said).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = own.unwrap_or_else(|| home.join(below_home)).join(folder);
        Shelf { format, folder }
    });
    shelves.filter(|shelf| shelf.folder.is_dir()).collect()
}

impl Shelf {
    /// The sessions on it; those of subagents come with the sessions that started them.
    pub fn sessions(&self) -> Vec<Shelved> {
        let mut files = Vec::new();
        files_in(&self.folder, &mut files);
        files.into_iter().filter_map(|path| self.session(path)).collect()
    }

    fn session(&self, path: PathBuf) -> Option<Shelved> {
        let name = path.file_name()?.to_string_lossy();
        let is_of_subagent = self.format == Format::ClaudeCode && name.starts_with("agent-");
        if is_of_subagent || !name.ends_with(".jsonl") {
            return None;
        }
        let file = plain::open_named(&path).ok()?;
        let metadata = file.metadata().ok().filter(|it| it.len() > 0)?;
        let changed = Metadata::modified(&metadata).unwrap_or(SystemTime::UNIX_EPOCH);
        let mut head = BufReader::new(file.take(HEAD));
        let mut project = PathBuf::new();
        let mut line = Vec::new();
        while head.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            let text = String::from_utf8_lossy(lines::without_mark(&line));
            if let Some(folder) = lines::value(&text).ok().as_ref().and_then(folder) {
                project = PathBuf::from(folder);
                break;
            }
            line.clear();
        }
        let (format, bytes) = (self.format, metadata.len());
        Some(Shelved { format, path, project, changed, bytes })
    }
}

/// The folder that a record says was worked in.
fn folder(record: &Value) -> Option<&str> {
    let said = record["cwd"].as_str().or_else(|| record["payload"]["cwd"].as_str());
    said.filter(|folder| !folder.is_empty())
}
