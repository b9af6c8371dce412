//! Ids of traces and spans.

use sha2::{Digest as _, Sha256};

/// The id of the trace of a root frame, or of a session without one.
pub(super) fn trace(root: &str) -> Vec<u8> {
    hash(&["trace", root], 16)
}

/// The id of a frame's span.
pub(super) fn frame(id: &str) -> Vec<u8> {
    hash(&["frame", id], 8)
}

/// The id of the span of a call of the model.
pub(super) fn call(session: &str, message: &str) -> Vec<u8> {
    hash(&["call", session, message], 8)
}

/// The id of the span of a call of a tool. Where a host gives calls no ids, the place in the message distinguishes
/// them.
pub(super) fn tool(session: &str, message: &str, place: usize, call: &str) -> Vec<u8> {
    hash(&["tool", session, message, &place.to_string(), call], 8)
}

/// Hashes words, each with its length, so that no two lists of words are alike.
fn hash(words: &[&str], bytes: usize) -> Vec<u8> {
    let mut hasher = Sha256::new();
    for word in words {
        hasher.update((word.len() as u64).to_be_bytes());
        hasher.update(word.as_bytes());
    }
    let hash = hasher.finalize();
    hash[..bytes].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_their_length_and_differ() {
        let ids =
            [call("a", "bc"), call("ab", "c"), frame("a"), frame("b"), tool("a", "b", 0, "c")];
        assert!(ids.iter().all(|id| id.len() == 8));
        assert_eq!(ids.iter().collect::<std::collections::HashSet<_>>().len(), ids.len());
        assert_eq!((trace("a").len(), trace("a")), (16, trace("a")));
    }
}
