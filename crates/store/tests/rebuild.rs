//! Tables that do not match the log are named, and rebuilt.

use std::collections::{BTreeMap, BTreeSet};

use callstack_core::frame::FrameNum;
use callstack_store::Omitted;
use rusqlite::{Connection, params};

use crate::golden::{describe, fill};
use crate::support::{Project, assert_sound};

/// One damage for each derived table.
const DAMAGES: [(&str, &str); 14] = [
    ("aliases", "DELETE FROM aliases"),
    ("artifacts", "UPDATE artifacts SET hash = NULL"),
    ("compactions", "UPDATE compactions SET notice = 'told'"),
    ("decisions", "UPDATE decisions SET text = 'another'"),
    ("frame_counts", "UPDATE frame_counts SET n = n + 1 WHERE parent = -1"),
    ("frame_words", "DELETE FROM frame_words"),
    ("frames", "UPDATE frames SET title = 'another' WHERE num = 2"),
    ("pending_compactions", "DELETE FROM pending_compactions"),
    ("pins", "UPDATE pins SET removed = 1"),
    ("renders", "UPDATE renders SET text = 'another'"),
    ("session_states", "UPDATE session_states SET value = 'another'"),
    ("sessions", "UPDATE sessions SET active = NULL"),
    ("settings", "UPDATE settings SET value = 'another'"),
    ("spans", "UPDATE spans SET closed = 0"),
];

/// Every row of every table.
fn rows(raw: &Connection) -> BTreeMap<String, Vec<String>> {
    let tables: Vec<String> = raw
        // The search index follows the other tables.
        .prepare(
            "SELECT name FROM sqlite_schema
             WHERE type = 'table' AND name NOT LIKE '%\\_terms%' ESCAPE '\\'
               AND name NOT LIKE 'word%' AND name NOT LIKE '%vocabulary'",
        )
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let all = |table: &str| {
        let mut select = raw.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = select.column_count();
        let mut rows: Vec<String> = select
            .query_map([], |row| {
                (0..columns)
                    .map(|column| row.get_ref(column).map(|it| format!("{it:?}")))
                    .collect::<Result<String, _>>()
            })
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        rows.sort_unstable();
        rows
    };
    tables.into_iter().map(|table| (table.clone(), all(&table))).collect()
}

#[test]
fn a_damaged_table_is_named_left_alone_and_restored() {
    for (table, damage) in DAMAGES {
        let project = Project::new();
        let store = project.open();
        fill(&store);
        assert_sound(&store);
        let raw = Connection::open(project.database()).unwrap();
        let whole = rows(&raw);
        assert!(raw.execute(damage, []).unwrap() > 0, "nothing to damage in {table}");
        let damaged = rows(&raw);
        assert_ne!(damaged, whole, "{table}");

        let health = store.check().unwrap();
        assert_eq!(health.drifted, [table]);
        assert_eq!(health.damage, Vec::<String>::new());
        assert_eq!(rows(&raw), damaged, "checking {table} changed something");

        let rebuilt = store.rebuild().unwrap();
        assert_eq!((rebuilt.events, rebuilt.omitted), (health.events, health.omitted));
        assert_sound(&store);
        assert_eq!(rows(&raw), whole, "{table} was not restored");
    }
}

#[test]
fn everything_is_restored_from_the_log_alone() {
    let project = Project::new();
    let store = project.open();
    fill(&store);
    let before = describe(&store);
    let raw = Connection::open(project.database()).unwrap();
    raw.pragma_update(None, "foreign_keys", "OFF").unwrap();
    for (table, _) in DAMAGES {
        raw.execute(&format!("DELETE FROM {table}"), []).unwrap();
    }
    assert_eq!(store.check().unwrap().drifted.len(), DAMAGES.len());
    store.rebuild().unwrap();
    assert_sound(&store);
    assert_eq!(describe(&store), before);
}

/// The numbers of the events that a store leaves out, and the frames that go with them.
fn left_out(omitted: &Omitted) -> (Vec<i64>, &[FrameNum]) {
    (omitted.events.iter().map(|event| event.seq).collect(), &omitted.frames)
}

#[test]
fn an_event_that_can_not_be_read_is_left_out_kept_and_named() {
    let unheard = &b"{\"kind\":\"unheard_of\",\"frame\":2}"[..];
    for body in [unheard, b"{\"kind\":\"frame_cre", b"\xff\xfe", b""] {
        let project = Project::new();
        let store = project.open();
        fill(&store);
        let raw = Connection::open(project.database()).unwrap();
        let ended: i64 = raw
            .query_row(
                "SELECT min(seq) FROM events WHERE body LIKE '{\"kind\":\"frame_ended\"%'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        raw.execute(
            "UPDATE events SET body = CAST(?1 AS TEXT) WHERE seq = ?2",
            params![body, ended],
        )
        .unwrap();
        let before = rows(&raw);

        let health = store.check().unwrap();
        assert_eq!(left_out(&health.omitted), (vec![ended], &[][..]));
        assert_eq!(health.damage, [""; 0]);
        assert!(health.drifted.contains(&"frames".to_owned()), "{:?}", health.drifted);
        assert_eq!(rows(&raw), before, "checking changed something");
        let named = &health.omitted.events[0];
        let is_whole = body == unheard;
        assert_eq!(named.kind.as_deref(), is_whole.then_some("unheard_of"));
        assert_eq!(named.frame, is_whole.then_some(FrameNum(2)));

        let rebuilt = store.rebuild().unwrap();
        assert_eq!((rebuilt.events, &rebuilt.omitted), (health.events, &health.omitted));
        let after = rows(&raw);
        assert_eq!(after["events"], before["events"]);
        assert_ne!(after["frames"], before["frames"]);
        assert_eq!(store.check().unwrap().drifted, [""; 0]);
        // Search and the mark of the store go on, too.
        while store.write(|change| change.index(1 << 20, &str::to_owned)).unwrap() {}
        assert!(store.read(|view| view.identity()).unwrap().is_some());
        assert_eq!(store.unreadable_events().unwrap(), 1);
    }
}

/// Events that refer to a frame whose beginning is lost are left out as well, and all other frames stay.
#[test]
fn each_event_of_the_log_may_be_the_one_that_can_not_be_read() {
    let project = Project::new();
    let store = project.open();
    fill(&store);
    let raw = Connection::open(project.database()).unwrap();
    let events: Vec<(i64, String)> = raw
        .prepare("SELECT seq, body FROM events ORDER BY seq")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let update = "UPDATE events SET body = ?1 WHERE seq = ?2";
    let mut lost = BTreeSet::new();
    for (seq, body) in &events {
        raw.execute(update, params!["{", seq]).unwrap();
        let rebuilt = store.rebuild().unwrap();
        assert_eq!(rebuilt.omitted.events[0].seq, *seq, "{body}");
        assert_eq!(rebuilt.events, events.len() as u64);
        assert_eq!(store.check().unwrap().drifted, [""; 0], "{body}");
        assert_eq!(store.check().unwrap().damage, [""; 0], "{body}");
        let created = body.starts_with("{\"kind\":\"frame_created\"");
        assert_eq!(!rebuilt.omitted.frames.is_empty(), created, "{body}");
        lost.extend(rebuilt.omitted.frames);
        while store.write(|change| change.index(1 << 20, &str::to_owned)).unwrap() {}

        raw.execute(update, params![body, seq]).unwrap();
        assert_eq!(store.rebuild().unwrap().omitted, Omitted::default());
    }
    assert!(lost.len() > 1);
    assert_sound(&store);
}
