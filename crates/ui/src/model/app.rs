//! The whole state, and what news do to it.

use callstack_core::frame::FrameNum;
use callstack_engine::EngineError;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Rect;

use super::details::{Details, Remote, Tab};
use super::dialog::{Dialog, Launch, Picked, Search};
use super::form::Outcome;
use super::keys::{Action, action};
use super::tree::Tree;
use crate::data::answers::Window;
use crate::data::loads::{Deed, Load, Loaded};
use crate::options::Options;

/// The pane that has the focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pane {
    #[default]
    Tree,
    Details,
}

/// A request of the state to the outside.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Order {
    Load(Load),
    /// Leaves the screen, runs a command, and comes back.
    Run(Launch),
    Redraw,
    Suspend,
    Quit,
}

/// A place of the screen on which a click has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A row of the tree, by its line on the screen.
    Row(usize),
    /// The mark before a row that folds it.
    Fold(usize),
    Tree,
    Details,
    Do(Action),
    /// A line of a list in a dialog.
    Item(usize),
    Agree,
    Cancel,
}

/// The state.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) options: Options,
    pub(crate) tree: Tree,
    /// Why the tree can't be read, while it can't.
    pub(crate) trouble: Option<EngineError>,
    /// Whether the tree was read at all.
    pub(crate) is_read: bool,
    pub(crate) details: Details,
    pub(crate) window: Remote<Window>,
    pub(crate) dialog: Option<Dialog>,
    pub(crate) pane: Pane,
    /// Whether a filter is being written.
    pub(crate) filters: bool,
    /// The last change, in a line.
    pub(crate) notice: Option<String>,
    /// The present time in milliseconds since 1970.
    pub(crate) now: i64,
    /// Places on which a click has a meaning, the topmost last.
    pub(crate) targets: Vec<(Rect, Target)>,
    pub(crate) orders: Vec<Order>,
}

impl App {
    pub(crate) fn new(options: Options, now: i64) -> Self {
        Self {
            options,
            tree: Tree::default(),
            trouble: None,
            is_read: false,
            details: Details::default(),
            window: Remote::default(),
            dialog: None,
            pane: Pane::default(),
            filters: false,
            notice: None,
            now,
            targets: Vec::new(),
            orders: Vec::new(),
        }
    }

    /// Asks for everything that is shown, again.
    pub(crate) fn refresh(&mut self) {
        self.load(Load::Tree);
        let loads = self.details.refreshed();
        self.load_all(loads);
        self.load_window();
    }

    pub(crate) fn load(&mut self, load: Load) {
        self.orders.push(Order::Load(load));
    }

    pub(crate) fn load_all(&mut self, loads: Vec<Load>) {
        self.orders.extend(loads.into_iter().map(Order::Load));
    }

    fn load_window(&mut self) {
        let session = self.session();
        self.load(Load::Window { session });
    }

    /// The agent's session of the selected frame; none where a person began it.
    fn session(&self) -> Option<String> {
        let row = self.tree.selected()?;
        row.session.clone().filter(|_| row.host.as_deref() != Some("cli"))
    }

    /// The selected frame.
    pub(crate) fn frame(&self) -> Option<FrameNum> {
        self.tree.selected().map(|row| row.num)
    }

    /// Takes the answer to a question.
    pub(crate) fn loaded(&mut self, loaded: Loaded) {
        match loaded {
            Loaded::Tree(Ok(rows)) => {
                self.trouble = None;
                let first = !std::mem::replace(&mut self.is_read, true);
                self.tree.take(rows);
                self.follow();
                if first {
                    self.load_window();
                }
            }
            Loaded::Tree(Err(error)) => self.trouble = Some(error),
            Loaded::Details(frame, answer) => {
                let loads = self.details.take_answer(frame, *answer);
                self.load_all(loads);
            }
            Loaded::Log(frame, piece) => self.details.take_log(frame, piece),
            Loaded::Diff(frame, diff) => self.details.take_diff(frame, diff),
            Loaded::Sent(session, piece) => self.details.take_sent(session.as_deref(), piece),
            Loaded::Folded(frame, folded) => self.details.take_folded(frame, folded),
            Loaded::Window(window) => self.window.take(window),
            Loaded::Search(text, found) => {
                if let Some(Dialog::Search(search)) = &mut self.dialog
                    && search.asked == text
                {
                    search.found.take(found);
                    search.at = 0;
                }
            }
            Loaded::Preview(rollback, plan) => {
                if let Some(Dialog::Rollback(preview)) = &mut self.dialog
                    && preview.rollback == rollback
                {
                    preview.plan.take(plan);
                }
            }
            Loaded::Done(Ok(notice)) => {
                self.notice = Some(notice);
                self.refresh();
            }
            Loaded::Done(Err(error)) => {
                self.notice = None;
                self.dialog = Some(Dialog::Failed(error));
            }
        }
    }

    /// Shows the details of the selected frame.
    pub(crate) fn follow(&mut self) {
        let (before, frame) = (self.details.frame, self.frame());
        let session = before.and_then(|it| self.tree.row(it)).and_then(|row| row.session.clone());
        let loads = self.details.show(frame);
        self.load_all(loads);
        let now = self.tree.selected().and_then(|row| row.session.clone());
        if before.is_some() && before != frame && session != now {
            self.load_window();
        }
    }

    /// Handles text, keys and clicks. A new size only needs another drawing.
    pub(crate) fn input(&mut self, event: &Event) {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => self.key(*key),
            Event::Mouse(mouse) => self.mouse(*mouse),
            Event::Paste(text) => self.paste(text),
            _ => {}
        }
    }

    fn paste(&mut self, text: &str) {
        let line: String = text.chars().filter(|char| !char.is_control()).collect();
        match &mut self.dialog {
            Some(Dialog::Form(form)) => form.paste(text),
            Some(Dialog::Search(search)) => search.text.push_str(&line),
            None if self.filters => self.set_filter(|filter| filter.push_str(&line)),
            _ => {}
        }
    }

    fn key(&mut self, key: KeyEvent) {
        let is_interrupt =
            key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        match action(&key) {
            Some(does @ (Action::Suspend | Action::Redraw)) => return self.act(does),
            Some(Action::Quit) if is_interrupt && self.dialog.is_none() => {
                return self.act(Action::Quit);
            }
            _ => {}
        }
        if self.dialog.is_some() {
            self.dialog_key(key);
        } else if self.filters {
            self.filter_key(key);
        } else if let Some(action) = action(&key) {
            self.notice = None;
            self.act(action);
        }
    }

    fn filter_key(&mut self, key: KeyEvent) {
        match key.code {
            KeyCode::Enter => self.filters = false,
            KeyCode::Esc => {
                self.filters = false;
                self.set_filter(String::clear);
            }
            KeyCode::Backspace => self.set_filter(|filter| {
                filter.pop();
            }),
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                self.set_filter(String::clear);
            }
            KeyCode::Char(char) => self.set_filter(|filter| filter.push(char)),
            KeyCode::Up => self.act(Action::Step(-1)),
            KeyCode::Down => self.act(Action::Step(1)),
            _ => {}
        }
    }

    fn set_filter(&mut self, change: impl FnOnce(&mut String)) {
        let mut filter = self.tree.filter().to_owned();
        change(&mut filter);
        self.tree.set_filter(&filter);
        self.follow();
    }

    /// Does what a key or a click means.
    pub(crate) fn act(&mut self, action: Action) {
        match action {
            Action::Quit => self.orders.push(Order::Quit),
            Action::Suspend => self.orders.push(Order::Suspend),
            Action::Redraw => {
                self.orders.push(Order::Redraw);
                self.refresh();
            }
            Action::Help => self.dialog = Some(Dialog::Help { scroll: 0 }),
            Action::Window => {
                self.load_window();
                self.dialog = Some(Dialog::Window { scroll: 0 });
            }
            Action::Filter => {
                self.filters = true;
                self.pane = Pane::Tree;
            }
            Action::Search => self.dialog = Some(Dialog::Search(Search::default())),
            Action::SwitchPane | Action::Open => {
                let other = if self.pane == Pane::Tree { Pane::Details } else { Pane::Tree };
                self.pane = if self.frame().is_some() { other } else { Pane::Tree };
            }
            Action::Back => {
                if self.pane == Pane::Details {
                    self.pane = Pane::Tree;
                } else {
                    self.set_filter(String::clear);
                }
            }
            Action::Tab(place) => self.turn_to(place),
            Action::ToOpenFrame => match self.tree.open() {
                Some(open) => {
                    self.tree.select(open);
                    self.follow();
                }
                None => self.notice = Some("no frame is open".to_owned()),
            },
            Action::NextFailed => {
                if !self.tree.next_failed() {
                    self.notice = Some("no frame failed".to_owned());
                }
                self.follow();
            }
            Action::NextFile(by) => {
                let loads = self.details.next_mark(by);
                self.load_all(loads);
            }
            Action::Toggle if self.pane == Pane::Details => self.move_details(Action::Page(1)),
            Action::Toggle => {
                if let Some(frame) = self.frame() {
                    self.tree.toggle(frame);
                }
            }
            Action::FoldAll(fold) => {
                self.tree.fold_all(fold);
                self.follow();
            }
            Action::Step(_) | Action::Page(_) | Action::Ends(_) | Action::Left | Action::Right => {
                match self.pane {
                    Pane::Tree => self.move_tree(action),
                    Pane::Details => self.move_details(action),
                }
            }
            _ => self.steer(action),
        }
    }

    pub(crate) fn turn_to(&mut self, place: usize) {
        if let Some(tab) = Tab::ALL.get(place) {
            let loads = self.details.turn_to(*tab);
            self.load_all(loads);
        }
    }

    fn move_tree(&mut self, action: Action) {
        match action {
            Action::Step(by) => self.tree.step(by),
            Action::Page(by) => self.tree.page(by),
            Action::Ends(last) => self.tree.ends(last),
            Action::Left => self.tree.fold(),
            Action::Right => self.tree.unfold(),
            _ => {}
        }
        self.follow();
    }

    fn move_details(&mut self, action: Action) {
        let tab = Tab::ALL.iter().position(|tab| *tab == self.details.tab).unwrap_or(0);
        let loads = match action {
            Action::Step(by) => self.details.roll(by),
            Action::Page(by) => self.details.page(by),
            Action::Ends(last) => self.details.ends(last),
            Action::Left if tab == 0 => {
                self.pane = Pane::Tree;
                return;
            }
            Action::Left => return self.turn_to(tab - 1),
            Action::Right => return self.turn_to((tab + 1).min(Tab::ALL.len() - 1)),
            _ => Vec::new(),
        };
        self.load_all(loads);
    }

    fn dialog_key(&mut self, key: KeyEvent) {
        let (back, step) = (key.code == KeyCode::Esc, steps(key));
        let is_interrupt =
            key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
        let Some(dialog) = &mut self.dialog else { return };
        match dialog {
            Dialog::Form(form) => {
                let outcome = form.key(key);
                return self.settled(outcome);
            }
            _ if back || is_interrupt => {}
            // Any key that does not scroll closes it.
            Dialog::Help { scroll } | Dialog::Window { scroll } => {
                if let Some(by) = step {
                    return *scroll = scroll.saturating_add_signed(by);
                }
            }
            Dialog::Failed(_) => {}
            Dialog::Command(_) => {
                if matches!(key.code, KeyCode::Enter | KeyCode::Char('y')) {
                    return self.agree();
                }
                if !matches!(key.code, KeyCode::Char('n' | 'q')) {
                    return;
                }
            }
            Dialog::Rollback(preview) => match (key.code, step) {
                (KeyCode::Enter | KeyCode::Char('y'), _) => return self.agree(),
                (KeyCode::Char('a'), _) => return self.widen_rollback(),
                (KeyCode::Char('n' | 'q'), _) => {}
                (_, Some(by)) => {
                    return preview.scroll = preview.scroll.saturating_add_signed(by);
                }
                _ => return,
            },
            Dialog::Pick(pick) => match (key.code, step) {
                (KeyCode::Enter, _) => return self.agree(),
                (KeyCode::Char('q'), _) => {}
                (_, Some(by)) => {
                    let last = pick.items.len().saturating_sub(1);
                    return pick.at = pick.at.saturating_add_signed(by).min(last);
                }
                _ => return,
            },
            Dialog::Search(search) => {
                let count = search.found.known().map_or(0, Vec::len);
                match (key.code, key.code == KeyCode::Enter) {
                    (_, true) => return self.agree(),
                    (KeyCode::Up, _) => search.at = search.at.saturating_sub(1),
                    (KeyCode::Down, _) => search.at = (search.at + 1).min(count.saturating_sub(1)),
                    (KeyCode::Backspace, _) => {
                        search.text.pop();
                    }
                    (KeyCode::Char('u'), _) if key.modifiers.contains(KeyModifiers::CONTROL) => {
                        search.text.clear();
                    }
                    (KeyCode::Char(char), _) => search.text.push(char),
                    _ => {}
                }
                return;
            }
        }
        self.dialog = None;
    }

    fn settled(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Stays => {}
            Outcome::Cancelled => self.dialog = None,
            Outcome::Agreed(deed) => self.carry_out(deed),
        }
    }

    fn carry_out(&mut self, deed: Deed) {
        self.dialog = None;
        self.load(Load::Do(deed));
    }

    /// Goes on with what a dialog is about.
    pub(crate) fn agree(&mut self) {
        match self.dialog.take() {
            Some(Dialog::Form(mut form)) => {
                let outcome = form.agree();
                self.dialog = Some(Dialog::Form(form));
                self.settled(outcome);
            }
            Some(Dialog::Command(launch)) => self.orders.push(Order::Run(launch)),
            Some(Dialog::Rollback(preview)) => self.roll_back(preview),
            Some(Dialog::Pick(pick)) => match (pick.items.get(pick.at), &pick.what) {
                (Some(item), Picked::Edit) => self.edit(item),
                (Some(item), Picked::Unpin(frame)) => self.unpin(frame, item),
                (None, _) => {}
            },
            Some(Dialog::Search(search)) => self.search_on(search),
            _ => {}
        }
    }

    /// Searches for what was typed, or goes to the place that is selected.
    fn search_on(&mut self, mut search: Search) {
        let text = search.text.trim().to_owned();
        if text.is_empty() {
            self.dialog = Some(Dialog::Search(search));
            return;
        }
        if search.asked != text {
            search.asked.clone_from(&text);
            search.found = Remote::Asked;
            self.dialog = Some(Dialog::Search(search));
            return self.load(Load::Search(text));
        }
        let place = search.found.known().and_then(|found| found.get(search.at));
        let Some(frame) = place.and_then(|place| place.frame.as_ref()?.handle.parse().ok()) else {
            self.dialog = Some(Dialog::Search(search));
            return;
        };
        let message = place.and_then(|place| place.message.as_ref()).map(|it| it.position);
        self.tree.select(frame);
        self.follow();
        self.pane = Pane::Details;
        if let Some(position) = message.filter(|position| *position > 0) {
            let loads = self.details.show_message(position - 1);
            self.load_all(loads);
        } else {
            self.turn_to(0);
        }
    }
}

/// Returns how far a key goes in a list.
fn steps(key: KeyEvent) -> Option<isize> {
    match key.code {
        KeyCode::Up | KeyCode::Char('k') => Some(-1),
        KeyCode::Down | KeyCode::Char('j') => Some(1),
        KeyCode::PageUp => Some(-10),
        KeyCode::PageDown | KeyCode::Char(' ') => Some(10),
        _ => None,
    }
}
