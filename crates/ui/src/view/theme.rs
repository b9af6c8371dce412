//! Styles, of the terminal's own sixteen colours.

use callstack_core::frame::Status;
use ratatui::style::{Color, Modifier, Style};

/// Without decoration.
pub(crate) const PLAIN: Style = Style::new();
/// Text that only helps to find one's way.
pub(crate) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
/// Text that should catch the eye.
pub(crate) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
/// The selection in the pane that has the focus.
pub(crate) const SELECTED: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Whether colours are wanted. Signs and words have the same meanings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    colours: bool,
}

impl Theme {
    pub(crate) fn of(colours: bool) -> Self {
        Self { colours }
    }

    fn colour(self, colour: Color) -> Style {
        if self.colours { Style::new().fg(colour) } else { Style::new() }
    }

    pub(crate) fn good(self) -> Style {
        self.colour(Color::Green)
    }

    pub(crate) fn bad(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(crate) fn warn(self) -> Style {
        self.colour(Color::Yellow)
    }

    pub(crate) fn hint(self) -> Style {
        self.colour(Color::Cyan)
    }

    pub(crate) fn status(self, status: Status) -> Style {
        match status {
            Status::Planned => self.colour(Color::Blue),
            Status::InProgress => self.colour(Color::Yellow),
            Status::Completed => self.colour(Color::Green),
            Status::Failed => self.colour(Color::Red),
            Status::Blocked => self.colour(Color::Magenta),
            Status::Invalidated => DIM,
        }
    }

    /// The style of a part of the next request.
    pub(crate) fn part(self, kind: &str) -> Style {
        match kind {
            "system" => self.colour(Color::Blue),
            "pins" => self.colour(Color::Red),
            "summary" => self.colour(Color::Magenta),
            "results" => self.colour(Color::Green),
            "user" => self.colour(Color::Cyan),
            "live" => self.colour(Color::Yellow),
            _ => PLAIN,
        }
    }
}
