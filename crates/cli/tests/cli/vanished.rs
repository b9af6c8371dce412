//! The store is deleted, emptied or replaced while an agent works: acknowledged messages are there afterwards or
//! reported as lost, and nothing is folded that is not stored.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::killed::host::{Host, Trouble};
use super::killed::{assert_same, same, stored};
use super::test_env::TestEnv;

const S: &str = "ses_a";

/// Runs a line of shell in the project.
fn shell(desk: &TestEnv, line: &str) {
    let mut command = desk.sealed.command_in(&desk.project(), "sh");
    command.args(["-ec", line]);
    let said = desk.sealed.run("sh", command, Duration::from_secs(30)).unwrap();
    assert!(said.success(), "{line}: {said}");
}

fn push(host: &mut Host, title: &str) {
    let args = json!({"title": title, "successCriteria": format!("the {title} works")});
    host.call(S, "stack_frame_push", &args);
}

fn pop(host: &mut Host, results: &str) {
    host.call(S, "stack_frame_pop", &json!({ "results": results }));
}

/// Works on three frames, and calls `happen` before the step of that number.
fn work(host: &mut Host, before: usize, happen: impl Fn(&TestEnv)) {
    let steps: [&dyn Fn(&mut Host); 10] = [
        &|host| host.user(S, "Write the parser of the configuration"),
        &|host| push(host, "grammar"),
        &|host| host.run(S, "make grammar", 0),
        &|host| pop(host, "23 rules, no comments"),
        &|host| push(host, "cache"),
        &|host| host.run(S, "make cache", 0),
        &|host| push(host, "index"),
        &|host| pop(host, "it has 4 columns"),
        &|host| pop(host, "it takes 2 MB"),
        &|host| host.reply(S, "The parser is there."),
    ];
    for (at, step) in steps.into_iter().enumerate() {
        if at == before {
            happen(&host.desk);
        }
        step(host);
    }
    host.user(S, "Thanks");
}

fn id(desk: &TestEnv) -> String {
    fs::read_to_string(desk.project().join(".callstack/id")).unwrap()
}

fn begun() -> Host {
    let host = Host::new(Trouble::None);
    host.desk.sealed.git_init().unwrap();
    host
}

#[test]
fn a_store_that_vanishes_is_made_again_with_all_that_was_acknowledged() {
    let mut host = begun();
    work(&mut host, usize::MAX, |_| {});
    let expected = (host.sent(S), same(host.desk.json(&["tree"])));
    assert!(expected.0.contains("23 rules"), "{}", expected.0);
    // The process may make it again while it is being deleted, even twice.
    let folder = "rm -rf .callstack || rm -rf .callstack || true";
    for vanish in [
        folder,
        ": > .callstack/callstack.db",
        "rm -f .callstack/callstack.db*",
        "rm -f .callstack/callstack.db-wal",
        "git clean -fdxq || git clean -fdxq || true",
        "mv .callstack ../elsewhere",
    ] {
        for before in [1, 3, 4, 8, 9] {
            let what = format!("`{vanish}` before step {before}");
            let mut host = begun();
            let mark = id(&host.desk);
            work(&mut host, before, |desk| shell(desk, vanish));
            let found = (host.sent(S), same(host.desk.json(&["tree"])));
            assert_same(&what, &expected, &found);
            let notice = "the store in .callstack had vanished or was overwritten, and was made again; nothing was lost";
            // It says so, too, where it finds nothing yet in which to make it again.
            host.troubles.retain(|it| !it.contains("can't be made again"));
            let troubles = host.troubles.join("; ");
            assert!(
                !troubles.is_empty() && troubles.replace(notice, "").len() <= 4,
                "{what}: {troubles}"
            );
            assert!(host.close(), "{what}");
            assert_same(&what, &host.shown(S), &stored(&host.desk, S));
            assert_eq!(id(&host.desk), mark, "{what}");
            let log = fs::read_to_string(host.desk.project().join(".callstack/callstack.log"));
            assert!(log.unwrap().contains("Store made again"), "{what}");
            let said = host.desk.run(&["doctor", "--json"]);
            assert_eq!(said.code, 0, "{what}: {}{}", said.stdout, said.stderr);
        }
    }
}

#[test]
fn a_backup_copied_over_a_live_store_loses_nothing_or_is_gone_on_with_and_reported() {
    let back = "cp callstack.backup .callstack/callstack.db";
    for how in [back.to_owned(), format!("{back}; rm -f .callstack/callstack.db-*")] {
        let mut host = begun();
        work(&mut host, 5, |desk| {
            let copy = desk.project().join("callstack.backup");
            let store = rusqlite::Connection::open(desk.database()).unwrap();
            store.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
        });
        for frame in ["net", "disk", "clock", "lock", "queue"] {
            push(&mut host, frame);
            pop(&mut host, &format!("the {frame} works"));
        }
        shell(&host.desk, &how);
        push(&mut host, "last");
        pop(&mut host, "it was added afterwards");
        host.reply(S, "All is there.");
        host.user(S, "Thanks");
        let sent = host.sent(S);
        assert!(sent.contains("it was added afterwards"), "{how}: {sent}");
        let is_reported =
            host.troubles.iter().any(|it| it.contains("was replaced by another one, and "));
        let titles = host.desk.ok(&["tree", "--all"]);
        assert_eq!(titles.contains("queue"), !is_reported, "{how}: {titles}{:?}", host.troubles);
        assert!(host.close(), "{how}");
        assert_same(&how, &host.shown(S), &stored(&host.desk, S));
        let said = host.desk.run(&["doctor", "--json"]);
        assert_eq!(said.code, 0, "{how}: {}{}", said.stdout, said.stderr);
    }
}

#[test]
fn a_mark_that_goes_under_a_live_process_is_put_again_and_a_foreign_one_is_refused() {
    let mut host = begun();
    host.user(S, "Write the parser of the configuration");
    push(&mut host, "grammar");
    let mark = id(&host.desk);
    shell(&host.desk, "rm .callstack/id");
    pop(&mut host, "23 rules, no comments");
    assert_eq!(id(&host.desk), mark);
    shell(&host.desk, "echo 0123456789abcdef0123456789abcdef > .callstack/id");
    let all = host.all_of(S);
    for _ in 0..2 {
        let error = host.refused("sync", &all);
        assert!(error.contains("was not made here"), "{error}");
    }
    shell(&host.desk, &format!("echo {} > .callstack/id", mark.trim()));
    push(&mut host, "cache");
    pop(&mut host, "it takes 2 MB");
    assert!(host.desk.ok(&["tree"]).contains("cache"));
}

#[test]
fn logs_that_are_emptied_or_deleted_under_a_live_process_are_written_again() {
    for line in [
        ": > .callstack/callstack.log; for log in .callstack/logs/*; do : > $log; done",
        "rm .callstack/callstack.log .callstack/logs/*",
    ] {
        let mut host = begun();
        host.user(S, "Write the parser of the configuration");
        push(&mut host, "grammar");
        host.run(S, "make grammar", 0);
        pop(&mut host, "23 rules, no comments");
        host.reply(S, "The grammar is there.");
        let first = host.desk.project().join(".callstack/logs/f2.md");
        wait_for(&first);
        shell(&host.desk, line);
        push(&mut host, "cache");
        pop(&mut host, "it takes 2 MB");
        host.user(S, "Thanks");
        wait_for(&first);
        assert!(host.close(), "{line}");
        let text = fs::read_to_string(&first).unwrap();
        assert!(text.contains("23 rules"), "{line}: {text}");
        let log = fs::read_to_string(host.desk.project().join(".callstack/callstack.log")).unwrap();
        assert!(log.contains("cache"), "{line}: {log}");
        assert_eq!(log.contains("Log cut short"), line.starts_with(':'), "{line}: {log}");
    }
}

/// Waits until something is in a file that is written in the background.
fn wait_for(path: &Path) {
    let begun = std::time::Instant::now();
    while fs::metadata(path).map_or(0, |file| file.len()) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "{} is not written", path.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Another project with a frame and a message of its own; its database as a single file.
fn other() -> (TestEnv, std::path::PathBuf) {
    let other = TestEnv::new();
    other.ok(&["push", "Elsewhere", "-c", "It is elsewhere"]);
    let database = other.database();
    (other, database)
}

#[test]
fn a_store_that_another_one_replaces_is_gone_on_with_and_what_is_lost_is_said() {
    let (_other, database) = other();
    let database = database.to_str().unwrap();
    for before in [2, 4, 8] {
        let mut host = begun();
        host.user(S, "Write the parser of the configuration");
        push(&mut host, "grammar");
        host.run(S, "make grammar", 0);
        if before > 2 {
            pop(&mut host, "23 rules, no comments");
            host.run(S, "make", 0);
        }
        if before > 4 {
            push(&mut host, "cache");
        }
        shell(
            &host.desk,
            &format!(
                "cp '{database}' x.db && mv x.db .callstack/callstack.db && rm -f .callstack/callstack.db-*"
            ),
        );
        host.desk.ok(&["trust", "--yes"]);
        host.run(S, "make all", 0);
        let ops = json!(host.ops(S)).to_string();
        assert!(!ops.contains("23 rules"), "{ops}");
        push(&mut host, "parser");
        host.run(S, "make parser", 0);
        pop(&mut host, "it parses");
        host.reply(S, "The parser is there.");
        host.user(S, "Thanks");
        let ops = host.sent(S);
        assert!(ops.contains("it parses") && !ops.contains("23 rules"), "{ops}");
        // It is refused where the process finds it before it is trusted.
        host.troubles.retain(|it| !it.contains("is not the database that callstack made here"));
        assert_eq!(host.troubles.len(), 1, "{:#?}", host.troubles);
        assert!(host.troubles[0].contains("replaced by another one, and "), "{:?}", host.troubles);
        assert!(host.close());
        assert_same("messages", &host.shown(S), &stored(&host.desk, S));
        let titles = host.desk.ok(&["tree", "--all"]);
        assert!(titles.contains("Elsewhere") && titles.contains("parser"), "{titles}");
        assert!(!titles.contains("grammar"), "{titles}");
    }
}

/// Asserts that nothing is acknowledged while something else is in the place of the store, and that everything is
/// there afterwards. Nothing is written there but for files that are the process's `own`.
fn is_refused_meanwhile(put: &str, remove: &str, why: &str, own: &[&str]) {
    let mut host = begun();
    host.user(S, "Write the parser of the configuration");
    push(&mut host, "grammar");
    host.run(S, "make grammar", 0);
    pop(&mut host, "23 rules, no comments");
    host.run(S, "make", 0);
    let call = json!({"session": S, "message": "msg_x", "call": "call_x", "agent": "build",
        "name": "stack_frame_push", "args": {"title": "lost", "successCriteria": "x"}});
    shell(&host.desk, put);
    let mut before = content(&host.desk.project().join(".callstack"));
    for _ in 0..2 {
        let all = host.all_of(S);
        for (method, params) in
            [("sync", &all), ("tool", &call), ("system", &json!({"session": S, "model": {}}))]
        {
            let error = host.refused(method, params);
            assert!(error.starts_with("unavailable: ") && error.contains(why), "{error}");
        }
    }
    let mut after = content(&host.desk.project().join(".callstack"));
    for files in [&mut before, &mut after] {
        files.retain(|(path, _)| !own.iter().any(|own| path.ends_with(own)));
    }
    assert!(after == before, "it was written to");
    shell(&host.desk, remove);
    push(&mut host, "cache");
    pop(&mut host, "it takes 2 MB");
    host.reply(S, "The parser is there.");
    let sent = host.sent(S);
    assert!(sent.contains("23 rules") && sent.contains("it takes 2 MB"), "{sent}");
    assert!(host.close());
    assert_same("messages", &host.shown(S), &stored(&host.desk, S));
    let titles = host.desk.ok(&["tree", "--all"]);
    assert!(titles.contains("grammar") && !titles.contains("lost"), "{titles}");
}

/// Returns the content of a folder or file.
fn content(path: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    if path.is_file() {
        return vec![(path.to_path_buf(), fs::read(path).unwrap())];
    }
    let mut files: Vec<_> =
        fs::read_dir(path).unwrap().flat_map(|it| content(&it.unwrap().path())).collect();
    files.sort();
    files
}

#[test]
fn what_can_not_be_made_again_is_said_each_time_and_nothing_is_acknowledged() {
    let gone = "has vanished while it was in use, and can't be made again";
    is_refused_meanwhile(
        "rm -rf .callstack && echo in its place > .callstack",
        "rm .callstack",
        gone,
        &[],
    );
}

#[test]
fn a_store_of_another_project_in_the_place_of_a_live_one_is_neither_read_nor_changed() {
    let (other, _) = other();
    let folder = other.project().join(".callstack");
    let copy = format!("rm -rf .callstack && cp -a '{}' .callstack", folder.display());
    is_refused_meanwhile(&copy, "rm -rf .callstack", "was not made here", &[]);
    // A checkout replaces the database alone.
    let database = format!(
        "cp '{}/callstack.db' x.db && mv x.db .callstack/callstack.db && rm -f .callstack/callstack.db-*",
        folder.display()
    );
    let why = "is not the database that callstack made here";
    let own = ["callstack.log", "restore.lock"];
    is_refused_meanwhile(&database, "rm .callstack/callstack.db", why, &own);
    let unmarked = format!("{copy} && rm .callstack/id");
    is_refused_meanwhile(&unmarked, "rm -rf .callstack", "was not made here", &[]);
}

#[test]
fn a_database_that_was_emptied_with_its_log_is_had_whole_or_an_error_that_folds_nothing_more() {
    let mut host = begun();
    host.user(S, "Write the parser of the configuration");
    push(&mut host, "grammar");
    host.run(S, "make grammar", 0);
    shell(&host.desk, ": > .callstack/callstack.db; : > .callstack/callstack.db-wal");
    let all: Value = host.all_of(S);
    let outcome = host.asked("sync", &all);
    if let Err(error) = outcome {
        assert!(error.contains("emptied") || error.contains("taken away"), "{error}");
        assert_eq!(fs::metadata(host.desk.database()).unwrap().len(), 0);
        return;
    }
    // An open connection had kept all of so small a store.
    pop(&mut host, "23 rules, no comments");
    assert!(host.close());
    assert_same("messages", &host.shown(S), &stored(&host.desk, S));
    assert!(host.desk.ok(&["tree"]).contains("grammar"));
    let said = host.desk.run(&["doctor", "--json"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
}

#[test]
fn a_store_that_is_removed_for_good_is_not_made_again_by_a_live_process() {
    let mut host = begun();
    host.user(S, "Write the parser of the configuration");
    push(&mut host, "grammar");
    host.run(S, "make grammar", 0);
    pop(&mut host, "23 rules, no comments");
    host.desk.ok(&["init", "opencode"]);
    host.desk.ok(&["init", "opencode", "--remove", "--with-store", "--yes"]);
    let all: Value = host.all_of(S);
    for _ in 0..2 {
        assert!(host.asked("sync", &all).is_err());
    }
    assert!(!host.desk.project().join(".callstack").exists());
    assert_eq!(host.desk.json(&["trust", "--list"])["stores"], json!([]));
    // One that is begun since does not get what was deleted.
    host.desk.ok(&["init", "opencode"]);
    assert!(host.asked("sync", &all).is_err());
    host.desk.ok(&["push", "Fresh", "-c", "It is there"]);
    assert!(host.asked("sync", &all).is_err());
    host.close();
    let titles = host.desk.ok(&["tree", "--all"]);
    assert!(titles.contains("Fresh") && !titles.contains("grammar"), "{titles}");
}
