use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use callstack_core::event::Event;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::error::StoreError;
use crate::locate::{DATABASE, FOLDER};
use crate::store::{Store, View};
use crate::trust::{Distrust, Foreign, Registry, Trusted};

/// A user with two projects that have stores.
struct User {
    folder: TempDir,
}

impl User {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let user = Self { folder };
        for project in ["mine", "other"] {
            fs::create_dir(user.root().join(project)).unwrap();
            mark(&user.open(project).unwrap(), project);
        }
        user
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn registry(&self) -> Registry {
        Registry::new(&self.root().join("state"), |_, _| Ok(Vec::new()))
    }

    fn admit(&self, project: &str) -> Trusted {
        self.registry().admit(&self.root().join(project)).unwrap()
    }

    fn open(&self, project: &str) -> Result<Store, StoreError> {
        Store::open(&self.admit(project))
    }

    fn database(&self, project: &str) -> PathBuf {
        self.root().join(project).join(FOLDER).join(DATABASE)
    }
}

/// Puts an event into a store that tells it from others.
fn mark(store: &Store, name: &str) {
    let event = Event::SettingSet { name: name.to_owned(), value: None };
    store.write(|change| change.append(1_000, &[event])).unwrap();
}

fn is_refused<T: std::fmt::Debug>(outcome: Result<T, StoreError>) {
    match outcome {
        Err(StoreError::Distrusted(Distrust::OtherDatabase { .. })) => {}
        other => panic!("{other:?}"),
    }
}

fn newest_event(view: &View<'_>) -> Result<i64, StoreError> {
    view.revision()
}

fn revision(store: &Store) -> i64 {
    store.read(newest_event).unwrap()
}

#[test]
fn a_database_in_the_place_of_the_users_is_refused_and_left_as_it_is() {
    let user = User::new();
    let (mine, backup) = (user.database("mine"), user.root().join("backup.db"));
    fs::copy(&mine, &backup).unwrap();
    fs::copy(user.database("other"), &mine).unwrap();
    let before = fs::read(&mine).unwrap();
    is_refused(user.open("mine"));
    assert_eq!(fs::read(&mine).unwrap(), before);
    let found = user.registry().inspect(&user.root().join("mine")).unwrap().unwrap();
    assert_eq!((found.foreign, found.is_trusted), (Some(Foreign::Database), false));

    // A backup of the user's own has the key.
    fs::copy(&backup, &mine).unwrap();
    assert_eq!(revision(&user.open("mine").unwrap()), 1);
    // Where there is none, the one that is kept comes back, and without that one is made that has it, too.
    fs::remove_file(&mine).unwrap();
    assert_eq!(revision(&user.open("mine").unwrap()), 1);
    let kept = user.registry().admit(&user.root().join("mine")).unwrap();
    fs::remove_file(kept.states().unwrap().join(crate::kept::KEPT)).unwrap();
    fs::remove_file(&mine).unwrap();
    assert_eq!(revision(&user.open("mine").unwrap()), 0);
    assert_eq!(revision(&user.open("mine").unwrap()), 0);
    let found = user.registry().inspect(&user.root().join("mine")).unwrap().unwrap();
    assert!(found.is_trusted);
}

#[test]
fn another_database_in_a_project_that_was_moved_is_named() {
    let user = User::new();
    let moved = user.root().join("moved");
    fs::rename(user.root().join("mine"), &moved).unwrap();
    let inspect = || user.registry().inspect(&moved).unwrap().unwrap();
    assert_eq!(inspect().foreign, None);
    fs::copy(user.database("other"), moved.join(FOLDER).join(DATABASE)).unwrap();
    assert_eq!((inspect().foreign, inspect().is_trusted), (Some(Foreign::Database), false));
}

#[test]
fn a_database_that_was_put_there_is_used_once_it_is_trusted() {
    let user = User::new();
    fs::copy(user.database("other"), user.database("mine")).unwrap();
    is_refused(user.open("mine"));
    user.registry().take_over(&user.root().join("mine")).unwrap();
    assert_eq!(revision(&user.open("mine").unwrap()), 1);
    // From then on it is the one on record.
    drop(user.open("mine").unwrap());
    assert_eq!(revision(&user.open("other").unwrap()), 1);
}

#[test]
fn a_database_that_replaces_an_open_one_is_refused() {
    let user = User::new();
    let store = user.open("mine").unwrap();
    let (mine, aside) = (user.database("mine"), user.root().join("aside.db"));
    fs::rename(&mine, &aside).unwrap();
    fs::copy(user.database("other"), &mine).unwrap();
    for _ in 0..2 {
        for outcome in
            [store.read(newest_event).map(drop), store.write(|change| change.append(1_000, &[]))]
        {
            let error = outcome.unwrap_err().to_string();
            assert!(error.contains("is not the database that callstack made here"), "{error}");
        }
    }
    // Once it is gone, the process makes the store again from what it holds.
    fs::remove_file(&mine).unwrap();
    mark(&store, "again");
    assert_eq!(revision(&store), 2);
    drop(store);
    assert_eq!(revision(&user.open("mine").unwrap()), 2);
}

#[test]
fn a_database_from_before_there_were_keys_gets_one_unless_one_is_on_record() {
    let user = User::new();
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/schema-5.db");
    fs::create_dir(user.root().join("old")).unwrap();
    drop(user.admit("old"));
    fs::copy(&old, user.database("old")).unwrap();
    let events = revision(&user.open("old").unwrap());
    assert!(events > 0);
    assert_eq!(revision(&user.open("old").unwrap()), events);

    fs::copy(&old, user.database("mine")).unwrap();
    is_refused(user.open("mine"));
}

#[test]
fn a_key_is_read_from_a_table_only() {
    let user = User::new();
    let mine = user.database("mine");
    let key = Connection::open(&mine)
        .unwrap()
        .query_row("SELECT key FROM store_key", [], |row| row.get::<_, String>(0))
        .unwrap();
    fs::copy(user.database("other"), &mine).unwrap();
    let view = format!("DROP TABLE store_key; CREATE VIEW store_key AS SELECT '{key}' AS key");
    Connection::open(&mine).unwrap().execute_batch(&view).unwrap();
    is_refused(user.open("mine"));
}

/// It may come from a program for looking at databases, or change what is stored.
#[test]
fn a_view_or_a_trigger_is_refused_by_its_name() {
    for (kind, code) in [
        ("view", "CREATE VIEW recent AS SELECT * FROM events"),
        ("trigger", "CREATE TRIGGER recent AFTER INSERT ON events BEGIN SELECT 1; END"),
    ] {
        let user = User::new();
        let execute = |code: &str| {
            Connection::open(user.database("mine")).unwrap().execute_batch(code).unwrap();
        };
        execute(code);
        let error = user.open("mine").unwrap_err().to_string();
        assert!(error.contains(&format!("has the {kind} \"recent\"")), "{error}");
        execute(&format!("DROP {kind} recent"));
        assert_eq!(revision(&user.open("mine").unwrap()), 1);
    }
}

#[test]
fn projects_that_are_named_are_not_asked() {
    let user = User::new();
    fs::copy(user.database("other"), user.database("mine")).unwrap();
    let project = user.root().join("mine");
    let trusted = user.registry().trusting([project.clone()]).admit(&project).unwrap();
    assert_eq!(revision(&Store::open(&trusted).unwrap()), 1);
    is_refused(user.open("mine"));
}

#[test]
fn a_store_that_is_deleted_while_a_process_writes_to_it_stays_deleted() {
    let user = User::new();
    let (store, trusted) = (user.open("mine").unwrap(), user.admit("mine"));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let event = Event::SettingSet { name: "a".to_owned(), value: None };
                // Whether one is refused depends on the moment.
                drop(store.write(|change| change.append(1_000, &[event])));
            }
        });
        std::thread::sleep(Duration::from_millis(20));
        let deleted = user.registry().delete(&trusted);
        std::thread::sleep(Duration::from_millis(100));
        is_over.store(true, Ordering::Relaxed);
        deleted.unwrap();
    });
    assert!(store.write(|change| change.append(1_000, &[])).is_err());
    assert!(!user.root().join("mine").join(FOLDER).exists());
}

#[test]
fn a_store_that_is_begun_after_another_was_deleted_gets_nothing_of_it() {
    let user = User::new();
    let (old, trusted) = (user.open("mine").unwrap(), user.admit("mine"));
    user.registry().delete(&trusted).unwrap();
    // It is refused as long as this process has the old one open.
    let begun = user.admit("mine");
    assert!(Store::open(&begun).is_err());
    assert!(old.read(newest_event).is_err());
    drop(old);
    assert_eq!(revision(&Store::open(&begun).unwrap()), 0);
}

#[test]
fn a_rollback_journal_is_refused() {
    let user = User::new();
    let mut journal = user.database("mine").into_os_string();
    journal.push("-journal");
    fs::write(&journal, "x").unwrap();
    let project = user.root().join("mine");
    for registry in [user.registry(), user.registry().trusting([project.clone()])] {
        let refused = Store::open(&registry.admit(&project).unwrap());
        let is_named = matches!(&refused, Err(StoreError::Distrusted(Distrust::Journal { path })) if *path == journal);
        assert!(is_named, "{refused:?}");
    }
    fs::remove_file(&journal).unwrap();
    assert_eq!(revision(&user.open("mine").unwrap()), 1);
}

#[test]
fn nothing_of_another_database_is_read_before_its_key() {
    let user = User::new();
    let store = user.open("mine").unwrap();
    let (mine, aside) = (user.database("mine"), user.root().join("aside.db"));
    fs::rename(&mine, &aside).unwrap();
    fs::copy(user.database("other"), &mine).unwrap();
    let endless =
        "DROP TABLE events; CREATE VIEW events AS WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL
                   SELECT seq + 1 FROM n) SELECT seq, seq AS at, '' AS body FROM n";
    Connection::open(&mine).unwrap().execute_batch(endless).unwrap();
    let error = store.read(newest_event).unwrap_err().to_string();
    assert!(error.contains("is not the database that callstack made here"), "{error}");
}
