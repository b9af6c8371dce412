use callstack_testkit::Terminal;
use serde_json::json;
use vt100::Screen;

use crate::project::{Project, is_taken};

/// Presses the mouse where a text stands.
fn click(terminal: &mut Terminal, text: &str) {
    let found = terminal.look(|screen| {
        let columns = screen.size().1.get();
        let mut lines = screen.rows(0, columns).enumerate();
        lines.find_map(|(row, line)| {
            line.split_once(text).map(|(before, _)| (row + 1, before.chars().count() + 1))
        })
    });
    let (row, column) = found.unwrap_or_else(|| panic!("no {text}:\n{}", terminal.text()));
    terminal.types(&format!("\u{1b}[<0;{column};{row}M")).unwrap();
}

#[test]
fn keys_and_the_mouse_move_look_and_steer() {
    let project = Project::new();
    let mut terminal = project.view((100, 30));
    assert!(terminal.look(is_taken));
    // A failed frame, with the reason.
    terminal.types("f").unwrap();
    terminal.wait_for("Errors have no positions.").unwrap();
    click(&mut terminal, "Read the grammar");
    terminal.wait_for("23 rules, none left-recursive.").unwrap();
    terminal.types("5").unwrap();
    terminal.wait_for("Recursive descent, no generator").unwrap();
    // A filter, and its end.
    terminal.types("/document\r").unwrap();
    let is_alone = |screen: &Screen| !screen.contents().contains("Read the grammar");
    terminal.wait_until("the filter", is_alone).unwrap();
    terminal.types("\u{1b}").unwrap();
    terminal.wait_for("Read the grammar").unwrap();
    // A rule is pinned once it was agreed to.
    let details = || project.does("stack_frame_details", json!({"frame": "f5"})).text;
    terminal.types(".i").unwrap();
    terminal.wait_for("callstack pin --frame f5").unwrap();
    terminal.types("No unsafe code").unwrap();
    terminal.wait_for("'No unsafe code'").unwrap();
    assert!(!details().contains("No unsafe code"));
    terminal.types("\r").unwrap();
    terminal.wait_for("Pinned as p1").unwrap();
    assert!(details().contains("No unsafe code"));
    // A failed action shows the reason.
    click(&mut terminal, "Build the parser");
    terminal.types("t\r").unwrap();
    terminal.wait_for("That did not work").unwrap();
    // Esc and a letter at once would be Alt with the letter.
    terminal.types("\u{1b}").unwrap();
    let is_closed = |screen: &Screen| !screen.contents().contains("That did not work");
    terminal.wait_until("the tree", is_closed).unwrap();
    terminal.types("q").unwrap();
    assert_eq!(terminal.wait_end().unwrap(), Ok(0));
}

#[test]
fn what_others_do_is_seen_at_once() {
    let project = Project::new();
    let terminal = project.view((80, 24));
    project.does("stack_frame_push", json!({"title": "Parse numbers", "successCriteria": ""}));
    terminal.wait_for("Parse numb").unwrap();
    project.does("stack_frame_pop", json!({"results": "All 40 fixtures parse."}));
    terminal.wait_until("its end", |screen| screen.contents().contains("✓ f6")).unwrap();
}

#[test]
fn every_size_is_drawn_also_in_the_middle_of_work() {
    let project = Project::new();
    let mut terminal = project.view((80, 24));
    for (columns, rows) in [(200, 60), (20, 5), (3, 2), (69, 14), (120, 40), (1, 1), (80, 24)] {
        terminal.types("jk\t\t35?0").unwrap();
        terminal.resize(columns, rows).unwrap();
    }
    terminal.types("1").unwrap();
    terminal.wait_for("? keys").unwrap();
    let is_whole = |screen: &Screen| {
        let lines: Vec<_> = screen.rows(0, 80).collect();
        let has_ends = |line: Option<&String>, ends: [char; 2]| {
            line.is_some_and(|line| line.starts_with(ends[0]) && line.ends_with(ends[1]))
        };
        has_ends(lines.first(), ['┌', '┐']) && has_ends(lines.last(), ['└', '┘'])
    };
    terminal.wait_until("the whole frame", is_whole).unwrap();
}
