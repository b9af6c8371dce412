//! Consolidation: too many finished children of a frame become one, which sums up their results. They stay below it,
//! each with its results and its log.

use callstack_core::decide::{CONSOLIDATED, Command, Consolidate};
use callstack_core::frame::{Artifact, Frame, FrameNum, Identity};
use callstack_core::secrets::cut_to_token_budget;
use callstack_core::text::CUT;
use callstack_store::Change;

use crate::commands::{Commands, first};
use crate::error::EngineError;

/// Finished children that stay as they are, the newest ones: later work builds on these.
pub(crate) const KEPT: u64 = 10;
/// The most children that one frame replaces.
const MOST: u32 = 1_000;
/// Tokens of all results together, and of one child's share in them.
const RESULTS: usize = 4_000;
const SHARE: (usize, usize) = (12, 80);
/// Tokens of the dense results, which name titles only.
const DENSE: usize = 300;
/// Artifacts that are named.
const ARTIFACTS: usize = 100;

impl Commands {
    /// Replaces the older children by one frame, once a frame that has just ended has too many finished siblings.
    pub(crate) fn consolidate_if_many(
        &self,
        change: &mut Change<'_>,
        at: i64,
        ended: FrameNum,
    ) -> Result<(), EngineError> {
        let most = self.env.settings_in(&change.view())?.consolidate_above;
        let Some(parent) = change.view().frame(ended)?.parent.filter(|_| most > 0) else {
            return Ok(());
        };
        let counts = change.view().counts(Some(parent))?;
        let terminal = counts.iter().filter(|(status, _)| status.is_terminal());
        if terminal.map(|(_, count)| count).sum::<u64>() > most {
            self.consolidate_in(change, at, parent, KEPT.min(most / 2))?;
        }
        Ok(())
    }

    /// Replaces all but the newest `keep` finished children of a frame by one frame. None where there are fewer than
    /// two.
    pub(crate) fn consolidate_in(
        &self,
        change: &mut Change<'_>,
        at: i64,
        parent: FrameNum,
        keep: u64,
    ) -> Result<Option<FrameNum>, EngineError> {
        let mut finished = change.view().finished_children(parent, MOST)?;
        finished.retain(|child| child.status.is_terminal());
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        finished.truncate(finished.len().saturating_sub(keep));
        if finished.len() < 2 {
            return Ok(None);
        }
        let command = Command::Consolidate(Consolidate {
            parent,
            children: finished.iter().map(|child| child.num).collect(),
            id: self.env.world().id(CONSOLIDATED),
            identity: identity(&finished),
            results: results(&finished),
            results_compacted: titles(&finished),
            artifacts: artifacts(&finished),
        });
        let decision = self.carry_out_at(change, at, &command)?;
        Ok(Some(first(&decision)?))
    }
}

fn identity(frames: &[Frame]) -> Identity {
    let range = match (frames.first(), frames.last()) {
        (Some(first), Some(last)) => format!("{} to {}", first.num, last.num),
        _ => String::new(),
    };
    let criteria = format!("Stands for {} finished frames, {range}", frames.len());
    Identity {
        title: format!("Earlier work: {} frames", frames.len()),
        success_criteria_compacted: criteria.clone(),
        success_criteria: criteria,
    }
}

/// A line for each frame, all within the budget.
fn results(frames: &[Frame]) -> String {
    let share = (RESULTS / frames.len().max(1)).clamp(SHARE.0, SHARE.1);
    let line = |frame: &Frame| {
        let dense = frame.results_compacted.as_deref().or(frame.results.as_deref());
        let said = dense.or(frame.invalidation_reason.as_deref()).unwrap_or_default();
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = cut_to_token_budget(&said, share, CUT);
        format!("- {} [{}]: {said}", frame.label(), frame.status)
    };
    let lines: Vec<_> = frames.iter().map(line).collect();
    cut_to_token_budget(&lines.join("\n"), RESULTS, CUT).into_owned()
}

fn titles(frames: &[Frame]) -> String {
    let titles: Vec<_> = frames.iter().map(|frame| frame.identity.title.as_str()).collect();
    cut_to_token_budget(&titles.join("; "), DENSE, CUT).into_owned()
}

/// Returns the artifacts of the newest frames first, each as it was last recorded.
fn artifacts(frames: &[Frame]) -> Vec<Artifact> {
    let mut found: Vec<Artifact> = Vec::new();
    for artifact in frames.iter().rev().flat_map(|frame| frame.artifacts.iter().rev()) {
        if found.len() < ARTIFACTS && found.iter().all(|known| known.path != artifact.path) {
            found.push(artifact.clone());
        }
    }
    found.reverse();
    found
}
