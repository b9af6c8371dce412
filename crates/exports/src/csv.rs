//! A table of the calls of the model, one a row, for spreadsheets and data frames.

use std::collections::HashMap;
use std::io::{self, Write};

use callstack_core::control::escape_line;
use callstack_core::frame::FrameNum;
use callstack_core::trace::{SessionTrace, WeighedCall};

use crate::{About, Document};

const COLUMNS: [&str; 23] = [
    "time",
    "session",
    "host",
    "call",
    "message",
    "frame",
    "title",
    "agent",
    "provider",
    "model",
    "took_ms",
    "input_tokens",
    "cached_tokens",
    "cache_written_tokens",
    "output_tokens",
    "reasoning_tokens",
    "tokens_with_frames",
    "billed_with_frames",
    "tokens_without_frames",
    "billed_without_frames",
    "tools",
    "finish",
    "error",
];

/// The table.
pub(crate) struct Csv;

impl Document for Csv {
    fn begin(&mut self, _: &About, to: &mut dyn Write) -> io::Result<()> {
        row(&COLUMNS.map(str::to_owned), to)
    }

    fn session(&mut self, _: &About, session: &SessionTrace, to: &mut dyn Write) -> io::Result<()> {
        let calls = session.steps.iter().filter_map(|step| Some((step, step.call.as_ref()?)));
        let titles = session.all_frames().map(|frame| (frame.num, cell(&frame.title)));
        let titles: HashMap<FrameNum, String> = titles.collect();
        for (place, (step, call)) in calls.enumerate() {
            let text = |text: &Option<String>| text.as_deref().map(cell).unwrap_or_default();
            let weighed =
                |of: fn(&WeighedCall) -> String| call.weighed.as_ref().map(of).unwrap_or_default();
            let usage = call.usage;
            let tools: Vec<&str> = step.tools.iter().map(|tool| tool.call.tool.as_str()).collect();
            let of_call = [
                time(step.from),
                cell(&session.id),
                cell(&session.host),
                (place + 1).to_string(),
                cell(&step.id),
                step.frame.map(|num| num.to_string()).unwrap_or_default(),
                step.frame.and_then(|num| titles.get(&num).cloned()).unwrap_or_default(),
                text(&call.agent),
                text(&call.provider),
                text(&call.model),
                (step.to - step.from).max(0).to_string(),
                usage.input.to_string(),
                usage.cached.to_string(),
                usage.cache_written.to_string(),
                usage.output.to_string(),
                usage.reasoning.to_string(),
                weighed(|it| it.with.to_string()),
                weighed(|it| hundredths(it.billed_with_hundredths)),
                weighed(|it| it.without.to_string()),
                weighed(|it| hundredths(it.billed_without_hundredths)),
                cell(&tools.join(" ")),
                text(&call.finish),
                text(&call.error),
            ];
            row(&of_call, to)?;
        }
        Ok(())
    }

    fn end(&mut self, _: &About, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// Signs that begin a formula.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// A text on one line that no spreadsheet takes for a formula.
fn cell(text: &str) -> String {
    let line = escape_line(text);
    if line.trim_start().starts_with(FORMULA) { format!("'{line}") } else { line.into_owned() }
}

fn time(at: i64) -> String {
    jiff::Timestamp::from_millisecond(at).map(|at| format!("{at:.3}")).unwrap_or_default()
}

fn hundredths(number: u64) -> String {
    format!("{}.{:02}", number / 100, number % 100)
}

/// Writes a row as RFC 4180 has it.
fn row(cells: &[String; COLUMNS.len()], to: &mut dyn Write) -> io::Result<()> {
    for (place, cell) in cells.iter().enumerate() {
        if place > 0 {
            to.write_all(b",")?;
        }
        if cell.contains([',', '"']) {
            write!(to, "\"{}\"", cell.replace('"', "\"\""))?;
        } else {
            to.write_all(cell.as_bytes())?;
        }
    }
    to.write_all(b"\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "＝1"] {
            assert_eq!(cell(text), format!("'{text}"));
        }
        assert_eq!(cell("\t=1\r\n=2"), "\\t=1\\r\\n=2");
        for text in ["", "a=1", "f12", "3 files", "\"=1"] {
            assert_eq!(cell(text), text);
        }
    }

    #[test]
    fn times_and_bills_are_numbers_that_programs_read() {
        assert_eq!(time(1_764_163_200_123), "2025-11-26T13:20:00.123Z");
        assert_eq!([0, 5, 12_345].map(hundredths), ["0.00", "0.05", "123.45"]);
    }
}
