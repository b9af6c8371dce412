//! Secrets in columns of tables, by the names in the row of headings: in Markdown, as databases draw them, and with
//! commas or tabs between the cells.

use std::ops::Range;

use super::judge::{is_likely_and_no_name, is_likely_bare, is_strong};
use super::names;

/// Whether a value is a secret.
type Judge = fn(&str) -> bool;

/// The most columns that are looked at.
const COLUMNS: usize = 64;

/// Signs between the cells of a line that is drawn.
const BARS: [char; 3] = ['|', '│', '║'];

/// Returns the places of the secrets in a text's tables.
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut headings = "";
    let mut table = Table::default();
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        // In a diff.
        let line = whole.strip_prefix(['+', '-']).unwrap_or(whole);
        let at = start + whole.len() - line.len();
        if is_rule(line) {
            table = Table::below(headings, &BARS);
        } else if table.has_row(line) {
            found.extend(table.secrets(line).map(|it| at + it.start..at + it.end));
        } else {
            let apart = ['\t', ',', ';', '|'].into_iter().find(|apart| is_heading(line, *apart));
            table = apart.map_or_else(Table::default, |apart| Table::below(line, &[apart]));
        }
        headings = line;
        start += whole.len();
    }
    found
}

/// The table that goes on.
#[derive(Default)]
struct Table {
    apart: Vec<char>,
    /// How the values of each column are judged.
    columns: Vec<Option<Judge>>,
    /// Whether a row has to have a cell for each heading: nothing but that tells it from other text.
    is_strict: bool,
}

impl Table {
    fn below(headings: &str, apart: &[char]) -> Self {
        let is_strict = apart != BARS;
        let judged = |cell| judge(headings.get(cell)?, is_strict);
        let columns: Vec<_> = cells(headings, apart).map(judged).collect();
        if columns.iter().all(Option::is_none) {
            return Self::default();
        }
        Self { apart: apart.to_vec(), columns, is_strict }
    }

    fn has_row(&self, line: &str) -> bool {
        line.contains(&*self.apart)
            && (!self.is_strict || line.split(&*self.apart).count() == self.columns.len())
    }

    fn secrets<'a>(&'a self, line: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        cells(line, &self.apart).zip(&self.columns).filter_map(|(cell, judge)| {
            let value = line.get(cell.clone()).unwrap_or_default();
            (value.len() >= LEAST && judge.is_some_and(|judge| judge(value))).then_some(cell)
        })
    }
}

/// Whether a line has headings and nothing else, with the same sign between all of them and no space around it.
fn is_heading(line: &str, apart: char) -> bool {
    let in_name = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-' | ' ' | '"');
    let is_between = |cell: &str| cell.len() > 2 && cell.starts_with('"') && cell.ends_with('"');
    let is_cell = |cell: &str| {
        // A space after the sign is usual where each cell stands between quotes.
        let bare = cell.strip_prefix(' ').filter(|bare| is_between(bare)).unwrap_or(cell);
        !bare.is_empty() && bare.trim().len() == bare.len() && bare.chars().all(in_name)
    };
    let line = line.trim_end_matches(['\r', '\n']);
    line.contains(apart) && line.split(apart).take(COLUMNS).all(is_cell)
}

/// Fewest bytes of a value.
const LEAST: usize = 6;

/// Whether a line stands between a table's headings and its rows.
fn is_rule(line: &str) -> bool {
    // The last ones are all that boxes are drawn with.
    let of_rule = |char: char| {
        char.is_whitespace() || matches!(char, '|' | '-' | ':' | '+' | '\u{2500}'..='\u{257f}')
    };
    ["--", "──", "══"].iter().any(|rule| line.contains(rule)) && line.chars().all(of_rule)
}

/// Returns how values under a heading are judged; none where they are no secrets. Under a `strict` one, names stay that
/// code may have there.
fn judge(heading: &str, is_strict: bool) -> Option<Judge> {
    // A column of what passed is no secret.
    let is_secret = names::is_of_field(heading) && !heading.eq_ignore_ascii_case("pass");
    let chosen = if is_strict { is_likely_and_no_name } else { is_likely_bare };
    is_secret.then_some(if names::is_chosen(heading) { chosen } else { is_strong })
}

/// The words in each cell of a line, without the signs around them.
fn cells<'a>(line: &'a str, apart: &'a [char]) -> impl Iterator<Item = Range<usize>> + 'a {
    let is_around = |char: char| char.is_whitespace() || matches!(char, '`' | '*' | '"');
    let is_edge = |char: char| char.is_whitespace() || BARS.contains(&char);
    let mut at = line.len() - line.trim_start_matches(is_edge).len();
    line.trim_matches(is_edge).split_inclusive(apart).take(COLUMNS).map(move |cell| {
        let length = cell.len();
        let cell = cell.strip_suffix(apart).unwrap_or(cell);
        let start = at + cell.len() - cell.trim_start_matches(is_around).len();
        at += length;
        start..start + cell.trim_matches(is_around).len()
    })
}
