//! Each view, as it is drawn.

#[path = "view_tests/scenes.rs"]
mod scenes;

use std::time::Duration;

use callstack_core::control::steers;
use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use insta::assert_snapshot;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Color;
use serde_json::json;

use self::scenes::{busy, damaged, empty, hostile, large, one_frame};
use crate::data::loads::{Deed, Load, Loaded};
use crate::model::app::{App, Order, Pane};
use crate::model::dialog::Dialog;
use crate::model::keys::KEYS;
use crate::view::draw;

fn drawn(app: &mut App, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, app)).unwrap();
    terminal.backend().buffer().clone()
}

/// The screen as text.
fn screen(app: &mut App, width: u16, height: u16) -> String {
    let buffer = drawn(app, width, height);
    let line = |y: u16| -> String {
        let mut line = String::new();
        let mut x = 0;
        while x < width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // A wide character takes the cell after its own, too.
            x += u16::try_from(unicode_width::UnicodeWidthStr::width(symbol)).unwrap().max(1);
        }
        line.trim_end().to_owned()
    };
    (0..height).map(line).collect::<Vec<_>>().join("\n")
}

fn press(app: &mut App, keys: &str) {
    for char in keys.chars() {
        let code = match char {
            '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            '\u{1b}' => KeyCode::Esc,
            '↓' => KeyCode::Down,
            '↑' => KeyCode::Up,
            '→' => KeyCode::Right,
            '←' => KeyCode::Left,
            other => KeyCode::Char(other),
        };
        app.input(&Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }
}

fn click(app: &mut App, column: u16, row: u16) {
    let kind = MouseEventKind::Down(MouseButton::Left);
    app.input(&Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
}

/// Returns the changes that were requested since.
fn deeds(app: &mut App) -> Vec<Deed> {
    let deed = |order| if let Order::Load(Load::Do(deed)) = order { Some(deed) } else { None };
    std::mem::take(&mut app.orders).into_iter().filter_map(deed).collect()
}

#[test]
fn every_size_shows_the_tree_and_its_details() {
    for (width, height) in [(80, 24), (120, 40), (200, 60)] {
        let scenes: [(&str, App); 5] = [
            ("empty", empty()),
            ("one_frame", one_frame()),
            ("large", large(10_000)),
            ("hostile", hostile()),
            ("damaged", damaged()),
        ];
        for (name, mut app) in scenes {
            assert_snapshot!(format!("{name}_{width}x{height}"), screen(&mut app, width, height));
        }
        assert_snapshot!(format!("busy_{width}x{height}"), screen(&mut busy(), width, height));
    }
}

#[test]
fn narrow_and_low_terminals_show_one_pane() {
    let mut app = busy();
    assert_snapshot!("narrow_tree", screen(&mut app, 40, 12));
    press(&mut app, "\n");
    assert_snapshot!("narrow_details", screen(&mut app, 40, 12));
}

#[test]
fn each_tab_shows_its_part() {
    for (name, key) in [("result", '1'), ("files", '2'), ("log", '3'), ("sent", '4'), ("pins", '5')]
    {
        let mut app = busy();
        press(&mut app, &format!("{key}\t"));
        scenes::answer(&mut app);
        assert_snapshot!(format!("tab_{name}"), screen(&mut app, 100, 34));
    }
    let mut app = busy();
    press(&mut app, ".4");
    scenes::answer(&mut app);
    assert_snapshot!("tab_sent_open", screen(&mut app, 100, 34));
}

#[test]
fn dialogs_stand_above_the_panes() {
    for (name, keys) in [
        ("help", "?"),
        ("push", "p"),
        ("pop", ".o→\nAll green"),
        ("pin", "i"),
        ("retry", "t"),
        ("invalidate_without_a_reason", "x\n"),
        ("rollback", "R"),
        ("search", "sgenerator\n"),
        ("window", "w"),
        ("session", "g"),
        ("pick_a_file", "e"),
    ] {
        let mut app = busy();
        press(&mut app, keys);
        scenes::answer(&mut app);
        assert_snapshot!(format!("dialog_{name}"), screen(&mut app, 80, 24));
    }
    let mut app = busy();
    app.loaded(Loaded::Done(Err(scenes::refused())));
    assert_snapshot!("dialog_failed", screen(&mut app, 80, 24));
}

#[test]
fn a_filter_is_shown_while_it_is_written_and_after() {
    let mut app = busy();
    press(&mut app, "/gram");
    assert_snapshot!("filter_written", screen(&mut app, 80, 24));
    press(&mut app, "\n");
    assert_snapshot!("filter", screen(&mut app, 80, 24));
    press(&mut app, "\u{1b}");
    assert!(screen(&mut app, 80, 24).contains("Write the"));
}

/// Every scene with every dialog, to be drawn in odd sizes.
fn everything() -> Vec<App> {
    let scenes: [fn() -> App; 5] = [empty, one_frame, hostile, damaged, busy];
    let keys = ["", "?", "w", "s", "p", "ot", "i", "R", "g", "e", "/x", "2\t", "3", "4", "5"];
    let mut all = Vec::new();
    for scene in scenes {
        for keys in keys {
            let mut app = scene();
            press(&mut app, keys);
            scenes::answer(&mut app);
            all.push(app);
        }
    }
    all
}

#[test]
fn no_size_is_too_small_to_be_drawn() {
    for mut app in everything() {
        for (width, height) in [
            (1, 1),
            (2, 9),
            (7, 3),
            (8, 4),
            (9, 5),
            (20, 5),
            (12, 30),
            (69, 13),
            (70, 14),
            (300, 6),
        ] {
            drawn(&mut app, width, height);
        }
    }
}

#[test]
fn nothing_on_the_screen_steers_the_terminal() {
    for mut app in everything() {
        for (width, height) in [(80, 24), (33, 20)] {
            let buffer = drawn(&mut app, width, height);
            for cell in buffer.content() {
                assert!(!cell.symbol().contains(steers), "{:?}", cell.symbol());
            }
        }
    }
}

#[test]
fn colours_are_the_terminals_own_and_can_be_left_out() {
    let mut has_colours = false;
    for mut app in everything() {
        let colours = |app: &mut App| -> Vec<Color> {
            let buffer = drawn(app, 80, 24);
            buffer.content().iter().flat_map(|cell| [cell.fg, cell.bg]).collect()
        };
        let used = colours(&mut app);
        assert!(!used.iter().any(|colour| matches!(colour, Color::Rgb(..) | Color::Indexed(_))));
        has_colours |= used.iter().any(|colour| *colour != Color::Reset);
        app.options.colours = false;
        app.details.changed();
        assert!(colours(&mut app).iter().all(|colour| *colour == Color::Reset));
    }
    assert!(has_colours);
}

#[test]
fn the_help_and_its_page_name_every_key() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ui.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut app = busy();
    press(&mut app, "?");
    let help = screen(&mut app, 120, 70);
    for binding in KEYS.iter().flat_map(|(_, bindings)| bindings.iter()) {
        assert!(help.contains(binding.effect), "{}", binding.effect);
        for key in binding.keys {
            assert!(page.contains(&format!("`{key}`")), "docs/ui.md does not name `{key}`");
        }
    }
}

#[test]
fn steering_carries_out_what_was_agreed_to_and_nothing_else() {
    let mut app = busy();
    press(&mut app, "iuse no generator");
    assert_eq!(deeds(&mut app), []);
    press(&mut app, "\n");
    let arguments = json!({"frame": "f4", "text": "use no generator"});
    assert_eq!(deeds(&mut app), [Deed { operation: "stack_pin", arguments }]);
    press(&mut app, "iwrong\u{1b}tn");
    assert_eq!(deeds(&mut app), []);
    // The selected frame is finished, so the open one is meant.
    press(&mut app, "o\nAll green.\n");
    let arguments = json!({"frame": "f5", "status": "completed", "results": "All green."});
    assert_eq!(deeds(&mut app), [Deed { operation: "stack_frame_pop", arguments }]);
}

#[test]
fn a_rollback_restores_only_what_was_shown() {
    let mut app = busy();
    press(&mut app, "R\n");
    assert_eq!(deeds(&mut app), [], "nothing was shown yet");
    press(&mut app, "\u{1b}R");
    scenes::answer(&mut app);
    press(&mut app, "\n");
    let files = ["src/generator.rs", "src/lib.rs"];
    let arguments = json!({"frame": "f4", "all": false, "undo": false, "files": files});
    assert_eq!(deeds(&mut app), [Deed { operation: "stack_frame_rollback", arguments }]);
}

#[test]
fn the_mouse_selects_folds_turns_and_agrees() {
    let mut app = busy();
    let shown = screen(&mut app, 80, 24);
    let line = |text: &str| {
        let line = shown.lines().position(|line| line.contains(text)).unwrap();
        u16::try_from(line).unwrap()
    };
    click(&mut app, 20, line("Read the"));
    assert_eq!(app.frame().unwrap().0, 2);
    click(&mut app, 2, line("Build the parser"));
    assert!(!screen(&mut app, 80, 24).contains("Read the"));
    click(&mut app, 2, line("Build the parser"));
    let column = |text: &str, within: u16| {
        let line = shown.lines().nth(usize::from(within)).unwrap();
        let before = line.split(text).next().unwrap();
        u16::try_from(unicode_width::UnicodeWidthStr::width(before)).unwrap()
    };
    click(&mut app, column("3 Log", line("3 Log")), line("3 Log"));
    assert_eq!((app.details.tab.name(), app.pane), ("Log", Pane::Details));
    click(&mut app, column("push", 23), 23);
    assert!(matches!(app.dialog, Some(Dialog::Form(_))));
    let shown = screen(&mut app, 80, 24);
    let cancel = shown.lines().position(|line| line.contains("[ Esc cancel ]")).unwrap();
    let before = shown.lines().nth(cancel).unwrap().split("[ Esc").next().unwrap();
    let column = u16::try_from(unicode_width::UnicodeWidthStr::width(before)).unwrap() + 2;
    click(&mut app, column, u16::try_from(cancel).unwrap());
    assert!(app.dialog.is_none());
    screen(&mut app, 80, 24);
    click(&mut app, 10, 21);
    assert!(matches!(app.dialog, Some(Dialog::Window { .. })));
}

#[test]
fn a_place_that_was_found_is_gone_to() {
    let mut app = busy();
    press(&mut app, "sgenerator\n");
    scenes::answer(&mut app);
    press(&mut app, "↓\n");
    let log = |order: &Order| matches!(order, Order::Load(Load::Log { from: 6, .. }));
    assert!(app.orders.iter().any(log), "{:?}", app.orders);
    assert_eq!((app.details.tab.name(), app.frame().unwrap().0), ("Log", 4));
}

#[test]
fn a_long_log_is_read_as_far_as_it_is_looked_at() {
    let mut app = busy();
    press(&mut app, "3\t");
    scenes::answer(&mut app);
    drawn(&mut app, 80, 24);
    let asked = |app: &mut App| -> Vec<(u64, u64)> {
        let load = |order| match order {
            Order::Load(Load::Log { from, count, .. }) => Some((from, count)),
            _ => None,
        };
        std::mem::take(&mut app.orders).into_iter().filter_map(load).collect()
    };
    asked(&mut app);
    press(&mut app, "G");
    assert_eq!(asked(&mut app), [(70, 30)]);
    app.loaded(scenes::log(70, 100));
    assert!(screen(&mut app, 80, 24).contains("message number 99"));
    // Upwards from there: the messages on the screen stay, and more come before them.
    for _ in 0..400 {
        press(&mut app, "k");
    }
    assert_eq!(asked(&mut app), [(40, 30)]);
    let before = screen(&mut app, 80, 24);
    assert!(before.contains("message number 70"), "{before}");
    app.loaded(scenes::log(40, 70));
    assert!(screen(&mut app, 80, 24).contains("message number 70"));
    press(&mut app, "kkkkkk");
    assert!(screen(&mut app, 80, 24).contains("message number 69"));
}

/// Returns the processor time of this thread.
fn worked() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap()
}

#[test]
#[ignore = "measures; docs/lab-book.md has the figures"]
fn measured_redraws() {
    let mut app = large(10_000);
    press(&mut app, "Z");
    let mut terminal = Terminal::new(TestBackend::new(200, 60)).unwrap();
    let mut times = Vec::new();
    for turn in 0..2_000 {
        press(&mut app, if turn % 20 == 0 { "→" } else { "↓" });
        app.orders.clear();
        let begun = worked();
        terminal.draw(|frame| draw(frame, &mut app)).unwrap();
        times.push(worked().saturating_sub(begun));
    }
    times.sort_unstable();
    let (half, most) = (times[times.len() / 2], times[times.len() - 1]);
    println!("a drawing after a step, 10,000 frames, 200x60: p50 {half:?}, max {most:?}");
    let begun = worked();
    press(&mut app, "/9");
    println!("a filter: {:?}", worked().saturating_sub(begun));
    let rows = scenes::many(10_000);
    let begun = worked();
    app.loaded(Loaded::Tree(Ok(rows)));
    println!("a newer tree: {:?}", worked().saturating_sub(begun));
    assert_eq!(app.tree.len(), 10_000);
}
