//! Recorded sessions as the engine takes them over.

mod session_links;
mod stored;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callstack_core::event::RecordedFigures;
use callstack_core::evidence::Action;
use callstack_core::frame::Status;
use callstack_core::framing::Division;
use callstack_core::secrets::mask;
use callstack_core::transcript::{CallState, PartBody, ToolCall};
use callstack_engine::{
    Engine, EngineError, Kind, PastAside, PastCaller, PastCounts, PastMessage, PastSession,
};
use callstack_recordings::{
    Format, Left, Parent, Recorded, RecordedPart, Recording, RecordingError,
};

use crate::opencode::shown;
use stored::{inside, kept};

pub use stored::{activities, decode_stored};

/// The longest failure or command line that is shown, in characters.
const LINE: usize = 200;
/// The prefix of Claude Code's text where a model could not be asked.
const API_ERROR: &str = "API Error";

/// Returns the same failure as an error for the engine's callers.
pub fn unreadable(error: RecordingError) -> EngineError {
    let kind = match &error {
        RecordingError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            Kind::NotFound
        }
        RecordingError::Io { .. } => Kind::Unavailable,
        _ => Kind::Invalid,
    };
    EngineError::new(kind, error.to_string()).with_hint(error.hint().to_owned()).caused_by(error)
}

/// Imports recordings as sessions and frames of a store. `progress` is called with the indexes of the recording and the
/// message that are next. A second import changes nothing.
pub fn import(
    engine: &Engine,
    recordings: &[Recording],
    progress: &mut dyn FnMut(usize, usize),
) -> Result<PastCounts, EngineError> {
    let links = session_links::of(engine, recordings)?;
    let all: Vec<&Recording> = recordings.iter().chain(&links.stored).collect();
    let parent = |at: usize| links.linked.get(&at).or(all[at].parent.as_ref());
    let sessions: Vec<PastSession> = (0..all.len())
        .map(|at| PastSession {
            stored: at >= recordings.len(),
            ..session(all[at], parent(at), &all)
        })
        .collect();
    let message = |session: usize, place: usize| {
        let recording = all.get(session)?;
        message(recording, recording.messages.get(place)?)
    };
    engine.take_over_sessions(&sessions, &message, progress)
}

fn session(recording: &Recording, parent: Option<&Parent>, all: &[&Recording]) -> PastSession {
    let caller = parent.and_then(|parent| {
        let caller = all.iter().find(|it| it.session == parent.session)?;
        let mut calls = caller.messages.iter().flat_map(Recorded::calls);
        calls.find(|it| Some(&it.id) == parent.call.as_ref())
    });
    let given = match caller.and_then(|call| call.division.as_ref()) {
        Some(Division::Subagent { title, .. }) => Some(title.clone()),
        _ => None,
    };
    PastSession {
        session: recording.session.clone(),
        host: recording.format.host().to_owned(),
        caller: parent.map(|parent| PastCaller {
            session: parent.session.clone(),
            call: parent.call.clone(),
        }),
        folder: PathBuf::from(&recording.project),
        title: given.or_else(|| recording.title.clone()),
        outcome: caller.map_or_else(|| handed_in(recording), returned),
        figures: figures(recording),
        messages: recording.messages.iter().map(|message| message.id.clone()).collect(),
        left: recording.left.iter().map(|left| aside(recording, left)).collect(),
        stored: false,
    }
}

fn figures(recording: &Recording) -> RecordedFigures {
    let times = || recording.messages.iter().filter_map(|message| message.at);
    let requests = recording.messages.iter().filter_map(|message| message.usage.as_ref());
    RecordedFigures {
        calls: recording.model_calls() as u64,
        times: times().min().zip(times().max()),
        largest: requests.map(|usage| usage.input).max().filter(|tokens| *tokens > 0),
    }
}

fn aside(recording: &Recording, left: &Left) -> PastAside {
    PastAside {
        before: left.before,
        at: left.message.at,
        id: left.message.id.clone(),
        json: kept(recording, &left.message, true).1.into_owned(),
    }
}

fn returned(call: &ToolCall) -> Option<(Status, String)> {
    let status = match state_of(call) {
        CallState::Open => return None,
        CallState::Completed => Status::Completed,
        CallState::Failed => Status::Failed,
    };
    Some((status, call.output.clone()?))
}

/// Returns the outcome of a call. A subagent's call whose output is an API error instead of an answer counts as failed,
/// although the recording does not mark it so.
fn state_of(call: &ToolCall) -> CallState {
    let is_subagent = matches!(call.division, Some(Division::Subagent { .. }));
    let says = |output: &String| output.trim_start().starts_with(API_ERROR);
    if is_subagent && call.output.as_ref().is_some_and(says) {
        return CallState::Failed;
    }
    call.state
}

/// Returns the end of a recording of SWE-agent, which is a call that hands in its work, without further words.
fn handed_in(recording: &Recording) -> Option<(Status, String)> {
    let is_end = |command: &str| match recording.format {
        Format::SweAgent => command.starts_with("submit"),
        Format::MiniSweAgent => command.contains("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
        _ => false,
    };
    let last = recording.messages.last()?;
    let hands_in =
        |call: &ToolCall| matches!(&call.action, Action::Ran(command) if is_end(command));
    let said = last.parts.iter().find_map(|part| match part {
        RecordedPart::Text { text, .. } => Some(text.trim().to_owned()),
        _ => None,
    });
    last.calls().any(hands_in).then(|| (Status::Completed, said.unwrap_or_default()))
}

/// Returns a message in its stored form, with the work that it shows.
fn message(recording: &Recording, message: &Recorded) -> Option<PastMessage> {
    let (kept, json) = kept(recording, message, false);
    let kept = Some(kept).filter(|kept| !kept.id.is_empty())?;
    let mut shown = shown(&kept, Path::new(&recording.project));
    shown.json = json.into_owned();
    let mut recorded = message.calls();
    for part in &mut shown.message.parts {
        if let PartBody::Tool(call) = &mut part.body
            && let Some(recorded) = recorded.next()
        {
            let state = call.state;
            *call = Arc::new(ToolCall { state, ..short(recording, recorded) });
        }
    }
    shown.broken_off = message.broken_off;
    shown.opened.clear();
    shown.tasks.clear();
    // A message that is stored under a made-up id is found under it again.
    shown.message.id.clone_from(&message.id);
    Some(PastMessage { at: message.at, shown })
}

/// Returns a recorded call in short.
fn short(recording: &Recording, call: &ToolCall) -> ToolCall {
    let line = |text: &str| -> String {
        // The line alone may no longer show that it contains a secret.
        mask(text.trim()).lines().next().unwrap_or_default().chars().take(LINE).collect()
    };
    let relative = |path: &String| inside(&recording.project, path).to_owned();
    let action = match &call.action {
        Action::Ran(command) => Action::Ran(line(command)),
        Action::Read(path) => Action::Read(relative(path)),
        Action::Wrote(paths) => Action::Wrote(paths.iter().map(relative).collect()),
        Action::Other => Action::Other,
    };
    let output = match &call.division {
        Some(Division::Subagent { .. }) => call.output.clone(),
        _ if call.is_failed() => call.output.as_deref().map(line),
        _ => None,
    };
    ToolCall {
        output,
        exit: call.exit,
        began: call.began,
        ended: call.ended,
        action,
        division: call.division.clone(),
        ..ToolCall::new(&call.id, &call.tool, call.state)
    }
}
