//! Sessions in the usual places of the agents on this machine, where no file is named.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callstack_engine::{EngineError, Kind, path_text};
use callstack_recordings::{Format, Shelved, shelves};
use callstack_replay::format_name;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sessions::{Course, Sources};
use crate::error::CommandError;
use crate::opencode::{self, Kept};
use crate::operations::Machine;
use crate::project::variable;
use crate::reporter::Reporter;
use crate::wording::counted;

/// The sessions that are taken where no file is named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual {
    /// Whether the sessions of all projects are taken, not only of this one.
    pub(crate) all: bool,
    /// Whether a person has agreed.
    pub(crate) yes: bool,
    /// Whether sessions are only listed.
    pub(crate) dry_run: bool,
}

/// The result of looking for sessions.
pub(crate) enum Wanted {
    /// Sessions are to be read.
    Read(Found),
    /// The sessions are only listed.
    Listed(RecordedSessions),
    /// A person has to be shown the sessions first.
    ToAgree(ToAgree),
    /// There are none, for the given reason.
    Nothing(EngineError),
}

/// Sessions that were found.
#[derive(Debug)]
pub(crate) struct Found {
    /// The project whose sessions are wanted.
    project: PathBuf,
    /// Whether those of other projects are wanted, too.
    all: bool,
    sessions: Vec<Shelved>,
    kept: Vec<Kept>,
    /// The number of other projects' sessions that are not wanted.
    elsewhere: usize,
}

/// Sessions in the usual places of agents.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RecordedSessions {
    /// The project's folder
    pub(crate) project: String,
    /// Whether they are of all projects
    pub(crate) all: bool,
    pub(crate) sessions: Vec<RecordedSession>,
    /// The number of other projects' sessions that are not listed
    pub(crate) elsewhere: usize,
}

/// Sessions that a call with `yes` reads, once a person was shown them and has agreed to those of all projects.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToAgree {
    pub(crate) to_agree: RecordedSessions,
}

/// A session in the usual place of its agent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordedSession {
    pub(crate) agent: String,
    /// The file; none for a session that OpenCode keeps
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
    /// The id of a session that OpenCode keeps
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
    /// The folder that was worked in
    pub(crate) project: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    /// When it was last written, in milliseconds since 1970
    pub(crate) changed_at: Option<i64>,
}

impl Usual {
    /// Looks for sessions. They are to be read only once a person was shown them, and has agreed to those of all
    /// projects; `what` names the work on them.
    pub(crate) fn find(self, what: &str, machine: &Machine) -> Wanted {
        let named = machine.named.take().filter(|_| self.yes && !self.dry_run);
        if let Some(named) = named {
            return Wanted::Read(named);
        }
        let found = self.look(machine);
        if found.count() == 0 {
            return Wanted::Nothing(found.nothing(what));
        }
        let sessions = found.listing();
        match (self.dry_run, self.yes) {
            (true, _) => Wanted::Listed(sessions),
            (false, true) => Wanted::Read(found),
            (false, false) => {
                machine.named.replace(Some(found));
                Wanted::ToAgree(ToAgree { to_agree: sessions })
            }
        }
    }

    fn look(self, machine: &Machine) -> Found {
        let place = &machine.place;
        let project = place.found().unwrap_or_else(|| place.new_project());
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let all = self.all || place.is_home(&project) || project.parent().is_none();
        let mut reporter = machine.reporter();
        reporter.progress("looking for sessions");
        let shelves = home.iter().flat_map(|home| shelves(home, &variable));
        let sessions: Vec<_> = shelves.flat_map(|shelf| shelf.sessions()).collect();
        let (sessions, other): (Vec<_>, Vec<_>) =
            sessions.into_iter().partition(|session| all || session.is_of(&project));
        let kept = kept(&project, home.as_deref(), &mut *reporter);
        reporter.progress("");
        Found { project, all, sessions, kept, elsewhere: other.len() }
    }
}

/// Returns the sessions that OpenCode keeps, if it has been used at all: asking it takes seconds.
fn kept(project: &Path, home: Option<&Path>, reporter: &mut dyn Reporter) -> Vec<Kept> {
    let own = variable("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = own.or_else(|| home.map(|home| home.join(".local/share")));
    if !data.is_some_and(|data| data.join("opencode").is_dir()) {
        return Vec::new();
    }
    opencode::sessions(project).unwrap_or_else(|why| {
        reporter.progress("");
        reporter.remark(&format!("sessions of OpenCode are left out: {why}"));
        Vec::new()
    })
}

impl Found {
    fn count(&self) -> usize {
        self.sessions.len() + self.kept.len()
    }

    /// Returns the sessions as sources to read; those that OpenCode keeps are exported first.
    pub(crate) fn sources(&self, reporter: &mut dyn Reporter) -> Result<Sources, CommandError> {
        // Sessions that started one another lie in one folder.
        let mut groups: BTreeMap<(Format, Option<&Path>), Vec<PathBuf>> = BTreeMap::new();
        for session in &self.sessions {
            let group = groups.entry((session.format, session.path.parent())).or_default();
            group.push(session.path.clone());
        }
        let mut groups: Vec<_> = groups.into_values().collect();
        let folder = tempfile::Builder::new()
            .prefix("callstack-exports-")
            .tempdir()
            .map_err(|error| CommandError::of_file("make", &std::env::temp_dir(), error))?;
        let mut course = Course::new(self.kept.len() as u64);
        let mut exports = Vec::new();
        for (at, kept) in self.kept.iter().enumerate() {
            let line = format!("having OpenCode export session {} of {}", at + 1, self.kept.len());
            reporter.progress(&course.line(&line, 0.0));
            let file = folder.path().join(format!("{at}.json"));
            match opencode::export(&self.project, &kept.id, &file) {
                Ok(()) => exports.push(file),
                Err(why) => {
                    reporter.progress("");
                    reporter.remark(&why);
                }
            }
            course.go_on(1);
        }
        reporter.progress("");
        groups.extend((!exports.is_empty()).then_some(exports));
        Ok(Sources::found(groups, folder))
    }

    fn listing(&self) -> RecordedSessions {
        let files = self.sessions.iter().map(|session| RecordedSession {
            agent: format_name(session.format).to_owned(),
            path: Some(path_text(&session.path).into_owned()),
            id: None,
            project: path_text(&session.project).into_owned(),
            bytes: Some(session.bytes),
            changed_at: Timestamp::try_from(session.changed).ok().map(Timestamp::as_millisecond),
        });
        let kept = self.kept.iter().map(|kept| RecordedSession {
            agent: format_name(Format::OpenCode).to_owned(),
            path: None,
            id: Some(kept.id.clone()),
            project: path_text(&kept.folder).into_owned(),
            bytes: None,
            changed_at: Some(kept.changed),
        });
        RecordedSessions {
            project: path_text(&self.project).into_owned(),
            all: self.all,
            sessions: files.chain(kept).collect(),
            elsewhere: self.elsewhere,
        }
    }

    fn nothing(&self, what: &str) -> EngineError {
        let hint = match self.elsewhere {
            0 => "Name files with sessions, or folders of them.".to_owned(),
            count => format!(
                "`callstack {what} --all` takes those of other projects, too ({}).",
                counted(count as u64, "session")
            ),
        };
        let of =
            if self.all { "any project".to_owned() } else { self.project.display().to_string() };
        EngineError::new(
            Kind::NotFound,
            format!("no session of {of} is in the usual places of agents"),
        )
        .with_hint(hint)
    }
}
