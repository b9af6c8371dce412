//! The table of keys, from which the view, its help and its foot are made.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The action of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Step(isize),
    Page(isize),
    Ends(bool),
    Left,
    Right,
    Open,
    Toggle,
    FoldAll(bool),
    SwitchPane,
    Tab(usize),
    Back,
    ToOpenFrame,
    NextFailed,
    NextFile(isize),
    Filter,
    Search,
    Window,
    GoToSession,
    Edit,
    Push,
    Pop,
    Plan,
    Activate,
    Block,
    Invalidate,
    Reopen,
    Retry,
    Pin,
    Unpin,
    Decision,
    Rollback,
    UndoRollback,
    Help,
    Redraw,
    Suspend,
    Quit,
}

/// A line of the table.
#[derive(Debug)]
pub(crate) struct Binding {
    /// Keys by their names, the first of which is shown.
    pub(crate) keys: &'static [&'static str],
    pub(crate) action: Action,
    /// A word for the foot; empty where it is not shown there.
    pub(crate) short: &'static str,
    /// Its effect.
    pub(crate) effect: &'static str,
}

const fn key(
    keys: &'static [&'static str],
    action: Action,
    short: &'static str,
    effect: &'static str,
) -> Binding {
    Binding { keys, action, short, effect }
}

/// The keys in groups, each with its heading.
pub(crate) const KEYS: &[(&str, &[Binding])] = &[
    (
        "Move",
        &[
            key(&["↑", "k"], Action::Step(-1), "", "the row or line before"),
            key(&["↓", "j"], Action::Step(1), "", "the row or line after"),
            key(&["PgUp", "Ctrl-B"], Action::Page(-1), "", "a page up"),
            key(&["PgDn", "Ctrl-F"], Action::Page(1), "", "a page down"),
            key(&["Home"], Action::Ends(false), "", "the first row or line"),
            key(&["End", "G"], Action::Ends(true), "", "the last row or line"),
            key(&["←", "h"], Action::Left, "", "fold, or go up; in details: the tab before"),
            key(&["→", "l"], Action::Right, "", "unfold, or go down; in details: the tab after"),
            key(&["Space"], Action::Toggle, "", "fold or unfold"),
            key(&["z"], Action::FoldAll(true), "", "fold all"),
            key(&["Z"], Action::FoldAll(false), "", "unfold all"),
            key(&["."], Action::ToOpenFrame, "", "to the open frame"),
            key(&["f"], Action::NextFailed, "", "to the next frame that failed"),
        ],
    ),
    (
        "Look",
        &[
            key(&["↵"], Action::Open, "open", "to the details of the frame, and back"),
            key(&["Tab"], Action::SwitchPane, "", "from tree to details, and back"),
            key(&["1"], Action::Tab(0), "", "its result: what came of it, checks, files"),
            key(&["2"], Action::Tab(1), "", "its files, line by line"),
            key(&["3"], Action::Tab(2), "", "its log: all that was said and done"),
            key(
                &["4"],
                Action::Tab(3),
                "",
                "what is sent: what stands for it, or the next request",
            ),
            key(&["5"], Action::Tab(4), "", "its pins and decisions"),
            key(&["n"], Action::NextFile(1), "", "the next file or message"),
            key(&["N"], Action::NextFile(-1), "", "the file or message before"),
            key(&["/"], Action::Filter, "", "show frames with these words: a title, f12, failed"),
            key(&["s"], Action::Search, "search", "search everything that is kept"),
            key(&["w"], Action::Window, "window", "what fills the next request"),
            key(&["e"], Action::Edit, "", "open a file of the frame in your editor"),
            key(&["g"], Action::GoToSession, "go", "go to the frame's session in its agent"),
        ],
    ),
    (
        "Steer",
        &[
            key(&["p"], Action::Push, "push", "push a frame below the open one"),
            key(&["o"], Action::Pop, "pop", "pop the frame, with its results"),
            key(&["P"], Action::Plan, "", "plan a frame below it"),
            key(&["a"], Action::Activate, "", "activate a planned or blocked frame"),
            key(&["b"], Action::Block, "", "set an open frame aside as blocked"),
            key(&["x"], Action::Invalidate, "", "mark it as irrelevant"),
            key(&["O"], Action::Reopen, "", "open a finished frame again"),
            key(&["t"], Action::Retry, "", "try again what a finished frame was for"),
            key(&["i"], Action::Pin, "pin", "pin a rule for it and all below it"),
            key(&["I"], Action::Unpin, "", "take one of its pins back"),
            key(&["d"], Action::Decision, "", "note a decision"),
            key(&["R"], Action::Rollback, "rollback", "undo what it did to files, after a look"),
            key(&["U"], Action::UndoRollback, "", "take its last rollback back"),
        ],
    ),
    (
        "The rest",
        &[
            key(&["?", "F1"], Action::Help, "", "all keys"),
            key(&["Esc"], Action::Back, "", "back; ends a filter"),
            key(&["Ctrl-L"], Action::Redraw, "", "draw the screen again"),
            key(&["Ctrl-Z"], Action::Suspend, "", "to the shell; `fg` comes back"),
            key(&["q", "Ctrl-C"], Action::Quit, "quit", "quit"),
        ],
    ),
];

/// Returns what a key does.
pub(crate) fn action(event: &KeyEvent) -> Option<Action> {
    let name = name(event)?;
    let mut all = KEYS.iter().flat_map(|(_, bindings)| bindings.iter());
    all.find(|binding| binding.keys.contains(&name.as_str())).map(|binding| binding.action)
}

/// Returns the name of a key in the table.
pub(crate) fn name(event: &KeyEvent) -> Option<String> {
    let name = match event.code {
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(char) if event.modifiers.contains(KeyModifiers::CONTROL) => {
            format!("Ctrl-{}", char.to_ascii_uppercase())
        }
        KeyCode::Char(_) if event.modifiers.contains(KeyModifiers::ALT) => return None,
        KeyCode::Char(char) => char.to_string(),
        KeyCode::F(num) => format!("F{num}"),
        other => match other {
            KeyCode::Up => "↑",
            KeyCode::Down => "↓",
            KeyCode::Left => "←",
            KeyCode::Right => "→",
            KeyCode::Enter => "↵",
            KeyCode::Tab | KeyCode::BackTab => "Tab",
            KeyCode::Esc => "Esc",
            KeyCode::PageUp => "PgUp",
            KeyCode::PageDown => "PgDn",
            KeyCode::Home => "Home",
            KeyCode::End => "End",
            _ => return None,
        }
        .to_owned(),
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_key_does_two_things() {
        let bindings = KEYS.iter().flat_map(|(_, bindings)| bindings.iter());
        let keys: Vec<_> = bindings.flat_map(|binding| binding.keys.iter()).collect();
        assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len());
    }

    #[test]
    fn keys_are_known_by_their_names() {
        let key = |code, modifiers| action(&KeyEvent::new(code, modifiers));
        let none = KeyModifiers::NONE;
        assert_eq!(key(KeyCode::Char('R'), KeyModifiers::SHIFT), Some(Action::Rollback));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Action::Quit));
        assert_eq!(key(KeyCode::Char('b'), KeyModifiers::ALT), None);
        assert_eq!(key(KeyCode::Enter, none), Some(Action::Open));
        assert_eq!(key(KeyCode::Insert, none), None);
    }
}
