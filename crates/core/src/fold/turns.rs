//! The user's turns inside a span: what was asked, and with what the agent closed each.

use crate::transcript::PartBody;

use super::places::{Places, agent_speaks, user_speaks};
use super::region::Region;

/// A turn of the user, as far as it lies in a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// What the user said; none for a turn that began in front of the span.
    pub(super) user: Option<usize>,
    /// The agent's closing reply, if there is one inside the span.
    pub(super) reply: Option<usize>,
    /// Whether the turn goes on behind the span, where its reply stands or will stand.
    pub(super) goes_on: bool,
}

/// The turns of a span in order. The first is the one in which it was opened; its user message is
/// named when the span begins directly behind it and no push call of the agent's stands between.
pub(super) fn of(places: &Places<'_>, region: &Region<'_>, pop_goes_on: bool) -> Vec<Turn> {
    let opener = region
        .first
        .checked_sub(1)
        .filter(|&message| region.push.is_none() && user_speaks(&places.transcript[message]));
    let mut turns = Vec::new();
    let mut user = opener;
    let mut from = region.first;
    while let Some(next) = places.user_from(from).filter(|&next| next < region.end) {
        turns.push(Turn {
            user,
            reply: closing_reply(places, from, next),
            goes_on: false,
        });
        user = Some(next);
        from = next + 1;
    }
    let goes_on = pop_goes_on || places.agent_goes_on(region.end);
    let reply = if goes_on || region.pop.is_some() {
        None
    } else {
        closing_reply(places, from, region.end)
    };
    turns.push(Turn {
        user,
        reply,
        goes_on,
    });
    turns
}

/// The last step of `from..to`, if it ends in words and not with a call.
fn closing_reply(places: &Places<'_>, from: usize, to: usize) -> Option<usize> {
    let steps = &places.transcript[from..to];
    let last = from + steps.iter().rposition(agent_speaks)?;
    // A request begins with the user; what the agent said before anybody spoke cannot stay alone.
    (last > 0 && from > 0 && !reply_parts(places, last).is_empty()).then_some(last)
}

/// Indexes of the parts of a step that are its reply: the words behind its last call.
pub(super) fn reply_parts(places: &Places<'_>, message: usize) -> Vec<usize> {
    let parts = &places.transcript[message].parts;
    let behind = parts
        .iter()
        .rposition(|part| matches!(part.body, PartBody::Tool { .. }))
        .map_or(0, |call| call + 1);
    parts
        .iter()
        .enumerate()
        .skip(behind)
        .filter(|(_, part)| matches!(part.body, PartBody::Text { chars, .. } if chars > 0))
        .map(|(index, _)| index)
        .collect()
}
