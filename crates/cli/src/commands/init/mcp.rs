//! The entry that has agents' programs start `callstack mcp`.

use std::path::{Path, PathBuf};

use callstack_engine::{EngineError, path_text};
use serde_json::{Value, json};

use super::{InitArgs, print_outcome, said};
use crate::clients::{self, ARGUMENT, Client};
use crate::error::CommandError;
use crate::output::Output;
use crate::page::PLAIN;
use crate::plugin::{Outcome, refuse_links_out};

/// A program, the file with our entry, and the outcome of the change.
type Change = (Client, PathBuf, Outcome);

pub(super) fn run(
    args: &InitArgs,
    project: &Path,
    output: &mut Output,
) -> Result<(), CommandError> {
    if args.with_store {
        return Err(EngineError::invalid(
            "`callstack init mcp` makes no store, and removes none",
            "`callstack init opencode --remove --with-store` deletes the store.",
        )
        .into());
    }
    refuse_links_out(project, &[".mcp.json"])?;
    if args.remove { remove(project, output) } else { install(project, output) }
}

fn install(project: &Path, output: &mut Output) -> Result<(), CommandError> {
    let command = clients::command()?;
    let mut changes = Vec::new();
    for client in Client::ALL.into_iter().filter(|client| client.is_there()) {
        if let Some(file) = client.file(project) {
            let outcome = client.install(&file, &command)?;
            changes.push((client, file, outcome));
        }
    }
    let snippet = json!({"mcpServers": {"callstack": {"command": command, "args": [ARGUMENT]}}});
    let mut value = data(project, &changes);
    value["snippet"] = snippet.clone();
    output.either(&value, |page| {
        for (client, file, outcome) in &changes {
            let (said, style) = said(*outcome);
            print_outcome(page, style, client.name(), said, file);
        }
        for client in Client::ALL {
            if changes.iter().all(|(changed, ..)| *changed != client) {
                page.put(PLAIN, &format!("{} was not found.", client.name())).end();
            }
        }
        page.put(PLAIN, "Any other program, where it keeps its MCP servers:").end();
        page.put(PLAIN, &format!("  {snippet}")).end();
        if !changes.is_empty() {
            let next =
                "Restart the program in this project. `callstack tree` shows what its agent does.";
            page.put(PLAIN, next).end();
        }
    })
}

/// Removes the entry, also for programs that are gone: their files may still be there.
fn remove(project: &Path, output: &mut Output) -> Result<(), CommandError> {
    let mut changes = Vec::new();
    for client in Client::ALL {
        if let Some(file) = client.file(project) {
            let outcome = client.remove(&file)?;
            changes.push((client, file, outcome));
        }
    }
    output.either(&data(project, &changes), |page| {
        for (client, file, outcome) in &changes {
            let (said, style) = said(*outcome);
            print_outcome(page, style, client.name(), said, file);
        }
    })
}

fn data(project: &Path, changes: &[Change]) -> Value {
    let change = |(client, file, outcome): &Change| {
        let (client, change) = (client.name(), outcome.as_str());
        json!({"client": client, "path": path_text(file), "change": change})
    };
    json!({
        "project": path_text(project),
        "clients": changes.iter().map(change).collect::<Vec<_>>(),
    })
}
