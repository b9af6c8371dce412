//! Reads and writes of one store object at the same time.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc;
use std::thread;

use callstack_core::event::Event;
use callstack_store::{Store, StoreError};

use crate::support::{Project, append};

fn set(value: &str) -> Event {
    Event::SettingSet { name: "STACK_LOG".to_owned(), value: Some(value.to_owned()) }
}

fn revision(store: &Store) -> i64 {
    store.read(|view| view.revision()).unwrap()
}

#[test]
fn a_long_read_stops_no_write_and_sees_none() {
    let project = Project::new();
    let store = project.open();
    append(&store, &[set("on")]);
    store
        .read(|view| {
            assert_eq!(view.revision()?, 1);
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        append(&store, &[set("off")]);
                        assert!(revision(&store) > 1, "the last write of the process is seen");
                    });
                }
            });
            assert_eq!(view.revision()?, 1, "all that is read belongs together");
            Ok::<_, StoreError>(())
        })
        .unwrap();
    assert_eq!(revision(&store), 4);
}

#[test]
fn a_read_within_a_read_does_not_wait_for_itself() {
    fn nested(store: &Store, depth: u32) -> i64 {
        if depth == 0 {
            return revision(store);
        }
        store.read(|_| Ok::<_, StoreError>(nested(store, depth - 1))).unwrap()
    }
    let project = Project::new();
    let store = project.open();
    append(&store, &[set("on")]);
    for depth in [1, 8, 1, 8] {
        assert_eq!(nested(&store, depth), 1);
    }
    // A write within a read is not part of the read's transaction, and a read within a write does not see the write.
    store.read(|_| store.write(|change| change.append(1, &[set("off")]))).unwrap();
    assert_eq!(revision(&store), 2);
    store
        .write(|change| {
            change.append(1, &[set("on")])?;
            assert_eq!(revision(&store), 2);
            Ok::<_, StoreError>(())
        })
        .unwrap();
    assert_eq!(revision(&store), 3);
}

#[test]
fn a_store_that_can_only_be_read_is_read_within_a_read() {
    let project = Project::new();
    let store = project.open();
    append(&store, &[set("on")]);
    drop(store);
    let folder = project.folder();
    fs::set_permissions(project.database(), fs::Permissions::from_mode(0o400)).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    let store = Store::open_unchecked(&folder).unwrap();
    let inner = store.read(|_| store.read(|view| view.revision()));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(store.is_read_only());
    assert_eq!(inner.unwrap(), 1);
}

#[test]
fn what_vanishes_during_a_read_is_made_again_by_the_next_call() {
    let project = Project::new();
    let store = project.open();
    append(&store, &[set("on")]);
    // Opens a further connection, and gives it back.
    store.read(|_| store.read(|view| view.revision())).unwrap();
    store
        .read(|view| {
            fs::remove_dir_all(project.path().join(callstack_store::FOLDER)).unwrap();
            assert_eq!(revision(&store), 1);
            append(&store, &[set("off")]);
            view.revision()
        })
        .unwrap();
    assert_eq!(revision(&store), 2);
    drop(store);
    assert_eq!(revision(&project.open()), 2);
}

#[test]
fn what_vanishes_while_no_further_connection_is_there_is_an_error_and_no_hang() {
    let project = Project::new();
    let store = project.open();
    append(&store, &[set("on")]);
    let inner = store.read(|_| {
        fs::remove_dir_all(project.path().join(callstack_store::FOLDER)).unwrap();
        Ok::<_, StoreError>(store.read(|view| view.revision()))
    });
    assert!(matches!(inner, Ok(Err(StoreError::Disturbed { .. }))), "{inner:?}");
    assert_eq!(revision(&store), 1);
}

#[test]
fn that_another_store_has_taken_the_place_is_said_once() {
    let (project, other) = (Project::new(), Project::new());
    let store = project.open();
    append(&store, &[set("on")]);
    store.read(|_| store.read(|view| view.revision())).unwrap();
    let another = other.open();
    append(&another, &[set("a"), set("b")]);
    drop(another);
    for end in ["-wal", "-shm"] {
        fs::remove_file(format!("{}{end}", project.database().display())).unwrap();
    }
    fs::rename(other.database(), project.database()).unwrap();
    let outcome = store.read(|view| view.revision());
    assert!(matches!(outcome, Err(StoreError::Replaced { .. })), "{outcome:?}");
    let inner = store.read(|_| store.read(|view| view.revision()));
    assert_eq!(inner.unwrap(), 2, "neither connection has anything more to say");
}

#[test]
fn many_threads_write_and_read_one_store() {
    const THREADS: i64 = 8;
    const EACH: i64 = 40;
    let project = Project::new();
    let store = project.open();
    let (done, newest) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let done = done.clone();
            scope.spawn(|| {
                let done = done;
                for _ in 0..EACH {
                    let own = store
                        .write(|change| {
                            change.append(1, &[set("on")])?;
                            change.view().revision()
                        })
                        .unwrap();
                    assert!(revision(&store) >= own);
                    done.send(own).unwrap();
                }
            });
        }
    });
    drop(done);
    let mut numbers: Vec<_> = newest.iter().collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=THREADS * EACH).collect::<Vec<_>>());
}
