//! Files that are no sessions, or damaged ones, on their way into a store.

use std::fs;
use std::path::Path;

use callstack_engine::{Engine, Kind, Settings, SystemWorld};
use callstack_hosts::import::{activities, import, unreadable};
use callstack_recordings::read;

use crate::fixture;
use crate::halves::{HALVES, NAMES, damaged};

#[test]
fn what_cannot_be_read_is_reported_as_the_engine_reports_its_failures() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    fs::write(&empty, "").unwrap();
    let refused = |path: &Path| unreadable(read(path).unwrap_err());
    let error = refused(&empty);
    assert_eq!(error.kind, Kind::Invalid);
    assert_eq!(error.message, format!("{}: the file is empty", empty.display()));
    assert!(error.hint.is_some_and(|hint| hint.to_string().starts_with("Known are")));
    assert_eq!(refused(&folder.path().join("gone")).kind, Kind::NotFound);
}

/// Each message that has half an emoji in it is stored, and all around it.
#[test]
fn half_a_character_is_stored_as_what_stands_for_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        for half in HALVES {
            let path = folder.path().join(name);
            fs::write(&path, damaged(&fs::read(fixture(name)).unwrap(), half)).unwrap();
            let (found, expected) = (read(&path).unwrap(), read(&fixture(name)).unwrap());

            let store = tempfile::tempdir().unwrap();
            let world = Box::new(SystemWorld);
            let engine = Engine::open_unchecked(store.path(), Settings::default(), world).unwrap();
            engine.read_messages_with(activities);
            import(&engine, &found, &mut |_, _| {}).unwrap();
            let stored = engine.messages(&found[0].session).unwrap();
            let left = expected[0].left.len();
            assert_eq!(stored.len(), expected[0].messages.len() + left, "{name}");
            let is_read = |json: &str| json.contains('\u{fffd}') || json.contains(r"\ufffd");
            assert!(stored.iter().any(|message| is_read(&message.json)), "{name}");
        }
    }
}
