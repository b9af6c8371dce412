//! The edits of recorded sessions whose old text had left the requests in frames: the last place of the text, and the
//! time since then. Sessions of less than 80 calls are left out.
//!
//! `cargo run --release -p callstack-replay --example misses -- FILE...`

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use callstack_core::transcript::PartBody;
use callstack_recordings::{Recording, read};
use callstack_replay::{LONG, Miss, PieceKind, Policy, Replay, Session, Strategy};

fn main() -> ExitCode {
    let mut out = String::new();
    for file in std::env::args().skip(1) {
        let recordings = match read(Path::new(&file)) {
            Ok(found) => found,
            Err(error) => {
                let _closed = writeln!(std::io::stderr(), "{error}");
                return ExitCode::FAILURE;
            }
        };
        for recording in recordings.iter().filter(|it| it.model_calls() as u64 >= LONG) {
            let _infallible = write!(out, "{file}\n{}", report(recording));
        }
    }
    match std::io::stdout().write_all(out.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn report(recording: &Recording) -> String {
    let replay = Replay::in_ways(recording, &Policy::default(), &[Strategy::Frames], &mut |_| {});
    let figures = |figures: &[(Strategy, callstack_replay::Figures)]| {
        let of = |way| figures.iter().find(|(it, _)| *it == way).map(|(_, it)| it.whole());
        let (linear, frames) =
            (of(Strategy::Linear).unwrap_or_default(), of(Strategy::Frames).unwrap_or_default());
        format!(
            "largest {:.3}, input {:.3}, billed {:.3}, with reads {:.3}",
            frames.largest as f64 / linear.largest as f64,
            frames.input as f64 / linear.input as f64,
            frames.billed() / linear.billed(),
            frames.with_reads() / linear.billed(),
        )
    };
    let frames = replay.figures(Strategy::Frames);
    let mut out = format!(
        "  whole requests: {}; without pauses: {}; {} of {} edits had their old text\n",
        figures(&replay.figures),
        figures(&replay.unpaused),
        frames.verbatim,
        frames.edits,
    );
    for miss in replay.misses(Strategy::Frames) {
        let _infallible = writeln!(out, "  {}", line(&replay.session, &miss));
    }
    out
}

fn line(session: &Session, miss: &Miss) -> String {
    let lines: usize = miss.texts.iter().map(|text| text.lines().count()).sum();
    let held = miss.held.map(|(message, kind, item)| {
        let piece = session.pieces[message].iter().find(|piece| piece.item == item);
        let body = piece.map(|piece| &session.transcript[message].parts[piece.part].body);
        let holder = match (kind, body) {
            (PieceKind::Call, Some(PartBody::Tool(call))) => format!("a call of {}", call.tool),
            (PieceKind::Result, Some(PartBody::Tool(call))) => {
                format!("an output of {}", call.tool)
            }
            _ => "words".to_owned(),
        };
        let later = session.calls[..miss.call].iter().filter(|call| call.message > message);
        let tokens = session.items.get(item).estimated;
        format!("last in {holder} of {tokens} tokens, {} calls before", later.count())
    });
    format!("call {}, {}: {lines} lines, {}", miss.call, miss.file, held.unwrap_or_default())
}
