//! The messages that a call of the model was shown.

use std::ops::Range;
use std::sync::Arc;

/// The messages that were sent, in order, by their places in the session: those that the recording's last compaction
/// left, if there was one, and everything after it.
#[derive(Clone, Debug)]
pub struct SentMessages {
    left: Arc<[usize]>,
    after: Range<usize>,
}

impl Default for SentMessages {
    fn default() -> Self {
        Self::new(Arc::default(), 0..0)
    }
}

impl SentMessages {
    pub(crate) fn new(left: Arc<[usize]>, after: Range<usize>) -> Self {
        Self { left, after }
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.left.len() + self.after.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The message at a place.
    pub fn get(&self, place: usize) -> Option<usize> {
        let after = || self.after.clone().nth(place - self.left.len());
        self.left.get(place).copied().or_else(after)
    }

    /// The first message.
    pub fn first(&self) -> Option<usize> {
        self.get(0)
    }

    /// The newest message.
    pub fn last(&self) -> Option<usize> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The messages.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.from(0)
    }

    /// The messages from a place on.
    pub fn from(&self, place: usize) -> impl DoubleEndedIterator<Item = usize> {
        let left = &self.left[place.min(self.left.len())..];
        let after = self.after.start + place.saturating_sub(self.left.len())..self.after.end;
        left.iter().copied().chain(after)
    }

    /// Whether others stand at its beginning.
    pub fn starts_with(&self, other: &Self) -> bool {
        let goes_on = Arc::ptr_eq(&self.left, &other.left) && self.after.start == other.after.start;
        self.len() >= other.len()
            && (goes_on || self.iter().zip(other.iter()).all(|(one, other)| one == other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_what_was_left_and_what_came_after() {
        let left: Arc<[usize]> = Arc::new([3, 4]);
        let shown = SentMessages::new(Arc::clone(&left), 5..8);
        assert_eq!(shown.iter().collect::<Vec<_>>(), [3, 4, 5, 6, 7]);
        assert_eq!(shown.from(1).rev().collect::<Vec<_>>(), [7, 6, 5, 4]);
        assert_eq!(shown.from(3).collect::<Vec<_>>(), [6, 7]);
        assert_eq!((shown.first(), shown.get(2), shown.last()), (Some(3), Some(5), Some(7)));
        assert_eq!((shown.len(), shown.get(5), shown.from(9).count()), (5, None, 0));
        assert_eq!((SentMessages::default().len(), SentMessages::default().last()), (0, None));
        assert!(shown.starts_with(&SentMessages::new(Arc::clone(&left), 5..6)));
        assert!(shown.starts_with(&SentMessages::new(Arc::from([3, 4, 5].as_slice()), 6..7)));
        assert!(shown.starts_with(&SentMessages::default()));
        assert!(!shown.starts_with(&SentMessages::new(left, 5..9)));
        assert!(!shown.starts_with(&SentMessages::new(Arc::default(), 0..2)));
    }
}
