mod mcp;

use std::path::{Path, PathBuf};

use callstack_engine::{EngineError, Kind, SLASH, layout, path_text};
use callstack_server::{Records, Running};
use callstack_store::Registry;
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::binary;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, GOOD, PLAIN, Page, WARN};
use crate::plugin::{self, Outcome};
use crate::project::open_with;
use crate::slash_files;
use crate::tui_plugin;
use crate::user::{self, registry};
use crate::wording::for_a_terminal;

/// Let an agent work in frames, in this project
///
/// For OpenCode this writes the plugin `.opencode/plugin/callstack.ts` and the slash commands `/push`, `/pop`,
/// `/plan` and `/frame-status` in `.opencode/command`, shows the frames in its full-screen interface by a plugin in
/// `.opencode/tui` that it lists in `.opencode/tui.json`, and makes a store in `.callstack`. Outside the project it writes
/// only to `~/.local/state/callstack`: where the program is, and that the store is yours.
/// Run it again after an update of callstack to bring these files up to date; slash commands that somebody has
/// changed are left alone.
///
/// For other agents (`mcp`) it tells their programs to start `callstack mcp`: Claude Code in `.mcp.json` of the
/// project, Codex in its `config.toml`, where these programs are there; for any other it prints what to write. The
/// first frame makes the store.
#[derive(Debug, clap::Args)]
pub(crate) struct InitArgs {
    /// The agent
    #[arg(value_name = "opencode|mcp")]
    agent: Agent,
    /// The project's folder [default: the project that has a store, else the root of the work tree]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Remove the plugin, the commands and the files for other programs; a store with frames in it is kept
    #[arg(long)]
    remove: bool,
    /// Delete the store with all frames, messages and logs, too
    #[arg(long, requires = "remove")]
    with_store: bool,
    /// Delete it without asking
    #[arg(long, short, requires = "with_store")]
    yes: bool,
}

/// Agents that can work in frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Agent {
    /// OpenCode
    Opencode,
    /// Claude Code, Codex and whatever else speaks the Model Context Protocol
    Mcp,
}

pub(crate) fn run(
    args: &InitArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let place = &invocation.place;
    let project = match &args.folder {
        Some(folder) => place.not_home(place.folder(folder)?)?,
        None => place.existing_or_new()?,
    };
    if args.agent == Agent::Mcp {
        return mcp::run(args, &project, output);
    }
    if args.remove { remove(args, &project, output) } else { print_installed(&project, output) }
}

/// The outcome of an installation.
pub(crate) struct Installed {
    plugin: Outcome,
    commands: Vec<(PathBuf, Outcome)>,
    interface: tui_plugin::Change,
    store: PathBuf,
    begun: Begun,
    /// Why git does not ignore the files for other programs.
    tracked: Option<EngineError>,
}

/// How an installation found the project's store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begun {
    There,
    New,
    /// It had been deleted, but not by callstack.
    PutBack,
}

impl Begun {
    fn as_str(self) -> &'static str {
        match self {
            Self::There => "unchanged",
            Self::New => "made",
            Self::PutBack => "put back",
        }
    }
}

/// Makes a project's store and puts the plugin into the project.
pub(crate) fn install(registry: &Registry, project: &Path) -> Result<Installed, CommandError> {
    let was_there = project.join(callstack_store::FOLDER).is_dir();
    plugin::refuse_outside(project)?;
    tui_plugin::refuse_outside(project)?;
    // The store is opened first, so that one that can't be used leaves the project as it was.
    let engine = open_with(registry, project)?;
    let store = engine.store_path().to_path_buf();
    let begun = match (was_there, engine.newest_event()?.seq) {
        (true, _) => Begun::There,
        (false, 0) => Begun::New,
        (false, _) => Begun::PutBack,
    };
    let tracked = engine.check_files_untracked().err();
    drop(engine);
    let plugin = plugin::install(project)?;
    let commands = slash_files::install(project)?;
    let interface = tui_plugin::install(project)?;
    Ok(Installed { plugin, commands, interface, store, begun, tracked })
}

fn print_installed(project: &Path, output: &mut Output) -> Result<(), CommandError> {
    // This comes first, so that a program that plugins can't find leaves the project as it was.
    let binary = binary::record()?;
    let Installed { plugin: outcome, commands, interface, store, begun, tracked } =
        install(&registry()?, project)?;
    if let Some(error) = &tracked {
        let hint = error.hint.as_ref().map(for_a_terminal).unwrap_or_default();
        output.remark(&format!("{}. {hint}", error.message));
    }
    let value = json!({
        "project": path_text(project),
        "plugin": {"path": path_text(&plugin::path(project)), "change": outcome.as_str()},
        "commands": changes(&commands),
        "interface": changes(&[interface.file.clone(), interface.entry.clone()]),
        "binary": path_text(&binary),
        "store": {"path": path_text(&store), "change": begun.as_str()},
    });
    output.either(&value, |page| {
        let (said, style) = said(outcome);
        print_outcome(page, style, "plugin", said, &plugin::path(project));
        print_commands(page, &commands);
        print_interface(page, &interface);
        let (said, style) = match begun {
            Begun::There => ("is there", DIM),
            begun => (begun.as_str(), GOOD),
        };
        print_outcome(page, style, "store", said, &store);
        if project.ancestors().any(|folder| folder.join(".git").exists()) {
            let advice = "Commit what is new in .opencode if others work here with callstack, too.";
            page.put(PLAIN, advice).end();
            if tracked.is_none() {
                let rest = "Git ignores the rest: .callstack and .opencode/stack.";
                page.put(PLAIN, rest).end();
            }
        }
        let next = "Restart OpenCode in this project. `callstack tree` shows what its agent does.";
        page.put(PLAIN, next).end();
    })
}

/// The outcome for the store.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Store {
    Absent,
    Kept,
    Removed,
}

/// Fails where there may be a store of which nothing would be removed.
fn refuse_hidden(registry: &Registry, project: &Path) -> Result<(), CommandError> {
    registry.refuse_of_member(project).map_err(EngineError::from)?;
    match registry.unreadable_records().map_err(EngineError::from)?.first() {
        None => Ok(()),
        Some(record) => {
            let message = format!("the record {} can't be read", record.display());
            let hint = "It may be the one of this project, so nothing was removed. Where root has made it, give its folder \
                to yourself with `sudo chown -R`.";
            Err(EngineError::new(Kind::Unavailable, message).with_hint(hint).into())
        }
    }
}

fn remove(args: &InitArgs, project: &Path, output: &mut Output) -> Result<(), CommandError> {
    plugin::refuse_outside(project)?;
    tui_plugin::refuse_outside(project)?;
    let folder = project.join(callstack_store::FOLDER);
    let registry = registry()?;
    // One that was deleted by hand is kept, and has to be there for its deletion.
    let is_there = folder.is_dir() || (args.with_store && registry.keeps(project));
    let mut store = if is_there { Store::Kept } else { Store::Absent };
    if args.with_store && !is_there {
        refuse_hidden(&registry, project)?;
    }
    // Files that a store wrote stay if it can't be used: they can't be told from those of others.
    let engine = (store == Store::Kept).then(|| open_with(&registry, project)).transpose();
    let engine = match engine {
        Err(error) if args.with_store && error.is_of_damage() => {
            if !agreed(args, &folder, output)? {
                output.remark("nothing was removed");
                return Ok(());
            }
            registry.delete(&registry.admit(project)?)?;
            store = Store::Removed;
            None
        }
        Err(error) if args.with_store && error.kind != Kind::Untrusted => return Err(error.into()),
        engine => engine.ok().flatten(),
    };
    let is_foreign = store == Store::Kept && engine.is_none();
    // The question comes before anything is removed, for those who do not want all of it to go.
    if args.with_store
        && engine.as_ref().is_some_and(|engine| !engine.is_unused().unwrap_or(false))
        && !agreed(args, &folder, output)?
    {
        output.remark("nothing was removed");
        return Ok(());
    }
    let files = match &engine {
        Some(engine) => engine.remove_files()?,
        None => layout::folder(project).is_dir().then_some(false),
    };
    // The plugin goes first: it would begin another store.
    let interface = tui_plugin::remove(project)?;
    let commands = slash_files::remove(project)?;
    let outcome = plugin::remove(project)?;
    if let Some(engine) = engine {
        let unused = engine.is_unused()?;
        drop(engine);
        if unused || args.with_store {
            registry.delete(&registry.admit(project)?)?;
            store = Store::Removed;
        }
    }
    if store == Store::Removed
        && let Some(state) = user::state()
    {
        for server in Records::of(&state, project).running().unwrap_or_default() {
            let Running { pid, .. } = server;
            output.remark(&format!(
                "callstack serve still runs for this project, in process {pid}: Ctrl-C there or `kill {pid}` ends it"
            ));
        }
    }
    let change = if store == Store::Removed { "removed" } else { "unchanged" };
    let value = json!({
        "project": path_text(project),
        "plugin": {"path": path_text(&plugin::path(project)), "change": outcome.as_str()},
        "commands": changes(&commands),
        "interface": changes(&[interface.file.clone(), interface.entry.clone()]),
        "store": (store != Store::Absent).then(|| json!({"path": path_text(&folder), "change": change})),
    });
    output.either(&value, |page| {
        let style = if outcome == Outcome::Removed { GOOD } else { DIM };
        print_outcome(page, style, "plugin", outcome.as_str(), &plugin::path(project));
        print_commands(page, &commands);
        print_interface(page, &interface);
        match files {
            Some(true) => print_outcome(page, GOOD, "files", "removed", &layout::folder(project)),
            Some(false) => {
                print_outcome(page, DIM, "files", "of another store, and kept", &layout::folder(project));
            }
            None => {}
        }
        match store {
            Store::Removed => print_outcome(page, GOOD, "store", "removed", &folder),
            Store::Kept => {
                print_outcome(page, DIM, "store", "kept", &folder);
                let how = if is_foreign {
                    "It can't be opened here (`callstack trust` says why): delete the folder if it is to go."
                } else {
                    "It holds all frames and logs. Delete it with `--remove --with-store`."
                };
                page.put(PLAIN, how).end();
            }
            Store::Absent => {}
        }
    })
}

/// Whether a store with frames in it is to be deleted.
fn agreed(args: &InitArgs, folder: &Path, output: &mut Output) -> Result<bool, CommandError> {
    let about = format!("{} with all frames, messages and logs", folder.display());
    let unasked = EngineError::invalid(
        format!("this would delete {about}, and nobody can be asked here"),
        "Give --yes to do it.",
    );
    Ok(args.yes || output.confirm(&format!("Delete {about} for good?"), unasked)?)
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

/// Prints the outcome for each command, or one line if it is the same for all.
fn print_commands(page: &mut Page, commands: &[(PathBuf, Outcome)]) {
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
        print_outcome(page, style, "command", said, path);
    }
}

/// Prints the outcome for the plugin of the interface, and for its entry if that is another one.
fn print_interface(page: &mut Page, interface: &tui_plugin::Change) {
    let ((file, of_file), (list, of_entry)) = (&interface.file, &interface.entry);
    if *of_entry == Outcome::Kept {
        print_outcome(page, WARN, "interface", "not installed, since this can't be read", list);
        return;
    }
    let (text, style) = said(*of_file);
    print_outcome(page, style, "interface", text, file);
    if *of_entry == Outcome::Removed && *of_file == Outcome::Absent {
        print_outcome(page, GOOD, "interface's entry", "removed", list);
    }
}

fn print_outcome(page: &mut Page, style: anstyle::Style, what: &str, said: &str, path: &Path) {
    page.put(PLAIN, what).put(PLAIN, " ").put(style, said);
    page.put(PLAIN, &format!(": {}", path.display())).end();
}
