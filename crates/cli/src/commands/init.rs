use std::path::{Path, PathBuf};

use callstack_engine::{SLASH, path_text};
use callstack_store::Registry;
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, GOOD, PLAIN, Page};
use crate::plugin::{self, Outcome};
use crate::project::open_with;
use crate::slash_files;
use crate::user::registry;

/// Let an agent work in frames, in this project
///
/// For OpenCode this writes `.opencode/plugin/callstack.ts`, the slash commands `/push`, `/pop`, `/plan`
/// and `/frame-status` in `.opencode/command`, and makes a store in `.callstack`. Nothing else is touched,
/// and doing it again changes nothing; after an update of callstack it brings these files up to date, but
/// for commands that somebody has changed.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// The agent
    agent: Agent,
    /// The project's folder [default: the project that has a store, else the root of the work tree]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Take plugin and commands out again; the store, with all frames and logs, is kept
    #[arg(long)]
    remove: bool,
}

/// Agents that can work in frames.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Agent {
    /// OpenCode
    Opencode,
}

pub(crate) fn run(
    args: &InitArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let Agent::Opencode = args.agent;
    let place = &invocation.place;
    let project = match &args.folder {
        Some(folder) => place.not_home(place.folder(folder)?)?,
        None => place.existing_or_new()?,
    };
    if args.remove { remove(&project, output) } else { tell_installed(&project, output) }
}

/// What an installation came to.
pub(crate) struct Installed {
    plugin: Outcome,
    commands: Vec<(PathBuf, Outcome)>,
    store: PathBuf,
    store_made: bool,
}

/// Makes a project's store and puts the plugin into the project.
pub(crate) fn install(registry: &Registry, project: &Path) -> Result<Installed, Failure> {
    let store_made = !project.join(callstack_store::FOLDER).is_dir();
    // The store first, so that one that can't be used leaves the project as it was.
    let store = open_with(registry, project)?.store_path().to_path_buf();
    let plugin = plugin::install(project)?;
    Ok(Installed { plugin, commands: slash_files::install(project)?, store, store_made })
}

fn tell_installed(project: &Path, output: &mut Output) -> Result<(), Failure> {
    let Installed { plugin: outcome, commands, store, store_made: made } =
        install(&registry()?, project)?;
    let value = json!({
        "project": path_text(project),
        "plugin": {"path": path_text(&plugin::path(project)), "change": outcome.as_str()},
        "commands": changes(&commands),
        "store": {"path": path_text(&store), "change": if made { "made" } else { "unchanged" }},
    });
    output.either(&value, |page| {
        let (said, style) = said(outcome);
        tell(page, style, "plugin", said, &plugin::path(project));
        tell_commands(page, &commands);
        let (said, style) = if made { ("made", GOOD) } else { ("is there", DIM) };
        tell(page, style, "store", said, &store);
        let next = "Restart OpenCode in this project. `callstack tree` shows what its agent does.";
        page.put(PLAIN, next).end();
    })
}

fn remove(project: &Path, output: &mut Output) -> Result<(), Failure> {
    let commands = slash_files::remove(project)?;
    let outcome = plugin::remove(project)?;
    let store = Some(project.join(callstack_store::FOLDER)).filter(|store| store.is_dir());
    let value = json!({
        "project": path_text(project),
        "plugin": {"path": path_text(&plugin::path(project)), "change": outcome.as_str()},
        "commands": changes(&commands),
        "store": store.as_ref().map(|path| json!({"path": path_text(path), "change": "unchanged"})),
    });
    output.either(&value, |page| {
        let style = if outcome == Outcome::Removed { GOOD } else { DIM };
        tell(page, style, "plugin", outcome.as_str(), &plugin::path(project));
        tell_commands(page, &commands);
        if let Some(store) = &store {
            tell(page, DIM, "store", "kept", store);
            let how = "It holds all frames and logs. Delete the folder if you want them gone.";
            page.put(PLAIN, how).end();
        }
    })
}

fn said(outcome: Outcome) -> (&'static str, anstyle::Style) {
    match outcome {
        Outcome::Unchanged => ("is there", DIM),
        Outcome::Absent => (outcome.as_str(), DIM),
        Outcome::Kept => ("is not as callstack wrote it, and kept", DIM),
        outcome => (outcome.as_str(), GOOD),
    }
}

fn changes(commands: &[(PathBuf, Outcome)]) -> Vec<Value> {
    let change = |(path, outcome): &(PathBuf, Outcome)| json!({"path": path_text(path), "change": outcome.as_str()});
    commands.iter().map(change).collect()
}

/// Tells of each command, or of all in a line where the same came of all.
fn tell_commands(page: &mut Page, commands: &[(PathBuf, Outcome)]) {
    let first = commands.first().map(|(_, outcome)| *outcome);
    if let Some(outcome) = first.filter(|first| commands.iter().all(|(_, it)| it == first)) {
        let names: Vec<_> = SLASH.iter().map(|slash| format!("/{}", slash.name)).collect();
        let (said, style) = match outcome {
            Outcome::Unchanged => ("are there", DIM),
            Outcome::Kept => ("are not as callstack wrote them, and kept", DIM),
            outcome => said(outcome),
        };
        page.put(PLAIN, "commands").put(PLAIN, " ").put(style, said);
        page.put(PLAIN, &format!(": {}", names.join(" "))).end();
        return;
    }
    for (path, outcome) in commands {
        let (said, style) = said(*outcome);
        tell(page, style, "command", said, path);
    }
}

fn tell(page: &mut Page, style: anstyle::Style, what: &str, said: &str, path: &Path) {
    page.put(PLAIN, what).put(PLAIN, " ").put(style, said);
    page.put(PLAIN, &format!(": {}", path.display())).end();
}
