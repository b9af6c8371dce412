//! The functions, types, tests and sections of a file, with how far each of them reaches.
//!
//! The length of a definition follows from the indentation of lines. It ends at an unknown line, since nothing is
//! known of the lines after that.

use super::literals;
use crate::outline::{Definition, definitions};

/// Something that is defined in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    /// Its name, after the names of the definitions around it.
    pub name: String,
    /// Whether it is a test.
    pub is_test: bool,
    /// The place of the line that names it.
    pub line: usize,
    /// The place of its first line, including the comments and marks before it.
    pub from: usize,
    /// The place after its last line.
    pub to: usize,
}

/// Returns the symbols among lines, in order; a line that is not known is none.
pub(super) fn symbols(path: &str, lines: &[Option<&str>]) -> Vec<Symbol> {
    let quoted = literals::inside(path, lines.iter().copied());
    let code = |at: usize| lines.get(at).copied().flatten().filter(|_| !quoted[at]);
    let numbered = (0..lines.len()).filter_map(|at| Some((u32::try_from(at).ok()?, code(at)?)));
    let defined = definitions(path, numbered);
    let is_markup = defined.iter().any(|it| it.text.starts_with('#') && it.name != it.text)
        && path.rsplit_once('.').is_some_and(|(_, kind)| kind.starts_with('m'));
    let mut symbols: Vec<Symbol> = Vec::new();
    let mut around: Vec<(usize, String)> = Vec::new();
    // What a test defines for itself is part of it.
    let mut test_ends = 0;
    for (at, definition) in defined.iter().enumerate() {
        let line = definition.line as usize;
        let to = if is_markup {
            section_end(definition, line, lines, &defined[at + 1..])
        } else {
            body_end(definition.indent, line, lines, &quoted)
        };
        if line < test_ends {
            continue;
        }
        let is_test = is_test(definition, line, &code);
        if is_test && !groups_tests(definition.name) {
            test_ends = to;
        }
        around.retain(|(to, _)| *to > line);
        let own = own_name(definition, is_markup);
        let separator =
            if path.rsplit_once('.').is_some_and(|(_, kind)| kind == "rs") { "::" } else { "." };
        let outer = around.iter().rev().map(|(_, name)| name).find(|name| !name.is_empty());
        let name = match outer {
            Some(outer) if !is_markup && !is_quoted(&own) => format!("{outer}{separator}{own}"),
            _ => own.clone(),
        };
        let names_others = !is_markup && !is_module(definition.text) && !is_quoted(&own);
        around.push((to, if names_others { name.clone() } else { String::new() }));
        let from = if is_markup { line } else { front(line, definition.indent, &code) };
        symbols.push(Symbol { name, is_test, line, from, to });
    }
    symbols
}

/// The innermost symbol that each of a number of lines belongs to.
pub(super) fn innermost(symbols: &[Symbol], lines: usize) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..symbols.len()).collect();
    order.sort_by_key(|at| (symbols[*at].from, symbols[*at].line));
    let mut found = vec![None; lines];
    for at in order {
        let Symbol { from, to, .. } = symbols[at];
        if let Some(own) = found.get_mut(from..to.min(lines)) {
            own.fill(Some(at));
        }
    }
    found
}

/// Returns the name of a definition; of an implementation, that of its type.
fn own_name(definition: &Definition<'_>, is_markup: bool) -> String {
    if is_markup || definition.name != definition.text {
        return definition.name.trim().to_owned();
    }
    let text = definition.text.trim_start_matches("unsafe ");
    let Some(rest) = text.strip_prefix("impl") else { return definition.name.to_owned() };
    let mut depth = 0_usize;
    let bare: String = rest
        .chars()
        .filter(|char| {
            match char {
                '<' => depth += 1,
                '>' => depth = depth.saturating_sub(1),
                _ => return depth == 0,
            }
            false
        })
        .collect();
    let bare = bare.split(" where").next().unwrap_or_default();
    let subject = bare.rsplit(" for ").next().unwrap_or_default().trim();
    let subject = subject.trim_start_matches(['&', ' ']);
    if subject.is_empty() { definition.name.to_owned() } else { subject.to_owned() }
}

fn is_quoted(name: &str) -> bool {
    name.starts_with(['"', '\'', '`'])
}

fn is_module(text: &str) -> bool {
    text.split_whitespace().any(|word| matches!(word, "mod" | "module" | "namespace" | "defmodule"))
}

/// Whether a test of this name may have tests in it.
fn groups_tests(name: &str) -> bool {
    is_quoted(name) || name.starts_with("Test")
}

/// Whether a definition is a test, by its name or by the lines above it.
fn is_test<'a>(
    definition: &Definition<'_>,
    line: usize,
    code: &impl Fn(usize) -> Option<&'a str>,
) -> bool {
    let name = definition.name;
    if groups_tests(name) || name.starts_with("test_") {
        return true;
    }
    let above = (0..line).rev().map_while(|at| code(at).map(str::trim));
    let marks = above.take_while(|text| text.starts_with(['#', '@', '[']));
    marks.into_iter().any(|mark| {
        let word = mark.trim_start_matches(['#', '@', '[']);
        let word = word.split(['(', ']', ' ']).next().unwrap_or_default();
        matches!(
            word.rsplit("::").next().unwrap_or_default(),
            "test" | "Test" | "Fact" | "Theory" | "ParameterizedTest"
        )
    })
}

/// Returns the place of the first line of comments and marks right before a definition.
fn front<'a>(line: usize, indent: usize, code: &impl Fn(usize) -> Option<&'a str>) -> usize {
    let mut from = line;
    while let Some(text) = from.checked_sub(1).and_then(code) {
        let bare = text.trim_start();
        let is_mark = bare.starts_with('[') && bare.trim_end().ends_with(']');
        let says = is_mark
            || ["///", "//", "#[", "@", "/**", "/*", "* ", "*/", "#"]
                .iter()
                .any(|it| bare.starts_with(it));
        let is_beside = text.len() - bare.len() >= indent;
        if !says || !is_beside || bare.starts_with("#include") || bare.starts_with("//!") {
            break;
        }
        from -= 1;
    }
    from
}

fn section_end(
    definition: &Definition<'_>,
    line: usize,
    lines: &[Option<&str>],
    after: &[Definition<'_>],
) -> usize {
    let level = |it: &Definition<'_>| it.text.len() - it.text.trim_start_matches('#').len();
    let next = after.iter().find(|it| level(it) <= level(definition));
    let end = next.map_or(lines.len(), |it| it.line as usize);
    lines[line..end].iter().position(Option::is_none).map_or(end, |at| line + at)
}

/// Returns the place after the last line of a body whose first line has this indentation.
fn body_end(indent: usize, line: usize, lines: &[Option<&str>], quoted: &[bool]) -> usize {
    let mut end = line + 1;
    for at in line + 1..lines.len() {
        let Some(text) = lines[at] else { return end };
        if quoted[at] {
            end = at + 1;
            continue;
        }
        let bare = text.trim_start();
        if bare.is_empty() {
            continue;
        }
        if text.len() - bare.len() > indent {
            end = at + 1;
            continue;
        }
        // A line that closes the head of a definition, opens its body, or is not indented and may stand anywhere.
        let is_mark =
            bare.starts_with("#if") || bare.starts_with("#e") || bare.starts_with("where");
        let is_comment = bare.starts_with("//") && text.len() - bare.len() < indent;
        if bare.starts_with([')', ']', '{']) || is_mark || is_comment {
            if bare.starts_with([')', ']', '{']) {
                end = at + 1;
            }
            continue;
        }
        let closes = bare.starts_with('}') || matches!(bare.trim_end(), "end" | "end;" | "end,");
        return if closes && text.len() - bare.len() == indent { at + 1 } else { end };
    }
    end
}

#[cfg(test)]
#[path = "symbols_tests.rs"]
mod tests;
