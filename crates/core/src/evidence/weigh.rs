//! What is told first: what later work is most likely to need, for what it costs.

use super::gather::{FileUse, Gathered, Item, Term};
use super::terms::{self, Kind, file_name};
use crate::text::estimate_tokens;
use std::borrow::Cow;
use std::collections::HashSet;

/// How likely something is written again, in thousandths.
type Chance = usize;

/// Items by their chance for each token, the best first.
pub(super) fn rank(
    gathered: &Gathered<'_>,
    results: &str,
    budget: usize,
    strings: bool,
    is_told: &dyn Fn(Kind, &str) -> bool,
) -> Vec<Item> {
    let mut told = HashSet::new();
    terms::told(results, |kind, term| {
        told.insert((kind, term));
    });
    // The name of a file that is told with its folder.
    for term in gathered.terms.iter().filter(|term| term.kind == Kind::Path && term.used.own > 0) {
        told.insert((Kind::File, Cow::Borrowed(file_name(&term.text))));
    }
    let mut items: Vec<(usize, Item)> = Vec::new();
    let mut add = |chance: Chance, cost: usize, item: Item| {
        if chance > 0 && cost <= budget {
            items.push((chance * 1_000 / cost.max(1), item));
        }
    };
    let shorter = told_by_longer_ones(gathered);
    let counted: HashSet<u64> = gathered.terms.iter().filter_map(shown_number).collect();
    for (at, term) in gathered.terms.iter().enumerate() {
        let is_string = matches!(term.kind, Kind::Quoted | Kind::File);
        if is_counted(term, &counted) || (is_string && !strings) || shorter.contains(&*term.text) {
            continue;
        }
        if !told.contains(&(term.kind, term.text.clone())) && !is_told(term.kind, &term.text) {
            add(term_chance(term, gathered.length), term_cost(term), Item::Term(at));
        }
    }
    for (at, command) in gathered.commands.iter().enumerate() {
        let behind = gathered.commands.len() - at;
        let chance = command_chance(command.runs, behind, command.failed);
        add(chance, estimate_tokens(&command.line) + 6, Item::Command(at));
    }
    for (at, trouble) in gathered.troubles.iter().enumerate() {
        let behind = gathered.troubles.len() - at;
        let chance = if trouble.gone { 60 } else { 400 } / behind;
        add(chance, estimate_tokens(&trouble.text) + 4, Item::Trouble(at));
    }
    items.sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    items.into_iter().map(|(_, item)| item).collect()
}

/// Paths that are the end of another one that the agent wrote, too: who reads that one has them.
fn told_by_longer_ones<'a>(gathered: &'a Gathered<'_>) -> HashSet<&'a str> {
    let paths = gathered.terms.iter().filter(|term| term.kind == Kind::Path && term.used.own > 0);
    let paths: Vec<&str> = paths.map(|term| &*term.text).collect();
    let mut ends = HashSet::new();
    for path in &paths {
        let separators = path.match_indices(['/', '\\']).skip(1);
        ends.extend(separators.filter_map(|(at, _)| path.get(at + 1..)));
    }
    ends
}

/// A whole number that only results show.
fn shown_number(term: &Term<'_>) -> Option<u64> {
    let only_shown = term.kind == Kind::Number && term.used.own == 0;
    only_shown.then(|| term.text.parse().ok())?
}

/// Whether a number is one of a row, as those of lines and lists are: it says nothing by itself.
fn is_counted(term: &Term<'_>, shown: &HashSet<u64>) -> bool {
    let number = shown_number(term);
    let beside = |number: u64| number.checked_add(1).into_iter().chain(number.checked_sub(1));
    number.is_some_and(|number| beside(number).any(|beside| shown.contains(&beside)))
}

fn term_cost(term: &Term<'_>) -> usize {
    let quotes = if term.kind == Kind::Quoted { 2 } else { 0 };
    estimate_tokens(&term.text) + quotes
}

fn term_chance(term: &Term<'_>, length: usize) -> Chance {
    let used = &term.used;
    let by_times = |table: [Chance; 5], times: usize| table[times.min(4)];
    // What was in use at the end goes on being used.
    let late = used.last_own * 4 > length * 3;
    let bonus = if used.own > 0 && late { 120 } else { 0 };
    let chance = match term.kind {
        Kind::Path if used.own == 0 => 110,
        Kind::Path if term.file == FileUse::Written => by_times([0, 600, 700, 800, 850], used.own),
        Kind::Path => by_times([0, 400, 550, 700, 750], used.own),
        Kind::Identifier if used.own == 0 => by_times([0, 170, 350, 350, 350], used.shown),
        Kind::Identifier => by_times([0, 480, 540, 600, 750], used.own),
        Kind::Number if used.own == 0 => by_times([0, 30, 50, 50, 50], used.shown),
        Kind::Number => by_times([0, 420, 500, 600, 700], used.own),
        Kind::Url => by_times([150, 300, 400, 400, 400], used.own),
        Kind::File if used.own == 0 => 80,
        Kind::File => by_times([0, 400, 500, 600, 700], used.own),
        Kind::Quoted if used.own == 0 => by_times([0, 20, 60, 60, 60], used.shown),
        Kind::Quoted => by_times([0, 250, 350, 450, 450], used.own),
    };
    (chance + bonus) * worth(term.kind)
}

/// What it is worth to have a thing at hand: to find a file again takes a search, a name is found with
/// its file.
fn worth(kind: Kind) -> usize {
    match kind {
        Kind::Path => 4,
        Kind::Url => 2,
        Kind::Number | Kind::Identifier | Kind::File | Kind::Quoted => 1,
    }
}

/// Commands are worth what a search is worth several times over: what they were tried with is in them.
fn command_chance(runs: usize, behind: usize, failed: bool) -> Chance {
    let last = 400 / behind.min(8);
    let again = 150 * runs.min(4);
    (last + again + if failed { 50 } else { 0 }) * 12
}
