//! A database whose place another one takes is put aside, with the work that it holds alone.

use std::fs;
use std::io::{Seek as _, SeekFrom, Write as _};

use super::kept::{delete, delete_store, push, push_in, shows, with_frame};
use super::killed::process::Process;
use super::test_env::TestEnv;

/// Git brings an older copy of the database back, after newer work was done: neither is lost.
#[test]
fn newer_work_is_put_aside_where_an_older_database_comes_back() {
    let desk = with_frame();
    let older = desk.sealed.root().join("older.db");
    fs::copy(desk.database(), &older).unwrap();
    push(&desk, "newer");
    let newer = fs::read(desk.database()).unwrap();
    fs::rename(&older, desk.database()).unwrap();
    let tree = desk.run(&["tree", "--all"]);
    assert!(!tree.stdout.contains("newer"), "{}", tree.stdout);
    assert!(tree.stderr.contains("callstack.db-aside-1"), "{}", tree.stderr);
    let said = desk.ok(&["doctor"]);
    assert!(said.contains("holds work that the store lacks"), "{said}");
    let states = desk.states();
    let aside = states.with_file_name("callstack.db-aside-1");
    assert!(fs::read(&aside).unwrap() == newer, "it is another one");
    let refused = desk.run(&["purge", "f1", "--yes"]);
    assert!(refused.stderr.contains("callstack.db-aside-1"), "{}", refused.stderr);
    let hint = format!("Then move {} to {}", aside.display(), desk.database().display());
    assert!(said.contains("move callstack.db from ") && said.contains(&hint), "{said}");
    fs::rename(desk.database(), desk.sealed.root().join("present.db")).unwrap();
    fs::rename(&aside, desk.database()).unwrap();
    assert!(desk.ok(&["tree", "--all"]).contains("newer"));
    desk.ok(&["purge", "f2", "--yes"]);
}

/// Another process may just be putting the newer database aside, and link the older one in its place.
#[test]
fn what_another_process_keeps_is_left_alone_meanwhile() {
    let desk = with_frame();
    let older = desk.sealed.root().join("older.db");
    fs::copy(desk.database(), &older).unwrap();
    push(&desk, "newer");
    let kept = desk.states().with_file_name("callstack.db");
    let newer = fs::read(&kept).unwrap();
    fs::rename(&older, desk.database()).unwrap();
    let lock = fs::File::open(kept.with_file_name("keep.lock")).unwrap();
    lock.lock().unwrap();
    desk.ok(&["tree"]);
    let aside = kept.with_file_name("callstack.db-aside-1");
    assert!(fs::read(&kept).unwrap() == newer && !aside.exists());
    drop(lock);
    desk.ok(&["tree"]);
    assert!(fs::read(&aside).unwrap() == newer);
}

/// `sed -i` over all files of a project renames a changed copy into the place of the database.
#[test]
fn a_database_is_put_aside_where_a_changed_or_damaged_copy_takes_its_place() {
    let changed = |bytes: &mut Vec<u8>| {
        for at in 0..bytes.len() - 4 {
            if bytes[at..].starts_with(b"real") {
                bytes[at..at + 4].copy_from_slice(b"fake");
            }
        }
    };
    let torn = |bytes: &mut Vec<u8>| {
        // A page that is not read when the store is opened.
        bytes[4 * 4096..5 * 4096].fill(0);
    };
    for change in [&changed as &dyn Fn(&mut Vec<u8>), &torn] {
        let desk = with_frame();
        let sound = fs::read(desk.database()).unwrap();
        let mut bytes = sound.clone();
        change(&mut bytes);
        let copy = desk.sealed.root().join("copy.db");
        fs::write(&copy, bytes).unwrap();
        fs::rename(&copy, desk.database()).unwrap();
        // A damaged copy may be refused before anything is put aside.
        let said = desk.run(&["tree", "--all"]);
        let kept = ["callstack.db-aside-1", "callstack.db"];
        let kept = kept.map(|name| fs::read(desk.states().with_file_name(name)).ok());
        assert!(kept.contains(&Some(sound)), "the sound one is nowhere: {}", said.stderr);
    }
}

/// What is put aside is all in one file, so that it can be copied back.
#[test]
fn a_database_that_is_put_aside_has_what_its_log_held() {
    let desk = with_frame();
    let older = desk.sealed.root().join("older.db");
    fs::copy(desk.database(), &older).unwrap();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    process.kill();
    delete(&desk, &["db", "db-wal", "db-shm"]);
    fs::rename(&older, desk.database()).unwrap();
    assert!(!desk.ok(&["tree", "--all"]).contains("newest"));
    let aside = desk.states().with_file_name("callstack.db-aside-1");
    fs::copy(&aside, desk.database()).unwrap();
    assert!(desk.ok(&["tree", "--all"]).contains("newest"));
}

#[test]
fn a_damaged_database_is_put_aside_and_not_back() {
    let desk = with_frame();
    let whole = fs::read(desk.database()).unwrap();
    let middle = whole.len() / 2;
    let mut file = fs::OpenOptions::new().write(true).open(desk.database()).unwrap();
    file.seek(SeekFrom::Start(4096)).unwrap();
    file.write_all(&vec![0xff; middle]).unwrap();
    drop(file);
    assert_ne!(desk.run(&["tree"]).code, 0);
    let states = desk.states();
    delete_store(&desk);
    push(&desk, "more");
    assert!(desk.ok(&["tree", "--all"]).contains("more"));
    assert!(states.with_file_name("callstack.db-aside-1").exists());
}

/// What the agent holds alone is put aside where an earlier state takes its place.
#[test]
fn an_earlier_state_under_a_live_process_takes_nothing_away() {
    let desk = with_frame();
    let older = desk.sealed.root().join("older.db");
    fs::copy(desk.database(), &older).unwrap();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    delete(&desk, &["db", "db-wal", "db-shm"]);
    fs::rename(&older, desk.database()).unwrap();
    assert!(process.close());
    let said = desk.ok(&["doctor"]);
    let shown = desk.ok(&["tree", "--all"]);
    assert!(
        shown.contains("newest") || said.contains("holds work that the store lacks"),
        "{shown}{said}"
    );
}

/// A process that was suspended has an older file open than the one that was made since.
#[test]
fn a_process_puts_back_what_another_one_has_made_since() {
    let desk = with_frame();
    let mut late = Process::start(&desk, None);
    push_in(&mut late, "first");
    late.signal("STOP");
    let mut other = Process::start(&desk, None);
    push_in(&mut other, "second");
    delete(&desk, &["db"]);
    push_in(&mut other, "newer");
    assert!(other.close());
    delete(&desk, &["db"]);
    late.signal("CONT");
    push_in(&mut late, "newest");
    shows(&desk, &["first", "second", "newer", "newest"]);
    assert!(late.close());
    shows(&desk, &["first", "second", "newer", "newest"]);
}

/// Also those that a purge would not reach.
#[test]
fn copies_that_a_killed_process_has_left_are_deleted() {
    let desk = with_frame();
    let store = desk.project().join(".callstack");
    let copies = [
        store.join("callstack.db.restored"),
        store.join("callstack.db.restored-wal"),
        store.join("callstack.db.restored-journal"),
        store.join(".callstack.db-x1y2z3"),
        desk.states().with_file_name("callstack.db.new"),
    ];
    let make = || copies.iter().for_each(|copy| fs::write(copy, "a secret").unwrap());
    make();
    let lock = fs::File::create(store.join("restore.lock")).unwrap();
    lock.lock().unwrap();
    desk.ok(&["tree"]);
    assert!(copies[0].exists(), "it is still being made");
    drop(lock);
    desk.ok(&["tree"]);
    assert!(!copies.iter().any(|copy| copy.exists()));
}

#[test]
fn a_damaged_database_is_said_to_be_kept_sound() {
    let desk = with_frame();
    let damaged = desk.sealed.root().join("damaged.db");
    fs::write(&damaged, "it is no database").unwrap();
    fs::rename(&damaged, desk.database()).unwrap();
    assert_ne!(desk.run(&["tree"]).code, 0);
    let said = desk.run(&["doctor"]);
    let said = said.stdout + &said.stderr;
    assert!(said.contains("A sound database is kept"), "{said}");
    fs::rename(desk.database(), &damaged).unwrap();
    shows(&desk, &["real"]);
}

/// `mv backup.db callstack.db` leaves the log of the one before at its path: it is not the backup's.
#[test]
fn the_log_of_a_killed_process_is_not_read_into_another_database() {
    let desk = with_frame();
    let older = desk.sealed.root().join("older.db");
    fs::copy(desk.database(), &older).unwrap();
    push(&desk, "newer");
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    process.kill();
    fs::rename(&older, desk.database()).unwrap();
    let shown = desk.ok(&["tree", "--all"]);
    assert!(!shown.contains("newer") && !shown.contains("newest"), "{shown}");
    let aside = desk.states().with_file_name("callstack.db-aside-1");
    fs::rename(&aside, desk.database()).unwrap();
    shows(&desk, &["real", "newer", "newest"]);
}

/// The same under a live process, which does not run at that moment: nobody else writes into its log.
#[test]
fn a_database_that_takes_the_place_of_an_open_one_is_not_opened_with_its_log() {
    let desk = with_frame();
    let older = desk.sealed.root().join("older.db");
    fs::copy(desk.database(), &older).unwrap();
    push(&desk, "newer");
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    process.signal("STOP");
    fs::rename(&older, desk.database()).unwrap();
    let log = fs::read(desk.database().with_extension("db-wal")).unwrap();
    let refused = desk.run(&["push", "--here", "more", "-c", "it is there"]);
    assert_ne!(refused.code, 0, "{}", refused.stdout);
    assert!(fs::read(desk.database().with_extension("db-wal")).unwrap() == log);
    process.signal("CONT");
    push(&desk, "more");
    assert!(process.close());
    shows(&desk, &["real", "more"]);
    // The backup and the log may belong together.
    if !desk.ok(&["tree", "--all"]).contains("newest") {
        let aside = desk.states().with_file_name("callstack.db-aside-1");
        fs::rename(&aside, desk.database()).unwrap();
    }
    shows(&desk, &["real", "newer", "newest"]);
}

/// A process that copies the store is killed: what it has left of the copy is in nobody's way.
#[test]
fn the_journal_of_a_copy_that_was_cut_off_locks_nobody_out() {
    let desk = with_frame();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    process.kill();
    // Its database was written to in place, so that the next start makes a copy.
    let bytes = fs::read(desk.database()).unwrap();
    fs::write(desk.database(), bytes).unwrap();
    let journal = desk.project().join(".callstack/callstack.db.restored-journal");
    fs::write(&journal, "begun").unwrap();
    shows(&desk, &["real", "newest"]);
    assert!(!journal.exists());
}

/// A snapshot by hard links is no reason to forget what an older backup lacks, and is not written to.
#[test]
fn newer_work_with_further_names_is_put_aside() {
    let desk = with_frame();
    let root = desk.sealed.root().to_path_buf();
    let [older, snapshot] = ["older.db", "snapshot.db"].map(|name| root.join(name));
    fs::copy(desk.database(), &older).unwrap();
    fs::hard_link(desk.database(), &snapshot).unwrap();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    process.kill();
    let before = fs::read(&snapshot).unwrap();
    delete(&desk, &["db", "db-wal", "db-shm"]);
    fs::rename(&older, desk.database()).unwrap();
    let tree = desk.run(&["tree", "--all"]);
    assert!(!tree.stdout.contains("newest"), "{}", tree.stdout);
    assert!(tree.stderr.contains("callstack.db-aside-1"), "{}", tree.stderr);
    assert!(fs::read(&snapshot).unwrap() == before, "the snapshot was written to");
    let aside = desk.states().with_file_name("callstack.db-aside-1");
    fs::rename(aside, desk.database()).unwrap();
    shows(&desk, &["real", "newest"]);
}

/// As `cp -r other/. .` does, also to what the state folder has a hard link to: it is not put back for ever.
#[test]
fn a_database_that_was_copied_over_in_place_is_put_aside_and_not_back() {
    let all = |desk: &_| delete_store(desk);
    let database = |desk: &_| delete(desk, &["db"]);
    for vanish in [&all as &dyn Fn(&TestEnv), &database] {
        let (desk, other) = (with_frame(), TestEnv::new());
        push(&other, "foreign");
        let foreign = fs::read(other.database()).unwrap();
        fs::write(desk.database(), &foreign).unwrap();
        assert_eq!(desk.run(&["tree"]).code, 7);
        let states = desk.states();
        vanish(&desk);
        push(&desk, "after");
        let shown = desk.ok(&["tree", "--all"]);
        assert!(shown.contains("after") && !shown.contains("foreign"), "{shown}");
        let aside = states.with_file_name("callstack.db-aside-1");
        assert!(fs::read(aside).unwrap() == foreign, "it is another one");
    }
}

/// A program that saves by renaming, or a person who copies the database and moves the copy back.
#[test]
fn a_database_that_a_copy_of_itself_replaces_keeps_its_log() {
    let desk = with_frame();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    process.kill();
    let copy = desk.sealed.root().join("copy.db");
    fs::copy(desk.database(), &copy).unwrap();
    fs::rename(&copy, desk.database()).unwrap();
    shows(&desk, &["real", "newest"]);
    assert!(!desk.states().with_file_name("callstack.db-aside-1").exists());
}

/// Somebody tidies up after a crash: the note of the last checkpoint goes with the log.
#[test]
fn a_log_comes_back_where_all_beside_the_database_was_deleted() {
    let desk = with_frame();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    process.kill();
    for file in fs::read_dir(desk.project().join(".callstack")).unwrap() {
        let path = file.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("callstack.db-") {
            fs::remove_file(path).unwrap();
        }
    }
    push(&desk, "more");
    shows(&desk, &["real", "newest", "more"]);
}

/// The start that restores it is killed after it has copied the log.
#[test]
fn a_restore_as_a_copy_that_was_cut_off_is_taken_up_again() {
    let desk = with_frame();
    fs::hard_link(desk.database(), desk.sealed.root().join("snapshot.db")).unwrap();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    process.kill();
    let log = desk.database().with_extension("db-wal");
    let bytes = fs::read(&log).unwrap();
    delete(&desk, &["db", "db-wal", "db-shm"]);
    fs::write(&log, bytes).unwrap();
    push(&desk, "more");
    shows(&desk, &["real", "newest", "more"]);
}
