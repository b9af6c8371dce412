//! Search: the terms by which an index knows a text, the query of a person, and the places of matches in a text.
//!
//! The index only narrows down: [`Query::find`] decides on the text itself whether it matches.

mod pattern;
mod terms;

use std::ops::Range;

use self::pattern::{Pattern, Text};

pub use self::terms::{Clue, Known, LetterPosition, ODD, Terms, hash, is_word, terms};

/// Bytes of a snippet.
const SNIPPET: usize = 200;
/// The most places of one word that are read; a text with more is about the word in any case.
const PLACES: usize = 64;

/// A search query.
#[derive(Clone, Debug)]
pub struct Query {
    wanted: Vec<Wanted>,
    exact: bool,
}

#[derive(Clone, Debug)]
struct Wanted {
    pattern: Pattern,
    text: String,
    /// A word counts only where it begins and ends; a quoted or exact string anywhere.
    is_word: bool,
}

/// The place of a match in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// The quality of the match: the more places and the closer together, the higher. Never negative.
    pub score: f64,
    /// The stretch of the text that holds most of it, in one line.
    pub snippet: String,
    /// The places of the query in the snippet; byte offsets.
    pub marks: Vec<Range<usize>>,
    /// The part of the text from the first of these places to the end of the last; byte offsets.
    pub range: Range<usize>,
}

impl Query {
    /// Words, all of which have to be there in any order and case, and `"quoted strings"` that are
    /// taken literally. None when nothing is left to look for.
    pub fn words(text: &str) -> Option<Self> {
        let mut wanted = Vec::new();
        for (at, stretch) in text.split('"').enumerate() {
            if at % 2 == 1 {
                wanted.extend(Wanted::literal(stretch));
            } else {
                wanted.extend(stretch.split_whitespace().filter_map(Wanted::word));
            }
        }
        Self::of(wanted, false)
    }

    /// A string as it stands, in its case. None when it is empty.
    pub fn exact(text: &str) -> Option<Self> {
        Self::of(Wanted::literal(text).into_iter().collect(), true)
    }

    fn of(wanted: Vec<Wanted>, exact: bool) -> Option<Self> {
        (!wanted.is_empty()).then_some(Self { wanted, exact })
    }

    /// Returns the clues that an index has of every text that holds all of it, unless a string begins or ends within
    /// a word or a part of one.
    pub fn known(&self) -> Known {
        let known = self.wanted.iter().map(|wanted| Known::of_words(&wanted.text));
        known.fold(Known::default(), Known::and)
    }

    /// Returns the clues that an index has of every text that holds an exact string, wherever in words that begins
    /// and ends. None where nothing can begin or end within a word, so that [`Self::known`] is complete.
    pub fn known_anywhere(&self) -> Option<Known> {
        let [wanted] = &self.wanted[..] else { return None };
        let is_open = wanted.text.starts_with(char::is_alphanumeric)
            || wanted.text.ends_with(char::is_alphanumeric);
        (self.exact && is_open).then(|| Known::of_string(&wanted.text))
    }

    /// Where a text holds all of it.
    pub fn find(&self, text: &str) -> Option<Match> {
        let text = Text::new(text);
        let mut places = Vec::new();
        let mut amount = 0.0;
        for (which, wanted) in self.wanted.iter().enumerate() {
            let found = wanted.places(&text);
            if found.is_empty() {
                return None;
            }
            #[expect(clippy::cast_precision_loss, reason = "there are few places")]
            let count = found.len() as f64;
            amount += 1.0 + count.ln();
            places.extend(found.into_iter().map(|range| (range, which)));
        }
        places.sort_by_key(|(range, _)| (range.start, range.end));
        let (window, closeness) = self.densest(&places);
        let (snippet, marks) = snippet(text.written(), window, &places);
        let start = window.first().map_or(0, |(range, _)| range.start);
        let end = window.iter().map(|(range, _)| range.end).max().unwrap_or(start);
        Some(Match { score: amount * (1.0 + closeness), snippet, marks, range: start..end })
    }

    /// Returns the places that fit together in one snippet and match most of the query, and the share of it that they
    /// match, from 0 to 1.
    fn densest<'p>(
        &self,
        places: &'p [(Range<usize>, usize)],
    ) -> (&'p [(Range<usize>, usize)], f64) {
        let mut best: (&[_], usize) = (&places[..1.min(places.len())], 0);
        // The occurrences of each in the window, which only moves forward.
        let mut counts = vec![0_usize; self.wanted.len()];
        let (mut end, mut kinds) = (0, 0);
        for (start, (first, leaving)) in places.iter().enumerate() {
            let is_within =
                |at: usize, range: &Range<usize>| at == start || range.end <= first.start + SNIPPET;
            while let Some((_, which)) = places.get(end).filter(|it| is_within(end, &it.0)) {
                counts[*which] += 1;
                kinds += usize::from(counts[*which] == 1);
                end += 1;
            }
            if kinds > best.1 {
                best = (&places[start..end], kinds);
            }
            counts[*leaving] -= 1;
            kinds -= usize::from(counts[*leaving] == 0);
        }
        #[expect(clippy::cast_precision_loss, reason = "there are few words in a query")]
        let share = best.1 as f64 / self.wanted.len() as f64;
        (best.0, share)
    }
}

impl Wanted {
    fn word(word: &str) -> Option<Self> {
        let bare = word.trim_matches(|char: char| !char.is_alphanumeric());
        if bare.is_empty() && !word.is_ascii() {
            return Self::literal(word);
        }
        (!bare.is_empty()).then(|| Self {
            pattern: Pattern::in_any_case(bare),
            text: bare.to_owned(),
            is_word: true,
        })
    }

    fn literal(text: &str) -> Option<Self> {
        (!text.trim().is_empty()).then(|| Self {
            pattern: Pattern::as_written(text),
            text: text.to_owned(),
            is_word: false,
        })
    }

    fn places(&self, text: &Text<'_>) -> Vec<Range<usize>> {
        self.pattern
            .places(text)
            .filter(|range| !self.is_word || is_whole(text.written(), range))
            .take(PLACES)
            .collect()
    }
}

/// Whether a word or a part of an identifier begins and ends here.
fn is_whole(text: &str, range: &Range<usize>) -> bool {
    let begins = edge(text[..range.start].chars().next_back(), text[range.start..].chars().next());
    let ends = edge(text[..range.end].chars().next_back(), text[range.end..].chars().next());
    begins && ends
}

fn edge(before: Option<char>, after: Option<char>) -> bool {
    match (before, after) {
        (Some(before), Some(after)) => {
            !before.is_alphanumeric()
                || !after.is_alphanumeric()
                || (before.is_lowercase() && after.is_uppercase())
                || !(before.is_ascii() && after.is_ascii())
                || before.is_ascii_digit() != after.is_ascii_digit()
        }
        _ => true,
    }
}

/// The text around some places, in one line, and where the places are in it.
fn snippet(
    text: &str,
    window: &[(Range<usize>, usize)],
    places: &[(Range<usize>, usize)],
) -> (String, Vec<Range<usize>>) {
    let Some(((first, _), (last, _))) = window.first().zip(window.last()) else {
        return (String::new(), Vec::new());
    };
    let spare = SNIPPET.saturating_sub(last.end.saturating_sub(first.start)) / 2;
    let from = text.floor_char_boundary(first.start.saturating_sub(spare));
    let to = text.ceil_char_boundary((last.end + spare).min(from + 2 * SNIPPET).max(first.end));
    let to = to.min(text.len());
    let mut line = String::with_capacity(to - from + 8);
    let mut marks: Vec<Range<usize>> = Vec::new();
    if from > 0 {
        line.push('…');
    }
    let mut inside = places.iter().filter(|(range, _)| range.start >= from && range.end <= to);
    let mut next = inside.next();
    for (at, char) in text[from..to].char_indices() {
        let at = from + at;
        while let Some((range, _)) = next {
            if at < range.end {
                break;
            }
            close(&mut marks, line.len());
            next = inside.next();
        }
        if next.is_some_and(|(range, _)| range.start == at) {
            marks.push(line.len()..usize::MAX);
        }
        line.push(if char.is_whitespace() { ' ' } else { char });
    }
    close(&mut marks, line.len());
    let end = marks.last().map_or(0, |mark| mark.end);
    line.truncate(line.trim_end().len().max(end));
    if to < text.trim_end().len() {
        line.push('…');
    }
    (line, marks)
}

fn close(marks: &mut [Range<usize>], at: usize) {
    if let Some(open) = marks.last_mut().filter(|mark| mark.end == usize::MAX) {
        open.end = at;
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
