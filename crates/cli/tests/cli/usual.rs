//! Sessions that agents keep in their usual places, for `import` and `replay` without a file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::terminal::on_a_terminal_with;
use super::test_env::{TestEnv, says};

const CLAUDE: &str = ".claude/projects/-project/5e55-0001.jsonl";

fn recordings() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../recordings/tests/recordings")
}

/// Puts a recording below the home folder, as one of a session that worked in `folder`.
fn put(desk: &TestEnv, from: &str, to: &str, folder: &Path) {
    let text = fs::read_to_string(recordings().join(from)).unwrap();
    let moved = text.replace("/home/ada/shop", folder.to_str().unwrap());
    assert_ne!(text, moved, "{from} names its folder");
    let to = desk.sealed.home().join(to);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::write(&to, moved).unwrap();
    let day = SystemTime::UNIX_EPOCH + Duration::from_secs(1_770_811_234);
    File::options().write(true).open(&to).unwrap().set_modified(day).unwrap();
}

/// Sessions of three agents: one in this project, one in a folder of it, one in another project.
fn with_a_past() -> TestEnv {
    let desk = TestEnv::without_store();
    let project = desk.project();
    let below = project.join("crates/one");
    put(&desk, "claude-code/5e55-0001.jsonl", CLAUDE, &project);
    let agent = "5e55-0001/subagents/agent-b1.jsonl";
    let to = format!(".claude/projects/-project/{agent}");
    put(&desk, &format!("claude-code/{agent}"), &to, &project);
    put(&desk, "codex.jsonl", ".codex/sessions/2026/02/11/rollout-1.jsonl", &below);
    let other = desk.sealed.root().join("other");
    put(&desk, "pi.jsonl", ".pi/agent/sessions/--other--/1.jsonl", &other);
    desk
}

#[test]
fn the_projects_own_sessions_are_found_and_taken_over() {
    let desk = with_a_past();
    says!(desk, ["import", "--dry-run"], @"
    exit 0
    Sessions of $ROOT/project
      Claude Code  1 session, SIZE, the newest of 11 Feb 2026
      Codex        1 session, SIZE, the newest of 11 Feb 2026
      $ROOT/home/.claude/projects/-project/5e55-0001.jsonl
      $ROOT/home/.codex/sessions/2026/02/11/rollout-1.jsonl
      With --all, 1 session of other projects, too
    ");
    assert!(!desk.project().join(".callstack").exists(), "only looked");
    says!(desk, ["import", "--here"], @"
    exit 0
    Sessions of $ROOT/project
      Claude Code  1 session, SIZE, the newest of 11 Feb 2026
      Codex        1 session, SIZE, the newest of 11 Feb 2026
      With --all, 1 session of other projects, too
    read 3 sessions (2 claude-code, 1 codex)
    3 sessions imported with 35 messages and 8 frames
    passed over 23 records: event_msg: token_count (5), event_msg: user_message (3), of a branch that was left, kept for log and search only (2), of a turn that was taken back (2), assistant: of the program itself (1), event_msg: agent_message (1), event_msg: exec_command_end (1), event_msg: task_complete (1), event_msg: thread_rolled_back (1), event_msg: turn_aborted (1), …
    ! 1 line could not be read
    --- stderr
    callstack: made a store in $ROOT/project/.callstack
    ");
    let data = desk.json(&["import", "--here"]);
    assert_eq!((&data["recorded"]["sessions"], &data["recorded"]["known"]), (&0.into(), &3.into()));
    let listed = desk.json(&["import", "--dry-run"]);
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2, "{listed:#}");
    assert_eq!(listed["sessions"][0]["agent"], "Claude Code");
    assert_eq!(listed["elsewhere"], 1);
    let data = desk.json(&["replay"]);
    assert_eq!(data["sessions"].as_array().unwrap().len(), 3, "{data:#}");
    let file = data["sessions"][0]["file"].as_str().unwrap();
    assert!(file.ends_with(CLAUDE), "{file}");
}

#[test]
fn a_whole_home_is_taken_only_where_somebody_agreed() {
    let desk = with_a_past();
    says!(desk, ["import", "--here", "--all"], @"
    exit 2
    Sessions of all projects
      Claude Code  1 session, SIZE, the newest of 11 Feb 2026
      Codex        1 session, SIZE, the newest of 11 Feb 2026
      pi           1 session, SIZE, the newest of 11 Feb 2026
    --- stderr
    error: this would import 3 sessions (SIZE) of 3 projects, and nobody can be asked here
    hint: Give --yes to do it, or --dry-run to see which.
    ");
    assert!(!desk.project().join(".callstack").exists(), "nothing was imported");
    let env = &[("NO_COLOR", "1")];
    let Some(shown) = on_a_terminal_with(&desk, "import --here --all", env, "n\n") else { return };
    assert!(
        shown.contains("Import 3 sessions (") && shown.contains("of 3 projects? [y/N]"),
        "{shown}"
    );
    assert!(shown.contains("nothing was read"), "{shown}");
    assert!(!desk.project().join(".callstack").exists(), "nothing was imported");
    let shown = on_a_terminal_with(&desk, "import --here --all", env, "y\n").unwrap();
    assert!(shown.contains("4 sessions imported"), "{shown}");
    let data = desk.json(&["import", "--here", "--all", "--yes"]);
    assert_eq!(data["recorded"]["known"], 4);
    // Whoever stands in the home folder means all of it.
    let said = desk.run_in(&desk.sealed.home(), &["replay"]);
    assert_eq!(said.code, 2, "{}", said.stdout);
    assert!(said.stderr.contains("this would replay 3 sessions ("), "{}", said.stderr);
}

#[test]
fn where_nothing_is_found_it_says_what_there_is() {
    let desk = TestEnv::without_store();
    says!(desk, ["import", "--here"], @"
    exit 3
    --- stderr
    error: no session of $ROOT/project is in the usual places of agents
    hint: Name files with sessions, or folders of them.
    ");
    put(
        &desk,
        "pi.jsonl",
        ".pi/agent/sessions/--other--/1.jsonl",
        &desk.sealed.root().join("other"),
    );
    says!(desk, ["replay"], @"
    exit 3
    --- stderr
    error: no session of $ROOT/project is in the usual places of agents
    hint: `callstack replay --all` takes those of other projects, too (1 session).
    ");
    says!(desk, ["import", "past.jsonl", "--all"], @"
    exit 2
    --- stderr
    error: the argument '[PATHS]...' cannot be used with '--all'

    Usage: callstack import <PATHS>...

    For more information, try '--help'.
    ");
    assert!(!desk.project().join(".callstack").exists());
}

/// A project that was cloned with somebody else's frames.
#[test]
fn a_dry_run_takes_over_no_frames_of_the_project_either() {
    let desk = TestEnv::without_store();
    let frame =
        r#"{"sessionID": "ses_1", "title": "Theirs", "status": "completed", "createdAt": 1}"#;
    let path = ".opencode/stack/frames/ses_1.json";
    desk.sealed.write(path, frame).unwrap();
    let listed = |before: &str| {
        let said = desk.run(&["import", "--dry-run", "--here"]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        assert!(said.stdout.contains("1 frame would be imported"), "{before}: {}", said.stdout);
        said.stdout
    };
    let printed = listed("no session is found");
    assert!(printed.contains("nothing was written"), "{printed}");
    put(&desk, "claude-code/5e55-0001.jsonl", CLAUDE, &desk.project());
    let printed = listed("a session is found");
    assert!(printed.contains("Claude Code  1 session"), "{printed}");
    assert_eq!(desk.json(&["import", "--dry-run"])["frames"]["imported"], 1);
    assert!(!desk.project().join(".callstack").exists(), "only looked");
    assert_eq!(desk.sealed.read(path).unwrap(), frame);
    desk.ok(&["push", "Own", "--here"]);
    let printed = listed("a store is there");
    assert!(printed.contains("1 frame would be imported"), "{printed}");
    assert!(!desk.run(&["tree"]).stdout.contains("Theirs"));
}

/// An agent keeps its sessions where its own variable says.
#[test]
fn agents_that_were_given_another_place_are_found_there() {
    let desk = TestEnv::without_store();
    put(&desk, "codex.jsonl", "elsewhere/sessions/2026/rollout-1.jsonl", &desk.project());
    let mut command = desk.command(&desk.project(), &["import", "--dry-run"]);
    command.env("CODEX_HOME", desk.sealed.home().join("elsewhere"));
    let said = desk.finish(command);
    assert!(said.stdout.contains("Codex        1 session, "), "{}{}", said.stdout, said.stderr);
}

#[cfg(unix)]
#[test]
fn opencode_is_asked_for_its_own() {
    use std::os::unix::fs::PermissionsExt as _;
    let desk = TestEnv::without_store();
    let script = desk.sealed.root().join("fake-opencode");
    let export = recordings().join("opencode.json");
    let text = format!(
        "#!/bin/sh\ncase \"$1 $2\" in\n\
         'session list') echo '[{{\"id\":\"ses_1\",\"updated\":1770811200000,\"directory\":\"/x\"}},{{\"id\":\"ses_2\"}}]';;\n\
         'export ses_1') cat {};;\n*) exit 1;;\nesac\n",
        export.display()
    );
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    desk.sealed.put_on_path("opencode", &script).unwrap();
    let said = desk.run(&["import", "--here"]);
    assert_eq!(said.code, 3, "it was never used here: {}", said.stdout);
    fs::create_dir_all(desk.sealed.home().join(".local/share/opencode")).unwrap();
    says!(desk, ["import", "--here"], @"
    exit 0
    Sessions of $ROOT/project
      OpenCode     2 sessions, the newest of 11 Feb 2026
    read 1 session (1 opencode-export)
    1 session imported with 9 messages and 2 frames
    passed over 6 records: part: step-finish (3), part: step-start (3)
    --- stderr
    callstack: made a store in $ROOT/project/.callstack
    callstack: OpenCode could not export ses_2: exit status: 1
    ");
}
