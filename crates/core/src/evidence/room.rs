//! Fits evidence into a budget. The names of changed definitions stay longest.

use super::changes::FileChange;
use super::commits::hash_of;
use super::files::Limits;
use super::gather::Gathered;
use super::{Evidence, WrittenFile};
use crate::text::estimate_tokens;

/// Files whose contents at the end of a span are read.
pub(super) const CONTENTS: usize = 40;

/// The limits of the cost of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Thousandths of the span's tokens.
    pub share: usize,
    /// Estimated tokens that are granted to any span, if they are less than a third of it; for a small one, the cost
    /// of a few commands.
    pub floor: usize,
    /// Estimated tokens that no span is granted more of.
    pub ceiling: usize,
    /// Whether the reasons of changes are included, from the agent's words before them.
    pub reasons: bool,
    /// Limits of the content of files that stays beside it, for a span of any size.
    pub files: Limits,
}

/// Estimated tokens for the evidence of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// For all of it.
    pub all: usize,
    /// Whether the reasons of changes are included.
    pub reasons: bool,
    /// Limits of the content of files that stays beside it.
    pub files: Limits,
}

/// Estimated tokens that even a span of a few steps is granted.
const LEAST: usize = 120;

impl Default for Budget {
    fn default() -> Self {
        Self { share: 50, floor: 250, ceiling: 2_000, reasons: false, files: Limits::NONE }
    }
}

impl Budget {
    /// For a frame that nobody pushed, which therefore has no written results.
    pub const UNPUSHED: Self = Self {
        share: 50,
        floor: 250,
        ceiling: 1_000,
        reasons: true,
        files: Limits { passages: 1_200, outlines: 300, heads: 200 },
    };

    /// Returns the room for a span of `span` estimated tokens.
    pub fn of(self, span: usize) -> Room {
        let share = span.saturating_mul(self.share) / 1_000;
        let all = share.clamp(self.floor, self.ceiling.max(self.floor)).min((span / 3).max(LEAST));
        let files = Limits {
            passages: self.files.passages.min(span / 2),
            outlines: self.files.outlines.min(share),
            heads: self.files.heads.min(span / 4),
        };
        Room { all, reasons: self.reasons, files }
    }
}

/// The most commits that are named.
const COMMITS: usize = 5;

/// The most that is shown of each kind of fact.
#[derive(Clone, Copy, Debug)]
struct Detail {
    files: usize,
    symbols: usize,
    ranges: usize,
    lines: usize,
    why: usize,
    checks: usize,
    failures: usize,
    changing: usize,
    reads: usize,
}

/// The levels of detail, in the order in which they are tried.
const DETAILS: [Detail; 11] = [
    Detail {
        files: 60,
        symbols: 90,
        ranges: 6,
        lines: 4,
        why: 2,
        checks: 6,
        failures: 4,
        changing: 3,
        reads: 16,
    },
    Detail {
        files: 60,
        symbols: 90,
        ranges: 6,
        lines: 3,
        why: 1,
        checks: 6,
        failures: 4,
        changing: 3,
        reads: 12,
    },
    Detail {
        files: 60,
        symbols: 90,
        ranges: 6,
        lines: 2,
        why: 1,
        checks: 5,
        failures: 3,
        changing: 2,
        reads: 8,
    },
    Detail {
        files: 60,
        symbols: 90,
        ranges: 4,
        lines: 2,
        why: 0,
        checks: 4,
        failures: 3,
        changing: 2,
        reads: 4,
    },
    Detail {
        files: 60,
        symbols: 90,
        ranges: 2,
        lines: 1,
        why: 0,
        checks: 4,
        failures: 2,
        changing: 1,
        reads: 0,
    },
    Detail {
        files: 60,
        symbols: 90,
        ranges: 1,
        lines: 0,
        why: 0,
        checks: 3,
        failures: 2,
        changing: 1,
        reads: 0,
    },
    Detail {
        files: 40,
        symbols: 30,
        ranges: 1,
        lines: 0,
        why: 0,
        checks: 3,
        failures: 2,
        changing: 1,
        reads: 0,
    },
    Detail {
        files: 20,
        symbols: 12,
        ranges: 0,
        lines: 0,
        why: 0,
        checks: 3,
        failures: 1,
        changing: 1,
        reads: 0,
    },
    Detail {
        files: 8,
        symbols: 6,
        ranges: 0,
        lines: 0,
        why: 0,
        checks: 2,
        failures: 1,
        changing: 0,
        reads: 0,
    },
    Detail {
        files: 4,
        symbols: 3,
        ranges: 0,
        lines: 0,
        why: 0,
        checks: 1,
        failures: 1,
        changing: 0,
        reads: 0,
    },
    Detail {
        files: 1,
        symbols: 0,
        ranges: 0,
        lines: 0,
        why: 0,
        checks: 1,
        failures: 0,
        changing: 0,
        reads: 0,
    },
];

/// The most sections of a text that are named, and names in a list that is too short to count tests.
const SECTIONS: usize = 4;
/// The most ranges of a file that are shown by their lines although names show them, too.
const PLACES: usize = 3;

/// Estimated tokens around a line in a list.
const LINE: usize = 2;

/// Returns the gathered facts, without those in `known_text`, as far as there is room for them.
pub(super) fn fit(mut all: Gathered, known_text: &str, room: Room) -> Evidence {
    let says = |word: &str| !word.is_empty() && mentions(known_text, word);
    let known: Vec<String> = all.changes.iter().map(|change| change.path.clone()).collect();
    all.reads.retain(|read| !known.contains(&read.path));
    // That was needed to join pieces, and is not stored.
    all.reads.iter_mut().for_each(|read| read.to_end = false);
    for change in &mut all.changes {
        let count = change.symbols.len();
        change.symbols.retain(|it| !says(last_of(&it.name)));
        change.also = change.symbols.len() < count;
        if !room.reasons {
            change.why.clear();
        }
    }
    // An incomplete list would suggest that the others were not made, or not run.
    if all.commits.iter().all(|commit| hash_of(commit).is_some_and(says)) {
        all.commits.clear();
    }
    let are_known = all.checks.iter().all(|run| {
        let is_good = run.passed == Some(true) && run.said.contains("passed");
        is_good && contains_outcome(known_text, &run.said)
    });
    if are_known {
        all.checked_as_told = !all.checks.is_empty();
        all.checks.clear();
    }
    let written: Vec<WrittenFile> =
        all.written.iter().map(|path| WrittenFile { path: path.clone(), hash: None }).collect();
    let cost = |evidence: &Evidence| -> usize {
        evidence.lines().iter().map(|line| estimate_tokens(line) + LINE).sum()
    };
    for detail in DETAILS {
        let cut = all.cut(detail, &written);
        if cost(&cut) <= room.all {
            return cut;
        }
    }
    Evidence { written, ..Evidence::default() }
}

/// Whether a text contains a name as a word. A name that is also a word of a language has to be marked as a name.
fn mentions(text: &str, word: &str) -> bool {
    let in_word = |char: char| char.is_alphanumeric() || char == '_';
    let is_plain = word.chars().all(char::is_lowercase);
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|it| it.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|it| it.chars().next());
        let is_marked = || {
            before.is_some_and(|it| matches!(it, '`' | '.' | ':'))
                || after.is_some_and(|it| matches!(it, '`' | '('))
        };
        !before.is_some_and(in_word) && !after.is_some_and(in_word) && (!is_plain || is_marked())
    })
}

/// Whether a text contains the outcome of tests: the same counts, not followed by a further one that a runner would
/// print beside them.
fn contains_outcome(text: &str, said: &str) -> bool {
    let is_digit = |char: char| char.is_ascii_digit();
    text.match_indices(said).any(|(at, _)| {
        let before = text[..at].trim_end_matches([',', '.', '_', '\'']);
        let begins_later = said.starts_with(is_digit) && before.ends_with(is_digit);
        let after = text[at + said.len()..].trim_start();
        let after = after.strip_prefix([',', ';', '+', '/']).or(after.strip_prefix("and"));
        let has_more = after.is_some_and(|rest| rest.trim_start().starts_with(is_digit));
        !begins_later && !has_more
    })
}

fn last_of(name: &str) -> &str {
    super::changes::last_name(name)
}

impl Gathered {
    fn cut(&self, detail: Detail, written: &[WrittenFile]) -> Evidence {
        let skipped = self.changes.len().saturating_sub(detail.files);
        let changes = self.changes.iter().skip(skipped).map(|change| cut(change, detail)).collect();
        // Checks that did not go well stay longest, then those that were run last; unknown outcomes are left out.
        let mut order: Vec<usize> = (0..self.checks.len()).rev().collect();
        order.sort_by_key(|at| {
            let run = &self.checks[*at];
            (!run.is_known(), run.passed == Some(true))
        });
        order.truncate(detail.checks);
        order.sort_unstable();
        let checks = order.into_iter().map(|at| self.checks[at].clone()).collect();
        let failures = &self.failures[self.failures.len().saturating_sub(detail.failures)..];
        let reads: Vec<_> = self.reads.iter().rev().take(detail.reads).rev().cloned().collect();
        Evidence {
            written: written.to_vec(),
            changes,
            more_changes: skipped,
            checks,
            checked_as_told: self.checked_as_told,
            failures: failures.to_vec(),
            written_besides: self.besides.iter().take(detail.files).cloned().collect(),
            never_checked: self.unchecked.is_none()
                && self.written.iter().any(|path| !is_prose(path) && !self.tried.contains(path)),
            unchecked: self.unchecked.clone().unwrap_or_default(),
            more_changing: self.changing.len().saturating_sub(detail.changing),
            changing: self.changing.iter().rev().take(detail.changing).rev().cloned().collect(),
            commits: self.commits.iter().rev().take(COMMITS).rev().cloned().collect(),
            more_reads: self.reads.len() - reads.len(),
            reads,
            ..Evidence::default()
        }
    }
}

/// Whether nothing checks a file.
pub(super) fn is_prose(path: &str) -> bool {
    let kind = path.rsplit_once('.').map(|(_, kind)| kind.to_ascii_lowercase());
    kind.is_some_and(|kind| matches!(kind.as_str(), "md" | "mdx" | "markdown" | "txt" | "rst"))
}

/// Whether a file is no part of the project's work: it lies outside of the project, or in a folder for experiments.
pub(super) fn is_beside(path: &str) -> bool {
    let is_absolute =
        path.starts_with('/') || path.get(1..3).is_some_and(|it| it == ":\\" || it == ":/");
    is_absolute || is_experiment(path)
}

/// Whether a file lies in a folder for experiments; its path is relative to the project's folder.
pub(super) fn is_experiment(path: &str) -> bool {
    const FOLDERS: [&str; 6] = ["scratch", ".scratch", "tmp", "temp", "sandbox", "playground"];
    path.split_once('/').is_some_and(|(folder, _)| FOLDERS.contains(&folder))
}

fn cut(change: &FileChange, detail: Detail) -> FileChange {
    let mut cut = change.clone();
    // The definitions in a script that was tried do not matter later.
    let is_beside = is_beside(&change.path);
    let (symbols, lines) = if is_beside { (0, 0) } else { (detail.symbols, detail.lines) };
    let symbols = if is_prose(&change.path) { symbols.min(SECTIONS) } else { symbols };
    // Tests are counted where they are many, which is right only for all of them.
    let counts_tests = symbols > SECTIONS;
    let mut left = symbols;
    cut.symbols.retain(|it| {
        let stays = left > 0;
        if it.test && counts_tests {
            return true;
        }
        left = left.saturating_sub(1);
        stays
    });
    cut.more = if is_beside { 0 } else { change.symbols.len() - cut.symbols.len() };
    cut.lines.truncate(if change.symbols.is_empty() && !change.also { lines } else { 0 });
    cut.why.truncate(detail.why);
    // Names find places, whatever becomes of the file.
    let ranges = if change.symbols.is_empty() { detail.ranges } else { detail.ranges.min(PLACES) };
    if cut.ranges.len() > ranges && ranges > 0 && !change.symbols.is_empty() {
        cut.ranges.clear();
    } else if cut.ranges.len() > ranges {
        cut.places = cut.ranges.len();
        let ends = cut.ranges.first().zip(cut.ranges.last()).map(|(first, last)| (first.0, last.1));
        cut.ranges = ends.filter(|_| ranges > 0).into_iter().collect();
        if cut.ranges.is_empty() {
            cut.places = 0;
        }
    }
    cut
}
