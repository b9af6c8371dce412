//! User turns and subagents.

use insta::assert_snapshot;

use super::testing::{Session, show, tree};
use super::{Framer, WorkKind, identity_of};
use crate::transcript::Anchor;

#[test]
fn chat_and_small_turns_are_no_units_of_work() {
    assert_eq!(
        tree(
            r#"
        u "hello"
        a "hello"
        u "what does the parser do?"
        a read:900
        a grep:900
        a "It parses."
        u "and how is the weather?"
        a ls:10
        a ls:10
        a ls:10
        a ls:10
        a ls:10
        a "Fine."
    "#
        ),
        ""
    );
}

#[test]
fn a_turn_with_many_calls_is_one_from_the_users_words_to_the_reply() {
    let mut session = Session::read(
        r#"
        u "Fix the parser of dates, please, it fails"
        a read "Let me see." edit
        a edit test
    "#,
    );
    let open = r#"turn "Fix the parser of dates, please, it fails" m1.. in_progress"#;
    assert_eq!(session.tree().trim(), open);
    session.message("a \"Fixed: two lines.\"");
    assert_eq!(session.tree().trim(), open, "it may go on");
    session.message("u \"thanks\"");
    assert_snapshot!(session.tree(), @r#"turn "Fix the parser of dates, please, it fails" m1..m4 completed: Fixed: two lines."#);
}

#[test]
fn few_calls_that_weigh_much_are_work_too() {
    assert_snapshot!(tree(
        r#"
        u "Look through the log"
        a read:3100
        a "Nothing in it."
        u "thanks"
    "#
    ), @r#"turn "Look through the log" m1..m3 completed: Nothing in it."#);
}

#[test]
fn a_turn_that_was_broken_off_goes_on_with_what_the_user_says_next() {
    assert_snapshot!(tree(
        r#"
        u "Build it"
        a edit edit edit edit
        a edit "I am about to" broken
        u "no, the other one"
        a edit
        a "The other one is built."
        u "thanks"
        a "Welcome."
        u "Now test it"
        a test test test test
    "#
    ), @r#"
    turn "Build it" m1..m6 completed: The other one is built.
    turn "Now test it" m9.. in_progress
    "#);
}

#[test]
fn a_turn_in_which_the_user_speaks_again_goes_on() {
    assert_snapshot!(tree(
        r#"
        u "Build it"
        a edit edit edit edit
        u "in red, please"
        a edit
        a "Red it is."
        u "thanks"
    "#
    ), @r#"turn "Build it" m1..m5 completed: Red it is."#);
}

#[test]
fn what_was_broken_off_before_it_was_work_is_no_part_of_the_next_turn() {
    assert_snapshot!(tree(
        r#"
        u "Biuld ti"
        a edit broken
        u "Build it"
        a edit edit edit edit
        a "Built."
        u "thanks"
    "#
    ), @r#"turn "Build it" m3..m5 completed: Built."#);
}

#[test]
fn words_of_the_host_start_no_turn() {
    assert_snapshot!(tree(
        r#"
        u "Build it"
        a edit edit edit edit
        a "Half way."
        h "continue"
        a edit
        a "Built."
        u "thanks"
    "#
    ), @r#"turn "Build it" m1..m6 completed: Built."#);
}

#[test]
fn work_that_is_handed_on_is_work() {
    assert_snapshot!(tree(
        r#"
        u "Have it looked at"
        a sub(look at it|It is fine)
        a "They say it is fine."
        u "thanks"
    "#
    ), @r#"
    turn "Have it looked at" m1..m3 completed: They say it is fine.
      subagent "look at it" m2.0..m2.0 completed: It is fine
    "#);
}

#[test]
fn what_is_handed_on_right_now_is_work_before_the_transcript_shows_it() {
    let session = Session::read("u \"Have it looked at\"");
    let mut framer = Framer::new(&session.taken);
    framer.read(&session.moments[0], &session.taken);
    framer.hand_on();
    assert_snapshot!(show(framer.units()), @r#"turn "Have it looked at" m1.. in_progress"#);
}

#[test]
fn where_the_agent_pushes_itself_its_turn_is_framed_already() {
    assert_snapshot!(tree(
        r#"
        u "Build it"
        a push
        a edit edit edit edit edit
        a todo(>one,two)
        a pop
        a edit edit edit edit edit
        a "Built."
        u "Test it"
        a test test test test
        a "Tested."
        u "thanks"
    "#
    ), @r#"turn "Test it" m8..m10 completed: Tested."#);
}

#[test]
fn a_push_in_the_step_that_makes_the_turn_work_comes_first() {
    assert_eq!(
        tree("u \"Build it\"\na edit edit edit edit push pop\na edit edit\na \"Built.\""),
        ""
    );
}

#[test]
fn no_turn_begins_or_ends_while_a_pushed_frame_is_open() {
    assert_snapshot!(tree(
        r#"
        u "Build it"
        a edit edit edit edit
        a push
        a "Which colour?"
        u "red"
        a edit edit edit edit
        a pop
        a "Built."
        u "thanks"
    "#
    ), @r#"turn "Build it" m1..m8 completed: Built."#);
    assert_eq!(
        tree("u \"x\"\na push\na \"so?\"\nu \"y\"\na edit edit edit edit\na \"done\"\nu \"z\""),
        ""
    );
}

#[test]
fn a_turn_whose_beginning_is_hidden_ends_all_the_same() {
    let session = Session::read("a edit\na \"Built.\"\nu \"thanks\"");
    let opened = Anchor { message: Some("m0".to_owned()), call: None };
    let open = vec![(WorkKind::Turn, identity_of("Build it"), opened)];
    let mut framer = Framer::resume(&session.taken, open);
    for moment in &session.moments {
        framer.read(moment, &session.taken);
    }
    assert_eq!(framer.changes(), [super::Change::Closed(0)]);
    assert_snapshot!(show(framer.units()), @r#"turn "Build it" m0..m2 completed: Built."#);
}

#[test]
fn a_session_that_rests_ends_what_the_users_next_message_would_end() {
    let session = Session::read("u \"Build it\"\na edit edit edit edit\na \"Built.\"");
    let mut framer = Framer::new(&session.taken);
    for moment in &session.moments {
        framer.read(moment, &session.taken);
    }
    framer.rest();
    assert_snapshot!(show(framer.units()), @r#"turn "Build it" m1..m3 completed: Built."#);
}

#[test]
fn a_turn_that_has_a_frame_keeps_it_when_little_is_left_of_it() {
    let mut session =
        Session::read("u \"Build it\"\na edit\nu \"no, this\"\na \"Built.\"\nu \"ok\"");
    assert_eq!(session.tree(), "");
    session.taken.turns.insert("m1".to_owned());
    assert_snapshot!(session.tree(), @r#"turn "Build it" m1..m4 completed: Built."#);
}
