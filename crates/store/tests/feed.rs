//! The event log as readers follow it, while others write, purge and exchange the files.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use callstack_core::event::Event;
use callstack_core::frame::FrameNum;
use callstack_core::transcript::Span;
use callstack_store::{
    EventBatch, EventCursor, LoggedEvent, MessageRange, Purge, Store, StoreError, View, Watch,
};
use proptest::prelude::*;

use crate::child::{Process, WIDE};
use crate::support::{Project, append, carry_out, pop, push, record, root};

/// Far more time than anything needs: a wait that lasts so long has failed.
const LONG: Duration = Duration::from_mins(1);

fn set(value: &str) -> Event {
    Event::SettingSet { name: "STACK_LOG".to_owned(), value: Some(value.to_owned()) }
}

fn events(batch: EventBatch) -> Vec<LoggedEvent> {
    match batch {
        EventBatch::Events(events) => events,
        EventBatch::Gap { newest } => panic!("a gap up to {newest}"),
    }
}

fn all(store: &Store) -> Vec<LoggedEvent> {
    events(store.events_after(0, usize::MAX).unwrap())
}

/// Follows a store until `is_enough`, with a new reader after every batch.
fn follow(
    folder: &std::path::Path,
    limit: usize,
    is_enough: impl Fn(&[LoggedEvent]) -> bool,
) -> Vec<LoggedEvent> {
    let mut seen = Vec::new();
    let mut cursor = EventCursor::START;
    while !is_enough(&seen) {
        let store = Arc::new(Store::open_unchecked(folder).unwrap());
        // As it comes back from a client.
        let mut watch = Watch::new(store, cursor.to_string().parse::<EventCursor>().unwrap());
        assert!(watch.wait(LONG).unwrap(), "nothing came after {cursor}");
        seen.extend(events(watch.next_batch(limit).unwrap()));
        cursor = watch.cursor();
    }
    seen
}

#[test]
fn readers_see_what_several_processes_write_once_and_in_order() {
    const PROCESSES: usize = 3;
    let project = Project::new();
    let folder = project.folder();
    drop(project.open());
    let mut processes: Vec<_> = (0..PROCESSES)
        .map(|number| Process::start(&format!("work ses_{number} 20"), &folder))
        .collect();
    let ended = |seen: &[LoggedEvent]| {
        let ends = |it: &&LoggedEvent| matches!(it.event, Some(Event::FrameEnded { .. }));
        seen.iter().filter(ends).count() == PROCESSES * 20
    };
    let readers: Vec<_> = [1, 7, 1_000]
        .map(|limit| {
            let folder = folder.clone();
            thread::spawn(move || follow(&folder, limit, ended))
        })
        .into_iter()
        .collect();
    for process in &mut processes {
        while process.says().is_some() {}
        assert!(process.wait().success());
    }
    let expected = all(&project.open());
    assert!(expected.iter().zip(1..).all(|(event, seq)| event.seq == seq));
    for reader in readers {
        let seen = reader.join().unwrap();
        assert_eq!(seen[..], expected[..seen.len()]);
        assert!(ended(&seen));
    }
}

#[test]
fn an_event_names_its_session_and_frame() {
    let store = Store::in_memory().unwrap();
    let root = carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    let frame = carry_out(&store, &push("ses_a", "frm-1", "one"), &WIDE).unwrap();
    let log = all(&store);
    let subjects: Vec<_> =
        log.iter().map(|it| (it.session(), it.frame())).filter(|it| it.0.is_some()).collect();
    assert!(subjects.contains(&(Some("ses_a"), Some(root))), "{subjects:?}");
    assert!(subjects.contains(&(Some("ses_a"), Some(frame))), "{subjects:?}");
    assert!(log.iter().all(|it| it.at == 1_000));
}

#[test]
fn a_batch_is_bounded_by_count_and_size() {
    let store = Store::in_memory().unwrap();
    let long = "x".repeat(3 << 20);
    append(&store, &[set(&long), set(&long), set(&long), set("short"), set("short")]);
    let seqs = |after: u64, limit| -> Vec<u64> {
        let batch = events(store.events_after(after, limit).unwrap());
        batch.iter().map(|event| event.seq).collect()
    };
    assert_eq!(seqs(0, 100), [1, 2], "8 MB");
    assert_eq!(seqs(2, 100), [3, 4, 5]);
    assert_eq!(seqs(2, 2), [3, 4]);
    assert!(seqs(5, 100).is_empty());
    assert!(seqs(0, 0).is_empty());
}

#[test]
fn a_body_that_cannot_be_read_keeps_its_place() {
    let project = Project::new();
    let store = project.open();
    append(&store, &[set("on"), set("off")]);
    let raw = rusqlite::Connection::open(store.path()).unwrap();
    raw.execute("INSERT INTO events (at, body) VALUES (7, '{\"kind\":\"of_tomorrow\"}')", [])
        .unwrap();
    append(&store, &[set("on")]);
    let log = all(&store);
    assert_eq!(log.iter().map(|it| it.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!((log[2].at, &log[2].event), (7, &None));
}

#[test]
fn a_purge_is_an_event_and_earlier_ones_lose_what_was_purged() {
    let project = Project::new();
    let store = Arc::new(project.open());
    carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    record(&store, "ses_a", &[("msg-1", "\"zqxvkj wibble\"")]);
    let before = all(&store);
    let hashed = |log: &[LoggedEvent]| {
        let recorded = log.iter().find_map(|it| match &it.event {
            Some(Event::MessagesRecorded { messages, .. }) => Some(messages[0].hash.clone()),
            _ => None,
        });
        !recorded.unwrap().is_empty()
    };
    assert!(hashed(&before));
    let mut watch = Watch::new(Arc::clone(&store), before.last().unwrap().cursor());
    let whole = MessageRange { session: "ses_a".to_owned(), first: 0, last: u64::MAX >> 1 };
    let purge = Purge { by: "somebody".to_owned(), ranges: vec![whole], ..Purge::default() };
    let returned = |_: &View<'_>, _: &Span| Ok::<_, StoreError>("rendered again".to_owned());
    store.purge(5_000, |_| Ok(purge), &returned).unwrap();
    store.erase().unwrap();
    assert!(watch.wait(LONG).unwrap());
    let seen = events(watch.next_batch(100).unwrap());
    assert!(seen.iter().any(|it| matches!(it.event, Some(Event::Purged { .. }))), "{seen:?}");
    let after = all(&store);
    assert_eq!(after.len(), before.len() + seen.len(), "no event is deleted");
    assert!(!hashed(&after));
}

/// Asserts the answers for a reader whose place is not in the log.
fn assert_gap(watch: &mut Watch, length: u64) {
    assert!(watch.wait(LONG).unwrap(), "a gap is nothing to wait for");
    let batch = watch.next_batch(100).unwrap();
    let EventBatch::Gap { newest } = batch else { panic!("{batch:?}") };
    assert_eq!(newest.seq, length);
    assert_eq!(watch.cursor(), newest);
    assert!(!watch.wait(Duration::ZERO).unwrap());
}

#[test]
fn a_place_that_is_not_in_the_log_is_answered_with_a_gap() {
    let store = Arc::new(Store::in_memory().unwrap());
    append(&store, &[set("on"), set("off")]);
    for text in ["3", "3-1000", "2-999", "1-1001", "18446744073709551615"] {
        let mut watch = Watch::new(Arc::clone(&store), text.parse::<EventCursor>().unwrap());
        assert_gap(&mut watch, 2);
        append(&store, &[]);
    }
    for text in ["0", "1", "1-1000", "2", "2-1000"] {
        let cursor: EventCursor = text.parse().unwrap();
        assert_eq!(cursor.to_string(), text);
        let rest = events(store.events_after(cursor, 100).unwrap());
        assert_eq!(rest.len() as u64, 2 - cursor.seq);
    }
    for text in ["", "-", "x", "-1", "1-", "1-x", "1 ", "18446744073709551616"] {
        assert!(text.parse::<EventCursor>().is_err(), "{text:?}");
    }
}

#[test]
fn a_store_that_takes_the_place_of_another_one_is_a_gap() {
    let (project, other) = (Project::new(), Project::new());
    let store = Arc::new(project.open());
    append(&store, &[set("on"), set("off")]);
    let mut from_the_start = Watch::new(Arc::clone(&store), EventCursor::START);
    let mut watch = Watch::new(Arc::clone(&store), EventCursor::START);
    events(watch.next_batch(100).unwrap());
    let another = other.open();
    another.write(|change| change.append(2_000, &[set("a"), set("b"), set("c")])).unwrap();
    drop(another);
    for end in ["-wal", "-shm"] {
        fs::remove_file(format!("{}{end}", project.database().display())).unwrap();
    }
    fs::rename(other.database(), project.database()).unwrap();
    // It is longer than the first one was, so that only the events' times show the difference.
    assert_gap(&mut watch, 3);
    let batch = from_the_start.next_batch(100).unwrap();
    assert_eq!(events(batch).len(), 3, "a reader that has read nothing has missed nothing");
}

#[test]
fn an_older_state_of_the_same_store_is_a_gap() {
    let project = Project::new();
    let store = Arc::new(project.open());
    append(&store, &[set("on")]);
    let backup = project.path().join("backup.db");
    let raw = rusqlite::Connection::open(store.path()).unwrap();
    raw.execute("VACUUM INTO ?1", [backup.to_str().unwrap()]).unwrap();
    drop(raw);
    append(&store, &[set("off")]);
    let mut watch = Watch::new(Arc::clone(&store), EventCursor::START);
    assert_eq!(events(watch.next_batch(100).unwrap()).len(), 2);
    let mut raw = rusqlite::Connection::open(store.path()).unwrap();
    raw.restore(rusqlite::MAIN_DB, &backup, None::<fn(rusqlite::backup::Progress)>).unwrap();
    assert_gap(&mut watch, 1);
}

#[test]
fn a_stopped_watch_waits_no_longer() {
    let store = Arc::new(Store::in_memory().unwrap());
    let mut watch = Watch::new(Arc::clone(&store), EventCursor::START);
    let mut other = Watch::new(store, EventCursor::START);
    let stopper = watch.stopper();
    let waiting = thread::spawn(move || (watch.wait(Duration::MAX).unwrap(), watch.is_stopped()));
    stopper.stop();
    assert_eq!(waiting.join().unwrap(), (false, true));
    assert!(!other.wait(Duration::ZERO).unwrap());
    assert!(!other.is_stopped(), "only one was stopped");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Two stores on one path write changes of several events each, some of which are rolled back, beside two readers.
    #[test]
    fn nothing_is_lost_doubled_or_out_of_order(
        changes in prop::collection::vec((0..2_usize, 0..4_u64, prop::bool::weighted(0.8)), 1..40),
        limit in 1..6_usize,
    ) {
        let project = Project::new();
        let folder = project.folder();
        let stores = [project.open(), project.open()];
        let mut expected: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (number, (store, count, is_kept)) in changes.iter().enumerate() {
            if *is_kept {
                let values = (0..*count).map(|it| format!("{number}.{it}"));
                expected.entry(*store).or_default().extend(values);
            }
        }
        let total = expected.values().map(Vec::len).sum::<usize>();
        let seen = thread::scope(|scope| {
            let changes = &changes;
            for (own, store) in stores.iter().enumerate() {
                scope.spawn(move || {
                    let mine = changes.iter().enumerate().filter(|(_, change)| change.0 == own);
                    for (number, (_, count, is_kept)) in mine {
                        let events: Vec<_> =
                            (0..*count).map(|it| set(&format!("{number}.{it}"))).collect();
                        let outcome = store.write(|change| {
                            change.append(1_000, &events)?;
                            if *is_kept { Ok(()) } else { Err(StoreError::NoFrame(String::new())) }
                        });
                        assert_eq!(outcome.is_ok(), *is_kept);
                    }
                });
            }
            let readers = [limit, 100].map(|limit| {
                let folder = &folder;
                scope.spawn(move || follow(folder, limit, |seen| seen.len() >= total))
            });
            readers.map(|reader| reader.join().unwrap())
        });
        prop_assert_eq!(&seen[0], &seen[1]);
        prop_assert!(seen[0].iter().zip(1..).all(|(event, seq)| event.seq == seq));
        let mut found: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for event in &seen[0] {
            let Some(Event::SettingSet { value: Some(value), .. }) = &event.event else {
                panic!("{event:?}");
            };
            let number: usize = value.split('.').next().unwrap().parse().unwrap();
            found.entry(changes[number].0).or_default().push(value.clone());
        }
        expected.retain(|_, values| !values.is_empty());
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_frame_is_followed_from_its_push_to_its_pop() {
    let project = Project::new();
    let store = Arc::new(project.open());
    carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    let newest = store.read(|view| view.newest_event()).unwrap();
    let mut watch = Watch::new(Arc::new(project.open()), newest);
    let frame = carry_out(&store, &push("ses_a", "frm-1", "one"), &WIDE).unwrap();
    carry_out(&store, &pop("ses_a", "done"), &WIDE).unwrap();
    let mut seen: Vec<(Option<FrameNum>, &str)> = Vec::new();
    assert!(watch.wait(LONG).unwrap());
    for event in events(watch.next_batch(100).unwrap()) {
        match event.event {
            Some(Event::FrameCreated { .. }) => seen.push((event.frame(), "created")),
            Some(Event::FrameEnded { .. }) => seen.push((event.frame(), "ended")),
            _ => {}
        }
    }
    assert_eq!(seen, [(Some(frame), "created"), (Some(frame), "ended")]);
}
