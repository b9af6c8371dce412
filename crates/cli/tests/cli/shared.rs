//! A store that its owner shares with a group. Each member has hard links to the database and its log.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::kept::{delete, delete_store, push, push_in, shows, with_frame};
use super::killed::process::Process;
use super::test_env::TestEnv;

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
