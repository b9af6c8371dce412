//! Purged content is gone from the files, stays away, and breaks nothing.

use std::ops::ControlFlow;

use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_core::search::Query;
use callstack_core::transcript::Span;
use callstack_store::{Erased, MessageRange, Purge, Store, StoreError, View};

use crate::support::carry_out;
use crate::support::{Project, assert_sound, pop, push, record, root};
use callstack_core::limits::Limits;

/// Short enough to be stored uncompressed, so that they can be searched for in the files.
const GONE: &str = "\"zqxvkj wibble\"";
const KEPT: &str = "\"yplumbus grault\"";

fn index(store: &Store) {
    while store.write(|change| change.index(1 << 20, &str::to_owned)).unwrap() {}
}

fn hashes(store: &Store) -> Vec<(String, String)> {
    let raw = rusqlite::Connection::open(store.path()).unwrap();
    let mut events = raw.prepare("SELECT body FROM events ORDER BY seq").unwrap();
    let bodies = events.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let mut found = Vec::new();
    for body in bodies {
        if let Event::MessagesRecorded { messages, .. } =
            serde_json::from_str(&body.unwrap()).unwrap()
        {
            found.extend(messages.into_iter().map(|message| (message.id, message.hash)));
        }
    }
    found
}

fn purge(store: &Store, first: u64, last: u64) -> Erased {
    let range = MessageRange { session: "ses_a".to_owned(), first, last };
    let purge = Purge {
        by: "somebody".to_owned(),
        frames: store.read(|view| view.frames_in("ses_a")).unwrap(),
        ranges: vec![range],
        ..Purge::default()
    };
    let returned = |_: &View<'_>, _: &Span| Ok::<_, StoreError>("said anew".to_owned());
    store.purge(5_000, |_| Ok(purge), &returned).unwrap();
    store.erase().unwrap()
}

#[test]
fn nothing_of_it_is_left_in_any_file_and_it_never_comes_back() {
    let project = Project::new();
    let store = project.open();
    record(&store, "ses_a", &[("m1", GONE)]);
    let identity = store.read(|view| view.identity()).unwrap();
    carry_out(&store, &root("ses_a", None), &Limits::default()).unwrap();
    record(&store, "ses_a", &[("m2", KEPT), ("m1", "\"zqxvkj wobble\"")]);
    index(&store);
    // Another process, which has the files open.
    let other = project.open();
    other.read(|view| view.messages("ses_a")).unwrap();
    assert!(!project.holding("zqxvkj").is_empty(), "it can be found while it is there");
    assert_eq!(purge(&store, 0, 1), Erased::Wholly);
    assert_eq!(project.holding("zqxvkj"), Vec::<String>::new());
    assert!(!project.holding("yplumbus").is_empty());
    for store in [&store, &other] {
        let messages = store.read(|view| view.messages("ses_a")).unwrap();
        assert!(messages[0].purged && messages[0].at == 5_000, "{messages:?}");
        assert_eq!((messages[1].purged, messages[1].json.as_str()), (false, KEPT));
        // A purged message that is shown again, changed or not, is not stored again; a new one is.
        assert_eq!(record(store, "ses_a", &[("m1", GONE), ("m2", KEPT)]), 0);
        assert_eq!(record(store, "ses_a", &[("m1", "\"zqxvkj again\"")]), 0);
    }
    assert_eq!(record(&other, "ses_a", &[("m3", "{}")]), 1);
    index(&store);
    assert_eq!(project.holding("zqxvkj"), Vec::<String>::new());
    for (id, hash) in hashes(&store) {
        assert_eq!(hash.is_empty(), id == "m1", "{id}");
    }
    store.rebuild().unwrap();
    assert_sound(&store);
    assert_eq!(store.read(|view| view.identity()).unwrap(), identity, "it is the same store");
    // In another session the message of that id is another one.
    assert_eq!(record(&store, "ses_b", &[("m1", GONE)]), 1);
}

#[test]
fn what_stays_and_what_is_new_after_it_are_found() {
    let project = Project::new();
    let store = project.open();
    record(&store, "ses_a", &[("m1", GONE), ("m1", "\"a newer version\""), ("m2", "\"it stays\"")]);
    index(&store);
    purge(&store, 0, 1);
    record(&store, "ses_a", &[("m3", KEPT)]);
    index(&store);
    let known = |letters: &str| {
        let known = Query::exact(letters).unwrap().known_anywhere().unwrap();
        let any = |_| Ok::<_, StoreError>(ControlFlow::Break(()));
        let is_known =
            |view: &View<'_>| view.visit_messages_known_by(&view.narrowed(&known)?, None, any);
        store.read(is_known).unwrap()
    };
    assert_eq!((known("plumb"), known("tay"), known("qxvk")), (true, true, false));
}

#[test]
fn frames_keep_their_places_in_the_transcript() {
    let project = Project::new();
    let store = project.open();
    let done = |command| carry_out(&store, &command, &Limits::default()).unwrap();
    done(root("ses_a", None));
    record(&store, "ses_a", &[("m1", KEPT), ("m2", GONE), ("m3", KEPT)]);
    done(push("ses_a", "frm-1", "inner"));
    done(pop("ses_a", "done"));
    let before = store.read(|view| view.ranges(FrameNum(1))).unwrap();
    purge(&store, 1, 2);
    assert_eq!(store.read(|view| view.ranges(FrameNum(1))).unwrap(), before);
    let frame = store.read(|view| view.frame_at("ses_a", 3)).unwrap();
    assert!(frame.is_some());
    assert_sound(&store);
}

#[test]
fn a_reader_that_stays_is_reported() {
    let project = Project::new();
    let store = project.open();
    record(&store, "ses_a", &[("m1", GONE)]);
    let reader = rusqlite::Connection::open(store.path()).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM messages").unwrap();
    assert_eq!(purge(&store, 0, 1), Erased::LogLeft);
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(purge(&store, 0, 1), Erased::Wholly);
    assert_eq!(project.holding("zqxvkj"), Vec::<String>::new());
}
