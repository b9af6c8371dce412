//! A project folder and a home of its own, and commands that see nothing else.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use tempfile::TempDir;

use crate::{Finished, Running, TestError};

/// A folder with a project and a private home. One made by [`Sealed::new`] is temporary: it is removed when it is
/// dropped, unless the environment variable `CALLSTACK_TEST_KEEP` is set.
#[derive(Debug)]
pub struct Sealed {
    temporary: Option<TempDir>,
    root: PathBuf,
    project: PathBuf,
    started: AtomicU32,
}

impl Sealed {
    /// Makes the folders `project`, `home`, `bin` and `logs`.
    pub fn new() -> Result<Self, TestError> {
        let mut folder = TempDir::with_prefix("callstack-test-")
            .map_err(TestError::io("make a folder in", env::temp_dir()))?;
        folder.disable_cleanup(env::var_os("CALLSTACK_TEST_KEEP").is_some());
        let root = folder.path().canonicalize().map_err(TestError::io("resolve", folder.path()))?;
        let project = root.join("project");
        let sealed = Self { temporary: Some(folder), root, project, started: AtomicU32::new(0) };
        sealed.make_folders()?;
        Ok(sealed)
    }

    /// Uses the folder `root`, which stays, for everything but the project, which lies elsewhere.
    pub fn at(root: &Path, project: &Path) -> Result<Self, TestError> {
        fs::create_dir_all(root).map_err(TestError::io("make", root))?;
        let root = root.canonicalize().map_err(TestError::io("resolve", root))?;
        let project = project.canonicalize().map_err(TestError::io("resolve", project))?;
        let sealed = Self { temporary: None, root, project, started: AtomicU32::new(0) };
        sealed.make_folders()?;
        Ok(sealed)
    }

    fn make_folders(&self) -> Result<(), TestError> {
        for path in [self.project(), self.home(), self.root.join("bin"), self.logs()] {
            fs::create_dir_all(&path).map_err(TestError::io("make", &path))?;
        }
        Ok(())
    }

    /// The folder that holds everything.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The project folder, where commands start.
    pub fn project(&self) -> PathBuf {
        self.project.clone()
    }

    /// The home folder.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Returns the value of `XDG_CONFIG_HOME`.
    pub fn config_home(&self) -> PathBuf {
        self.home().join(".config")
    }

    /// Where the output of processes goes.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// Writes a file of the project, folders included.
    pub fn write(&self, path: &str, text: &str) -> Result<PathBuf, TestError> {
        let path = self.project().join(path);
        write(&path, text)?;
        Ok(path)
    }

    /// Reads a file of the project.
    pub fn read(&self, path: &str) -> Result<String, TestError> {
        let path = self.project().join(path);
        fs::read_to_string(&path).map_err(TestError::io("read", &path))
    }

    /// Makes `binary` a command that everything in here finds by `name`.
    pub fn put_on_path(&self, name: &str, binary: &Path) -> Result<(), TestError> {
        link(binary, &self.root.join("bin").join(name))
    }

    /// Installs a plugin file as `.opencode/plugin/NAME`.
    pub fn install_plugin(&self, name: &str, source: &Path) -> Result<(), TestError> {
        let text = fs::read_to_string(source).map_err(TestError::io("read", source))?;
        self.write(&format!(".opencode/plugin/{name}"), &text)?;
        Ok(())
    }

    /// Makes the project a git repository with everything in it committed.
    pub fn git_init(&self) -> Result<(), TestError> {
        let script = "git init -q -b main . && git add -A && \
                      git -c user.name=t -c user.email=t@localhost commit -q --allow-empty -m start";
        let mut command = self.command("sh");
        command.args(["-c", script]);
        let done = self.run("git", command, Duration::from_secs(30))?;
        if done.success() {
            Ok(())
        } else {
            Err(TestError::Ended { what: "git".to_owned(), output: done.to_string() })
        }
    }

    /// A command in the project folder with a cleared, fixed environment.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        self.command_in(&self.project(), program)
    }

    /// [`Self::command`] in another folder.
    pub fn command_in(&self, folder: &Path, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let home = self.home();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.root.join("bin").display());
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", path)
            // `OpenCode` prefers PWD to the working directory.
            .env("PWD", folder)
            .env("HOME", &home)
            .env("XDG_DATA_HOME", home.join(".local/share"))
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env("XDG_CONFIG_HOME", self.config_home())
            .env("XDG_CACHE_HOME", home.join(".cache"))
            .env("TMPDIR", &self.root)
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("COLUMNS", "100")
            .env("OPENCODE_DISABLE_AUTOUPDATE", "1")
            .env("OPENCODE_DISABLE_MODELS_FETCH", "1")
            .env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1")
            .env("npm_config_offline", "true");
        command
    }

    /// Starts a command; `name` is for its output files and for messages.
    pub fn start(&self, name: &str, command: Command) -> Result<Running, TestError> {
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        Running::start(format!("{number:02}-{name}"), &self.logs(), command)
    }

    /// Runs a command to its end, which must come within `limit`.
    pub fn run(
        &self,
        name: &str,
        command: Command,
        limit: Duration,
    ) -> Result<Finished, TestError> {
        self.start(name, command)?.wait(limit)
    }
}

impl Drop for Sealed {
    fn drop(&mut self) {
        if let Some(folder) = &self.temporary
            && env::var_os("CALLSTACK_TEST_KEEP").is_some()
        {
            remark(&format!("kept: {}", folder.path().display()));
        }
    }
}

#[expect(clippy::print_stderr, reason = "a test's remark belongs to the test's output")]
pub(crate) fn remark(text: &str) {
    eprintln!("{text}");
}

pub(crate) fn write(path: &Path, text: &str) -> Result<(), TestError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(TestError::io("make", parent))?;
    }
    fs::write(path, text).map_err(TestError::io("write", path))
}

/// Links `path` to `target`; a link that is there already is left alone.
pub(crate) fn link(target: &Path, path: &Path) -> Result<(), TestError> {
    if path.symlink_metadata().is_ok() {
        return Ok(());
    }
    #[cfg(unix)]
    let linked = std::os::unix::fs::symlink(target, path);
    #[cfg(windows)]
    let linked = std::os::windows::fs::symlink_file(target, path);
    linked.map_err(TestError::io("link", path))
}
