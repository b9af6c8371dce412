//! Retention against cost, by what is kept of finished work.
//!
//! `cargo run --release -p callstack-replay --example curve -- FOLDER`

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use callstack_hosts::recording::{Recording, read};
use callstack_replay::{Policy, Replay, Way, terms};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut recordings = Vec::new();
    let mut policy = Policy::default();
    let (mut lost, mut long, mut harsher) = (false, false, false);
    for argument in &arguments {
        if argument == "--lost" {
            lost = true;
            continue;
        }
        if argument == "--harsh" {
            harsher = true;
            continue;
        }
        if argument == "--long" {
            long = true;
            continue;
        }
        if let Some((name, value)) = argument.split_once('=') {
            let value: usize = value.parse().unwrap();
            let mut none = callstack_core::masking::Limits::default();
            let masks = policy.masks.as_mut().unwrap_or(&mut none);
            match name {
                "recent" => masks.recent = value,
                "batch" => masks.batch = value,
                "least" => masks.least = value,
                "masks" => {
                    if value == 0 {
                        policy.masks = None
                    }
                }
                "items" => policy.items = value != 0,
                "told" => policy.told = value != 0,
                "share" => policy.evidence.share = value,
                "floor" => policy.evidence.floor = value,
                "ceiling" => policy.evidence.ceiling = value,
                "mshare" => policy.masked.share = value,
                "mfloor" => policy.masked.floor = value,
                "mceiling" => policy.masked.ceiling = value,
                _ => panic!("{name}"),
            }
            continue;
        }
        recordings.extend(read(Path::new(argument)).unwrap());
    }
    recordings.retain(|recording| recording.model_calls() > 0);
    let mut out = String::new();
    let (mut n, mut l, mut b, mut r) = (0.0, 0.0, 0.0, 0.0);
    for recording in &recordings {
        let replay = Replay::in_ways(recording, &policy, &[Way::Frames]);
        let linear = replay.figures(Way::Linear);
        let frames = replay.figures(Way::Frames);
        let (fl, fb, fr) = (
            frames.largest as f64 / linear.largest.max(1) as f64,
            frames.billed() / linear.billed().max(1.0),
            frames.retention() * 100.0,
        );
        if long && linear.calls < 80 {
            continue;
        }
        if linear.calls >= 80 {
            n += 1.0;
            l += fl;
            b += fb;
            r += fr;
        }
        let _ = writeln!(
            out,
            "{} calls {:>3} frames {:>2} largest {:.3} input {:.3} billed {:.3} retention {:.2} of {}",
            &recording.session[..8.min(recording.session.len())],
            linear.calls,
            replay.frames.len(),
            fl,
            frames.input as f64 / linear.input.max(1) as f64,
            fb,
            fr,
            frames.used
        );
        if harsher {
            harsh(&mut out, &replay);
        }
        if lost {
            lost_terms(&mut out, recording, &replay);
        }
    }
    let _ = writeln!(out, "MEAN largest {:.3} billed {:.3} retention {:.2}", l / n, b / n, r / n);
    let _closed = std::io::stdout().write_all(out.as_bytes());
    ExitCode::SUCCESS
}

fn set(replay: &Replay, items: &[u32]) -> HashSet<String> {
    let mut found = HashSet::new();
    for item in items {
        terms(&replay.session.items.get(*item).text, |term| {
            found.insert(term.into_owned());
        });
    }
    found
}

/// With everything seen before, also in front of a compaction, and with names of arguments.
fn harsh(out: &mut String, replay: &Replay) {
    let mut ever: HashSet<String> = HashSet::new();
    let (mut used_all, mut kept_all, mut used_names, mut kept_names) = (0, 0, 0, 0);
    let (whole, sent) = (&replay.sent[0].1, &replay.sent[1].1);
    for (at, call) in replay.session.calls.iter().enumerate() {
        let seen = set(replay, &whole[at]);
        ever.extend(seen.iter().cloned());
        let here = set(replay, &sent[at]);
        for term in set(replay, &[call.output]).iter().filter(|it| ever.contains(*it)) {
            used_all += 1;
            kept_all += usize::from(here.contains(term));
        }
        let named: Vec<u32> = replay.session.pieces[call.message]
            .iter()
            .filter(|it| it.kind != callstack_replay::Kind::Result)
            .map(|it| it.item)
            .collect();
        for term in set(replay, &named).iter().filter(|it| seen.contains(*it)) {
            used_names += 1;
            kept_names += usize::from(here.contains(term));
        }
    }
    let _ = writeln!(
        out,
        "   ever {:.2} of {used_all}; with names {:.2} of {used_names}",
        kept_all as f64 * 100.0 / used_all as f64,
        kept_names as f64 * 100.0 / used_names as f64
    );
}

fn kind(term: &str) -> &'static str {
    if term.contains('/') && !term.contains(' ') && term.contains('.') {
        if term.starts_with('/') || term.contains(":") { "abs" } else { "path" }
    } else if term.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        "number"
    } else if term.contains(' ') || term.contains('/') {
        "quoted"
    } else if term.contains('.') {
        "file"
    } else {
        "name"
    }
}

fn lost_terms(out: &mut String, _recording: &Recording, replay: &Replay) {
    let mut by: BTreeMap<&str, (usize, usize, Vec<String>)> = BTreeMap::new();
    let (whole, sent) = (&replay.sent[0].1, &replay.sent[1].1);
    for (at, call) in replay.session.calls.iter().enumerate() {
        let used = set(replay, &[call.output]);
        let seen = set(replay, &whole[at]);
        let here = set(replay, &sent[at]);
        for term in used.iter().filter(|term| seen.contains(*term)) {
            let entry = by.entry(kind(term)).or_default();
            entry.0 += 1;
            if !here.contains(term) {
                entry.1 += 1;
                entry.2.push(format!("{at}:{term}"));
            }
        }
    }
    for (kind, (used, lost, which)) in by {
        let _ = writeln!(
            out,
            "  {kind}: lost {lost} of {used}: {}",
            which.iter().take(40).cloned().collect::<Vec<_>>().join(" | ")
        );
    }
}
