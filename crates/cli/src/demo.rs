//! `callstack demo`: a real OpenCode session with three nested frames, and what it saved.

mod agent;
mod report;
mod script;

use std::fs;
use std::io::{Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use callstack_engine::{Engine, EngineError, Settings, SystemWorld};
use callstack_hosts::opencode::calls;
use callstack_scripted_model::ScriptedModel;
use callstack_store::Registry;
use serde_json::json;

use self::agent::{Agent, at, failure};
use crate::commands::demo::DemoArgs;
use crate::commands::{init, tree};
use crate::error::Failure;
use crate::output::Output;
use crate::page::{BOLD, PLAIN};
use crate::user::{TRUST, registry, registry_in};

/// Runs the demo and shows what came of it.
pub(crate) fn run(args: &DemoArgs, output: &mut Output) -> Result<(), Failure> {
    let agent = agent::find(&mut |line| output.remark(line))?;
    let folder = tempfile::Builder::new()
        .prefix("callstack-demo-")
        .disable_cleanup(args.keep)
        .tempdir()
        .map_err(|error| at(&std::env::temp_dir(), &error))?;
    let project = folder.path().join("project");
    fs::create_dir(&project).map_err(|error| at(&project, &error))?;
    // The record of a project that goes again is none of the user's.
    let registry =
        if args.keep { registry()? } else { registry_in(&folder.path().join("state/callstack")) };
    init::install(&registry, &project)?;
    let model = args.model.as_deref().unwrap_or("the scripted model");
    output.remark(&format!(
        "Running {} with {model} in {} …",
        agent.program.display(),
        project.display()
    ));
    match &args.model {
        Some(model) => {
            let mut command = opencode(&agent, &project);
            command.args(["--model", model]);
            finish(command, &format!("{}{}", script::PROMPT, script::HINT))?;
        }
        None => scripted(&agent, folder.path(), &project)?,
    }
    show(args, &registry, &project, output)
}

fn show(
    args: &DemoArgs,
    registry: &Registry,
    project: &Path,
    output: &mut Output,
) -> Result<(), Failure> {
    let trusted = registry.admit(project)?;
    let engine = Engine::open(trusted, Settings::default(), Box::new(SystemWorld))?;
    let Some((session, _)) = engine.latest_session()? else {
        return Err(failure(
            "OpenCode ran, but its plugin showed no session".to_owned(),
            "Run it again with --keep and look at the project with `callstack doctor`.",
        )
        .into());
    };
    let calls = calls(&engine, &session)?;
    let kept = args.keep.then(|| project.display().to_string());
    let data = json!({
        "project": kept,
        "state": engine.state()?,
        "calls": report::data(&calls),
    });
    let lines = engine.tree(None)?;
    let width = output.width();
    output.either(&data, |page| {
        page.end().put(BOLD, "The tree").end();
        tree::draw(page, &lines, width);
        page.end();
        report::write(page, &calls, width);
        if let Some(kept) = &kept {
            page.end().put(PLAIN, &format!("The project is in {kept}")).end();
        }
    })
}

fn scripted(agent: &Agent, folder: &Path, project: &Path) -> Result<(), EngineError> {
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
    let mut command = opencode(agent, project);
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
    finish(command, script::PROMPT)?;
    let findings = model.violations();
    if let Some(first) = findings.first() {
        return Err(failure(
            format!("a request was not what it should be: {first}"),
            "This is a fault of callstack or of this version of OpenCode; please report it.",
        ));
    }
    Ok(())
}

/// Spares OpenCode the installation of a package that the plugin needs at no time, where we have it.
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

fn opencode(agent: &Agent, project: &Path) -> Command {
    let mut command = Command::new(&agent.program);
    command
        .arg("run")
        .current_dir(project)
        // OpenCode takes the project from here before it looks at its working directory.
        .env("PWD", project)
        // Its plugin may look for the record of stores elsewhere.
        .env(TRUST, project)
        .env("OPENCODE_DISABLE_AUTOUPDATE", "1");
    command
}

fn finish(mut command: Command, prompt: &str) -> Result<(), EngineError> {
    let program = PathBuf::from(command.get_program());
    let failed = |error| at(&program, &error);
    // As an argument, a prompt of several words reaches the model in quotation marks.
    let mut input = tempfile::tempfile().map_err(failed)?;
    input.write_all(prompt.as_bytes()).and_then(|()| input.rewind()).map_err(failed)?;
    let output = command.stdin(input).output().map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let last = told.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(failure(
        format!("OpenCode ended with {}: {}", output.status, last.trim()),
        "Run it again with --keep to look at the project.",
    ))
}

fn write(path: &Path, text: &str) -> Result<(), EngineError> {
    fs::write(path, text).map_err(|error| at(path, &error))
}
