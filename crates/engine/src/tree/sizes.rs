//! The sizes of frames whose steps were not counted: open ones, and those without evidence.

use std::collections::BTreeMap;

use callstack_core::frame::{FrameNum, Status};
use callstack_store::{MessageRange, View};

use super::{TreeLine, TreeNotes, add_up};
use crate::error::EngineError;

/// Estimated tokens of a kilobyte of stored messages, where the store has too little to measure its own number.
const USUAL: u64 = 250;
/// Bytes of a message beside its words and calls.
const AROUND: u64 = 700;
/// The numbers that are believed.
const PLAUSIBLE: std::ops::RangeInclusive<u64> = 60..=350;
/// Bytes of counted frames that are enough to measure the store's own number.
const ENOUGH: u64 = 20_000;

/// Adds the tokens of frames that were not counted, by the bytes of their messages. A frame has at least the tokens of
/// those below it.
pub(super) fn add_uncounted(
    view: &View<'_>,
    lines: &[TreeLine],
    notes: &mut TreeNotes,
) -> Result<(), EngineError> {
    let stored = Bytes::of(view)?;
    let (mut counted, mut bytes) = (0, 0);
    let mut uncounted: Vec<(FrameNum, u64)> = Vec::new();
    for line in lines {
        let (num, status) = (line.frame.num, line.frame.status);
        // A recording is read whole: what was counted is all of it.
        if line.left_open || matches!(status, Status::Planned) {
            continue;
        }
        let own = stored.of_frame(view, num)?;
        match notes.tokens.get(&num) {
            Some(tokens) if status.is_finished() => {
                counted += *tokens as u64;
                bytes += own;
            }
            _ => uncounted.push((num, own)),
        }
    }
    let shown = if bytes < ENOUGH { USUAL } else { counted * 1_000 / bytes };
    let rate = shown.clamp(*PLAUSIBLE.start(), *PLAUSIBLE.end());
    for (num, bytes) in uncounted {
        let tokens = usize::try_from(bytes * rate / 1_000).unwrap_or(usize::MAX);
        let known = notes.tokens.entry(num).or_default();
        *known = (*known).max(tokens);
    }
    add_up(&mut notes.tokens, lines);
    Ok(())
}

/// For each session the places of its messages, each with the bytes of words and calls up to and including it.
struct Bytes(BTreeMap<String, Vec<(u64, u64)>>);

impl Bytes {
    fn of(view: &View<'_>) -> Result<Self, EngineError> {
        let mut sessions = view.bytes_of_messages()?;
        for messages in sessions.values_mut() {
            let mut sum = 0;
            for (_, bytes) in messages {
                sum += bytes.saturating_sub(AROUND);
                *bytes = sum;
            }
        }
        Ok(Self(sessions))
    }

    fn of_frame(&self, view: &View<'_>, frame: FrameNum) -> Result<u64, EngineError> {
        let ranges = view.ranges(frame)?;
        Ok(ranges.iter().map(|range| self.of_range(range)).sum())
    }

    fn of_range(&self, range: &MessageRange) -> u64 {
        let Some(messages) = self.0.get(&range.session) else { return 0 };
        let up_to = |place: u64| {
            let count = messages.partition_point(|(at, _)| *at <= place);
            count.checked_sub(1).map_or(0, |last| messages[last].1)
        };
        up_to(range.last).saturating_sub(up_to(range.first))
    }
}
