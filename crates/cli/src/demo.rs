//! `callstack demo`: a real OpenCode session with three nested frames, and the tokens that these saved.

mod agent;
mod report;
mod script;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use callstack_core::frame::Status;
use callstack_engine::tree::sign;
use callstack_engine::{
    Engine, EngineError, FrameList, Settings, SystemWorld, World as _, operations,
};
use callstack_hosts::opencode::calls;
use callstack_scripted_model::ScriptedModel;
use callstack_store::Registry;
use serde_json::{Value, json};

use self::agent::{Agent, at, failure};
use crate::binary;
use crate::commands::demo::DemoArgs;
use crate::commands::init;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{BOLD, DIM, HINT, PLAIN, Page, style};
use crate::tree_view::Drawing;
use crate::user::{TRUST, registry, registry_in};

/// The time between two looks at the tree while the agent works.
const LOOK: Duration = Duration::from_millis(200);

/// Runs the demo and shows its outcome.
pub(crate) fn run(args: &DemoArgs, output: &mut Output) -> Result<(), CommandError> {
    let agent = agent::find(output)?;
    let mut folder = tempfile::Builder::new()
        .prefix("callstack-demo-")
        .tempdir()
        .map_err(|error| at(&std::env::temp_dir(), &error))?;
    let project = folder.path().join("project");
    fs::create_dir(&project).map_err(|error| at(&project, &error))?;
    // A project that is removed again is not recorded among the user's.
    let registry =
        if args.remove { registry_in(&folder.path().join("state/callstack")) } else { registry()? };
    let played = play(args, &agent, folder.path(), &project, &registry, output);
    match &played {
        Ok(()) => folder.disable_cleanup(!args.remove),
        // No output has named the project yet: its record is removed with it.
        Err(_) => drop(registry.admit(&project).and_then(|store| registry.delete(&store))),
    }
    played
}

fn play(
    args: &DemoArgs,
    agent: &Agent,
    folder: &Path,
    project: &Path,
    registry: &Registry,
    output: &mut Output,
) -> Result<(), CommandError> {
    init::install(registry, project)?;
    let engine =
        Engine::open(registry.admit(project)?, Settings::default(), Box::new(SystemWorld))?;
    let model = args.model.as_deref().unwrap_or("a scripted model");
    output.remark(&format!("OpenCode works with {model}: this takes half a minute"));
    let mut watch = Watch::new(&engine);
    match &args.model {
        Some(model) => {
            let mut command = opencode(agent, project)?;
            command.args(["--model", model]);
            let prompt = format!("{}{}", script::PROMPT, script::HINT);
            finish(command, &prompt, &mut watch, output)?;
        }
        None => scripted(agent, folder, project, &mut watch, output)?,
    }
    show(args, &engine, project, output)
}

fn show(
    args: &DemoArgs,
    engine: &Engine,
    project: &Path,
    output: &mut Output,
) -> Result<(), CommandError> {
    let Some((session, _)) = engine.latest_session()? else {
        return Err(failure(
            "OpenCode ran, but its plugin showed no session".to_owned(),
            "Look at the project with `callstack doctor`.",
        )
        .into());
    };
    let calls = calls(engine, &session)?;
    let kept = (!args.remove).then(|| project.display().to_string());
    let data = json!({
        "project": kept,
        "state": asked(engine, "stack_get_state", json!({}))?,
        "calls": report::data(&calls),
    });
    let list = frames(engine, "whole")?;
    let width = output.width();
    output.either(&data, |page| {
        page.end().put(BOLD, "The tree").end();
        let drawing = Drawing { all: true, width, now: SystemWorld.now(), ..Drawing::default() };
        drawing.draw(page, &list);
        if let Some(open) = &list.active {
            let goes_on = "stays open: it is the session itself, and goes on with the next request";
            page.put(DIM, &format!("{open} {goes_on}")).end();
        }
        page.end();
        if args.verbose {
            report::write(page, &calls, width);
            page.end();
        }
        if let Some(kept) = &kept {
            let look = format!("callstack -C {kept} show f2");
            page.put(PLAIN, "Look around: ").put(HINT, &look);
            page.put(DIM, "  (also log, tree, search, status)").end();
        }
        if !args.verbose {
            page.put(DIM, "What each call was sent: callstack demo --verbose").end();
        }
        report::verdict(page, &calls);
    })
}

/// Returns the frames, in a detail of `stack_frames`.
fn frames(engine: &Engine, detail: &str) -> Result<FrameList, CommandError> {
    let data = asked(engine, "stack_frames", json!({ "detail": detail }))?;
    serde_json::from_value(data).map_err(CommandError::of_shape)
}

/// Returns the data of an operation's answer.
fn asked(engine: &Engine, operation: &str, arguments: Value) -> Result<Value, CommandError> {
    let caller = Invocation::caller_of(None, engine)?;
    Ok(operations::named(operation)?.run(engine, &caller, arguments)?.data)
}

/// Prints frames as they begin and end.
struct Watch<'a> {
    engine: &'a Engine,
    shown: BTreeMap<String, Status>,
}

impl<'a> Watch<'a> {
    fn new(engine: &'a Engine) -> Self {
        Self { engine, shown: BTreeMap::new() }
    }

    /// Prints the changes since the last look.
    fn look(&mut self, output: &mut Output) -> Result<(), CommandError> {
        if output.json() {
            return Ok(());
        }
        let list = frames(self.engine, "titles")?;
        let changed = list.frames.iter().filter(|frame| {
            self.shown.insert(frame.handle.clone(), frame.status) != Some(frame.status)
        });
        // Of several frames that began since the last look, the outer ones began first; of those that ended, the inner
        // ones ended first.
        let (ended, begun): (Vec<_>, Vec<_>) =
            changed.partition(|frame| frame.status.is_finished());
        let mut page = Page::default();
        for frame in begun.into_iter().chain(ended.into_iter().rev()) {
            let depth = usize::try_from(frame.depth).unwrap_or_default();
            page.put(PLAIN, &"  ".repeat(depth + 1));
            page.put(style(frame.status), sign(frame.status));
            page.put(PLAIN, &format!(" {} {}", frame.handle, frame.title)).end();
        }
        output.page(&page)
    }
}

fn scripted(
    agent: &Agent,
    folder: &Path,
    project: &Path,
    watch: &mut Watch<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let model = ScriptedModel::start(script::script()).map_err(|error| {
        failure(format!("the scripted model did not start: {error}"), "Try again.")
    })?;
    let config = json!({
        "provider": { "scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": model.base_url(), "apiKey": "dummy" },
            "models": { "scripted": {
                "limit": { "context": 128_000, "output": 8_000 }, "tool_call": true,
            } },
        } },
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": false,
        "share": "disabled",
        "permission": { "edit": "allow", "bash": "allow", "external_directory": "allow" },
    });
    write(&project.join("opencode.json"), &config.to_string())?;
    let home = folder.join("home");
    let config_home = home.join("config");
    for settings in [project.join(".opencode"), config_home.join("opencode")] {
        seed(agent, &settings)?;
    }
    let mut command = opencode(agent, project)?;
    // A home of its own: the demo neither reads nor writes the user's settings and sessions.
    for (name, value) in [
        ("HOME", home.clone()),
        ("XDG_CONFIG_HOME", config_home),
        ("XDG_DATA_HOME", home.join("data")),
        ("XDG_CACHE_HOME", home.join("cache")),
        ("XDG_STATE_HOME", home.join("state")),
    ] {
        fs::create_dir_all(&value).map_err(|error| at(&value, &error))?;
        command.env(name, value);
    }
    finish(command, script::PROMPT, watch, output)?;
    let findings = model.violations();
    if let Some(first) = findings.first() {
        return Err(failure(
            format!("a request was not what it should be: {first}"),
            "This is a fault of callstack or of this version of OpenCode; please report it.",
        )
        .into());
    }
    Ok(())
}

/// Spares OpenCode the installation of a package that the plugin never uses, where we have it.
fn seed(agent: &Agent, folder: &Path) -> Result<(), EngineError> {
    let Some(modules) = &agent.modules else { return Ok(()) };
    let link = folder.join("node_modules");
    if link.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(|error| at(folder, &error))?;
    #[cfg(unix)]
    std::os::unix::fs::symlink(modules, &link).map_err(|error| at(&link, &error))?;
    let wants = json!({ "dependencies": { "@opencode-ai/plugin": "1.18.33" } });
    let lock = json!({ "lockfileVersion": 3, "requires": true, "packages": { "": wants } });
    write(&folder.join("package.json"), &wants.to_string())?;
    write(&folder.join("package-lock.json"), &lock.to_string())
}

fn opencode(agent: &Agent, project: &Path) -> Result<Command, EngineError> {
    let program = binary::this()?;
    let mut command = Command::new(&agent.program);
    command
        .arg("run")
        .current_dir(project)
        // OpenCode takes the project from here before it looks at its working directory.
        .env("PWD", project)
        // Its plugin may look for the record of stores elsewhere.
        .env(TRUST, project)
        .env(binary::VARIABLE, program)
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1");
    Ok(command)
}

fn finish(
    mut command: Command,
    prompt: &str,
    watch: &mut Watch<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let program = PathBuf::from(command.get_program());
    let failed = |error| at(&program, &error);
    // As an argument, a prompt of several words reaches the model in quotation marks.
    let mut input = tempfile::tempfile().map_err(failed)?;
    input.write_all(prompt.as_bytes()).and_then(|()| input.rewind()).map_err(failed)?;
    // A pipe that nobody reads would block the program once it is full.
    let mut said = tempfile::tempfile().map_err(failed)?;
    command.stdin(input).stdout(Stdio::null());
    command.stderr(said.try_clone().map_err(failed)?);
    let mut child = command.spawn().map_err(failed)?;
    let ended = loop {
        watch.look(output)?;
        if let Some(ended) = child.try_wait().map_err(failed)? {
            break ended;
        }
        thread::sleep(LOOK);
    };
    watch.look(output)?;
    if ended.success() {
        return Ok(());
    }
    let mut text = Vec::new();
    said.rewind().and_then(|()| said.read_to_end(&mut text)).map_err(failed)?;
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(failure(
        format!("OpenCode ended with {ended}: {}", last.trim()),
        "Run `opencode` by itself to see whether it works here.",
    )
    .into())
}

fn write(path: &Path, text: &str) -> Result<(), EngineError> {
    fs::write(path, text).map_err(|error| at(path, &error))
}
