//! The operation that decides which stores are opened.

use std::path::{Path, PathBuf};

use callstack_engine::operation::{
    Access, Caller, CallerKind, Operate, Repeated, Reply, TERMINAL_ONLY,
};
use callstack_engine::{EngineError, Kind};
use callstack_store::{Distrust, FOLDER, Foreign, Inspection, Record, TakenOver};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Machine;
use crate::error::CommandError;
use crate::project::{StartFolder, open_with};
use crate::user::registry;

/// `stack_trust`.
pub(crate) struct Trust;

/// Arguments of `stack_trust`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustParams {
    /// The project's folder; default: the project that has a store
    #[schemars(with = "Option<String>")]
    pub(crate) path: Option<PathBuf>,
    /// What is done; default: the store is looked at, and nothing of it is opened
    #[serde(default)]
    pub(crate) action: TrustAction,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TrustAction {
    #[default]
    Inspect,
    List,
    TakeOver,
    Revoke,
}

/// The stores that were found, or changed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum TrustOutput {
    Stores(RecordedStores),
    Inspected(Box<InspectedStore>),
    Revoked(RevokedStore),
}

/// All stores on record.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RecordedStores {
    pub(crate) stores: Vec<RecordedStore>,
    /// Paths of records that can't be read
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) unreadable: Vec<String>,
}

/// A store on record.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RecordedStore {
    /// The project's folder
    pub(crate) project: String,
    pub(crate) id: String,
    pub(crate) store: Presence,
}

/// Whether a store on record is in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Presence {
    There,
    Gone,
}

/// A store as it looks from outside.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InspectedStore {
    /// The project's folder
    pub(crate) project: String,
    /// The store's folder
    pub(crate) store: String,
    pub(crate) trusted: bool,
    pub(crate) id: Option<String>,
    /// The project in which the store of this id is on record
    pub(crate) made_in: Option<String>,
    /// Number of files in it
    pub(crate) files: u64,
    /// Bytes of these files
    pub(crate) bytes: u64,
    /// Bytes of the database, if there is one
    pub(crate) database: Option<u64>,
    /// Whether there are states of the project's files, as older versions kept them there
    pub(crate) states: bool,
    /// The user who owns the folder
    pub(crate) owner: Option<u32>,
    /// When something in the folder was last changed, in milliseconds since 1970
    pub(crate) changed_at: Option<i64>,
    /// Why it can't be taken over
    pub(crate) problem: Option<Obstacle>,
    /// The part of it that is not the one on record
    pub(crate) foreign: Option<ForeignPart>,
    /// What was done, if it was taken over
    pub(crate) taken_over: Option<TakenStore>,
}

/// A part of a store that somebody else may have put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ForeignPart {
    Database,
    Log,
}

/// Why a store can't be taken over.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Obstacle {
    pub(crate) message: String,
    pub(crate) hint: String,
    /// Paths in it that git tracks
    pub(crate) tracked: Vec<String>,
}

/// A store that was taken over.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TakenStore {
    /// Whether it is a copy, and has an id of its own from now on
    pub(crate) is_copy: bool,
    /// Number of files of states of the project's files that went with it
    pub(crate) states: u64,
}

/// A store that is not trusted any more.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RevokedStore {
    /// The project's folder
    pub(crate) project: String,
    pub(crate) trusted: bool,
}

impl Operate<Machine> for Trust {
    const NAME: &'static str = "stack_trust";
    const SUMMARY: &'static str = "Look at a store that is not on record without opening it, take it over, stop \
        trusting it, or list all stores on record.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = TERMINAL_ONLY;
    type Params = TrustParams;
    type Output = TrustOutput;

    fn run(
        machine: &Machine,
        _: &Caller,
        params: TrustParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let (registry, place) = (registry()?, &machine.place);
        let is_there = params.action != TrustAction::Revoke;
        let project = || meant(params.path.as_deref(), place, is_there);
        let (text, output) = match params.action {
            TrustAction::List => {
                let stores: Vec<_> = registry.records()?.iter().map(recorded).collect();
                let text = format!("{} stores are on record.", stores.len());
                let unreadable = registry.unreadable_records()?;
                let unreadable = unreadable.iter().map(|it| it.display().to_string()).collect();
                (text, TrustOutput::Stores(RecordedStores { stores, unreadable }))
            }
            TrustAction::Revoke => {
                let project = project()?;
                if !registry.revoke(&project)? {
                    return Err(EngineError::new(
                        Kind::NotFound,
                        format!("no store of {} is on record", project.display()),
                    )
                    .with_hint("`callstack trust --list` shows those that are."));
                }
                let project = project.display().to_string();
                let revoked = RevokedStore { project, trusted: false };
                ("It is not trusted any more.".to_owned(), TrustOutput::Revoked(revoked))
            }
            TrustAction::Inspect | TrustAction::TakeOver => {
                let project = project()?;
                let found = registry.inspect(&project)?.ok_or_else(|| missing(&project))?;
                let mut store = inspected(&found);
                if params.action == TrustAction::TakeOver {
                    let taken = registry.take_over(&found.project)?;
                    store.trusted = true;
                    store.id = Some(taken.record.id.to_string());
                    let states = states(&taken)?;
                    // From its first opening on, it comes back where a checkout deletes it. What is wrong with it is
                    // reported by the next command.
                    drop(open_with(&registry, &found.project));
                    store.taken_over = Some(TakenStore { is_copy: taken.copied.is_some(), states });
                }
                let is = if store.trusted { "is" } else { "is not" };
                let text = format!("{} {is} trusted.", store.store);
                (text, TrustOutput::Inspected(Box::new(store)))
            }
        };
        Ok(Reply::new("trust", text, output))
    }
}

/// Returns the project that the arguments mean.
fn meant(path: Option<&Path>, place: &StartFolder, is_there: bool) -> Result<PathBuf, EngineError> {
    let project = match path {
        // A project that is gone can still be on record, and be revoked.
        Some(path) if !is_there => place.folder(path).unwrap_or_else(|_| place.start().join(path)),
        Some(path) => place.folder(path).map_err(CommandError::into_error)?,
        None => place.found().unwrap_or_else(|| place.new_project()),
    };
    place.not_home(project)
}

fn missing(project: &Path) -> EngineError {
    EngineError::new(Kind::NotFound, format!("no callstack store in {}", project.display()))
        .with_hint("Name the project's folder: `callstack trust PATH`.")
}

fn recorded(record: &Record) -> RecordedStore {
    let is_there = record.project.join(FOLDER).is_dir();
    RecordedStore {
        project: record.project.display().to_string(),
        id: record.id.to_string(),
        store: if is_there { Presence::There } else { Presence::Gone },
    }
}

fn inspected(found: &Inspection) -> InspectedStore {
    let problem = found.obstacle.as_ref().map(|obstacle| Obstacle {
        message: obstacle.to_string(),
        hint: obstacle.hint(),
        tracked: match obstacle {
            Distrust::Tracked { paths, .. } => {
                paths.iter().map(|path| path.display().to_string()).collect()
            }
            _ => Vec::new(),
        },
    });
    InspectedStore {
        project: found.project.display().to_string(),
        store: found.project.join(FOLDER).display().to_string(),
        trusted: found.is_trusted,
        id: found.id.as_ref().map(ToString::to_string),
        made_in: found.record.as_ref().map(|it| it.project.display().to_string()),
        files: found.files.0,
        bytes: found.files.1,
        database: found.database,
        states: found.has_git,
        owner: found.owner,
        changed_at: found.changed,
        problem,
        foreign: found.foreign.map(|part| match part {
            Foreign::Database => ForeignPart::Database,
            Foreign::Log => ForeignPart::Log,
        }),
        taken_over: None,
    }
}

/// Moves the states of files to the place that they have now: from the place that they had in older stores, or from the
/// store that this one is a copy of. Returns how many files these were.
fn states(taken: &TakenOver) -> Result<u64, EngineError> {
    let older = taken.record.project.join(FOLDER).join("git");
    let to = taken.states.join("git");
    let failed = |path: &Path, error: std::io::Error| {
        CommandError::of_file("take over", path, error).into_error()
    };
    let mut count = 0;
    if let Some(copied) = &taken.copied {
        let from = copied.join("git");
        count += callstack_work_tree::take_objects(&from, &to).map_err(|it| failed(&from, it))?;
    }
    count += callstack_work_tree::take_objects(&older, &to).map_err(|it| failed(&older, it))?;
    if std::fs::symlink_metadata(&older).is_ok_and(|it| it.is_dir()) {
        // A folder that can't be removed only takes some space.
        drop(std::fs::remove_dir_all(&older));
    }
    Ok(count)
}
