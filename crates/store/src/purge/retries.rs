//! Frames that retry the work of another one: they have its name and its results. Which frame they retry is known from
//! the decision alone that `stack_frame_retry` writes, a sentence of callstack's own that begins with [`TRIED`]: no
//! event of a store says it otherwise.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use callstack_core::frame::FrameNum;
use callstack_core::returned::{ENDED_AS, TRIED};

use crate::error::StoreError;
use crate::frames::frame_num;
use crate::store::View;

use super::copies::REMOVED;

impl View<'_> {
    /// Returns the frames that retry work, each with the frame that tried it before.
    pub(super) fn tries(&self) -> Result<Vec<(FrameNum, FrameNum)>, StoreError> {
        let rows: Vec<(i64, String)> = self
            .connection
            .prepare_cached("SELECT frame, text FROM decisions WHERE text GLOB ?1")
            .and_then(|mut statement| {
                let begins = [format!("{TRIED} in f*")];
                statement.query_map(begins, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(|source| self.failed(source))?;
        let tried = |(fresh, text): (i64, String)| {
            tries_in(&text).first().map(|(_, tried)| (frame_num(fresh), *tried))
        };
        Ok(rows.into_iter().filter_map(tried).collect())
    }

    /// Adds the frames that have the name of one of these because they try the same again.
    pub(super) fn follow_identities(
        &self,
        frames: &mut BTreeSet<FrameNum>,
    ) -> Result<(), StoreError> {
        // A fresh one comes after the one that it follows.
        let mut tries = self.tries()?;
        tries.sort_unstable();
        for (fresh, tried) in tries {
            if frames.contains(&tried) && self.frame(fresh)?.identity == self.frame(tried)?.identity
            {
                frames.insert(fresh);
            }
        }
        Ok(())
    }
}

/// Removes from a frame's context the first try that `goes` and all those before it. The second argument of `goes` is
/// whether the evidence of the try is there, too.
pub(super) fn forget_tries(text: &mut String, goes: impl Fn(FrameNum, bool) -> bool) -> bool {
    if !text.starts_with(TRIED) {
        return false;
    }
    let gone = tries_in(text).into_iter().find(|(at, tried)| {
        let this_try = text.get(*at..).unwrap_or_default();
        goes(*tried, this_try.contains(&format!("\n{ENDED_AS}: ")))
    });
    let Some((at, tried)) = gone else { return false };
    text.truncate(at);
    // Writing to a string can't fail.
    let _ = write!(text, "{TRIED} in {tried}: {REMOVED}");
    true
}

/// Returns the tries in a text, with the places where they begin.
fn tries_in(text: &str) -> Vec<(usize, FrameNum)> {
    let begins = format!("{TRIED} in f");
    let of = |at: usize| {
        let (num, _) = text.get(at + begins.len()..)?.split_once(" \"")?;
        Some((at, FrameNum(num.parse().ok()?)))
    };
    text.match_indices(&begins).filter_map(|(at, _)| of(at)).collect()
}
