//! Shared by the tests of this crate: stores in temporary folders and short ways to fill them.

use std::fs;
use std::path::{Path, PathBuf};

use callstack_core::decide::{Command, OpenRoot, Pop, Push, Refusal, decide};
use callstack_core::event::Event;
use callstack_core::frame::{FrameNum, Identity, Status};
use callstack_core::limits::Limits;
use callstack_core::transcript::{Anchor, Outcome};
use callstack_store::{MessageBody, Store, StoreError, prepare};
use tempfile::TempDir;

/// A project folder with a store in it.
pub(crate) struct Project {
    folder: TempDir,
}

impl Project {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The store's folder, made if it is not there.
    pub(crate) fn folder(&self) -> PathBuf {
        prepare(self.path()).unwrap()
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.folder().join(callstack_store::DATABASE)
    }

    pub(crate) fn open(&self) -> Store {
        Store::open_unchecked(&self.folder()).unwrap()
    }

    /// The files of the store that hold a word.
    pub(crate) fn holding(&self, word: &str) -> Vec<String> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.folder()).unwrap() {
            let path = entry.unwrap().path();
            let bytes = if path.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            if bytes.windows(word.len()).any(|window| window == word.as_bytes()) {
                found.push(path.file_name().unwrap().to_string_lossy().into_owned());
            }
        }
        found
    }
}

/// Why a command was not carried out.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Refusal<StoreError>);

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self(Refusal::Store(error))
    }
}

/// Decides a command, appends its events, and returns the frame that it is about.
pub(crate) fn carry_out(
    store: &Store,
    command: &Command,
    limits: &Limits,
) -> Result<FrameNum, Refused> {
    store.write(|change| {
        let decision = decide(&change.view(), command, limits, 1_000).map_err(Refused)?;
        change.append(1_000, &decision.events)?;
        Ok(decision.frames[0])
    })
}

pub(crate) fn identity(title: &str) -> Identity {
    Identity {
        title: title.to_owned(),
        success_criteria: format!("{title} is done"),
        success_criteria_compacted: String::new(),
    }
}

pub(crate) fn nowhere() -> Anchor {
    Anchor { message: None, call: None }
}

pub(crate) fn root(session: &str, parent_session: Option<&str>) -> Command {
    Command::OpenRoot(OpenRoot {
        session: session.to_owned(),
        host: "test".to_owned(),
        parent_session: parent_session.map(str::to_owned),
        caller: None,
        identity: identity(&format!("root of {session}")),
        derived: true,
        spare_id: format!("frm-spare-{session}"),
        anchor: nowhere(),
    })
}

pub(crate) fn push(session: &str, id: &str, title: &str) -> Command {
    Command::Push(Push {
        session: session.to_owned(),
        anchor: nowhere(),
        identity: identity(title),
        id: id.to_owned(),
    })
}

pub(crate) fn pop(session: &str, results: &str) -> Command {
    Command::Pop(Pop {
        session: session.to_owned(),
        frame: None,
        anchor: nowhere(),
        outcome: Outcome {
            status: Status::Completed,
            results: Some(results.to_owned()),
            results_compacted: None,
            source: None,
        },
    })
}

pub(crate) fn append(store: &Store, events: &[Event]) {
    store.write(|change| change.append(1_000, events)).unwrap();
}

pub(crate) fn record(store: &Store, session: &str, messages: &[(&str, &str)]) -> usize {
    let bodies: Vec<_> = messages
        .iter()
        .map(|(id, json)| MessageBody { id: (*id).to_owned(), json: (*json).to_owned() })
        .collect();
    store.write(|change| change.record_messages(1_000, session, &bodies)).unwrap()
}

/// Asserts that the file is sound and its tables agree with the log.
pub(crate) fn assert_sound(store: &Store) {
    let health = store.check().unwrap();
    assert!(health.damage.is_empty() && health.drifted.is_empty(), "{health:?}");
}
