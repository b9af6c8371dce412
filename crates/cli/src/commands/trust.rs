use std::path::{Path, PathBuf};

use callstack_engine::{EngineError, Kind, SystemWorld, World as _};
use callstack_store::{
    Distrust, FOLDER, Foreign, Inspection, Record, Registry, StoreError, TakenOver,
};
use serde_json::{Value, json};

use crate::args::Agreement;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, GOOD, PLAIN, Page, WARN, when};
use crate::project::StartFolder;
use crate::user::registry;
use crate::wording::{bytes, counted};

/// Trust a store that was not made here
///
/// A store decides what an agent is sent, and a project that you clone may contain a store made by somebody else.
/// callstack therefore keeps a record of your stores in your state folder, and refuses any other store, or one
/// that was copied or moved, until you say that it is yours. You first see what can be told of it without opening
/// it. A store that git tracks, or that leads out of its folder, is never trusted.
///
/// In containers and in continuous integration, set `CALLSTACK_TRUST` to the paths of your projects, with `:`
/// between them.
#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// The project's folder [default: the project that has a store]
    path: Option<PathBuf>,
    /// List all stores on record
    #[arg(long, conflicts_with_all = ["path", "revoke", "yes", "dry_run"])]
    list: bool,
    /// Stop trusting it; the store itself stays as it is
    #[arg(long, conflicts_with_all = ["yes", "dry_run"])]
    revoke: bool,
    #[command(flatten)]
    agreement: Agreement,
}

pub(crate) fn run(
    args: &TrustArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let (registry, place) = (registry()?, &invocation.place);
    if args.list {
        return list(&registry.records()?, output);
    }
    if args.revoke {
        return revoke(&registry, &meant(args, place, false)?, output);
    }
    let project = meant(args, place, true)?;
    let found = registry.inspect(&project)?.ok_or_else(|| missing(&project))?;
    if found.is_trusted || found.obstacle.is_some() || args.agreement.dry_run {
        output.either(&data(&found), |page| tell(page, &found))?;
        let refused = found.obstacle.map(|obstacle| StoreError::from(obstacle).into());
        return refused.map_or(Ok(()), |error: EngineError| Err(error.into()));
    }
    if !args.agreement.yes {
        let unasked = EngineError::invalid(
            format!("{} is not trusted yet, and nobody can be asked here", store(&found.project)),
            "`callstack trust --dry-run` shows what is in it; --yes takes it over.",
        );
        if !output.json() {
            let mut page = Page::default();
            tell(&mut page, &found);
            output.page(&page)?;
        }
        if !output.confirm("Trust this store?", unasked)? {
            return output.either(&json!(null), |page| {
                page.put(PLAIN, "it is not trusted, and nothing was changed").end();
            });
        }
    }
    let taken = registry.take_over(&found.project)?;
    let states = states(&taken)?;
    let mut told = data(&found);
    told["trusted"] = json!(true);
    told["id"] = json!(taken.record.id.to_string());
    output.either(&told, |page| {
        if args.agreement.yes {
            tell(page, &found);
        }
        page.put(GOOD, "trusted").put(PLAIN, &format!(": {}", store(&found.project))).end();
        if taken.copied.is_some() {
            page.put(DIM, "it is a copy, and has an id of its own from now on").end();
        }
        if states > 0 {
            let files = counted(states, "file");
            page.put(DIM, &format!("{files} of states of the project's files went with it")).end();
        }
    })
}

/// Returns the project that the arguments mean.
fn meant(args: &TrustArgs, place: &StartFolder, is_there: bool) -> Result<PathBuf, CommandError> {
    let project = match &args.path {
        // A project that is gone can still be on record, and be revoked.
        Some(path) if !is_there => place.folder(path).unwrap_or_else(|_| place.start().join(path)),
        Some(path) => place.folder(path)?,
        None => place.found().unwrap_or_else(|| place.new_project()),
    };
    Ok(place.not_home(project)?)
}

fn missing(project: &Path) -> EngineError {
    EngineError {
        kind: Kind::NotFound,
        message: format!("no callstack store in {}", project.display()),
        hint: Some("Name the project's folder: `callstack trust PATH`.".to_owned()),
    }
}

fn store(project: &Path) -> String {
    project.join(FOLDER).display().to_string()
}

/// Moves the states of files to the place that they have now: from the place that they had in older stores, or from the
/// store that this one is a copy of. Returns how many files these were.
fn states(taken: &TakenOver) -> Result<u64, CommandError> {
    let older = taken.record.project.join(FOLDER).join("git");
    let to = taken.states.join("git");
    let failed =
        |path: &Path, error: std::io::Error| CommandError::of_file("take over", path, &error);
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

fn list(records: &[Record], output: &mut Output) -> Result<(), CommandError> {
    let state = |record: &Record| {
        if record.project.join(FOLDER).is_dir() { "there" } else { "gone" }
    };
    let told = |record: &Record| {
        json!({
            "project": record.project.display().to_string(),
            "id": record.id.to_string(),
            "store": state(record),
        })
    };
    let value = json!({"stores": records.iter().map(told).collect::<Vec<_>>()});
    output.either(&value, |page| {
        for record in records {
            page.put(PLAIN, &record.project.display().to_string());
            if state(record) == "gone" {
                page.put(DIM, "  its store is gone");
            }
            page.end();
        }
        if records.is_empty() {
            page.put(DIM, "no store is on record").end();
        }
    })
}

fn revoke(registry: &Registry, project: &Path, output: &mut Output) -> Result<(), CommandError> {
    if !registry.revoke(project)? {
        return Err(EngineError {
            kind: Kind::NotFound,
            message: format!("no store of {} is on record", project.display()),
            hint: Some("`callstack trust --list` shows those that are.".to_owned()),
        }
        .into());
    }
    let value = json!({"project": project.display().to_string(), "trusted": false});
    output.either(&value, |page| {
        page.put(PLAIN, &format!("not trusted any more: {}", store(project))).end();
    })
}

fn data(found: &Inspection) -> Value {
    let problem = found
        .obstacle
        .as_ref()
        .map(|obstacle| json!({"message": obstacle.to_string(), "hint": obstacle.hint()}));
    json!({
        "project": found.project.display().to_string(),
        "store": store(&found.project),
        "trusted": found.is_trusted,
        "id": found.id.as_ref().map(ToString::to_string),
        "madeIn": found.record.as_ref().map(|it| it.project.display().to_string()),
        "files": found.files.0,
        "bytes": found.files.1,
        "database": found.database,
        "states": found.has_git,
        "owner": found.owner,
        "changedAt": found.changed,
        "problem": problem,
    })
}

fn tell(page: &mut Page, found: &Inspection) {
    page.put(PLAIN, &store(&found.project)).end();
    let mut line = |style, text: &str| {
        page.put(PLAIN, "  ").put(style, text).end();
    };
    let (files, size) = found.files;
    line(PLAIN, &format!("{}, {}", counted(files, "file"), bytes(size)));
    match found.database {
        Some(size) => line(
            PLAIN,
            &format!(
                "a database, {}: frames, messages and settings, which decide what agents are sent",
                bytes(size)
            ),
        ),
        None => line(PLAIN, "no database"),
    }
    if found.has_git {
        line(
            PLAIN,
            "states of the project's files; their objects are taken over, and no configuration",
        );
    }
    if let Some(changed) = found.changed {
        line(DIM, &format!("last changed {}", when(changed, SystemWorld.now())));
    }
    if let Some(owner) = found.owner {
        line(DIM, &format!("belongs to user {owner}"));
    }
    match (&found.obstacle, &found.record) {
        (Some(Distrust::Tracked { paths, .. }), _) => {
            for path in paths.iter().take(10) {
                line(WARN, &format!("git tracks {}", path.display()));
            }
        }
        (Some(_), _) => {}
        (None, _) if found.is_trusted => line(GOOD, "it is trusted"),
        (None, Some(_)) if found.foreign == Some(Foreign::Database) => {
            line(WARN, "its database is not the one that callstack made here");
        }
        (None, Some(_)) if found.foreign == Some(Foreign::Log) => {
            line(WARN, "the log of writes beside its database has no mark of callstack's");
        }
        (None, Some(record)) => {
            line(WARN, &format!("it was made in {}", record.project.display()));
        }
        (None, None) if found.id.is_some() => line(WARN, "it is not on record here"),
        (None, None) => line(WARN, "it has no id: an older callstack made it, or somebody else"),
    }
}
