//! The project that a command acts on.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use callstack_engine::{Engine, EngineError, Kind, Setting, Settings, SystemWorld};
use callstack_server::{KnownProject, ProjectSource};
use callstack_store::{DATABASE, FOLDER, Record, Registry, last_written};
use callstack_summarizer::HttpSummarizer;
use callstack_work_tree::GitWorkTree;

use crate::args::NewStore;
use crate::error::CommandError;
use crate::opencode_config;
use crate::user::{configuration, mark, registry};

/// The folder in which a command was started, and the home folder, which is never a project.
#[derive(Clone, Debug)]
pub(crate) struct StartFolder {
    start: PathBuf,
    home: Option<PathBuf>,
}

impl StartFolder {
    /// Returns the place that `-C` names, else the working directory.
    pub(crate) fn of(directory: Option<&Path>) -> Result<Self, CommandError> {
        let start = match directory {
            Some(directory) => directory.to_path_buf(),
            None => std::env::current_dir()
                .map_err(|error| CommandError::of_file("enter", Path::new("."), error))?,
        };
        let start = folder(&start)?;
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let home = home.map(|home| home.canonicalize().unwrap_or(home));
        Ok(Self { start, home })
    }

    /// Returns the folder that relative paths are relative to.
    pub(crate) fn start(&self) -> &Path {
        &self.start
    }

    /// Returns a folder that is named relative to the start.
    pub(crate) fn folder(&self, named: &Path) -> Result<PathBuf, CommandError> {
        folder(&self.start.join(named))
    }

    /// Returns the project whose store is the nearest upwards, if there is one.
    pub(crate) fn found(&self) -> Option<PathBuf> {
        callstack_store::find(&self.start, self.home.as_deref())
    }

    /// Returns the project with a store that a command reads. Fails if there is none.
    pub(crate) fn existing(&self) -> Result<PathBuf, EngineError> {
        self.found().ok_or_else(|| {
            if let Err(error) = registry().and_then(|it| Ok(it.refuse_of_member(&self.new_project())?)) {
                return error;
            }
            let message = format!("no callstack store in {} or above", self.start.display());
            let is_kept = registry().is_ok_and(|registry| registry.keeps(&self.new_project()));
            let hint = if is_kept {
                "The one that was there had been deleted, and is kept: `callstack init opencode` puts it back, and so do \
                 `push`, `plan` and `import` with --here."
            } else {
                "`callstack init opencode` makes one, and so do `push`, `plan` and `import` with --here."
            };
            EngineError::new(Kind::NotFound, message).with_hint(hint)
        })
    }

    /// Refuses a command where there is no store and none is wanted.
    pub(crate) fn may_work(&self, new: NewStore) -> Result<(), EngineError> {
        if new.here { Ok(()) } else { self.existing().map(drop) }
    }

    /// Returns the project that a command works in: the one with a store, else the work tree that the command was
    /// started in.
    pub(crate) fn existing_or_new(&self) -> Result<PathBuf, EngineError> {
        match self.found() {
            Some(project) => Ok(project),
            None => self.not_home(self.new_project()),
        }
    }

    /// Returns the project that a new store would be made in: the nearest one whose store was deleted and is kept, else
    /// the root of the work tree.
    pub(crate) fn new_project(&self) -> PathBuf {
        let root = callstack_store::project_root(&self.start, self.home.as_deref());
        let registry = registry();
        let keeps = |folder: &&Path| registry.as_ref().is_ok_and(|it| it.keeps(folder));
        let within = self.start.ancestors().take_while(|folder| folder.starts_with(&root));
        within.clone().find(keeps).map_or(root.clone(), Path::to_path_buf)
    }

    /// Whether a folder is the home folder, which contains all projects and is none.
    pub(crate) fn is_home(&self, folder: &Path) -> bool {
        self.home.as_deref() == Some(folder)
    }

    /// Refuses the home folder: a store there would be found from every project below it.
    pub(crate) fn not_home(&self, project: PathBuf) -> Result<PathBuf, EngineError> {
        if self.is_home(&project) {
            return Err(EngineError::invalid(
                format!("the home folder {} is never taken for a project", project.display()),
                "Go to the project's folder, or name it with -C DIR.",
            ));
        }
        Ok(project)
    }
}

/// All projects whose stores are on record, for a server.
#[derive(Debug)]
pub(crate) struct RecordedProjects;

impl ProjectSource for RecordedProjects {
    fn known(&self) -> Result<Vec<KnownProject>, EngineError> {
        let records = registry()?.records()?.into_iter();
        // A store on record may have been deleted since: to open it would make another one.
        let known = records.filter(|record| record.project.join(FOLDER).join(DATABASE).is_file());
        let known = known.map(|Record { project: folder, .. }| KnownProject {
            changed_at: last_written(&folder),
            folder,
        });
        let mut known: Vec<_> = known.collect();
        // An earlier store in the same place may be on record, too.
        known.dedup_by(|one, other| one.folder == other.folder);
        Ok(known)
    }

    fn open(&self, folder: &Path) -> Result<Engine, EngineError> {
        let engine = open(folder)?;
        engine.guard();
        Ok(engine)
    }
}

/// Returns the engine of a project, set up by the environment.
pub(crate) fn open(project: &Path) -> Result<Engine, EngineError> {
    open_with(&registry()?, project)
}

/// Returns the engine of a project, with another record of stores.
pub(crate) fn open_with(registry: &Registry, project: &Path) -> Result<Engine, EngineError> {
    let (seen, settings_now) = (mark(), settings_of(project)?);
    let trusted = registry.admit(project)?;
    let states = trusted.states().map(Path::to_path_buf);
    let engine = Engine::open(trusted, settings_now, Box::new(SystemWorld))?;
    engine.read_messages_with(callstack_hosts::import::activities);
    engine.decode_messages_with(callstack_hosts::import::decode_stored);
    if let Some(states) = states {
        engine.record_files_with(Box::new(GitWorkTree::new(project, &states)));
    }
    let seen = Mutex::new(seen);
    let place = project.to_path_buf();
    engine.reread_settings_with(move || {
        let now = mark();
        let mut known = seen.lock().unwrap_or_else(PoisonError::into_inner);
        // A configuration that can't be read is ignored: the one before stays in effect.
        let changed = *known != now;
        *known = now;
        drop(known);
        changed.then(|| settings_of(&place)).and_then(Result::ok)
    });
    engine.summarize_with(Arc::new(HttpSummarizer::new(variable)));
    Ok(engine)
}

/// Returns the engine's settings in a project: if neither the environment nor the user's configuration says whether
/// agents work in frames, OpenCode's configuration may.
fn settings_of(project: &Path) -> Result<Settings, EngineError> {
    let settings = settings()?;
    match opencode_config::frame_mode(project) {
        Some(mode) => {
            let value = if mode { "on" } else { "off" };
            settings.with_host_value(Setting::meant("STACK_FRAME_MODE")?, value)
        }
        None => Ok(settings),
    }
}

/// Returns the engine's settings from the environment and the user's configuration.
pub(crate) fn settings() -> Result<Settings, EngineError> {
    Settings::from_sources(&variable, configuration()?.values())
}

/// Returns the value of a variable of the environment.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn folder(path: &Path) -> Result<PathBuf, CommandError> {
    let missing = |why: &dyn std::fmt::Display| {
        let message = format!("{} is no folder that can be used: {why}", path.display());
        EngineError::invalid(message, "Name a folder that is there.")
    };
    let whole = path.canonicalize().map_err(|error| missing(&error))?;
    if !whole.is_dir() {
        return Err(missing(&"it is a file").into());
    }
    Ok(whole)
}
