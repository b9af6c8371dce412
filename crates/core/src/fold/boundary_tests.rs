//! Frames that nobody pushed, or that are closed from outside.

use insta::assert_snapshot;

use super::testing::notation::{Session, request};
use crate::transcript::FoldOp;

#[test]
fn a_user_turn_as_a_frame_folds_when_the_next_one_comes() {
    let mut session = Session::read(
        r#"
        u1: "build it"
        [open A]
        a1: think edit
        a2: think test
        a3: think "built"
        [close A]
    "#,
    );
    assert_eq!(session.fold(), super::Folded::default());
    session.extend("u2: \"thanks\"");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a3: "built"
    u2: "thanks" +<A returned>
    "#);
}

#[test]
fn user_turns_as_frames_fold_one_after_the_other() {
    assert_snapshot!(request(r#"
        u1: "build it"
        [open A]
        a1: edit
        a2: "built"
        [close A]
        u2: "test it"
        [open B]
        a3: test
        a4: "tested"
        [close B]
        u3: "thanks"
    "#), @r#"
    u1: "build it"
    a2: "built"
    u2: "test it" +<A returned>
    a4: "tested"
    u3: "thanks" +<B returned>
    "#);
}

#[test]
fn a_user_turn_that_was_broken_off_does_not_look_unanswered() {
    assert_snapshot!(request(r#"
        u1: "build it"
        [open A]
        a1: edit
        [close A]
        u2: "something else"
    "#), @r#"
    u1: "build it" +(taken up in f1)
    u2: "something else" +<A returned>
    "#);
}

#[test]
fn items_of_one_turn_fold_together_at_its_end() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: todo
        [open A]
        a2: edit
        [close A]
        [open B]
        a3: edit
        [close B]
        a4: todo
        a5: "built"
        u2: "thanks"
    "#), @r#"
    u1: "build it"
    a1: todo
    a4: todo
    a5: "built"
    u2: "thanks" +<A returned> +<B returned>
    "#);
}

#[test]
fn an_item_inside_a_turns_frame_vanishes_with_it() {
    let text = r#"
        u1: "build it"
        [open A]
        [open B]
        a1: edit
        [close B]
        a2: "built"
        [close A]
        u2: "thanks"
    "#;
    assert_snapshot!(request(text), @r#"
    u1: "build it"
    a2: "built"
    u2: "thanks" +<A returned>
    "#);
    assert_eq!(Session::read(text).effects(), "A* / B");
}

#[test]
fn a_frame_from_the_start_of_the_session() {
    assert_snapshot!(request(r#"
        [open A]
        u1: ~"a greeting of the host"
        a1: "hello"
        u2: "build it"
        a2: edit
        a3: "built"
        [close A]
        u3: "thanks"
    "#), @r#"
    u2: "build it"
    a3: "built"
    u3: "thanks" +<A returned>
    "#);
}

#[test]
fn a_frame_from_outside_over_several_turns() {
    assert_snapshot!(request(r#"
        u1: "hello"
        a1: "hello"
        [open A]
        u2: "build it"
        a2: think edit
        a3: think "built"
        u3: "test it"
        a4: test
        u4: "never mind"
        a5: think "fine"
        [close A]
        u5: "what now?"
        a6: think "this"
    "#), @r#"
    u1: "hello"
    a1: "hello"
    u2: "build it"
    a3: "built"
    u3: "test it" +(taken up in f1)
    u4: "never mind"
    a5: "fine"
    u5: "what now?" +<A returned>
    a6: "this"
    "#);
}

#[test]
fn a_frame_from_outside_that_the_agent_pops() {
    let mut session = Session::read(
        r#"
        u1: "build it"
        [open A]
        a1: think edit
        a2: think pop:A push:B
        a3: think "built"
    "#,
    );
    assert_eq!(session.fold(), super::Folded::default());
    session.extend("u2: \"thanks\"");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a2: push:B
    a3: "built"
    u2: "thanks" +<A returned>
    "#);
}

#[test]
fn a_turn_that_ends_at_the_pop_does_not_look_unanswered() {
    assert_snapshot!(request(r#"
        u1: "build it"
        [open A]
        a1: edit
        a2: pop:A
        u2: "are you there?"
    "#), @r#"
    u1: "build it" +(taken up in f1)
    u2: "are you there?" +<A returned>
    "#);
}

#[test]
fn a_pushed_frame_that_is_closed_from_outside() {
    let mut session = Session::read(
        r#"
        u1: "build it"
        a1: think push:A
        a2: think edit
        a3: think "built"
        [close A]
    "#,
    );
    assert_eq!(session.fold(), super::Folded::default());
    session.extend("u2: \"thanks\"\na4: think \"welcome\"");
    session.settle("A", "u2");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: think push:A=<A returned>
    a3: "built"
    u2: "thanks"
    a4: think "welcome"
    "#);
}

#[test]
fn a_frame_closed_in_the_middle_of_a_turn_leaves_the_rest_of_it() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: "half way"
        u2: "go on"
        a3: edit
        [close A]
        a4: edit
        a5: "built"
        u3: "thanks"
    "#), @r#"
    u1: "build it"
    a1: push:A=(see below)
    a2: "half way"
    u2: "go on" +<A returned>
    a4: edit
    a5: "built"
    u3: "thanks"
    "#);
}

#[test]
fn a_turn_of_nothing_but_folded_frames_does_not_look_unanswered() {
    assert_snapshot!(request(r#"
        u1: "build it"
        [open A]
        a1: edit
        a2: pop:A
        [open B]
        a3: edit
        [close B]
        a4: think
        u2: "are you there?"
    "#), @r#"
    u1: "build it" +(taken up in f1)
    u2: "are you there?" +<A returned> +<B returned>
    "#);
}

#[test]
fn words_in_the_middle_of_a_turn_are_no_closing_reply() {
    assert_snapshot!(request(r#"
        u1: "build it"
        [open A]
        a1: edit
        a2: "half way"
        [close A]
        u2: ~"continue"
        a3: edit
        a4: "built"
        u3: "thanks"
    "#), @r#"
    u1: "build it"
    u2: ~"continue"
    a3: edit
    a4: "built"
    u3: "thanks" +<A returned>
    "#);
}

#[test]
fn of_two_frames_over_the_same_messages_the_one_opened_first_is_around_the_other() {
    let text = "u1: \"x\"\n[open A]\n[open B]\na1: edit\n[close B]\n[close A]\nu2: \"y\"";
    assert_eq!(Session::read(text).effects(), "A* / B");
}

#[test]
fn each_fold_cuts_for_itself() {
    let text = r#"
        u1: "build it"
        [open A]
        a1: edit
        a2: edit
        [close A]
        [open B]
        a3: edit
        [close B]
        a4: "built"
        u2: "thanks"
    "#;
    let ops = Session::read(text).fold().ops;
    let cut = |from: &str, to: &str| FoldOp::Cut { from: from.to_owned(), to: to.to_owned() };
    let note = |text: &str| FoldOp::Append { message: "u2".to_owned(), text: text.to_owned() };
    assert_eq!(ops, [cut("a1", "a2"), cut("a3", "a3"), note("<A returned>"), note("<B returned>")]);
}

#[test]
fn a_frame_without_any_message_says_what_it_returned() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: "built"
        [open A]
        [close A]
        u2: "thanks"
    "#), @r#"
    u1: "build it"
    a1: "built"
    u2: "thanks" +<A returned>
    "#);
}

#[test]
fn a_boundary_at_the_start_of_the_session_closes_nothing() {
    let mut session = Session::read("u1: \"x\"\na1: push:A\na2: pop:A\nu2: \"y\"");
    let close = session.span("A").close.as_mut().unwrap();
    close.message = None;
    close.call = None;
    assert_eq!(session.fold(), super::Folded::default());
}

#[test]
fn a_fold_of_a_turn_that_is_inside_a_later_pushed_frame_keeps_its_place() {
    assert_snapshot!(request(r#"
        u1: "build it"
        [open A]
        a1: edit
        [close A]
        a2: push:B
        a3: "which?"
        u2: "this" @shot.png
        a4: pop:B
        [append u2 <a note>]
    "#), @r#"
    u1: "build it"
    a2: push:B=(see below)
    a3: "which?"
    u2: "this" [callstack] Attached here: shot.png (image/png). It is in the log of frame f2. +<A returned> +<B returned>
    "#);
}
