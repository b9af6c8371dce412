//! Stores that are deleted, replaced or emptied while a process has them open.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use callstack_core::decide::Refusal;
use callstack_store::{Incident, Store, StoreError};
use proptest::prelude::*;

use crate::child::{Process, WIDE};
use crate::support::{Project, Refused, assert_sound, carry_out, pop, push, record, root};

/// A change to the files of a store.
type Way = (&'static str, fn(&Path));

fn remove(folder: &Path, ends: &[&str]) {
    for end in ends {
        let path = folder.join(format!("callstack.db{end}"));
        // A file that is not there need not go.
        let _gone = fs::remove_file(path);
    }
}

/// The ways that leave an open database whole.
const WAYS: [Way; 7] = [
    ("the folder goes", |folder| fs::remove_dir_all(folder).unwrap()),
    ("the folder is moved", |folder| {
        fs::rename(folder, folder.with_file_name("elsewhere")).unwrap();
    }),
    ("the files go", |folder| remove(folder, &["", "-wal", "-shm"])),
    ("the database goes", |folder| remove(folder, &[""])),
    ("the log goes", |folder| remove(folder, &["-wal"])),
    ("the index goes", |folder| remove(folder, &["-shm"])),
    ("log and index go", |folder| remove(folder, &["-wal", "-shm"])),
];

fn frames(project: &Project) -> usize {
    let mut reader = Process::start("count", &folder(project));
    let said = reader.says().expect("the store can't be opened");
    said.strip_suffix(" frames").unwrap().parse().unwrap()
}

fn folder(project: &Project) -> PathBuf {
    project.path().join(callstack_store::FOLDER)
}

fn filled(project: &Project) -> Store {
    let store = project.open();
    carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    carry_out(&store, &push("ses_a", "frm-1", "one"), &WIDE).unwrap();
    record(&store, "ses_a", &[("msg-1", &"words ".repeat(500))]);
    store
}

fn is_for_its_owner_only(path: &Path) -> bool {
    fs::metadata(path).unwrap().permissions().mode().trailing_zeros() >= 6
}

#[test]
fn a_store_that_vanished_before_a_write_is_made_again_with_all_that_it_held() {
    for (way, vanish) in WAYS {
        let project = Project::new();
        let store = filled(&project);
        vanish(&folder(&project));
        carry_out(&store, &push("ses_a", "frm-2", "two"), &WIDE)
            .unwrap_or_else(|error| panic!("{way}: {error:?}"));
        assert_eq!(frames(&project), 3, "{way}");
        assert_eq!(store.incidents(), [Incident::Restored], "{way}");
        assert_eq!(store.turns().generation(), 0);
        assert!(is_for_its_owner_only(&folder(&project)), "{way}");
        assert!(is_for_its_owner_only(store.path()), "{way}");
        assert!(folder(&project).join(".gitignore").exists());
        assert_sound(&store);
    }
}

#[test]
fn a_store_that_vanished_is_made_again_by_whoever_reads() {
    for (way, vanish) in WAYS {
        let project = Project::new();
        let store = filled(&project);
        vanish(&folder(&project));
        assert_eq!(store.read(|view| view.all_frames()).unwrap().len(), 2);
        assert_eq!(frames(&project), 2, "{way}");
        drop(store);
        assert_sound(&project.open());
    }
}

#[test]
fn what_is_written_while_a_store_vanishes_is_in_the_one_that_is_made() {
    for (way, vanish) in WAYS {
        let project = Project::new();
        let store = filled(&project);
        let body = callstack_store::MessageBody { id: "msg-2".to_owned(), json: "{}".to_owned() };
        store
            .write(|change| {
                change.record_messages(1, "ses_a", std::slice::from_ref(&body))?;
                vanish(&folder(&project));
                Ok::<_, StoreError>(())
            })
            .unwrap_or_else(|error| panic!("{way}: {error:?}"));
        drop(store);
        let messages = project.open().read(|view| view.messages("ses_a")).unwrap();
        assert_eq!(messages.len(), 2, "{way}");
    }
}

#[test]
fn all_connections_of_a_process_go_on_with_the_one_that_is_made() {
    for (way, vanish) in WAYS {
        let project = Project::new();
        let stores = [filled(&project), project.open(), project.open()];
        vanish(&folder(&project));
        for (store, id) in stores.iter().zip(["frm-2", "frm-3", "frm-4"]) {
            carry_out(store, &push("ses_a", id, id), &WIDE)
                .unwrap_or_else(|error| panic!("{way}: {error:?}"));
        }
        assert_eq!(stores[0].incidents(), [Incident::Restored], "{way}");
        drop(stores);
        assert_eq!(frames(&project), 5, "{way}");
    }
}

#[test]
fn a_deletion_that_goes_on_while_the_store_is_made_again_loses_nothing() {
    for rest in
        [["-wal", "-shm"].as_slice(), &["-wal"], &["-shm"], &["-shm", "-wal", "-checkpoint"]]
    {
        let project = Project::new();
        let stores = [filled(&project), project.open(), project.open()];
        remove(&folder(&project), &["", "-shm", "-wal"]);
        for (at, store) in stores.iter().enumerate() {
            let id = format!("frm-{at}a");
            carry_out(store, &push("ses_a", &id, &id), &WIDE)
                .unwrap_or_else(|error| panic!("{rest:?} {id}: {error:?}"));
            // The deleting program has listed these names before, and reaches the files that were just made.
            remove(&folder(&project), rest);
            let late = project.open();
            assert_eq!(late.read(|view| view.all_frames()).unwrap().len(), 3 + 2 * at, "{rest:?}");
            let id = format!("frm-{at}b");
            carry_out(&late, &push("ses_a", &id, &id), &WIDE)
                .unwrap_or_else(|error| panic!("{rest:?} {id}: {error:?}"));
        }
        for store in &stores {
            assert_eq!(store.read(|view| view.all_frames()).unwrap().len(), 8, "{rest:?}");
        }
        let incidents = stores[0].incidents();
        assert!(incidents.iter().all(|it| *it == Incident::Restored), "{rest:?}: {incidents:?}");
        drop(stores);
        assert_eq!(frames(&project), 8, "{rest:?}");
        assert_sound(&project.open());
    }
}

#[test]
fn processes_that_lose_their_store_at_once_make_one_of_it() {
    let project = Project::new();
    let store = filled(&project);
    let mut workers: Vec<_> =
        (0..3).map(|n| Process::start(&format!("work ses_{n} 40"), &project.folder())).collect();
    for worker in &mut workers {
        assert_eq!(worker.says().as_deref(), Some("root"));
    }
    fs::remove_dir_all(folder(&project)).unwrap_or_default();
    carry_out(&store, &push("ses_a", "frm-x", "x"), &WIDE).unwrap();
    carry_out(&store, &pop("ses_a", "done"), &WIDE).unwrap();
    for worker in &mut workers {
        let mut popped = 0;
        while let Some(said) = worker.says() {
            popped += usize::from(said.starts_with("pop "));
        }
        assert!(worker.wait().success());
        assert_eq!(popped, 40);
    }
    drop(store);
    assert_eq!(frames(&project), 2 + 1 + 3 * 41);
    assert_sound(&project.open());
}

#[test]
fn a_store_that_a_group_shares_is_shared_when_it_is_made_again() {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let set =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for (way, vanish) in WAYS.iter().filter(|(way, _)| !way.contains("moved")) {
        let project = Project::new();
        drop(filled(&project));
        set(&folder(&project), 0o2770);
        set(&project.database(), 0o660);
        let store = project.open();
        carry_out(&store, &push("ses_a", "frm-2", "two"), &WIDE).unwrap();
        vanish(&folder(&project));
        carry_out(&store, &push("ses_a", "frm-3", "three"), &WIDE).unwrap();
        assert_eq!((mode(&folder(&project)), mode(&project.database())), (0o2770, 0o660), "{way}");
        let lock = folder(&project).join("restore.lock");
        assert_eq!(mode(&lock), 0o660, "{way}");
    }
}

/// The ways in which the write-ahead log, or its index, becomes another file.
const LOG_WAYS: [Way; 4] = [
    ("the index goes", |folder| remove(folder, &["-shm"])),
    ("the log goes", |folder| remove(folder, &["-wal"])),
    ("log and index go", |folder| remove(folder, &["-wal", "-shm"])),
    ("the index is replaced", |folder| {
        let [index, other] = ["callstack.db-shm", "other"].map(|name| folder.join(name));
        fs::copy(&index, &other).unwrap();
        fs::rename(&other, &index).unwrap();
    }),
];

#[test]
fn nobody_begins_a_log_or_an_index_beside_that_of_a_live_process() {
    for (way, take) in LOG_WAYS {
        let project = Project::new();
        let store = filled(&project);
        take(&folder(&project));
        let mut early = Process::start("work ses_b 3", &project.folder());
        assert_eq!(early.says(), None, "{way}: it started");
        assert!(!early.wait().success());
        carry_out(&store, &push("ses_a", "frm-2", "two"), &WIDE).unwrap();
        let mut late = Process::start("work ses_b 3", &project.folder());
        while late.says().is_some() {}
        assert!(late.wait().success(), "{way}");
        carry_out(&store, &push("ses_a", "frm-3", "three"), &WIDE).unwrap();
        assert_eq!(frames(&project), 4 + 4, "{way}");
        assert_sound(&store);
    }
}

#[test]
fn who_starts_beside_a_lost_log_waits_for_the_next_change() {
    for (way, take) in LOG_WAYS {
        let project = Project::new();
        let store = filled(&project);
        take(&folder(&project));
        let mut other = Process::start("work ses_b 3", &project.folder());
        std::thread::sleep(Duration::from_millis(200));
        carry_out(&store, &push("ses_a", "frm-2", "two"), &WIDE).unwrap();
        while other.says().is_some() {}
        assert!(other.wait().success(), "{way}");
        carry_out(&store, &push("ses_a", "frm-3", "three"), &WIDE).unwrap();
        assert_eq!(frames(&project), 4 + 4, "{way}");
        assert_sound(&store);
    }
}

#[test]
fn an_emptied_database_is_restored_from_its_log_or_refused() {
    for checkpointed in [false, true] {
        let project = Project::new();
        let store = filled(&project);
        if checkpointed {
            let other = rusqlite::Connection::open(project.database()).unwrap();
            other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
            drop(other);
        }
        fs::write(project.database(), "").unwrap();
        let outcome = carry_out(&store, &push("ses_a", "frm-2", "two"), &WIDE);
        if let Err(error) = outcome {
            let is_clear = matches!(&error, Refused(Refusal::Store(StoreError::Corrupt { .. })));
            assert!(is_clear, "{error:?}");
            assert_eq!(fs::metadata(project.database()).unwrap().len(), 0);
        } else {
            assert_eq!(frames(&project), 3);
        }
    }
}

#[test]
fn an_empty_database_beside_what_a_store_leaves_is_no_fresh_one() {
    for sign in ["callstack.log", "logs", "git"] {
        let project = Project::new();
        fs::write(project.database(), "").unwrap();
        fs::create_dir(project.folder().join(sign)).unwrap();
        let error = Store::open_unchecked(&project.folder()).unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
        assert_eq!(fs::metadata(project.database()).unwrap().len(), 0);
    }
}

/// A copy of the store as it is now.
fn backup(project: &Project) -> PathBuf {
    let copy = project.path().join("backup.db");
    let store = rusqlite::Connection::open(project.database()).unwrap();
    store.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
    copy
}

#[test]
fn an_older_state_that_is_put_back_is_what_counts() {
    let project = Project::new();
    let store = filled(&project);
    let copy = backup(&project);
    carry_out(&store, &push("ses_a", "frm-2", "two"), &WIDE).unwrap();
    remove(&folder(&project), &["", "-wal", "-shm"]);
    fs::rename(copy, project.database()).unwrap();
    let error = carry_out(&store, &push("ses_a", "frm-3", "three"), &WIDE).unwrap_err();
    let is_reported = matches!(&error, Refused(Refusal::Store(StoreError::Replaced { .. })));
    assert!(is_reported, "{error:?}");
    assert_eq!(store.turns().generation(), 1);
    assert!(matches!(store.incidents()[..], [Incident::Replaced { .. }]));
    carry_out(&store, &push("ses_a", "frm-3", "three"), &WIDE).unwrap();
    assert_eq!(frames(&project), 3);
    assert_sound(&store);
}

/// A process that lost its locks on the index of its log would end when the next one makes that shorter.
#[test]
fn a_database_that_is_put_beside_the_log_of_an_open_one_costs_no_locks() {
    let project = Project::new();
    let (store, idle) = (filled(&project), project.open());
    let index = project.path().join("index");
    fs::hard_link(project.database().with_extension("db-shm"), &index).unwrap();
    let state = || Process::start("index", &index).says().unwrap();
    assert_eq!(state(), "in use");
    let old = project.path().join("old.db");
    fs::rename(project.database(), &old).unwrap();
    fs::copy(old, project.database()).unwrap();
    carry_out(&store, &push("ses_a", "frm-2", "two"), &WIDE).unwrap();
    assert_eq!(state(), "in use", "by the other connection");
    carry_out(&idle, &push("ses_a", "frm-3", "three"), &WIDE).unwrap();
    assert_eq!(state(), "not in use");
    assert_eq!(frames(&project), 4);
    assert_sound(&store);
}

#[test]
fn another_store_with_content_is_never_overwritten() {
    let (project, other) = (Project::new(), Project::new());
    let store = filled(&project);
    let further = project.open();
    let theirs = other.open();
    carry_out(&theirs, &root("ses_b", None), &WIDE).unwrap();
    drop(theirs);
    let inode = fs::metadata(other.database()).unwrap().ino();
    remove(&folder(&project), &["", "-wal", "-shm"]);
    fs::rename(other.database(), project.database()).unwrap();
    for store in [&store, &further] {
        assert!(matches!(store.check_files(), Err(StoreError::Replaced { .. })));
        let sessions = store.read(|view| view.session_row("ses_a")).unwrap();
        assert!(sessions.is_none());
    }
    assert_eq!(store.turns().generation(), 1, "it counts once for a process");
    assert_eq!(store.incidents().len(), 1);
    assert_eq!(fs::metadata(project.database()).unwrap().ino(), inode);
}

#[test]
fn a_store_that_another_process_made_in_between_gives_way_while_nothing_is_in_it() {
    let project = Project::new();
    let store = filled(&project);
    fs::remove_dir_all(folder(&project)).unwrap();
    fs::create_dir(folder(&project)).unwrap();
    assert_eq!(frames(&project), 0);
    assert!(project.database().exists());
    carry_out(&store, &push("ses_a", "frm-2", "two"), &WIDE).unwrap();
    assert_eq!(frames(&project), 3);
}

#[test]
fn what_can_not_be_made_again_is_an_error_each_time() {
    let project = Project::new();
    let store = filled(&project);
    fs::remove_dir_all(folder(&project)).unwrap();
    fs::write(folder(&project), "in its place").unwrap();
    for _ in 0..2 {
        let error = carry_out(&store, &push("ses_a", "frm-2", "two"), &WIDE).unwrap_err();
        let is_reported = matches!(&error, Refused(Refusal::Store(StoreError::Vanished { .. })));
        assert!(is_reported, "{error:?}");
    }
    fs::remove_file(folder(&project)).unwrap();
    carry_out(&store, &push("ses_a", "frm-2", "two"), &WIDE).unwrap();
    assert_eq!(frames(&project), 3);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Everything acknowledged is there afterwards, whatever vanishes at any time.
    #[test]
    fn nothing_acknowledged_is_lost(
        steps in prop::collection::vec((0..3_usize, prop::option::weighted(0.3, 0..WAYS.len()), any::<bool>()), 1..12),
    ) {
        let project = Project::new();
        let stores = [filled(&project), project.open(), project.open()];
        let mut acknowledged = vec!["frm-1".to_owned()];
        for (at, (store, vanishing, within)) in steps.into_iter().enumerate() {
            let id = format!("frm-x{at}");
            let vanish = || {
                if let Some(way) = vanishing && folder(&project).exists() {
                    let elsewhere = folder(&project).with_file_name("elsewhere");
                    let _gone = fs::remove_dir_all(elsewhere);
                    WAYS[way].1(&folder(&project));
                }
            };
            if !within {
                vanish();
            }
            let done = stores[store].read(|view| view.revision());
            if within {
                vanish();
            }
            prop_assert!(done.is_ok(), "{done:?}");
            if carry_out(&stores[store], &push("ses_a", &id, &id), &WIDE).is_ok() {
                acknowledged.push(id);
            }
        }
        drop(stores);
        let store = project.open();
        let kept: Vec<_> = store.read(|view| view.all_frames()).unwrap();
        for id in &acknowledged {
            prop_assert!(kept.iter().any(|frame| frame.id == *id), "{id} was acknowledged and is gone");
        }
        prop_assert_eq!(kept.len(), acknowledged.len() + 1);
    }
}
