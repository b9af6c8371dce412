//! The lines that two texts have in common, by the longest common subsequence.

/// Lines that are compared with one another at most, in a square.
const SQUARE: usize = 16_000_000;

/// Returns the places of the lines of `new` that `old` lacks, and of those of `old` that `new` lacks.
pub(crate) fn differing(old: &[&str], new: &[&str]) -> (Vec<usize>, Vec<usize>) {
    let head = old.iter().zip(new).take_while(|(one, other)| one == other).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let ends = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = ends.take_while(|(one, other)| one == other).count();
    let (before, after) = (&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
    if before.len() * after.len() > SQUARE {
        return ((head..head + after.len()).collect(), (head..head + before.len()).collect());
    }
    let width = after.len() + 1;
    let mut common = vec![0_u32; (before.len() + 1) * width];
    for at in (0..before.len()).rev() {
        for place in (0..after.len()).rev() {
            common[at * width + place] = if before[at] == after[place] {
                common[(at + 1) * width + place + 1] + 1
            } else {
                common[(at + 1) * width + place].max(common[at * width + place + 1])
            };
        }
    }
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    let (mut at, mut place) = (0, 0);
    while at < before.len() || place < after.len() {
        if at < before.len() && place < after.len() && before[at] == after[place] {
            at += 1;
            place += 1;
        } else if place == after.len()
            || (at < before.len()
                && common[(at + 1) * width + place] >= common[at * width + place + 1])
        {
            removed.push(head + at);
            at += 1;
        } else {
            added.push(head + place);
            place += 1;
        }
    }
    (added, removed)
}

/// Whether others contain some lines in this order.
pub(crate) fn is_among<'a>(some: impl Iterator<Item = &'a str>, all: &[&str]) -> bool {
    let mut rest = all.iter();
    some.into_iter().all(|line| rest.any(|it| it.trim_end() == line.trim_end()))
}
