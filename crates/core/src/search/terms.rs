//! The terms by which an index knows a text, and the clues that it has of every text that holds a string.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

use crate::text::{Segment, for_each_segment, is_joint, is_unspaced, parts};

/// Bytes of the longest term that is kept as it is.
const LONGEST_TERM: usize = 40;
/// The first characters of terms that are not words, with which no word begins: of pairs within one identifier or
/// path, of other pairs of neighbours, and of words that are not kept as they are.
const JOINED: char = '§';
const BESIDE: char = '¶';
const HASHED: char = '¤';
/// The term of a text in which something stands that is not kept as a word.
pub const ODD: &str = "§";

/// The index entries of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Whole words in ASCII lower case.
    pub words: HashSet<String>,
    /// Further entries: parts of identifiers, any other word by its hash, and pairs of neighbours. [`ODD`] is among
    /// them where not every word is kept as such.
    pub others: HashSet<String>,
}

/// The terms of a text.
pub fn terms(text: &str) -> Terms {
    let mut kept = Terms::default();
    let mut pairs: Vec<Pair> = Vec::new();
    let mut before: Option<Atom<'_>> = None;
    for_each_atom(text, |atom, is_joined| {
        if atom.is_unspaced {
            kept.odd();
        } else {
            kept.word(atom.whole);
        }
        if atom.is_unspaced || atom.parts.len() > 1 {
            kept.others.extend(atom.parts.iter().map(|part| term(part)));
        }
        pairs.extend(atom.inner_pairs());
        if let Some(before) = &before {
            pairs.extend(before.pairs_with(&atom, is_joined));
        }
        before = Some(atom);
    });
    pairs.sort_unstable();
    pairs.dedup();
    kept.others.extend(pairs.into_iter().map(Pair::term));
    kept
}

impl Terms {
    fn word(&mut self, word: &str) {
        if word.len() > LONGEST_TERM || !word.is_ascii() {
            self.odd();
            self.others.insert(term(word));
        } else if word.bytes().any(|byte| byte.is_ascii_uppercase()) {
            self.words.insert(word.to_ascii_lowercase());
        } else if !self.words.contains(word) {
            self.words.insert(word.to_owned());
        }
    }

    fn odd(&mut self) {
        if !self.others.contains(ODD) {
            self.others.insert(ODD.to_owned());
        }
    }

    /// All of them, a space between each two.
    pub fn joined(&self) -> String {
        let mut joined = String::with_capacity(8 * (self.words.len() + self.others.len()));
        for term in self.words.iter().chain(&self.others) {
            joined.push_str(term);
            joined.push(' ');
        }
        joined
    }
}

/// A segment of letters and digits.
struct Atom<'t> {
    whole: &'t str,
    /// None for words of one part only.
    parts: Vec<&'t str>,
    /// Whether a part of it is written without spaces between words: then it is no word.
    is_unspaced: bool,
}

impl<'t> Atom<'t> {
    fn first(&self) -> &'t str {
        self.parts.first().unwrap_or(&self.whole)
    }

    fn last(&self) -> &'t str {
        self.parts.last().unwrap_or(&self.whole)
    }

    /// The parts of it that stand beside each other.
    fn inner_pairs(&self) -> impl Iterator<Item = Pair> {
        let pairs = if self.is_unspaced { &[] } else { &self.parts[..] }.windows(2);
        pairs.map(|pair| Pair::of(pair[0], pair[1], true))
    }

    /// Returns the pairs with the next word: the whole words, and the parts that meet.
    fn pairs_with(&self, next: &Self, is_joined: bool) -> impl Iterator<Item = Pair> + use<> {
        let whole = Pair::of(self.whole, next.whole, is_joined);
        let has_parts = !self.parts.is_empty() || !next.parts.is_empty();
        let parts = has_parts.then(|| Pair::of(self.last(), next.first(), is_joined));
        std::iter::once(whole).chain(parts)
    }

    /// Returns the terms of every text in which it stands whole, as it is written.
    fn sure(&self) -> BTreeSet<String> {
        if self.is_unspaced {
            return self.parts.iter().map(|part| term(part)).collect();
        }
        BTreeSet::from([term(self.whole)])
    }

    /// Returns the clue of a text that holds it, perhaps as a part of more.
    fn cut(&self, place: LetterPosition) -> Option<Clue> {
        let is_pairs = || self.whole.chars().all(is_unspaced) && self.whole.chars().count() > 1;
        if self.whole.is_ascii() {
            Some(Clue::Letters(self.whole.to_ascii_lowercase(), place))
        } else {
            is_pairs().then(|| Clue::Terms(vec![self.sure()]))
        }
    }

    /// Returns the clue of a text that holds it as a whole word, in any case.
    fn clue(&self) -> Clue {
        let mut either = vec![self.sure()];
        if !self.is_unspaced && self.parts.len() > 1 {
            // It may be a part of a longer identifier.
            let parts = self.parts.iter().map(|part| term(part));
            either.push(parts.chain(self.inner_pairs().map(Pair::term)).collect());
        }
        Clue::Terms(either)
    }
}

/// Calls `seen` with the atoms of a text, and with whether each is joined to the one before.
fn for_each_atom<'t>(text: &'t str, mut seen: impl FnMut(Atom<'t>, bool)) {
    for_each_segment(text, |segment| match segment {
        Segment::Word(whole) => seen(Atom { whole, parts: Vec::new(), is_unspaced: false }, false),
        Segment::Joined(segment) => {
            let atoms = segment.split(is_joint).filter(|atom| !atom.is_empty());
            for (at, whole) in atoms.enumerate() {
                let is_unspaced = !whole.is_ascii() && whole.contains(is_unspaced);
                let parts: Vec<_> = parts(whole).collect();
                let has_parts = is_unspaced || parts.len() > 1;
                let parts = if has_parts { parts } else { Vec::new() };
                seen(Atom { whole, parts, is_unspaced }, at > 0);
            }
        }
    });
}

fn term(word: &str) -> String {
    if word.len() <= LONGEST_TERM && word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let word = word.to_lowercase();
    if word.len() <= LONGEST_TERM && word.is_ascii() {
        return word;
    }
    format!("{HASHED}{:016x}", hash(word.bytes()))
}

/// Whether a term is a word or a part of one as it is written, in small letters.
pub fn is_word(term: &str) -> bool {
    term.starts_with(|char: char| char.is_ascii())
}

/// A pair of neighbours, by few of the bits of a hash: a term that many pairs share takes less space than one each,
/// and a match is checked on the text anyway.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    is_joined: bool,
    hash: u64,
}

impl Pair {
    const JOINED_BITS: u32 = 20;
    /// There are more of them, and a search seldom has only one.
    const BESIDE_BITS: u32 = 16;

    fn of(first: &str, second: &str, is_joined: bool) -> Self {
        let bits = if is_joined { Self::JOINED_BITS } else { Self::BESIDE_BITS };
        let hash = if first.is_ascii() && second.is_ascii() {
            let bytes = first.bytes().chain([0]).chain(second.bytes());
            hash(bytes.map(|byte| byte.to_ascii_lowercase()))
        } else {
            let (first, second) = (first.to_lowercase(), second.to_lowercase());
            hash(first.bytes().chain([0]).chain(second.bytes()))
        };
        Self { is_joined, hash: (hash ^ (hash >> 32)) & ((1 << bits) - 1) }
    }

    fn term(self) -> String {
        let mark = if self.is_joined { JOINED } else { BESIDE };
        format!("{mark}{:x}", self.hash)
    }
}

/// FNV-1a: an index outlives the program that made it, so the hash must never change.
pub fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Clues that an index has of every text that holds something: all of them are true of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The clues.
    pub clues: Vec<Clue>,
}

/// One thing that an index knows of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clue {
    /// All terms of at least one of these sets.
    Terms(Vec<BTreeSet<String>>),
    /// It has a word that is kept as such and has these letters at some place, or it has the term [`ODD`].
    Letters(String, LetterPosition),
}

/// Where letters stand in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterPosition {
    /// It begins with them.
    Begin,
    /// Anywhere.
    Inside,
    /// It ends with them.
    End,
}

impl Known {
    /// Nothing is known.
    pub fn is_empty(&self) -> bool {
        self.clues.is_empty()
    }

    /// Returns the clues of a text that holds a string whose words are whole words or parts of identifiers there,
    /// too, in any case.
    pub(super) fn of_words(text: &str) -> Self {
        let mut clues = Clues::default();
        let mut before: Option<Atom<'_>> = None;
        for_each_atom(text, |atom, is_joined| {
            clues.words.push((atom.whole.len(), atom.clue()));
            if let Some(before) = &before {
                let pairs = before.pairs_with(&atom, is_joined).map(Pair::term);
                let either = pairs.map(|pair| BTreeSet::from([pair])).collect();
                clues.pairs.push((is_joined, Clue::Terms(either)));
            }
            before = Some(atom);
        });
        clues.best()
    }

    /// Returns the clues of a text that holds a string, wherever in words that begins and ends: the words between its
    /// first and its last one are whole there.
    pub(super) fn of_string(text: &str) -> Self {
        let mut clues = Clues::default();
        let (begin, end) = (text.as_ptr() as usize, text.as_ptr() as usize + text.len());
        let mut before: Option<Atom<'_>> = None;
        for_each_atom(text, |atom, is_joined| {
            let at = atom.whole.as_ptr() as usize;
            let place = match (at == begin, at + atom.whole.len() == end) {
                (true, true) => LetterPosition::Inside,
                (true, false) => LetterPosition::End,
                (false, true) => LetterPosition::Begin,
                (false, false) => {
                    clues.words.push((atom.whole.len(), Clue::Terms(vec![atom.sure()])));
                    if let Some(before) = &before {
                        let pair = Pair::of(before.whole, atom.whole, is_joined).term();
                        let pair = Clue::Terms(vec![BTreeSet::from([pair])]);
                        clues.pairs.push((is_joined, pair));
                    }
                    before = Some(atom);
                    return;
                }
            };
            clues.cut.extend(atom.cut(place));
        });
        clues.best()
    }

    /// All that is known by this and by the other.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.clues.extend(other.clues);
        self
    }
}

/// All that is known of a text.
#[derive(Default)]
struct Clues {
    /// With how long each is: longer ones are mostly rarer.
    words: Vec<(usize, Clue)>,
    /// Each with whether its parts are joined, which is more specific.
    pairs: Vec<(bool, Clue)>,
    cut: Vec<Clue>,
}

impl Clues {
    /// The most words, and the most pairs, in a question to the index: each makes it slower, and a few are specific
    /// enough.
    const WORDS: usize = 2;
    const PAIRS: usize = 5;

    fn best(mut self) -> Known {
        self.words.sort_by_key(|(length, _)| Reverse(*length));
        self.pairs.sort_by_key(|(is_joined, _)| Reverse(*is_joined));
        let mut clues: Vec<Clue> = Vec::new();
        let words = self.words.into_iter().map(|(_, clue)| clue);
        let pairs = self.pairs.into_iter().map(|(_, clue)| clue);
        for clue in pairs.take(Self::PAIRS).chain(words.take(Self::WORDS)).chain(self.cut) {
            if !clues.contains(&clue) {
                clues.push(clue);
            }
        }
        Known { clues }
    }
}
