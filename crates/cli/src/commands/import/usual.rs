//! Sessions in the usual places of the agents on this machine, for commands that name no file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use callstack_engine::{EngineError, Kind};
use callstack_recordings::{Format, Shelved, shelves};
use callstack_replay::format_name;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::sessions::{Course, Sources};
use crate::args::Agreement;
use crate::error::CommandError;
use crate::opencode::{self, Kept};
use crate::output::Output;
use crate::page::{BOLD, DIM, PLAIN, Page};
use crate::project::{StartFolder, variable};
use crate::wording::{bytes, counted};

/// What is taken where no file is named.
#[derive(Debug, clap::Args)]
pub(crate) struct Usual {
    /// The sessions of all projects, not only of this one
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    agreement: Agreement,
}

/// The result of looking for sessions.
pub(crate) enum Wanted {
    /// Sessions are to be read.
    Read(Found),
    /// The sessions were listed, and nothing more is to be done.
    Shown,
    /// There are none, for the given reason.
    Nothing(EngineError),
}

/// Sessions that were found.
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

impl Usual {
    /// Whether sessions are only listed.
    pub(crate) fn only_lists(&self) -> bool {
        self.agreement.dry_run
    }

    /// Looks for sessions and lists them. A person has to agree to those of all projects; `what` names the work on
    /// them.
    pub(crate) fn find(
        &self,
        what: &str,
        place: &StartFolder,
        output: &mut Output,
    ) -> Result<Wanted, CommandError> {
        let project = place.found().unwrap_or_else(|| place.new_project());
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let all = self.all || place.is_home(&project) || project.parent().is_none();
        output.progress("looking for sessions");
        let shelves = home.iter().flat_map(|home| shelves(home, &variable));
        let sessions: Vec<_> = shelves.flat_map(|shelf| shelf.sessions()).collect();
        let (sessions, other): (Vec<_>, Vec<_>) =
            sessions.into_iter().partition(|session| all || session.is_of(&project));
        let kept = kept(&project, home.as_deref(), output);
        output.progress("");
        let found = Found { project, all, sessions, kept, elsewhere: other.len() };
        if found.count() == 0 {
            return Ok(Wanted::Nothing(found.nothing(what)));
        }
        if self.agreement.dry_run {
            output.either(&found.json(), |page| found.tell(page, true))?;
            return Ok(Wanted::Shown);
        }
        if !output.json() {
            let mut page = Page::default();
            found.tell(&mut page, false);
            output.page(&page)?;
        }
        if all && !self.agreement.yes {
            let about = found.about();
            let unasked = EngineError::invalid(
                format!("this would {what} {about}, and nobody can be asked here"),
                "Give --yes to do it, or --dry-run to see which.",
            );
            let mut question = what.to_owned();
            question.get_mut(..1).into_iter().for_each(str::make_ascii_uppercase);
            if !output.confirm(&format!("{question} {about}?"), unasked)? {
                output.either(&Value::Null, |page| {
                    page.put(PLAIN, "nothing was read").end();
                })?;
                return Ok(Wanted::Shown);
            }
        }
        Ok(Wanted::Read(found))
    }
}

/// Returns the sessions that OpenCode keeps, if it has been used at all: asking it takes seconds.
fn kept(project: &Path, home: Option<&Path>, output: &mut Output) -> Vec<Kept> {
    let own = variable("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let data = own.or_else(|| home.map(|home| home.join(".local/share")));
    if !data.is_some_and(|data| data.join("opencode").is_dir()) {
        return Vec::new();
    }
    opencode::sessions(project).unwrap_or_else(|why| {
        output.progress("");
        output.remark(&format!("sessions of OpenCode are left out: {why}"));
        Vec::new()
    })
}

impl Found {
    fn count(&self) -> usize {
        self.sessions.len() + self.kept.len()
    }

    /// Returns the sessions as sources to read; those that OpenCode keeps are exported first.
    pub(crate) fn sources(&self, output: &mut Output) -> Result<Sources, CommandError> {
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
            .map_err(|error| CommandError::of_file("make", &std::env::temp_dir(), &error))?;
        let mut course = Course::new(self.kept.len() as u64);
        let mut exports = Vec::new();
        for (at, kept) in self.kept.iter().enumerate() {
            let line = format!("having OpenCode export session {} of {}", at + 1, self.kept.len());
            output.progress(&course.line(&line, 0.0));
            let file = folder.path().join(format!("{at}.json"));
            match opencode::export(&self.project, &kept.id, &file) {
                Ok(()) => exports.push(file),
                Err(why) => {
                    output.progress("");
                    output.remark(&why);
                }
            }
            course.go_on(1);
        }
        output.progress("");
        groups.extend((!exports.is_empty()).then_some(exports));
        Ok(Sources::found(groups, folder))
    }

    /// Returns the number and size of the sessions, such as `12 sessions (3.1 MiB) of 4 projects`.
    fn about(&self) -> String {
        let projects: BTreeSet<&Path> =
            self.sessions.iter().map(|session| session.project.as_path()).collect();
        let size = self.sessions.iter().map(|session| session.bytes).sum();
        let (count, of) = (self.count() as u64, projects.len().max(1) as u64);
        format!("{} ({}) of {}", counted(count, "session"), bytes(size), counted(of, "project"))
    }

    fn tell(&self, page: &mut Page, each: bool) {
        let project = self.project.display().to_string();
        let whose = if self.all { "of all projects".to_owned() } else { format!("of {project}") };
        page.put(BOLD, &format!("Sessions {whose}")).end();
        let mut rows: Vec<(&str, usize, u64, Option<SystemTime>)> = Vec::new();
        let formats: BTreeSet<Format> = self.sessions.iter().map(|it| it.format).collect();
        for format in formats {
            let of = || self.sessions.iter().filter(|it| it.format == format);
            let size = of().map(|it| it.bytes).sum();
            let newest = of().map(|it| it.changed).max();
            rows.push((format_name(format), of().count(), size, newest));
        }
        if !self.kept.is_empty() {
            let newest = self.kept.iter().map(|it| it.changed).max().unwrap_or_default();
            let since = Duration::from_millis(u64::try_from(newest).unwrap_or_default());
            let newest = SystemTime::UNIX_EPOCH.checked_add(since);
            rows.push((format_name(Format::OpenCode), self.kept.len(), 0, newest));
        }
        for (agent, count, size, newest) in rows {
            let count = counted(count as u64, "session");
            let size = if size > 0 { format!(", {}", bytes(size)) } else { String::new() };
            page.put(PLAIN, &format!("  {agent:<12} {count}{size}"));
            page.put(DIM, &newest.map(dated).unwrap_or_default()).end();
        }
        if each {
            for session in &self.sessions {
                page.put(DIM, &format!("  {}", session.path.display())).end();
            }
            for kept in &self.kept {
                page.put(DIM, &format!("  opencode export {}", kept.id)).end();
            }
        }
        if self.elsewhere > 0 {
            let other = counted(self.elsewhere as u64, "session");
            page.put(DIM, &format!("  With --all, {other} of other projects, too")).end();
        }
        if self.all && !self.kept.is_empty() {
            page.put(
                DIM,
                "  OpenCode lists the sessions of one project only: these are of this folder",
            )
            .end();
        }
    }

    fn json(&self) -> Value {
        let files = self.sessions.iter().map(|session| {
            json!({
                "agent": format_name(session.format), "path": session.path, "project": session.project,
                "bytes": session.bytes,
            })
        });
        let kept = self.kept.iter().map(|kept| {
            json!({"agent": format_name(Format::OpenCode), "id": kept.id, "project": kept.folder})
        });
        json!({
            "project": self.project,
            "sessions": files.chain(kept).collect::<Vec<_>>(),
            "elsewhere": self.elsewhere,
        })
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
        EngineError {
            kind: Kind::NotFound,
            message: format!("no session of {of} is in the usual places of agents"),
            hint: Some(hint),
        }
    }
}

fn dated(at: SystemTime) -> String {
    let Ok(at) = Timestamp::try_from(at) else { return String::new() };
    format!(", the newest of {}", at.to_zoned(TimeZone::system()).strftime("%-d %b %Y"))
}
