//! Frames taken elsewhere and taken over.

use std::fs;

use super::desk::{Desk, says};

#[test]
fn from_one_store_to_another() {
    let from = Desk::with_frames();
    from.ok(&["pin", "always"]);
    let exported = from.ok(&["export"]);
    let into = Desk::new();
    fs::write(into.project().join("tree.json"), &exported).unwrap();
    let told = into.json(&["import", "tree.json"]);
    assert_eq!((told["imported"].as_u64(), told["known"].as_u64()), (Some(5), Some(0)));
    assert_eq!(into.json(&["tree"]), from.json(&["tree"]));
    assert_eq!(into.ok(&["export"]), exported);
    let told = into.json(&["import", "tree.json"]);
    assert_eq!((told["imported"].as_u64(), told["known"].as_u64()), (Some(0), Some(5)));
    into.ok(&["pop", "-r", "written"]);
    into.is_whole(&["f1", "f2", "f3", "f4", "f5"]);
}

#[test]
fn a_file_is_written_as_a_whole() {
    let desk = Desk::with_frames();
    let file = desk.project().join("out.md");
    fs::write(&file, "before").unwrap();
    says!(desk, ["export", "f2", "--format", "markdown", "-o", "out.md"], @r"
    exit 0
    1 frame written to $ROOT/project/out.md
    ");
    let written = fs::read_to_string(&file).unwrap();
    assert_eq!(written, desk.ok(&["export", "f2", "--format", "markdown"]));
    says!(desk, ["export", "f2", "--format", "markdown"], @r"
    exit 0
    # f2 Read the grammar

    *completed*

    **Success criteria**

    > Every rule is known

    **Results**

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
    let desk = Desk::new();
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
    read $ROOT/project/.opencode/stack (1 frame, stack)
    0 frames imported, 1 here already, 1 left out
    ! left out $ROOT/project/.opencode/flame/frames/ses_2.json: is not whole JSON: EOF while parsing a string at line 1 column 25
    ");
    says!(desk, ["import", "nowhere"], @r"
    exit 3
    --- stderr
    error: $ROOT/project/nowhere can't be read: No such file or directory (os error 2)
    hint: Name a folder such as .opencode/stack, or a file of frames.
    ");
    says!(desk, ["tree"], @r"
    exit 0
    ✓ f1 Read it  TIME
    ");
}

#[test]
fn the_tree_of_an_earlier_program_survives_the_first_change() {
    let desk = Desk::new();
    let stack = desk.project().join(".opencode/stack");
    fs::create_dir_all(&stack).unwrap();
    fs::write(
        stack.join("state.json"),
        r#"{"version":1,"frames":{"ses_old":{"sessionID":"ses_old","status":"completed","title":"Old"}},
            "rootFrameIDs":["ses_old"],"updatedAt":1}"#,
    )
    .unwrap();
    desk.ok(&["push", "New", "-c", "x"]);
    let told = desk.json(&["import"]);
    assert_eq!((told["imported"].as_u64(), told["known"].as_u64()), (Some(1), Some(1)));
    let titles = desk.ok(&["tree"]);
    assert!(titles.contains("Old") && titles.contains("New"), "{titles}");
}
