use std::path::{Path, PathBuf};

use callstack_engine::{EngineError, Kind, SystemWorld, World as _};
use callstack_store::FOLDER;
use serde_json::json;

use crate::args::Agreement;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::operations::trust::{
    ForeignPart, InspectedStore, Obstacle, Presence, RecordedStores, Trust, TrustAction,
    TrustOutput, TrustParams,
};
use crate::output::Output;
use crate::page::{DIM, GOOD, PLAIN, Page, WARN, when};
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
    let done = |action: TrustAction, output: &Output| {
        let params = TrustParams { path: args.path.clone(), action };
        invocation.on_machine::<Trust>(output, params)
    };
    let action = match (args.list, args.revoke) {
        (true, _) => TrustAction::List,
        (_, true) => TrustAction::Revoke,
        _ => TrustAction::Inspect,
    };
    let found = match done(action, output)? {
        TrustOutput::Stores(stores) => return list(&stores, output),
        TrustOutput::Revoked(revoked) => {
            let store = store(&revoked.project);
            return output.either(&json!(revoked), |page| {
                page.put(PLAIN, &format!("not trusted any more: {store}")).end();
            });
        }
        TrustOutput::Inspected(found) => found,
    };
    if found.trusted || found.problem.is_some() || args.agreement.dry_run {
        output.either(&json!(found), |page| print_store(page, &found))?;
        return match found.problem {
            Some(Obstacle { message, hint, .. }) => {
                Err(EngineError::new(Kind::Untrusted, message).with_hint(hint).into())
            }
            None => Ok(()),
        };
    }
    if !args.agreement.yes {
        let unasked = EngineError::invalid(
            format!("{} is not trusted yet, and nobody can be asked here", found.store),
            "`callstack trust --dry-run` shows what is in it; --yes takes it over.",
        );
        if !output.json() {
            let mut page = Page::default();
            print_store(&mut page, &found);
            output.page(&page)?;
        }
        if !output.confirm("Trust this store?", unasked)? {
            return output.either(&json!(null), |page| {
                page.put(PLAIN, "it is not trusted, and nothing was changed").end();
            });
        }
    }
    let taken = done(TrustAction::TakeOver, output)?;
    output.either(&json!(taken), |page| {
        if args.agreement.yes {
            print_store(page, &found);
        }
        page.put(GOOD, "trusted").put(PLAIN, &format!(": {}", found.store)).end();
        let TrustOutput::Inspected(store) = &taken else { return };
        let Some(taken) = &store.taken_over else { return };
        if taken.is_copy {
            page.put(DIM, "it is a copy, and has an id of its own from now on").end();
        }
        if taken.states > 0 {
            let files = counted(taken.states, "file");
            page.put(DIM, &format!("{files} of states of the project's files went with it")).end();
        }
    })
}

fn store(project: &str) -> String {
    Path::new(project).join(FOLDER).display().to_string()
}

fn list(recorded: &RecordedStores, output: &mut Output) -> Result<(), CommandError> {
    output.either(&json!(recorded), |page| {
        for record in &recorded.stores {
            page.put(PLAIN, &record.project);
            if record.store == Presence::Gone {
                page.put(DIM, "  its store is gone");
            }
            page.end();
        }
        for record in &recorded.unreadable {
            page.put(WARN, &format!("{record} can't be read")).end();
        }
        if recorded.stores.is_empty() {
            page.put(DIM, "no store is on record").end();
        }
    })
}

fn print_store(page: &mut Page, found: &InspectedStore) {
    page.put(PLAIN, &found.store).end();
    let mut line = |style, text: &str| {
        page.put(PLAIN, "  ").put(style, text).end();
    };
    line(PLAIN, &format!("{}, {}", counted(found.files, "file"), bytes(found.bytes)));
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
    if found.states {
        line(
            PLAIN,
            "states of the project's files; their objects are taken over, and no configuration",
        );
    }
    if let Some(changed) = found.changed_at {
        line(DIM, &format!("last changed {}", when(changed, SystemWorld.now())));
    }
    if let Some(owner) = found.owner {
        line(DIM, &format!("belongs to user {owner}"));
    }
    match (&found.problem, &found.made_in) {
        (Some(problem), _) => {
            for path in problem.tracked.iter().take(10) {
                line(WARN, &format!("git tracks {path}"));
            }
        }
        (None, _) if found.trusted => line(GOOD, "it is trusted"),
        (None, Some(_)) if found.foreign == Some(ForeignPart::Database) => {
            line(WARN, "its database is not the one that callstack made here");
        }
        (None, Some(_)) if found.foreign == Some(ForeignPart::Log) => {
            line(WARN, "the write-ahead log beside its database has no mark of callstack's");
        }
        (None, Some(made_in)) => line(WARN, &format!("it was made in {made_in}")),
        (None, None) if found.id.is_some() => line(WARN, "it is not on record here"),
        (None, None) => line(WARN, "it has no id: an older callstack made it, or somebody else"),
    }
}
