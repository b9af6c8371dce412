//! Runs a trial.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::TrialError;
use super::folder::{About, Folder};
use super::relay::Relay;
use super::remote::Remote;
use crate::{Callstack, OpenCode, Run, Running, Sealed, TestError};

/// The interval between checks for the end of a turn.
const LOOK: Duration = Duration::from_millis(100);

/// The plan of a trial.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The folder that the agent works in.
    pub project: PathBuf,
    /// The folder for requests, answers, the sealed home and logs.
    pub folder: PathBuf,
    /// The user's messages, turn by turn.
    pub turns: Vec<String>,
    /// callstack and the level of autonomy; `None` for a control.
    pub callstack: Option<(Callstack, String)>,
    /// Further environment variables.
    pub env: Vec<(String, String)>,
    /// The source of answers.
    pub wheel: Wheel,
    /// The most tokens that the model can take.
    pub context: u32,
    /// The longest time of the whole trial.
    pub limit: Option<Duration>,
}

/// The source of answers to the requests.
#[derive(Clone, Debug)]
pub enum Wheel {
    /// A [`super::Reader`], at the trial's folder.
    Reader,
    /// A model over HTTP.
    Remote(Remote),
}

/// Runs a trial to its end, and calls `say` for each turn. It ends early, together with everything that it started,
/// if `interrupted` becomes true or [`super::Reader::stop`] is called.
pub fn run(
    plan: &Plan,
    interrupted: &AtomicBool,
    say: &mut dyn FnMut(&str),
) -> Result<(), TrialError> {
    let level = plan.callstack.as_ref().map(|(_, level)| level.clone());
    let folder = Folder::begin(&plan.folder, &About { level, turns: plan.turns.clone() })?;
    let ended = carry_out(plan, &folder, interrupted, say);
    let why = match &ended {
        Ok(()) => "every turn was said and answered".to_owned(),
        Err(error) => error.to_string(),
    };
    folder.close(&why)?;
    ended
}

fn carry_out(
    plan: &Plan,
    folder: &Folder,
    interrupted: &AtomicBool,
    say: &mut dyn FnMut(&str),
) -> Result<(), TrialError> {
    let opencode =
        OpenCode::locate().map_err(|missing| TrialError::refused(missing.to_string()))?;
    let sealed = Sealed::at(&folder.path().join("sealed"), &plan.project)?;
    let remote = match &plan.wheel {
        Wheel::Reader => None,
        Wheel::Remote(remote) => Some(remote.clone()),
    };
    let relay =
        Relay::start(folder.clone(), remote).map_err(TestError::io("listen on", "127.0.0.1"))?;
    opencode.seed(&sealed.config_home().join("opencode"))?;
    if let Some((callstack, _)) = &plan.callstack {
        install(callstack, &sealed, &opencode)?;
    }
    say(&format!("requests wait in {}", folder.path().display()));
    let started = Instant::now();
    for (at, turn) in plan.turns.iter().enumerate() {
        let mut run = Run::prompt(turn)
            .arg("--model")
            .arg("trial/reader")
            .env("OPENCODE_CONFIG_CONTENT", &config(&relay.base_url(), plan.context));
        if let Some((_, level)) = &plan.callstack {
            run = run.env("STACK_AUTONOMY_LEVEL", level);
        }
        for (name, value) in &plan.env {
            let bin = folder.path().join("sealed/bin");
            let with_ours = || format!("{}:{value}", bin.display());
            run = run.env(name, &if name == "PATH" { with_ours() } else { value.clone() });
        }
        if at > 0 {
            run = run.session(&main_session(folder)?);
        }
        let mut running = opencode.start(&sealed, &run)?;
        let number = at + 1;
        while running.is_running() {
            if interrupted.load(Ordering::SeqCst) || folder.should_stop() {
                running.kill();
                return Err(TrialError::refused(format!("stopped in turn {number}")));
            }
            if plan.limit.is_some_and(|limit| started.elapsed() > limit) {
                running.kill();
                return Err(TrialError::refused(format!("out of time in turn {number}")));
            }
            thread::sleep(LOOK);
        }
        let of = plan.turns.len();
        say(&format!("turn {number} of {of}: {}", outcome(running)?));
    }
    Ok(())
}

fn outcome(running: Running) -> Result<String, TrialError> {
    let finished = running.wait(Duration::from_secs(10))?;
    if finished.success() {
        Ok(format!("{}", finished.status))
    } else {
        Err(TestError::Ended { what: "opencode run".to_owned(), output: finished.to_string() }
            .into())
    }
}

/// The session that the user talks to: the first one.
fn main_session(folder: &Folder) -> Result<String, TrialError> {
    let first = folder.requests()?.first().copied();
    let first = first.ok_or_else(|| TrialError::refused("the first turn made no request"))?;
    Ok(folder.request(first)?.session)
}

fn install(callstack: &Callstack, sealed: &Sealed, opencode: &OpenCode) -> Result<(), TrialError> {
    callstack.put_on_path(sealed)?;
    let project = sealed.project();
    let project = project.to_string_lossy();
    let done = callstack.run(sealed, &["init", "opencode", &project])?;
    if !done.success() {
        let what = "callstack init".to_owned();
        return Err(TestError::Ended { what, output: done.to_string() }.into());
    }
    opencode.seed(&sealed.project().join(".opencode"))?;
    Ok(())
}

/// The configuration, which takes precedence over that of the project. A reader may take hours: no part of the client
/// may time out.
fn config(base_url: &str, context: u32) -> String {
    let options = json!({
        "baseURL": base_url,
        "apiKey": "none",
        "timeout": false,
        "headerTimeout": false,
        "chunkTimeout": false,
    });
    json!({
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": false,
        "share": "disabled",
        "model": "trial/reader",
        "small_model": "trial/reader",
        "provider": {"trial": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Trial",
            "options": options,
            "models": {"reader": {
                "name": "Reader",
                "limit": {"context": context, "output": 16_000},
                "tool_call": true,
            }},
        }},
        "permission": {
            "edit": "allow",
            "bash": "allow",
            "external_directory": "allow",
            "doom_loop": "allow",
        },
    })
    .to_string()
}
