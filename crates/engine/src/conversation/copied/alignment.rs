//! Which of the messages that say the same is the original of a copy: copies stand in the order of their originals.

use std::collections::HashMap;

/// A message of a fork.
#[derive(Clone, Copy, Debug)]
pub(super) struct Copy {
    /// The hash of its content, if that can be compared.
    pub(super) likeness: Option<u64>,
    /// Whether messages after it may be older: it is a summary.
    pub(super) is_summary: bool,
}

/// The place of each copy's original; no place is taken twice.
///
/// Content that occurs once is certain. Of repeated content the occurrence nearest to a neighbour with a known
/// original is taken, first among those after its predecessor, then among those before its successor.
pub(super) fn align(copies: &[Copy], originals: &[Option<u64>]) -> Vec<Option<usize>> {
    let mut unused: HashMap<u64, Vec<usize>> = HashMap::new();
    for (place, likeness) in originals.iter().enumerate() {
        if let Some(likeness) = likeness {
            unused.entry(*likeness).or_default().push(place);
        }
    }
    let mut said: HashMap<u64, usize> = HashMap::new();
    for likeness in copies.iter().filter_map(|copy| copy.likeness) {
        *said.entry(likeness).or_default() += 1;
    }
    let mut found: Vec<Option<usize>> = vec![None; copies.len()];
    let mut take = |at: usize, choose: &dyn Fn(&[usize]) -> Option<usize>| {
        let places = unused.get_mut(&copies[at].likeness?)?;
        choose(places).map(|chosen| places.remove(chosen))
    };

    for at in 0..copies.len() {
        let is_sure = copies[at].likeness.is_some_and(|likeness| said[&likeness] == 1);
        if is_sure {
            found[at] = take(at, &|places| (places.len() == 1).then_some(0));
        }
    }
    for at in 1..copies.len() {
        if let Some(before) = found[at - 1].filter(|_| !copies[at - 1].is_summary)
            && found[at].is_none()
        {
            found[at] = take(at, &|places| places.iter().position(|place| *place > before));
        }
    }
    for at in (1..copies.len()).rev() {
        if let Some(after) = found[at].filter(|_| !copies[at - 1].is_summary)
            && found[at - 1].is_none()
        {
            found[at - 1] = take(at - 1, &|places| places.iter().rposition(|place| *place < after));
        }
    }
    for (at, found) in found.iter_mut().enumerate().filter(|(_, found)| found.is_none()) {
        *found = take(at, &|places| (!places.is_empty()).then_some(0));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Aligns messages by content, a letter each; a summary is a capital, and content that can't be compared a dot.
    fn aligned(fork: &str, original: &str) -> Vec<Option<usize>> {
        let likeness = |said: char| (said != '.').then_some(u64::from(said));
        let copies = fork
            .chars()
            .map(|said| Copy { likeness: likeness(said), is_summary: said.is_uppercase() });
        let originals: Vec<_> = original.chars().map(likeness).collect();
        align(&copies.collect::<Vec<_>>(), &originals)
    }

    #[test]
    fn what_was_said_once_is_found_wherever_it_stands() {
        assert_eq!(aligned("Sbc", "abSc"), [Some(2), Some(1), Some(3)]);
        assert_eq!(aligned("a.z", "a.b"), [Some(0), None, None]);
    }

    #[test]
    fn what_was_said_several_times_is_found_beside_its_neighbours() {
        // A copy of the end: a message before the summary is no original of one after it.
        assert_eq!(aligned("Sbgcg", "agbSgcg"), [3, 2, 4, 5, 6].map(Some));
        // A copy that begins with it, and ends before it was said again.
        assert_eq!(aligned("Sgb", "agbSgcg"), [3, 1, 2].map(Some));
        assert_eq!(aligned("agb", "agbgcg"), [0, 1, 2].map(Some));
    }

    #[test]
    fn where_nothing_is_sure_the_earliest_is_taken() {
        assert_eq!(aligned("gg", "ggg"), [0, 1].map(Some));
        assert_eq!(aligned("gggg", "ggg"), [Some(0), Some(1), Some(2), None]);
    }
}
