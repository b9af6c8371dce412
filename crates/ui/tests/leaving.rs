use std::time::Duration;

use callstack_testkit::Terminal;
use serde_json::json;

use crate::project::{Project, is_given_back, is_taken};

const LIMIT: Duration = Duration::from_mins(1);

/// Sends a signal to the processes that a shell's words name.
fn send(project: &Project, signal: &str, processes: &str) {
    let mut kill = project.sealed.command("sh");
    kill.args(["-c", &format!("kill -s {signal} {processes}")]);
    let done = project.sealed.run("kill", kill, LIMIT).unwrap();
    assert!(done.success(), "{done}");
}

#[test]
fn a_signal_that_ends_it_leaves_the_terminal_as_it_was() {
    for (signal, expected) in [("TERM", "Terminated"), ("HUP", "Hangup"), ("INT", "Interrupt")] {
        let project = Project::new();
        let mut terminal = project.view((80, 24));
        assert!(terminal.look(is_taken));
        send(&project, signal, &terminal.process().unwrap().to_string());
        assert_eq!(terminal.wait_end().unwrap(), Err(expected.to_owned()));
        terminal.wait_until("the terminal as it was", is_given_back).unwrap();
    }
}

#[test]
fn a_panic_is_reported_on_the_terminal_as_it_was() {
    let project = Project::new();
    let mut terminal = project.view((100, 30));
    // The refusal has a hint that can't be put into words.
    terminal.types("f").unwrap();
    terminal.wait_for("Errors have no positions.").unwrap();
    terminal.types("a\r").unwrap();
    terminal.wait_for("a hint that can't be told").unwrap();
    assert_eq!(terminal.wait_end().unwrap(), Ok(101));
    terminal.wait_until("the terminal as it was", is_given_back).unwrap();
}

#[test]
fn the_shell_comes_back_while_it_is_suspended_and_after() {
    let project = Project::new();
    let mut terminal = project.shell();
    for by_key in [true, false] {
        terminal.types("clear; $VIEW\r").unwrap();
        terminal.wait_for("Done when").unwrap();
        if by_key {
            terminal.types("\u{1a}").unwrap();
        } else {
            // It is the shell's only child.
            let children = format!("$(ps -o pid= --ppid {})", terminal.process().unwrap());
            send(&project, "TSTP", &children);
        }
        terminal.wait_until("the shell", is_given_back).unwrap();
        terminal.types("stty -a\r").unwrap();
        terminal.wait_for(" icanon").unwrap();
        let shown = terminal.text();
        assert!(shown.contains(" echo ") && !shown.contains("-icanon"), "{shown}");
        terminal.types("fg\r").unwrap();
        terminal.wait_until("the tree", is_taken).unwrap();
        terminal.wait_for("Write the parser").unwrap();
        terminal.types("q").unwrap();
        terminal.wait_until("the shell", is_given_back).unwrap();
    }
}

/// A shell in a project whose frame f5 produced a file, which such an editor opens.
fn editing(script: &str) -> (Project, Terminal) {
    let project = Project::new();
    let editor = project.sealed.write("editor.sh", script).unwrap();
    let mut executable = project.sealed.command("chmod");
    executable.arg("+x").arg(editor);
    assert!(project.sealed.run("chmod", executable, LIMIT).unwrap().success());
    project.sealed.write("notes.md", "notes ").unwrap();
    project.does("stack_add_artifact", json!({"artifact": "notes.md"}));
    let mut terminal = project.shell();
    terminal.types("$VIEW\r").unwrap();
    terminal.wait_for("notes.md").unwrap();
    terminal.types("e").unwrap();
    (project, terminal)
}

#[test]
fn an_editor_has_the_terminal_to_itself() {
    let script = "#!/bin/sh\nstty -a\necho \"edits $1\"\nread typed\necho \"$typed\" >> notes.md\n";
    let (project, mut terminal) = editing(script);
    terminal.wait_for("edits /").unwrap();
    let shown = terminal.text();
    assert!(shown.contains(" icanon") && !shown.contains("-echo "), "{shown}");
    terminal.types("jjjq all of this is the editor's\r").unwrap();
    terminal.wait_for("editor.sh has ended").unwrap();
    terminal.wait_until("the tree", is_taken).unwrap();
    let written = project.sealed.read("notes.md").unwrap();
    assert_eq!(written, "notes jjjq all of this is the editor's\n");
}

#[test]
fn what_a_program_that_fails_has_said_can_be_read() {
    let (_project, mut terminal) = editing("#!/bin/sh\necho no such session\nexit 3\n");
    terminal.wait_for("Enter goes back to the tree").unwrap();
    assert!(terminal.text().contains("no such session"), "{}", terminal.text());
    assert!(terminal.look(is_given_back));
    terminal.types("\r").unwrap();
    terminal.wait_until("the tree", is_taken).unwrap();
    terminal.wait_for("exit status: 3").unwrap();
}
