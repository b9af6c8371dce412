//! A store that its owner shares with a group. Each member has hard links to the database and its log.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use super::kept::{delete, delete_store, push, push_in, shows, with_frame};
use super::killed::process::Process;
use super::test_env::{TestEnv, says};

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn folder(desk: &TestEnv) -> PathBuf {
    desk.project().join(".callstack")
}

/// A project whose store is shared with a group.
fn shared() -> TestEnv {
    let desk = with_frame();
    set(&folder(&desk), 0o2770);
    set(&desk.database(), 0o660);
    desk
}

#[test]
fn a_sharing_that_was_ended_stays_ended() {
    let desk = shared();
    let member = desk.sealed.root().join("member.db");
    fs::hard_link(desk.database(), &member).unwrap();
    set(&folder(&desk), 0o700);
    push(&desk, "private");
    assert_eq!(mode(&member), 0o600, "the member reads it by their hard link");
    for file in ["callstack.db-checkpoint", "callstack.db-wal-mark"] {
        assert_eq!(mode(&folder(&desk).join(file)), 0o600, "{file}");
    }
    let all = |desk: &TestEnv| delete_store(desk);
    let database = |desk: &TestEnv| delete(desk, &["db"]);
    for vanish in [&all as &dyn Fn(&TestEnv), &database] {
        vanish(&desk);
        push(&desk, "more");
        assert_eq!((mode(&folder(&desk)), mode(&desk.database())), (0o700, 0o600));
    }
    shows(&desk, &["real", "private", "more"]);
}

/// A process notices it by itself, also in a log that a member has a hard link to.
#[test]
fn a_sharing_that_is_ended_under_a_live_process_stays_ended() {
    let desk = shared();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "first");
    let log = desk.database().with_extension("db-wal");
    assert_eq!(mode(&log), 0o660);
    set(&folder(&desk), 0o700);
    push_in(&mut process, "private");
    for file in [&desk.database(), &log, &desk.database().with_extension("db-shm")] {
        assert_eq!(mode(file), 0o600, "{file:?}");
    }
    delete(&desk, &["db", "db-wal", "db-shm"]);
    push_in(&mut process, "more");
    assert_eq!((mode(&folder(&desk)), mode(&desk.database())), (0o700, 0o600));
    assert!(process.close());
    shows(&desk, &["real", "first", "private", "more"]);
}

#[test]
fn a_shared_store_that_is_deleted_comes_back_shared() {
    let desk = shared();
    let all = |desk: &TestEnv| delete_store(desk);
    let database = |desk: &TestEnv| delete(desk, &["db"]);
    for vanish in [&all as &dyn Fn(&TestEnv), &database] {
        vanish(&desk);
        push(&desk, "more");
        assert_eq!((mode(&folder(&desk)), mode(&desk.database())), (0o2770, 0o660));
    }
}

/// It comes back as a copy beside another hard link, such as one of a backup.
#[test]
fn a_copy_of_a_shared_database_is_of_its_group() {
    let desk = shared();
    let group = 65_534;
    if chown(desk.database(), None, Some(group)).is_err() {
        eprintln!("skipped: only root hands files to any group");
        return;
    }
    set(&desk.database(), 0o660);
    fs::hard_link(desk.database(), desk.sealed.root().join("snapshot.db")).unwrap();
    // Not the whole store: a file in a new folder would be of its group.
    delete(&desk, &["db"]);
    push(&desk, "more");
    shows(&desk, &["real", "more"]);
    let database = fs::metadata(desk.database()).unwrap();
    assert_eq!((database.gid(), database.nlink()), (group, 2));
    assert_eq!((mode(&folder(&desk)), mode(&desk.database())), (0o2770, 0o660));
}

/// A member deletes it: their start begins nothing in its place, and makes no file of another user's content.
#[test]
fn the_database_of_another_member_comes_back_at_their_start() {
    for all in [true, false] {
        let desk = with_frame();
        if chown(desk.database(), Some(65_534), None).is_err() {
            eprintln!("skipped: only root gives files away");
            return;
        }
        let theirs = desk.sealed.root().join("theirs.db");
        fs::hard_link(desk.database(), &theirs).unwrap();
        if all {
            delete_store(&desk);
        } else {
            delete(&desk, &["db"]);
        }
        insta::allow_duplicates! {
        says!(desk, ["push", "--here", "more", "-c", "it is there"], @r"
        exit 7
        --- stderr
        error: the store $ROOT/project/.callstack was deleted, and its database belongs to another user, 65534
        hint: None was begun in its place. It comes back, with the work of all who share it, when that user starts callstack here. If it is to stay deleted, `callstack trust --revoke` takes it from your record.
        ");
        }
        assert!(!desk.database().exists());
        let own = desk.states().parent().unwrap().to_path_buf();
        if all {
            assert!(!folder(&desk).exists());
            // Their start.
            fs::create_dir(folder(&desk)).unwrap();
            let states = fs::read_dir(own).unwrap().next().unwrap().unwrap();
            fs::write(folder(&desk).join("id"), states.file_name().as_encoded_bytes()).unwrap();
        }
        fs::hard_link(&theirs, desk.database()).unwrap();
        push(&desk, "more");
        shows(&desk, &["real", "more"]);
    }
}
