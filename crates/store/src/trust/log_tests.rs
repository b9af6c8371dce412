use std::fs;
use std::path::{Path, PathBuf};

use callstack_core::event::Event;
use tempfile::TempDir;

use super::{LogKey, LogMark, LogOrigin, MARK, RECORDED, logs_put_aside, origin};
use crate::error::StoreError;
use crate::locate::{DATABASE, FOLDER};
use crate::presence::{beside, id};
use crate::store::{Store, View};
use crate::trust::{DatabaseKey, Foreign, Registry};

/// A user with a project whose store has one event.
struct User {
    folder: TempDir,
}

impl User {
    fn new() -> Self {
        let user = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(user.project()).unwrap();
        append(&user.open().unwrap(), "mine");
        user
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    fn project(&self) -> PathBuf {
        self.root().join("project")
    }

    fn open(&self) -> Result<Store, StoreError> {
        Store::open(&self.registry().admit(&self.project()).unwrap())
    }

    fn registry(&self) -> Registry {
        Registry::new(&self.root().join("state"), |_, _| Ok(Vec::new()))
    }

    /// The file of the state folder that holds the mark.
    fn recorded(&self) -> PathBuf {
        let [record] = <[_; 1]>::try_from(self.registry().records().unwrap()).unwrap();
        self.registry().records.folder_of(&record.id).join(RECORDED)
    }

    fn store(&self) -> PathBuf {
        self.project().join(FOLDER)
    }

    fn database(&self) -> PathBuf {
        self.store().join(DATABASE)
    }

    fn log(&self) -> PathBuf {
        let [log, _] = beside(&self.database());
        log
    }

    /// Makes a log that puts a further event into the user's database, and returns its path.
    fn foreign_log(&self) -> PathBuf {
        let other = self.root().join("foreign");
        fs::create_dir_all(&other).unwrap();
        let database = other.join(DATABASE);
        fs::copy(self.database(), &database).unwrap();
        let store = Store::open_unchecked(&other).unwrap();
        append(&store, "foreign");
        let ([log, _], kept) = (beside(&database), self.root().join("foreign-wal"));
        fs::copy(log, &kept).unwrap();
        kept
    }
}

fn append(store: &Store, name: &str) {
    let event = Event::SettingSet { name: name.to_owned(), value: None };
    store.write(|change| change.append(1_000, &[event])).unwrap();
}

fn revision(store: &Store) -> i64 {
    store.read(|view: &View<'_>| view.revision()).unwrap()
}

/// Copies the files of a store, as they would lie there if its process was killed at this moment.
fn copy(from: &Path, to: &Path, names: &[&str]) {
    for name in names {
        fs::copy(from.join(name), to.join(name)).unwrap();
    }
}

#[test]
fn a_log_that_was_put_beside_the_database_is_put_aside() {
    let user = User::new();
    let foreign = user.foreign_log();
    fs::copy(&foreign, user.log()).unwrap();
    let store = user.open().unwrap();
    assert_eq!(revision(&store), 1);
    let [aside] = <[_; 1]>::try_from(logs_put_aside(&user.database())).unwrap();
    assert_eq!(fs::read(aside).unwrap(), fs::read(&foreign).unwrap());
    append(&store, "mine");
    drop(store);
    assert_eq!(revision(&user.open().unwrap()), 2);
}

#[test]
fn the_log_of_a_process_that_was_killed_is_taken_over() {
    let user = User::new();
    let killed = tempfile::tempdir().unwrap();
    let files = [DATABASE, "callstack.db-wal", MARK];
    let store = user.open().unwrap();
    append(&store, "mine");
    copy(&user.store(), killed.path(), &files);
    drop(store);
    assert!(!user.log().exists());
    // By either of its marks.
    let mark = fs::read(user.recorded()).unwrap();
    let marks = [user.recorded(), user.store().join(MARK)];
    for (gone, count) in [(0, 2), (1, 2)] {
        copy(killed.path(), &user.store(), &files);
        fs::write(&marks[1 - gone], &mark).unwrap();
        fs::remove_file(&marks[gone]).unwrap();
        assert_eq!(revision(&user.open().unwrap()), count);
        assert_eq!(logs_put_aside(&user.database()), Vec::<PathBuf>::new());
    }
    // With the marks of another log it is put aside, once for each time.
    for times in 1..3 {
        copy(killed.path(), &user.store(), &files);
        for mark in &marks {
            fs::write(mark, "0".repeat(64)).unwrap();
        }
        assert_eq!(revision(&user.open().unwrap()), 1);
        assert_eq!(logs_put_aside(&user.database()).len(), times);
    }
    // Unless the user says that it is theirs.
    copy(killed.path(), &user.store(), &files);
    for mark in &marks {
        fs::write(mark, "0".repeat(64)).unwrap();
    }
    let found = user.registry().inspect(&user.project()).unwrap().unwrap();
    assert_eq!((found.foreign, found.is_trusted), (Some(Foreign::Log), false));
    user.registry().take_over(&user.project()).unwrap();
    assert_eq!(revision(&user.open().unwrap()), 2);
}

#[test]
fn a_log_without_a_page_is_not_put_aside() {
    let user = User::new();
    let foreign = fs::read(user.foreign_log()).unwrap();
    drop(user.open().unwrap());
    for (bytes, expected) in [(32, 0), (32 + 24 + 100, 0), (32 + 24 + 4096, 1)] {
        fs::write(user.log(), &foreign[..bytes]).unwrap();
        drop(user.open().unwrap());
        assert_eq!(logs_put_aside(&user.database()).len(), expected, "{bytes}");
    }
}

#[test]
fn a_log_that_another_program_overwrites_in_place_is_neither_marked_nor_written_back() {
    let user = User::new();
    let foreign = fs::read(user.foreign_log()).unwrap();
    let before = fs::read(user.database()).unwrap();
    let (store, reader) = (user.open().unwrap(), user.open().unwrap());
    append(&store, "mine");
    assert_eq!(revision(&reader), 2);
    let mark = fs::read(user.recorded()).unwrap();
    fs::write(user.log(), &foreign).unwrap();
    let event = Event::SettingSet { name: "mine".to_owned(), value: None };
    assert!(store.write(|change| change.append(1_000, &[event])).is_err());
    drop((store, reader));
    assert_eq!(fs::read(user.recorded()).unwrap(), mark);
    assert_eq!(fs::read(user.database()).unwrap(), before);
    let store = user.open().unwrap();
    assert_eq!(revision(&store), 1);
    assert_eq!(store.check().unwrap().damage, Vec::<String>::new());
    assert_eq!(logs_put_aside(&user.database()).len(), 1);
}

#[test]
fn each_log_that_is_begun_again_is_marked() {
    let user = User::new();
    let killed = tempfile::tempdir().unwrap();
    let files = [DATABASE, "callstack.db-wal"];
    let (store, other) = (user.open().unwrap(), user.open().unwrap());
    let mut marks = Vec::new();
    for count in 2..5 {
        append(if count % 2 == 0 { &store } else { &other }, "mine");
        // Empties the log, so that the next change begins it again.
        store.erase().unwrap();
        append(&other, "mine");
        marks.push(fs::read(user.recorded()).unwrap());
    }
    let count = revision(&store);
    copy(&user.store(), killed.path(), &files);
    drop((store, other));
    marks.dedup();
    assert_eq!(marks.len(), 3);
    copy(killed.path(), &user.store(), &files);
    assert_eq!(revision(&user.open().unwrap()), count);
}

#[test]
fn a_log_that_another_program_began_is_marked_by_the_first_change() {
    let user = User::new();
    let killed = tempfile::tempdir().unwrap();
    let other = rusqlite::Connection::open(user.database()).unwrap();
    other.execute_batch("CREATE TABLE other (n)").unwrap();
    // It joins the log that is in use.
    let mut opened = rusqlite::Connection::open(user.database()).unwrap();
    opened.transaction().unwrap().query_row("SELECT 1", [], |_| Ok(())).unwrap();
    let key = DatabaseKey::of(&other).unwrap().unwrap();
    let key = LogKey::recorded(key, &user.database(), user.recorded().parent().unwrap());
    let log = id(&user.log()).unwrap();
    let mut mark = LogMark::new(key.clone(), &user.database(), log);
    assert_eq!(origin(&user.database(), &key).unwrap(), LogOrigin::Foreign);
    opened.execute_batch("INSERT INTO other VALUES (1)").unwrap();
    let pages = (fs::metadata(user.log()).unwrap().len() - 32) / (24 + 4096);
    mark.put(&user.database(), log, i32::try_from(pages).unwrap()).unwrap();
    copy(&user.store(), killed.path(), &[DATABASE, "callstack.db-wal"]);
    drop((other, opened));
    copy(killed.path(), &user.store(), &[DATABASE, "callstack.db-wal"]);
    drop(user.open().unwrap());
    assert_eq!(logs_put_aside(&user.database()), Vec::<PathBuf>::new());
}

#[test]
fn a_log_that_takes_the_place_of_the_one_in_use_is_not_read() {
    let user = User::new();
    let store = user.open().unwrap();
    append(&store, "mine");
    let foreign = user.foreign_log();
    let beside = user.root().join("renamed");
    fs::copy(&foreign, &beside).unwrap();
    fs::rename(&beside, user.log()).unwrap();
    assert_eq!(revision(&store), 2);
    append(&store, "mine");
    assert_eq!(revision(&store), 3);
    drop(store);
    let store = user.open().unwrap();
    assert_eq!(revision(&store), 3);
    let events = format!("{:?}", store.events_after(0, 10).unwrap());
    assert!(events.contains("mine") && !events.contains("foreign"), "{events}");
}

#[test]
fn a_log_of_a_database_without_a_key_on_record_is_taken_over() {
    let user = User::new();
    let foreign = user.foreign_log();
    fs::copy(&foreign, user.log()).unwrap();
    user.registry().take_over(&user.project()).unwrap();
    assert_eq!(revision(&user.open().unwrap()), 2);
    assert_eq!(logs_put_aside(&user.database()), Vec::<PathBuf>::new());
}

#[test]
fn the_mark_beside_the_database_is_enough() {
    let user = User::new();
    let killed = tempfile::tempdir().unwrap();
    let files = [DATABASE, "callstack.db-wal", MARK];
    // Not even root can write to a folder as if it were a file.
    let recorded = user.recorded();
    fs::remove_file(&recorded).unwrap();
    fs::create_dir(&recorded).unwrap();
    let store = user.open().unwrap();
    append(&store, "mine");
    copy(&user.store(), killed.path(), &files);
    drop(store);
    copy(killed.path(), &user.store(), &files);
    assert_eq!(revision(&user.open().unwrap()), 2);
    assert_eq!(logs_put_aside(&user.database()), Vec::<PathBuf>::new());
}

/// A container works with the same store from a home of its own.
#[test]
fn each_home_marks_a_log_that_another_one_began() {
    let user = User::new();
    let container = Registry::new(&user.root().join("container"), |_, _| Ok(Vec::new()));
    container.take_over(&user.project()).unwrap();
    let theirs = Store::open(&container.admit(&user.project()).unwrap()).unwrap();
    append(&theirs, "theirs");
    let is_marked =
        || fs::read(user.recorded()).unwrap() == fs::read(user.store().join(MARK)).unwrap();
    assert!(!is_marked());
    let store = user.open().unwrap();
    assert!(is_marked());
    theirs.erase().unwrap();
    append(&theirs, "theirs");
    assert!(!is_marked());
    append(&store, "mine");
    assert!(is_marked());
}
