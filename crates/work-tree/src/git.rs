//! One call of git: what it is given, how long it may take, and what its failure means.

use std::ffi::OsStr;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use callstack_engine::{EngineError, Kind};

/// How long one call may take. An agent waits for it.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often is looked whether it has ended.
const LOOK: Duration = Duration::from_millis(1);

/// What a program that calls us may have set for its own repository.
const FOREIGN: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
];

/// A call of git in a folder.
#[derive(Debug)]
pub(crate) struct Git(Command);

impl Git {
    pub(crate) fn at(folder: &Path) -> Self {
        let mut command = Command::new("git");
        command.current_dir(folder);
        for name in FOREIGN {
            command.env_remove(name);
        }
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_LITERAL_PATHSPECS", "1").env("LC_ALL", "C");
        Self(command)
    }

    /// The folder with the objects of the repository that a folder lies in; none if it lies in no work
    /// tree, or git is not there.
    pub(crate) fn objects_of(folder: &Path) -> Result<Option<PathBuf>, EngineError> {
        let asked = ["rev-parse", "--is-inside-work-tree", "--git-path", "objects"];
        let answer = match Self::at(folder).args(asked).run(&[]) {
            Ok(answer) => answer,
            Err(Failure::NotThere | Failure::Refused(_)) => return Ok(None),
            Err(failure) => return Err(failure.told()),
        };
        let answer = String::from_utf8_lossy(&answer);
        let mut lines = answer.lines();
        let inside = lines.next() == Some("true");
        Ok(lines.next().filter(|_| inside).map(|objects| folder.join(objects)))
    }

    pub(crate) fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.0.args(args);
        self
    }

    /// What it writes, given `input`.
    pub(crate) fn run(mut self, input: &[u8]) -> Result<Vec<u8>, Failure> {
        let pipes = (Stdio::piped(), Stdio::piped(), Stdio::piped());
        self.0.stdin(pipes.0).stdout(pipes.1).stderr(pipes.2);
        let mut child = self.0.spawn().map_err(|error| match error.kind() {
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
            let status = ended(&mut child);
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

fn ended(child: &mut Child) -> Result<ExitStatus, Failure> {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) if begun.elapsed() < PATIENCE => thread::sleep(LOOK),
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
}

impl Failure {
    pub(crate) fn told(self) -> EngineError {
        let message = match self {
            Self::NotThere => "git is not there".to_owned(),
            Self::Refused(words) => format!("git refused: {words}"),
            Self::Slow => format!("git took more than {} s", PATIENCE.as_secs()),
            Self::Broken(why) => format!("git could not be called: {why}"),
        };
        let hint = "Frames work without it; with STACK_ROLLBACK=off it is not called at all.";
        EngineError { kind: Kind::Internal, message, hint: Some(hint.to_owned()) }
    }
}
