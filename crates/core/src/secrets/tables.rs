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
pub(super) const BARS: [char; 4] = ['|', '│', '║', '┃'];

/// Returns the places of the secrets in a text's tables.
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut headings = "";
    let mut title = "";
    let mut table = Table::default();
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        // In a diff.
        let line = whole.strip_prefix(['+', '-']).unwrap_or(whole);
        let at = start + whole.len() - line.len();
        if is_rule(line) {
            // In some tables a line stands between all rows.
            if !table.has_row(headings) {
                table =
                    Table::aligned(headings, line).unwrap_or_else(|| Table::drawn(headings, title));
            }
        } else if table.has_row(line) {
            found.extend(table.secrets(line).map(|it| at + it.start..at + it.end));
        } else {
            let apart = ['\t', ',', ';', '|'].into_iter().find(|apart| is_heading(line, *apart));
            table = apart.map_or_else(Table::default, |apart| Table::below(line, &[apart]));
        }
        // The query stands above a table's heading, and a line may stand between them.
        if !is_rule(headings) {
            title = headings;
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
    /// Where each column begins and ends, if only space keeps them apart.
    places: Vec<Range<usize>>,
}

impl Table {
    fn below(headings: &str, apart: &[char]) -> Self {
        let is_strict = apart != BARS;
        let judged = |cell| judge(headings.get(cell)?, is_strict);
        let columns: Vec<_> = cells(headings, apart).map(judged).collect();
        if columns.iter().all(Option::is_none) {
            return Self::default();
        }
        Self { apart: apart.to_vec(), columns, is_strict, places: Vec::new() }
    }

    /// One with bars between its columns, below its query.
    fn drawn(headings: &str, title: &str) -> Self {
        let values = || cells(headings, &BARS).filter_map(|cell| headings.get(cell));
        // A row with a name and its value.
        if values().any(is_strong) {
            return Self::default();
        }
        let mut table = Self::below(headings, &BARS);
        if is_of_tokens(title) && values().any(|cell| cell == "key") {
            let judged =
                |cell| if cell == "key" { Some(is_long as Judge) } else { judge(cell, false) };
            table.columns = values().map(judged).collect();
            table.apart = BARS.to_vec();
        }
        table
    }

    /// One with nothing but space between its columns, by the lines of dashes below its headings.
    fn aligned(headings: &str, rule: &str) -> Option<Self> {
        let bare = rule.trim_end();
        if headings.contains(BARS) || !bare.chars().all(|char| matches!(char, '-' | '=' | ' ')) {
            return None;
        }
        let dashes = bare.split(' ').map(|dashes| {
            let start = dashes.as_ptr().addr() - bare.as_ptr().addr();
            start..start + dashes.len()
        });
        let dashes: Vec<_> = dashes.filter(|it| !it.is_empty()).take(COLUMNS).collect();
        let ends = dashes.iter().skip(1).map(|next| next.start).chain([usize::MAX]);
        let places: Vec<_> = dashes.iter().zip(ends).map(|(it, end)| it.start..end).collect();
        let named = |place: &Range<usize>| cell_at(headings, place).and_then(|it| headings.get(it));
        let is_of_keys = places.iter().filter_map(named).any(|it| it == "KeyName");
        let columns: Vec<_> = places
            .iter()
            .map(|place| {
                let heading = named(place)?;
                let is_key = is_numbered_key(heading) || (is_of_keys && heading == "Value");
                if is_key { Some(is_long as Judge) } else { judge(heading, true) }
            })
            .collect();
        let is_secret = columns.iter().any(Option::is_some);
        is_secret.then_some(Self { apart: Vec::new(), columns, is_strict: true, places })
    }

    fn has_row(&self, line: &str) -> bool {
        if !self.places.is_empty() {
            return !line.trim().is_empty();
        }
        line.contains(&*self.apart)
            && (!self.is_strict || line.split(&*self.apart).count() == self.columns.len())
    }

    fn secrets<'a>(&'a self, line: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let aligned = self.places.iter().map(|place| cell_at(line, place).unwrap_or_default());
        let apart = cells(line, &self.apart).take(if self.places.is_empty() { COLUMNS } else { 0 });
        aligned.chain(apart).zip(&self.columns).filter_map(|(cell, judge)| {
            let value = line.get(cell.clone()).unwrap_or_default();
            (value.len() >= LEAST && judge.is_some_and(|judge| judge(value))).then_some(cell)
        })
    }
}

/// The words at a place of a line, if nothing goes over its edges.
fn cell_at(line: &str, place: &Range<usize>) -> Option<Range<usize>> {
    let line = line.trim_end();
    let cell = line.get(place.start..place.end.min(line.len()))?;
    let before = line.get(..place.start)?;
    let is_whole = before.is_empty() || before.ends_with(' ');
    let start = place.start + cell.len() - cell.trim_start().len();
    is_whole.then_some(start..start + cell.trim().len())
}

/// Such as `Key1`, under which clouds list the keys of an account.
fn is_numbered_key(heading: &str) -> bool {
    const KEYS: [&str; 8] = [
        "key1",
        "key2",
        "primarykey",
        "secondarykey",
        "primary key",
        "secondary key",
        "primarymasterkey",
        "secondarymasterkey",
    ];
    KEYS.contains(&heading.to_ascii_lowercase().as_str())
}

/// Whether a query asks for tokens, which some tables have in a column with the name of `key`.
fn is_of_tokens(title: &str) -> bool {
    const WORDS: [&str; 5] = ["token", "apikey", "api_key", "secret", "credential"];
    let lower = title.to_ascii_lowercase();
    lower.contains("select ") && WORDS.iter().any(|word| lower.contains(word))
}

/// Whether it is a key without doubt, as nothing but its column tells of it.
fn is_long(value: &str) -> bool {
    value.len() >= 20 && is_strong(value)
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
        char.is_whitespace()
            || matches!(char, '|' | '-' | '=' | ':' | '+' | '\u{2500}'..='\u{257f}')
    };
    ["--", "==", "──", "══"].iter().any(|rule| line.contains(rule)) && line.chars().all(of_rule)
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
