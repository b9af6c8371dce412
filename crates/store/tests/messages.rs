//! Messages: recorded ones come back byte for byte.

use callstack_store::{MessageBody, Store, StoredMessage};
use proptest::prelude::*;

use crate::support::record;

fn messages(store: &Store) -> Vec<StoredMessage> {
    store.read(|view| view.messages("ses_a")).unwrap()
}

fn bodies(store: &Store) -> Vec<(String, u64, String)> {
    messages(store).into_iter().map(|it| (it.id, it.version, it.json)).collect()
}

#[test]
fn the_same_content_is_kept_once() {
    let store = Store::in_memory().unwrap();
    assert_eq!(record(&store, "ses_a", &[("m1", "{\"a\":1}"), ("m2", "{}")]), 2);
    let revision = store.read(|view| view.revision()).unwrap();
    assert_eq!(record(&store, "ses_a", &[("m1", "{\"a\":1}"), ("m2", "{}")]), 0);
    assert_eq!(store.read(|view| view.revision()).unwrap(), revision);
    assert_eq!(store.read(|view| view.message_sizes()).unwrap().0, 2);
    // Another session's message of the same id is another message.
    assert_eq!(record(&store, "ses_b", &[("m1", "{\"a\":1}")]), 1);
}

#[test]
fn what_changed_is_a_further_version_at_its_old_place() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_unchecked(folder.path()).unwrap();
    record(&store, "ses_a", &[("m1", "first"), ("m2", "other")]);
    assert_eq!(record(&store, "ses_a", &[("m2", "other"), ("m1", "second")]), 1);
    let body = |id: &str, version, json: &str| (id.to_owned(), version, json.to_owned());
    assert_eq!(bodies(&store), [body("m1", 2, "second"), body("m2", 1, "other")]);
    // Back to what it was is a change too.
    record(&store, "ses_a", &[("m1", "first")]);
    assert_eq!(bodies(&store)[0], body("m1", 3, "first"));
    assert_eq!(store.read(|view| view.message_order("ses_a")).unwrap(), ["m1", "m2"]);
    assert_eq!(store.read(|view| view.last_message("ses_a")).unwrap().as_deref(), Some("m2"));
    // The older versions stay.
    let raw = rusqlite::Connection::open(store.path()).unwrap();
    let kept: Vec<String> = raw
        .prepare("SELECT CAST(body AS TEXT) FROM messages WHERE id = 'm1' ORDER BY version")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(kept, ["first", "second", "first"]);
}

#[test]
fn large_empty_and_foreign_bodies_come_back() {
    let store = Store::in_memory().unwrap();
    let large: String =
        (0..10_000_000u32).map(|at| char::from(b' ' + (at.wrapping_mul(at) % 91) as u8)).collect();
    let foreign = "\u{0}\u{7f}\u{feff}é漢字🦀\u{202e}\r\n\\\"'%";
    record(&store, "ses_a", &[("large", &large), ("", ""), ("fremd-ü", foreign)]);
    let kept = messages(&store);
    // It is no JSON, and something like half a character in it is mended for readers.
    let stored = kept[0].as_it_came.as_deref().unwrap_or(kept[0].json.as_bytes());
    assert!(stored == large.as_bytes(), "10 MB came back otherwise");
    assert_eq!((kept[1].id.as_str(), kept[1].json.as_str()), ("", ""));
    assert_eq!((kept[2].id.as_str(), kept[2].json.as_str()), ("fremd-ü", foreign));
}

#[test]
fn a_realistic_message_takes_a_third_of_its_size_or_less() {
    let store = Store::in_memory().unwrap();
    let source = include_str!("../src/frames.rs");
    for (at, piece) in source.as_bytes().chunks(6_000).enumerate() {
        let id = format!("msg_01{at:04}");
        let json = serde_json::json!({
            "info": {"id": id, "role": "assistant", "sessionID": "ses_a", "modelID": "some-model"},
            "parts": [{"type": "step-start"}, {"type": "tool", "tool": "read", "state": {
                "status": "completed", "input": {"filePath": "crates/store/src/frames.rs"},
                "output": String::from_utf8_lossy(piece)}}],
        });
        record(&store, "ses_a", &[(&id, &json.to_string())]);
    }
    let (count, plain, kept) = store.read(|view| view.message_sizes()).unwrap();
    assert!(count >= 2);
    assert!(kept * 3 <= plain, "{plain} bytes take {kept}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_was_recorded_comes_back(
        batches in proptest::collection::vec(
            proptest::collection::vec((0..5usize, prop_oneof!["[ab]{0,3}", any::<String>()]), 0..6),
            1..6,
        ),
    ) {
        let store = Store::in_memory().unwrap();
        // By first appearance: the id, the number of versions, and the newest one.
        let mut expected: Vec<(String, u64, String)> = Vec::new();
        for batch in batches {
            let mut changed = 0;
            let mut bodies = Vec::new();
            for (id, json) in batch {
                let id = format!("msg-{id}");
                match expected.iter_mut().find(|it| it.0 == id) {
                    Some(known) if known.2 == json => {}
                    Some(known) => {
                        (known.1, known.2) = (known.1 + 1, json.clone());
                        changed += 1;
                    }
                    None => {
                        expected.push((id.clone(), 1, json.clone()));
                        changed += 1;
                    }
                }
                bodies.push(MessageBody { id, json });
            }
            let written = store.write(|change| change.record_messages(1, "ses_a", &bodies)).unwrap();
            prop_assert_eq!(written, changed);
        }
        let kept = messages(&store);
        let places: Vec<u64> = kept.iter().map(|it| it.seq).collect();
        prop_assert_eq!(places, (1..=expected.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(bodies(&store), expected);
    }
}
