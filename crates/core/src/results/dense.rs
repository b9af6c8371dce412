//! A dense version of results that nobody condensed: the first sentence, which states the outcome, and of the others
//! those with the most names in the fewest words.

use std::collections::BTreeSet;

use crate::evidence::terms::scan;
use crate::secrets::mask;
use crate::text::{CUT, estimate_tokens, truncate_to_token_budget};

/// Estimated tokens of dense results.
pub const DENSE_TOKENS: usize = 60;

/// Sentences that are read.
const SENTENCES: usize = 200;
/// Estimated tokens between two sentences.
const JOINT: usize = 1;

/// Returns `text` in at most [`DENSE_TOKENS`] estimated tokens: whole where it is that short. Words are never
/// changed; omissions are marked. The same text gives the same result.
pub fn dense(text: &str) -> String {
    let text = text.trim();
    if estimate_tokens(text) <= DENSE_TOKENS {
        return text.to_owned();
    }
    // A sentence alone no longer shows that it contains a secret.
    let text = &mask(text);
    let sentences = sentences(text);
    let Some(first) = sentences.first() else { return String::new() };
    let Some(mut room) = DENSE_TOKENS.checked_sub(estimate_tokens(first) + JOINT) else {
        return truncate_to_token_budget(first, DENSE_TOKENS, CUT).into_owned();
    };
    let mut named = terms(first);
    let mut kept = BTreeSet::from([0]);
    let mut others: Vec<_> = sentences
        .iter()
        .enumerate()
        .skip(1)
        .map(|(at, text)| (at, estimate_tokens(text) + 2 * JOINT, terms(text)))
        .collect();
    loop {
        others.retain(|(_, cost, _)| *cost <= room);
        // Of equal ones the earlier: it was said first.
        let best = others.iter().enumerate().rev().max_by(|(_, (_, a, x)), (_, (_, b, y))| {
            (x.difference(&named).count() * b).cmp(&(y.difference(&named).count() * a))
        });
        let Some((place, _)) = best else { break };
        let (at, cost, terms) = others.remove(place);
        room -= cost;
        kept.insert(at);
        named.extend(terms);
    }
    let mut out = String::new();
    let mut next = 0;
    for at in kept {
        if !out.is_empty() {
            out.push_str(if at == next { " " } else { " … " });
        }
        out.push_str(sentences.get(at).map_or("", String::as_str));
        next = at + 1;
    }
    if next < sentences.len() {
        out.push_str(CUT);
    }
    truncate_to_token_budget(&out, DENSE_TOKENS, CUT).into_owned()
}

/// Returns the sentences of a text, a line being at least one, without the marks of list entries. Headings are left
/// out.
fn sentences(text: &str) -> Vec<String> {
    let is_heading = |line: &&str| line.trim_start().starts_with('#');
    let bare = text.lines().all(|line| is_heading(&line) || line.trim().is_empty());
    let lines = text.lines().filter(|line| bare || !is_heading(line));
    let lines = lines.map(|line| line.trim().trim_start_matches(['#', '-', '*', '>', ' ']));
    let sentences = lines.flat_map(crate::text::sentences);
    let words = |it: &str| it.split_whitespace().collect::<Vec<_>>().join(" ");
    sentences.map(words).filter(|it| !it.is_empty()).take(SENTENCES).collect()
}

/// Returns the names in a sentence: paths, identifiers, numbers, addresses, and text in backticks.
fn terms(sentence: &str) -> BTreeSet<String> {
    let mut terms = BTreeSet::new();
    scan(sentence, "", |_, term| {
        terms.insert(term.into_owned());
    });
    let quoted = sentence.split('`').skip(1).step_by(2).filter(|quoted| !quoted.trim().is_empty());
    terms.extend(quoted.map(str::to_owned));
    terms
}
