//! The preview of an import, which takes nothing over.

use std::path::PathBuf;

use callstack_core::secrets::mask;
use callstack_engine::Engine;
use callstack_recordings::{Recorded, Recording};
use callstack_replay::format_name;
use serde_json::{Value, json};

use super::sessions::{self, Sources};
use super::{tell_frames, warn};
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, PLAIN, Page, columns, date};
use crate::wording::counted;

/// A session that was read.
struct Session {
    agent: &'static str,
    id: String,
    /// The time of the first message that has one, in milliseconds since 1970.
    at: Option<i64>,
    messages: u64,
    title: String,
    /// Whether the store has a session of this id from the same agent.
    is_known: bool,
}

/// Lists the sessions in files and folders, and which of them the store has already.
pub(super) fn tell(
    frames: &[PathBuf],
    sessions: Option<&Sources>,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.place.found().map(|_| invocation.engine()).transpose()?;
    let summary = match &engine {
        _ if frames.is_empty() => None,
        Some(engine) => Some(engine.would_import(frames)?),
        None => Some(Engine::frames_in(frames)?),
    };
    let mut found = Vec::new();
    let mut refused = Vec::new();
    if let Some(sessions) = sessions {
        refused = sessions::read(sessions, output, &mut |part, _, _| {
            for recording in &part.recordings {
                found.push(Session::of(recording, engine.as_ref())?);
            }
            Ok(())
        })?;
    }
    let mut value = json!(summary.clone().unwrap_or_default());
    value["dryRun"] = json!(true);
    if sessions.is_some() {
        let sessions: Vec<_> = found.iter().map(Session::json).collect();
        value["recorded"] = json!({ "sessions": sessions, "refused": refused });
    }
    output.either(&value, |page| {
        if let Some(summary) = &summary {
            tell_frames(summary, "would be imported", page);
        }
        if sessions.is_some() {
            draw(&found, page);
        }
        warn(refused.iter().cloned(), page);
        page.put(DIM, "nothing was written: without --dry-run it is").end();
    })
}

impl Session {
    fn of(recording: &Recording, engine: Option<&Engine>) -> Result<Self, CommandError> {
        let has =
            |engine: &Engine| engine.has_recorded(&recording.session, recording.format.host());
        let messages = recording.messages.iter();
        Ok(Self {
            agent: format_name(recording.format),
            id: recording.session.clone(),
            at: recording.messages.iter().find_map(|message| message.at),
            messages: messages.filter(|message: &&Recorded| !message.parts.is_empty()).count()
                as u64,
            title: mask(recording.title.as_deref().unwrap_or_default()).into_owned(),
            is_known: engine.map(has).transpose()?.unwrap_or(false),
        })
    }

    fn json(&self) -> Value {
        json!({"agent": self.agent, "id": self.id, "at": self.at, "messages": self.messages,
            "title": self.title, "known": self.is_known})
    }
}

fn draw(sessions: &[Session], page: &mut Page) {
    let known = sessions.iter().filter(|session| session.is_known).count();
    let fresh = counted((sessions.len() - known) as u64, "session");
    page.put(PLAIN, &format!("{fresh} would be imported"));
    if known > 0 {
        page.put(PLAIN, &format!(", {known} here already, of which only what is new would be"));
    }
    page.end();
    let widest = sessions.iter().map(|session| columns(&session.id)).max().unwrap_or(0);
    for session in sessions {
        let pad = " ".repeat(widest.saturating_sub(columns(&session.id)));
        let date = session.at.and_then(date).unwrap_or_default();
        let messages = counted(session.messages, "message");
        let known = if session.is_known { "here already" } else { "" };
        let rest = [date.as_str(), &messages, &session.title, known];
        let rest: Vec<_> = rest.into_iter().filter(|part| !part.is_empty()).collect();
        page.put(PLAIN, &format!("  {:<12} {}{pad}  ", session.agent, session.id));
        page.put(DIM, &rest.join(" · ")).end();
    }
}
