//! Plans that change, presets, and going about.

use super::test_env::{TestEnv, says};

#[test]
fn a_plan_is_changed_and_cut() {
    let desk = TestEnv::with_frames();
    desk.ok(&["plan", "Measure it", "Ship it", "--parent", "f1"]);
    says!(desk, ["plan", "--edit", "f7", "Publish it", "-c", "It is out", "--before", "f4"], @r#"
    exit 0
    f7 "Publish it" is changed, and comes before f4.
    "#);
    says!(desk, ["plan", "--remove", "f6"], @r#"
    exit 0
    f6 "Measure it" is out of the plan.
    "#);
    says!(desk, ["tree"], @"
    exit 0
    ▶ f1 Build the parser  TIME
    ├ ✓ f2 Read the grammar  TIME  23 rules, none left-recursive.
    ├ ✗ f3 Try a generator  TIME  Errors have no positions.
    ├ ○ f7 Publish it
    ├ ▶ f5 Write the parser  TIME  ← open
    └ ○ f4 Document the errors
    ");
    says!(desk, ["plan", "--edit", "f5", "Another"], @r#"
    exit 4
    --- stderr
    error: frame f5 "Write the parser" is in_progress and no plan any more
    hint: Only planned frames can be changed.
    "#);
    says!(desk, ["plan", "--remove", "f7", "Title"], @r"
    exit 2
    --- stderr
    error: the argument '--remove <FRAME>' cannot be used with '[TITLE]...'

    Usage: callstack plan --remove <FRAME> [TITLE]...

    For more information, try '--help'.
    ");
    desk.ok(&["doctor"]);
}

#[test]
fn a_preset_is_looked_at_and_applied() {
    let desk = TestEnv::with_frames();
    says!(desk, ["preset", "list"], @r"
    exit 0
    bugfix bug=…  Find and fix a fault
    feature feature=…  Build something new
    refactor code=… goal=…  Change how code is built, not what it does
    review change=…  Look at a change with fresh eyes
    ");
    says!(desk, ["preset", "show", "feature"], @r"
    exit 0
    feature feature=…  Build something new
      ○ Design {feature}
          It is settled how {feature} behaves, bad input included, and where it belongs in the code.
      ○ Build {feature}
          {feature} works as designed, with tests that fail without it.
        ○ Write the tests
            They say what {feature} does, and fail.
        ○ Write the code
            The tests pass.
      ○ Document {feature}
          Who reads the documentation can use {feature}.
    ");
    says!(desk, ["preset", "apply", "bugfix", "bug=the crash", "--parent", "f1"], @r"
    exit 0
    ○ f6 Reproduce the crash
    ○ f7 Find the cause
    ○ f8 Fix the crash
    ○ f9 Look for the same elsewhere
    ");
    says!(desk, ["preset", "apply", "bugfix"], @r"
    exit 2
    --- stderr
    error: no value is given for bug
    hint: The preset `bugfix` takes bug=….
    ");
    says!(desk, ["preset", "apply", "bugfix", "crash"], @r"
    exit 2
    --- stderr
    error: `crash` is no value
    hint: Give values as KEY=VALUE.
    ");
    let mine = "description = \"Mine\"\n[[frames]]\ntitle = \"Mend {it}\"\n";
    desk.sealed.write(".opencode/stack/presets/mend.toml", mine).unwrap();
    assert_eq!(desk.json(&["preset", "list"])[2]["name"], "mend");
    let review = desk.sealed.write(".opencode/stack/presets/review.toml", mine).unwrap();
    let origin = "from .opencode/stack/presets/review.toml, a file of the project, in place of the built-in preset";
    for action in ["list", "show review"] {
        let arguments: Vec<_> = ["preset"].into_iter().chain(action.split(' ')).collect();
        let shown = desk.run(&arguments).stdout;
        assert!(shown.contains(&format!("review it=…  Mine\n  {origin}\n")), "{shown}");
    }
    let applied = desk.run(&["preset", "apply", "review", "it=the hut", "--parent", "f1"]).stderr;
    assert!(applied.contains(&format!("the frames are {origin}")), "{applied}");
    std::fs::remove_file(review).unwrap();
    desk.sealed.write(".opencode/stack/presets/mend.toml", "description = 3\n").unwrap();
    desk.sealed.write(".opencode/stack/presets/my own.toml", mine).unwrap();
    let said = desk.run(&["preset", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 4, "{}", said.stdout);
    assert!(
        said.stderr.contains("mend.toml, line 1") && said.stderr.contains("my own.toml"),
        "{}",
        said.stderr
    );
    says!(desk, ["preset", "show", "mend"], @r"
    exit 2
    --- stderr
    error: .opencode/stack/presets/mend.toml, line 1: invalid type: integer `3`, expected a string
    hint: A preset is a `description` and `[[frames]]`, each with `title`, `criteria` and, if there are any, `children` of the same kind.
    ");
}

#[test]
fn one_goes_about_in_the_tree() {
    let desk = TestEnv::with_frames();
    says!(desk, ["go", "previous"], @r#"
    exit 0
    ▶ f4 "Document the errors"  in session cli
    --- stderr
    callstack: f5 is blocked now; `callstack go` or `activate` takes one up again
    "#);
    says!(desk, ["go", "next"], @r#"
    exit 0
    ▶ f5 "Write the parser"  in session cli
    --- stderr
    callstack: f4 is blocked now; `callstack go` or `activate` takes one up again
    "#);
    says!(desk, ["go", "parent", "-r", "Half of it."], @r#"
    exit 0
    ▶ f1 "Build the parser"  in session cli
    --- stderr
    callstack: f5 is blocked now; `callstack go` or `activate` takes one up again
    "#);
    says!(desk, ["tree"], @r#"
    exit 0
    ▶ f1 Build the parser  TIME  ← open
    ├ ✓ f2 Read the grammar  TIME  23 rules, none left-recursive.
    ├ ✗ f3 Try a generator  TIME  Errors have no positions.
    ├ ‖ f4 Document the errors  TIME  Set aside: work went on in f5 "Write the parser".
    └ ‖ f5 Write the parser  TIME  Half of it.
    "#);
    says!(desk, ["go", "f2"], @r#"
    exit 4
    --- stderr
    error: frame f2 "Read the grammar" is completed
    hint: `callstack show` shows it, and `callstack reopen` brings it back.
    "#);
}

#[test]
fn finished_frames_become_one() {
    let desk = TestEnv::with_frames();
    says!(desk, ["consolidate", "f1"], @r#"
    exit 4
    --- stderr
    error: f1 "Build the parser" has less than two finished children besides the newest 10
    hint: Give a smaller `keep` to take in newer ones.
    "#);
    says!(desk, ["consolidate", "f1", "--keep", "0"], @r#"
    exit 0
    f6 "Earlier work: 2 frames" stands for 2 frames: f2, f3.
    "#);
    says!(desk, ["tree"], @r#"
    exit 0
    ▶ f1 Build the parser  TIME
    ├ ✓ f6 Earlier work: 2 frames  TIME  - f2 "Read the grammar" [completed]: 23 rules, none left-recurs…
    │ ├ ✓ f2 Read the grammar  TIME  23 rules, none left-recursive.
    │ └ ✗ f3 Try a generator  TIME  Errors have no positions.
    ├ ○ f4 Document the errors
    └ ▶ f5 Write the parser  TIME  ← open
    "#);
}

#[test]
fn going_on_where_nothing_is_open_begins_with_what_stands_above() {
    let desk = TestEnv::new();
    desk.ok(&["push", "Parser", "-c", "It parses", "--here"]);
    desk.ok(&["plan", "Lexer", "-c", "It lexes"]);
    desk.ok(&["plan", "Tokens", "-c", "Each has a kind", "--parent", "f2"]);
    desk.ok(&["pop", "-r", "Left."]);
    says!(desk, ["go", "f3"], @"
    exit 4
    --- stderr
    error: no frame is open in this session
    hint: `callstack reopen` brings f1 back, which is completed.
    ");
    says!(desk, ["go", "3"], @r#"
    exit 3
    --- stderr
    error: there is no frame `3`
    hint: Did you mean f3 "Tokens"? See all frames with `callstack tree`.
    "#);
    desk.ok(&["plan", "Release", "-c", "It is out"]);
    says!(desk, ["go", "f4"], @r#"
    exit 4
    --- stderr
    error: no frame is open in this session
    hint: `callstack activate` begins f4 "Release".
    "#);
}
