//! Frames taken elsewhere and taken over.

use std::fs;
use std::path::Path;

use super::test_env::{TestEnv, says};

#[test]
fn from_one_store_to_another() {
    let from = TestEnv::with_frames();
    from.ok(&["pin", "always"]);
    let exported = from.ok(&["export"]);
    let into = TestEnv::new();
    fs::write(into.project().join("tree.json"), &exported).unwrap();
    let answer = into.json(&["import", "tree.json"]);
    assert_eq!((answer["imported"].as_u64(), answer["known"].as_u64()), (Some(5), Some(0)));
    assert_eq!(into.json(&["tree"]), from.json(&["tree"]));
    assert_eq!(into.ok(&["export"]), exported);
    let answer = into.json(&["import", "tree.json"]);
    assert_eq!((answer["imported"].as_u64(), answer["known"].as_u64()), (Some(0), Some(5)));
    into.ok(&["pop", "-r", "written"]);
    into.is_whole(&["f1", "f2", "f3", "f4", "f5"]);
}

#[test]
fn a_file_is_written_as_a_whole() {
    let desk = TestEnv::with_frames();
    let file = desk.project().join("out.md");
    fs::write(&file, "before").unwrap();
    says!(desk, ["export", "f2", "--format", "markdown", "-o", "out.md"], @r"
    exit 0
    1 frame written to $ROOT/project/out.md
    ");
    let written = fs::read_to_string(&file).unwrap();
    assert_eq!(written, desk.ok(&["export", "f2", "--format", "markdown"]));
    assert_eq!(written, desk.ok(&["export", "f2", "--format", "markdown", "-o", "-"]));
    assert!(!desk.project().join("-").exists());
    says!(desk, ["export", "f2", "--format", "markdown"], @r"
    exit 0
    # f2 Read the grammar

    *completed*

    **Success criteria**

    > Every rule is known

    **Results, by the user**

    > 23 rules, none left-recursive.

    **Decisions**

    - Recursive descent, no generator
    ");
    says!(desk, ["export", "-o", "nowhere/out.json"], @r#"
    exit 6
    --- stderr
    error: can't write $ROOT/project/nowhere/out.json: entity not found
    hint: Check that it is there and yours to write.
    "#);
    says!(desk, ["export", "f9"], @r"
    exit 3
    --- stderr
    error: there is no frame `f9`
    hint: See all frames with `callstack tree`.
    ");
}

#[test]
fn from_the_plugins_that_came_before() {
    let desk = TestEnv::new();
    let folder = desk.project().join(".opencode/flame/frames");
    fs::create_dir_all(&folder).unwrap();
    fs::write(
        folder.join("ses_1.json"),
        r#"{"sessionID":"ses_1","status":"completed","goal":"Read it","compactionSummary":"Read."}"#,
    )
    .unwrap();
    fs::write(folder.join("ses_2.json"), r#"{"sessionID":"ses_2","sta"#).unwrap();
    says!(desk, ["import"], @r"
    exit 0
    read $ROOT/project/.opencode/flame (1 frame, flame)
    1 frame imported, 1 left out
    ! left out $ROOT/project/.opencode/flame/frames/ses_2.json: is not whole JSON: EOF while parsing a string at line 1 column 25
    ");
    says!(desk, ["import"], @r"
    exit 0
    read $ROOT/project/.opencode/flame (1 frame, flame)
    0 frames imported, 1 here already, 1 left out
    ! left out $ROOT/project/.opencode/flame/frames/ses_2.json: is not whole JSON: EOF while parsing a string at line 1 column 25
    ");
    says!(desk, ["import", "nowhere"], @r"
    exit 3
    --- stderr
    error: $ROOT/project/nowhere can't be read: No such file or directory (os error 2)
    hint: Check that it is there and yours to read.
    ");
    says!(desk, ["tree"], @"
    exit 0
    OpenCode · ses_1 · DATE
    ✓ f1 Read it  TIME  Read.
    ");
}

#[test]
fn the_tree_of_an_earlier_program_survives_the_first_change() {
    let desk = TestEnv::new();
    let stack = desk.project().join(".opencode/stack");
    fs::create_dir_all(&stack).unwrap();
    fs::write(
        stack.join("state.json"),
        r#"{"version":1,"frames":{"ses_old":{"sessionID":"ses_old","status":"completed","title":"Old"}},
            "rootFrameIDs":["ses_old"],"updatedAt":1}"#,
    )
    .unwrap();
    desk.ok(&["push", "New", "-c", "x"]);
    let answer = desk.json(&["import"]);
    assert_eq!((answer["imported"].as_u64(), answer["known"].as_u64()), (Some(1), Some(0)));
    let titles = desk.ok(&["tree"]);
    assert!(titles.contains("Old") && titles.contains("New"), "{titles}");
}

/// Files that the store itself writes for other programs are no news to it.
#[test]
fn its_own_files_are_not_imported() {
    let desk = TestEnv::new();
    fs::create_dir(desk.project().join(".opencode")).unwrap();
    desk.ok(&["push", "New", "-c", "x"]);
    assert!(desk.project().join(".opencode/stack/state.json").exists());
    says!(desk, ["import"], @"
    exit 3
    --- stderr
    error: no session of $ROOT/project is in the usual places of agents
    hint: Name files with sessions, or folders of them.
    ");
    // Where somebody names them they are read.
    let answer = desk.json(&["import", ".opencode/stack"]);
    assert_eq!((answer["imported"].as_u64(), answer["known"].as_u64()), (Some(0), Some(1)));
}

#[test]
fn what_files_hold_is_shown_before_anything_is_imported() {
    let desk = TestEnv::without_store();
    recorded(&desk);
    let from = TestEnv::with_frames();
    fs::write(desk.project().join("tree.json"), from.ok(&["export"])).unwrap();
    says!(desk, ["import", "--dry-run", "past", "tree.json"], @"
    exit 0
    read $ROOT/project/tree.json (5 frames, stack)
    5 frames would be imported
    3 sessions would be imported
      Claude Code  5e55-0001                   1 Mar 2026 · 19 messages · Discounts for the shop
      SWE-agent    swe-agent-bdb6633616300169  4 messages
      Claude Code  5e55-0001.agent-b1          1 Mar 2026 · 3 messages
    nothing was written: without --dry-run it is
    ");
    assert!(!desk.project().join(".callstack").exists(), "only looked");
    desk.ok(&["import", "--here", "past/run.traj", "tree.json"]);
    says!(desk, ["import", "--dry-run", "past", "tree.json"], @"
    exit 0
    read $ROOT/project/tree.json (5 frames, stack)
    0 frames would be imported, 5 here already
    2 sessions would be imported, 1 here already, of which only what is new would be
      Claude Code  5e55-0001                   1 Mar 2026 · 19 messages · Discounts for the shop
      SWE-agent    swe-agent-bdb6633616300169  4 messages · here already
      Claude Code  5e55-0001.agent-b1          1 Mar 2026 · 3 messages
    nothing was written: without --dry-run it is
    ");
    let answer = desk.json(&["import", "--dry-run", "past", "tree.json"]);
    assert_eq!(answer["recorded"]["sessions"][1]["known"], true, "{answer:#}");
    assert_eq!((&answer["imported"], &answer["known"]), (&0.into(), &5.into()));
    assert_eq!(desk.handles().len(), 6, "nothing was added");
}

/// Copies sessions that were written for the tests of their readers.
fn recorded(desk: &TestEnv) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../recordings/tests/recordings");
    let past = desk.project().join("past");
    fs::create_dir_all(past.join("5e55-0001/subagents")).unwrap();
    for (name, to) in [
        ("claude-code/5e55-0001.jsonl", "5e55-0001.jsonl"),
        ("claude-code/5e55-0001/subagents/agent-b1.jsonl", "5e55-0001/subagents/agent-b1.jsonl"),
        ("swe-agent.traj", "run.traj"),
    ] {
        fs::copy(from.join(name), past.join(to)).unwrap();
    }
}

#[test]
fn past_sessions_of_agents() {
    let desk = TestEnv::new();
    recorded(&desk);
    says!(desk, ["import", "past"], @r"
    exit 0
    read 3 sessions (2 claude-code, 1 swe-agent)
    3 sessions imported with 29 messages and 7 frames
    passed over 8 records: of a branch that was left, kept for log and search only (2), assistant: of the program itself (1), file-history-snapshot (1), history: system (1), mood (1), progress: hook_progress (1), system: turn_duration (1)
    ! 1 line could not be read
    ");
    says!(desk, ["tree"], @"
    exit 0
    Claude Code · 5e55-0001 · 1 Mar 2026 · 11 calls · 41s · largest request 390
    ◌ f1 Discounts for the shop  TIME  142 ██████████  basket.py +1 −1 · checks fail
    ├ ✓ f2 Compute the discount  TIME   86 ██████▌     basket.py +1 −1 · checks fail · The discount i…
    ├ ✓ f3 Test the discount  TIME   36 ███
    │ └ ✓ f4 Write the tests  TIME   29 ██▌         test_basket.py +1 · Four tests are in test_bas…
    └ ◌ f5 Go on with the rounding  TIME
      └ ◌ f6 Round  TIME
    swe-agent · swe-agent-bd · 2 calls
    ✓ f7 The discount is wrong  TIME   26 ██          The discount is right now.
    ");
    says!(desk, ["import", "past/5e55-0001.jsonl"], @r"
    exit 0
    read 2 sessions (2 claude-code)
    0 sessions imported with 0 messages and 0 frames, 2 here already
    passed over 7 records: of a branch that was left, kept for log and search only (2), assistant: of the program itself (1), file-history-snapshot (1), mood (1), progress: hook_progress (1), system: turn_duration (1)
    ! 1 line could not be read
    ");
    let answer = desk.json(&["import", "past", "past/run.traj"]);
    assert_eq!(answer["recorded"]["known"], 3);
    assert_eq!(answer["recorded"]["programs"]["claude-code"], 2);
    assert_eq!(answer["recorded"]["unreadable"], 1);
    says!(desk, ["show", "f2"], @"
    exit 0
    ✓ f2 Compute the discount
      completed · took TIME · ended DATE · session 5e55-0001
      below f1 Discounts for the shop

    Result, the agent's last words, without a pop
      The discount is computed in basket.py.

    Files
      basket.py  +1 −1

    Checks
      ✗ python -m pytest -q  exit 1
      changed after the last check: basket.py

    Left on its todo list
      - Test the discount

    `callstack show f2 --evidence` for all that was seen, `callstack log f2` for what was said
    ");
    says!(desk, ["show", "f5"], @"
    exit 0
    ◌ f5 Go on with the rounding
      imported, never ended · begun DATE · session 5e55-0001
      below f1 Discounts for the shop

    Below it
      ◌ f6 Round  TIME

    `callstack log f5` for what was said
    ");
    says!(desk, ["status"], @"
    exit 0
    session cli
    no frame is open
    in all: 4 completed, 3 imported
    3 imported sessions, not measured: `callstack replay FILE…` tells what frames would have saved
    ");
    let answer = desk.json(&["status"]);
    assert_eq!(answer["imported"], serde_json::json!({ "sessions": 3, "measured": false }));
    says!(desk, ["search", "1 failed"], @"
    exit 0
    f2 Compute the discount, message 1 (assistant)
      Read /home/ada/shop/basket.py 1 def total(items): 2     return sum(items) Bash python -m pytest -q Run the tests Exit code 1 1 failed, 3 passed 1
      callstack log f2 --from 1
    f2 Compute the discount, evidence
      basket.py +1 -1 (now line 2): changed `total` checks: `python -m pytest -q`: failed, exit 1 changed after the last check: basket.py remains on the todo…
      callstack show f2 --evidence
    ");
    // Records can be read back exactly as in the file.
    let file = fs::read_to_string(desk.project().join("past/5e55-0001.jsonl")).unwrap();
    let raw = desk.ok(&["log", "f2", "--raw", "--reveal"]);
    assert!(raw.lines().count() >= 8);
    for line in raw.lines() {
        assert!(file.lines().any(|recorded| recorded == line), "{line}");
    }
    desk.is_whole(&["f1", "f2", "f3", "f4", "f5", "f6", "f7"]);
}

/// A session is named by the beginning of its id.
#[test]
fn one_of_several_sessions() {
    let desk = TestEnv::new();
    recorded(&desk);
    desk.ok(&["import", "past"]);
    desk.ok(&["push", "Round", "-c", "It is rounded"]);
    says!(desk, ["tree", "--session", "swe"], @"
    exit 0
    swe-agent · swe-agent-bd · 2 calls
    ✓ f7 The discount is wrong  TIME  26 ██████████  The discount is right now.
    ");
    says!(desk, ["status", "--session", "swe"], @"
    exit 0
    session swe-agent-bdb6633616300169
    no frame is open
    in this session: 1 completed
    ");
    says!(desk, ["status", "--session", "5e55-0001"], @"
    exit 0
    session 5e55-0001
    no frame is open
    in this session: 3 completed, 3 imported
    ");
    says!(desk, ["tree", "--session", "cli"], @"
    exit 0
    ▶ f8 Round  TIME  ← open
    ");
    says!(desk, ["search", "--session", "cli", "pytest"], @"
    exit 3
    no text that is kept in session cli holds pytest
    --raw looks through ids and encoded data, too
    ");
    let found = desk.json(&["search", "--session", "swe", "discount"]);
    let found = found["places"].as_array().unwrap();
    assert!(!found.is_empty() && found.iter().all(|it| it["frame"]["handle"] == "f7"), "{found:?}");
    let ids = |args: &[&str]| {
        let state = desk.json(args);
        let frames = state["frames"].as_object().unwrap().values();
        let mut handles: Vec<_> =
            frames.map(|frame| frame["handle"].as_str().unwrap().to_owned()).collect();
        handles.sort();
        handles.join(" ")
    };
    assert_eq!(ids(&["tree", "--session", "swe"]), "f7");
    assert_eq!(ids(&["tree"]), "f1 f2 f3 f4 f5 f6 f7 f8");
    let named: Vec<String> = ["5e55-0001", "swe", "cli"]
        .iter()
        .map(|session| ids(&["export", "--session", session]))
        .collect();
    assert_eq!(named, ["f1 f2 f3 f4 f5 f6", "f7", "f8"]);
}

#[test]
fn what_is_no_session_is_refused_before_anything_is_done() {
    let desk = TestEnv::without_store();
    recorded(&desk);
    fs::write(desk.project().join("notes.txt"), "remember the milk").unwrap();
    fs::write(desk.project().join("half.json"), "{\n \"info\": {\"id\":").unwrap();
    fs::create_dir(desk.project().join("none")).unwrap();
    says!(desk, ["import", "past", "notes.txt"], @r"
    exit 2
    --- stderr
    error: $ROOT/project/notes.txt: no JSON, not a recorded session
    hint: Known are the session files of Claude Code, Codex and pi, what `opencode export` writes, trajectories of SWE-agent and mini-swe-agent, and folders with these.
    ");
    says!(desk, ["import", "past", "half.json"], @r"
    exit 2
    --- stderr
    error: $ROOT/project/half.json: the JSON can't be read: EOF while parsing a value at line 2 column 15
    hint: It was cut off or changed: export the session again.
    ");
    says!(desk, ["import", "none"], @r"
    exit 2
    --- stderr
    error: $ROOT/project/none: there is no recorded session in this folder or in those in it
    hint: Known are the session files of Claude Code, Codex and pi, what `opencode export` writes, trajectories of SWE-agent and mini-swe-agent, and folders with these.
    ");
    assert!(!desk.project().join(".callstack").exists());
}
