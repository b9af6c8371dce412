//! Items of todo lists.

use insta::assert_snapshot;

use super::testing::{Session, show, tree};
use super::{Framer, WorkKind, identity_of_item};
use crate::transcript::Anchor;

#[test]
fn items_are_units_inside_their_turn() {
    assert_snapshot!(tree(
        r#"
        u "Add dates"
        a todo(>Write the parser,Write tests,Tell the user) "First the parser."
        a edit "The parser reads dates."
        a todo(+Write the parser,>Write tests,Tell the user)
        a test
        a todo(+Write the parser,+Write tests,Tell the user) "All four tests pass."
        a "Dates are in."
        u "thanks"
    "#
    ), @r#"
    turn "Add dates" m1..m7 completed: Dates are in. [left: Tell the user]
      todo "Write the parser" m2.0..m4.0 completed: The parser reads dates. [left: Write tests, Tell the user]
      todo "Write tests" m4.0..m6.0 completed: All four tests pass. [left: Tell the user]
    "#);
}

#[test]
fn an_item_that_is_cancelled_or_gone_is_given_up() {
    assert_snapshot!(tree(
        r#"
        u "Add dates"
        a todo(>parser,tests)
        a todo(xparser,>tests)
        a edit
        a todo(>prose)
        a todo(prose)
        a todo(>prose)
    "#
    ), @r#"
    turn "Add dates" m1.. in_progress
      todo "parser" m2.0..m3.0 invalidated (it was cancelled on the todo list) [left: tests]
      todo "tests" m3.0..m5.0 invalidated (it is no longer on the todo list) [left: prose]
      todo "prose" m5.0..m6.0 blocked [left: prose]
      todo "prose" m7.0.. in_progress
    "#);
}

#[test]
fn an_item_that_was_never_in_progress_has_no_work() {
    assert_snapshot!(tree(
        r#"
        u "Add dates"
        a todo(parser,tests)
        a edit
        a todo(+parser,+tests)
        a "Done."
        u "thanks"
    "#
    ), @"");
}

#[test]
fn of_several_in_progress_the_first_is_worked_on() {
    assert_snapshot!(tree(
        r#"
        u "Add dates"
        a todo(>parser,>tests,>prose)
        a edit
        a todo(>parser,+tests,>prose)
        a edit
        a todo(+parser,+tests,>prose)
        a edit
    "#
    ), @r#"
    turn "Add dates" m1.. in_progress
      todo "parser" m2.0..m6.0 completed [left: prose]
      todo "prose" m6.0.. in_progress
    "#);
}

#[test]
fn order_ids_and_wording_may_change() {
    assert_snapshot!(tree(
        r#"
        u "Add dates"
        a todo(>Write the parser#1,Write tests#2)
        a todo(Write  TESTS#1,>write the Parser#2)
        a todo(Write tests#1,>Write the parser for dates#3)
        a todo(Write tests#1,>Read every format#3)
        a todo(Write tests,+Read every format)
        a todo(>Deploy#1)
        a todo(+Deploy#1)
        a todo(>Ship#1)
    "#
    ), @r#"
    turn "Add dates" m1.. in_progress
      todo "Write the parser" m2.0..m6.0 completed [left: Write tests]
      todo "Deploy" m7.0..m8.0 completed [left: ]
      todo "Ship" m9.0.. in_progress
    "#);
}

#[test]
fn an_item_in_progress_keeps_its_turn_open() {
    assert_snapshot!(tree(
        r#"
        u "Add dates"
        a todo(>parser,tests)
        a "Which format?"
        u "ISO"
        a edit "ISO is read."
        a todo(+parser,tests)
        a "The tests are next."
        u "go on"
        a test
    "#
    ), @r#"
    turn "Add dates" m1..m7 completed: The tests are next. [left: tests]
      todo "parser" m2.0..m6.0 completed: ISO is read. [left: tests]
    "#);
}

#[test]
fn an_item_that_nobody_speaks_of_again_is_forgotten() {
    assert_snapshot!(tree(
        r#"
        u "Add dates"
        a todo(>parser)
        a "Dates are in."
        u "thanks"
        a "Welcome."
        u "and the docs?"
        a "They are fine."
        u "Add times"
        a edit edit edit edit
        a "Times are in."
        u "thanks"
    "#
    ), @r#"
    turn "Add dates" m1..m7 completed: They are fine. [left: parser]
      todo "parser" m2.0..m7 invalidated: They are fine. (it was left in progress and not spoken of again) [left: parser]
    turn "Add times" m8..m10 completed: Times are in.
    "#);
}

#[test]
fn an_item_in_progress_is_set_aside_when_another_one_is_taken_up() {
    assert_snapshot!(tree(
        r#"
        u "Add dates"
        a todo(>parser,tests,prose)
        a edit "It reads."
        a todo(>parser,>tests,prose)
        a "Shall I?"
        u "yes"
        a todo(>parser,+tests,>prose)
        a "Half of it."
        u "go on"
        a todo(>parser,+tests,+prose,>times)
        a "And times."
        u "fine"
        a todo(>parser,+tests,+prose,+times,>years)
        a "Years are in."
        u "thanks"
    "#
    ), @r#"
    turn "Add dates" m1.. in_progress
      todo "parser" m2.0..m4.0 blocked: It reads. [left: parser, tests, prose]
      todo "tests" m4.0..m7.0 completed: Shall I? [left: parser, prose]
      todo "prose" m7.0..m10.0 completed: Half of it. [left: parser, times]
      todo "times" m10.0..m13.0 completed: And times. [left: parser, years]
      todo "years" m13.0.. in_progress
    "#);
}

#[test]
fn an_item_ends_with_the_pushed_frame_in_it() {
    assert_snapshot!(tree(
        r#"
        u "Add dates"
        a todo(>parser,tests)
        a push
        a todo(+parser,>tests)
        a pop
        a edit
        a todo(+parser,>tests)
        a edit
    "#
    ), @r#"
    turn "Add dates" m1.. in_progress
      todo "parser" m2.0..m5 completed [left: tests]
      todo "tests" m7.0.. in_progress
    "#);
}

#[test]
fn items_after_a_pushed_frame_stand_by_themselves() {
    assert_snapshot!(tree(
        r#"
        u "Add dates"
        a push
        a pop
        a todo(>parser,tests)
        a edit "It reads."
        a todo(+parser,>tests)
        a "The tests are next."
        u "go on"
        a todo(+parser,+tests) "All pass."
    "#
    ), @r#"
    todo "parser" m4.0..m6.0 completed: It reads. [left: tests]
    todo "tests" m6.0..m9.0 completed: All pass. [left: ]
    "#);
}

#[test]
fn a_subagent_works_for_the_item_of_its_step() {
    assert_snapshot!(tree("u \"Add dates\"\na todo(>parser) sub(look|fine)"), @r#"
    turn "Add dates" m1.. in_progress
      todo "parser" m2.0.. in_progress
        subagent "look" m2.1..m2.1 completed: fine
    "#);
}

#[test]
fn what_is_in_progress_is_left_before_what_is_to_come() {
    assert_snapshot!(tree(
        r#"
        u "Add dates"
        a todo(tests,prose,>parser,>look)
        a edit
        a todo(tests,prose,+parser,>look)
        a edit
        a "Dates are in."
        u "thanks"
    "#
    ), @r#"
    turn "Add dates" m1.. in_progress
      todo "parser" m2.0..m4.0 completed [left: look, tests, prose]
      todo "look" m4.0.. in_progress
    "#);
}

#[test]
fn of_a_list_that_nobody_has_seen_nothing_is_left() {
    let session = Session::read(
        "a \"So.\"\nu \"go on\"\na \"So.\"\nu \"go on\"\na \"So.\"\nu \"go on\"\na \"So.\"\nu \"bye\"",
    );
    let opened = Anchor { message: Some("m0".to_owned()), call: Some("m0.0".to_owned()) };
    let open = vec![(WorkKind::Todo, identity_of_item("Write the parser"), opened)];
    let mut framer = Framer::resume(&session.taken, open);
    for moment in &session.moments {
        framer.read(moment, &session.taken);
    }
    assert_snapshot!(show(framer.units()), @r#"todo "Write the parser" m0.0..m5 invalidated: So. (it was left in progress and not spoken of again)"#);
}

#[test]
fn an_item_whose_beginning_is_hidden_is_found_again() {
    let session = Session::read("a edit\na todo(+Write the parser,>tests)\na edit");
    let opened = Anchor { message: Some("m0".to_owned()), call: Some("m0.0".to_owned()) };
    let open = vec![
        (WorkKind::Turn, identity_of_item("Add dates"), Anchor { call: None, ..opened.clone() }),
        (WorkKind::Todo, identity_of_item("Write the parser"), opened),
    ];
    let mut framer = Framer::resume(&session.taken, open);
    for moment in &session.moments {
        framer.read(moment, &session.taken);
    }
    assert_snapshot!(show(framer.units()), @r#"
    turn "Add dates" m0.. in_progress
      todo "Write the parser" m0.0..m2.0 completed [left: tests]
      todo "tests" m2.0.. in_progress
    "#);
}
