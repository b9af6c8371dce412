//! Files that are no store or no longer one, disks without space, folders that can't be written: each is recognized,
//! and no file is changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use callstack_core::decide::Refusal;
use callstack_core::event::Event;
use callstack_store::{SCHEMA_VERSION, Store, StoreError};
use rusqlite::Connection;

use crate::child::{Process, WIDE, say};
use crate::support::{Project, Refused, append, assert_sound, carry_out, pop, push, record, root};

/// Makes a store that is large enough to be cut.
fn filled() -> Project {
    let project = Project::new();
    let store = project.open();
    carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    for step in 0..40 {
        carry_out(&store, &push("ses_a", &format!("frm-{step}"), "work"), &WIDE).unwrap();
        record(&store, "ses_a", &[(&format!("msg-{step}"), &format!("{step}").repeat(3_000))]);
        carry_out(&store, &pop("ses_a", &"what was done ".repeat(40)), &WIDE).unwrap();
    }
    drop(store);
    project
}

/// Every file of a folder with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Asserts that an unusable store can't be opened and that no file changes, and returns the error.
fn refused(project: &Project) -> StoreError {
    let before = files(&project.folder());
    let error = Store::open_unchecked(&project.folder()).expect_err("it is no store");
    assert!(files(&project.folder()) == before, "opening changed files");
    let message = error.to_string();
    assert!(message.contains(&project.database().display().to_string()), "{message}");
    error
}

#[test]
fn garbage_is_no_store() {
    let project = Project::new();
    fs::write(project.database(), "this is not a database at all\n".repeat(500)).unwrap();
    assert!(matches!(refused(&project), StoreError::Corrupt { .. }));
}

#[test]
fn a_store_that_ends_in_the_middle_is_damaged() {
    for part in [1, 2, 5, 9] {
        let project = filled();
        let whole = fs::read(project.database()).unwrap();
        fs::write(project.database(), &whole[..whole.len() * part / 10]).unwrap();
        assert!(matches!(refused(&project), StoreError::Corrupt { .. }), "{part} tenths");
    }
}

#[test]
fn a_few_bytes_of_a_store_are_no_store() {
    let project = filled();
    let whole = fs::read(project.database()).unwrap();
    for bytes in [1, 50, 99] {
        fs::write(project.database(), &whole[..bytes]).unwrap();
        assert!(matches!(refused(&project), StoreError::Corrupt { .. }), "{bytes} bytes");
    }
}

#[test]
fn an_empty_file_is_a_store_that_was_being_made() {
    let project = Project::new();
    fs::write(project.database(), "").unwrap();
    let store = project.open();
    assert_eq!(store.read(|view| view.revision()).unwrap(), 0);
    carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    assert_sound(&store);
}

#[test]
fn pages_of_garbage_are_reported_or_refused_and_never_taken_for_content() {
    let project = filled();
    let whole = fs::read(project.database()).unwrap();
    let page = 4096;
    for at in 1..whole.len() / page {
        let mut torn = whole.clone();
        torn[at * page..(at + 1) * page].fill(0xa5);
        fs::write(project.database(), &torn).unwrap();
        let sound = match Store::open_unchecked(&project.folder()).and_then(|store| store.check()) {
            Ok(health) => health.damage.is_empty() && health.drifted.is_empty(),
            Err(StoreError::Corrupt { .. }) => false,
            Err(error) => panic!("page {at}: {error:?}"),
        };
        assert!(!sound, "page {at} is garbage and the store seems sound");
    }
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    let project = Project::new();
    let other = Connection::open(project.database()).unwrap();
    other.execute_batch("CREATE TABLE bookmarks (url TEXT); PRAGMA user_version = 1;").unwrap();
    drop(other);
    let error = refused(&project);
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error:?}");
    assert!(error.to_string().contains("another program"), "{error}");
}

#[test]
fn a_newer_store_is_refused_with_both_versions() {
    let project = filled();
    let raw = Connection::open(project.database()).unwrap();
    raw.pragma_update(None, "user_version", SCHEMA_VERSION + 3).unwrap();
    drop(raw);
    let error = refused(&project);
    let StoreError::Newer { found, known, .. } = error else { panic!("{error:?}") };
    assert_eq!((found, known), (SCHEMA_VERSION + 3, SCHEMA_VERSION));
}

#[test]
fn a_folder_in_the_place_of_the_file_is_an_error_of_the_system() {
    let project = Project::new();
    fs::create_dir(project.database()).unwrap();
    let error = Store::open_unchecked(&project.folder()).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
}

#[test]
fn a_missing_folder_is_an_error_of_the_system() {
    let project = Project::new();
    let error = Store::open_unchecked(&project.path().join("nowhere")).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error:?}");
}

/// Another process holds the write lock for longer than a store waits.
#[test]
fn a_store_that_stays_locked_is_busy_and_unchanged() {
    let project = filled();
    let store = project.open();
    let before = store.read(|view| view.revision()).unwrap();
    let other = Connection::open(project.database()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = carry_out(&store, &root("ses_b", None), &WIDE).unwrap_err();
    assert!(matches!(refused, Refused(Refusal::Store(StoreError::Busy { .. }))), "{refused:?}");
    drop(other);
    assert_eq!(store.read(|view| view.revision()).unwrap(), before);
    carry_out(&store, &root("ses_b", None), &WIDE).unwrap();
}

/// Runs a task in a file system of its own, which ends with the process: `mount` is a shell line in
/// which `$FOLDER` is the folder. None, with the reason printed, where this machine does not let us.
#[cfg(target_os = "linux")]
fn in_own_file_system(mount: &str, task: &str, folder: &Path) -> Option<Process> {
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-ec", script, "sh"]);
        command.env("FOLDER", folder);
        command
    };
    let tried = unshare(mount).output();
    if !tried.as_ref().is_ok_and(|output| output.status.success()) {
        println!("skipped: no file system of our own can be mounted here: {tried:?}");
        return None;
    }
    Some(Process::start_through(unshare(&format!("{mount}\nexec \"$@\"")), task, folder))
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_nothing_and_works_again_with_space() {
    let folder = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=3m tmpfs \"$FOLDER\"";
    let Some(mut process) = in_own_file_system(mount, "fill", folder.path()) else { return };
    let mut said_all = Vec::new();
    while let Some(said) = process.says() {
        said_all.push(said);
    }
    assert!(process.wait().success(), "{said_all:?}");
    assert_eq!(said_all, ["full", "all there", "goes on"]);
}

/// In a file system that is too small: works until it is full, checks what is there, makes space.
pub(crate) fn fill(folder: &Path) {
    let ballast = folder.join("ballast");
    fs::write(&ballast, vec![0; 1 << 20]).unwrap();
    let folder = callstack_store::prepare(folder).unwrap();
    let store = Store::open_unchecked(&folder).unwrap();
    carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    let mut done = 0;
    let error = loop {
        let results = format!("{done} ").repeat(2_000);
        let id = format!("frm-{done}");
        let step = carry_out(&store, &push("ses_a", &id, &id), &WIDE)
            .and_then(|_| carry_out(&store, &pop("ses_a", &results), &WIDE));
        match step {
            Ok(_) => done += 1,
            Err(error) => break error,
        }
        assert!(done < 10_000, "the disk never fills");
    };
    assert!(matches!(error, Refused(Refusal::Store(StoreError::Full { .. }))), "{error:?}");
    say("full");
    let ended = |store: &Store| {
        let frames = store.read(|view| view.all_frames()).unwrap();
        frames.iter().filter(|frame| frame.results.is_some()).count()
    };
    assert_eq!(ended(&store), done);
    assert_sound(&store);
    say("all there");
    fs::remove_file(ballast).unwrap();
    drop(store);
    let store = Store::open_unchecked(&folder).unwrap();
    carry_out(&store, &push("ses_a", "frm-more", "more"), &WIDE).unwrap();
    carry_out(&store, &pop("ses_a", "done"), &WIDE).unwrap();
    assert_eq!(ended(&store), done + 1);
    assert_sound(&store);
    say("goes on");
}

#[test]
fn messages_that_are_not_what_they_were_are_reported() {
    let project = filled();
    let store = project.open();
    assert_sound(&store);
    let raw = Connection::open(store.path()).unwrap();
    let replaced = raw.execute_batch(
        "UPDATE messages SET body = (SELECT body FROM messages WHERE id = 'msg-5') WHERE id = 'msg-3';
         UPDATE messages SET body = x'00' WHERE id = 'msg-30'",
    );
    replaced.unwrap();
    let changed = |id| format!("version 1 of message {id} of session ses_a is not what it was");
    assert_eq!(store.check().unwrap().damage, [changed("msg-3"), changed("msg-30")]);
    raw.execute_batch("UPDATE messages SET hash = x'00'").unwrap();
    assert_eq!(store.check().unwrap().damage.len(), 20);
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_grows_while_tables_are_derived_from_it_is_damaged() {
    let project = filled();
    let store = project.open();
    let event = Event::Rendered {
        session: "ses_a".to_owned(),
        slot: "note:".into(),
        text: String::new(),
        renderer: 1,
    };
    append(&store, &[event]);
    let raw = Connection::open(project.database()).unwrap();
    // Tables that share pages: rows that are written to one appear in the other.
    raw.execute_batch(
        "CREATE TRIGGER grows AFTER INSERT ON renders BEGIN
           INSERT INTO events (at, body)
           SELECT at, replace(body, 'note:', 'note:x') FROM events ORDER BY seq DESC LIMIT 1;
         END",
    )
    .unwrap();
    for outcome in [store.check().map(drop), store.rebuild().map(drop)] {
        let error = outcome.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    }
    raw.execute_batch("DROP TRIGGER grows").unwrap();
    assert_sound(&store);
}

#[test]
fn a_store_that_can_only_be_read_is_read() {
    let project = filled();
    project.folder();
    let mount = "mount --bind \"$FOLDER\" \"$FOLDER\"\nmount -o remount,bind,ro \"$FOLDER\"";
    let Some(mut process) = in_own_file_system(mount, "look", project.path()) else { return };
    let mut said_all = Vec::new();
    while let Some(said) = process.says() {
        said_all.push(said);
    }
    assert!(process.wait().success(), "{said_all:?}");
    assert_eq!(said_all, ["read", "not written", "not made"]);
}

/// In a file system that can't be written.
pub(crate) fn look(project: &Path) {
    let folder = callstack_store::prepare(project).unwrap();
    let store = Store::open_unchecked(&folder).unwrap();
    assert!(store.is_read_only());
    assert_eq!(store.read(|view| view.all_frames()).unwrap().len(), 41);
    assert_eq!(store.read(|view| view.messages("ses_a")).unwrap().len(), 40);
    assert_sound(&store);
    say("read");
    let error = carry_out(&store, &push("ses_a", "frm-more", "more"), &WIDE).unwrap_err();
    assert!(matches!(error, Refused(Refusal::Store(StoreError::ReadOnly { .. }))), "{error:?}");
    assert!(matches!(store.rebuild(), Err(StoreError::ReadOnly { .. })));
    say("not written");
    let below = project.join("nowhere");
    assert!(matches!(callstack_store::prepare(&below), Err(StoreError::Io { .. })));
    say("not made");
}

#[cfg(unix)]
#[test]
fn a_folder_without_write_permission_makes_a_store_that_is_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = filled();
    let folder = project.folder();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    let store = Store::open_unchecked(&folder).unwrap();
    let counted = store.read(|view| view.all_frames()).map(|frames| frames.len());
    let read_only = store.is_read_only();
    drop(store);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!((counted.unwrap(), read_only), (41, true));
}
