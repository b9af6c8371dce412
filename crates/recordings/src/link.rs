//! Which call started which session.

use std::collections::HashMap;

use callstack_core::framing::Division;
use callstack_core::transcript::{Role, ToolCall};

use super::{Parent, Recorded, RecordedPart, Recording};

/// The infix of the id of a subagent's session, after the id of the session that started it.
pub(super) const AGENT: &str = ".agent-";

/// Finds the call for each session that another one started, by the call's answer or by the prompt of the subagent. A
/// subagent's subagent finds the one that started it.
pub(super) fn link(recordings: &mut [Recording]) {
    let all: Vec<&Recording> = recordings.iter().collect();
    for (place, parent) in links(&all) {
        recordings[place].parent = Some(parent);
    }
}

/// Returns the calls that `link` finds for sessions whose call was not known, by the sessions' places.
pub fn links(recordings: &[&Recording]) -> HashMap<usize, Parent> {
    let mut linked = HashMap::new();
    for (place, recording) in recordings.iter().enumerate() {
        if let Some(Parent { session, call: None }) = &recording.parent
            && let Some(found) = caller(recordings, &linked, place, session)
        {
            linked.insert(place, found);
        }
    }
    linked
}

fn caller(
    recordings: &[&Recording],
    linked: &HashMap<usize, Parent>,
    place: usize,
    parent: &str,
) -> Option<Parent> {
    let child = recordings[place];
    let key = child.session.rsplit(AGENT).next().unwrap_or_default();
    let words = child.messages.iter().find(|it| it.role == Role::User).map(all_words);
    let words = words.unwrap_or_default();
    let parent_of = |place: usize| linked.get(&place).or(recordings[place].parent.as_ref());
    let calls = || {
        let candidates = recordings.iter().enumerate().filter(|(place, other)| {
            other.session != child.session
                && other.format == child.format
                && (other.session == parent
                    || parent_of(*place).is_some_and(|it| it.session == parent))
        });
        candidates.flat_map(|(_, other)| {
            let calls = other.messages.iter().flat_map(Recorded::calls);
            calls.filter(|call| is_subagent(call)).map(move |call| (other, call))
        })
    };
    let taken = |other: &Recording, call: &ToolCall| {
        let this = Parent { session: other.session.clone(), call: Some(call.id.clone()) };
        (0..recordings.len()).any(|place| parent_of(place) == Some(&this))
    };
    let named = calls().find(|(_, call)| call.output.as_ref().is_some_and(|it| it.contains(key)));
    let (other, call) = named.or_else(|| {
        calls().find(|(other, call)| was_prompted(call, &words) && !taken(other, call))
    })?;
    Some(Parent { session: other.session.clone(), call: Some(call.id.clone()) })
}

fn is_subagent(call: &ToolCall) -> bool {
    matches!(call.division, Some(Division::Subagent { .. }))
}

fn was_prompted(call: &ToolCall, words: &str) -> bool {
    let Some(Division::Subagent { prompt, .. }) = &call.division else { return false };
    let prompt = prompt.trim();
    !prompt.is_empty() && words.contains(prompt)
}

fn all_words(message: &Recorded) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        RecordedPart::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
