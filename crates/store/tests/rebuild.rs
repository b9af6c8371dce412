//! Tables that no longer say what the log says are named, and derived anew.

use std::collections::BTreeMap;

use rusqlite::Connection;
use rusqlite::types::Value;

use crate::golden::{describe, fill};
use crate::support::{Project, assert_sound};

/// One damage for each derived table.
const DAMAGES: [(&str, &str); 13] = [
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
    ("sessions", "UPDATE sessions SET active = NULL"),
    ("settings", "UPDATE settings SET value = 'another'"),
    ("spans", "UPDATE spans SET closed = 0"),
];

/// Every row of every table.
fn rows(raw: &Connection) -> BTreeMap<String, Vec<String>> {
    let tables: Vec<String> = raw
        // The search index catches up with whatever the other tables say.
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
                    .map(|column| row.get::<_, Value>(column).map(|it| format!("{it:?}")))
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

        assert_eq!(store.rebuild().unwrap(), health.events);
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

/// An event that no longer reads must not cost the tables that are still there.
#[test]
fn a_log_that_can_not_be_read_leaves_the_tables_as_they_are() {
    let project = Project::new();
    let store = project.open();
    fill(&store);
    let raw = Connection::open(project.database()).unwrap();
    raw.execute("UPDATE events SET body = '{\"kind\":\"unheard_of\"}' WHERE seq = 5", []).unwrap();
    let before = rows(&raw);
    let error = store.rebuild().unwrap_err();
    assert!(error.to_string().contains("unheard_of"), "{error}");
    assert!(store.check().is_err());
    assert_eq!(rows(&raw), before);
}
