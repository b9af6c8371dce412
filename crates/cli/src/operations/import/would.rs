//! The preview of an import, which takes nothing over.

use std::path::{Path, PathBuf};

use callstack_core::secrets::mask;
use callstack_engine::Engine;
use callstack_recordings::{Recorded, Recording};
use callstack_replay::format_name;

use super::sessions::{self, Sources};
use super::{Preview, PreviewedSession, Taken, TakenFrames, TakenRecordings};
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::operations::Machine;

/// Returns the frames and sessions in files and folders, and which of them the store has already.
pub(super) fn taken(
    frames: &[PathBuf],
    sessions: Option<&Sources>,
    machine: &Machine,
    invocation: &Invocation<'_>,
) -> Result<Taken, CommandError> {
    let engine = machine.place.found().map(|_| invocation.engine()).transpose()?;
    let summary = match &engine {
        _ if frames.is_empty() => None,
        Some(engine) => Some(engine.would_import(frames)?),
        None => Some(Engine::frames_in(frames)?),
    };
    let preview = |sessions: &Sources| -> Result<Preview, CommandError> {
        let mut found = Vec::new();
        let refused = sessions::read(sessions, &mut *machine.reporter(), &mut |part, _, _| {
            for recording in &part.recordings {
                found.push(previewed(recording, engine.as_ref())?);
            }
            Ok(())
        })?;
        Ok(Preview { sessions: found, refused })
    };
    Ok(Taken {
        frames: summary.as_ref().map(TakenFrames::of).transpose()?.unwrap_or_default(),
        dry_run: true,
        recorded: sessions.map(preview).transpose()?.map(TakenRecordings::Preview),
    })
}

/// Returns the frames in a project's own folders that an import takes over, if there are any.
pub(super) fn frames_of(
    project: &Path,
    machine: &Machine,
    invocation: &Invocation<'_>,
) -> Result<Option<TakenFrames>, CommandError> {
    let summary = if machine.place.found().is_some() {
        let engine = invocation.engine()?;
        engine.has_frames_of_others()?.then(|| engine.would_import(&[])).transpose()?
    } else {
        let is_there = Engine::holds_frames(project);
        is_there.then(|| Engine::frames_in(&[project.to_path_buf()])).transpose()?
    };
    summary.as_ref().map(TakenFrames::of).transpose()
}

fn previewed(
    recording: &Recording,
    engine: Option<&Engine>,
) -> Result<PreviewedSession, CommandError> {
    let has = |engine: &Engine| engine.has_recorded(&recording.session, recording.format.host());
    let messages = recording.messages.iter();
    Ok(PreviewedSession {
        agent: format_name(recording.format).to_owned(),
        id: recording.session.clone(),
        at: recording.messages.iter().find_map(|message| message.at),
        messages: messages.filter(|message: &&Recorded| !message.parts.is_empty()).count() as u64,
        title: mask(recording.title.as_deref().unwrap_or_default()).into_owned(),
        known: engine.map(has).transpose()?.unwrap_or(false),
    })
}
