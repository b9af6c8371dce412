//! Heuristics for the end of a frame.

use super::reading::{Points, Reading, as_said};
use super::{Heuristic, Signals};

/// Steps that a frame needs before a full context is a reason to end it.
const YOUNG: u32 = 3;

/// The sum of 35 points for a check that passed since the last write to a file (50 if it had failed before), 20 for one
/// written file (25 for several), and a quarter point for each percent of the goal's keywords that occur in the work,
/// minus 15 for each failure that is not fixed. The sum is multiplied by 55 %, plus 15 % for each step since the
/// success, up to 100 %: an agent that pops right away needs no suggestion.
pub(super) fn goal_completion(signals: &Signals) -> Reading {
    let mut points = Points::default();
    let said = &signals.said;
    points.add([0, 35, 50][signals.successes.min(2) as usize], || match signals.successes {
        _ if said.successes => "the criteria are met, as you say".to_owned(),
        1 => "a check went well since the last change".to_owned(),
        _ => "a check that had failed goes well now".to_owned(),
    });
    let files = signals.files_changed;
    points.add([0, 20, 25][files.min(2) as usize], || {
        format!("{files} files were written{}", as_said(said.files))
    });
    let coverage = u32::from(signals.coverage);
    points.add_silently(coverage / 4);
    points.take(signals.errors.saturating_mul(15), || {
        format!("{} failures were not put right{}", signals.errors, as_said(said.errors))
    });
    points.scale(55 + 15 * signals.settled_steps.min(3));
    points.of(Heuristic::GoalCompletion)
}

/// 25 points for each message of the user since the frame was opened, up to 75, and 5 for each further one. Or, where
/// that is more: 7 for each step in which nothing new came about, up to 56; 5 for each unsettled failure, up to 25;
/// 15 where the same thing failed five times. So the first suggestion for a loop of changes and failures is a frame
/// of its own, and only a later one is to give up.
pub(super) fn stagnation(signals: &Signals) -> Reading {
    let turns = signals.user_turns;
    let mut open = Points::default();
    open.add(turns.min(3) * 25 + turns.saturating_sub(3).min(5) * 5, || {
        format!("still open after {turns} user turns")
    });
    let mut stuck = Points::default();
    let idle = signals.idle_steps;
    stuck.add(idle.min(8) * 7, || {
        if signals.said.idle {
            format!("no progress in {idle} turns, as you say")
        } else {
            format!("nothing new in {idle} steps")
        }
    });
    stuck.add(signals.errors.min(5) * 5, || {
        let said = as_said(signals.said.errors);
        format!("{} failures were not put right{said}", signals.errors)
    });
    if signals.retries >= 5 {
        stuck.add(15, || match &signals.failing {
            Some(what) => format!("{what} failed {} times", signals.retries),
            None => format!("the same failed {} times", signals.retries),
        });
    }
    let (open, stuck) = (open.of(Heuristic::Stagnation), stuck.of(Heuristic::Stagnation));
    if stuck.confidence > open.confidence { stuck } else { open }
}

/// The share of the model's limit that the context takes, in percent, once the frame has a few steps, or as the agent
/// reports it.
pub(super) fn context_overflow(signals: &Signals) -> Reading {
    let mut points = Points::default();
    if let Some(fill) = signals.said.fill {
        points.add(fill.into(), || format!("the context is {fill} % full, as you say"));
    } else if let (Some(fill), Some(used), Some(limit)) =
        (signals.fill(), signals.used, signals.limit)
        && signals.steps >= YOUNG
    {
        points.add(fill.into(), || {
            format!("the context is {fill} % full ({used} of {limit} tokens)")
        });
    }
    points.of(Heuristic::ContextOverflow)
}
