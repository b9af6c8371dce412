//! Files that the agent would have to read again: texts that a change needs, that the agent had as recorded, and that
//! are not in the request.
//!
//! The read is a call of its own before the one that makes the change, and its output stays in the requests for as
//! long as that call does.

use std::collections::BTreeSet;

use crate::changes::Need;
use crate::figures::{CACHED, Figures, NEW};
use crate::item::{ItemNum, Items};
use crate::requests::Played;
use crate::verbatim::Wanted;

/// Tokens of a call that reads a file, by estimate.
pub const CALL: u64 = 60;
/// The cost of a token that the model writes, in hundredths of a token of input.
const WRITTEN: u64 = 500;

/// How much is read of an output that is needed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reread {
    /// All of it.
    Whole,
    /// As much as agents read in recordings right before they change the file (see the example `second_reads`).
    AsRecorded,
}

impl Reread {
    /// Returns the estimated tokens that are read of an output of so many.
    pub(crate) fn tokens(self, output: u64) -> u64 {
        const READ_WHOLE: u64 = 1_500;
        const READ_IN_PART: u64 = 530;
        match self {
            Self::AsRecorded if output > READ_WHOLE => READ_IN_PART,
            Self::Whole | Self::AsRecorded => output,
        }
    }
}

/// The items in the requests of a way, and the reads that were repeated.
pub(crate) struct Rereads<'a> {
    items: &'a Items,
    /// Items from this one on are ours.
    ours_from: ItemNum,
    /// The number of times that each item is in the request.
    held: Vec<u32>,
    ours: BTreeSet<ItemNum>,
    carried: Vec<Carried<'a>>,
}

/// An output that was read again.
struct Carried<'a> {
    file: &'a str,
    output: ItemNum,
    /// The change that it was read for.
    change: ItemNum,
    /// The number of items of the request before it.
    at: usize,
    tokens: u64,
}

impl<'a> Rereads<'a> {
    /// Makes the state before the first request. `ours_from` is the first item that was not recorded.
    pub(crate) fn new(items: &'a Items, ours_from: ItemNum) -> Self {
        let (ours, carried) = (BTreeSet::new(), Vec::new());
        Self { items, ours_from, held: vec![0; items.len()], ours, carried }
    }

    /// Adds the next request. Returns the tokens of earlier repeated reads that are sent with it: those in the prefix
    /// shared with the request before, and all.
    pub(crate) fn next(&mut self, played: &Played<'_>) -> (u64, u64) {
        for item in &played.added {
            self.held[*item as usize] += 1;
            if *item >= self.ours_from {
                self.ours.insert(*item);
            }
        }
        for item in &played.removed {
            self.held[*item as usize] -= 1;
            if self.held[*item as usize] == 0 {
                self.ours.remove(item);
            }
        }
        self.carried.retain(|carried| self.held[carried.change as usize] > 0);
        let (mut common, mut all) = (0, 0);
        for carried in &mut self.carried {
            all += carried.tokens;
            if carried.at <= played.common {
                common += carried.tokens;
            } else {
                let at = played.request.iter().position(|item| *item == carried.change);
                carried.at = at.unwrap_or_default();
            }
        }
        (common, all)
    }

    /// Adds to the figures the needs of the call that answers the request, and the call that reads the missing ones.
    /// `sent` are the tokens of the request, with earlier repeated reads, and `tokens` are those of a read that shows an
    /// item again.
    pub(crate) fn answer(
        &mut self,
        needs: &'a [Need],
        request: usize,
        sent: u64,
        tokens: impl Fn(ItemNum) -> u64,
        figures: &mut Figures,
    ) {
        let (mut reads, mut new) = (0, 0);
        for need in needs {
            let gone = |(wanted, holders): &&(_, Vec<ItemNum>)| !self.is_sent(wanted, holders);
            let gone: Vec<_> = need.texts.iter().filter(gone).collect();
            if need.is_edit {
                figures.edits += 1;
                figures.verbatim += u64::from(gone.is_empty());
            }
            let has_again = |carried: &Carried<'_>, wanted: &Wanted| {
                carried.file == need.file && wanted.stands_in(&self.items.get(carried.output).text)
            };
            let is_there =
                gone.iter().all(|(wanted, _)| self.carried.iter().any(|it| has_again(it, wanted)));
            if is_there {
                continue;
            }
            let tokens = tokens(need.again) + CALL;
            (reads, new) = (reads + 1, new + tokens);
            self.carried.push(Carried {
                file: &need.file,
                output: need.again,
                change: need.call,
                at: request,
                tokens,
            });
        }
        if reads > 0 {
            figures.reads += reads;
            figures.read_calls += 1;
            figures.with_reads_hundredths += sent * CACHED + new * NEW + reads * CALL * WRITTEN;
            figures.largest_with_reads = figures.largest_with_reads.max(sent + new);
        }
    }

    fn is_sent(&self, wanted: &Wanted, holders: &[ItemNum]) -> bool {
        holders.iter().any(|item| self.held[*item as usize] > 0)
            || self.ours.iter().any(|item| wanted.stands_in(&self.items.get(*item).text))
    }
}
