//! Stores that can't be used: each is recognized, and left as it was.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use rusqlite::Connection;

use super::test_env::{BINARY, Said, TestEnv, says};

const FRAMES: [&str; 5] = ["f1", "f2", "f3", "f4", "f5"];

/// Asserts that neither reading nor writing changes a byte, and that both exit with 6.
#[track_caller]
fn is_left_alone(desk: &TestEnv) {
    let before = fs::read(desk.database()).unwrap();
    for args in [
        &["tree"][..],
        &["status"],
        &["show", "f1"],
        &["push", "x", "-c", "y"],
        &["pop", "-r", "x"],
        &["doctor"],
        &["doctor", "--rebuild"],
        &["init", "opencode"],
    ] {
        let said = desk.run(args);
        assert_eq!(said.code, 6, "{args:?}: {}{}", said.stdout, said.stderr);
    }
    assert_eq!(fs::read(desk.database()).unwrap(), before, "the store was changed");
}

#[test]
fn garbage() {
    let desk = TestEnv::with_frames();
    fs::write(desk.database(), "no database at all ".repeat(600)).unwrap();
    says!(desk, ["tree"], @r#"
    exit 6
    --- stderr
    error: the store $ROOT/project/.callstack/callstack.db is damaged: it is not a database
    hint: Nothing was changed. Keep a copy of the store's folder; `callstack doctor` says what is damaged and what can be done.
    "#);
    says!(desk, ["push", "x", "-c", "y", "--json"], @r#"
    exit 6
    --- stderr
    {
      "error": {
        "kind": "unavailable",
        "message": "the store $ROOT/project/.callstack/callstack.db is damaged: it is not a database",
        "hint": "Nothing was changed. Keep a copy of the store's folder; `callstack doctor` says what is damaged and what can be done."
      }
    }
    "#);
    is_left_alone(&desk);
    let said = desk.run(&["doctor", "--json"]);
    let data: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(data["problems"][0]["kind"], "unavailable");
    let hint = data["problems"][0]["hint"].as_str().unwrap();
    let folder = desk.project().join(".callstack");
    let advice = format!("Keep a copy of {}, then put a backup in its place", folder.display());
    assert!(hint.contains(&advice) && !hint.contains("rebuild"), "{hint}");
}

#[test]
fn cut_short() {
    let desk = TestEnv::with_frames();
    let whole = fs::read(desk.database()).unwrap();
    for part in [whole.len() / 2, 5000, 100] {
        fs::write(desk.database(), &whole[..part]).unwrap();
        is_left_alone(&desk);
    }
    fs::write(desk.database(), &whole).unwrap();
    desk.is_whole(&FRAMES);
}

#[test]
fn emptied_beside_its_log() {
    let desk = TestEnv::with_frames();
    // An open connection keeps the log from being merged into the database.
    let raw = Connection::open(desk.database()).unwrap();
    raw.query_row("SELECT count(*) FROM frames", [], |row| row.get::<_, i64>(0)).unwrap();
    desk.ok(&["decision", "only in the log"]);
    let log = desk.database().with_file_name("callstack.db-wal");
    let (whole, logged) = (fs::read(desk.database()).unwrap(), fs::read(&log).unwrap());
    drop(raw);
    fs::write(desk.database(), "").unwrap();
    fs::write(&log, &logged).unwrap();
    is_left_alone(&desk);
    assert_eq!(fs::read(&log).unwrap(), logged);
    fs::write(desk.database(), &whole).unwrap();
    desk.is_whole(&FRAMES);
    assert_eq!(desk.json(&["show", "f5"])["decisions"][0], "only in the log");
}

#[test]
fn a_page_that_was_overwritten() {
    let desk = TestEnv::with_frames();
    let mut bytes = fs::read(desk.database()).unwrap();
    let whole = bytes.clone();
    for page in bytes.chunks_mut(4096).skip(1) {
        page[..64].fill(0xee);
    }
    fs::write(desk.database(), &bytes).unwrap();
    let said = desk.run(&["tree"]);
    assert_eq!(said.code, 6, "{}", said.stderr);
    assert!(said.stderr.contains("is damaged"), "{}", said.stderr);
    assert_eq!(desk.run(&["doctor"]).code, 6);
    fs::write(desk.database(), &whole).unwrap();
    desk.is_whole(&FRAMES);
}

#[test]
fn a_newer_schema() {
    let desk = TestEnv::with_frames();
    let raw = Connection::open(desk.database()).unwrap();
    let ours: i64 = raw.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    raw.pragma_update(None, "user_version", 99).unwrap();
    drop(raw);
    says!(desk, ["tree"], @r"
    exit 6
    --- stderr
    error: the store $ROOT/project/.callstack/callstack.db has schema 99, and this callstack knows schemas up to 8
    hint: Nothing was changed. Install the newer callstack that wrote it.
    ");
    is_left_alone(&desk);
    let raw = Connection::open(desk.database()).unwrap();
    raw.pragma_update(None, "user_version", ours).unwrap();
    drop(raw);
    desk.is_whole(&FRAMES);
}

#[test]
fn a_database_of_another_program() {
    let desk = TestEnv::new();
    let raw = Connection::open(desk.database()).unwrap();
    raw.execute_batch("CREATE TABLE cookies (name TEXT); INSERT INTO cookies VALUES ('mine')")
        .unwrap();
    drop(raw);
    desk.ok(&["trust", "--yes"]);
    says!(desk, ["tree"], @r#"
    exit 6
    --- stderr
    error: the store $ROOT/project/.callstack/callstack.db is damaged: it is a database of another program
    hint: Nothing was changed. Keep a copy of the store's folder; `callstack doctor` says what is damaged and what can be done.
    "#);
    is_left_alone(&desk);
}

#[test]
fn read_only() {
    let desk = TestEnv::with_frames();
    let folder = desk.project().join(".callstack");
    let tree = desk.json(&["tree"]);
    // The store checks the folder's mode, so that this holds for root too.
    fs::set_permissions(desk.database(), Permissions::from_mode(0o400)).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o500)).unwrap();
    let looked = desk.run(&["tree", "--json"]);
    let pushed = desk.run(&["push", "x", "-c", "y"]);
    let popped = desk.run(&["pop", "-r", "x"]);
    let checked = desk.run(&["doctor"]);
    let rebuilt = desk.run(&["doctor", "--rebuild"]);
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    fs::set_permissions(desk.database(), Permissions::from_mode(0o600)).unwrap();
    assert_eq!(looked.code, 0, "{}", looked.stderr);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&looked.stdout).unwrap(), tree);
    says!(output: desk, pushed, @r#"
    exit 6
    --- stderr
    error: the store $ROOT/project/.callstack/callstack.db is read-only
    hint: It can be read but not changed: make the file and its folder writable.
    "#);
    assert_eq!((popped.code, rebuilt.code), (6, 6));
    assert_eq!(checked.code, 0);
    assert!(checked.stdout.contains("! the store is read-only"), "{}", checked.stdout);
    desk.is_whole(&FRAMES);
}

/// Runs a line of shell in a mount namespace of its own; none, with the reason printed, where that is
/// not allowed.
fn in_a_namespace(desk: &TestEnv, line: &str) -> Option<Said> {
    for flags in [&["-Urm"][..], &["-m"]] {
        let mut trial = desk.sealed.command("unshare");
        trial.args(flags).args(["sh", "-c", "mount -t tmpfs none /mnt"]);
        trial.stdout(Stdio::null()).stderr(Stdio::null());
        if trial.status().is_ok_and(|status| status.success()) {
            let mut command = desk.sealed.command("unshare");
            command.args(flags).args(["sh", "-c", line]);
            return Some(desk.finish(command));
        }
    }
    eprintln!("skipped: no file system may be mounted here");
    None
}

#[test]
fn a_read_only_file_system() {
    let desk = TestEnv::with_frames();
    let project = desk.project().display().to_string();
    let line = format!(
        "mount --bind {project} /mnt && mount -o remount,bind,ro /mnt || exit 99
         export CALLSTACK_TRUST=/mnt
         {BINARY} -C /mnt status && {BINARY} -C /mnt push x -c y"
    );
    let Some(said) = in_a_namespace(&desk, &line) else { return };
    if said.code == 99 {
        eprintln!("skipped: nothing may be mounted read-only here: {}", said.stderr);
        return;
    }
    says!(output: desk, said, @r#"
    exit 6
    session cli
    ▶ f1 Build the parser
      ▶ f5 Write the parser
          cargo test is green
    in all: 1 completed, 1 failed, 2 in progress, 1 planned
    --- stderr
    error: the store /mnt/.callstack/callstack.db is read-only
    hint: It can be read but not changed: make the file and its folder writable.
    "#);
    desk.is_whole(&FRAMES);
}

#[test]
fn a_full_disk() {
    let desk = TestEnv::new();
    let line = format!(
        "mount -t tmpfs -o size=1500k none /mnt && cd /mnt && {BINARY} push Root -c x --here || exit 99
         dd if=/dev/zero of=filler bs=1k 2>/dev/null
         head -c 400000 /dev/zero | tr '\\0' x > $TMPDIR/long
         {BINARY} decision - < $TMPDIR/long; echo ended with $?
         rm filler
         {BINARY} tree && {BINARY} doctor --json && {BINARY} decision 'there is room again'"
    );
    let Some(said) = in_a_namespace(&desk, &line) else { return };
    assert_ne!(said.code, 99, "{}", said.stderr);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    for part in ["ended with 6\n", "▶ f1 Root", "\"problems\": []", "decision noted in f1"] {
        assert!(said.stdout.contains(part), "{part}: {}", said.stdout);
    }
    assert_eq!(said.stderr.matches("error: ").count(), 1, "{}", said.stderr);
    assert!(said.stderr.contains("What was acknowledged is safe"), "{}", said.stderr);
}

/// SQLite merges the write-ahead log when the last process ends.
#[test]
fn a_disk_that_is_full_before_a_store_is_closed() {
    let desk = TestEnv::new();
    let line = format!(
        "mount -t tmpfs -o size=700k none /mnt && cd /mnt && {BINARY} push Root -c x --here || exit 99
         [ -s .callstack/callstack.db-wal ] || echo the log was taken over
         {BINARY} tree; mount -o remount,size=2m /mnt
         {BINARY} tree && {BINARY} doctor --json && {BINARY} decision 'there is room again'"
    );
    let Some(said) = in_a_namespace(&desk, &line) else { return };
    assert_ne!(said.code, 99, "{}", said.stderr);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert!(!said.stdout.contains("taken over"), "the disk was not full: {}", said.stdout);
    assert!(said.stdout.contains("decision noted in f1"), "{}", said.stdout);
    assert!(!said.stderr.contains("damaged"), "{}", said.stderr);
}

/// A quota or a limit on the size of files ends a write differently from a full disk. Needs no rights.
#[test]
fn a_write_that_the_system_refuses() {
    let desk = TestEnv::with_frames();
    let before = desk.json(&["tree"]);
    let long = desk.sealed.root().join("long");
    fs::write(&long, vec![b'x'; 200_000]).unwrap();
    let mut command = desk.sealed.command("bash");
    let line = format!("ulimit -f 160; exec {BINARY} decision - < {}", long.display());
    command.args(["-c", &line]);
    says!(output: desk, desk.finish(command), @r#"
    exit 6
    --- stderr
    error: the store $ROOT/project/.callstack/callstack.db can't be used: disk I/O error
    hint: What was acknowledged is safe. Check the disk's space and quotas and who owns the folder, and try again.
    "#);
    assert_eq!(desk.json(&["tree"]), before);
    desk.is_whole(&FRAMES);
}

/// Members of a group that shares a store can read and write what the others' commands make in it.
#[test]
fn what_is_made_in_a_shared_store_is_shared() {
    let desk = TestEnv::new();
    desk.ok(&["push", "real", "-c", "it is there"]);
    let store = desk.project().join(".callstack");
    let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    set(&store, 0o2770);
    set(&desk.database(), 0o660);
    desk.ok(&["pop", "-r", "done"]);
    let mode = |name: &str| fs::metadata(store.join(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("logs"), mode("logs/f1.md")), (0o2770, 0o660));
    assert_eq!(mode("logs.lock"), 0o660);
}
