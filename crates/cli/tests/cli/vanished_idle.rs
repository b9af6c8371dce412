//! The store is deleted or replaced under a process that does nothing just then, and others use it, or the process
//! ends, before it does anything again.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::killed::host::{Host, Trouble};
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

/// A session with a finished frame, most of which stands in the log of writes alone.
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

#[test]
fn nothing_is_begun_beside_the_log_of_a_database_that_is_gone() {
    let mut host = worked();
    host.kill();
    let database = host.desk.database();
    let kept = host.desk.project().join("callstack.db.kept");
    fs::rename(&database, &kept).unwrap();
    let log = fs::read(database.with_extension("db-wal")).unwrap();
    for command in [&["tree"][..], &["push", "index", "-c", "it is there"], &["doctor"]] {
        let said = host.desk.run(command);
        assert_eq!(said.code, 6, "{command:?}: {}{}", said.stdout, said.stderr);
        let told = format!("{}{}", said.stdout, said.stderr);
        assert!(told.contains("the database is gone, but its write-ahead log is not"), "{told}");
        assert!(!database.exists(), "{command:?}");
        assert!(fs::read(database.with_extension("db-wal")).unwrap() == log, "{command:?}");
    }
    fs::rename(&kept, &database).unwrap();
    assert!(host.desk.ok(&["tree", "--all"]).contains("grammar"));
}
