//! A file as far as a span shows it: its known lines, those that were put in and those that were taken out.
//!
//! Its content is learnt from reads, writes and edits. Unknown lines count, so that those after them have their
//! numbers, but nothing is known of their content.

use std::borrow::Cow;
use std::collections::BTreeMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::hunks::{Hunk, HunkLine};

/// Lines of a file that are followed at most.
const LONGEST: usize = 30_000;
/// Lines of two texts together that are compared with one another; larger ones count as replaced.
const COMPARED: usize = 6_000;

/// A line as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row<'a> {
    /// Its content, where that is known.
    pub text: Option<Cow<'a, str>>,
    /// Its place among the lines before the span, from 0; none where it was put in.
    pub was: Option<usize>,
    /// Whether a piece of the file that was changed stands here, whose earlier content is not known.
    pub marked: bool,
}

impl Row<'_> {
    /// Whether it was put in.
    pub(super) fn is_new(&self) -> bool {
        self.was.is_none() || self.marked
    }
}

/// A file, or a piece of one whose place is not known.
#[derive(Clone, Debug, Default)]
pub(super) struct Document<'a> {
    rows: Vec<Row<'a>>,
    /// Lines from before the span that are known.
    old: BTreeMap<usize, Cow<'a, str>>,
    /// Lines from before the span that were taken out.
    gone: Vec<usize>,
    /// The place before the span of the line after the rows.
    next: usize,
    /// Whether the rows are all there is.
    ends: bool,
}

/// The edit does not fit the known content of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unplaced;

impl<'a> Document<'a> {
    /// A file of which all is known.
    pub(super) fn of(text: &'a str) -> Self {
        let mut whole = Self { ends: true, ..Self::default() };
        for (at, line) in text.lines().enumerate() {
            whole.rows.push(Row { text: Some(line.into()), was: Some(at), marked: false });
            whole.old.insert(at, line.into());
        }
        whole.next = whole.rows.len();
        whole
    }

    /// A piece of a file in which one text took the place of another.
    pub(super) fn piece(before: &'a str, after: &'a str) -> Self {
        let mut piece = Self::of(before);
        let after = after.lines().map(Cow::Borrowed).collect();
        piece.replace(0, piece.rows.len(), after);
        piece
    }

    pub(super) fn rows(&self) -> &[Row<'a>] {
        &self.rows
    }

    /// Lines from before the span as far as they are known, in order, each at its place.
    pub(super) fn old_rows(&self) -> Vec<Option<&str>> {
        let length = self.old.keys().next_back().map_or(0, |last| last + 1);
        let mut rows = vec![None; length];
        for (at, text) in &self.old {
            rows[*at] = Some(&**text);
        }
        rows
    }

    /// Places before the span of lines that were taken out, in order.
    pub(super) fn gone(&self) -> &[usize] {
        &self.gone
    }

    /// Returns the content of the file, where all of it is known.
    pub(super) fn whole(&self) -> Option<Vec<&str>> {
        self.ends.then(|| self.rows.iter().map(|row| row.text.as_deref()).collect())?
    }

    /// Whether pieces of it are marked as changed.
    pub(super) fn is_marked(&self) -> bool {
        self.rows.iter().any(|row| row.marked)
    }

    /// Returns the number of lines that were put in.
    pub(super) fn added(&self) -> usize {
        self.rows.iter().filter(|row| row.was.is_none()).count()
    }

    /// Marks the lines that a changed piece put in where it stands, if it stands in one place only. Its first and
    /// last line may be parts of lines.
    pub(super) fn mark(&mut self, piece: &Self) -> bool {
        let wanted: Vec<&str> =
            piece.rows.iter().map(|row| row.text.as_deref().unwrap_or_default()).collect();
        if !piece.is_changed() {
            return true;
        }
        if wanted.iter().all(|line| line.trim().is_empty()) {
            // Nothing of it is left to be found.
            return piece.added() == 0;
        }
        let last = wanted.len() - 1;
        let stands = |from: usize| {
            wanted.iter().enumerate().all(|(at, line)| {
                let text = self.rows.get(from + at).and_then(|row| row.text.as_deref());
                text.is_some_and(|text| match at {
                    0 if last == 0 => text.contains(line),
                    0 => text.ends_with(line),
                    at if at == last => text.starts_with(line),
                    _ => text.trim_end() == line.trim_end(),
                })
            })
        };
        let mut places = (0..self.rows.len()).filter(|from| stands(*from));
        let (Some(from), None) = (places.next(), places.next()) else { return false };
        for (at, row) in piece.rows.iter().enumerate().filter(|(_, row)| row.was.is_none()) {
            if row.text.as_deref().is_some_and(|text| !text.is_empty() || at < last) {
                self.rows[from + at].marked = true;
            }
        }
        true
    }

    pub(super) fn is_changed(&self) -> bool {
        !self.gone.is_empty() || self.rows.iter().any(|row| row.was.is_none())
    }

    /// Records the text of a line. False where another one is known for it.
    #[must_use]
    pub(super) fn learn(&mut self, at: usize, text: impl Into<Cow<'a, str>>) -> bool {
        if !self.reaches(at + 1) {
            return at >= LONGEST;
        }
        let text = text.into();
        let row = &mut self.rows[at];
        if let Some(known) = &row.text {
            return known.trim_end() == text.trim_end();
        }
        if let Some(was) = row.was {
            self.old.insert(was, text.clone());
        }
        row.text = Some(text);
        true
    }

    /// Records that the file ends after so many lines.
    pub(super) fn ends_after(&mut self, lines: usize) -> bool {
        self.ends = self.reaches(lines) && self.rows.len() == lines;
        self.ends
    }

    /// Makes rows up to a place; false where the file doesn't have that many.
    fn reaches(&mut self, length: usize) -> bool {
        if length > LONGEST || (self.ends && length > self.rows.len()) {
            return false;
        }
        while self.rows.len() < length {
            self.rows.push(Row { text: None, was: Some(self.next), marked: false });
            self.next += 1;
        }
        true
    }

    /// Applies an edit at the place that its hunks give. `indent` is the prefix that the hunks lack in each line.
    pub(super) fn patch(&mut self, hunks: &'a [Hunk], indent: &str) -> Result<(), Unplaced> {
        let text = |line: &'a str| match indent {
            "" => Cow::Borrowed(line),
            _ if line.trim().is_empty() => Cow::Borrowed(line),
            indent => Cow::Owned(format!("{indent}{line}")),
        };
        let mut changed = self.clone();
        for hunk in hunks {
            let mut at = hunk.skipped;
            let mut lines = hunk.lines.iter().peekable();
            while let Some(line) = lines.next() {
                let (mut removed, mut added) = (Vec::new(), Vec::new());
                match line {
                    HunkLine::Kept(line) => {
                        if !changed.learn(at, text(line)) {
                            return Err(Unplaced);
                        }
                        at += 1;
                        continue;
                    }
                    HunkLine::Removed(line) => removed.push(line),
                    HunkLine::Added(line) => added.push(line),
                }
                while let Some(line) = lines.next_if(|it| !matches!(it, HunkLine::Kept(_))) {
                    match line {
                        HunkLine::Removed(line) => removed.push(line),
                        HunkLine::Added(line) | HunkLine::Kept(line) => added.push(line),
                    }
                }
                for (place, line) in removed.iter().enumerate() {
                    if !changed.learn(at + place, text(line)) {
                        return Err(Unplaced);
                    }
                }
                if !changed.reaches(at) {
                    return Err(Unplaced);
                }
                let count = added.len();
                changed.replace(at, removed.len(), added.into_iter().map(|it| text(it)).collect());
                at += count;
            }
        }
        *self = changed;
        Ok(())
    }

    /// Applies an edit by the text that it replaced, which has to stand in known lines: once, or any number of times
    /// where `all` occurrences were replaced.
    pub(super) fn edit(&mut self, before: &str, after: &str, all: bool) -> Result<(), Unplaced> {
        if before.is_empty() || (all && self.whole().is_none()) {
            return Err(Unplaced);
        }
        let mut found: Vec<(usize, usize, Vec<String>)> = Vec::new();
        for (first, run) in self.runs() {
            let hits: Vec<usize> = run.match_indices(before).map(|(at, _)| at).collect();
            if hits.is_empty() {
                continue;
            }
            if !all && (hits.len() > 1 || !found.is_empty()) {
                return Err(Unplaced);
            }
            let mut done = 0;
            for hit in hits {
                // Lines that hold several occurrences are replaced together with the first one.
                if hit < done {
                    continue;
                }
                let from = run.get(..hit).and_then(|it| it.rfind('\n')).map_or(0, |at| at + 1);
                let end = hit + before.len();
                let to =
                    run.get(end..).and_then(|it| it.find('\n')).map_or(run.len(), |at| end + at);
                let piece = run.get(from..to).unwrap_or_default();
                let new = if all {
                    piece.replace(before, after)
                } else {
                    piece.replacen(before, after, 1)
                };
                // All lines of a run end, so the text after it is not known.
                let (piece, new) = match (piece.strip_suffix('\n'), new.strip_suffix('\n')) {
                    (None, _) => (piece, Some(new.as_str())),
                    (Some(piece), Some(new)) => (piece, Some(new)),
                    (Some(piece), None) if new.is_empty() => (piece, None),
                    (Some(piece), None) if self.ends => (piece, Some(new.as_str())),
                    (Some(_), None) => return Err(Unplaced),
                };
                let new =
                    new.map_or_else(Vec::new, |new| new.split('\n').map(str::to_owned).collect());
                let in_front = run.get(..from).unwrap_or_default().matches('\n').count();
                found.push((first + in_front, piece.matches('\n').count() + 1, new));
                done = to;
            }
        }
        if found.is_empty() {
            return Err(Unplaced);
        }
        for (at, count, new) in found.into_iter().rev() {
            self.replace(at, count, new.into_iter().map(Cow::Owned).collect());
        }
        Ok(())
    }

    /// Returns runs of lines that are known, each with the place of its first. Every line of a run ends, and so does
    /// the unknown text after it.
    fn runs(&self) -> Vec<(usize, String)> {
        let mut runs: Vec<(usize, String)> = Vec::new();
        let mut is_open = false;
        for (at, row) in self.rows.iter().enumerate() {
            let Some(text) = &row.text else {
                is_open = false;
                continue;
            };
            if !is_open {
                runs.push((at, String::new()));
                is_open = true;
            }
            if let Some((_, run)) = runs.last_mut() {
                run.push_str(text);
                run.push('\n');
            }
        }
        runs
    }

    /// Sets the whole present content of the file.
    pub(super) fn becomes(&mut self, text: &'a str) {
        let lines: Vec<Cow<'a, str>> = text.lines().map(Cow::Borrowed).collect();
        self.replace(0, self.rows.len(), lines);
        self.ends = true;
    }

    /// Returns each line from before the span after which lines that stay have moved, and by how much.
    pub(super) fn moved(&self) -> Vec<(usize, isize)> {
        let places = self.rows.iter().enumerate().filter_map(|(at, row)| Some((at, row.was?)));
        // Text after the rows has moved, too.
        let tail = (!self.ends).then_some((self.rows.len(), self.next));
        let mut moved: Vec<(usize, isize)> = Vec::new();
        for (at, was) in places.chain(tail) {
            let by = at.cast_signed() - was.cast_signed();
            if by != moved.last().map_or(0, |(_, by)| *by) {
                moved.push((was, by));
            }
        }
        moved
    }

    /// Whether a text can be the present content of the file.
    pub(super) fn may_be(&self, text: &str) -> bool {
        let lines: Vec<&str> = text.lines().collect();
        let fits =
            if self.ends { lines.len() == self.rows.len() } else { lines.len() >= self.rows.len() };
        fits && self.rows.iter().zip(&lines).all(|(row, line)| {
            row.text.as_ref().is_none_or(|text| text.trim_end() == line.trim_end())
        })
    }

    /// Replaces lines. Those that are the same before and after stay.
    fn replace(&mut self, at: usize, count: usize, new: Vec<Cow<'a, str>>) {
        let before: Vec<Option<&str>> =
            self.rows[at..at + count].iter().map(|row| row.text.as_deref()).collect();
        let after: Vec<Option<&str>> = new.iter().map(|line| Some(&**line)).collect();
        let kept = kept(&before, &after);
        let mut rows: Vec<Row<'a>> = new
            .into_iter()
            .map(|text| Row { text: Some(text), was: None, marked: false })
            .collect();
        let mut taken = vec![false; count];
        for (old, new) in kept {
            rows[new].was = self.rows[at + old].was;
            taken[old] = true;
        }
        let left = self.rows[at..at + count].iter().zip(taken).filter(|(_, taken)| !taken);
        self.gone.extend(left.filter_map(|(row, _)| row.was));
        self.rows.splice(at..at + count, rows);
    }

    /// No longer counts a line as changed that was taken out and put back in the same place.
    pub(super) fn settle(&mut self) {
        self.gone.sort_unstable();
        self.gone.dedup();
        let mut at = 0;
        while at < self.rows.len() {
            let begin = at;
            while self.rows.get(at).is_some_and(|row| row.was.is_none()) {
                at += 1;
            }
            if at > begin {
                self.settle_block(begin, at);
            }
            at += 1;
        }
    }

    fn settle_block(&mut self, begin: usize, end: usize) {
        let from = begin.checked_sub(1).and_then(|at| self.rows[at].was).map_or(0, |was| was + 1);
        let to = self.rows.get(end).map_or(self.next, |row| row.was.unwrap_or(self.next));
        let between: Vec<usize> =
            self.gone.iter().copied().filter(|was| (from..to).contains(was)).collect();
        let before: Vec<Option<&str>> =
            between.iter().map(|was| self.old.get(was).map(|text| &**text)).collect();
        let after: Vec<Option<&str>> =
            self.rows[begin..end].iter().map(|row| row.text.as_deref()).collect();
        for (old, new) in kept(&before, &after) {
            self.rows[begin + new].was = Some(between[old]);
        }
        let back: Vec<usize> = self.rows[begin..end].iter().filter_map(|row| row.was).collect();
        self.gone.retain(|was| !back.contains(was));
    }
}

/// Returns pairs of places at which two texts hold the same line, in order. Unknown lines are never the same.
fn kept(before: &[Option<&str>], after: &[Option<&str>]) -> Vec<(usize, usize)> {
    let same = |(one, other): (Option<&str>, Option<&str>)| one.is_some() && one == other;
    let pairs = before.iter().copied().zip(after.iter().copied());
    let head = pairs.take_while(|pair| same(*pair)).count();
    let (before_rest, after_rest) = (&before[head..], &after[head..]);
    let ends = before_rest.iter().rev().copied().zip(after_rest.iter().rev().copied());
    let tail = ends.take_while(|pair| same(*pair)).count();
    let (middle, other) =
        (&before_rest[..before_rest.len() - tail], &after_rest[..after_rest.len() - tail]);
    let mut kept: Vec<(usize, usize)> = (0..head).map(|at| (at, at)).collect();
    if !middle.is_empty() && !other.is_empty() && middle.len() + other.len() <= COMPARED {
        for op in capture_diff_slices(Algorithm::Myers, middle, other) {
            let DiffOp::Equal { old_index, new_index, len } = op else { continue };
            let pairs = (0..len).map(|at| (head + old_index + at, head + new_index + at));
            kept.extend(pairs.filter(|(old, _)| before[*old].is_some()));
        }
    }
    let (old, new) = (before.len() - tail, after.len() - tail);
    kept.extend((0..tail).map(|at| (old + at, new + at)));
    kept
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
