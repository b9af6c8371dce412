//! The significant words of a text, which show whether two frames are about the same thing.

use super::cap;

/// The most keywords of a text.
pub const MAX_KEYWORDS: usize = 64;

/// The bytes of a text that are read; its subject is at the start.
const SCANNED_BYTES: usize = 16 * 1024;

/// Longer "words" are blobs.
const MAX_WORD_BYTES: usize = 80;

/// The significant words of `text`, lower-cased, in order of first appearance, each once, at most
/// [`MAX_KEYWORDS`]. Identifiers and paths count whole and in their parts; stop words do not count;
/// of writing without spaces every two neighbouring characters count as a word.
pub fn extract_keywords(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for_each_word(cap(text, SCANNED_BYTES), |word| {
        if words.len() < MAX_KEYWORDS {
            let word = word.to_lowercase();
            if is_significant(&word) && !words.contains(&word) {
                words.push(word);
            }
        }
    });
    words
}

/// Calls `seen` with every word and every part of one in `text`, as written and as often as it occurs, stop words
/// included.
pub(crate) fn for_each_word(text: &str, mut seen: impl FnMut(&str)) {
    for_each_segment(text, |segment| match segment {
        Segment::Word(word) => seen(word),
        Segment::Joined(segment) => words_of(segment, &mut seen),
    });
}

/// A segment of letters, digits and marks that hold them together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Segment<'t> {
    /// One word without parts.
    Word(&'t str),
    /// A possible identifier or path.
    Joined(&'t str),
}

/// Shows `seen` every segment of `text` in order.
pub(crate) fn for_each_segment<'t>(text: &'t str, mut seen: impl FnMut(Segment<'t>)) {
    let bytes = text.as_bytes();
    let class =
        |at: usize| bytes.get(at).map_or(Class::Outside, |byte| CLASSES[usize::from(*byte)]);
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        at += 1;
        if class(start) == Class::Outside {
            continue;
        }
        while class(at) == Class::Small {
            at += 1;
        }
        let has_ended = match class(at) {
            Class::Outside => true,
            Class::Joint => class(at + 1) == Class::Outside,
            _ => false,
        };
        if has_ended && matches!(class(start), Class::Small | Class::Capital) {
            seen(Segment::Word(text.get(start..at).unwrap_or_default()));
            continue;
        }
        while class(at) != Class::Outside {
            at += 1;
        }
        // All that is outside is ASCII, so the segment starts and ends between characters.
        let segment = text.get(start..at).unwrap_or_default();
        if segment.is_ascii() {
            seen(Segment::Joined(segment));
        } else {
            segment
                .split(|char: char| !(char.is_alphanumeric() || is_joint(char)))
                .for_each(|word| seen(Segment::Joined(word)));
        }
    }
}

/// The role of a byte between words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Outside,
    /// A small letter or a digit.
    Small,
    Capital,
    Joint,
    /// Part of a character beyond ASCII.
    Wide,
}

static CLASSES: [Class; 256] = {
    let mut classes = [Class::Wide; 256];
    let mut byte: u8 = 0;
    while byte < 0x80 {
        classes[byte as usize] = match byte {
            b'a'..=b'z' | b'0'..=b'9' => Class::Small,
            b'A'..=b'Z' => Class::Capital,
            _ if is_joint(byte as char) => Class::Joint,
            _ => Class::Outside,
        };
        byte += 1;
    }
    classes
};

fn words_of(word: &str, seen: &mut impl FnMut(&str)) {
    let word = word.trim_matches(is_joint);
    let mut parts = Parts::of(word);
    let Some(first) = parts.next() else { return };
    if first.len() < word.len() && !word.starts_with(is_unspaced) {
        seen(word);
    }
    seen(first);
    parts.for_each(seen);
}

/// The parts of an identifier or a path.
pub(crate) fn parts(word: &str) -> impl Iterator<Item = &str> {
    Parts::of(word)
}

/// A word's identity for comparing: case makes no difference, and a plural is the same word.
pub(crate) fn stem_hash(word: &str) -> u64 {
    let stem = match word.strip_suffix(['s', 'S']) {
        Some(stem) if stem.len() >= 3 && !stem.ends_with(['s', 'u', 'i', 'S', 'U', 'I']) => stem,
        _ => word,
    };
    if stem.is_ascii() { hash_of(stem) } else { hash_of(&stem.to_lowercase()) }
}

/// In ASCII letters and digits, the bit that is set here in every byte makes capitals small.
fn hash_of(word: &str) -> u64 {
    word.as_bytes().chunks(8).fold(0, |hash: u64, chunk| {
        let word = chunk.iter().fold(0, |word, byte| (word << 8) | u64::from(byte | 0x20));
        let mixed = (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 29)
    })
}

/// Marks that hold the parts of identifiers and paths together.
pub(crate) const fn is_joint(char: char) -> bool {
    matches!(char, '_' | '-' | '.' | '/' | '\\' | ':' | '@')
}

/// Scripts that are written without spaces between words.
pub(crate) fn is_unspaced(char: char) -> bool {
    matches!(u32::from(char), 0x0e00..=0x0eff | 0x3040..=0x30ff | 0x3400..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff)
}

/// The parts of `src/getUserName.rs`: `src`, `get`, `User`, `Name`, `rs`; of unspaced writing, pairs.
struct Parts<'a> {
    rest: &'a str,
    /// Whether all of it is ASCII, found once: a look at the rest for each part would take quadratic time.
    is_ascii: bool,
}

impl<'a> Parts<'a> {
    fn of(word: &'a str) -> Self {
        Self { rest: word, is_ascii: word.is_ascii() }
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.rest = self.rest.trim_start_matches(is_joint);
        let first = self.rest.chars().next()?;
        let (end, next) = if is_unspaced(first) { self.pair() } else { self.humps() };
        let part = self.rest.get(..end);
        self.rest = self.rest.get(next..).unwrap_or_default();
        part
    }
}

impl Parts<'_> {
    /// Returns the end of the first pair of unspaced characters, and the beginning of the next one.
    fn pair(&self) -> (usize, usize) {
        let mut ends = self.rest.char_indices().map(|(at, char)| (at + char.len_utf8(), char));
        let first_end = ends.next().map_or(0, |(end, _)| end);
        match ends.next() {
            Some((end, char)) if is_unspaced(char) => {
                let last = !ends.next().is_some_and(|(_, char)| is_unspaced(char));
                (end, if last { end } else { first_end })
            }
            _ => (first_end, first_end),
        }
    }

    /// Returns where the first part ends: at a joint, before a capital after a small letter, or before the last of
    /// several capitals that small letters follow.
    fn humps(&self) -> (usize, usize) {
        let end = if self.is_ascii {
            let class = |byte: u8| CLASSES.get(usize::from(byte)).copied();
            hump_end(self.rest.bytes().map(|byte| class(byte).unwrap_or(Class::Wide)).enumerate())
        } else {
            hump_end(self.rest.char_indices().map(|(at, char)| (at, class_of(char))))
        };
        let end = end.unwrap_or(self.rest.len());
        (end, end)
    }
}

fn hump_end(classes: impl Iterator<Item = (usize, Class)>) -> Option<usize> {
    let mut classes = classes.peekable();
    let mut before = Class::Outside;
    while let Some((at, class)) = classes.next() {
        match (class, before) {
            (Class::Joint | Class::Outside, _) | (Class::Capital, Class::Small) => return Some(at),
            (Class::Capital, Class::Capital)
                if classes.peek().is_some_and(|(_, next)| *next == Class::Small) =>
            {
                return Some(at);
            }
            _ => before = class,
        }
    }
    None
}

/// Unspaced writing is no part of a word with humps.
fn class_of(char: char) -> Class {
    match char {
        _ if is_joint(char) => Class::Joint,
        _ if is_unspaced(char) => Class::Outside,
        _ if char.is_uppercase() => Class::Capital,
        _ if char.is_lowercase() || char.is_ascii_digit() => Class::Small,
        _ => Class::Wide,
    }
}

fn is_significant(word: &str) -> bool {
    let is_empty = word.len() < 2 || STOP_WORDS.binary_search(&word).is_ok();
    !is_empty && word.len() <= MAX_WORD_BYTES
}

/// Words that say nothing about a frame's subject; sorted.
const STOP_WORDS: &[&str] = &[
    "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at",
    "be", "because", "been", "before", "being", "below", "between", "both", "but", "by", "can",
    "could", "did", "do", "does", "doing", "done", "down", "during", "e.g", "each", "etc", "even",
    "every", "few", "for", "from", "further", "get", "gets", "had", "has", "have", "having", "he",
    "her", "here", "him", "his", "how", "i.e", "if", "in", "into", "is", "it", "its", "just",
    "let", "like", "made", "make", "makes", "may", "me", "might", "more", "most", "must", "my",
    "need", "needs", "new", "no", "nor", "not", "now", "of", "off", "ok", "on", "once", "one",
    "only", "or", "other", "our", "out", "over", "own", "per", "please", "same", "shall", "she",
    "should", "so", "some", "still", "such", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "through", "to", "too", "under", "until", "up",
    "us", "use", "used", "uses", "using", "very", "via", "was", "we", "well", "were", "what",
    "when", "where", "which", "while", "who", "why", "will", "with", "within", "without", "would",
    "yet", "you", "your",
];

#[cfg(test)]
#[path = "keywords_tests.rs"]
mod tests;
