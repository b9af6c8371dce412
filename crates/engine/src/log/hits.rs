//! The lines of a message that match a query.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;

use callstack_core::search::Query;

use crate::error::EngineError;
use crate::search::{role, texts};

/// Characters of a line that are shown.
const LINE: usize = 300;

/// The pattern to look for in each line.
pub(crate) struct Hits {
    /// As it was given, wherever that begins and ends.
    literal: Option<Query>,
    /// Its words.
    words: Option<Query>,
    /// Each of its words.
    each: Vec<Query>,
}

/// A message as lines, with those that match.
pub(crate) struct Found {
    text: String,
    /// The surroundings of the match in those of them that are long.
    snippets: BTreeMap<usize, String>,
    /// Their numbers, from 0.
    pub(crate) lines: Vec<usize>,
    /// The author of the message.
    pub(crate) role: Option<String>,
}

impl Hits {
    /// Looks for a string as it stands, else for all of its words in one line, else in one message.
    pub(crate) fn of(query: &str) -> Result<Self, EngineError> {
        let bare = query.trim().trim_matches('"');
        let (literal, words) = (Query::exact(bare), Query::words(query));
        if literal.is_none() && words.is_none() {
            return Err(EngineError::invalid(
                "there is nothing to search for",
                "Give words or a \"quoted string\", or leave the query out.",
            ));
        }
        let each = query.split_whitespace().filter_map(Query::words).collect();
        Ok(Self { literal, words, each })
    }

    /// The lines of a stored message that hold it; secrets are masked, and nothing in them is found.
    pub(crate) fn within(&self, json: &str) -> Found {
        let text = texts(json, true);
        let holding = |query: &Query| lines(&text, |line| query.find(line).is_some());
        let mut found = self.literal.as_ref().map(holding).unwrap_or_default();
        if let Some(words) = self.words.as_ref().filter(|_| found.is_empty()) {
            found = holding(words);
            if found.is_empty() && words.find(&text).is_some() {
                let any = |line: &str| self.each.iter().any(|word| word.find(line).is_some());
                found = lines(&text, any);
                // A quoted string may go over the end of a line.
                if found.is_empty() {
                    found.push(0);
                }
            }
        }
        let all: Vec<&str> = text.lines().collect();
        let mut seen = HashSet::new();
        found.retain(|at| seen.insert(place(&all, *at)));
        let role = if found.is_empty() { None } else { role(json) };
        let long =
            text.lines().enumerate().filter(|(at, line)| line.len() > LINE && found.contains(at));
        let snippets = long.filter_map(|(at, line)| Some((at, self.snippet(line)?))).collect();
        Found { snippets, text, lines: found, role }
    }

    /// Returns the surroundings of the first match in a line.
    fn snippet(&self, line: &str) -> Option<String> {
        let queries = self.literal.iter().chain(&self.words).chain(&self.each);
        queries.filter_map(|query| query.find(line)).map(|found| found.snippet).next()
    }
}

/// A line with its neighbours, without numbers and marks before them. Hosts keep copies of an output beside it: a
/// preview, a diff. A line with the same neighbours in a copy was found already.
fn place<'t>(lines: &[&'t str], at: usize) -> [&'t str; 3] {
    let bare = |at: Option<usize>| {
        let line = at.and_then(|at| lines.get(at)).copied().unwrap_or_default().trim();
        let numbered = line.trim_start_matches(|char: char| char.is_ascii_digit());
        let numbered =
            numbered.strip_prefix(['|', ':', '\t']).filter(|rest| rest.len() + 1 < line.len());
        numbered.unwrap_or(line).trim_start_matches(['+', '-']).trim()
    };
    [bare(at.checked_sub(1)), bare(Some(at)), bare(at.checked_add(1))]
}

fn lines(text: &str, holds: impl Fn(&str) -> bool) -> Vec<usize> {
    text.lines().enumerate().filter(|(_, line)| holds(line)).map(|(at, _)| at).collect()
}

impl Found {
    /// Returns the lines from `begin` on, each with `around` lines on both sides and its number, in about `most`
    /// bytes, and the line to continue with where that is not all.
    pub(crate) fn excerpt(
        &self,
        around: usize,
        begin: usize,
        most: usize,
    ) -> (String, Option<usize>) {
        let all: Vec<&str> = self.text.lines().collect();
        let mut out = String::new();
        let mut next = begin;
        for hit in self.lines.iter().filter(|hit| **hit >= begin) {
            if !out.is_empty() && out.len() >= most {
                return (out, Some(*hit));
            }
            let from = hit.saturating_sub(around).max(next);
            if from > next && !out.is_empty() {
                out.push_str("  \u{2026}\n");
            }
            let to = (hit + around + 1).min(all.len()).max(from);
            for (at, line) in all.iter().enumerate().take(to).skip(from) {
                let mark = if self.lines.contains(&at) { '>' } else { ' ' };
                // Writing to a string can't fail.
                let _ = match self.snippets.get(&at) {
                    Some(snippet) => writeln!(out, "{mark} {}: {snippet}", at + 1),
                    None => writeln!(out, "{mark} {}: {}", at + 1, short(line)),
                };
            }
            next = to;
        }
        (out, None)
    }
}

fn short(line: &str) -> String {
    if line.chars().count() <= LINE {
        return line.to_owned();
    }
    line.chars().take(LINE).chain(['\u{2026}']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn within(query: &str, text: &str) -> Found {
        let message = json!({"info": {"role": "user"}, "parts": [{"type": "text", "text": text}]});
        Hits::of(query).unwrap().within(&message.to_string())
    }

    #[test]
    fn a_string_is_found_as_it_stands_and_words_where_it_does_not() {
        let text = "def test_a():\n    pass\n\ndef best():\n    # a test of def\n";
        assert_eq!(within("def test_", text).lines, [0]);
        assert_eq!(within("est_a", text).lines, [0], "within a word");
        assert_eq!(within("test def", text).lines, [0, 4]);
        assert_eq!(within("pass best", text).lines, [1, 3], "no line holds both");
        assert_eq!(within("\"def best\"", text).lines, [3]);
        let long = format!("{} needle {}", "a ".repeat(400), "b ".repeat(400));
        let excerpt = within("needle", &long).excerpt(0, 0, 1_000).0;
        assert!(excerpt.contains(" needle ") && excerpt.len() < 300, "{excerpt}");
        assert_eq!(within("fest", text).lines, [0; 0]);
        assert!(Hits::of(" ").is_err());
    }

    #[test]
    fn a_copy_beside_the_output_is_not_found_again() {
        let output = "1: fn a() {\n2:     needle();\n3: }\n4: fn b() {\n5:     needle();\n6: }\n";
        let preview = "fn a() {\n    needle();\n}\nfn b() {\n";
        let state = json!({"output": output, "metadata": {"preview": preview}});
        let message =
            json!({"info": {"role": "assistant"}, "parts": [{"type": "tool", "state": state}]});
        let found = Hits::of("needle").unwrap().within(&message.to_string());
        let text: Vec<&str> = found.text.lines().collect();
        assert!(text.iter().filter(|line| line.contains("needle")).count() == 3, "{text:?}");
        let found: Vec<&str> = found.lines.iter().map(|at| text[*at]).collect();
        assert_eq!(found, ["2:     needle();", "5:     needle();"]);
    }

    #[test]
    fn lines_around_each_place_are_shown_once_and_the_rest_is_counted_on() {
        let line = |n: u32| format!("line {n}{}\n", if n.is_multiple_of(10) { " hit" } else { "" });
        let text = (1..=60).map(line).collect::<Vec<_>>().concat();
        let found = within("hit", &text);
        assert_eq!(found.lines, [9, 19, 29, 39, 49, 59]);
        let (excerpt, rest) = found.excerpt(1, 0, usize::MAX);
        assert!(
            excerpt.starts_with("  9: line 9\n> 10: line 10 hit\n  11: line 11\n  \u{2026}\n"),
            "{excerpt}"
        );
        assert_eq!((excerpt.matches("hit").count(), rest), (6, None));
        let (part, rest) = found.excerpt(1, 0, 60);
        assert_eq!((part.matches("hit").count(), rest), (2, Some(29)));
        let (last, rest) = found.excerpt(1, 29, usize::MAX);
        assert_eq!((last.matches("hit").count(), rest), (4, None));
    }
}
