//! How much agents read of a file that they have read before: against the newest earlier read of the same lines.
//! Measured in recorded sessions and in trials (`*.jsonl.gz`, see `trials.rs`).
//!
//! `cargo run --release -p callstack-replay --example second_reads -- FILE...` (`--show` names each)

#![expect(clippy::print_stdout, reason = "what is measured is printed")]

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};

use callstack_core::evidence::Action;
use callstack_core::masking::subject::numbered;
use callstack_core::text::estimate_tokens;
use callstack_core::transcript::{CallState, ToolCall};
use callstack_recordings::{Recording, open_call, read};
use serde_json::Value;

/// Estimated tokens of a read from which on it is a large one.
const LARGE: u64 = 1_500;
/// Answers of the model after a read in which a change of the file may follow from it.
const SOON: usize = 2;

fn main() -> ExitCode {
    let mut again = Vec::new();
    let mut is_shown = false;
    for file in std::env::args().skip(1) {
        if file == "--show" {
            is_shown = true;
            continue;
        }
        match steps(Path::new(&file)) {
            Ok(sessions) => sessions.iter().for_each(|steps| again.extend(second_reads(steps))),
            Err(error) => {
                println!("{file}: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    if is_shown {
        for it in &again {
            println!("{it:?}");
        }
    }
    let shows = |name: &str, is: &dyn Fn(&Again) -> bool| {
        let of: Vec<&Again> = again.iter().filter(|it| is(it)).collect();
        println!("{}", row(name, &of));
    };
    println!(
        "| a file is read again | n | a range | median ratio | of all tokens | tokens in the mean |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    shows("all that show lines again", &|_| true);
    shows("of a file that was read whole before", &|it| !it.first_is_range);
    shows("right before a change of the file", &|it| it.is_before_change);
    shows("the same, where the earlier read has at most 1,500 tokens", &|it| {
        it.is_before_change && it.first <= LARGE
    });
    shows("the same, where it has more", &|it| it.is_before_change && it.first > LARGE);
    ExitCode::SUCCESS
}

/// A file that was read again.
#[derive(Debug)]
#[expect(dead_code, reason = "they are printed")]
struct Again {
    file: String,
    first: u64,
    second: u64,
    steps_between: usize,
    first_is_range: bool,
    is_range: bool,
    is_before_change: bool,
}

fn row(name: &str, of: &[&Again]) -> String {
    let count = of.len();
    if count == 0 {
        return format!("| {name} | 0 | | | | |");
    }
    let ranges = of.iter().filter(|it| it.is_range).count();
    let ratio = |it: &&Again| it.second as f64 / it.first.max(1) as f64;
    let mut ratios: Vec<f64> = of.iter().map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let sum = |part: &dyn Fn(&Again) -> u64| of.iter().map(|it| part(it)).sum::<u64>() as f64;
    format!(
        "| {name} | {count} | {:.0} % | {:.2} | {:.2} | {:.0} |",
        100.0 * ranges as f64 / count as f64,
        ratios[count / 2],
        sum(&|it| it.second) / sum(&|it| it.first),
        sum(&|it| it.second) / count as f64,
    )
}

/// A read that was made before.
struct Read {
    step: usize,
    tokens: u64,
    lines: (u64, u64),
    is_range: bool,
}

fn second_reads(steps: &[Vec<ToolCall>]) -> Vec<Again> {
    let mut seen: HashMap<String, Vec<Read>> = HashMap::new();
    let mut all = Vec::new();
    for (step, calls) in steps.iter().enumerate() {
        for call in calls.iter().filter(|call| call.output.is_some() && !call.has_failed()) {
            let known = |file: &str| seen.contains_key(file);
            let Some((file, is_command)) = file_shown(call, &known) else { continue };
            let output = call.output_text();
            let tokens = estimate_tokens(output) as u64;
            let (lines, is_range) = lines(call, output);
            let earlier = seen.entry(file.clone()).or_default();
            // To read on from where the last read ended is no second read.
            let shares = |it: &&Read| is_command || shares_most(it.lines, lines);
            if let Some(first) = earlier.iter().rev().filter(|it| it.step < step).find(shares) {
                let soon = steps.iter().skip(step).take(SOON + 1).flatten();
                all.push(Again {
                    is_before_change: soon.flat_map(written).any(|it| it == file),
                    file,
                    first: first.tokens,
                    second: tokens,
                    steps_between: step - first.step,
                    first_is_range: first.is_range,
                    is_range: is_range || is_command,
                });
            }
            if !is_command {
                earlier.push(Read { step, tokens, lines, is_range });
            }
        }
    }
    all
}

/// Whether half of the lines of one read stand in the other.
fn shares_most(one: (u64, u64), other: (u64, u64)) -> bool {
    let count = |(first, last): (u64, u64)| (last + 1).saturating_sub(first);
    let both = count((one.0.max(other.0), one.1.min(other.1)));
    both > 0 && both * 2 >= count(one).min(count(other))
}

/// Returns the file that a call shows and whether it is a command, of which only those are known that name one file
/// that was read before.
fn file_shown(call: &ToolCall, is_known: &dyn Fn(&str) -> bool) -> Option<(String, bool)> {
    match &call.action {
        Action::Read(path) => Some((path.clone(), false)),
        Action::Ran(line) => {
            let mut words = line.split_whitespace().filter(|word| *word != "cd");
            let program = line.split("&&").last()?.split_whitespace().next()?;
            let shows = ["cat", "sed", "head", "tail", "nl"].contains(&program);
            let is_plain = !line.contains(['>', '|', ';']) && !line.contains("-i ");
            let file = words.find(|word| is_known(word))?;
            (shows && is_plain).then(|| (file.to_owned(), true))
        }
        _ => None,
    }
}

fn written(call: &ToolCall) -> Vec<String> {
    match &call.action {
        Action::Wrote(paths) => paths.clone(),
        _ => Vec::new(),
    }
}

/// Returns the lines that an output shows, and whether only a part of the file was asked for.
fn lines(call: &ToolCall, output: &str) -> ((u64, u64), bool) {
    let asked = |name: &str| call.input[name].as_u64();
    let is_range = ["offset", "limit", "view_range"].iter().any(|it| !call.input[*it].is_null());
    let mut numbers = output.lines().filter_map(|line| Some(u64::from(numbered(line)?.0)));
    let first = numbers.next();
    let shown = if let Some(first) = first {
        (first, numbers.next_back().unwrap_or(first))
    } else {
        let first = asked("offset").unwrap_or(1);
        (first, first + output.lines().count().saturating_sub(1) as u64)
    };
    (shown, is_range)
}

/// Returns the tool calls of each answer of the model, for each session of a file.
fn steps(file: &Path) -> Result<Vec<Vec<Vec<ToolCall>>>, Box<dyn Error>> {
    if file.extension().is_some_and(|it| it == "gz") {
        return Ok(vec![trial(file)?]);
    }
    let of = |recording: &Recording| {
        let answers = recording.messages.iter().filter(|it| it.is_answer());
        answers.map(|it| it.calls().cloned().collect()).collect()
    };
    Ok(read(file)?.iter().map(of).collect())
}

fn trial(file: &Path) -> Result<Vec<Vec<ToolCall>>, Box<dyn Error>> {
    let unpacked = Command::new("gzip").arg("-dc").arg(file).output()?;
    let text = String::from_utf8(unpacked.stdout)?;
    let mut steps: Vec<Vec<ToolCall>> = Vec::new();
    let mut at: HashMap<String, (usize, usize)> = HashMap::new();
    for line in text.lines() {
        let request: Value = serde_json::from_str(line)?;
        for message in request[2].as_array().into_iter().flatten() {
            let mut calls = Vec::new();
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let id = call["id"].as_str().unwrap_or_default();
                if at.contains_key(id) {
                    continue;
                }
                at.insert(id.to_owned(), (steps.len(), calls.len()));
                let input = call["function"]["arguments"].as_str().unwrap_or_default();
                let tool = call["function"]["name"].as_str().unwrap_or_default();
                calls.push(open_call(id, tool, serde_json::from_str(input).unwrap_or_default()));
            }
            if !calls.is_empty() {
                steps.push(calls);
            }
            let answered = message["tool_call_id"].as_str().and_then(|id| at.get(id));
            if let Some((step, place)) = answered {
                let call = &mut steps[*step][*place];
                // A later request may show a mask or a frame's result in its place.
                if call.output.is_none() {
                    call.output = message["content"].as_str().map(str::to_owned);
                    call.state = CallState::Completed;
                }
            }
        }
    }
    Ok(steps)
}
