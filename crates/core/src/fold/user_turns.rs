//! The user's turns inside a span: each request, and the reply with which the agent closed it.

use crate::transcript::PartBody;

use super::places::{Places, agent_speaks};
use super::region::Region;

/// The parts of a span that stay, as indexes of messages in order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Turns {
    /// The user's messages.
    pub(super) users: Vec<usize>,
    /// The agent's closing replies, to these and to the message before the span. A turn that was broken off, or goes
    /// on after the span, has none.
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

/// Returns the last step of `from..to`, if it ends in words and not with a call.
fn closing_reply(places: &Places<'_>, from: usize, to: usize) -> Option<usize> {
    let steps = &places.transcript[from..to];
    let last = from + steps.iter().rposition(|step| agent_speaks(step))?;
    // A request begins with the user; words of the agent before the user's first ones can't stay alone.
    (last > 0 && from > 0 && !reply_parts(places, last).is_empty()).then_some(last)
}

/// Returns the indexes of the parts of a step that are its reply: the words after its last call.
pub(super) fn reply_parts(places: &Places<'_>, message: usize) -> Vec<usize> {
    let parts = &places.transcript[message].parts;
    let after_calls = parts
        .iter()
        .rposition(|part| matches!(part.body, PartBody::Tool(_)))
        .map_or(0, |call| call + 1);
    parts
        .iter()
        .enumerate()
        .skip(after_calls)
        .filter(|(_, part)| matches!(part.body, PartBody::Text { chars, .. } if chars > 0))
        .map(|(index, _)| index)
        .collect()
}
