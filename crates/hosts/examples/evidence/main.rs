//! Compares the texts that replace finished frames with the log: whether every function, type and test that a span
//! added, changed or removed is named, and whether every statement is true.
//!
//! `cargo run -p callstack-hosts --example evidence -- PATH… [--folds N] [--seed N] [--half even|odd] [--show]`
//!
//! A path is a recorded session, a folder of them, or a folder in which work was recorded (it has a `.callstack`, which
//! is copied before it is read). Recordings are sorted by name; `--half` takes every second one of them. None of the
//! code that makes evidence is used: the log is read, compared and scanned here independently.

#![expect(clippy::print_stdout, reason = "what is measured is printed")]

mod check;

use std::path::PathBuf;
use std::process::ExitCode;

use callstack_core::text::estimate_tokens;

use check::folds::{Drawn, Half};
use check::judge::{Judged, judge};
use check::{folds, log};

/// The options of the command line.
struct Asked {
    paths: Vec<PathBuf>,
    folds: usize,
    seed: u64,
    half: Half,
    show: bool,
}

fn asked() -> Option<Asked> {
    let mut asked = Asked { paths: Vec::new(), folds: 40, seed: 1, half: Half::Both, show: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--show" => asked.show = true,
            "--folds" => asked.folds = words.next()?.parse().ok()?,
            "--seed" => asked.seed = words.next()?.parse().ok()?,
            "--half" => {
                asked.half = match words.next()?.as_str() {
                    "even" => Half::Even,
                    "odd" => Half::Odd,
                    _ => return None,
                }
            }
            path => asked.paths.push(path.into()),
        }
    }
    (!asked.paths.is_empty()).then_some(asked)
}

fn main() -> ExitCode {
    let Some(asked) = asked() else {
        println!("usage: evidence PATH… [--folds N] [--seed N] [--half even|odd] [--show]");
        return ExitCode::from(2);
    };
    let all = match folds::of(&asked.paths, asked.half) {
        Ok(all) => all,
        Err(error) => {
            println!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let count = all.len();
    let drawn = draw(all, asked.folds, asked.seed);
    println!("{} of {count} folds", drawn.len());
    let mut sum = Judged::default();
    let mut sizes = Sizes::default();
    for fold in &drawn {
        let judged = judge(fold);
        println!("\n=== {} {}", fold.session, fold.frame);
        if asked.show {
            println!("{}\n--- log\n{}--- judged", fold.text, log::shown(&fold.log));
        }
        print!("{}", judged.text());
        sizes.add(fold);
        sum.add(judged);
    }
    println!("\n=== all");
    sizes.print();
    println!("{}", sum.sums_text());
    if sum.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Some of the folds, the same ones for the same seed, in their order.
fn draw(all: Vec<Drawn>, count: usize, seed: u64) -> Vec<Drawn> {
    let mut state = seed;
    let mut keyed: Vec<(u64, usize, Drawn)> = all
        .into_iter()
        .enumerate()
        .map(|(at, fold)| {
            // SplitMix64.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31), at, fold)
        })
        .collect();
    keyed.sort_by_key(|(key, at, _)| (*key, *at));
    keyed.truncate(count);
    keyed.sort_by_key(|(_, at, _)| *at);
    keyed.into_iter().map(|(_, _, fold)| fold).collect()
}

/// The sizes of evidence.
#[derive(Default)]
struct Sizes {
    folds: usize,
    evidence: usize,
    spans: usize,
    above: usize,
}

impl Sizes {
    fn add(&mut self, fold: &Drawn) {
        let evidence: usize = fold.evidence().map(estimate_tokens).sum();
        let span: usize = fold.log.iter().map(|did| estimate_tokens(&did.whole)).sum();
        self.folds += 1;
        self.evidence += evidence;
        self.spans += span;
        self.above += usize::from(evidence > (span / 20).max(250));
    }

    fn print(&self) {
        println!(
            "evidence: {} tokens in {} folds of {} tokens; {} of them above 5 % and 250 tokens",
            self.evidence, self.folds, self.spans, self.above
        );
    }
}
