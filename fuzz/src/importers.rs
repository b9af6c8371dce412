//! Reads recorded sessions.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use callstack_engine::{Engine, Settings};
use callstack_hosts::recording::{Recording, happenings, import, is_recording, read};
use tempfile::TempDir;

use crate::Counted;

/// The bytes as a file: is it a recording, of which format, and what is in it? What is shown to the model at each
/// message is in the recording. The last byte of a file says whether it is imported into a store, too.
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
    if data.last() == Some(&b' ') {
        imported(&recordings);
    }
}

fn imported(recordings: &[Recording]) {
    let folder = tempfile::tempdir().expect("a folder for the store");
    let world = Box::<Counted>::default();
    let engine = Engine::open_unchecked(folder.path(), Settings::default(), world);
    let engine = engine.expect("a new store is opened");
    engine.read_messages_with(happenings);
    if import(&engine, recordings, &mut |_, _| {}).is_ok() {
        for recording in recordings {
            for message in engine.messages(&recording.session).expect("messages are read") {
                drop(happenings(&message.json, Path::new("/project")));
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
