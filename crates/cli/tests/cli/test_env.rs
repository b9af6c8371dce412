//! A sealed project with the binary in it, and the binary's output, in which everything that differs from run to run
//! is replaced.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use callstack_testkit::{Finished, Sealed};
use serde_json::Value;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_callstack");

pub(crate) struct TestEnv {
    pub(crate) sealed: Sealed,
}

/// The outcome of a command.
#[must_use = "look at what was said or at the exit code"]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl TestEnv {
    /// A project with a store in which nothing was done.
    pub(crate) fn new() -> Self {
        let desk = Self::without_store();
        std::fs::create_dir(desk.project().join(".callstack")).unwrap();
        desk
    }

    /// An empty project.
    pub(crate) fn without_store() -> Self {
        Self { sealed: Sealed::new().unwrap() }
    }

    /// A project with a root frame f1, two finished frames below it, one that is open and one planned.
    pub(crate) fn with_frames() -> Self {
        let desk = Self::new();
        desk.ok(&["push", "Build the parser", "-c", "All fixtures parse"]);
        desk.ok(&["push", "Read the grammar", "-c", "Every rule is known"]);
        desk.ok(&["decision", "Recursive descent, no generator"]);
        desk.ok(&["pop", "-r", "23 rules, none left-recursive."]);
        desk.ok(&["push", "Try a generator", "-c", "It parses fixture 1"]);
        desk.ok(&["pop", "-r", "Errors have no positions.", "--status", "failed"]);
        desk.ok(&["plan", "Document the errors", "-c", "Each has a page"]);
        desk.ok(&["push", "Write the parser", "-c", "cargo test is green"]);
        desk
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.sealed.project()
    }

    /// Returns the place of the states of the project's files, in the user's state folder.
    pub(crate) fn states(&self) -> PathBuf {
        let id = std::fs::read_to_string(self.project().join(".callstack/id")).unwrap_or_default();
        let stores = self.sealed.home().join(".local/state/callstack/stores");
        stores.join(id.trim()).join("git")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.project().join(".callstack/callstack.db")
    }

    /// The binary, to be started in a folder.
    pub(crate) fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = self.sealed.command_in(folder, BINARY);
        command.args(args);
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Said {
        self.finish(self.command(&self.project(), args))
    }

    pub(crate) fn run_in(&self, folder: &Path, args: &[&str]) -> Said {
        self.finish(self.command(folder, args))
    }

    /// Runs with `input` on standard input.
    pub(crate) fn run_with(&self, args: &[&str], input: &[u8]) -> Said {
        let path = self.sealed.root().join("stdin");
        std::fs::write(&path, input).unwrap();
        let mut command = self.command(&self.project(), args);
        command.stdin(File::open(&path).unwrap());
        self.finish(command)
    }

    /// Runs what has to end well; its standard output.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert_eq!(said.code, 0, "{args:?}\n{}", said.stderr);
        said.stdout
    }

    /// Runs what has to end well, with `--json`.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let text = self.ok(&[args, &["--json"]].concat());
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    pub(crate) fn finish(&self, command: Command) -> Said {
        let finished = self.sealed.run("callstack", command, Duration::from_secs(30)).unwrap();
        let Finished { status, stdout, stderr, .. } = finished;
        let code = status.code().unwrap_or_else(|| panic!("{status}: {stderr}"));
        Said { code, stdout, stderr }
    }

    /// Asserts that the store holds the frames with these handles, is sound and agrees with its log.
    #[track_caller]
    pub(crate) fn is_whole(&self, frames: &[&str]) {
        let said = self.run(&["doctor", "--json"]);
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        let mut handles = self.handles();
        handles.sort();
        assert_eq!(handles, frames);
    }

    pub(crate) fn handles(&self) -> Vec<String> {
        let state = self.json(&["tree"]);
        let frames = state["frames"].as_object().unwrap().values();
        frames.map(|frame| frame["handle"].as_str().unwrap().to_owned()).collect()
    }

    /// The id of the frame with a handle.
    pub(crate) fn id(&self, handle: &str) -> String {
        let frame = self.json(&["show", handle]);
        frame["sessionID"].as_str().unwrap().to_owned()
    }

    /// Returns the whole output, in the shape of the snapshots.
    pub(crate) fn whole_output(&self, said: &Said) -> String {
        let mut text = format!("exit {}\n{}", said.code, said.stdout);
        if !said.stderr.is_empty() {
            text.push_str("--- stderr\n");
            text.push_str(&said.stderr);
        }
        let root = self.sealed.root().to_str().unwrap();
        text.replace(root, "$ROOT").replace(BINARY, "$BINARY")
    }

    /// Returns every file and folder of the project, except the store's.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        list(&self.project(), "", &mut files);
        files.sort();
        files
    }
}

fn list(folder: &Path, name: &str, files: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{name}{}", entry.file_name().to_str().unwrap());
        if name == ".callstack" {
            continue;
        }
        let is_folder = entry.file_type().unwrap().is_dir();
        if is_folder {
            list(&entry.path(), &format!("{name}/"), files);
        }
        files.push(if is_folder { format!("{name}/") } else { name });
    }
}

/// The parts that differ from run to run.
pub(crate) const VARIES: &[(&str, &str)] = &[
    (r"(frm|plan)-[0-9a-f]{32}", "$1-ID"),
    (r#"(At": )\d{13}"#, "${1}TIME"),
    (r"((\d+(ms|s|m|h|d) ?)+ ago|just now)", "TIME"),
    (r"(?m) {2,}(<1s|\d+[smhd]( \d+[smhd])?)(  |$)", "  TIME$3"),
    (r"· \d+ [A-Z][a-z]{2} \d{4}, \d\d:\d\d", "· DATE"),
    (r"(begun|ended|planned) \d+ [A-Z][a-z]{2} \d{4}", "$1 DATE"),
    (r"for (\d+(ms|s|m|h|d) ?)+", "for TIME"),
    (r"took (<1s|\d+[smhd]( \d+[smhd])?)", "took TIME"),
    (r#" (age|duration|took)="[^"]*""#, r#" $1="TIME""#),
    (r"\d+\.\d [KM]iB", "SIZE"),
    (r"\d+ files?(, SIZE| of states)", "FILES$1"),
    (r"belongs to user \d+", "belongs to user N"),
    (r#"("bytes": )\d+"#, "${1}N"),
];

/// Compares all that a command said with a snapshot.
macro_rules! says {
    ($desk:expr, $args:expr, @$snapshot:literal) => {{
        let said = $desk.run(&$args);
        says!(output: $desk, said, @$snapshot);
    }};
    (output: $desk:expr, $said:expr, @$snapshot:literal) => {{
        let text = $desk.whole_output(&$said);
        insta::with_settings!({filters => crate::cli::test_env::VARIES.iter().copied()}, {
            insta::assert_snapshot!(text, @$snapshot);
        });
    }};
}
pub(crate) use says;
