//! The output of the demo: for each model call the messages that were sent, and those that would have been.

use callstack_hosts::opencode::{Fate, Line, ModelCall};
use serde_json::{Value, json};

use crate::page::{BOLD, DIM, GOOD, PLAIN, Page, fitted};
use crate::wording::{change, thousands};

/// Columns of a line in the overview of a call, if the terminal's are not known.
const WIDTH: usize = 110;

/// Writes each call in short lines, each request after a fold as a whole, and a table of all.
pub(super) fn write(page: &mut Page, calls: &[ModelCall], width: Option<usize>) {
    page.put(BOLD, "What each model call was sent").end();
    page.put(DIM, "  - folded away: without callstack it would have been sent").end();
    page.put(GOOD, "  + stands for it").end();
    let mut before: &[Line] = &[];
    for (at, call) in calls.iter().enumerate() {
        page.end().put(BOLD, &format!("call {}", at + 1));
        page.put(
            PLAIN,
            &format!("  {} tokens sent, {} without folding", call.sent_tokens, call.whole_tokens),
        );
        page.end();
        let same = before.iter().zip(&call.lines).take_while(|(old, new)| old == new).count();
        if same > 0 {
            page.put(DIM, &format!("    … {same} as in the call before")).end();
        }
        for line in &call.lines[same..] {
            overview(page, line, width.unwrap_or(WIDTH));
        }
        if call.lines.iter().any(|line| line.fate != Fate::Sent) {
            whole(page, call);
        }
        before = &call.lines;
    }
    table(page, calls);
}

/// Writes a request as the model reads it.
fn whole(page: &mut Page, call: &ModelCall) {
    page.end().put(BOLD, "  This request whole, as the model reads it").end();
    for line in call.lines.iter().filter(|line| line.fate != Fate::Folded) {
        page.put(DIM, &format!("  [{}]", line.from)).end();
        page.block("  │ ", line.text.trim_end());
    }
}

/// Writes the last call in one line: the tokens that were sent, and those that would have been without frames.
pub(super) fn verdict(page: &mut Page, calls: &[ModelCall]) {
    let Some(last) = calls.last() else { return };
    let (sent, without) = (last.sent_tokens as u64, last.whole_tokens as u64);
    let line = format!(
        "Call {}: {} tokens instead of {}",
        calls.len(),
        thousands(sent),
        thousands(without)
    );
    let about = "Below, what the last call was sent of the conversation. With system prompt and tools counted, a session";
    page.put(DIM, about).end();
    page.put(DIM, "as short as this costs more than it saves: `status` there tells by how much.")
        .end();
    page.put(BOLD, &line).put(GOOD, &format!(", {}", change(without, sent))).end();
}

/// Returns the calls for programs.
pub(super) fn data(calls: &[ModelCall]) -> Value {
    calls
        .iter()
        .map(|call| {
            let lines: Vec<_> = call
                .lines
                .iter()
                .map(|line| {
                    let fate = match line.fate {
                        Fate::Sent => "sent",
                        Fate::Folded => "folded",
                        Fate::Added => "added",
                    };
                    json!({ "from": line.from, "fate": fate, "text": line.text })
                })
                .collect();
            json!({
                "sentTokens": call.sent_tokens,
                "wholeTokens": call.whole_tokens,
                "lines": lines,
            })
        })
        .collect()
}

fn overview(page: &mut Page, line: &Line, width: usize) {
    let (sign, style) = match line.fate {
        Fate::Sent => (' ', PLAIN),
        Fate::Folded => ('-', DIM),
        Fate::Added => ('+', GOOD),
    };
    let flat = line.text.split_whitespace().collect::<Vec<_>>().join(" ");
    page.put(style, &fitted(&format!("  {sign} {:<9} {flat}", line.from), width)).end();
}

fn table(page: &mut Page, calls: &[ModelCall]) {
    page.end().put(BOLD, "Tokens of the conversation").end();
    page.put(DIM, "  estimated, without system prompt and tools").end();
    page.put(DIM, "  call    sent  without  saved").end();
    let mut row = |name: &str, sent: usize, whole: usize| {
        let saved = saved(sent, whole);
        page.put(PLAIN, &format!("  {name:>4}  {sent:>6}  {whole:>7}  {saved:>5}")).end();
    };
    for (at, call) in calls.iter().enumerate() {
        row(&(at + 1).to_string(), call.sent_tokens, call.whole_tokens);
    }
    let sum = |of: fn(&ModelCall) -> usize| calls.iter().map(of).sum();
    row("all", sum(|call| call.sent_tokens), sum(|call| call.whole_tokens));
}

fn saved(sent: usize, whole: usize) -> String {
    if whole == 0 {
        return String::new();
    }
    format!("{:.0} %", 100.0 - 100.0 * sent as f64 / whole as f64)
}
