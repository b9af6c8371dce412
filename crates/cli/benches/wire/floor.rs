//! The least that a session's requests could take: finished work leaves nothing, at once, and removing it from the
//! middle of a request costs nothing.

use callstack_scripted_model::RecordedRequest;

use super::recorded::Session;
use super::{CACHED, NEW, Taken};

/// What is removed once it is finished.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finished {
    /// The steps between the push and the pop of each task.
    Tasks,
    /// The same, and at the end of each turn all of its steps but the closing reply.
    TasksAndTurns,
}

/// Returns for each step of the agent the step after which it is gone; none for a step that stays.
pub(crate) fn ends(session: &Session, finished: Finished) -> Vec<Option<usize>> {
    let mut ends = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    for turn in &session.turns {
        let first = ends.len();
        for played in &turn.steps {
            let step = ends.len();
            ends.push(None);
            if played.todos.is_none() {
                continue;
            }
            let item = played.item();
            if let Some((_, begin)) = open.take_if(|(open, _)| Some(*open) != item) {
                ends[begin + 1..step].fill(Some(step));
            }
            if let (None, Some(item)) = (open, item) {
                open = Some((item, step));
            }
        }
        if finished == Finished::TasksAndTurns {
            let reply = ends.len() - 1;
            for (end, played) in ends[first..].iter_mut().zip(&turn.steps) {
                if !played.step.calls.is_empty() {
                    *end = Some(end.unwrap_or(reply));
                }
            }
        }
    }
    ends
}

/// Returns the least that requests could take which were `sent` without callstack. Each has `more` tokens with it, and
/// lacks the steps that are gone by then.
pub(crate) fn least(sent: &[RecordedRequest], ends: &[Option<usize>], more: f64) -> Taken {
    let steps = sent.last().map(steps).unwrap_or_default();
    let mut least = Taken { first: 0.0, largest: 0.0, all: 0.0, billed: 0.0 };
    let mut others_before = 0.0;
    for (at, request) in sent.iter().enumerate() {
        let is_gone = |step: usize| ends[step].is_some_and(|end| end < at);
        let stays: f64 = (0..at).filter(|step| !is_gone(*step)).map(|step| steps[step]).sum();
        let others = request.token_estimate() as f64 - steps[..at].iter().sum::<f64>();
        let size = others + more + stays;
        let newest =
            at.checked_sub(1).filter(|step| !is_gone(*step)).map_or(0.0, |step| steps[step]);
        let new = if at == 0 { size } else { newest + (others - others_before).max(0.0) };
        if at == 0 {
            least.first = size;
        }
        least.largest = least.largest.max(size);
        least.all += size;
        least.billed += CACHED * (size - new) + NEW * new;
        others_before = others;
    }
    least
}

/// The estimated tokens of each of the agent's steps, with the results of its calls.
fn steps(request: &RecordedRequest) -> Vec<f64> {
    let mut steps = Vec::new();
    for message in request.body["messages"].as_array().into_iter().flatten() {
        // With the comma after it.
        let tokens = (message.to_string().len() + 1) as f64 / 4.0;
        match (message["role"].as_str(), steps.last_mut()) {
            (Some("assistant"), _) => steps.push(tokens),
            (Some("tool"), Some(step)) => *step += tokens,
            _ => {}
        }
    }
    steps
}
