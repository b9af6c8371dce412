//! Git removes what it ignores without asking: a store whose database it removed while nobody worked comes back.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::Duration;

use serde_json::json;

use super::killed::process::Process;
use super::test_env::{BINARY, TestEnv};

/// A project with a store in which a frame is finished, and a branch of somebody else.
pub(crate) fn with_branch(commit: impl Fn(&TestEnv)) -> TestEnv {
    let desk = TestEnv::new();
    let store = desk.project().join(".callstack");
    fs::remove_dir_all(&store).unwrap();
    fs::write(desk.project().join("main.rs"), "fn main() {}\n").unwrap();
    desk.sealed.git_init().unwrap();
    git(&desk, "checkout -q -b theirs");
    commit(&desk);
    git(&desk, "add -fA");
    git(&desk, "-c user.name=a -c user.email=a@b.test commit -qm theirs");
    git(&desk, "checkout -q -");
    assert!(store.symlink_metadata().is_err());
    push(&desk, "real");
    desk.ok(&["pop", "-r", "important"]);
    desk
}

/// Runs a command of git in the project.
pub(crate) fn git(desk: &TestEnv, line: &str) {
    let mut command = desk.sealed.command_in(&desk.project(), "git");
    command.args(line.split(' '));
    let said = desk.sealed.run("git", command, Duration::from_secs(30)).unwrap();
    assert!(said.success(), "{line}: {said}");
}

/// A project with a store that holds a frame.
pub(crate) fn with_frame() -> TestEnv {
    let desk = TestEnv::new();
    push(&desk, "real");
    desk
}

/// Begins a frame, in a new store if there is none.
pub(crate) fn push(desk: &TestEnv, title: &str) {
    desk.ok(&["push", "--here", title, "-c", "it is there"]);
}

pub(crate) fn delete_store(desk: &TestEnv) {
    fs::remove_dir_all(desk.project().join(".callstack")).unwrap();
}

/// Deletes files of the database, which are given by the ends of their names.
pub(crate) fn delete(desk: &TestEnv, ends: &[&str]) {
    for end in ends {
        fs::remove_file(desk.database().with_extension(end)).unwrap();
    }
}

/// Checks that frames are in the tree.
pub(crate) fn shows(desk: &TestEnv, titles: &[&str]) {
    let shown = desk.ok(&["tree", "--all"]);
    for title in titles {
        assert!(shown.contains(title), "{title} is not in {shown}");
    }
}

/// Has the agent of a process push a frame.
pub(crate) fn push_in(process: &mut Process, title: &str) {
    let said = json!({"session": "ses_a", "message": "msg_0", "text": "Go on"});
    process.ask("message", &said).unwrap();
    let call = json!({"name": "stack_frame_push", "session": "ses_a", "message": format!("msg_{title}"),
        "call": format!("call_{title}"), "agent": "build",
        "args": {"title": title, "successCriteria": "it is there"}});
    process.ask("tool", &call).unwrap();
}

#[test]
fn a_branch_that_brings_a_database_takes_none_away() {
    let desk = with_branch(|desk| {
        let store = desk.project().join(".callstack");
        fs::create_dir(&store).unwrap();
        fs::write(store.join("callstack.db"), "x").unwrap();
        fs::write(store.join("id"), "0123456789abcdef0123456789abcdef\n").unwrap();
    });
    git(&desk, "checkout -q theirs");
    let refused = desk.run(&["tree"]);
    assert_ne!(refused.code, 0, "{}", refused.stdout);
    git(&desk, "checkout -q -");
    assert!(!desk.database().exists(), "git has removed it");
    let shown = desk.ok(&["tree"]);
    assert!(shown.contains("real") && shown.contains("important"), "{shown}");
    desk.is_whole(&["f1"]);
}

/// An agent works while the branch comes, and ends there: what stood in its log alone is kept, too.
#[test]
fn a_process_that_ends_on_such_a_branch_leaves_all_that_it_holds() {
    for kind in ["file", "link", "database"] {
        let desk = with_branch(|desk| {
            let store = desk.project().join(".callstack");
            match kind {
                "file" => fs::write(&store, "x").unwrap(),
                "link" => symlink("elsewhere", &store).unwrap(),
                _ => {
                    fs::create_dir(&store).unwrap();
                    fs::write(store.join("callstack.db"), "x").unwrap();
                }
            }
        });
        let mut process = Process::start(&desk, None);
        push_in(&mut process, "newest");
        git(&desk, "checkout -q theirs");
        assert!(process.close(), "{kind}");
        git(&desk, "checkout -q -");
        push(&desk, "more");
        let shown = desk.ok(&["tree", "--all"]);
        for title in ["real", "newest", "more"] {
            assert!(shown.contains(title), "{kind}: {title} is not in {shown}");
        }
    }
}

#[test]
fn a_branch_that_brings_a_link_in_place_of_the_store_takes_nothing_away() {
    let desk = with_branch(|desk| {
        symlink("elsewhere", desk.project().join(".callstack")).unwrap();
    });
    git(&desk, "checkout -q theirs");
    git(&desk, "checkout -q -");
    assert!(!desk.project().join(".callstack").exists(), "git has removed all of it");
    let said = desk.run(&["push", "--here", "more", "-c", "it is there"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stderr.contains("had been deleted, and is there again"), "{}", said.stderr);
    shows(&desk, &["real", "more"]);
}

#[test]
fn a_store_that_was_deleted_by_callstack_stays_deleted() {
    let desk = with_frame();
    desk.ok(&["init", "opencode", "--remove", "--with-store", "--yes"]);
    push(&desk, "more");
    let shown = desk.ok(&["tree", "--all"]);
    assert!(!shown.contains("real") && shown.contains("more"), "{shown}");
}

#[test]
fn callstack_deletes_a_store_that_had_been_deleted_by_hand() {
    let desk = TestEnv::new();
    let stores = desk.sealed.home().join(".local/state/callstack/stores");
    let kept = || fs::read_dir(&stores).unwrap().count();
    push(&desk, "real");
    assert_eq!(kept(), 1);
    delete_store(&desk);
    let refused = desk.run(&["tree"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("`callstack init opencode` puts it back"),
        "{}",
        refused.stderr
    );
    desk.ok(&["init", "opencode", "--remove", "--with-store", "--yes"]);
    assert_eq!(kept(), 0);
    let said = desk.run(&["push", "--here", "more", "-c", "it is there"]);
    assert!(said.stderr.contains("made a store"), "{}", said.stderr);
}

/// A snapshot by hard links keeps a name of the database, which is not the store's then.
#[test]
fn a_database_with_further_names_comes_back_as_a_copy() {
    let desk = with_frame();
    let snapshot = desk.sealed.root().join("snapshot.db");
    fs::hard_link(desk.database(), &snapshot).unwrap();
    let before = fs::read(&snapshot).unwrap();
    delete_store(&desk);
    let said = desk.json(&["init", "opencode"]);
    assert_eq!(said["store"]["change"], "put back", "{said}");
    push(&desk, "more");
    shows(&desk, &["real", "more"]);
    assert!(fs::read(&snapshot).unwrap() == before, "the snapshot was written to");
}

/// The file has a further name, and an idle agent has it open: what that holds is there, and nothing is begun beside it.
#[test]
fn an_idle_process_puts_a_database_with_further_names_back() {
    let desk = with_frame();
    fs::hard_link(desk.database(), desk.sealed.root().join("snapshot.db")).unwrap();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    let id = fs::read(desk.project().join(".callstack/id")).unwrap();
    delete_store(&desk);
    push(&desk, "more");
    assert!(process.close());
    assert!(
        fs::read(desk.project().join(".callstack/id")).unwrap() == id,
        "another store was begun"
    );
    shows(&desk, &["real", "newest", "more"]);
}

/// A copy by hard links has the log of the live agent, too.
#[test]
fn a_copy_by_hard_links_is_not_taken_over_beside_a_live_process() {
    let desk = with_frame();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "first");
    let copy = desk.project().with_file_name("copy");
    let mut command = desk.sealed.command_in(desk.sealed.root(), "cp");
    command.args(["-al"]).arg(desk.project()).arg(&copy);
    assert!(desk.sealed.run("cp", command, Duration::from_secs(30)).unwrap().success());
    let refused = desk.run_in(&copy, &["trust", "--yes"]);
    assert_ne!(refused.code, 0, "{}", refused.stdout);
    assert!(refused.stderr.contains("end it, or copy without them"), "{}", refused.stderr);
    push_in(&mut process, "second");
    process.kill();
    assert_eq!(desk.run_in(&copy, &["trust", "--yes"]).code, 0);
    push(&desk, "more");
    shows(&desk, &["real", "first", "second", "more"]);
    let copied = desk.run_in(&copy, &["tree", "--all"]).stdout;
    assert!(copied.contains("second") && !copied.contains("more"), "{copied}");
}

/// The agent writes for a moment after its call: that doesn't bring back the folder of a project that was moved.
#[test]
fn a_project_that_is_moved_right_after_a_call_is_not_made_again() {
    let desk = with_frame();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    let call = json!({"name": "stack_frame_pop", "session": "ses_a", "message": "msg_pop",
        "call": "call_pop", "agent": "build", "args": {"results": "done"}});
    process.ask("tool", &call).unwrap();
    let moved = desk.project().with_file_name("moved");
    fs::rename(desk.project(), &moved).unwrap();
    std::thread::sleep(Duration::from_secs(2));
    assert!(!desk.project().exists(), "it was made again");
    process.close();
    assert!(!desk.project().exists(), "it was made again at the end");
}

/// The write-ahead log has a hard link, too.
#[test]
fn what_a_killed_process_has_logged_outlives_the_folder() {
    let desk = with_frame();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    process.kill();
    delete_store(&desk);
    push(&desk, "more");
    shows(&desk, &["real", "newest", "more"]);
    desk.ok(&["doctor"]);
    let log = desk.states().with_file_name("callstack.db-wal");
    assert!(!log.exists(), "a log that was written back is kept");
}

/// A second home has a link to a log that was written back long ago: its old pages don't come over newer ones.
#[test]
fn a_log_that_was_written_back_is_not_read_again() {
    let desk = with_frame();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "first");
    let (kept, log) =
        (desk.states().with_file_name("callstack.db-wal"), desk.sealed.root().join("old.log"));
    fs::copy(&kept, &log).unwrap();
    assert!(process.close());
    for title in ["second", "third", "fourth"] {
        push(&desk, title);
    }
    fs::rename(&log, &kept).unwrap();
    delete_store(&desk);
    push(&desk, "more");
    shows(&desk, &["real", "first", "second", "third", "fourth", "more"]);
    desk.ok(&["doctor"]);
}

/// A branch has left a journal, or a log, where the database was: neither is written into that.
#[test]
fn what_lies_where_the_database_was_is_not_written_into_it() {
    for kind in ["journal", "wal"] {
        let desk = TestEnv::new();
        let other = TestEnv::new();
        push(&desk, "real");
        push(&other, "theirs");
        let before = fs::read(desk.database()).unwrap();
        let kept = desk.states().with_file_name("callstack.db");
        let foreign = desk.database().with_extension(format!("db-{kind}"));
        fs::remove_file(desk.database()).unwrap();
        if kind == "journal" {
            fs::write(&foreign, journal_of(&before, &fs::read(other.database()).unwrap())).unwrap();
        } else {
            fs::write(&foreign, vec![7; 8192]).unwrap();
        }
        let said = desk.run(&["tree"]);
        if kind == "journal" {
            assert_eq!(said.code, 7, "{}", said.stdout);
            assert!(said.stderr.contains("is a rollback journal"), "{}", said.stderr);
            assert!(fs::read(&kept).unwrap() == before, "the database was written to");
            fs::remove_file(&foreign).unwrap();
        }
        assert!(desk.ok(&["tree"]).contains("real"), "{kind}");
        desk.is_whole(&["f1"]);
    }
}

/// A journal that puts the pages of one database into another: <https://sqlite.org/fileformat2.html#the_rollback_journal>.
pub(crate) fn journal_of(into: &[u8], from: &[u8]) -> Vec<u8> {
    const PAGE: usize = 4096;
    let pages = from.len() / PAGE;
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    for number in [pages, 0, into.len() / PAGE, 512, PAGE] {
        journal.extend(u32::try_from(number).unwrap().to_be_bytes());
    }
    journal.resize(512, 0);
    for (at, page) in from.chunks_exact(PAGE).enumerate() {
        journal.extend(u32::try_from(at + 1).unwrap().to_be_bytes());
        journal.extend(page);
        let mut sum = 0_u32;
        let mut place = PAGE;
        while place > 200 {
            place -= 200;
            sum = sum.wrapping_add(u32::from(page[place]));
        }
        journal.extend(sum.to_be_bytes());
    }
    journal
}

#[test]
fn a_log_that_is_deleted_alone_comes_back() {
    let desk = with_frame();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    process.kill();
    delete(&desk, &["db-wal", "db-shm"]);
    shows(&desk, &["real", "newest"]);
    desk.ok(&["doctor"]);
}

#[test]
fn a_log_comes_back_in_the_place_of_a_foreign_one() {
    let desk = with_frame();
    let log = desk.database().with_extension("db-wal");
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    let mut foreign = fs::read(&log).unwrap();
    process.kill();
    // The random part of its header.
    foreign[16..24].fill(7);
    delete(&desk, &["db-wal", "db-shm"]);
    fs::write(&log, foreign).unwrap();
    shows(&desk, &["real", "newest"]);
    assert!(desk.ok(&["doctor"]).contains("callstack.db-wal-unknown-1"));
}

/// It is not known to be the store's own: the checkout took the mark beside it away, and the other one is of another log.
#[test]
fn a_store_that_comes_back_without_its_log_is_said_to_lack_something() {
    for (mark, expected) in [(None, "made again\n"), (Some("0"), "opened without its log")] {
        let desk = with_frame();
        let mut process = Process::start(&desk, None);
        push_in(&mut process, "newest");
        process.kill();
        if let Some(mark) = mark {
            fs::write(desk.states().with_file_name("log"), mark.repeat(64)).unwrap();
        }
        delete_store(&desk);
        let mut process = Process::start(&desk, None);
        push_in(&mut process, "more");
        assert!(process.close());
        let said = fs::read_to_string(desk.project().join(".callstack/callstack.log")).unwrap();
        assert!(said.contains(expected), "{said}");
    }
}

/// Where the disk is full, nothing is taken for damaged, and nothing is deleted.
#[test]
fn a_log_that_can_not_be_read_now_comes_back_later() {
    for all in [false, true] {
        let desk = with_frame();
        let mut process = Process::start(&desk, None);
        push_in(&mut process, "newest");
        process.kill();
        delete(&desk, &["db-wal", "db-shm"]);
        if all {
            fs::remove_file(desk.database()).unwrap();
        }
        let mut command = desk.sealed.command_in(&desk.project(), "sh");
        command.args(["-c", &format!("ulimit -f 8; {BINARY} tree --all")]);
        let limited = desk.sealed.run("sh", command, Duration::from_secs(30)).unwrap();
        assert!(!limited.success(), "{limited}");
        shows(&desk, &["real", "newest"]);
    }
}

/// A backup was copied over the database, after its log was deleted: that is not read again.
#[test]
fn a_log_does_not_come_back_over_a_backup() {
    let desk = with_frame();
    let backup = desk.sealed.root().join("backup.db");
    fs::copy(desk.database(), &backup).unwrap();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    process.kill();
    delete(&desk, &["db-wal", "db-shm"]);
    fs::copy(&backup, desk.database()).unwrap();
    let shown = desk.ok(&["tree", "--all"]);
    assert!(shown.contains("real") && !shown.contains("newest"), "{shown}");
    assert!(desk.ok(&["doctor"]).contains("put aside"));
}

#[test]
fn callstack_deletes_a_damaged_store() {
    let desk = with_frame();
    fs::write(desk.database(), "it is no database").unwrap();
    desk.ok(&["init", "opencode", "--remove", "--with-store", "--yes"]);
    push(&desk, "more");
    assert!(!desk.ok(&["tree", "--all"]).contains("real"));
}

/// A copy of the whole project takes its place, with the store in it.
#[test]
fn a_project_that_was_copied_and_renamed_stays_the_same() {
    let desk = with_frame();
    let copy = desk.project().with_file_name("copy");
    let mut command = desk.sealed.command_in(desk.sealed.root(), "cp");
    command.arg("-a").arg(desk.project()).arg(&copy);
    assert!(desk.sealed.run("cp", command, Duration::from_secs(30)).unwrap().success());
    fs::remove_dir_all(desk.project()).unwrap();
    fs::rename(&copy, desk.project()).unwrap();
    push(&desk, "more");
    delete_store(&desk);
    push(&desk, "again");
    shows(&desk, &["real", "more", "again"]);
}

#[test]
fn the_store_of_a_package_comes_back_where_it_was() {
    let desk = TestEnv::without_store();
    let package = desk.project().join("packages/one");
    fs::create_dir_all(&package).unwrap();
    desk.sealed.git_init().unwrap();
    assert_eq!(desk.run(&["init", "opencode", "packages/one"]).code, 0);
    assert_eq!(desk.run_in(&package, &["push", "real", "-c", "it is there"]).code, 0);
    fs::remove_dir_all(package.join(".callstack")).unwrap();
    let said = desk.run_in(&package, &["push", "--here", "more", "-c", "it is there"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(!desk.project().join(".callstack").exists(), "one was made at the root");
    assert!(desk.run_in(&package, &["tree", "--all"]).stdout.contains("real"));
}

/// The next command comes after a checkout, or whoever deletes what git ignores.
#[test]
fn a_store_that_was_taken_over_comes_back() {
    let desk = with_frame();
    let moved = desk.project().with_file_name("moved");
    fs::rename(desk.project(), &moved).unwrap();
    assert_eq!(desk.run_in(&moved, &["trust", "--yes"]).code, 0);
    fs::remove_dir_all(moved.join(".callstack")).unwrap();
    assert_eq!(desk.run_in(&moved, &["push", "--here", "more", "-c", "it is there"]).code, 0);
    let shown = desk.run_in(&moved, &["tree", "--all"]).stdout;
    assert!(shown.contains("real") && shown.contains("more"), "{shown}");
}

/// Without a hard link nothing can be restored, which is no reason to say nothing.
#[test]
fn a_store_that_is_begun_anew_says_so() {
    let desk = with_frame();
    delete(&desk, &["db"]);
    for kept in ["callstack.db", "callstack.db-wal"] {
        drop(fs::remove_file(desk.states().with_file_name(kept)));
    }
    let said = desk.run(&["push", "more", "-c", "it is there"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stderr.contains("an empty one was begun"), "{}", said.stderr);
    assert!(!desk.run(&["tree"]).stderr.contains("an empty one was begun"));
}

/// Another member of a group has made the database a program that runs as its owner: no file that is made from it is.
#[test]
fn no_copy_of_a_database_is_a_program() {
    let desk = with_frame();
    fs::hard_link(desk.database(), desk.sealed.root().join("extra")).unwrap();
    fs::set_permissions(desk.database(), Permissions::from_mode(0o6777)).unwrap();
    delete_store(&desk);
    push(&desk, "more");
    for entry in fs::read_dir(desk.project().join(".callstack")).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        let bits = if entry.file_type().unwrap().is_dir() { 0o4002 } else { 0o7113 };
        assert_eq!(mode & bits, 0, "{:?} has mode {mode:o}", entry.path());
    }
}

/// The project was moved, and there is another one at its path: they share nothing.
#[test]
fn the_database_of_a_moved_project_is_in_no_other_one() {
    let desk = with_frame();
    let moved = desk.project().with_file_name("moved");
    fs::rename(desk.project(), &moved).unwrap();
    fs::create_dir(desk.project()).unwrap();
    push(&desk, "more");
    let shown = desk.ok(&["tree", "--all"]);
    assert!(!shown.contains("real") && shown.contains("more"), "{shown}");
    let id = |project: &std::path::Path| fs::read(project.join(".callstack/id")).unwrap();
    assert_ne!(id(&moved), id(&desk.project()));
}

/// The log of a process that was killed lies beside a database of somebody else for a while: neither is written to.
#[test]
fn a_foreign_database_beside_a_log_leaves_both_as_they_are() {
    let (desk, other) = (TestEnv::new(), TestEnv::new());
    push(&other, "theirs");
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "mine");
    process.kill();
    let (mine, log) =
        (desk.sealed.root().join("mine.db"), desk.database().with_extension("db-wal"));
    let before = (fs::read(other.database()).unwrap(), fs::read(&log).unwrap());
    fs::rename(desk.database(), &mine).unwrap();
    fs::copy(other.database(), desk.database()).unwrap();
    for command in [&["tree"][..], &["push", "more", "-c", "it is there"], &["doctor"]] {
        assert_ne!(desk.run(command).code, 0, "{command:?}");
    }
    assert!(fs::read(desk.database()).unwrap() == before.0, "theirs was written to");
    let log_is_there = fs::read(&log).is_ok_and(|log| log == before.1);
    assert!(log_is_there, "what stood in the log alone is gone");
    fs::rename(&mine, desk.database()).unwrap();
    assert!(desk.ok(&["tree", "--all"]).contains("mine"));
}

/// Two names of one file are no copy: each project has a database of its own once both are trusted.
#[test]
fn a_project_that_was_copied_by_hard_links_has_a_database_of_its_own() {
    let desk = with_frame();
    let copy = desk.project().with_file_name("copy");
    let mut cp = desk.sealed.command_in(&desk.project(), "cp");
    cp.args(["-al", "."]).arg(&copy);
    assert!(desk.sealed.run("cp", cp, Duration::from_secs(30)).unwrap().success());
    let trust = desk.command(&copy, &["trust", "--yes"]);
    assert!(desk.sealed.run("callstack", trust, Duration::from_secs(30)).unwrap().success());
    let push = desk.command(&copy, &["push", "theirs", "-c", "it is there"]);
    assert!(desk.sealed.run("callstack", push, Duration::from_secs(30)).unwrap().success());
    let shown = desk.ok(&["tree", "--all"]);
    assert!(shown.contains("real") && !shown.contains("theirs"), "{shown}");
}

/// Another home has a hard link to the log, which the last process that ends deletes.
#[test]
fn nothing_stays_in_a_further_link_to_a_log() {
    let desk = with_frame();
    let mut process = Process::start(&desk, None);
    push_in(&mut process, "newest");
    let further = desk.sealed.root().join("further.log");
    fs::hard_link(desk.database().with_extension("db-wal"), &further).unwrap();
    assert_ne!(fs::metadata(&further).unwrap().len(), 0);
    assert!(process.close());
    assert_eq!(fs::metadata(&further).unwrap().len(), 0);
    shows(&desk, &["real", "newest"]);
}

/// The environment names the project, as in a container.
#[test]
fn a_store_that_is_trusted_by_name_comes_back() {
    let desk = TestEnv::without_store();
    let run = |args: &[&str]| {
        let mut command = desk.command(&desk.project(), args);
        command.env("CALLSTACK_TRUST", desk.project());
        let said = desk.sealed.run("callstack", command, Duration::from_secs(30)).unwrap();
        assert!(said.success(), "{args:?}: {said}");
        said
    };
    run(&["push", "--here", "real", "-c", "it is there"]);
    delete_store(&desk);
    run(&["push", "--here", "more", "-c", "it is there"]);
    let shown = run(&["tree", "--all"]);
    assert!(shown.stdout.contains("real") && shown.stdout.contains("more"), "{shown}");
}
