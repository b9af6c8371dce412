//! Secrets in columns of tables in Markdown, by the names in the row of headings.

use std::ops::Range;

use super::judge::{is_likely_bare, is_strong};
use super::names;

/// Whether a value is a secret.
type Judge = fn(&str) -> bool;

/// The most columns that are looked at.
const COLUMNS: usize = 64;

/// Returns the places of the secrets in a text's tables.
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut headings = "";
    // The columns of the table that goes on, by their judges.
    let mut columns: Vec<Option<Judge>> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if is_rule(line) {
            columns = cells(headings).map(|cell| judge(headings.get(cell)?)).collect();
        } else if !line.contains('|') {
            columns.clear();
        } else {
            for (cell, judge) in cells(line).zip(&columns) {
                let value = line.get(cell.clone()).unwrap_or_default();
                let is_secret = judge.is_some_and(|judge| value.len() >= LEAST && judge(value));
                if is_secret {
                    found.push(start + cell.start..start + cell.end);
                }
            }
        }
        headings = line;
        start += line.len();
    }
    found
}

/// Fewest bytes of a value.
const LEAST: usize = 6;

/// Whether a line stands between a table's headings and its rows.
fn is_rule(line: &str) -> bool {
    let of_rule = |char: char| char.is_whitespace() || matches!(char, '|' | '-' | ':' | '+');
    line.contains("--") && line.chars().all(of_rule)
}

/// Returns how values under a heading are judged; none where they are no secrets.
fn judge(heading: &str) -> Option<Judge> {
    // A column of what passed is no secret.
    let is_secret = names::is_of_field(heading) && !heading.eq_ignore_ascii_case("pass");
    is_secret.then_some(if names::is_chosen(heading) { is_likely_bare } else { is_strong })
}

/// The words in each cell of a line, without the signs around them.
fn cells(line: &str) -> impl Iterator<Item = Range<usize>> {
    let is_around = |char: char| char.is_whitespace() || matches!(char, '`' | '*' | '"');
    let is_edge = |char: char| char.is_whitespace() || char == '|';
    let mut at = line.len() - line.trim_start_matches(is_edge).len();
    line.trim_matches(is_edge).split('|').take(COLUMNS).map(move |cell| {
        let start = at + cell.len() - cell.trim_start_matches(is_around).len();
        at += cell.len() + 1;
        start..start + cell.trim_matches(is_around).len()
    })
}
