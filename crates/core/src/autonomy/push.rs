//! Heuristics for opening a child frame.

use super::reading::{Points, Reading, as_said};
use super::{Heuristic, Signals};

/// The least divergence, in percent, at which a request is another goal.
const ANOTHER_GOAL: u8 = 70;
/// Tokens that a frame may take before it counts as long, where the model's limit is unknown or large.
const LONG: u64 = 80_000;
/// The share of the model's limit that counts as long, in percent.
const LONG_SHARE: u64 = 40;

/// 15 points for each failure that nothing has put right, up to 60: failures of different kinds alone are
/// part of any work. 5 where the same thing failed twice, so that the next attempt is another try, and 25
/// more where it failed three times; 10 where the user's newest request is another goal.
pub(super) fn failure_boundary(signals: &Signals) -> Reading {
    let mut points = Points::default();
    let errors = signals.errors;
    let said = as_said(signals.said.errors);
    points.add(errors.min(4) * 15, || match errors {
        1 => format!("a failure was not put right{said}"),
        _ => format!("{errors} failures were not put right{said}"),
    });
    let retries = signals.retries;
    if errors > 0 && retries >= 2 {
        points.add(if retries == 2 { 5 } else { 30 }, || {
            let said = signals.said.retries;
            if let Some(what) = signals.failing.as_ref().filter(|_| !said) {
                return format!("{what} failed {retries} times");
            }
            format!("the next attempt is another try at the same thing{}", as_said(said))
        });
    }
    if errors > 0 && signals.divergence >= ANOTHER_GOAL {
        points.add(10, || "the newest request is another goal".to_owned());
    }
    points.of(Heuristic::FailureBoundary)
}

/// Half a point for each percent of the newest request's keywords that neither the goal nor the work
/// before had; 8 for each file first written since, up to 30; 10 for each folder first written to
/// since, up to 20.
pub(super) fn context_switch(signals: &Signals) -> Reading {
    let mut points = Points::default();
    let divergence = u32::from(signals.divergence);
    points.add(divergence / 2, || {
        format!("{divergence} % of the newest request's keywords are new to this frame")
    });
    if divergence > 0 {
        let files = signals.new_files;
        points.add(files.saturating_mul(8).min(30), || {
            format!("{files} more files were changed since{}", as_said(signals.said.files))
        });
        let folders = signals.new_folders;
        points.add(folders.saturating_mul(10).min(20), || format!("in {folders} other folders"));
    }
    points.of(Heuristic::ContextSwitch)
}

/// 6 points for every ten messages, up to 60; 4 for each file changed, up to 40.
pub(super) fn complexity(signals: &Signals) -> Reading {
    let mut points = Points::default();
    let (messages, files) = (signals.messages, signals.files_changed);
    points.add((messages.saturating_mul(6) / 10).min(60), || {
        format!("{messages} messages{}", as_said(signals.said.messages))
    });
    points.add(files.saturating_mul(4).min(40), || {
        format!("{files} files changed{}", as_said(signals.said.files))
    });
    points.of(Heuristic::Complexity)
}

/// 70 points where the frame's own messages take 40 % of the model's limit or 80,000 tokens, whichever
/// is less, and in proportion.
pub(super) fn duration(signals: &Signals) -> Reading {
    let mut points = Points::default();
    let share = signals.limit.map(|limit| limit.saturating_mul(LONG_SHARE) / 100);
    let long = share.filter(|share| *share > 0).map_or(LONG, |share| share.min(LONG));
    let weight = signals.tokens.saturating_mul(70) / long;
    points.add(u32::try_from(weight).unwrap_or(u32::MAX), || {
        let said = as_said(signals.said.tokens);
        format!("its messages take about {} tokens{said}", signals.tokens)
    });
    points.of(Heuristic::Duration)
}
