//! The bill of whole requests of recorded sessions in frames, as shares of the linear one: its parts, what it would be
//! if the texts that later edits replace were known, and if more left at pauses. Sessions of less than 80 calls are left
//! out.
//!
//! `cargo run --release -p callstack-replay --example bill -- FILE...`

mod parts;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use callstack_recordings::{Recording, read};
use callstack_replay::{AtPauses, LONG, Policy, Replay, Requests, Reread, Stays, Strategy};

fn main() -> ExitCode {
    let (mut out, mut all) = (String::new(), Vec::new());
    for file in std::env::args().skip(1) {
        let recordings = match read(Path::new(&file)) {
            Ok(found) => found,
            Err(error) => {
                let _closed = writeln!(std::io::stderr(), "{error}");
                return ExitCode::FAILURE;
            }
        };
        for recording in recordings.iter().filter(|it| it.model_calls() as u64 >= LONG) {
            let session = Session::of(recording);
            let _infallible = writeln!(out, "{file}\n\n{}", session.table());
            all.push(session);
        }
    }
    if let Some(mean) = Session::mean(&all) {
        let _infallible = writeln!(out, "the mean\n\n{}", mean.table());
    }
    match std::io::stdout().write_all(out.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The figures of a session, by their names.
struct Session {
    /// Largest request, bill, bill with reads, with reads of parts, share of verbatim edits, share of terms that are
    /// kept.
    ways: Vec<(&'static str, [f64; 6])>,
    /// New once, new again, from the cache.
    parts: Vec<(&'static str, [f64; 3])>,
}

impl Session {
    fn of(recording: &Recording) -> Self {
        let mut replay =
            Replay::in_ways(recording, &Policy::default(), &[Strategy::Frames], &mut |_| {});
        let linear = replay.figures(Strategy::Linear).whole();
        let shares = |replay: &Replay, requests: &Requests| {
            let whole = replay.measure(requests, Reread::Whole).whole();
            let in_part = replay.measure(requests, Reread::AsRecorded).whole();
            [
                whole.largest as f64 / linear.largest as f64,
                whole.billed() / linear.billed(),
                whole.with_reads() / linear.billed(),
                in_part.with_reads() / linear.billed(),
                whole.verbatim_share(),
                whole.retention(),
            ]
        };
        let framed = replay.framed().cloned().unwrap_or_default();
        let mut ways = vec![("frames", shares(&replay, &framed))];
        for (name, stays, are_known) in [
            ("stays: nothing", Stays::Nothing, false),
            ("the texts of later edits", Stays::Nothing, true),
            ("user's words, replies", Stays::Words, false),
            ("user's words, replies, the texts of later edits", Stays::Words, true),
            ("user's words, replies, evidence, outlines", Stays::Evidence, false),
            ("all these and the texts of later edits", Stays::Evidence, true),
        ] {
            let requests = replay.foreseen(stays, are_known);
            ways.push((name, shares(&replay, &requests)));
        }
        let (replies, outputs, none) = (Some(120), Some(10), AtPauses::default());
        for (name, leaves) in [
            ("at pauses: older replies to 120 tokens", AtPauses { replies, ..none }),
            ("older replies to 400 tokens", AtPauses { replies: Some(400), ..none }),
            ("outputs older than ten calls", AtPauses { outputs, ..none }),
            ("outputs and replies to 120 tokens", AtPauses { replies, outputs, ..none }),
            ("files of all but the last 2 turns", AtPauses { files: Some(2), ..none }),
            ("files of all but the last 4 turns", AtPauses { files: Some(4), ..none }),
            ("files of all but the last 8 turns", AtPauses { files: Some(8), ..none }),
            ("outputs, replies and files", AtPauses { replies, outputs, files: Some(8) }),
        ] {
            let requests = replay.at_pauses(leaves);
            ways.push((name, shares(&replay, &requests)));
        }
        let parts = parts::of(&replay).into_iter();
        let parts = parts.map(|(name, paid)| (name, paid.map(|tokens| tokens / linear.billed())));
        Self { ways, parts: parts.collect() }
    }

    fn mean(all: &[Self]) -> Option<Self> {
        let first = all.first()?;
        let of =
            |values: &dyn Fn(&Self) -> f64| all.iter().map(values).sum::<f64>() / all.len() as f64;
        let ways = first.ways.iter().enumerate().map(|(row, (name, _))| {
            (*name, std::array::from_fn(|column| of(&|it| it.ways[row].1[column])))
        });
        let parts = first.parts.iter().enumerate().map(|(row, (name, _))| {
            (*name, std::array::from_fn(|column| of(&|it| it.parts[row].1[column])))
        });
        Some(Self { ways: ways.collect(), parts: parts.collect() })
    }

    fn table(&self) -> String {
        let mut out = String::from(
            "| | largest | billed | with reads | of parts | verbatim | kept |\n| --- | --- | --- | --- | --- | --- | --- |\n",
        );
        for (name, [largest, billed, with_reads, of_parts, verbatim, kept]) in &self.ways {
            let (verbatim, kept) = (verbatim * 100.0, kept * 100.0);
            let _infallible = writeln!(
                out,
                "| {name} | {largest:.3} | {billed:.3} | {with_reads:.3} | {of_parts:.3} | {verbatim:.1} % | {kept:.1} % |"
            );
        }
        out.push_str("\n| | new once | new again | from the cache | all |\n| --- | --- | --- | --- | --- |\n");
        for (name, paid) in &self.parts {
            let _infallible = writeln!(
                out,
                "| {name} | {:.3} | {:.3} | {:.3} | {:.3} |",
                paid[0],
                paid[1],
                paid[2],
                paid.iter().sum::<f64>()
            );
        }
        out
    }
}
