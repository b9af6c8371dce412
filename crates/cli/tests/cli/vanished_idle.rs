//! The store is deleted or replaced under a process that does nothing just then, and others use it, or the process
//! ends, before it does anything again.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::kept::journal_of;
use super::killed::host::{Host, Trouble};
use super::killed::process::Process;
use super::killed::{assert_same, stored};
use super::test_env::TestEnv;

const S: &str = "ses_a";
/// All that a process does after its last request is done by then.
const IDLE: Duration = Duration::from_millis(1500);

fn shell(desk: &TestEnv, line: &str) {
    let mut command = desk.sealed.command_in(&desk.project(), "sh");
    command.args(["-ec", line]);
    let said = desk.sealed.run("sh", command, Duration::from_secs(30)).unwrap();
    assert!(said.success(), "{line}: {said}");
}

/// A session with a finished frame, most of which stands in the write-ahead log alone.
fn worked() -> Host {
    let mut host = Host::new(Trouble::None);
    host.desk.sealed.git_init().unwrap();
    host.user(S, "Write the parser");
    host.call(S, "stack_frame_push", &json!({"title": "grammar", "successCriteria": "it works"}));
    host.run(S, "make grammar", 0);
    host.call(S, "stack_frame_pop", &json!({"results": "23 rules"}));
    host.reply(S, "The grammar is there.");
    host.user(S, "Thanks");
    host.sent(S);
    std::thread::sleep(IDLE);
    host
}

/// Ways in which the files go, also by two checkouts: of a branch that has other ones, and back.
fn ways() -> Vec<String> {
    let files = ["", "-wal", "-shm"].map(|end| format!(".callstack/callstack.db{end}"));
    let [database, log, index] = &files;
    let checkouts = |files: &[&String]| {
        let add = files.iter().map(|file| {
            format!("git update-index --add --cacheinfo 100644,$(echo hi | git hash-object -w --stdin),{file}; ")
        });
        let add: String = add.collect();
        format!(
            "commit() {{ git -c user.name=a -c user.email=a@b commit -q --allow-empty -m \"$1\"; }}; \
             commit first; {add} commit theirs; git branch theirs; git reset -q HEAD~1; git checkout -qf theirs; git checkout -qf -"
        )
    };
    vec![
        format!("rm {database}"),
        format!("rm {log}"),
        format!("rm {index}"),
        format!("rm {log} {index}"),
        format!("rm {database} {log} {index}"),
        checkouts(&[database]),
        checkouts(&[database, log, index]),
    ]
}

/// Tries each way, all at the same time, since most of the time is waited.
fn each_way(attempt: impl Fn(&str) + Sync) {
    std::thread::scope(|scope| {
        for way in ways() {
            let attempt = &attempt;
            scope.spawn(move || attempt(&way));
        }
    });
}

#[test]
fn the_next_command_has_all_that_an_idle_process_holds() {
    for command in [&["tree"][..], &["push", "index", "-c", "it is there"]] {
        each_way(|way| {
            let mut host = worked();
            shell(&host.desk, way);
            let said = host.desk.run(command);
            assert_eq!(said.code, 0, "{way}; {command:?}: {}", said.stderr);
            let titles = host.desk.ok(&["tree", "--all"]);
            assert!(titles.contains("grammar"), "{way}; {command:?}: {titles}");
            assert!(host.close(), "{way}");
            assert_same(way, &host.shown(S), &stored(&host.desk, S));
        });
    }
}

#[test]
fn a_process_that_is_asked_to_end_leaves_all_that_it_holds() {
    each_way(|way| {
        let mut host = worked();
        shell(&host.desk, way);
        host.terminate();
        let titles = host.desk.ok(&["tree", "--all"]);
        assert!(titles.contains("grammar"), "{way}: {titles}");
        assert_same(way, &host.shown(S), &stored(&host.desk, S));
    });
}

/// Once nobody writes, the database has all that its write-ahead log holds, also where that has no hard link elsewhere.
#[test]
fn what_an_idle_process_has_logged_outlives_its_death_and_the_folder() {
    let mut host = worked();
    let database = host.desk.database();
    let written = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let log = written(&database.with_extension("db-wal"));
    let begun = Instant::now();
    while written(&database) < log {
        assert!(begun.elapsed() < Duration::from_mins(1), "the log was not written back");
        std::thread::sleep(Duration::from_millis(100));
    }
    host.kill();
    shell(&host.desk, "git clean -qfdx");
    host.desk.ok(&["push", "--here", "index", "-c", "it is there"]);
    let titles = host.desk.ok(&["tree", "--all"]);
    assert!(titles.contains("grammar") && titles.contains("index"), "{titles}");
    assert_same("git clean", &host.shown(S), &stored(&host.desk, S));
}

/// The folder is gone with all that is in it, and a new store is begun in its place, beside two idle processes.
#[test]
fn a_store_that_is_begun_in_its_place_has_all_that_idle_processes_hold() {
    for way in ["rm -rf .callstack", "git clean -qfdx"] {
        let mut host = worked();
        let mut other = Process::start(&host.desk, None);
        let said = json!({"session": "ses_b", "message": "msg_0", "text": "Write the printer"});
        other.ask("message", &said).unwrap();
        let push = json!({"title": "layout", "successCriteria": "it prints"});
        let call = json!({"name": "stack_frame_push", "args": push, "session": "ses_b",
            "message": "msg_1", "call": "call_1", "agent": "build"});
        other.ask("tool", &call).unwrap();
        std::thread::sleep(IDLE);
        shell(&host.desk, way);
        assert!(!host.desk.database().exists(), "{way}");
        host.desk.ok(&["push", "--here", "index", "-c", "it is there"]);
        let assert_whole = || {
            let titles = host.desk.ok(&["tree", "--all"]);
            for title in ["grammar", "layout", "index"] {
                assert!(titles.contains(title), "{way}: {title} is not in {titles}");
            }
        };
        assert_whole();
        assert!(other.close(), "{way}");
        assert_whole();
        assert!(host.close(), "{way}");
        assert_same(way, &host.shown(S), &stored(&host.desk, S));
    }
}

/// Another database is put beside the write-ahead log of the one that two processes have open. They share the index of
/// that log, and none may lose its locks on it: SQLite would make the index shorter under the other one.
#[test]
fn processes_go_on_beside_a_database_that_was_put_in_the_place_of_theirs() {
    let database = ".callstack/callstack.db";
    let again = format!("mv {database} old.db; cp old.db {database}");
    for (way, keeps_newest) in
        [("mv backup.db DB", false), ("mv DB old.db; cp backup.db DB", false), (&again, true)]
    {
        let desk = TestEnv::new();
        desk.ok(&["push", "--here", "grammar", "-c", "it parses"]);
        shell(&desk, &format!("cp {database} backup.db"));
        let mut processes = ["ses_a", "ses_b"].map(|session| {
            let mut process = Process::start(&desk, None);
            let said = json!({"session": session, "message": "msg_0", "text": "Go on"});
            process.ask("message", &said).unwrap();
            (session, process)
        });
        let mut push = |title: &str| {
            for (session, process) in &mut processes {
                let arguments = json!({"title": format!("{title} in {session}"), "successCriteria": "it is there"});
                let message = format!("msg_{title}");
                let call = json!({"name": "stack_frame_push", "args": arguments, "session": session,
                    "message": message, "call": format!("call_{title}"), "agent": "build"});
                // Where another state was put there, one answer says so.
                let answer = process.try_ask("tool", &call);
                assert!(answer.is_some(), "{way}: the process of {session} has ended");
            }
        };
        push("layout");
        std::thread::sleep(IDLE);
        shell(&desk, &way.replace("DB", database));
        for title in ["lexer", "index", "printer"] {
            push(title);
        }
        for (session, mut process) in processes {
            assert!(process.close(), "{way}: {session}");
        }
        let titles = desk.ok(&["tree", "--all"]);
        let expected = ["grammar", "printer in ses_a", "printer in ses_b"];
        for title in expected
            .iter()
            .chain(["layout in ses_a", "layout in ses_b"].iter().filter(|_| keeps_newest))
        {
            assert!(titles.contains(title), "{way}: {title} is not in {titles}");
        }
        desk.ok(&["doctor"]);
    }
}

#[test]
fn nothing_is_begun_beside_the_log_of_a_database_that_is_gone() {
    let mut host = worked();
    host.kill();
    let database = host.desk.database();
    let kept = host.desk.project().join("callstack.db.kept");
    fs::rename(&database, &kept).unwrap();
    for file in ["callstack.db", "callstack.db-wal"] {
        fs::remove_file(host.desk.states().with_file_name(file)).unwrap();
    }
    let log = fs::read(database.with_extension("db-wal")).unwrap();
    for command in [&["tree"][..], &["push", "index", "-c", "it is there"], &["doctor"]] {
        let said = host.desk.run(command);
        assert_eq!(said.code, 6, "{command:?}: {}{}", said.stdout, said.stderr);
        let output = format!("{}{}", said.stdout, said.stderr);
        assert!(
            output.contains("the database is gone, but its write-ahead log is not"),
            "{output}"
        );
        assert!(!database.exists(), "{command:?}");
        assert!(fs::read(database.with_extension("db-wal")).unwrap() == log, "{command:?}");
    }
    fs::rename(&kept, &database).unwrap();
    assert!(host.desk.ok(&["tree", "--all"]).contains("grammar"));
}

/// A branch has left a rollback journal where the database was, which the process makes again.
#[test]
fn a_journal_is_not_written_into_a_database_that_is_made_again() {
    let other = TestEnv::new();
    other.ok(&["push", "theirs", "-c", "it is there"]);
    let mut host = worked();
    let database = host.desk.database();
    let pages = fs::read(other.database()).unwrap();
    for end in ["db", "db-wal", "db-shm"] {
        fs::remove_file(database.with_extension(end)).unwrap();
    }
    let journal = database.with_extension("db-journal");
    fs::write(&journal, journal_of(&pages, &pages)).unwrap();
    std::thread::sleep(IDLE);
    host.kill();
    assert_eq!(host.desk.run(&["tree"]).code, 7);
    fs::remove_file(journal).unwrap();
    let titles = host.desk.ok(&["tree", "--all"]);
    assert!(titles.contains("grammar") && !titles.contains("theirs"), "{titles}");
    assert_same("journal", &host.shown(S), &stored(&host.desk, S));
}
