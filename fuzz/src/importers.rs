//! Reads recorded sessions.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use callstack_engine::Engine;
use callstack_hosts::import::{activities, import};
use callstack_recordings::{Recording, is_recording, read};
use tempfile::TempDir;

use crate::is_one_in;
use crate::session::engine;

/// Imports after which a new store is begun: the content of one input is there for the next ones.
const IMPORTS: usize = 100;

struct Open {
    engine: Engine,
    _folder: TempDir,
    imports: usize,
}

/// Reads the bytes as a file: whether it is a recording, its format, and its content. The messages that the model is
/// shown at each message are in the recording. One recording in 20 is imported into a store, too.
pub fn importers(data: &[u8]) {
    let path = file();
    fs::write(path, data).expect("the file is written");
    let found = is_recording(path);
    let Ok(recordings) = read(path) else { return };
    assert!(found.is_ok_and(|it| it), "it was read and is no recording");
    for recording in &recordings {
        for at in 0..=recording.messages.len() {
            let shown = recording.shown(at);
            assert!(shown.iter().all(|place| *place < at.max(1)), "{shown:?} at {at}");
        }
    }
    if is_one_in(20, data) {
        imported(&recordings);
    }
}

fn imported(recordings: &[Recording]) {
    static OPEN: Mutex<Option<Open>> = Mutex::new(None);
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if open.as_ref().is_none_or(|it| it.imports >= IMPORTS) {
        // Its threads end before the folder goes.
        *open = None;
        let folder = tempfile::tempdir().expect("a folder for the store");
        let engine = engine(folder.path());
        engine.read_messages_with(activities);
        *open = Some(Open { engine, _folder: folder, imports: 0 });
    }
    let Some(Open { engine, imports, .. }) = open.as_mut() else { return };
    *imports += 1;
    if import(engine, recordings, &mut |_, _| {}).is_ok() {
        for recording in recordings {
            for message in engine.messages(&recording.session).expect("messages are read") {
                drop(activities(&message.json, Path::new("/project")));
            }
        }
    }
}

fn file() -> &'static Path {
    static FILE: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = FILE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder for the file");
        let path = folder.path().join("session.jsonl");
        (folder, path)
    });
    path
}
