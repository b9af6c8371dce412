//! Starts of the full-screen view and of the watched tree. The view itself is tested in its crate.

use std::process::Command;

use callstack_testkit::Terminal;
use vt100::{Cell, Color, MouseProtocolMode, Screen};

use super::test_env::{BINARY, TestEnv};

fn is_given_back(screen: &Screen) -> bool {
    let has_mouse = screen.mouse_protocol_mode() != MouseProtocolMode::None;
    !screen.alternate_screen() && !screen.hide_cursor() && !has_mouse
}

#[test]
fn the_view_shows_the_session_that_is_named() {
    let desk = TestEnv::with_frames();
    let command = desk.command(&desk.project(), &["ui", "--session", "cli"]);
    let mut terminal = Terminal::start(&command, (80, 24)).unwrap();
    terminal.wait_for("Write the parser").unwrap();
    // The hint is one for people at a terminal.
    terminal.types("f").unwrap();
    terminal.wait_for("Errors have no positions.").unwrap();
    terminal.types("a\r").unwrap();
    terminal.wait_for("`callstack reopen`").unwrap();
    // Esc and a letter at once would be Alt with the letter; any key closes it.
    terminal.types("0q").unwrap();
    assert_eq!(terminal.wait_end().unwrap(), Ok(0));
    terminal.wait_until("the terminal as it was", is_given_back).unwrap();
}

#[test]
fn without_a_terminal_it_says_what_to_do() {
    let desk = TestEnv::with_frames();
    let said = desk.run(&["ui"]);
    assert_eq!(said.code, 2);
    assert!(said.stderr.contains("needs a terminal"), "{}", said.stderr);
    assert!(said.stderr.contains("callstack tree"), "{}", said.stderr);
}

#[test]
fn no_colour_is_used_where_none_is_wanted() {
    let desk = TestEnv::with_frames();
    let is_coloured = |command: &Command| {
        let terminal = Terminal::start(command, (80, 24)).unwrap();
        terminal.wait_for("Done when").unwrap();
        terminal.look(|screen| {
            let mut cells = (0..24).flat_map(|row| (0..80).map(move |column| (row, column)));
            cells.any(|(row, column)| {
                screen.cell(row, column).map(Cell::fgcolor).is_some_and(|it| it != Color::Default)
            })
        })
    };
    let mut command = desk.command(&desk.project(), &["ui"]);
    assert!(is_coloured(&command));
    command.env("NO_COLOR", "1");
    assert!(!is_coloured(&command));
}

#[test]
fn a_watched_tree_follows_and_leaves_the_screen_as_it_was() {
    let desk = TestEnv::with_frames();
    let mut command = desk.sealed.command("sh");
    command.arg("-i").env("PS1", "ready> ");
    let mut terminal = Terminal::start(&command, (100, 40)).unwrap();
    terminal.wait_for("ready>").unwrap();
    terminal.types(&format!("clear; echo before; {BINARY} tree --watch\r")).unwrap();
    terminal.wait_until("another screen", Screen::alternate_screen).unwrap();
    terminal.wait_for("Write the parser").unwrap();
    desk.ok(&["push", "Parse numbers"]);
    terminal.wait_for("Parse numbers").unwrap();
    terminal.resize(40, 6).unwrap();
    terminal.wait_for("lines above").unwrap();
    terminal.resize(100, 40).unwrap();
    terminal.types("\u{3}").unwrap();
    terminal.wait_until("the shell", is_given_back).unwrap();
    terminal.wait_for("before").unwrap();
    terminal.wait_for("Parse numbers").unwrap();
    terminal.types("echo code $?\r").unwrap();
    terminal.wait_for("code 130").unwrap();
}
