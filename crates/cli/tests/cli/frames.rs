//! The verbs, each once as it should be used.

use serde_json::json;

use super::test_env::{TestEnv, says};

#[test]
fn a_pop_says_what_it_leaves_unfinished() {
    let desk = TestEnv::new();
    desk.ok(&["push", "Build", "-c", "built"]);
    desk.ok(&["plan", "Lexer", "Parser"]);
    let said = desk.ok(&["pop", "-r", "begun"]);
    let left = "! left unfinished below it: f2, f3; `callstack reopen f1` brings it back for them";
    assert!(said.contains(left), "{said}");
}

#[test]
fn frames_are_pushed_and_popped() {
    let desk = TestEnv::new();
    says!(desk, ["push", "Build the parser", "-c", "All fixtures parse"], @r#"
    exit 0
    ▶ f1 "Build the parser"  in session cli
    "#);
    says!(desk, ["push", "Read the grammar", "--criteria", "Every rule is known"], @r#"
    exit 0
    ▶ f2 "Read the grammar"  in session cli
    "#);
    says!(desk, ["pop", "--results", "23 rules."], @r#"
    exit 0
    f2 "Read the grammar" completed
    open now: f1 "Build the parser"
    "#);
    says!(desk, ["pop", "f1", "-r", "It parses.", "--status", "failed"], @r#"
    exit 0
    f1 "Build the parser" failed
    no frame is open now
    "#);
    says!(desk, ["status"], @r#"
    exit 0
    session cli
    no frame is open
    in all: 1 completed, 1 failed
    "#);
    desk.is_whole(&["f1", "f2"]);
}

#[test]
fn frames_are_planned_and_activated() {
    let desk = TestEnv::new();
    desk.ok(&["push", "Root", "-c", "done"]);
    says!(desk, ["plan", "One", "Two", "-c", "first", "-c", "second"], @r#"
    exit 0
    ○ f2 One
    ○ f3 Two
    "#);
    says!(desk, ["plan", "Inner", "--parent", "f2"], @r#"
    exit 0
    ○ f4 Inner
    "#);
    says!(desk, ["activate", "f2"], @r#"
    exit 0
    ▶ f2 "One"  in session cli
    "#);
    says!(desk, ["pop", "-r", "waits for a key", "--status", "blocked"], @r#"
    exit 0
    f2 "One" blocked
    open now: f1 "Root"
    "#);
    says!(desk, ["activate", "f2", "--in", "session"], @r#"
    exit 0
    ▶ f2 "One"  in session cli
    --- stderr
    callstack: This session works on it: there is no agent's program here that could run another one
    "#);
    says!(desk, ["invalidate", "f4", "--reason", "not needed"], @r#"
    exit 0
    Frame f4 "Inner" is invalidated.
    "#);
    assert_eq!(desk.json(&["show", "f3"])["successCriteria"], "second");
}

#[test]
fn a_completed_frame_is_reopened() {
    let desk = TestEnv::with_frames();
    desk.ok(&["pop", "-r", "written"]);
    says!(desk, ["reopen", "f2"], @r#"
    exit 0
    ▶ f2 "Read the grammar"  in session cli
    "#);
    says!(desk, ["status"], @r#"
    exit 0
    session cli
    ▶ f1 Build the parser
      ▶ f2 Read the grammar
          Every rule is known
    in all: 1 completed, 1 failed, 2 in progress, 1 planned
    "#);
}

#[test]
fn things_are_noted_in_the_open_frame_or_in_another() {
    let desk = TestEnv::with_frames();
    desk.sealed.write("src/parse.rs", "fn parse() {}\n").unwrap();
    says!(desk, ["decision", "No unsafe"], @r#"
    exit 0
    decision noted in f5
    "#);
    says!(desk, ["decision", "Two passes", "--frame", "f1"], @r#"
    exit 0
    decision noted in f1
    "#);
    says!(desk, ["artifact", "src/parse.rs"], @r#"
    exit 0
    file noted in f5
    "#);
    says!(desk, ["pin", "Never panic on input"], @"
    exit 0
    Pinned as p1: it holds in f5 and in every frame below, until f5 ends.
    ");
    says!(desk, ["pin", "Only safe code", "--frame", "f1"], @"
    exit 0
    Pinned as p2: it holds in f1 and in every frame below, until f1 ends.
    ");
    says!(desk, ["unpin", "p2", "--frame", "f1"], @r#"
    exit 0
    pin removed from f1
    "#);
    let open = desk.json(&["show", "f5"]);
    assert_eq!(open["decisions"], json!(["No unsafe"]));
    assert_eq!(open["artifacts"], json!(["src/parse.rs"]));
    assert_eq!(open["pins"], json!({"p1": "Never panic on input"}));
    let root = desk.json(&["show", "f1"]);
    assert_eq!(root["decisions"], json!(["Two passes"]));
    assert!(root.get("pins").is_none());
}

#[test]
fn an_artifact_is_named_from_where_the_person_is() {
    let desk = TestEnv::with_frames();
    let file = desk.sealed.write("src/parse.rs", "fn parse() {}\n").unwrap();
    let said = desk.run_in(file.parent().unwrap(), &["artifact", "parse.rs"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(desk.json(&["show", "f5"])["artifacts"], json!(["src/parse.rs"]));
}

#[test]
fn long_texts_come_on_standard_input() {
    let desk = TestEnv::new();
    let said = desk.run_with(&["push", "Root", "-c", "-"], b"line one\nline two\n");
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(desk.json(&["show", "f1"])["successCriteria"], "line one\nline two");
    let said = desk.run_with(&["pop", "-r", "-"], "größer\n".as_bytes());
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(desk.json(&["show", "f1"])["results"], "größer");
    says!(output: desk, desk.run_with(&["push", "x", "-c", "-"], b"\xff\xfe"), @r#"
    exit 2
    --- stderr
    error: standard input is not UTF-8: invalid utf-8 sequence of 1 bytes from index 0
    hint: Convert the text, for instance with iconv.
    "#);
}

#[test]
fn programs_read_what_was_done() {
    let desk = TestEnv::new();
    let pushed = desk.json(&["push", "Root", "-c", "done"]);
    assert_eq!(pushed["handle"], "f1");
    assert_eq!(pushed["sessionID"], desk.id("f1"));
    assert_eq!(desk.json(&["plan", "One", "Two"])[1]["handle"], "f3");
    assert_eq!(desk.json(&["decision", "x"]), json!({"frame": "f1"}));
    assert_eq!(desk.json(&["activate", "f2"])["status"], "in_progress");
    assert_eq!(desk.json(&["pop", "-r", "y"])["parent"], "f1");
    assert_eq!(desk.json(&["reopen", "f2"])["handle"], "f2");
    let gone = desk.json(&["invalidate", "f3", "-r", "z"]);
    assert_eq!(gone, json!({"invalidated": ["f3"], "inProgress": []}));
    let gone = desk.json(&["invalidate", "f2", "-r", "z"]);
    assert_eq!(gone, json!({"invalidated": ["f2"], "inProgress": []}));
}

/// An open frame needs no more than a planned one.
#[test]
fn neither_a_push_nor_a_plan_needs_criteria() {
    let desk = TestEnv::new();
    desk.ok(&["push", "Root"]);
    desk.ok(&["plan", "Later"]);
    let criteria = |handle| desk.json(&["show", handle])["successCriteria"].clone();
    assert_eq!((criteria("f1"), criteria("f2")), (json!(""), json!("")));
    assert!(!desk.ok(&["show", "f1"]).contains("Done when"));
    desk.is_whole(&["f1", "f2"]);
}
