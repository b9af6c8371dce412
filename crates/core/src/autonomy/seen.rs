//! One message as the heuristics read it: computed when it is first seen, since a frame's beginning may move, and
//! then everything after it is read again.

use crate::evidence::Action;
use crate::text::{extract_keywords, first_words, stem_hash};
use crate::transcript::ToolCall;

/// The most keywords of a message that count.
const KEYWORDS: usize = 24;
/// Words of a request by which it is named.
const TOPIC: usize = 5;

/// The data of a message that the heuristics need.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Estimated tokens.
    pub(super) tokens: u32,
    /// Hashes of the keywords: of a user's request its words, of a step its files and commands.
    pub(super) keywords: Box<[u64]>,
    /// Of a user's request, its first words; none for a step.
    pub(super) request: Option<Box<str>>,
}

impl Seen {
    /// Reads a message of the user.
    pub fn request(words: &str, tokens: usize) -> Self {
        Self {
            tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
            keywords: hashes(words).collect(),
            request: Some(first_words(words, TOPIC).into()),
        }
    }

    /// Reads a step of the model, by its calls.
    pub fn step<'a>(calls: impl Iterator<Item = &'a ToolCall>, tokens: usize) -> Self {
        let words = calls.flat_map(|call| match &call.action {
            Action::Ran(line) if !call.is_failed() => std::slice::from_ref(line),
            Action::Read(path) if !call.is_failed() => std::slice::from_ref(path),
            Action::Wrote(_) => call.files_written(),
            _ => &[],
        });
        Self {
            tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
            keywords: words.flat_map(|words| hashes(words)).take(KEYWORDS).collect(),
            request: None,
        }
    }
}

/// Hashes of the keywords of a text, each once.
pub(super) fn hashes(text: &str) -> impl Iterator<Item = u64> {
    let mut hashes: Vec<u64> = extract_keywords(text).iter().map(|it| stem_hash(it)).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.into_iter().take(KEYWORDS)
}
