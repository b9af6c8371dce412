//! A store that goes on under its id, or under another one.

use std::fs;
use std::path::PathBuf;

use super::kept::{git, push, push_in, shows, with_branch, with_frame};
use super::killed::process::Process;
use super::test_env::TestEnv;

/// An id that no store has.
const OTHER: &str = "0123456789abcdef0123456789abcdef";

fn id_file(desk: &TestEnv) -> PathBuf {
    desk.project().join(".callstack/id")
}

/// Records the store under a further id, as where it lost its own and was taken over under this one.
fn with_earlier_id() -> TestEnv {
    let desk = with_frame();
    let own = fs::read_to_string(id_file(&desk)).unwrap();
    let states = desk.states().parent().unwrap().to_path_buf();
    let earlier = states.with_file_name(OTHER);
    fs::create_dir(&earlier).unwrap();
    let record = fs::read_to_string(states.join("record")).unwrap();
    fs::write(earlier.join("record"), record.replace(own.trim(), OTHER)).unwrap();
    fs::copy(states.join("database"), earlier.join("database")).unwrap();
    fs::hard_link(desk.database(), earlier.join("callstack.db")).unwrap();
    desk
}

/// On the way back git removes the id that was replaced.
#[test]
fn a_branch_that_brings_an_id_takes_nothing_away() {
    for (came, is_killed) in [("x\n", false), (OTHER, false), (OTHER, true)] {
        let desk = with_branch(|desk| {
            fs::create_dir(desk.project().join(".callstack")).unwrap();
            fs::write(id_file(desk), came).unwrap();
        });
        let own = fs::read(id_file(&desk)).unwrap();
        if is_killed {
            let mut process = Process::start(&desk, None);
            push_in(&mut process, "newest");
            process.kill();
        }
        git(&desk, "checkout -q theirs");
        let refused = desk.run(&["tree"]);
        assert_eq!(refused.code, 7, "{}", refused.stdout);
        assert!(refused.stderr.contains("git tracks .callstack/id"), "{}", refused.stderr);
        git(&desk, "checkout -q -");
        assert!(!id_file(&desk).exists(), "git has removed it");
        shows(&desk, &["real"]);
        if is_killed {
            shows(&desk, &["newest"]);
        }
        assert_eq!(fs::read(id_file(&desk)).unwrap(), own);
        desk.ok(&["doctor"]);
    }
}

#[test]
fn an_id_that_is_not_on_record_gives_way_to_the_one_of_the_database() {
    let desk = with_frame();
    let own = fs::read(id_file(&desk)).unwrap();
    for way in [&["tree"][..], &["trust", "--yes"]] {
        fs::write(id_file(&desk), OTHER).unwrap();
        desk.ok(way);
        assert_eq!(fs::read(id_file(&desk)).unwrap(), own, "{way:?}");
    }
}

/// A copy of the database is not the file that is kept.
#[test]
fn a_copy_of_a_database_without_an_id_is_asked_about() {
    let desk = with_frame();
    fs::remove_file(id_file(&desk)).unwrap();
    let copy = desk.database().with_extension("copy");
    fs::copy(desk.database(), &copy).unwrap();
    fs::rename(&copy, desk.database()).unwrap();
    let refused = desk.run(&["tree"]);
    assert_eq!(refused.code, 7, "{}", refused.stdout);
    desk.ok(&["trust", "--yes"]);
    shows(&desk, &["real"]);
}

#[test]
fn callstack_deletes_what_a_store_keeps_under_an_earlier_id() {
    let desk = with_earlier_id();
    desk.ok(&["init", "opencode", "--remove", "--with-store", "--yes"]);
    push(&desk, "more");
    let shown = desk.ok(&["tree", "--all"]);
    assert!(!shown.contains("real") && shown.contains("more"), "{shown}");
}

/// A purge deletes what is kept under an earlier id where the store has all of it, and is refused where it lacks some.
#[test]
fn a_purge_finds_what_a_store_keeps_under_an_earlier_id() {
    for lacks in [false, true] {
        let desk = with_earlier_id();
        let kept = desk.states().parent().unwrap().with_file_name(OTHER).join("callstack.db");
        let copy = desk.database().with_extension("copy");
        fs::copy(desk.database(), &copy).unwrap();
        if lacks {
            push(&desk, "lacking");
        }
        fs::rename(&copy, desk.database()).unwrap();
        let aside = desk.states().with_file_name("callstack.db-aside-1");
        desk.ok(&["tree"]);
        drop(fs::remove_file(&aside));
        let said = desk.run(&["purge", "f1", "--yes"]);
        assert_eq!(said.code == 0, !lacks, "{}", said.stderr);
        assert_eq!(kept.exists(), lacks);
        if lacks {
            assert!(said.stderr.contains(OTHER), "{}", said.stderr);
            assert!(desk.ok(&["doctor"]).contains(OTHER));
        }
    }
}
