//! The checks of `doctor`.

use std::os::unix::fs::PermissionsExt as _;

use rusqlite::Connection;

use super::test_env::{TestEnv, says};

fn opencode(desk: &TestEnv, script: &str) {
    let path = desk.sealed.root().join("fake");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    desk.sealed.put_on_path("opencode", &path).unwrap();
}

#[test]
fn a_sound_project() {
    let desk = TestEnv::with_frames();
    opencode(&desk, "echo 1.18.33");
    desk.ok(&["init", "opencode"]);
    says!(desk, ["doctor"], @r"
    exit 0
    ✓ callstack 0.1.0, $BINARY
    ✓ store $ROOT/project/.callstack/callstack.db, schema 8, SIZE
    ✓ 23 events, and the tables agree with them
    ✓ 0 messages, 0 B, stored in 0 B
    ✓ plugin $ROOT/project/.opencode/plugin/callstack.ts, starts $BINARY
    ✓ OpenCode 1.18.33
    ");
    says!(desk, ["doctor", "--rebuild"], @r"
    exit 0
    ✓ callstack 0.1.0, $BINARY
    ✓ store $ROOT/project/.callstack/callstack.db, schema 8, SIZE
    ✓ rebuilt the tables from 23 events
    ✓ 23 events, and the tables agree with them
    ✓ 0 messages, 0 B, stored in 0 B
    ✓ plugin $ROOT/project/.opencode/plugin/callstack.ts, starts $BINARY
    ✓ OpenCode 1.18.33
    ");
    let report = desk.json(&["doctor"]);
    assert_eq!(report["problems"], serde_json::json!([]));
    assert_eq!(report["opencode"]["version"], "1.18.33");
    assert_eq!(report["store"]["schema"], 8);
    assert_eq!(report["store"]["readOnly"], false);
    assert!(report["store"]["bytes"].as_u64().unwrap() > 4096);
    assert_eq!(report["plugin"]["binaryExists"], true);
}

#[test]
fn a_project_without_a_store() {
    let desk = TestEnv::without_store();
    opencode(&desk, "exit 1");
    says!(desk, ["doctor"], @r#"
    exit 3
    ✓ callstack 0.1.0, $BINARY
    ✗ no callstack store in $ROOT/project or above
      hint: `callstack init opencode` makes one, and so do `push`, `plan` and `import` with --here.
    ! OpenCode does not say its version
      hint: You need it only if its agent is to work in frames.
    "#);
    assert!(!desk.project().join(".callstack").exists());
}

#[test]
fn tables_that_drifted_are_found_and_rebuilt() {
    let desk = TestEnv::with_frames();
    opencode(&desk, "echo 1.18.33");
    let before = desk.json(&["tree"]);
    let raw = Connection::open(desk.database()).unwrap();
    raw.execute("UPDATE frames SET title = 'changed behind our back' WHERE num = 2", []).unwrap();
    raw.execute("DELETE FROM decisions", []).unwrap();
    drop(raw);
    says!(desk, ["doctor"], @r"
    exit 6
    ✓ callstack 0.1.0, $BINARY
    ✓ store $ROOT/project/.callstack/callstack.db, schema 8, SIZE
    ✗ tables that are not what the events say: decisions, frames
      hint: `callstack doctor --rebuild` derives them from the events again.
    ✓ 0 messages, 0 B, stored in 0 B
    ! OpenCode's plugin is not installed
      hint: `callstack init opencode` installs it.
    ✓ OpenCode 1.18.33
    ");
    assert_ne!(desk.json(&["tree"]), before);
    desk.ok(&["doctor", "--rebuild"]);
    assert_eq!(desk.json(&["tree"]), before);
    desk.is_whole(&["f1", "f2", "f3", "f4", "f5"]);
}

#[test]
fn an_event_that_can_not_be_read_is_named_and_left_out() {
    let desk = TestEnv::with_frames();
    opencode(&desk, "echo 1.18.33");
    let raw = Connection::open(desk.database()).unwrap();
    let log = || -> Vec<String> {
        let mut select = raw.prepare("SELECT body FROM events ORDER BY seq").unwrap();
        select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let change = "UPDATE events SET body = replace(body, '\"kind\":\"frame_created\"', '\"kind\":\"frame_c\"')
                  WHERE body LIKE '{\"kind\":\"frame_created\",\"frame\":{\"num\":5,%'";
    assert_eq!(raw.execute(change, []).unwrap(), 1);
    let before = log();
    says!(desk, ["doctor"], @r"
    exit 6
    ✓ callstack 0.1.0, $BINARY
    ✓ store $ROOT/project/.callstack/callstack.db, schema 8, SIZE
    ✗ event 21 (frame_c of f5) can't be used: unknown variant `frame_c`
      hint: It stays in the log. Rebuilding the tables leaves it out.
    ✗ event 22 (span_opened) can't be used: it refers to what no readable event made
      hint: It stays in the log. Rebuilding the tables leaves it out.
    ✗ event 23 (active_set of f5) can't be used: it refers to what no readable event made
      hint: It stays in the log. Rebuilding the tables leaves it out.
    ✗ tables that are not what the events say: frame_counts, frames, sessions, spans
      hint: `callstack doctor --rebuild` derives them from the events again, and loses what the events above say, and so f5. Keep a copy of the store first.
    ✓ 0 messages, 0 B, stored in 0 B
    ! OpenCode's plugin is not installed
      hint: `callstack init opencode` installs it.
    ✓ OpenCode 1.18.33
    ");
    says!(desk, ["doctor", "--rebuild"], @r"
    exit 6
    ✓ callstack 0.1.0, $BINARY
    ✓ store $ROOT/project/.callstack/callstack.db, schema 8, SIZE
    ✓ rebuilt the tables from 20 events
    ! frames that are no longer in the tables: f5
      hint: What was said in their sessions is still there. An event that can be read again brings them back.
    ✗ event 21 (frame_c of f5) can't be used: unknown variant `frame_c`
      hint: It stays in the log. Rebuilding the tables leaves it out.
    ✗ event 22 (span_opened) can't be used: it refers to what no readable event made
      hint: It stays in the log. Rebuilding the tables leaves it out.
    ✗ event 23 (active_set of f5) can't be used: it refers to what no readable event made
      hint: It stays in the log. Rebuilding the tables leaves it out.
    ✓ 0 messages, 0 B, stored in 0 B
    ! OpenCode's plugin is not installed
      hint: `callstack init opencode` installs it.
    ✓ OpenCode 1.18.33
    ");
    assert_eq!(log(), before);
    let report = desk.run(&["doctor", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let event = &report["store"]["unreadable"][0];
    assert_eq!((&event["kind"], &event["frame"]), (&"frame_c".into(), &5.into()));
    assert_eq!(report["problems"].as_array().unwrap().len(), 3, "{report}");
    for frame in ["f1", "f2", "f3", "f4"] {
        desk.ok(&["show", frame]);
    }
    assert_eq!(desk.run(&["show", "f5"]).code, 3);
    assert!(desk.ok(&["search", "grammar"]).contains("f2"));
    assert!(desk.ok(&["export"]).contains("Read the grammar"));
    let purged = desk.ok(&["purge", "f2", "--yes"]);
    assert!(purged.contains("! 1 event can't be read: left as before"), "{purged}");
    assert_eq!(log()[20], before[20]);
}

#[test]
fn a_plugin_whose_binary_is_gone() {
    let desk = TestEnv::new();
    opencode(&desk, "echo 1.18.33");
    let other = desk.sealed.root().join("bin/elsewhere");
    std::fs::copy(super::test_env::BINARY, &other).unwrap();
    let mut command = desk.sealed.command(&other);
    command.args(["init", "opencode"]);
    assert_eq!(desk.finish(command).code, 0);
    std::fs::remove_file(&other).unwrap();
    says!(desk, ["doctor"], @r"
    exit 6
    ✓ callstack 0.1.0, $BINARY
    ✓ store $ROOT/project/.callstack/callstack.db, schema 8, SIZE
    ✓ 0 events, and the tables agree with them
    ✓ 0 messages, 0 B, stored in 0 B
    ✗ the plugin finds no callstack: none is on record or on the path
      hint: `callstack init opencode` records where this one is.
    ✓ OpenCode 1.18.33
    ");
    let mut named = desk.command(&desk.project(), &["doctor"]);
    named.env("CALLSTACK_BIN", &other);
    let said = desk.whole_output(&desk.finish(named));
    assert!(said.contains("✗ the plugin starts $ROOT/bin/elsewhere, which is not there"), "{said}");
    desk.sealed.put_on_path("callstack", super::test_env::BINARY.as_ref()).unwrap();
    let said = desk.whole_output(&desk.run(&["doctor"]));
    assert!(said.contains(", starts $ROOT/bin/callstack\n"), "{said}");
    std::fs::remove_file(desk.sealed.root().join("bin/callstack")).unwrap();
    desk.ok(&["init", "opencode"]);
    assert_eq!(desk.run(&["doctor"]).code, 0);
}
