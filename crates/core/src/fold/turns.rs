//! The user's turns inside a span: what was asked, and with what the agent closed each.

use crate::transcript::PartBody;

use super::places::{Places, agent_speaks};
use super::region::Region;

/// What stays of a span, as indexes of messages in order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Turns {
    /// What the user said.
    pub(super) users: Vec<usize>,
    /// The agent's closing replies, to these and to what was said in front of the span. A turn that
    /// was broken off, or goes on behind the span, has none.
    pub(super) replies: Vec<usize>,
}

/// The user's turns in a span.
pub(super) fn inside(places: &Places<'_>, region: &Region<'_>) -> Turns {
    let mut turns = Turns::default();
    let mut from = region.first;
    while let Some(user) = places.user_from(from).filter(|&user| user < region.end) {
        turns.replies.extend(closing_reply(places, from, user));
        turns.users.push(user);
        from = user + 1;
    }
    if region.pop.is_none() && !places.agent_goes_on(region.end) {
        turns.replies.extend(closing_reply(places, from, region.end));
    }
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
