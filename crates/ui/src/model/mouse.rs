//! Clicks and the wheel.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::app::{App, Pane, Target};
use super::dialog::{Dialog, Preview};
use super::keys::Action;

/// Lines for a step of the wheel.
const WHEEL: isize = 3;

impl App {
    pub(crate) fn mouse(&mut self, event: MouseEvent) {
        let at = Position { x: event.column, y: event.row };
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => {
                if let Some(target) = self.target(at) {
                    self.notice = None;
                    self.click(target);
                }
            }
            MouseEventKind::ScrollUp => self.wheel(at, -WHEEL),
            MouseEventKind::ScrollDown => self.wheel(at, WHEEL),
            _ => {}
        }
    }

    fn target(&self, at: Position) -> Option<Target> {
        let hit = |(area, target): &(Rect, Target)| area.contains(at).then_some(*target);
        self.targets.iter().rev().find_map(hit)
    }

    fn click(&mut self, target: Target) {
        if self.dialog.is_some() {
            return self.click_in_dialog(target);
        }
        match target {
            Target::Row(line) => {
                self.pane = Pane::Tree;
                if let Some(frame) = self.tree.at(line).map(|row| row.num) {
                    self.tree.select(frame);
                    self.follow();
                }
            }
            Target::Fold(line) => {
                if let Some(frame) = self.tree.at(line).map(|row| row.num) {
                    self.tree.toggle(frame);
                    self.follow();
                }
            }
            Target::Tree => self.pane = Pane::Tree,
            Target::Details => self.pane = Pane::Details,
            Target::Do(action) => {
                if matches!(action, Action::Tab(_)) {
                    self.pane = Pane::Details;
                }
                self.act(action);
            }
            Target::Item(_) | Target::Agree | Target::Cancel => {}
        }
    }

    fn click_in_dialog(&mut self, target: Target) {
        match (target, &mut self.dialog) {
            (Target::Agree, _) => self.agree(),
            (Target::Cancel, _) => self.dialog = None,
            (Target::Item(item), Some(Dialog::Pick(pick))) => {
                pick.at = item;
                self.agree();
            }
            (Target::Item(item), Some(Dialog::Search(search))) => {
                search.at = item;
                self.agree();
            }
            (Target::Item(item), Some(Dialog::Form(form))) => form.at = item,
            _ => {}
        }
    }

    fn wheel(&mut self, at: Position, by: isize) {
        match &mut self.dialog {
            Some(
                Dialog::Help { scroll }
                | Dialog::Window { scroll }
                | Dialog::Rollback(Preview { scroll, .. }),
            ) => *scroll = scroll.saturating_add_signed(by),
            Some(_) => {}
            None => {
                let pane = self.targets.iter().rev().find_map(|(area, target)| match target {
                    Target::Tree | Target::Details if area.contains(at) => Some(*target),
                    _ => None,
                });
                match pane {
                    Some(Target::Tree) => {
                        self.tree.roll(by);
                        self.follow();
                    }
                    Some(_) => {
                        let loads = self.details.roll(by);
                        self.load_all(loads);
                    }
                    None => {}
                }
            }
        }
    }
}
