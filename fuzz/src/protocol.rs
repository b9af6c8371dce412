//! Answers lines of the protocol between the plugin and callstack.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use callstack_engine::{Engine, EngineError, Settings};
use callstack_hosts::opencode::{happenings, serve};
use serde_json::Value;
use tempfile::TempDir;

use crate::Counted;

/// Inputs after which a new store is begun: what one input leaves is there for the next ones.
const INPUTS: usize = 100;

struct Open {
    engine: Result<Engine, EngineError>,
    _folder: TempDir,
    inputs: usize,
}

/// The input is lines of the protocol. Each answer is a line of JSON with an id and a result or an error.
pub fn protocol(data: &[u8]) {
    static OPEN: Mutex<Option<Open>> = Mutex::new(None);
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if open.as_ref().is_none_or(|it| it.inputs >= INPUTS) {
        // Its threads end before the folder goes.
        *open = None;
        let folder = tempfile::tempdir().expect("a folder for the store");
        *open = Some(Open { engine: Ok(engine(folder.path())), _folder: folder, inputs: 0 });
    }
    let Some(open) = open.as_mut() else { return };
    open.inputs += 1;
    let mut output = Vec::new();
    serve(&open.engine, "fuzz", data, &mut output, |_| {}).expect("nothing is written to a pipe");
    for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let answer: Value = serde_json::from_slice(line).expect("an answer is JSON");
        assert!(answer["id"].is_u64(), "{answer}");
        assert!(answer.get("result").is_some() != answer.get("error").is_some(), "{answer}");
    }
}

/// A store in a folder, with no summarizer and no repository.
pub(crate) fn engine(folder: &Path) -> Engine {
    let world = Box::<Counted>::default();
    let engine = Engine::open_unchecked(folder, Settings::default(), world);
    let engine = engine.expect("a new store is opened");
    engine.read_messages_with(happenings);
    engine
}
