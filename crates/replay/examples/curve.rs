//! Retention against cost, by the amount that is kept of finished work and of older outputs: the mean over the
//! recorded sessions of a folder with at least 80 calls.
//!
//! `cargo run --release -p callstack-replay --example curve -- FOLDER...`

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use callstack_core::evidence::Budget;
use callstack_core::masking::Limits;
use callstack_recordings::{Recording, read};
use callstack_replay::{LONG, Policy, Replay, Report, Strategy};

fn main() -> ExitCode {
    let mut recordings = Vec::new();
    for argument in std::env::args().skip(1) {
        match read(Path::new(&argument)) {
            Ok(found) => recordings.extend(found),
            Err(error) => {
                let _closed = writeln!(std::io::stderr(), "{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    recordings.retain(|recording| recording.model_calls() as u64 >= LONG);
    let mut out = String::new();
    let heading = "| | largest | input | billed | with reads | kept | verbatim | whole requests: largest | with \
                   reads | most with reads |\n\
                   | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for (title, rows) in [("what is done", steps()), ("evidence", budgets()), ("masks", masks())] {
        let _infallible = write!(out, "{title}\n\n{heading}");
        for (name, policy) in rows {
            out.push_str(&row(&name, &recordings, &policy));
        }
        out.push('\n');
    }
    match std::io::stdout().write_all(out.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn row(name: &str, recordings: &[Recording], policy: &Policy) -> String {
    let mut report = Report::default();
    for recording in recordings {
        let replay = Replay::in_ways(recording, policy, &[Strategy::Frames], &mut |_| {});
        report.add(String::new(), recording, &replay);
    }
    let mean = report.finish().mean;
    let Some(of) = mean.ways.iter().find(|it| it.way == Strategy::Frames) else {
        return "no session is long enough\n".to_owned();
    };
    format!(
        "| {name} | {:.3} | {:.3} | {:.3} | {:.3} | {:.1} % | {:.1} % | {:.3} | {:.3} | {:.3} |\n",
        of.of_linear.largest,
        of.of_linear.input,
        of.of_linear.billed,
        of.of_linear.billed_with_reads,
        of.retention * 100.0,
        of.verbatim_share * 100.0,
        of.whole.largest,
        of.whole.billed_with_reads,
        of.most_billed_with_reads
    )
}

/// One thing after the other.
fn steps() -> Vec<(String, Policy)> {
    let usual = Policy::default();
    let late = Policy { items: false, masks: None, ..usual };
    let before = Policy { evidence: Budget::default(), ..late };
    let rows = [
        ("turns and items fold at the user's next words, evidence as for a pushed frame", before),
        ("more evidence", late),
        ("items fold when they are over", Policy { items: true, ..late }),
        ("replaced outputs, and under pressure the oldest, are masked: the default", usual),
    ];
    rows.map(|(name, policy)| (name.to_owned(), policy)).to_vec()
}

fn budgets() -> Vec<(String, Policy)> {
    let of = |share, floor, ceiling| {
        let evidence = Budget { share, floor, ceiling, ..Budget::UNPUSHED };
        let name = format!("{} % of the span, {floor} to {ceiling} tokens", share / 10);
        (name, Policy { evidence, ..Policy::default() })
    };
    vec![
        of(0, 0, 0),
        of(80, 200, 300),
        of(80, 200, 600),
        of(80, 200, 1_000),
        of(80, 200, 2_000),
        of(160, 400, 4_000),
    ]
}

fn masks() -> Vec<(String, Policy)> {
    let mut rows =
        vec![("no output is masked".to_owned(), Policy { masks: None, ..Policy::default() })];
    for (pressure, batch) in [(100, 4_000), (60, 16_000), (60, 4_000), (40, 4_000), (20, 4_000)] {
        let relief = pressure * 2 / 3;
        let limits = Limits { pressure, relief, batch, ..Limits::default() };
        let name = format!("under pressure from {pressure} % on, {batch} tokens in a batch");
        rows.push((name, Policy { masks: Some(limits), ..Policy::default() }));
    }
    rows.push((
        "the default without outlines".to_owned(),
        Policy { outlines: 0, ..Policy::default() },
    ));
    rows
}
