//! The cost of contexts, pushes and pops in stores of different sizes.
//!
//! `cargo bench -p callstack-engine` takes stores of 10 and 1,000 frames, `-- --full` also those of
//! 100,000 and 1,000,000 (minutes to generate, and about 3 GB of disk for a while), `-- --frames N`
//! one of N frames. `-- --search MB` searches transcripts of so many megabytes instead; with `--in FOLDER` the store
//! stays there, and is used again the next time. Other stores lie in the target folder, which must be on the disk
//! that is to be measured.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement reports on standard output and stops at the first failure"
)]

mod bare;
mod forest;
mod measure;
mod search;

use std::path::{Path, PathBuf};
use std::time::Instant;

use callstack_core::limits::Limits;
use callstack_core::transcript::Anchor;
use callstack_engine::operation::Caller;
use callstack_engine::{Engine, Placement, Settings, SystemWorld, operations};
use serde_json::{Value, json};

use self::bare::Bare;
use self::forest::{DEEP, WIDE};
use self::measure::{Dice, Samples, Table, load, ms};

const SMALL: &[u64] = &[10, 1_000];
const LARGE: &[u64] = &[100_000, 1_000_000];
/// Measurements of each kind in each store.
const ROUNDS: usize = 300;

const COLD: f64 = 0.5;
const CACHED: f64 = 0.05;
const COMMITS: f64 = 1.5;

fn main() {
    if let Some(megabytes) = named("--search") {
        search::measure(megabytes.parse().unwrap(), named("--in").map(PathBuf::from));
        return;
    }
    let mut contexts = Table::new(&[
        "frames",
        "where",
        "times",
        "in a new process",
        "cold median",
        "cold p99",
        "cached median",
        "cached p99",
        "goals",
    ]);
    let mut changes = Table::new(&[
        "frames",
        "where",
        "push",
        "bare commit median",
        "p99",
        "push median",
        "p99",
        "of a commit",
        "pop median",
        "p99",
        "of a commit",
        "goal (push)",
    ]);
    for frames in sizes() {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let project = folder.path();
        let start = Instant::now();
        forest::plant(&callstack_store::prepare(project).unwrap(), frames).unwrap();
        println!("{frames} frames planted in {:.1} s; {}", start.elapsed().as_secs_f64(), load());
        let mut bare = Bare::open(project).unwrap();
        for (session, place) in [(WIDE, "below the widest frame"), (DEEP, "8 levels deep")] {
            contexts.row(assembling(project, session, frames, place));
            for answer in [Answer::Short, Answer::WithContext] {
                changes.row(changing(project, &mut bare, session, frames, place, answer));
            }
        }
    }
    contexts.print(&format!("Assembling a context (milliseconds; {})", load()));
    changes.print(&format!(
        "A durable push and pop beside a bare SQLite commit (milliseconds; {})",
        load()
    ));
}

/// Returns the value after an option.
fn named(option: &str) -> Option<String> {
    std::env::args().skip_while(|arg| arg != option).nth(1)
}

fn sizes() -> Vec<u64> {
    if let Some(frames) = named("--frames") {
        return frames.split(',').map(|it| it.replace('_', "").parse().unwrap()).collect();
    }
    let large: &[u64] = if std::env::args().any(|arg| arg == "--full") { LARGE } else { &[] };
    SMALL.iter().chain(large).copied().collect()
}

fn open(project: &Path, placement: Placement) -> Engine {
    // The default limits would refuse a frame with 100,000 children.
    let limits = Limits { children: u64::MAX, live_frames: u64::MAX, ..Limits::default() };
    let settings = Settings { limits, placement, ..Settings::default() };
    Engine::open_unchecked(project, settings, Box::new(SystemWorld)).unwrap()
}

/// Times the rendering of the context that a frame pushed in `session` gets.
fn assembling(project: &Path, session: &str, frames: u64, place: &str) -> Vec<String> {
    let mut dice = Dice::new(frames);
    let mut run = Runner { engine: open(project, Placement::Output), session, calls: 0 };
    push(&mut run, &mut dice);
    let ask = |run: &mut Runner<'_>| {
        let asked = run.operation("stack_context_preview", json!({}));
        assert!(!asked.is_empty(), "the context is empty");
    };
    // In a process that has read nothing of the store yet.
    let (mut first, mut cold, mut cached) = <(Samples, Samples, Samples)>::default();
    for _ in 0..20 {
        run.engine = open(project, Placement::Output);
        first.time(|| ask(&mut run));
    }
    for _ in 0..ROUNDS {
        run.operation("stack_cache_clear", json!({}));
        cold.time(|| ask(&mut run));
        cached.time(|| ask(&mut run));
    }
    pop(&mut run, &mut dice);
    let met = cold.median() <= COLD && cached.median() <= CACHED;
    vec![
        frames.to_string(),
        place.to_owned(),
        cold.len().to_string(),
        ms(first.median()),
        ms(cold.median()),
        ms(cold.p99()),
        ms(cached.median()),
        ms(cached.p99()),
        verdict(met, &format!("{COLD} and {CACHED}")),
    ]
}

/// The content of a push's answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// That the frame is open: the durable change alone.
    Short,
    /// With the new frame's context, as by default; its cost is measured by itself, too.
    WithContext,
}

/// Times pushes and pops, each with a bare commit right before it.
fn changing(
    project: &Path,
    bare: &mut Bare,
    session: &str,
    frames: u64,
    place: &str,
    answer: Answer,
) -> Vec<String> {
    let mut dice = Dice::new(frames + 1);
    let (placement, what) = match answer {
        Answer::Short => (Placement::System, "alone"),
        Answer::WithContext => (Placement::Output, "with its context"),
    };
    let mut run = Runner { engine: open(project, placement), session, calls: 1_000_000 };
    let (mut pushes, mut pops) = <(Samples, Samples)>::default();
    let (mut before_push, mut before_pop) = <(Samples, Samples)>::default();
    for round in 0..ROUNDS + 10 {
        // The first ones prepare statements and fill caches.
        if round == 10 {
            (pushes, pops, before_push, before_pop) = Default::default();
        }
        before_push.time(|| bare.commit()).unwrap();
        pushes.time(|| push(&mut run, &mut dice));
        before_pop.time(|| bare.commit()).unwrap();
        pops.time(|| pop(&mut run, &mut dice));
    }
    let ratio = pushes.ratio_to(&before_push);
    vec![
        frames.to_string(),
        place.to_owned(),
        what.to_owned(),
        ms(before_push.median()),
        ms(before_push.p99()),
        ms(pushes.median()),
        ms(pushes.p99()),
        format!("{ratio:.2}"),
        ms(pops.median()),
        ms(pops.p99()),
        format!("{:.2}", pops.ratio_to(&before_pop)),
        if answer == Answer::Short {
            verdict(ratio <= COMMITS, &COMMITS.to_string())
        } else {
            "none".to_owned()
        },
    ]
}

fn verdict(met: bool, goal: &str) -> String {
    format!("{goal}: {}", if met { "met" } else { "missed" })
}

fn push(run: &mut Runner<'_>, dice: &mut Dice) {
    let arguments = json!({
        "title": dice.words(3),
        "successCriteria": dice.words(14),
        "successCriteriaCompacted": dice.words(6),
    });
    run.operation("stack_frame_push", arguments);
}

fn pop(run: &mut Runner<'_>, dice: &mut Dice) {
    let arguments = json!({"results": dice.words(60), "resultsCompacted": dice.words(20)});
    run.operation("stack_frame_pop", arguments);
}

struct Runner<'a> {
    engine: Engine,
    session: &'a str,
    calls: u64,
}

impl Runner<'_> {
    fn operation(&mut self, name: &str, arguments: Value) -> String {
        self.calls += 1;
        let caller = Caller {
            agent: None,
            performs: false,
            reveal: true,
            key: None,
            session: self.session.to_owned(),
            host: "bench".to_owned(),
            anchor: Anchor {
                message: Some(format!("msg_bench_{:08}", self.calls)),
                call: Some(format!("call_bench_{:08}", self.calls)),
            },
        };
        operations::find(name).unwrap().run(&self.engine, &caller, arguments).unwrap().text
    }
}
