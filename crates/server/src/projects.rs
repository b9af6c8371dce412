//! The projects that a server serves: one, or all that callstack knows of. Of these, a store is opened when somebody
//! first asks for its project, and closed when nobody has for a while.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use callstack_engine::{Engine, EngineError, Kind, path_text};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::problem::Problem;
use crate::project::Project;
use crate::record::key;

/// A project that has a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownProject {
    /// Its folder.
    pub folder: PathBuf,
    /// The time at which its store was last written, in milliseconds since 1970, if that is known.
    pub changed_at: Option<i64>,
}

/// Knows the user's projects.
pub trait ProjectSource: Send + Sync + 'static {
    /// Returns the projects that have a store now.
    fn known(&self) -> Result<Vec<KnownProject>, EngineError>;

    /// Opens the store of one of them.
    fn open(&self, folder: &Path) -> Result<Engine, EngineError>;
}

/// The choice of what to serve.
#[derive(Clone)]
pub enum Served {
    /// One project, at the paths that `/openapi.json` describes.
    One(Arc<Engine>),
    /// All projects that a source knows of, each at these paths below `/projects/ID`.
    All(Arc<dyn ProjectSource>),
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::One(_) => "One",
            Self::All(_) => "All",
        })
    }
}

impl From<Arc<Engine>> for Served {
    fn from(engine: Arc<Engine>) -> Self {
        Self::One(engine)
    }
}

/// The projects of a server, with the stores that are open.
pub(crate) struct Projects {
    port: u16,
    kept: Kept,
}

enum Kept {
    One(Arc<Project>),
    All { source: Arc<dyn ProjectSource>, open: Mutex<HashMap<String, Open>> },
}

/// A project whose store is open.
struct Open {
    project: Arc<Project>,
    /// The time of the last request for it.
    asked: Instant,
}

/// A project as clients see it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Listed {
    /// The id: its paths begin with `/projects/ID`.
    id: String,
    /// The folder.
    folder: String,
    /// The folder's name.
    name: String,
    /// When its store last changed, in milliseconds since 1970; null if that is not known.
    changed_at: Option<i64>,
}

impl From<KnownProject> for Listed {
    fn from(known: KnownProject) -> Self {
        let name = known.folder.file_name().unwrap_or(known.folder.as_os_str());
        Self {
            id: key(&known.folder),
            name: path_text(Path::new(name)).into_owned(),
            folder: path_text(&known.folder).into_owned(),
            changed_at: known.changed_at,
        }
    }
}

impl Projects {
    pub(crate) fn new(served: Served, port: u16) -> Self {
        let kept = match served {
            Served::One(engine) => Kept::One(Project::new(engine, port)),
            Served::All(source) => Kept::All { source, open: Mutex::default() },
        };
        Self { port, kept }
    }

    /// Returns whether a request has to name its project.
    pub(crate) fn are_many(&self) -> bool {
        matches!(self.kept, Kept::All { .. })
    }

    /// Returns the project of an id, or the one that is served, if its store is open already.
    pub(crate) fn at_hand(&self, id: Option<&str>) -> Result<Option<Arc<Project>>, Problem> {
        match (&self.kept, id) {
            (Kept::One(project), id) if id.is_none_or(|id| id == project.id()) => {
                Ok(Some(Arc::clone(project)))
            }
            (Kept::One(_), _) => Err(unknown().into()),
            (Kept::All { .. }, None) => Err(EngineError::invalid(
                "this server has several projects, and the path names none",
                "Begin the path with `/projects/ID`; `GET /v1/projects` lists them.",
            )
            .into()),
            (Kept::All { open, .. }, Some(id)) => {
                let mut open = lock(open);
                Ok(open.get_mut(id).map(|found| {
                    found.asked = Instant::now();
                    Arc::clone(&found.project)
                }))
            }
        }
    }

    /// Opens the store of a project. Blocks.
    pub(crate) fn opened(&self, id: &str) -> Result<Arc<Project>, EngineError> {
        let Kept::All { source, open } = &self.kept else { return Err(unknown()) };
        let known = source.known()?.into_iter().find(|known| key(&known.folder) == id);
        let project =
            Project::new(Arc::new(source.open(&known.ok_or_else(unknown)?.folder)?), self.port);
        let mut open = lock(open);
        // Another request may have opened it meanwhile.
        let kept = open.entry(id.to_owned()).or_insert(Open { project, asked: Instant::now() });
        Ok(Arc::clone(&kept.project))
    }

    /// Returns the projects that there are, the one that changed last first. Blocks.
    fn listed(&self) -> Result<Vec<Listed>, EngineError> {
        let mut known = match &self.kept {
            Kept::One(project) => {
                let folder = project.engine().project().to_path_buf();
                vec![KnownProject { folder, changed_at: project.engine().newest_event()?.at }]
            }
            Kept::All { source, .. } => source.known()?,
        };
        known.sort_by(|one, other| {
            other.changed_at.cmp(&one.changed_at).then_with(|| one.folder.cmp(&other.folder))
        });
        Ok(known.into_iter().map(Listed::from).collect())
    }

    /// Removes and returns the projects that nobody uses and nobody has asked for in this time.
    fn unused(&self, time: Duration) -> Vec<Arc<Project>> {
        let Kept::All { open, .. } = &self.kept else { return Vec::new() };
        let mut open = lock(open);
        let unused = |open: &Open| {
            // Whoever else has one got it under this lock.
            Arc::strong_count(&open.project) == 1 && open.asked.elapsed() >= time
        };
        open.extract_if(|_, open| unused(open)).map(|(_, open)| open.project).collect()
    }

    /// Closes stores that nobody has asked for in this time, for as long as the server runs.
    pub(crate) async fn close_unused(&self, time: Duration) {
        if !self.are_many() {
            return std::future::pending().await;
        }
        let mut next = tokio::time::interval(time.max(Duration::from_millis(1)));
        next.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            next.tick().await;
            let unused = self.unused(time);
            // A store waits for its threads when it is closed.
            drop(tokio::task::spawn_blocking(move || drop(unused)));
        }
    }
}

fn lock(open: &Mutex<HashMap<String, Open>>) -> MutexGuard<'_, HashMap<String, Open>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error of an id that no project has.
pub(crate) fn unknown() -> EngineError {
    EngineError::new(Kind::NotFound, "there is no project of this id")
        .with_hint("`GET /v1/projects` lists them.")
}

/// Answers with the projects that are served.
pub(crate) async fn list(State(app): State<App>) -> Result<Json<Vec<Listed>>, Problem> {
    let projects = Arc::clone(&app.projects);
    Ok(Json(app.call(move || projects.listed()).await?))
}
