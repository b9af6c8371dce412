//! Sessions in the store that started sessions of the import, or were started by them: only the parts that show which
//! call started which session.

use std::collections::{HashMap, HashSet};

use callstack_core::framing::Division;
use callstack_core::stored::{Message, PartBody};
use callstack_core::transcript::Role;
use callstack_engine::{Engine, EngineError};
use callstack_recordings::{
    Format, Parent, Recorded, RecordedPart, Recording, handed_on, links, open_call,
};

/// The links between sessions that the store knows, beside those of the import.
pub(super) struct Links {
    /// Sessions of the store that are not taken over now.
    pub(super) stored: Vec<Recording>,
    /// Calls that started sessions and were not known before, by the session's index among those of the import,
    /// followed by the stored ones.
    pub(super) linked: HashMap<usize, Parent>,
}

/// Finds those that belong to some recordings.
pub(super) fn of(engine: &Engine, recordings: &[Recording]) -> Result<Links, EngineError> {
    let mut known: HashSet<&str> = recordings.iter().map(|it| it.session.as_str()).collect();
    let mut found: Vec<(Format, String, Option<Parent>)> = Vec::new();
    for recording in recordings {
        let host = recording.format.host();
        if let Some(parent) = &recording.parent
            && known.insert(&parent.session)
            && engine.has_recorded(&parent.session, host)?
        {
            found.push((recording.format, parent.session.clone(), None));
        }
    }
    for recording in recordings {
        let host = recording.format.host();
        for child in engine.sessions_started_by(&recording.session)? {
            if !known.contains(child.as_str()) && engine.has_recorded(&child, host)? {
                let parent = Parent { session: recording.session.clone(), call: None };
                found.push((recording.format, child, Some(parent)));
            }
        }
    }
    if found.is_empty() {
        return Ok(Links { stored: Vec::new(), linked: HashMap::new() });
    }
    let mut stored = Vec::new();
    for (format, session, parent) in found {
        let messages = engine.messages(&session)?;
        let messages = messages.iter().filter_map(|it| had(format, &it.id, &it.json)).collect();
        stored.push(Recording { session, parent, messages, ..Recording::new(format) });
    }
    let all: Vec<&Recording> = recordings.iter().chain(&stored).collect();
    let linked = links(&all);
    Ok(Links { stored, linked })
}

/// Reads the parts of a stored message that show which session started another one: the user's words, and calls of
/// subagents.
fn had(format: Format, id: &str, json: &str) -> Option<Recorded> {
    let stored = Message::read(json).unwrap_or_default();
    if stored.is_aside() {
        return None;
    }
    let role = stored.role();
    let mut had = Recorded::new(id, role, stored.created);
    for part in stored.parts.into_iter().flatten() {
        match part.body {
            PartBody::Text { text, .. } if role == Role::User => {
                had.parts.push(RecordedPart::Text { text, synthetic: false });
            }
            PartBody::Call(call) => {
                let made = call.made;
                let mut call = open_call(&made.id, &made.tool, made.input);
                call.division = handed_on(format, &call.tool, &call.input);
                if matches!(call.division, Some(Division::Subagent { .. })) {
                    (call.output, call.state) = (made.output, made.state);
                    had.parts.push(RecordedPart::Call(Box::new(call)));
                }
            }
            _ => {}
        }
    }
    Some(had)
}
