//! The tree: its visible rows, and the selected one.

use std::collections::HashMap;

use callstack_core::frame::{FrameNum, Status};

use crate::data::rows::Row;

/// The tree of frames.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    rows: Vec<Row>,
    places: HashMap<FrameNum, usize>,
    /// Whether a frame is folded, as the user wants it.
    wanted: HashMap<FrameNum, bool>,
    /// Whether a row is folded unless the user wants it otherwise.
    folded: Vec<bool>,
    visible: Vec<usize>,
    selected: Option<FrameNum>,
    filter: String,
    /// The number of rows that match the filter.
    matches: usize,
    /// The first visible row on the screen.
    pub(crate) top: usize,
    /// Rows of the screen, since it was last drawn.
    pub(crate) height: usize,
}

impl Tree {
    /// Takes the rows of a newer state. Selection and folding stay.
    pub(crate) fn take(&mut self, rows: Vec<Row>) {
        let place = self.place();
        self.places = rows.iter().enumerate().map(|(at, row)| (row.num, at)).collect();
        self.folded = folded(&rows);
        self.rows = rows;
        let known = self.selected.is_some_and(|selected| self.places.contains_key(&selected));
        if self.selected.is_none() {
            self.selected = self.open().or(self.rows.last().map(|row| row.num));
            self.reveal();
        } else if !known {
            let near = place.min(self.rows.len().saturating_sub(1));
            self.selected = self.rows.get(near).map(|row| row.num);
        }
        self.refresh();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn filter(&self) -> &str {
        &self.filter
    }

    pub(crate) fn matches(&self) -> usize {
        self.matches
    }

    /// The frame in which the session works.
    pub(crate) fn open(&self) -> Option<FrameNum> {
        self.rows.iter().find(|row| row.active).map(|row| row.num)
    }

    pub(crate) fn selected(&self) -> Option<&Row> {
        self.row(self.selected?)
    }

    pub(crate) fn row(&self, frame: FrameNum) -> Option<&Row> {
        self.rows.get(*self.places.get(&frame)?)
    }

    /// The visible rows from the first one on the screen on; each with whether it is selected and folded.
    pub(crate) fn on_screen(&self) -> impl Iterator<Item = (&Row, bool, bool)> {
        let visible = self.visible.iter().skip(self.top).take(self.height);
        visible.filter_map(|at| {
            let row = self.rows.get(*at)?;
            Some((row, Some(row.num) == self.selected, self.is_folded(*at)))
        })
    }

    /// The number of visible rows.
    pub(crate) fn visible(&self) -> usize {
        self.visible.len()
    }

    /// The visible row at a place of the screen.
    pub(crate) fn at(&self, line: usize) -> Option<&Row> {
        self.rows.get(*self.visible.get(self.top + line)?)
    }

    /// Whether a row matches the filter by itself, not only by rows below it.
    pub(crate) fn is_match(&self, row: &Row) -> bool {
        self.filter.is_empty() || matches(row, &words(&self.filter))
    }

    fn place(&self) -> usize {
        self.selected.and_then(|it| self.places.get(&it).copied()).unwrap_or(0)
    }

    /// The place of the selected row among the visible ones.
    fn line(&self) -> usize {
        let place = self.place();
        self.visible.binary_search(&place).unwrap_or_else(|next| next.saturating_sub(1))
    }

    fn is_folded(&self, at: usize) -> bool {
        let Some(row) = self.rows.get(at) else { return false };
        let own = self.folded.get(at).copied().unwrap_or(false);
        // With a filter, a match may stand below.
        row.has_children
            && self.filter.is_empty()
            && self.wanted.get(&row.num).copied().unwrap_or(own)
    }

    /// Finds out which rows are visible.
    fn refresh(&mut self) {
        let words = words(&self.filter);
        self.matches = 0;
        let mut shown = vec![words.is_empty(); self.rows.len()];
        if !words.is_empty() {
            // Upwards: a row is shown if it matches, or one below it is.
            let mut needed: Vec<bool> = Vec::new();
            for (at, row) in self.rows.iter().enumerate().rev() {
                let below = needed.get(row.depth + 1).copied().unwrap_or(false);
                let own = matches(row, &words);
                self.matches += usize::from(own);
                let needs = own || below;
                if let Some(shown) = shown.get_mut(at) {
                    *shown = needs;
                }
                needed.resize(row.depth + 1, false);
                if let Some(needed) = needed.get_mut(row.depth) {
                    *needed |= needs;
                }
            }
        }
        let mut visible = Vec::new();
        let mut hidden_below = None;
        for (at, row) in self.rows.iter().enumerate() {
            if hidden_below.is_some_and(|depth| row.depth > depth) {
                continue;
            }
            hidden_below = self.is_folded(at).then_some(row.depth);
            if shown.get(at).copied().unwrap_or(false) {
                visible.push(at);
            }
        }
        self.visible = visible;
        // The selected row is always visible.
        let place = self.place();
        if let Err(next) = self.visible.binary_search(&place) {
            let nearest = self.visible.get(next.saturating_sub(1)).or(self.visible.first());
            if let Some(row) = nearest.and_then(|at| self.rows.get(*at)) {
                self.selected = Some(row.num);
            }
        }
        self.scroll();
    }

    /// Brings the selected row onto the screen.
    pub(crate) fn scroll(&mut self) {
        let line = self.line();
        let height = self.height.max(1);
        let most = self.visible.len().saturating_sub(height);
        self.top = self.top.clamp(line.saturating_sub(height - 1), line).min(most);
    }

    /// Scrolls the screen, and moves the selection with it.
    pub(crate) fn roll(&mut self, by: isize) {
        let most = self.visible.len().saturating_sub(self.height.max(1));
        self.top = self.top.saturating_add_signed(by).min(most);
        let last = self.top + self.height.max(1) - 1;
        self.select_line(self.line().clamp(self.top, last));
    }

    pub(crate) fn step(&mut self, by: isize) {
        self.select_line(self.line().saturating_add_signed(by));
    }

    pub(crate) fn page(&mut self, by: isize) {
        let page = self.height.saturating_sub(1).max(1);
        self.step(by.saturating_mul(isize::try_from(page).unwrap_or(isize::MAX)));
    }

    pub(crate) fn ends(&mut self, last: bool) {
        self.select_line(if last { usize::MAX } else { 0 });
    }

    fn select_line(&mut self, line: usize) {
        let line = line.min(self.visible.len().saturating_sub(1));
        if let Some(row) = self.visible.get(line).and_then(|at| self.rows.get(*at)) {
            self.selected = Some(row.num);
        }
        self.scroll();
    }

    /// Selects a frame, wherever it is. A filter that hides it ends.
    pub(crate) fn select(&mut self, frame: FrameNum) {
        if !self.places.contains_key(&frame) {
            return;
        }
        self.selected = Some(frame);
        if !self.selected().is_some_and(|row| self.is_match(row)) {
            self.filter.clear();
        }
        self.reveal();
        self.refresh();
    }

    /// Unfolds everything above what is selected.
    fn reveal(&mut self) {
        let Some(mut depth) = self.selected().map(|row| row.depth) else { return };
        let place = self.place();
        for row in self.rows.iter().take(place).rev() {
            if row.depth < depth {
                depth = row.depth;
                self.wanted.insert(row.num, false);
            }
        }
    }

    /// Folds the selected row, or selects the frame above where there is nothing to fold.
    pub(crate) fn fold(&mut self) {
        let place = self.place();
        let Some(row) = self.rows.get(place) else { return };
        if row.has_children && !self.is_folded(place) && self.filter.is_empty() {
            self.wanted.insert(row.num, true);
        } else {
            let above = self.rows.iter().take(place).rev().find(|it| it.depth < row.depth);
            self.selected = above.map(|above| above.num).or(self.selected);
        }
        self.refresh();
    }

    /// Unfolds the selected row, or selects the first frame below it where it is unfolded.
    pub(crate) fn unfold(&mut self) {
        let place = self.place();
        let Some(row) = self.rows.get(place) else { return };
        if self.is_folded(place) {
            self.wanted.insert(row.num, false);
            self.refresh();
        } else if row.has_children {
            self.step(1);
        }
    }

    /// Folds or unfolds a frame.
    pub(crate) fn toggle(&mut self, frame: FrameNum) {
        let Some(place) = self.places.get(&frame).copied() else { return };
        let folded = self.is_folded(place);
        self.wanted.insert(frame, !folded);
        self.refresh();
    }

    /// Folds or unfolds every frame.
    pub(crate) fn fold_all(&mut self, fold: bool) {
        self.wanted = self.rows.iter().map(|row| (row.num, fold)).collect();
        self.refresh();
    }

    pub(crate) fn set_filter(&mut self, filter: &str) {
        filter.clone_into(&mut self.filter);
        self.refresh();
        if let Some(first) = self
            .visible
            .iter()
            .filter_map(|at| self.rows.get(*at))
            .find(|row| !self.filter.is_empty() && matches(row, &words(&self.filter)))
        {
            let selected = self.selected().is_some_and(|row| self.is_match(row));
            if !selected {
                self.selected = Some(first.num);
                self.scroll();
            }
        }
        if self.filter.is_empty() {
            self.reveal();
            self.refresh();
        }
    }

    /// Selects the next frame that failed, from the selected one on, and then from the first one.
    pub(crate) fn next_failed(&mut self) -> bool {
        let place = self.place();
        let (before, after) = self.rows.split_at((place + 1).min(self.rows.len()));
        let mut all = after.iter().chain(before);
        let found = all.find(|row| row.status == Status::Failed).map(|row| row.num);
        if let Some(found) = found {
            self.select(found);
        }
        found.is_some()
    }
}

/// Whether each row is folded at first: work that is finished, with nothing unfinished or failed below.
fn folded(rows: &[Row]) -> Vec<bool> {
    let mut folded = vec![false; rows.len()];
    // Whether there is something of interest at each depth, below the row before.
    let mut open: Vec<bool> = Vec::new();
    for (at, row) in rows.iter().enumerate().rev() {
        let below = open.get(row.depth + 1).copied().unwrap_or(false);
        let of_interest = row.is_unfinished() || row.status == Status::Failed;
        if let Some(folded) = folded.get_mut(at) {
            *folded = !below && !row.is_unfinished();
        }
        open.resize(row.depth + 1, false);
        if let Some(open) = open.get_mut(row.depth) {
            *open |= of_interest || below;
        }
    }
    folded
}

fn words(filter: &str) -> Vec<String> {
    filter.split_whitespace().map(str::to_lowercase).collect()
}

/// Whether every word is in a row. A handle means only its frame, not those whose numbers begin with it.
fn matches(row: &Row, words: &[String]) -> bool {
    words.iter().all(|word| match word.parse::<FrameNum>() {
        Ok(num) => row.num == num,
        Err(_) => row.words.contains(word.as_str()),
    })
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
