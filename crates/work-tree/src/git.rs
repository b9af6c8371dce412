//! One call of git: what it is given, how long it may take, and what its failure means.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use callstack_engine::{EngineError, Kind};

/// How often is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(1);

/// What a program that calls us may have set for its own repository, or for what it asks of it.
const FOREIGN: [&str; 11] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_DEFAULT_HASH",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// A call of git in a folder.
#[derive(Debug)]
pub(crate) struct Git {
    command: Command,
    until: Instant,
}

/// Where a repository keeps its objects.
#[derive(Debug)]
pub(crate) struct Objects {
    pub(crate) folder: PathBuf,
    /// Whether they are named as ours are.
    pub(crate) named_alike: bool,
}

impl Git {
    /// A call that is broken off at `until`.
    pub(crate) fn at(folder: &Path, until: Instant) -> Self {
        let mut command = Command::new("git");
        command.current_dir(folder);
        for name in FOREIGN {
            command.env_remove(name);
        }
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_LITERAL_PATHSPECS", "1").env("LC_ALL", "C");
        Self { command, until }
    }

    /// The objects of the repository that a folder lies in; none if it lies in no work tree, or git is
    /// not there.
    pub(crate) fn objects_of(folder: &Path, until: Instant) -> Result<Option<Objects>, Failure> {
        let asked =
            ["rev-parse", "--is-inside-work-tree", "--show-object-format", "--git-path", "objects"];
        let answer = match Self::at(folder, until).args(asked).run(&[]) {
            Ok(answer) => answer,
            Err(Failure::NotThere | Failure::Refused(_)) => return Ok(None),
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
        self.command.args(args);
        self
    }

    /// Reads objects also where another repository has them.
    pub(crate) fn lent(mut self, objects: Option<&OsStr>) -> Self {
        if let Some(objects) = objects {
            self.command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
        }
        self
    }

    /// Those of the objects that are not there.
    pub(crate) fn missing<'a>(
        self,
        objects: impl Iterator<Item = &'a [u8]>,
    ) -> Result<BTreeSet<Vec<u8>>, Failure> {
        let objects: BTreeSet<&[u8]> = objects.collect();
        if objects.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut input = objects.into_iter().collect::<Vec<_>>().join(&b'\n');
        input.push(b'\n');
        let told = self.args(["cat-file", "--batch-check"]).run(&input)?;
        let lines = told.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| line.strip_suffix(b" missing")).map(<[u8]>::to_vec).collect())
    }

    /// What it writes, given `input`.
    pub(crate) fn run(mut self, input: &[u8]) -> Result<Vec<u8>, Failure> {
        let pipes = (Stdio::piped(), Stdio::piped(), Stdio::piped());
        self.command.stdin(pipes.0).stdout(pipes.1).stderr(pipes.2);
        let mut child = self.command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => Failure::NotThere,
            _ => Failure::Broken(error.to_string()),
        })?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (status, out, told) = thread::scope(|scope| {
            // It may stop reading; its status tells why.
            let fed = scope.spawn(move || stdin.is_some_and(|mut it| it.write_all(input).is_ok()));
            let read = |pipe: Option<Box<dyn std::io::Read + Send>>| {
                move || {
                    let mut bytes = Vec::new();
                    let whole = pipe.is_none_or(|mut pipe| pipe.read_to_end(&mut bytes).is_ok());
                    (bytes, whole)
                }
            };
            let out = scope.spawn(read(stdout.map(|it| Box::new(it) as _)));
            let told = scope.spawn(read(stderr.map(|it| Box::new(it) as _)));
            let status = ended(&mut child, self.until);
            drop(fed.join());
            (status, out.join().unwrap_or_default(), told.join().unwrap_or_default())
        });
        match status? {
            status if status.success() && out.1 => Ok(out.0),
            status if status.success() => Err(Failure::Broken("its answer broke off".to_owned())),
            _ => Err(Failure::Refused(String::from_utf8_lossy(&told.0).trim().to_owned())),
        }
    }
}

fn ended(child: &mut Child, until: Instant) -> Result<ExitStatus, Failure> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if Instant::now() < until => thread::sleep(LOOK),
            waited => {
                // What can't be killed has ended.
                drop(child.kill());
                drop(child.wait());
                return Err(match waited {
                    Err(error) => Failure::Broken(error.to_string()),
                    Ok(_) => Failure::Slow,
                });
            }
        }
    }
}

/// Why a call of git brought nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// There is no git on this machine.
    NotThere,
    /// Git says no, in these words.
    Refused(String),
    /// It took too long.
    Slow,
    /// The call itself did not work.
    Broken(String),
    /// What is ours can't be written, for this reason.
    Unwritable(String),
}

impl Failure {
    pub(crate) fn told(self) -> EngineError {
        let off = "Frames work without it; with STACK_ROLLBACK=off it is not called at all.";
        let (kind, message, hint) = match self {
            Self::NotThere => (Kind::Internal, "git is not there".to_owned(), off),
            Self::Refused(words) => (Kind::Internal, format!("git refused: {words}"), off),
            Self::Slow => (Kind::Unavailable, "git took too long".to_owned(), off),
            Self::Broken(why) => (Kind::Internal, format!("git could not be called: {why}"), off),
            Self::Unwritable(why) => {
                (Kind::Internal, why, "States of files are kept there: make it writable.")
            }
        };
        EngineError { kind, message, hint: Some(hint.to_owned()) }
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

/// A folder as an entry of a list that git reads: in quotes it may hold what separates entries.
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
