//! One call of git: its configuration, its time limit, and the meaning of its failures.
//!
//! Whatever a repository configures, git starts no program, asks nobody, and fetches nothing. Neither the user's
//! configuration nor the caller's environment counts, except for the parts that [`user`] takes over.

mod call;
pub(crate) mod user;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use callstack_engine::{EngineError, Kind};

use crate::tracked::is_no_repository;
use user::UserSettings;

/// Variables of the caller that control where repositories are looked for. All others that git reads are removed.
const KEPT: [&str; 2] = ["GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"];
/// The prefix of variables that configure git.
const CONFIGURATION: &str = "GIT_CONFIG";
/// Variables that hold for each call.
const VARIABLES: [(&str, &str); 15] = [
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_ASKPASS", ""),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_EDITOR", "false"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("SSH_ASKPASS", ""),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("LC_ALL", "C"),
];
/// Variables without which git reads the configuration of the user and of the system.
const NO_CONFIGURATION: [(&str, &str); 3] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
];
/// Settings that hold whatever a repository configures. An empty command means none.
const SETTINGS: [&str; 18] = [
    "core.alternateRefsCommand=false",
    "core.askPass=",
    "core.attributesFile=/dev/null",
    "core.autocrlf=false",
    "core.editor=false",
    "core.fsmonitor=",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.quotePath=false",
    "core.safecrlf=false",
    "core.sshCommand=false",
    "core.untrackedCache=false",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
];

/// A call of git in a folder.
#[derive(Debug)]
pub(crate) struct Git {
    folder: PathBuf,
    variables: Vec<(OsString, OsString)>,
    args: Vec<OsString>,
    configured: Configured,
    until: Instant,
}

/// The configuration that counts beside that of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Configured {
    /// Settings that are taken over from the user.
    TakenOver,
    /// Nobody's.
    Ours,
    /// All, where it is only read.
    Whole,
}

/// The place where a repository keeps its objects.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) folder: PathBuf,
    /// Whether they are named as ours are.
    pub(crate) named_alike: bool,
}

impl Git {
    /// A call in a folder of the user, which is broken off at `until`.
    pub(crate) fn at(folder: &Path, until: Instant) -> Self {
        Self::of(folder, Configured::TakenOver, until)
    }

    /// A call in a repository of our own.
    pub(crate) fn in_own(repository: &Path, work_tree: &Path, until: Instant) -> Self {
        let mut git = Self::of(work_tree, Configured::Ours, until);
        git.args.extend(["--git-dir".into(), repository.into()]);
        git.args.extend(["--work-tree".into(), work_tree.into()]);
        git
    }

    /// A call that prints the configuration.
    fn with_all_configuration(folder: &Path, until: Instant) -> Self {
        Self::of(folder, Configured::Whole, until)
    }

    fn of(folder: &Path, configured: Configured, until: Instant) -> Self {
        let folder = folder.to_path_buf();
        Self { folder, variables: Vec::new(), args: Vec::new(), configured, until }
    }

    /// The objects of the repository that a folder lies in; none if it lies in no work tree.
    pub(crate) fn objects_of(folder: &Path, until: Instant) -> Result<Option<Objects>, GitError> {
        let asked =
            ["rev-parse", "--is-inside-work-tree", "--show-object-format", "--git-path", "objects"];
        let answer = match Self::at(folder, until).args(asked).run(&[]) {
            Ok(answer) => answer,
            Err(GitError::Refused(words)) if is_no_repository(&words) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let mut lines = answer.splitn(3, |byte| *byte == b'\n');
        let (Some(b"true"), Some(format), Some(objects)) =
            (lines.next(), lines.next(), lines.next())
        else {
            return Ok(None);
        };
        let objects = path(objects.strip_suffix(b"\n").unwrap_or(objects));
        Ok(Some(Objects { folder: folder.join(objects), named_alike: format == b"sha1" }))
    }

    pub(crate) fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Reads objects also where another repository has them.
    pub(crate) fn with_alternates(mut self, objects: Option<&OsStr>) -> Self {
        if let Some(objects) = objects {
            self.variables.push(("GIT_ALTERNATE_OBJECT_DIRECTORIES".into(), objects.into()));
        }
        self
    }

    /// Uses an index of its own.
    pub(crate) fn with_index(mut self, index: &Path) -> Self {
        self.variables.push(("GIT_INDEX_FILE".into(), index.into()));
        self
    }

    /// Those of the objects that are not there.
    pub(crate) fn missing<'a>(
        self,
        objects: impl Iterator<Item = &'a [u8]>,
    ) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let objects: BTreeSet<&[u8]> = objects.collect();
        if objects.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut input = objects.into_iter().collect::<Vec<_>>().join(&b'\n');
        input.push(b'\n');
        let output = self.args(["cat-file", "--batch-check"]).run(&input)?;
        let lines = output.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| line.strip_suffix(b" missing")).map(<[u8]>::to_vec).collect())
    }

    /// Runs it with `input` and returns its output.
    pub(crate) fn run(self, input: &[u8]) -> Result<Vec<u8>, GitError> {
        let (until, command) = (self.until, self.command()?);
        call::run(command, input.to_vec(), until)
    }

    fn command(self) -> Result<Command, GitError> {
        let mut command = Command::new(program().ok_or(GitError::NotThere)?);
        command.current_dir(&self.folder);
        let reads_all = self.configured == Configured::Whole;
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let is_kept = KEPT.contains(&&*text) || reads_all && text.starts_with(CONFIGURATION);
            if text.starts_with("GIT_") && !is_kept {
                command.env_remove(&name);
            }
        }
        command.envs(VARIABLES);
        if !reads_all {
            command.envs(NO_CONFIGURATION);
            for setting in SETTINGS {
                command.args(["-c", setting]);
            }
        }
        if self.configured == Configured::TakenOver {
            for setting in UserSettings::of(&self.folder, self.until)?.settings() {
                command.arg("-c").arg(setting);
            }
        }
        command.envs(self.variables).args(self.args);
        Ok(command)
    }
}

/// Returns the path of git. Relative parts of the search path are left out: they would name folders of the project.
#[cfg(unix)]
fn program() -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let is_program = |file: &PathBuf| {
        let metadata = file.metadata();
        metadata.is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    let folders = std::env::var_os("PATH")?;
    let mut folders = std::env::split_paths(&folders).filter(|folder| folder.is_absolute());
    folders.find_map(|folder| Some(folder.join("git")).filter(is_program))
}

#[cfg(not(unix))]
fn program() -> Option<PathBuf> {
    Some("git".into())
}

/// Why a call of git brought nothing.
#[derive(Debug)]
pub(crate) enum GitError {
    /// There is no git on this machine.
    NotThere,
    /// Git says no, in these words.
    Refused(String),
    /// It took too long.
    Slow,
    /// The system did not let it be called.
    Uncallable(io::Error),
    /// The call itself did not work.
    Broken(String),
    /// Our own file can't be written.
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// There is something else in place of our own file.
    Foreign(String),
}

impl GitError {
    pub(crate) fn into_error(self) -> EngineError {
        let off = "Frames work without it; with STACK_ROLLBACK=off it is not called at all.";
        let uncalled = |why: &dyn Display| format!("git could not be called: {why}");
        let internal = |message| EngineError::new(Kind::Internal, message);
        match self {
            Self::NotThere => EngineError::new(Kind::Conflict, "git is not there").with_hint(off),
            Self::Refused(words) => internal(format!("git refused: {words}")).with_hint(off),
            Self::Slow => EngineError::new(Kind::Unavailable, "git took too long").with_hint(off),
            Self::Uncallable(error) => internal(uncalled(&error)).with_hint(off).caused_by(error),
            Self::Broken(why) => internal(uncalled(&why)).with_hint(off),
            Self::Unwritable { path, source } => {
                let message = format!("{} can't be written: {source}", path.display());
                internal(message)
                    .with_hint("States of files are kept there: make it writable.")
                    .caused_by(source)
            }
            Self::Foreign(why) => internal(why)
                .with_hint("States of files are kept there: look at it, and remove it."),
        }
    }
}

/// A path as git writes it.
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    let path = PathBuf::from(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes));
    #[cfg(not(unix))]
    let path = PathBuf::from(String::from_utf8_lossy(bytes).as_ref());
    path
}

/// Returns a folder as an entry of a list that git reads: in quotes it may contain separators.
pub(crate) fn entry(folder: &Path) -> OsString {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
        let escaped = folder.as_os_str().as_bytes().iter().flat_map(|byte| {
            let escape = matches!(byte, b'"' | b'\\').then_some(b'\\');
            escape.into_iter().chain([*byte])
        });
        OsString::from_vec([b'"'].into_iter().chain(escaped).chain([b'"']).collect())
    }
    #[cfg(not(unix))]
    folder.as_os_str().to_owned()
}
