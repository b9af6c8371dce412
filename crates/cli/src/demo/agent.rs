//! The OpenCode that the demo runs in: the one on the path, else a pinned one in the cache folder.

use std::env;
use std::fs;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use callstack_engine::{EngineError, Kind};

use super::LOOK;
use crate::output::Output;

/// The version of OpenCode that everything is tested with.
const VERSION: &str = "1.18.33";

/// Packages of OpenCode's native binary, by operating system and processor.
const NATIVE: &[&str] =
    &["opencode-linux-x64", "opencode-linux-arm64", "opencode-darwin-arm64", "opencode-darwin-x64"];

/// The program, and the folder of its npm packages if we installed them.
pub(super) struct Agent {
    pub(super) program: PathBuf,
    pub(super) modules: Option<PathBuf>,
}

/// Finds an OpenCode, or installs one through npm and shows the progress of that.
pub(super) fn find(output: &mut Output) -> Result<Agent, EngineError> {
    if let Some(program) = on_path("opencode") {
        return Ok(Agent { program, modules: None });
    }
    let folder = cache_folder()?.join(format!("opencode-{VERSION}"));
    if native(&folder).is_none() {
        output.remark(&format!(
            "Installing OpenCode {VERSION} through npm into {} …",
            folder.display()
        ));
        install(&folder, output)?;
    }
    let modules = folder.join("node_modules");
    match native(&folder) {
        Some(program) => Ok(Agent { program, modules: Some(modules) }),
        None => Err(failure(
            format!("npm installed no OpenCode for this machine in {}", folder.display()),
            "Install OpenCode yourself (https://opencode.ai) and run the demo again.",
        )),
    }
}

fn install(folder: &Path, output: &mut Output) -> Result<(), EngineError> {
    let Some(npm) = on_path("npm") else {
        return Err(failure(
            "there is no `opencode` and no `npm` on the path".to_owned(),
            "Install node with npm (on Debian: apt-get install nodejs npm), or OpenCode itself.",
        ));
    };
    fs::create_dir_all(folder).map_err(|error| at(folder, &error))?;
    let begun = Instant::now();
    let mut said = tempfile::tempfile().map_err(|error| at(folder, &error))?;
    let errors = said.try_clone().map_err(|error| at(folder, &error))?;
    let failed = |error| at(Path::new("npm"), &error);
    let mut child = Command::new(npm)
        .args(["install", "--no-audit", "--no-fund", "--no-save", "--loglevel=error", "--prefix"])
        .arg(folder)
        .arg(format!("opencode-ai@{VERSION}"))
        .arg(format!("@opencode-ai/plugin@{VERSION}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .map_err(failed)?;
    let mut shown = None;
    let ended = loop {
        if let Some(ended) = child.try_wait().map_err(failed)? {
            break ended;
        }
        let seconds = begun.elapsed().as_secs();
        if shown.replace(seconds) != Some(seconds) {
            output.progress(&format!("npm fetches OpenCode (some 420 MB), {seconds} s"));
        }
        thread::sleep(LOOK);
    };
    output.progress("");
    if ended.success() {
        return Ok(());
    }
    let mut printed = Vec::new();
    said.rewind().and_then(|()| said.read_to_end(&mut printed)).map_err(failed)?;
    let printed = String::from_utf8_lossy(&printed);
    let last = printed.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    Err(failure(
        format!("npm could not install OpenCode {VERSION}: {}", last.trim()),
        "Check that npm reaches its registry, or install OpenCode yourself.",
    ))
}

fn native(folder: &Path) -> Option<PathBuf> {
    NATIVE
        .iter()
        .map(|package| folder.join("node_modules").join(package).join("bin").join("opencode"))
        .find(|binary| binary.is_file())
}

fn cache_folder() -> Result<PathBuf, EngineError> {
    let cache = env::var_os("XDG_CACHE_HOME").filter(|it| !it.is_empty()).map(PathBuf::from);
    cache
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .map(|cache| cache.join("callstack"))
        .ok_or_else(|| failure("there is no home folder".to_owned(), "Set HOME or XDG_CACHE_HOME."))
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|it| it.is_file())
}

pub(super) fn at(path: &Path, error: &io::Error) -> EngineError {
    const EXEC_FORMAT: i32 = 8;
    let hint = if error.raw_os_error() == Some(EXEC_FORMAT) {
        "It is there, but it is no program that runs here: reinstall it, or take it off the PATH, and the demo fetches one."
    } else {
        "Check that it exists and is yours."
    };
    failure(format!("{}: {error}", path.display()), hint)
}

pub(super) fn failure(message: String, hint: &'static str) -> EngineError {
    EngineError::new(Kind::Unavailable, message).with_hint(hint)
}
