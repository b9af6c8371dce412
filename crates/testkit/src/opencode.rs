//! The real `OpenCode`, configured to use the scripted model.

use std::{
    env, fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use callstack_scripted_model::WireFormat;
use serde_json::{Value, json};
use thiserror::Error;

use crate::{
    Finished, Running, Sealed, Server, TestError,
    sealed::{link, remark, write},
};

/// The longest time of one `opencode run`. It takes about 3 s on an idle machine.
const RUN_LIMIT: Duration = Duration::from_secs(90);

/// No `OpenCode` was found.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "no OpenCode: {0}; run `npm ci` in integrations/opencode, or set CALLSTACK_OPENCODE to its binary"
)]
pub struct Missing(String);

/// The real `OpenCode`.
#[derive(Clone, Debug)]
pub struct OpenCode {
    binary: PathBuf,
    /// A `node_modules` with `@opencode-ai/plugin` in it.
    modules: Option<PathBuf>,
}

impl OpenCode {
    /// Looks for it: the binary that `CALLSTACK_OPENCODE` names, else the one that `npm ci` put into
    /// `integrations/opencode`, else `opencode` on the path.
    pub fn locate() -> Result<Self, Missing> {
        let modules = integration().join("node_modules");
        let binary = match env::var_os("CALLSTACK_OPENCODE") {
            Some(named) => {
                let named = PathBuf::from(named);
                named
                    .is_file()
                    .then_some(named)
                    .ok_or_else(|| Missing("CALLSTACK_OPENCODE names no file".to_owned()))?
            }
            None => installed(&modules).or_else(on_path).ok_or_else(|| {
                Missing(format!("none in {} and none on PATH", modules.display()))
            })?,
        };
        let modules = modules.join("@opencode-ai/plugin").is_dir().then_some(modules);
        Ok(Self { binary, modules })
    }

    /// [`Self::locate`] for tests that are skipped without it: prints the reason.
    ///
    /// # Panics
    ///
    /// When there is none although `CALLSTACK_REQUIRE_OPENCODE` is set: no test may be skipped then.
    pub fn locate_or_skip() -> Option<Self> {
        let located = Self::locate();
        let required = env::var_os("CALLSTACK_REQUIRE_OPENCODE").is_some();
        assert!(located.is_ok() || !required, "{located:?}, and a skip is not allowed");
        located.inspect_err(|missing| remark(&format!("skipped: {missing}"))).ok()
    }

    /// The binary's path.
    pub fn path(&self) -> &Path {
        &self.binary
    }

    /// Writes the project's `opencode.json` for the model at `base_url`, and spares `OpenCode` the
    /// installation of its plugin package.
    pub fn configure(&self, sealed: &Sealed, base_url: &str) -> Result<(), TestError> {
        self.configure_with(sealed, base_url, &json!({}))
    }

    /// [`Self::configure`] with additions: objects in `changes` are merged into the configuration, everything else
    /// replaces the present value.
    pub fn configure_with(
        &self,
        sealed: &Sealed,
        base_url: &str,
        changes: &Value,
    ) -> Result<(), TestError> {
        let mut config = config(base_url);
        merge(&mut config, changes);
        sealed.write("opencode.json", &format!("{config:#}\n"))?;
        self.seed(&sealed.project().join(".opencode"))?;
        self.seed(&sealed.config_home().join("opencode"))
    }

    /// [`Self::configure_with`] for a provider of this wire format, whose model thinks.
    pub fn configure_for(
        &self,
        sealed: &Sealed,
        format: WireFormat,
        base_url: &str,
        changes: &Value,
    ) -> Result<(), TestError> {
        let mut config = json!({ "provider": { "scripted": provider(format) } });
        merge(&mut config, changes);
        self.configure_with(sealed, base_url, &config)
    }

    /// Makes a configuration folder look as if `OpenCode` had installed its plugin package into it.
    /// A `node_modules` that is there already is left alone.
    pub fn seed(&self, folder: &Path) -> Result<(), TestError> {
        let modules = folder.join("node_modules");
        fs::create_dir_all(folder).map_err(TestError::io("make", folder))?;
        match &self.modules {
            Some(installed) => link(installed, &modules)?,
            None => fs::create_dir_all(&modules).map_err(TestError::io("make", &modules))?,
        }
        let wants = json!({ "dependencies": { "@opencode-ai/plugin": "1.18.33" } });
        let lock = json!({ "lockfileVersion": 3, "requires": true, "packages": { "": wants } });
        write(&folder.join("package.json"), &wants.to_string())?;
        write(&folder.join("package-lock.json"), &lock.to_string())
    }

    /// A command that runs `OpenCode` in the project.
    pub fn command(&self, sealed: &Sealed) -> Command {
        sealed.command(&self.binary)
    }

    /// Starts `opencode run` and does not wait for it.
    pub fn start(&self, sealed: &Sealed, run: &Run) -> Result<Running, TestError> {
        let mut command = self.command(sealed);
        command.arg("run").args(run.args()).envs(run.env.iter().map(|(k, v)| (k, v)));
        command.stdin(prompt_file(&run.prompt).map_err(TestError::io("write", "the prompt"))?);
        sealed.start("opencode-run", command)
    }

    /// Runs `opencode run` to its end, for at most 90 s.
    pub fn run(&self, sealed: &Sealed, run: &Run) -> Result<Finished, TestError> {
        self.start(sealed, run)?.wait(RUN_LIMIT)
    }

    /// Starts `opencode serve` and waits until it answers.
    pub fn serve(&self, sealed: &Sealed) -> Result<Server, TestError> {
        self.serve_with(sealed, &[])
    }

    /// [`Self::serve`] with further environment variables.
    pub fn serve_with(&self, sealed: &Sealed, env: &[(&str, &str)]) -> Result<Server, TestError> {
        let mut command = self.command(sealed);
        command.envs(env.iter().copied());
        Server::start(sealed, command)
    }
}

/// One `opencode run`.
#[derive(Clone, Debug, Default)]
pub struct Run {
    prompt: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl Run {
    /// A prompt, in a session of its own.
    pub fn prompt(text: impl Into<String>) -> Self {
        Self { prompt: text.into(), ..Self::default() }
    }

    /// Runs a slash command; the prompt is the text after it.
    pub fn command(name: &str, arguments: impl Into<String>) -> Self {
        Self::prompt(arguments).arg("--command").arg(name)
    }

    /// Goes on with the newest session (`-c`).
    #[must_use]
    pub fn continued(self) -> Self {
        self.arg("-c")
    }

    /// Goes on with a certain session (`--session`).
    #[must_use]
    pub fn session(self, id: &str) -> Self {
        self.arg("--session").arg(id)
    }

    /// Prints events as JSON lines (`--format json`).
    #[must_use]
    pub fn json(self) -> Self {
        self.arg("--format").arg("json")
    }

    /// Any other argument.
    #[must_use]
    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    /// A further environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    fn args(&self) -> &[String] {
        &self.args
    }
}

/// The prompt as standard input: as an argument it would arrive in quotes.
fn prompt_file(prompt: &str) -> io::Result<Stdio> {
    use std::io::Seek as _;
    let mut file = tempfile::tempfile()?;
    file.write_all(prompt.as_bytes())?;
    file.rewind()?;
    Ok(file.into())
}

fn config(base_url: &str) -> Value {
    json!({
        "$schema": "https://opencode.ai/config.json",
        "provider": { "scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": base_url, "apiKey": "sk-dummy" },
            "models": { "scripted": {
                "limit": { "context": 128_000, "output": 8_000 },
                "tool_call": true,
            } },
        } },
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": false,
        "share": "disabled",
        "permission": {
            "edit": "allow",
            "bash": "allow",
            "external_directory": "allow",
            "doom_loop": "allow",
        },
    })
}

/// The provider's package and the options that make its model think. All of them are part of `OpenCode`'s binary.
fn provider(format: WireFormat) -> Value {
    let with = |package: &str, options: Value| {
        let model = json!({ "reasoning": true, "options": options });
        json!({ "npm": package, "models": { "scripted": model } })
    };
    match format {
        WireFormat::ChatCompletions => json!({}),
        WireFormat::Messages => {
            with("@ai-sdk/anthropic", json!({ "thinking": { "type": "adaptive" } }))
        }
        WireFormat::Responses => with(
            "@ai-sdk/openai",
            json!({
                "store": false,
                "include": ["reasoning.encrypted_content"],
                "reasoningSummary": "auto",
                "forceReasoning": true,
            }),
        ),
    }
}

fn merge(into: &mut Value, changes: &Value) {
    match (into, changes) {
        (Value::Object(into), Value::Object(changes)) => {
            for (key, value) in changes {
                merge(into.entry(key.as_str()).or_insert(Value::Null), value);
            }
        }
        (into, changes) => *into = changes.clone(),
    }
}

fn integration() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations/opencode")
}

/// The native binary: it works without the launcher's install script.
fn installed(modules: &Path) -> Option<PathBuf> {
    let (system, machine) = match (env::consts::OS, env::consts::ARCH) {
        ("macos", machine) => ("darwin", machine),
        other => other,
    };
    let machine = match machine {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    ["", "-baseline", "-musl"].into_iter().find_map(|variant| {
        let package = format!("opencode-{system}-{machine}{variant}");
        let binary = modules.join(package).join("bin/opencode");
        binary.canonicalize().ok().filter(|path| path.is_file())
    })
}

fn on_path() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join("opencode")).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_merged_deeply() {
        let mut config = json!({"a": {"b": 1, "c": [1]}, "d": 2});
        merge(&mut config, &json!({"a": {"c": [2], "e": {"f": 3}}, "d": {"g": 4}}));
        assert_eq!(config, json!({"a": {"b": 1, "c": [2], "e": {"f": 3}}, "d": {"g": 4}}));
    }

    #[test]
    fn a_run_becomes_its_arguments() {
        let run = Run::command("push", "a frame").session("ses_1").json();
        assert_eq!(run.args(), ["--command", "push", "--session", "ses_1", "--format", "json"]);
    }
}
