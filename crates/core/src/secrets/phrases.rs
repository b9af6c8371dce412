//! Seed phrases of wallets: a dozen or more words in a row from the list of BIP 39. The words of a sentence are
//! seldom all in it, since it lacks the commonest ones.

use std::collections::BTreeSet;
use std::ops::Range;

use bip39::Language;

pub(super) const NAME: &str = "seed phrase";

/// The fewest words of a phrase. A much longer one is a list of words.
const LEAST: usize = 12;
const MOST: usize = 30;
/// The fewest different words among them.
const DIFFERENT: usize = 8;
/// Words of the list that half of all sentences have, and the number of them that makes a sentence.
const COMMON: [&str; 32] = [
    "about", "above", "after", "again", "all", "also", "any", "because", "before", "can", "good",
    "have", "into", "just", "like", "more", "must", "need", "only", "same", "such", "than", "that",
    "then", "there", "they", "this", "use", "what", "when", "will", "you",
];
const PROSE: usize = 4;
/// Letters of a word in the list.
const SHORTEST: usize = 3;
const LONGEST: usize = 8;
/// Bytes of the shortest phrase.
const ROW: usize = LEAST * (SHORTEST + 1) - 1;

fn is_in_list(word: &str) -> bool {
    (SHORTEST..=LONGEST).contains(&word.len()) && Language::English.find_word(word).is_some()
}

fn in_row(byte: u8) -> bool {
    byte.is_ascii_lowercase() || matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// Returns the places of seed phrases in a text.
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at + ROW - 1) {
        let probe = at + ROW - 1;
        if !in_row(*byte) {
            at = probe + 1;
            continue;
        }
        let before = bytes.get(at..probe).unwrap_or_default();
        let start = probe - before.iter().rev().take_while(|byte| in_row(**byte)).count();
        let after = bytes.get(probe..).unwrap_or_default();
        let end = probe + after.iter().take_while(|byte| in_row(**byte)).count();
        at = end + 1;
        if end - start >= ROW {
            phrases(text, start..end, &mut found);
        }
    }
    found
}

/// Phrases among words with nothing but space between them.
fn phrases(text: &str, row: Range<usize>, found: &mut Vec<Range<usize>>) {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut take = |words: &mut Vec<Range<usize>>| {
        if let (LEAST..=MOST, Some(first), Some(last)) = (words.len(), words.first(), words.last())
        {
            let spelled = words.iter().filter_map(|word| text.get(word.clone()));
            // A list of words is in order, and a sentence that fills a page has few of them.
            let is_list = spelled.clone().is_sorted_by(|one, next| one < next);
            let is_prose = spelled.clone().filter(|it| COMMON.contains(it)).count() >= PROSE;
            if !is_list && !is_prose && spelled.collect::<BTreeSet<_>>().len() >= DIFFERENT {
                found.push(first.start..last.end);
            }
        }
        words.clear();
    };
    let mut at = row.start;
    let letters = text.get(row).unwrap_or_default();
    for word in letters.split([' ', '\n', '\r', '\t']) {
        if is_in_list(word) {
            words.push(at..at + word.len());
        } else if !word.is_empty() {
            take(&mut words);
        }
        at += word.len() + 1;
    }
    take(&mut words);
}
