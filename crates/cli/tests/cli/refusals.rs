//! Changes that the state does not allow, and references that can't be resolved.

use super::test_env::{TestEnv, says};

#[test]
fn frames_that_are_unknown_or_ambiguous() {
    let desk = TestEnv::with_frames();
    says!(desk, ["show", "f99"], @r#"
    exit 3
    --- stderr
    error: there is no frame `f99`
    hint: See all frames with `callstack tree`.
    "#);
    says!(desk, ["show", "nonsense"], @r#"
    exit 3
    --- stderr
    error: there is no frame `nonsense`
    hint: See all frames with `callstack tree`.
    "#);
    says!(desk, ["show", "7"], @"
    exit 3
    --- stderr
    error: there is no frame `7`
    hint: See all frames with `callstack tree`.
    ");
    says!(desk, ["show", "5"], @r#"
    exit 3
    --- stderr
    error: there is no frame `5`
    hint: Did you mean f5 "Write the parser"? See all frames with `callstack tree`.
    "#);
    says!(desk, ["show", "the GRAMMAR"], @r#"
    exit 3
    --- stderr
    error: there is no frame `the GRAMMAR`
    hint: Did you mean f2 "Read the grammar"? See all frames with `callstack tree`.
    "#);
    says!(desk, ["show", ""], @r#"
    exit 3
    --- stderr
    error: there is no frame ``
    hint: See all frames with `callstack tree`.
    "#);
    says!(desk, ["show", "plan-"], @"
    exit 0
    ○ f4 Document the errors
      planned TIME
      below f1 Build the parser

    Done when
      Each has a page
    ");
    let several = desk.run(&["show", "frm-"]);
    assert_eq!(several.code, 3);
    assert!(
        several.stderr.contains("f1 (frm-") && several.stderr.contains("hint: Give the handle")
    );
    says!(desk, ["show", "f99", "--json"], @r#"
    exit 3
    --- stderr
    {
      "error": {
        "kind": "not_found",
        "message": "there is no frame `f99`",
        "hint": "See all frames with `callstack tree`."
      }
    }
    "#);
    for args in [
        &["activate", "f99"][..],
        &["reopen", "f99"],
        &["invalidate", "f99", "-r", "x"],
        &["pop", "f99", "-r", "x"],
        &["context", "f99"],
        &["log", "f99"],
        &["decision", "x", "--frame", "f99"],
        &["artifact", "x", "--frame", "f99"],
        &["pin", "x", "--frame", "f99"],
        &["unpin", "p1", "--frame", "f99"],
        &["plan", "x", "--parent", "f99"],
    ] {
        let said = desk.run(args);
        assert_eq!(said.code, 3, "{args:?}: {}", said.stderr);
        assert!(said.stderr.contains("there is no frame `f99`"), "{args:?}: {}", said.stderr);
    }
    desk.is_whole(&["f1", "f2", "f3", "f4", "f5"]);
}

#[test]
fn a_unique_beginning_of_an_id_is_enough() {
    let desk = TestEnv::new();
    desk.ok(&["push", "Root", "-c", "x"]);
    let id = desk.id("f1");
    for reference in [&id[..], &id[..12], "frm-"] {
        assert_eq!(desk.json(&["show", reference])["handle"], "f1");
    }
    desk.ok(&["plan", "Child"]);
    let planned = desk.id("f2");
    desk.ok(&["activate", &planned[..planned.len() - 2]]);
    assert_eq!(desk.json(&["show", &planned])["handle"], "f2", "the former id stays");
}

#[test]
fn transitions_that_are_not_legal() {
    let desk = TestEnv::with_frames();
    says!(desk, ["pop", "f1", "-r", "x"], @r#"
    exit 4
    --- stderr
    error: frame f1 "Build the parser" has open children: f5 "Write the parser"
    hint: Pop f5 first, then this one.
    "#);
    says!(desk, ["pop", "f2", "-r", "x"], @r#"
    exit 4
    --- stderr
    error: frame f2 "Read the grammar" is completed already
    hint: Only `callstack reopen` brings f2 back.
    "#);
    says!(desk, ["activate", "f2"], @r#"
    exit 4
    --- stderr
    error: frame f2 "Read the grammar" is completed and can't begin
    hint: Only `callstack reopen` brings f2 back.
    "#);
    says!(desk, ["activate", "f3"], @r#"
    exit 4
    --- stderr
    error: frame f3 "Try a generator" is failed and can't begin
    hint: Only `callstack reopen` brings f3 back.
    "#);
    says!(desk, ["pop", "f4", "-r", "x"], @r#"
    exit 4
    --- stderr
    error: frame f4 "Document the errors" is planned and can't be completed
    hint: Activate f4 first with `callstack activate`.
    "#);
    says!(desk, ["activate", "f4"], @r#"
    exit 4
    --- stderr
    error: frame f4 "Document the errors" is not the one to begin now: f5 "Write the parser" is open
    hint: Work goes depth-first: pop f5 first, or go elsewhere with `callstack go`, which sets it aside.
    "#);
    says!(desk, ["reopen", "f5"], @r#"
    exit 4
    --- stderr
    error: frame f5 "Write the parser" is open already
    hint: `callstack pop` ends f5.
    "#);
    says!(desk, ["invalidate", "f2", "-r", "x"], @r#"
    exit 4
    --- stderr
    error: frame f2 "Read the grammar" is completed and can't be invalidated
    hint: Only `callstack reopen` brings f2 back.
    "#);
    says!(desk, ["plan", "x", "--parent", "f2"], @r#"
    exit 4
    --- stderr
    error: frame f2 "Read the grammar" is completed and takes no further children
    hint: Reopen f2 with `callstack reopen`, or plan it elsewhere.
    "#);
    says!(desk, ["unpin", "p7"], @r#"
    exit 3
    --- stderr
    error: frame f5 "Write the parser" has no pin p7
    hint: `callstack show` lists a frame's pins.
    "#);
    says!(desk, ["unpin", "seven"], @r#"
    exit 2
    --- stderr
    error: `seven` is no pin
    hint: Pins are shown with their number, such as p3.
    "#);
    says!(desk, ["push", " ", "-c", "x"], @r#"
    exit 2
    --- stderr
    error: the title is empty
    hint: Give the frame a name of two to five words.
    "#);
    says!(desk, ["pop", "-r", " "], @"
    exit 2
    --- stderr
    error: no results were given, and nothing was recorded in f5 that they could be made of
    hint: Say in `results` what was done and what later work needs to know.
    ");
    says!(desk, ["plan", "a", "-c", "x", "-c", "y"], @r#"
    exit 2
    --- stderr
    error: there are more criteria (2) than titles (1)
    hint: Give --criteria at most once for each title.
    "#);
    desk.is_whole(&["f1", "f2", "f3", "f4", "f5"]);
}

#[test]
fn nothing_is_open_any_more() {
    let desk = TestEnv::new();
    desk.ok(&["push", "Root", "-c", "x"]);
    desk.ok(&["pop", "-r", "x"]);
    says!(desk, ["pop", "-r", "x"], @r#"
    exit 4
    --- stderr
    error: no frame is open in session cli
    hint: Begin one with `callstack push`, or name a frame.
    "#);
    says!(desk, ["decision", "x"], @"
    exit 2
    --- stderr
    error: no frame is open in this session
    hint: Name a frame, or begin one with `callstack push`.
    ");
    desk.is_whole(&["f1"]);
}

#[test]
fn limits_of_the_tree() {
    let desk = TestEnv::new();
    desk.ok(&["push", "Root", "-c", "x"]);
    for (name, args) in [
        ("STACK_LIMIT_DEPTH", ["push", "Child", "-c", "x"]),
        ("STACK_LIMIT_LIVE_FRAMES", ["push", "Child", "-c", "x"]),
    ] {
        let mut command = desk.command(&desk.project(), &args);
        command.env(name, "1");
        let said = desk.finish(command);
        assert_eq!(said.code, 5, "{name}: {}", said.stderr);
        assert!(said.stderr.contains("the limit is 1"), "{}", said.stderr);
    }
    desk.is_whole(&["f1"]);
}
