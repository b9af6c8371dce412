//! The gaps and the untrue claims of a fold.

use std::collections::BTreeSet;

use super::claims::{Became, Change, Claim, Named, claims};
use super::diff::{differing, is_among};
use super::folds::Drawn;
use super::log::{Did, Kind};
use super::model::{File, files, is_same};

/// The judgement of a fold.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    wanted: usize,
    named: usize,
    /// Not named, but counted.
    counted: usize,
    pub misses: Vec<String>,
    pub statements: usize,
    unknown: usize,
    pub wrong: Vec<String>,
}

/// Whether a statement is true.
enum Truth {
    True,
    /// The log does not say.
    Unknown,
    False(String),
}

use Truth::{False, True, Unknown};

fn holds(is_true: bool, otherwise: impl FnOnce() -> String) -> Truth {
    if is_true { True } else { False(otherwise()) }
}

pub(crate) fn judge(fold: &Drawn) -> Judged {
    let files = files(&fold.log);
    let mut judged = Judged::default();
    let stated: Vec<(&str, Claim)> = fold
        .evidence()
        .flat_map(|line| claims(line).into_iter().map(move |claim| (line, claim)))
        .collect();
    for (line, claim) in &stated {
        for truth in truths(claim, &files, fold) {
            judged.statements += 1;
            match truth {
                True => {}
                Unknown => judged.unknown += 1,
                False(why) => judged.wrong.push(format!("{why}   in: {line}")),
            }
        }
    }
    let changes: Vec<&Change> = stated
        .iter()
        .filter_map(|(_, claim)| match claim {
            Claim::Change(change) => Some(change),
            _ => None,
        })
        .collect();
    for file in files.iter().filter(|file| is_of_project(file, fold) && !file.is_removed) {
        judged.recall(file, &changes, &fold.text);
    }
    judged
}

/// Files elsewhere, such as scripts that were tried, are named without their definitions.
fn is_of_project(file: &File, fold: &Drawn) -> bool {
    let even = |path: &str| path.replace('\\', "/");
    let is_absolute = file.path.starts_with('/') || file.path.get(1..2) == Some(":");
    !is_absolute || even(&file.path).starts_with(&even(&fold.project))
}

impl Judged {
    fn recall(&mut self, file: &File, changes: &[&Change], text: &str) {
        let names = file.names();
        let change = changes.iter().find(|change| is_same(&change.path, &file.path));
        for (became, names) in [
            (Became::Added, &names.added),
            (Became::Changed, &names.changed),
            (Became::Removed, &names.removed),
        ] {
            for name in names {
                self.wanted += 1;
                if stands(text, name) {
                    self.named += 1;
                } else if change.is_some_and(|change| is_counted(change, became, name)) {
                    self.counted += 1;
                } else {
                    self.misses.push(format!("{} {became:?} {name}", file.path));
                }
            }
        }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.wanted += other.wanted;
        self.named += other.named;
        self.counted += other.counted;
        self.misses.extend(other.misses);
        self.statements += other.statements;
        self.unknown += other.unknown;
        self.wrong.extend(other.wrong);
    }

    /// Returns the gaps and the untrue claims, a line each.
    pub(crate) fn text(&self) -> String {
        let misses = self.misses.iter().map(|miss| format!("  missing: {miss}\n"));
        misses.chain(self.wrong.iter().map(|wrong| format!("  not true: {wrong}\n"))).collect()
    }

    pub(crate) fn sums_text(&self) -> String {
        let found = self.named + self.counted;
        format!(
            "recall: {found} of {} functions, types and tests ({:.1} %), {} of them by a count\n\
             truth: {} of {} statements are not true, of {} the log does not say",
            self.wanted,
            share(found, self.wanted),
            self.counted,
            self.wrong.len(),
            self.statements,
            self.unknown
        )
    }

    pub(crate) fn is_good(&self) -> bool {
        self.wrong.is_empty() && share(self.named + self.counted, self.wanted) >= 95.0
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a few thousand")]
fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// Whether a text has a name in it as a word.
fn stands(text: &str, name: &str) -> bool {
    let in_word = |char: char| char.is_alphanumeric() || char == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(in_word) && !after.is_some_and(in_word)
    })
}

fn is_counted(change: &Change, became: Became, name: &str) -> bool {
    change.names.iter().any(|(it, named)| {
        *it == became
            && match named {
                Named::One(_) => false,
                Named::Pattern(_, begin) => {
                    let begin = begin.rsplit(['.', ':']).next().unwrap_or(begin);
                    name.starts_with(begin.trim_start_matches(['"', '\'', '`']))
                }
                Named::Count(_) => {
                    let words = name.to_lowercase();
                    words.starts_with("test") || words.contains("_test") || name.contains(' ')
                }
            }
    })
}

fn truths(claim: &Claim, files: &[File], fold: &Drawn) -> Vec<Truth> {
    match claim {
        Claim::Change(change) => of_change(change, files),
        Claim::Checks(lines, how) => lines.iter().map(|line| of_check(line, how, fold)).collect(),
        Claim::Failed(what, how) => vec![of_failure(what, how, fold)],
        Claim::Read { path, whole, lines } => vec![of_read(path, *whole, lines, fold)],
        Claim::Unchecked(path) => vec![of_unchecked(path, files, fold)],
        Claim::NeverChecked => {
            let check = fold.log.iter().find_map(|did| match &did.kind {
                Kind::Ran { line, .. } if is_check(line) => Some(line.clone()),
                _ => None,
            });
            vec![check.map_or(True, |line| False(format!("it was checked by {line}")))]
        }
        Claim::Moved(path, moves) => vec![of_moves(path, moves, files)],
        Claim::Other => Vec::new(),
    }
}

fn of_change(change: &Change, files: &[File]) -> Vec<Truth> {
    let Some(file) = files.iter().find(|file| is_same(&file.path, &change.path)) else {
        return vec![False(format!("{} was not changed", change.path))];
    };
    let mut truths = vec![holds(change.is_removed == file.is_removed, || {
        format!("{} is removed or not", change.path)
    })];
    if change.is_removed {
        return truths;
    }
    truths.push(of_counts(change, file));
    if !change.ranges.is_empty() {
        truths.push(of_ranges(change, file));
    }
    let names = file.names();
    for (became, named) in &change.names {
        truths.push(of_name(*became, named, &names, file));
    }
    for (is_added, line) in &change.lines {
        let line = line.trim_end_matches(['…', ' ']);
        let side = |(old, new): &(String, String)| even(if *is_added { new } else { old });
        let is_there = file.pieces.iter().any(|piece| side(piece).contains(line));
        truths.push(holds(is_there, || format!("no edit has the line {line}")));
    }
    truths
}

fn of_counts(change: &Change, file: &File) -> Truth {
    let Some((added, removed)) = change.counts else { return Unknown };
    let Some(removed) = removed else {
        let Some(now) = &file.now else { return Unknown };
        let lines = now.lines().count();
        return holds(lines == added, || format!("{} has {lines} lines", change.path));
    };
    let count = |old: &[&str], new: &[&str]| {
        let (added, removed) = differing(old, new);
        (added.len(), removed.len())
    };
    if let Some((old, new)) = file.sides() {
        let least = count(&old, &new);
        // A change can be described in several ways, in one of which lines were moved.
        let net = added.cast_signed() - removed.cast_signed();
        let is_right = net == new.len().cast_signed() - old.len().cast_signed()
            && added >= least.0
            && added <= least.0 + least.0 / 10 + 3;
        return holds(is_right, || format!("{} is +{} -{}", change.path, least.0, least.1));
    }
    let each = file.pieces.iter().map(|(old, new)| {
        count(&old.lines().collect::<Vec<_>>(), &new.lines().collect::<Vec<_>>())
    });
    let sum = each.fold((0, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    holds(added <= sum.0 && removed <= sum.1, || {
        format!("the edits of {} are +{} -{}", change.path, sum.0, sum.1)
    })
}

fn of_ranges(change: &Change, file: &File) -> Truth {
    let Some((old, new)) = file.sides() else { return Unknown };
    let inside = |line: usize| change.ranges.iter().any(|(from, to)| (*from..=*to).contains(&line));
    let outside = new.iter().enumerate().filter(|(at, _)| !inside(at + 1)).map(|(_, line)| *line);
    let last = change.ranges.last().map_or(0, |it| it.1);
    if last > new.len() {
        return False(format!("{} has {} lines", change.path, new.len()));
    }
    let counted: usize = change.ranges.iter().map(|(from, to)| to + 1 - from).sum();
    let added = change.counts.map_or(0, |it| it.0);
    holds(is_among(outside, &old) && (change.is_rough || counted == added), || {
        format!(
            "lines of {} outside of the ranges are new, or there are not as many in them",
            change.path
        )
    })
}

fn of_name(became: Became, entry: &Named, names: &super::model::Names, file: &File) -> Truth {
    let of_kind = |became: Became| match became {
        Became::Added => &names.added,
        Became::Changed => &names.changed,
        Became::Removed => &names.removed,
    };
    match entry {
        Named::One(name) => {
            let last = name.rsplit(['.', ':']).next().unwrap_or(name);
            if of_kind(became).contains(last) || of_kind(became).contains(name) {
                return True;
            }
            let others = [Became::Added, Became::Changed, Became::Removed];
            let other = others.into_iter().find(|it| *it != became && of_kind(*it).contains(last));
            let is_everywhere = file.begin.is_some() && file.now.is_some();
            let words = name.trim_matches(['"', '\'', '`']);
            let is_there = |text: &str| text.contains(last) || text.contains(words);
            let stands = file.pieces.iter().any(|(old, new)| is_there(old) || is_there(new))
                || file.begin.as_deref().is_some_and(is_there)
                || file.read.contains(last);
            match other {
                Some(other) if is_everywhere => {
                    False(format!("{name} was not {became:?} but {other:?}"))
                }
                _ if is_everywhere && !stands => False(format!("nothing of the name {name}")),
                _ => Unknown,
            }
        }
        Named::Count(_) | Named::Pattern(..) => {
            let tests: BTreeSet<&String> = of_kind(became).iter().collect();
            let (count, begin) = match entry {
                Named::Pattern(count, begin) => (*count, begin.as_str()),
                Named::Count(count) => (*count, ""),
                Named::One(_) => return Unknown,
            };
            let begin = begin.rsplit(['.', ':']).next().unwrap_or(begin);
            let begin = begin.trim_start_matches(['"', '\'', '`']);
            let fit = tests.iter().filter(|name| name.starts_with(begin)).count();
            if fit == 0 {
                return Unknown;
            }
            holds(fit >= count, || format!("{fit} and not {count} begin with {begin}"))
        }
    }
}

fn even(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The last run of a command, by its line or a part of it.
fn last_run<'l>(line: &str, fold: &'l Drawn) -> Option<(usize, &'l Did)> {
    let project = format!("{}/", fold.project);
    let wanted = even(line.trim_end_matches(['…', ' ']));
    let last = |fits: &dyn Fn(&str) -> bool| {
        fold.log.iter().enumerate().rfind(|(_, did)| match &did.kind {
            Kind::Ran { line, .. } => fits(line) || fits(&line.replace(&project, "")),
            _ => false,
        })
    };
    let is_command = |line: &str| {
        let commands = line.split(['|', ';', '\n']).flat_map(|part| part.split("&&"));
        commands.into_iter().any(|it| even(it).trim_end_matches("2>&1").trim_end() == wanted)
    };
    last(&is_command).or_else(|| last(&|line| even(line).contains(&wanted)))
}

fn of_check(line: &str, how: &str, fold: &Drawn) -> Truth {
    let mut parts = line.split("; ");
    let Some((_, did)) = last_run(line, fold).or_else(|| parts.find_map(|it| last_run(it, fold)))
    else {
        return False(format!("{line} was not run"));
    };
    let Kind::Ran { exit, .. } = &did.kind else { return Unknown };
    if let Some(claimed) = how.trim_start_matches("failed, ").strip_prefix("exit ") {
        let claimed: i64 = claimed.parse().unwrap_or(-1);
        let known =
            exit.or_else(|| printed_exit(&did.output)).or((!did.ok).then_some(1)).unwrap_or(0);
        return holds(claimed == known, || format!("{line} ended with {known}"));
    }
    let output = even(&did.output);
    let numbers = |text: &str, word: &str| -> Vec<u64> {
        let words: Vec<&str> = text
            .split(|it: char| it.is_whitespace() || ",;()|".contains(it))
            .filter(|it| !it.is_empty())
            .collect();
        words
            .windows(2)
            .filter(|two| two[1].starts_with(word))
            .filter_map(|two| two[0].parse().ok())
            .collect()
    };
    for word in ["passed", "failed"] {
        for claimed in numbers(how, word) {
            let seen: Vec<u64> = numbers(&output, word);
            let is_seen = seen.contains(&claimed) || seen.iter().sum::<u64>() == claimed;
            let by_hand =
                did.output.matches(if word == "passed" { "--- PASS" } else { "--- FAIL" }).count()
                    as u64;
            if !is_seen && by_hand != claimed && !seen.is_empty() {
                return False(format!("{line} said {seen:?} {word}"));
            }
            if !is_seen && seen.is_empty() {
                return Unknown;
            }
        }
    }
    True
}

fn printed_exit(output: &str) -> Option<i64> {
    let rest = output
        .strip_prefix("Exit code ")
        .or_else(|| output.split_once("Process exited with code ").map(|(_, rest)| rest))?;
    rest.split(|it: char| !it.is_ascii_digit()).next()?.parse().ok()
}

fn of_failure(what: &str, how: &str, fold: &Drawn) -> Truth {
    let is_failed =
        |did: &Did| !did.ok || matches!(did.kind, Kind::Ran { exit: Some(exit), .. } if exit != 0);
    let how = even(how.trim_end_matches(['…', ' ']));
    let failed = fold.log.iter().any(|did| is_failed(did) && even(&did.output).contains(&how));
    if !failed {
        return False(format!("nothing failed with {how}"));
    }
    match last_run(what, fold) {
        Some((_, did)) => holds(is_failed(did), || format!("{what} went well later")),
        None => True,
    }
}

fn of_read(path: &str, whole: bool, lines: &[(usize, usize)], fold: &Drawn) -> Truth {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let by_command = fold
        .log
        .iter()
        .any(|did| matches!(&did.kind, Kind::Ran { line, .. } if line.contains(name)));
    let reads: Vec<(Option<usize>, Option<usize>)> = fold
        .log
        .iter()
        .filter(|did| did.ok)
        .filter_map(|did| match &did.kind {
            Kind::Read { path: read, from, lines } if is_same(read, path) => Some((*from, *lines)),
            _ => None,
        })
        .collect();
    if reads.is_empty() {
        return holds(by_command, || format!("{path} was not read"));
    }
    if whole {
        let is_whole = reads.iter().any(|(from, _)| from.is_none_or(|from| from <= 1));
        return holds(is_whole || by_command, || format!("{path} was read in part"));
    }
    let fits = |(first, last): &(usize, usize)| {
        reads.iter().any(|(from, _)| from.unwrap_or(1).max(1) <= *first && first <= last)
    };
    holds(lines.iter().all(fits), || format!("{path} was not read from there"))
}

fn of_unchecked(path: &str, files: &[File], fold: &Drawn) -> Truth {
    let Some(file) = files.iter().find(|file| is_same(&file.path, path)) else {
        return False(format!("{path} was not changed"));
    };
    let after = fold.log.iter().skip(file.last + 1).find_map(|did| match &did.kind {
        Kind::Ran { line, .. } if is_check(line) => Some(line.clone()),
        _ => None,
    });
    after.map_or(True, |line| False(format!("{path} was checked by {line}")))
}

/// Whether a line runs tests, a linter or a build, by its words.
fn is_check(line: &str) -> bool {
    const CHECKS: [&str; 14] = [
        "pytest",
        "cargo test",
        "cargo clippy",
        "cargo check",
        "cargo build",
        "go test",
        "go vet",
        "npm test",
        "npm run check",
        "npm run build",
        "pnpm test",
        "tsc",
        "eslint",
        "golangci-lint run",
    ];
    let line = even(line);
    let begins = |part: &str, check: &&str| part.trim_start().starts_with(*check);
    line.split("&&")
        .flat_map(|it| it.split(';'))
        .any(|part| CHECKS.iter().any(|it| begins(part, it)))
}

fn of_moves(path: &str, moves: &[(usize, isize)], files: &[File]) -> Truth {
    let file = files.iter().find(|file| is_same(&file.path, path));
    let Some(file) = file else { return False(format!("{path} was not changed")) };
    let Some((old, new)) = file.sides() else { return Unknown };
    let fits = |(below, by): &(usize, isize)| {
        let Some(line) = old.get(*below) else { return true };
        let place = below.cast_signed() + by;
        usize::try_from(place).ok().and_then(|at| new.get(at)) == Some(line)
    };
    holds(moves.iter().all(fits), || format!("lines of {path} did not move so"))
}
