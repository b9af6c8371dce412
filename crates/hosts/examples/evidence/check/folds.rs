//! The texts that replace the finished frames of stores, each with the log of its span.

use std::fs;
use std::path::{Path, PathBuf};

use callstack_engine::{Engine, Settings, SystemWorld};
use callstack_hosts::import::import;
use callstack_recordings::{is_recording, read};
use serde_json::Value;

use super::log::{Did, done_in};

/// The text that replaces a finished frame.
pub(crate) struct Drawn {
    pub session: String,
    pub frame: String,
    /// The text, with the results where these stand beside it.
    pub text: String,
    pub project: String,
    pub log: Vec<Did>,
}

impl Drawn {
    /// The lines of evidence.
    pub(crate) fn evidence(&self) -> impl Iterator<Item = &str> {
        let mut lines = self.text.lines();
        lines.find(|line| line.starts_with("Evidence, recorded by the machine"));
        lines.map_while(|line| line.strip_prefix("- "))
    }
}

/// Which of the recordings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    Both,
    Even,
    Odd,
}

type Failed = Box<dyn std::error::Error>;

/// The folds of recordings and stores.
pub(crate) fn of(paths: &[PathBuf], half: Half) -> Result<Vec<Drawn>, Failed> {
    let mut files = Vec::new();
    let mut folds = Vec::new();
    for path in paths {
        if path.join(".callstack").is_dir() {
            folds.extend(of_store(path)?);
        } else {
            recordings(path, &mut files)?;
        }
    }
    files.sort();
    for (at, file) in files.iter().enumerate() {
        if half == Half::Both || (half == Half::Even) == (at % 2 == 0) {
            folds.extend(of_recording(file)?);
        }
    }
    Ok(folds)
}

fn recordings(path: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failed> {
    if !path.is_dir() {
        found.extend(is_recording(path).unwrap_or(false).then(|| path.to_owned()));
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        recordings(&entry?.path(), found)?;
    }
    Ok(())
}

/// Those of a recording in a store of its own.
fn of_recording(file: &Path) -> Result<Vec<Drawn>, Failed> {
    let recordings = read(file)?;
    let project = recordings.first().map(|it| it.project.clone()).unwrap_or_default();
    let folder = tempfile::tempdir()?;
    let engine = open(folder.path())?;
    import(&engine, &recordings, &mut |_, _| {})?;
    folds(&engine, &project)
}

/// Those of a store, which is copied.
fn of_store(project: &Path) -> Result<Vec<Drawn>, Failed> {
    let folder = tempfile::tempdir()?;
    copy(&project.join(".callstack"), &folder.path().join(".callstack"))?;
    folds(&open(folder.path())?, &project.to_string_lossy())
}

fn copy(from: &Path, to: &Path) -> Result<(), Failed> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn open(folder: &Path) -> Result<Engine, Failed> {
    let engine = Engine::open_unchecked(folder, Settings::default(), Box::new(SystemWorld))?;
    engine.read_messages_with(callstack_hosts::import::activities);
    Ok(engine)
}

fn folds(engine: &Engine, project: &str) -> Result<Vec<Drawn>, Failed> {
    let mut all = Vec::new();
    for session in engine.tree_notes(&[])?.sessions.keys() {
        let messages: Vec<(String, Value)> = engine
            .messages(session)?
            .into_iter()
            .map(|it| (it.id, serde_json::from_str(&it.json).unwrap_or_default()))
            .collect();
        let place =
            |id: &Option<String>| messages.iter().position(|(known, _)| Some(known) == id.as_ref());
        for span in engine.spans(session)?.into_iter().filter(|span| !span.detached) {
            let (Some(close), Some(fold)) = (span.live_close(), &span.fold) else { continue };
            let Some(to) = place(&close.message) else { continue };
            let from = place(&span.open.message).unwrap_or(0);
            let (opened, closed) = (span.open.call.as_deref(), close.call.as_deref());
            let mut log = Vec::new();
            for (at, (_, message)) in messages.iter().enumerate().take(to + 1).skip(from) {
                let parts = done_in(message);
                let at_call = |call: Option<&str>| {
                    parts.iter().position(|(id, _)| call.is_some() && id.as_deref() == call)
                };
                let is_own = !span.origin.is_automatic();
                let begin = match at_call(opened).filter(|_| at == from) {
                    Some(place) if is_own => place + 1,
                    _ if at == from => parts.len(),
                    _ => 0,
                };
                let end = at_call(closed).filter(|_| at == to && is_own).unwrap_or(parts.len());
                let parts = parts.into_iter().enumerate();
                let inside = parts.filter(|(place, _)| (begin..end).contains(place));
                log.extend(inside.flat_map(|(_, (_, did))| did));
            }
            let results = span.outcome.as_ref().and_then(|it| it.results.as_deref());
            let results = results.filter(|it| !fold.text.contains(it.trim())).unwrap_or_default();
            all.push(Drawn {
                session: session.clone(),
                frame: span.frame.to_string(),
                text: format!("{results}\n{}", fold.text),
                project: project.to_owned(),
                log,
            });
        }
    }
    all.retain(|fold| fold.log.iter().any(|did| !matches!(did.kind, super::log::Kind::Said)));
    Ok(all)
}
