//! Frames in the full-screen interface of the real `OpenCode`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use callstack_scripted_model::{Conversation, Script, Step, When};
use callstack_testkit::assert_clean;
use serde_json::json;

use super::project::Project;
use super::screen::Screen;
use super::steps::{bash, pop, push};

/// The column from which on the sidebar stands on a screen of 160 columns.
const SIDEBAR: u16 = 120;
const DOWN: &str = "\u{1b}[B";
const ESCAPE: &str = "\u{1b}";
/// The keys that show the tree.
const TREE: &str = "\u{18}k";

/// A project with all that `callstack init` installs; none, with a printed reason, where there is no `OpenCode`.
fn project(script: Script) -> Option<Project> {
    let project = Project::without_plugin(script)?;
    project.callstack.put_on_path(&project.sealed).unwrap();
    let done = project.callstack.run(&project.sealed, &["init", "opencode"]).unwrap();
    assert!(done.success(), "{done}");
    Some(project)
}

/// A step that ends once the test has made a file.
fn until(file: &str) -> Step {
    bash(&format!("while [ ! -e {file} ]; do sleep 0.05; done"))
}

fn go_on(project: &Project, file: &str) {
    project.sealed.write(file, "").unwrap();
}

#[track_caller]
fn snapshot(name: &str, screen: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r" +(<1s|\d+m \d+s|\d+[sm])\b", " TIME");
    settings.add_filter(r"\b[\d.]+k? of ", "… of ");
    settings.add_filter(r"\d+(\.\d+)?k\b", "…k");
    settings.add_filter(r"\(\d+ %\)", "(… %)");
    settings.add_filter("[█░]{5,}", "BAR");
    settings.add_filter("just now", "TIME ago");
    settings.add_filter(r"\bses_[A-Za-z0-9]+", "ses_…");
    settings.add_filter(r"(?m)(TIME|open) +(\d+|…k)$", "$1 …");
    // Its column depends on the width of other frames' times.
    settings.add_filter(r"(?m) {3,}open$", "   open");
    settings.bind(|| insta::assert_snapshot!(name, screen));
}

/// The part of a sidebar that is ours.
fn ours(sidebar: &str) -> String {
    let from_title = &sidebar[sidebar.find("Frames\n").unwrap()..];
    let ours = from_title.split_once("Context\n").unwrap().0;
    // A bar stands at its end while it scrolls.
    let lines = ours.lines().map(|line| line.trim_end_matches(['█', '▄', '▀']).trim_end());
    lines.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn the_sidebar_follows_the_agent_and_a_frame_is_ended_from_the_tree() {
    let script = Script::steps([
        push("Read the parser", "its rules are known, and where each of them is tested"),
        until("looked"),
        pop("It has 12 rules."),
        until("read"),
        push("Write the lexer", "tokens have places"),
        until("ended"),
        Step::call("bash", json!({"command": "touch asked", "description": "ask"})),
        Step::text("All is done."),
    ]);
    let Some(project) = project(script) else { return };
    let url = project.model.base_url();
    let asking = json!({"permission": {"bash": {"*": "allow", "touch *": "ask"}}});
    project.opencode.configure_with(&project.sealed, &url, &asking).unwrap();
    let mut screen = Screen::start(&project, 160, 45, &[]);
    screen.say("Mend the parser");
    screen.wait("▶ f2 Read the parser");
    // The first request's figures arrive with the second one.
    screen.wait("nothing saved yet");
    snapshot("interface_pushed", &ours(&screen.right_of(SIDEBAR)));
    go_on(&project, "looked");
    screen.wait("✓ f2 Read the parser");
    snapshot("interface_popped", &ours(&screen.right_of(SIDEBAR)));
    go_on(&project, "read");
    screen.wait("▶ f3 Write the lexer");

    screen.press(TREE);
    let is_tree = |text: &str| text.contains("esc back") && text.contains("f3 Write the lexer");
    snapshot("interface_tree", &screen.wait_for("tree", is_tree));
    screen.press("\r");
    snapshot("interface_frame", &screen.wait("tokens have places"));
    screen.press("a");
    screen.wait("End it: its criteria are met");
    screen.press("\r");
    screen.wait("all that later work needs");
    screen.press("Tokens are told apart.\r");
    screen.wait("✓ f3 Write the lexer");
    // A question of OpenCode's is never hidden by the tree.
    go_on(&project, "ended");
    let asked = screen.wait("Permission required");
    assert!(!asked.contains("esc back"), "{asked}");
    screen.press("\r");
    screen.wait("All is done.");
    assert_clean(&project.model);
    let requests = project.requests();
    let request = requests[6].render();
    assert!(request.contains("Tokens are told apart."), "{request}");
}

#[test]
fn a_strip_shows_the_open_frame_of_a_child_session_and_the_tree_leads_there_and_back() {
    let task =
        json!({"description": "Alpha task", "prompt": "Read alpha", "subagent_type": "general"});
    let child =
        [push("Look deeper", "alpha is known"), until("known"), Step::text("Alpha says 1.")];
    let script = Script::new()
        .conversation(Conversation::when(When::FirstUser("Read alpha".to_owned()), child))
        .conversation(Conversation::new([
            push("Ask around", "it is known"),
            Step::call("task", task),
            Step::text("Asked."),
        ]));
    let Some(project) = project(script) else { return };
    let mut screen = Screen::start(&project, 80, 24, &[]);
    screen.say("Ask please");
    screen.wait("› f2 Ask around");
    screen.press(TREE);
    screen.wait("Look deeper");
    screen.press(DOWN);
    screen.press(DOWN);
    screen.press("g");
    let is_strip = |text: &str| text.contains("Parent") && text.contains(" %)");
    let strip = screen.wait_for("strip in the child's session", is_strip);
    snapshot("interface_child", strip.lines().last().unwrap());
    screen.press(TREE);
    screen.wait("esc back");
    screen.press("b");
    screen.wait_without("Parent");
    screen.wait("› f2 Ask around");
    go_on(&project, "known");
    screen.wait("Asked.");
    assert_clean(&project.model);
}

/// Writes a program that serves the agent as callstack does, but not the interface.
fn instead(project: &Project, interface: &str) -> String {
    let callstack = project.callstack.path().display();
    let text = format!(
        "#!/bin/sh\n[ \"$2\" = opencode-tui ] && {{ {interface}; }}\nexec {callstack} \"$@\"\n"
    );
    let path = project.sealed.write("instead.sh", &text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

fn goes_on_without(interface: &str, notice: &str) {
    let look = bash("echo nothing");
    let steps = [push("Look", "seen"), look, pop("Seen."), Step::text("I have looked.")];
    let script = Script::steps(steps);
    let Some(project) = project(script) else { return };
    let program = instead(&project, interface);
    let mut screen = Screen::start(&project, 160, 45, &[("CALLSTACK_BIN", &program)]);
    screen.say("Have a look");
    screen.wait("I have looked.");
    let sidebar = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    screen.wait_for(notice, |_| sidebar(&screen.right_of(SIDEBAR)).contains(notice));
    screen.press(TREE);
    screen.wait("esc back");
    screen.press(ESCAPE);
    screen.wait("I have looked.");
    assert_clean(&project.model);
}

#[test]
fn a_process_that_sends_what_can_not_be_drawn_is_reported() {
    let broken =
        r#"echo '{"protocol":1,"state":{"session":7,"rows":"none"}}'; cat >/dev/null; exit 3"#;
    goes_on_without(broken, "callstack: what it sends can't be shown");
}

#[test]
fn a_process_that_hangs_is_reported() {
    goes_on_without("exec sleep 600", "callstack: it did not answer for 5 s");
}
