//! Databases that are overwritten in place, as `cp backup.db callstack.db` does, while processes have them open.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::UNIX_EPOCH;

use callstack_core::decide::Refusal;
use callstack_store::{Erased, FOLDER, Incident, Store, StoreError};
use proptest::prelude::*;

use crate::child::{Process, WIDE};
use crate::support::{Project, Refused, assert_sound, carry_out, pop, push, record, root};

/// Runs a line of shell in the folder of a project's store.
fn shell(project: &Project, line: &str) {
    let status = Command::new("sh").args(["-ec", line]).current_dir(folder(project)).status();
    assert!(status.unwrap().success(), "{line}");
}

fn folder(project: &Project) -> PathBuf {
    project.path().join(FOLDER)
}

/// Ways to take a backup of a store that is in use.
const BACKUPS: [&str; 3] = [
    "cp callstack.db ../backup.db; cp callstack.db-wal ../backup.db-wal",
    // As one file.
    "VACUUM",
    "VACUUM, with a write-ahead log",
];

/// Ways to restore a backup.
const WAYS: [&str; 7] = [
    "cp ../backup.db callstack.db",
    "cp -p ../backup.db callstack.db",
    "cp ../backup.db callstack.db; rm -f callstack.db-wal callstack.db-shm",
    "rm -f callstack.db-wal callstack.db-shm; cp ../backup.db callstack.db",
    "cp ../backup.db callstack.db; cp ../backup.db-wal callstack.db-wal",
    ": > callstack.db; cat ../backup.db >> callstack.db",
    "cp ../backup.db callstack.db; : > callstack.db-wal",
];

fn back_up(project: &Project, how: &str) {
    shell(project, "rm -f ../backup.db*");
    if how.starts_with("VACUUM") {
        let copy = project.path().join("backup.db");
        let store = rusqlite::Connection::open(project.database()).unwrap();
        store.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
        fs::write(project.path().join("backup.db-wal"), "").unwrap();
        if how == BACKUPS[2] {
            let copy = rusqlite::Connection::open(copy).unwrap();
            copy.pragma_update(None, "journal_mode", "WAL").unwrap();
        }
    } else {
        shell(project, how);
    }
}

/// Writes the content of the write-ahead log back into the database.
fn checkpoint(store: &Store) {
    assert_eq!(store.erase().unwrap(), Erased::Wholly);
}

/// Writes so much that a process takes a checkpoint by itself.
fn write_much(store: &Store) {
    for n in 0..20 {
        record(store, "ses_a", &[(&format!("msg-long-{n}"), &noise(n))]);
    }
}

/// A text that can't be packed.
fn noise(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::new();
    while text.len() < 500_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push_str(&state.to_string());
    }
    text
}

fn filled(project: &Project) -> Store {
    let store = project.open();
    carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    for n in 0..3 {
        add(&store, n).unwrap();
    }
    store
}

fn add(store: &Store, n: u64) -> Result<(), Refused> {
    carry_out(store, &push("ses_a", &format!("frm-{n}"), &format!("frame {n}")), &WIDE)?;
    record(store, "ses_a", &[(&format!("msg-{n}"), &"words ".repeat(300))]);
    carry_out(store, &pop("ses_a", &format!("result {n}")), &WIDE).map(drop)
}

fn frames(project: &Project) -> usize {
    let mut reader = Process::start("count", &folder(project));
    let said = reader.says().expect("the store can't be opened");
    said.strip_suffix(" frames").unwrap().parse().unwrap()
}

fn is_replaced(error: &Refused) -> bool {
    matches!(error, Refused(Refusal::Store(StoreError::Replaced { .. })))
}

/// Whether the first file of a backup is a store by itself.
fn is_store_without_log(project: &Project) -> bool {
    let alone = project.path().join("alone.db");
    fs::copy(project.path().join("backup.db"), &alone).unwrap();
    let store = rusqlite::Connection::open(alone).unwrap();
    store.query_row("SELECT count(*) FROM frames", [], |_| Ok(())).is_ok()
}

/// Checks a process after a backup of 4 frames was put in place of a store of 9.
fn all_or_reported(what: &str, project: &Project, store: &Store) {
    let mut outcome = carry_out(store, &push("ses_a", "frm-new", "new"), &WIDE);
    if let Err(Refused(Refusal::Store(StoreError::Corrupt { .. }))) = &outcome {
        assert!(!is_store_without_log(project), "{what}: {outcome:?}");
        shell(project, "cp ../backup.db callstack.db; cp ../backup.db-wal callstack.db-wal");
        outcome = carry_out(store, &push("ses_a", "frm-new", "new"), &WIDE);
    }
    let before = if let Err(error) = outcome {
        assert!(is_replaced(&error), "{what}: {error:?}");
        assert_eq!(store.turns().generation(), 1, "{what}");
        let incidents = store.incidents();
        assert!(
            matches!(incidents[..], [Incident::Replaced { lost: 15.. }]),
            "{what}: {incidents:?}"
        );
        assert_eq!(store.read(|view| view.all_frames()).unwrap().len(), 4, "{what}");
        carry_out(store, &push("ses_a", "frm-new", "new"), &WIDE).unwrap();
        4
    } else {
        let incidents = store.incidents();
        assert!(matches!(incidents[..], [] | [Incident::Restored]), "{what}: {incidents:?}");
        assert_eq!(store.turns().generation(), 0, "{what}");
        9
    };
    assert_eq!(store.read(|view| view.all_frames()).unwrap().len(), before + 1, "{what}");
    assert_sound(store);
    assert_eq!(frames(project), before + 1, "{what}");
}

#[test]
fn a_backup_that_is_copied_over_a_live_store_loses_nothing_or_is_gone_on_with_and_reported() {
    for backup in BACKUPS {
        for way in WAYS {
            for moment in ["never", "before the backup", "after it", "at the end"] {
                let what = format!("`{backup}`, `{way}`, checkpoint {moment}");
                let project = Project::new();
                let store = filled(&project);
                let checkpoint_if = |now| {
                    if now == moment {
                        checkpoint(&store);
                    }
                };
                checkpoint_if("before the backup");
                back_up(&project, backup);
                checkpoint_if("after it");
                for n in 3..8 {
                    add(&store, n).unwrap();
                }
                checkpoint_if("at the end");
                shell(&project, way);
                all_or_reported(&what, &project, &store);
                drop(store);
                assert_sound(&project.open());
            }
        }
    }
}

#[test]
fn whoever_opens_an_overwritten_store_beside_a_live_process_finds_a_whole_one() {
    for way in WAYS {
        let project = Project::new();
        let store = filled(&project);
        back_up(&project, BACKUPS[2]);
        checkpoint(&store);
        for n in 3..8 {
            add(&store, n).unwrap();
        }
        shell(&project, way);
        // Without its log, nobody but the live process knows what stood in that.
        match Process::start("count", &folder(&project)).says() {
            Some(said) => assert!(said == "4 frames" || said == "9 frames", "{way}: {said}"),
            None => assert!(way.contains("rm -f callstack.db-wal"), "{way}: refused"),
        }
        // The live process may hold all that was left.
        let outcome = store.check_files();
        let left = store.read(|view| view.all_frames()).unwrap().len();
        match outcome {
            Ok(()) => assert_eq!(left, 9, "{way}"),
            Err(StoreError::Replaced { .. }) => assert_eq!(left, 4, "{way}"),
            Err(error) => panic!("{way}: {error:?}"),
        }
        assert_eq!(frames(&project), left, "{way}");
        assert_sound(&store);
    }
}

/// A copy during a checkpoint of another process may leave pages of both. Such a database is never taken for a sound
/// one.
#[test]
fn a_backup_that_is_copied_over_while_several_processes_work_leaves_one_store_or_a_refusal() {
    let mut whole = 0;
    for way in WAYS {
        let project = Project::new();
        let store = filled(&project);
        back_up(&project, BACKUPS[1]);
        let mut workers: Vec<_> =
            (0..2).map(|n| Process::start(&format!("insist ses_{n}"), &project.folder())).collect();
        for worker in &mut workers {
            assert_eq!(worker.says().as_deref(), Some("working"));
        }
        // A file may be gone just when it is copied over.
        shell(&project, &format!("( {way} ) || true"));
        shell(&project, ": > ../overwritten");
        let said: Vec<String> = workers
            .iter_mut()
            .map(|worker| {
                let said = worker.says().expect("it ends early");
                assert!(worker.wait().success(), "{way}");
                said
            })
            .collect();
        drop(store);
        let store = match Store::open_unchecked(&project.folder()) {
            Ok(store) => store,
            Err(StoreError::Corrupt { damage, .. }) => {
                println!("`{way}`: the store is refused: {damage}");
                continue;
            }
            Err(error) => panic!("{way}: {error:?}"),
        };
        let checked = store.check();
        let is_damaged = match &checked {
            Ok(health) => !health.damage.is_empty(),
            Err(StoreError::Corrupt { .. }) => true,
            Err(error) => panic!("{way}: {error:?}"),
        };
        if is_damaged {
            println!("`{way}`: the store is damaged, and a check says so: {checked:?}");
            continue;
        }
        whole += 1;
        assert_sound(&store);
        let found = store.read(|view| view.all_frames()).unwrap();
        for said in said {
            if let Some(failures) = said.strip_prefix("gave up: ") {
                println!("`{way}`: a process has to be started again: {failures}");
                continue;
            }
            assert!(found.iter().any(|frame| frame.id == said), "{way}: {said} was acknowledged");
        }
        assert_eq!(frames(&project), found.len(), "{way}");
    }
    assert!(whole > 0, "no way leaves a whole store");
}

#[test]
fn a_state_that_is_restored_through_sqlite_is_noticed() {
    let project = Project::new();
    let store = filled(&project);
    back_up(&project, "VACUUM");
    for n in 3..8 {
        add(&store, n).unwrap();
    }
    let mut theirs = rusqlite::Connection::open(project.database()).unwrap();
    let backup = project.path().join("backup.db");
    theirs.restore("main", &backup, None::<fn(rusqlite::backup::Progress)>).unwrap();
    drop(theirs);
    assert!(matches!(store.check_files(), Err(StoreError::Replaced { .. })));
    store.check_files().unwrap();
    assert!(matches!(store.incidents()[..], [Incident::Replaced { lost: 15.. }]));
    add(&store, 8).unwrap();
    assert_eq!(frames(&project), 5);
}

#[test]
fn what_others_do_to_a_database_without_changing_its_content_is_nothing() {
    for way in [
        "touch callstack.db",
        "chmod g+r callstack.db",
        "cat callstack.db > x; cat x > callstack.db",
    ] {
        let project = Project::new();
        let store = filled(&project);
        shell(&project, way);
        add(&store, 3).unwrap();
        assert!(store.incidents().is_empty(), "{way}");
        assert_eq!(frames(&project), 5, "{way}");
    }
    let project = Project::new();
    let store = filled(&project);
    let other = rusqlite::Connection::open(project.database()).unwrap();
    other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(other);
    add(&store, 3).unwrap();
    assert!(store.incidents().is_empty());
}

#[test]
fn checkpoints_of_other_processes_are_distinguished_from_foreign_writes() {
    let project = Project::new();
    let (store, further) = (filled(&project), project.open());
    let mut worker = Process::start("work ses_b 100", &project.folder());
    write_much(&store);
    further.check_files().unwrap();
    while worker.says().is_some() {
        further.check_files().unwrap();
    }
    assert!(worker.wait().success());
    write_much(&further);
    store.check_files().unwrap();
    assert!(store.incidents().is_empty());
    let log = fs::metadata(folder(&project).join("callstack.db-wal")).unwrap().len();
    assert!(log < 8_000_000, "the log is never taken over: {log}");
}

#[test]
fn what_is_no_store_is_refused_each_time_and_left_as_it_is() {
    for way in
        ["head -c 20000 /dev/urandom > callstack.db", "head -c 6000 ../backup.db > callstack.db"]
    {
        let project = Project::new();
        let store = filled(&project);
        back_up(&project, "VACUUM");
        write_much(&store);
        checkpoint(&store);
        shell(&project, way);
        shell(&project, ": > callstack.db-wal");
        let before = fs::read(project.database()).unwrap();
        for _ in 0..2 {
            let error = carry_out(&store, &push("ses_a", "frm-new", "new"), &WIDE).unwrap_err();
            let is_clear = matches!(&error, Refused(Refusal::Store(StoreError::Corrupt { .. })));
            assert!(is_clear, "{way}: {error:?}");
        }
        assert!(fs::read(project.database()).unwrap() == before, "{way}");
    }
}

#[test]
fn how_the_last_connection_leaves_a_database_is_noted() {
    let project = Project::new();
    drop(filled(&project));
    let note = fs::read_to_string(folder(&project).join("callstack.db-checkpoint")).unwrap();
    let left = fs::metadata(project.database()).unwrap();
    let modified = left.modified().unwrap().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    assert_eq!(note, format!("left {} {} {modified}\n", left.ino(), left.len()));
}

#[test]
fn a_process_that_is_killed_in_a_checkpoint_leaves_no_doubt() {
    let project = Project::new();
    let store = filled(&project);
    fs::write(folder(&project).join("callstack.db-checkpoint"), "begun\n").unwrap();
    shell(&project, "touch callstack.db");
    add(&store, 3).unwrap();
    assert!(store.incidents().is_empty());
    let note = fs::read_to_string(folder(&project).join("callstack.db-checkpoint")).unwrap();
    assert!(note.starts_with("left "), "{note}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    /// Whenever a backup is put back, the store is sound, and everything that was acknowledged is in it unless its
    /// loss was reported.
    #[test]
    fn nothing_is_lost_without_a_word(
        steps in prop::collection::vec((0..2_usize, prop::option::weighted(0.3, 0..WAYS.len()), any::<bool>()), 3..8),
        backup_at in 0..4_usize,
        long_at in 0..8_usize,
    ) {
        let project = Project::new();
        let stores = [filled(&project), project.open()];
        let mut acknowledged: Vec<String> = Vec::new();
        back_up(&project, BACKUPS[1]);
        for (at, (store, way, within)) in steps.into_iter().enumerate() {
            // It reports what has happened, and the next call continues.
            let _replaced = stores[store].check_files();
            stores[store].check_files().unwrap();
            if at == backup_at {
                back_up(&project, BACKUPS[1]);
            }
            if at == long_at {
                checkpoint(&stores[store]);
            }
            let overwrite = || if let Some(way) = way { shell(&project, WAYS[way]) };
            if !within {
                overwrite();
            }
            let id = format!("frm-x{at}");
            let body = callstack_store::MessageBody { id: id.clone(), json: "{}".to_owned() };
            let outcome = stores[store].write(|change| {
                let written = change.record_messages(1, "ses_a", std::slice::from_ref(&body))?;
                if within {
                    overwrite();
                }
                Ok::<_, StoreError>(written)
            });
            if outcome.is_ok() {
                acknowledged.push(id);
            }
            let incidents = stores[store].incidents();
            if incidents.iter().any(|it| matches!(it, Incident::Replaced { .. })) {
                acknowledged.retain(|_| false);
            }
        }
        let _looked = stores[0].check_files();
        let incidents = stores[0].incidents();
        let is_reported = incidents.iter().any(|it| matches!(it, Incident::Replaced { .. }));
        drop(stores);
        let store = project.open();
        assert_sound(&store);
        let messages: Vec<_> = store.read(|view| view.messages("ses_a")).unwrap();
        for id in &acknowledged {
            prop_assert!(
                is_reported || messages.iter().any(|message| message.id == *id),
                "{id} was acknowledged and is gone"
            );
        }
    }
}
