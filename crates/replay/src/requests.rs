//! Requests, one after the other, each as its difference from the one before: a session of thousands of calls sends
//! the same items again and again.

use std::ops::Range;

use crate::item::ItemNum;

/// The content of each call of the model, in order.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// The place after the last splice of each request.
    ends: Vec<usize>,
    splices: Vec<Splice>,
    added: Vec<ItemNum>,
    /// Items of the newest request.
    len: usize,
}

/// Items in the place of others.
#[derive(Clone, Debug)]
struct Splice {
    at: usize,
    removed: usize,
    added: Range<usize>,
}

impl Requests {
    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Each request, whole.
    pub fn iter(&self) -> impl Iterator<Item = Vec<ItemNum>> {
        let mut played = Played::new(self);
        std::iter::from_fn(move || played.next().then(|| played.request.clone()))
    }

    /// Begins the next request with all of the one before.
    pub(crate) fn begin(&mut self) {
        self.ends.push(self.splices.len());
    }

    /// Puts items into the newest request in the place of `removed` ones from `at` on.
    pub(crate) fn splice(
        &mut self,
        at: usize,
        removed: usize,
        items: impl IntoIterator<Item = ItemNum>,
    ) {
        let from = self.added.len();
        self.added.extend(items);
        let added = from..self.added.len();
        if removed == 0 && added.is_empty() {
            return;
        }
        self.len = self.len + added.len() - removed;
        self.splices.push(Splice { at, removed, added });
        if let Some(end) = self.ends.last_mut() {
            *end = self.splices.len();
        }
    }

    /// Puts items at the end of the newest request.
    pub(crate) fn append(&mut self, items: impl IntoIterator<Item = ItemNum>) {
        self.splice(self.len, 0, items);
    }

    /// Makes the newest request one of these items.
    pub(crate) fn replace(&mut self, items: impl IntoIterator<Item = ItemNum>) {
        self.splice(0, self.len, items);
    }
}

/// Whether the same was sent, however it is stored.
impl PartialEq for Requests {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

/// Requests, played one after the other.
pub(crate) struct Played<'r> {
    requests: &'r Requests,
    place: usize,
    /// The request.
    pub(crate) request: Vec<ItemNum>,
    /// The number of items at its beginning that it shares with the one before.
    pub(crate) common: usize,
    /// The items of the one before that are gone.
    pub(crate) removed: Vec<ItemNum>,
    /// The items that were not in the one before.
    pub(crate) added: Vec<ItemNum>,
}

impl<'r> Played<'r> {
    /// Before the first request.
    pub(crate) fn new(requests: &'r Requests) -> Self {
        let (removed, added) = (Vec::new(), Vec::new());
        Self { requests, place: 0, request: Vec::new(), common: 0, removed, added }
    }

    /// Goes on to the next request, if there is one.
    pub(crate) fn next(&mut self) -> bool {
        let Some(&end) = self.requests.ends.get(self.place) else { return false };
        let begin = self.place.checked_sub(1).map_or(0, |before| self.requests.ends[before]);
        self.place += 1;
        self.common = self.request.len();
        self.removed.clear();
        self.added.clear();
        let splices = &self.requests.splices[begin..end];
        // A rebuilt request may begin as before all the same.
        let before = self.is_rebuilt(splices).then(|| self.request.clone());
        for splice in splices {
            self.apply(splice);
        }
        if let Some(before) = before {
            let both = before.iter().zip(&self.request);
            self.common = both.take_while(|(one, other)| one == other).count();
            self.removed = before[self.common..].to_vec();
            self.added = self.request[self.common..].to_vec();
        }
        true
    }

    fn is_rebuilt(&self, splices: &[Splice]) -> bool {
        let mut len = self.request.len();
        splices.iter().any(|splice| {
            let all = splice.removed == len && len > 0;
            len = len + splice.added.len() - splice.removed;
            all
        })
    }

    fn apply(&mut self, splice: &Splice) {
        let new = &self.requests.added[splice.added.clone()];
        let old = &self.request[splice.at..splice.at + splice.removed];
        let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let (new, at, end) = (&new[same..], splice.at + same, splice.at + splice.removed);
        if new.is_empty() && at == end {
            return;
        }
        self.common = self.common.min(at);
        self.added.extend_from_slice(new);
        self.removed.extend(self.request.splice(at..end, new.iter().copied()));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(mut items: Vec<ItemNum>) -> Vec<ItemNum> {
        items.sort_unstable();
        items
    }

    proptest! {
        #[test]
        fn what_changes_adds_up_to_the_requests(
            changes in proptest::collection::vec((0_usize..20, 0_usize..6, 0_usize..6, 0_u8..4), 1..40)
        ) {
            let (mut requests, mut wanted) = (Requests::default(), vec![]);
            let (mut request, mut next): (Vec<ItemNum>, _) = (vec![], 0);
            for (at, removed, added, kind) in changes {
                requests.begin();
                let new: Vec<ItemNum> = (next..).take(added).collect();
                next += 6;
                match kind {
                    0 => {
                        requests.append(new.iter().copied());
                        request.extend(&new);
                    }
                    1 => {
                        // The same content, rebuilt.
                        requests.replace(request.iter().chain(&new).copied());
                        request.extend(&new);
                    }
                    _ => {
                        let at = at.min(request.len());
                        let removed = removed.min(request.len() - at);
                        requests.splice(at, removed, new.iter().copied());
                        request.splice(at..at + removed, new);
                    }
                }
                wanted.push(request.clone());
            }
            prop_assert_eq!(requests.iter().collect::<Vec<_>>(), wanted.clone());
            let mut played = Played::new(&requests);
            let mut before: Vec<ItemNum> = vec![];
            for wanted in wanted {
                prop_assert!(played.next());
                let both = before.iter().zip(&wanted);
                let common = both.take_while(|(one, other)| one == other).count();
                prop_assert_eq!((played.common, &played.request), (common, &wanted));
                // Counting added and removed items counts all of them.
                let gone = before.iter().chain(&played.added).copied().collect();
                let there = wanted.iter().chain(&played.removed).copied().collect();
                prop_assert_eq!(sorted(gone), sorted(there));
                before = wanted;
            }
            prop_assert!(!played.next());
        }
    }
}
