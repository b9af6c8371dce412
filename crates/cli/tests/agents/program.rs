//! The common part of the agents' tests: the places of programs, and their tasks.

use std::env;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use callstack_scripted_model::{RecordedRequest, Step};
use serde_json::json;

use crate::cli::test_env;

/// Looks for a program: the one that a variable names, else the one that `npm ci` put into `integrations/mcp`, else
/// the command on the path. Prints why a test is skipped where there is none.
///
/// # Panics
///
/// When there is none although `CALLSTACK_REQUIRE_AGENTS` is set: no test may be skipped then.
#[expect(clippy::print_stderr, reason = "a skip says why")]
pub(crate) fn locate_or_skip(command: &str, variable: &str, installed: &str) -> Option<PathBuf> {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../integrations/mcp/node_modules");
    let on_path = || {
        let path = env::var_os("PATH")?;
        env::split_paths(&path).map(|folder| folder.join(command)).find(|file| file.is_file())
    };
    let named = env::var_os(variable).map(PathBuf::from);
    let found = named.or_else(|| modules.join(installed).canonicalize().ok()).or_else(on_path);
    let found = found.filter(|file| file.is_file());
    if found.is_none() {
        let why = format!(
            "no {command}: run `npm ci` in integrations/mcp, or set {variable} to its binary"
        );
        assert!(env::var_os("CALLSTACK_REQUIRE_AGENTS").is_none(), "{why}");
        eprintln!("skipped: {why}");
    }
    found
}

/// A project without a store, and a home in which one agent's program was used before.
pub(crate) struct TestEnv(test_env::TestEnv);

impl Deref for TestEnv {
    type Target = test_env::TestEnv;

    fn deref(&self) -> &test_env::TestEnv {
        &self.0
    }
}

impl TestEnv {
    pub(crate) fn with_folder(folder: &str) -> Self {
        let desk = test_env::TestEnv::without_store();
        std::fs::create_dir(desk.sealed.home().join(folder)).unwrap();
        Self(desk)
    }

    /// Asserts that the steps of [`work`] were done, by this host in this session.
    pub(crate) fn has_worked(&self, host: &str, session: Option<&str>) {
        assert_eq!(self.sealed.read("poem.txt").unwrap(), "Roses are red\n");
        let (root, child) = (self.json(&["show", "f1"]), self.json(&["show", "f2"]));
        assert_eq!(root["status"], "in_progress");
        assert_eq!(
            (&child["status"], &child["results"]),
            (&json!("completed"), &json!("Roses are red"))
        );
        assert_eq!(child["workedIn"].as_str(), session);
        let tree = self.ok(&["tree"]);
        assert!(tree.starts_with(host), "{tree}");
    }
}

/// The steps of an agent that works in a frame below another one; `line` writes to a file.
pub(crate) fn work(tool: impl Fn(&str) -> String, line: Step) -> [Step; 5] {
    let root = json!({"title": "Write a poem", "successCriteria": "poem.txt rhymes"});
    let child = json!({"title": "First line", "successCriteria": "It is in poem.txt"});
    let results = json!({"results": "Roses are red"});
    [
        Step::call(tool("stack_frame_push"), root),
        Step::call(tool("stack_frame_push"), child),
        line,
        Step::call(tool("stack_frame_pop"), results),
        Step::text("The first line is written."),
    ]
}

/// The model was shown what callstack answered.
pub(crate) fn results_of(requests: &[RecordedRequest]) {
    let last = requests.last().unwrap().render();
    for said in ["f1 is open now", "f2 is open now", "First line\\\" returned: completed"] {
        assert!(last.contains(said) || last.contains(&said.replace('\\', "")), "{said}: {last}");
    }
}
