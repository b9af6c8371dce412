//! The significant words of a text, for telling whether two frames are about the same thing.

use super::cap;

/// How many keywords a text has at most.
pub const MAX_KEYWORDS: usize = 64;

/// How many bytes of a text are looked at; what it is about stands at its start.
const SCANNED_BYTES: usize = 16 * 1024;

/// Longer "words" are blobs.
const MAX_WORD_BYTES: usize = 80;

/// The significant words of `text`, lower-cased, in order of first appearance, each once, at most
/// [`MAX_KEYWORDS`]. Identifiers and paths count whole and in their parts; stop words do not count;
/// of writing without spaces every two neighbouring characters count as a word.
pub fn extract_keywords(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for_each_keyword(cap(text, SCANNED_BYTES), |word| {
        if words.len() < MAX_KEYWORDS && !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    });
    words
}

/// Shows `seen` every keyword of `text` as often as it stands there, all of `text`.
pub(crate) fn for_each_keyword(text: &str, mut seen: impl FnMut(&str)) {
    let mut lower = String::new();
    let mut emit = |word: &str| {
        if word.len() > MAX_WORD_BYTES {
            return;
        }
        lower.clear();
        if word.is_ascii() {
            lower.push_str(word);
            lower.make_ascii_lowercase();
        } else {
            lower.extend(word.chars().flat_map(char::to_lowercase));
        }
        if is_significant(&lower) {
            seen(&lower);
        }
    };
    for word in text.split(|char: char| !(char.is_alphanumeric() || is_joint(char))) {
        let word = word.trim_matches(is_joint);
        if word.is_empty() {
            continue;
        }
        let mut parts = Parts { rest: word };
        match parts.next() {
            Some(part) if part.len() == word.len() => emit(word),
            Some(part) => {
                if !word.starts_with(is_unspaced) {
                    emit(word);
                }
                emit(part);
                parts.for_each(&mut emit);
            }
            None => {}
        }
    }
}

/// A word's identity for comparing: a plural is the same word.
pub(crate) fn stem_hash(word: &str) -> u64 {
    let stem = match word.strip_suffix('s') {
        Some(stem) if stem.len() >= 3 && !stem.ends_with(['s', 'u', 'i']) => stem,
        _ => word,
    };
    stem.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Marks that hold the parts of identifiers and paths together.
fn is_joint(char: char) -> bool {
    matches!(char, '_' | '-' | '.' | '/' | '\\' | ':' | '@')
}

/// Scripts that are written without spaces between words.
fn is_unspaced(char: char) -> bool {
    matches!(u32::from(char), 0x0e00..=0x0eff | 0x3040..=0x30ff | 0x3400..=0x9fff | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff)
}

/// The parts of `src/getUserName.rs`: `src`, `get`, `User`, `Name`, `rs`; of unspaced writing, pairs.
struct Parts<'a> {
    rest: &'a str,
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
    /// Where the first pair of unspaced characters ends, and where the next one starts.
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

    /// Where the first part ends: at a joint, before a capital behind a small letter, or before the
    /// last of several capitals that small letters follow.
    fn humps(&self) -> (usize, usize) {
        let mut before = None;
        let mut chars = self.rest.char_indices().peekable();
        while let Some((at, char)) = chars.next() {
            if is_joint(char) || is_unspaced(char) {
                return (at, at);
            }
            if char.is_uppercase()
                && let Some(before) = before
            {
                let small_follows = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
                if char::is_lowercase(before) || (char::is_uppercase(before) && small_follows) {
                    return (at, at);
                }
            }
            before = Some(char);
        }
        (self.rest.len(), self.rest.len())
    }
}

fn is_significant(word: &str) -> bool {
    if !word.is_ascii() {
        return true;
    }
    word.len() >= 2 && word.len() <= MAX_WORD_BYTES && STOP_WORDS.binary_search(&word).is_err()
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
