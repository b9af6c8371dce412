//! Recognizes a removed text in the texts of `copies` that don't say whose words they hold: contexts, notes, masks and
//! answers put several frames into one sentence. It is known in the forms that callstack writes, and in no others:
//!
//! - cut off with `…` where there was no more room, and with secrets masked (`core::text`, `core::secrets`);
//! - on one line, in XML (`core::context`, `core::xml`);
//! - with `\` or `>` before lines that could pass for ours (`core::own_lines::quoted`, `core::compaction`);
//! - without the marks of lists and headings (`core::results`), and without our own words before it;
//! - if it is short, only as a whole field: between quotes or tags, after a heading, or on a line of its own.
//!
//! None of this would be needed if events named the frames that their texts came from, but those in existing stores
//! don't.

use std::collections::BTreeSet;

use callstack_core::returned::{MARK, UNSAID};
use callstack_core::secrets::mask;

/// Characters from which on a text, whole or cut, is recognized within others.
const DISTINCTIVE: usize = 32;
/// The end of a text that is cut.
const CUT: char = '…';

/// Texts that were removed.
#[derive(Default)]
pub(super) struct Repeats {
    /// Texts that are recognized anywhere, without callstack's own words before them.
    long: BTreeSet<String>,
    /// Those that could be part of anything, with the number of their lines.
    short: BTreeSet<(usize, String)>,
}

impl Repeats {
    pub(super) fn remember(&mut self, text: &str) {
        self.remember_as_is(text);
        // It may have been shown masked.
        self.remember_as_is(&mask(text));
    }

    fn remember_as_is(&mut self, text: &str) {
        let own = in_a_line(after_ours(text));
        let own = own.trim_end_matches([CUT, ' ']);
        if own.chars().count() >= DISTINCTIVE {
            self.long.insert(own.to_owned());
            return;
        }
        let whole = in_a_line(text);
        if !whole.is_empty() && !whole.starts_with(MARK) && whole != UNSAID {
            self.short.insert((filled(text).count(), whole));
        }
    }

    /// Whether a text repeats one of them.
    pub(super) fn stand_in(&self, text: &str) -> bool {
        let line = in_a_line(text);
        self.long.iter().any(|long| stands_in(long, &line))
            || self.short.iter().any(|(lines, short)| is_field_of(short, *lines, text))
    }
}

/// Whether a long text stands in another one, whole or cut.
fn stands_in(long: &str, text: &str) -> bool {
    if text.contains(long) {
        return true;
    }
    let beginning: String = long.chars().take(DISTINCTIVE).collect();
    text.match_indices(&beginning).any(|(at, _)| {
        let found = text.get(at..).unwrap_or_default();
        let same = found.chars().zip(long.chars()).take_while(|(a, b)| a == b);
        let same: usize = same.map(|(a, _)| a.len_utf8()).sum();
        found.get(same..).unwrap_or_default().trim_start().starts_with(CUT)
    })
}

/// Whether a short text is the whole content of lines of another one, or stands there between quotes, between tags or
/// after a heading.
fn is_field_of(short: &str, lines: usize, text: &str) -> bool {
    let all: Vec<_> = filled(text).collect();
    all.windows(lines.max(1)).any(|window| {
        let line = in_a_line(&window.join("\n"));
        line == short
            || line.contains(&format!("\"{short}\""))
            || line.contains(&format!(">{short}<"))
            || line.strip_suffix(short).is_some_and(|heading| heading.ends_with(": "))
    })
}

fn filled(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

/// Returns a text without the words of callstack or of a template before it.
fn after_ours(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let next = if rest.starts_with('#') || rest.starts_with(MARK) {
            rest.split_once('\n').map_or("", |(_, next)| next)
        } else if let Some(next) = rest.strip_prefix(UNSAID) {
            next
        } else {
            return rest;
        };
        rest = next.trim_start();
    }
}

/// Returns a text in a line, without quotation marks and the mark of a list entry.
fn in_a_line(text: &str) -> String {
    let is_mark = |word: &&str| word.chars().all(|char| matches!(char, '>' | '-' | '*' | '#'));
    let words = text.split_whitespace().filter(|word| !is_mark(word));
    let words = words.map(|word| word.strip_prefix('\\').unwrap_or(word));
    // Alone it stands before a line that is indented.
    let words = words.filter(|word| !word.is_empty());
    let mut line = words.collect::<Vec<_>>().join(" ");
    if line.contains('&') {
        let entities =
            [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
        for (entity, character) in entities {
            line = line.replace(entity, character);
        }
    }
    line
}

#[cfg(test)]
#[path = "repeats_tests.rs"]
mod tests;
