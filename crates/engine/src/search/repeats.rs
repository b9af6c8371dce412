//! Places that only repeat a better one.

use std::ops::Range;

use super::{PlaceKind, SearchHit};

/// The places that are shown, the best first, with the texts in which they were found.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) places: Vec<SearchHit>,
    texts: Vec<String>,
}

impl Kept {
    pub(super) fn keep(&mut self, place: SearchHit, text: String) {
        self.places.push(place);
        self.texts.push(text);
    }

    /// Whether a kept place contains another one: all of its matching lines are in texts or evidence of a frame (as
    /// those of the message with the call that popped the frame are), or are evidence that a message shows unchanged.
    /// A frame's own texts are never left out, and of two messages neither is.
    pub(super) fn say(&self, place: &SearchHit, text: &str, range: &Range<usize>) -> bool {
        let lines = lines_of(text, range);
        self.places.iter().zip(&self.texts).any(|(kept, said)| {
            let may_repeat = match place.kind {
                PlaceKind::Frame => false,
                PlaceKind::Evidence => true,
                PlaceKind::Message => kept.kind != PlaceKind::Message,
            };
            may_repeat && lines.iter().all(|line| said.contains(line))
        })
    }
}

/// The lines that a part of a text lies in, without the blanks around them.
fn lines_of<'t>(text: &'t str, range: &Range<usize>) -> Vec<&'t str> {
    let start = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
    text[start..end].lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}
