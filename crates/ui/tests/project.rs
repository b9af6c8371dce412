//! A project with a tree of frames, and a view of it in a terminal.

use std::path::Path;
use std::process::Command;

use callstack_core::transcript::Anchor;
use callstack_engine::operation::{Answer, Caller, TERMINAL};
use callstack_engine::{Engine, Settings, SystemWorld, operations};
use callstack_testkit::{Sealed, Terminal};
use callstack_ui::{Options, run};
use serde_json::{Value, json};
use vt100::{MouseProtocolMode, Screen};

/// The variable that makes this program show a project.
pub(crate) const PROJECT: &str = "CALLSTACK_TEST_UI";
/// The variable with the command that edits a file.
const EDITOR: &str = "CALLSTACK_TEST_EDITOR";

pub(crate) struct Project {
    pub(crate) sealed: Sealed,
    engine: Engine,
}

impl Project {
    /// A root frame f1, two finished frames below it, one that is open and one planned.
    pub(crate) fn new() -> Self {
        let sealed = Sealed::new().unwrap();
        std::fs::create_dir_all(sealed.project().join(".callstack")).unwrap();
        let engine = open(&sealed.project());
        let project = Self { sealed, engine };
        let push = |title: &str, done: &str| {
            project.does("stack_frame_push", json!({"title": title, "successCriteria": done}));
        };
        let pop = |results: &str, status: &str| {
            project.does("stack_frame_pop", json!({"results": results, "status": status}));
        };
        push("Build the parser", "All fixtures parse");
        push("Read the grammar", "Every rule is known");
        project.does("stack_add_decision", json!({"decision": "Recursive descent, no generator"}));
        pop("23 rules, none left-recursive.", "completed");
        push("Try a generator", "It parses fixture 1");
        pop("Errors have no positions.", "failed");
        let child = json!({"title": "Document the errors", "successCriteria": "Each has a page"});
        project.does("stack_frame_plan", json!({"children": [child]}));
        push("Write the parser", "cargo test is green");
        project
    }

    /// Carries an operation out, as another process would.
    pub(crate) fn does(&self, operation: &str, arguments: Value) -> Answer {
        let operation = operations::find(operation).unwrap();
        operation.run(&self.engine, &caller(), arguments).unwrap()
    }

    /// The command that shows the project.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.sealed.command(std::env::current_exe().unwrap());
        command.args(["--exact", "child", "--nocapture"]).env(PROJECT, self.sealed.project());
        command
    }

    /// A view of the project.
    pub(crate) fn view(&self, size: (u16, u16)) -> Terminal {
        let terminal = Terminal::start(&self.command(), size).unwrap();
        terminal.wait_for("Write the parser").unwrap();
        terminal.wait_for("Done when").unwrap();
        terminal
    }

    /// A shell with job control, which calls the program that shows the project `$VIEW`.
    pub(crate) fn shell(&self) -> Terminal {
        let mut command = self.sealed.command("sh");
        let view =
            format!("{} --exact child --nocapture", std::env::current_exe().unwrap().display());
        command.arg("-i").env("PS1", "ready> ").env("VIEW", view);
        command.env(PROJECT, self.sealed.project()).env(EDITOR, "./editor.sh");
        let terminal = Terminal::start(&command, (100, 40)).unwrap();
        terminal.wait_for("ready>").unwrap();
        terminal
    }
}

fn open(project: &Path) -> Engine {
    Engine::open_unchecked(project, Settings::default(), Box::new(SystemWorld)).unwrap()
}

fn caller() -> Caller {
    Caller {
        session: TERMINAL.to_owned(),
        host: TERMINAL.to_owned(),
        anchor: Anchor { message: None, call: None },
        agent: None,
        performs: false,
        reveal: false,
        key: None,
    }
}

/// Shows a project. The words for a hint that contains `reopen` fail.
pub(crate) fn show(project: &Path) {
    let editor = std::env::var(EDITOR).unwrap_or_default();
    let options = Options {
        project: project.to_path_buf(),
        colours: true,
        editor: vec![editor],
        resume: |_, _| None,
        for_a_terminal: |hint| {
            let hint = hint.to_string();
            assert!(!hint.contains("reopen"), "a hint that can't be told");
            hint
        },
    };
    run(open(project), Box::new(|_| Ok(caller())), options).unwrap();
}

/// Whether a program has the whole screen.
pub(crate) fn is_taken(screen: &Screen) -> bool {
    screen.alternate_screen()
        && screen.hide_cursor()
        && screen.bracketed_paste()
        && screen.mouse_protocol_mode() != MouseProtocolMode::None
}

/// Whether the terminal is as it was.
pub(crate) fn is_given_back(screen: &Screen) -> bool {
    !screen.alternate_screen()
        && !screen.hide_cursor()
        && !screen.bracketed_paste()
        && screen.mouse_protocol_mode() == MouseProtocolMode::None
}
