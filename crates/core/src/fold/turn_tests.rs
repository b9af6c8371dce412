//! Frames in which the user speaks.

use insta::assert_snapshot;

use super::testing::notation::{Session, request};
use super::wording;
use crate::frame::FrameNum;
use crate::transcript::{ADDITIONS_LEAVE, SpanOrigin};

#[test]
fn a_frame_over_three_turns_keeps_words_and_replies() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: think push:A
        a2: think edit
        a3: think "which colour?"
        u2: "red"
        a4: think edit
        a5: think "red it is"
        u3: "go on"
        a6: think edit
        a7: think pop:A
        a8: think "all done"
    "#), @r#"
    u1: "build it"
    a1: think push:A=(see below)
    a3: "which colour?"
    u2: "red"
    a5: "red it is"
    u3: "go on" +<A returned>
    a8: "all done"
    "#);
}

#[test]
fn a_turn_that_was_broken_off_does_not_look_unanswered() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: edit
        u2: "no, the other one"
        a3: "I will look" edit
        u3: "are you there?"
        a4: edit
        a5: pop:A
    "#), @r#"
    u1: "build it"
    a1: push:A=(see below)
    u2: "no, the other one" +(taken up in f1)
    u3: "are you there?" +<A returned>
    "#);
}

#[test]
fn only_the_words_after_the_last_call_are_the_reply() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: think "let me see" read "it is there" . "all of it"
        u2: "go on"
        a3: pop:A
    "#), @r#"
    u1: "build it"
    a1: push:A=(see below)
    a2: "it is there" "all of it"
    u2: "go on" +<A returned>
    "#);
}

#[test]
fn two_messages_of_the_user_in_a_row_both_stay() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        u2: "wait"
        u3: "go on"
        a2: "going on"
        u4: "good"
        a3: pop:A
    "#), @r#"
    u1: "build it"
    a1: push:A=(see below)
    u2: "wait" +(taken up in f1)
    u3: "go on"
    a2: "going on"
    u4: "good" +<A returned>
    "#);
}

#[test]
fn what_is_not_the_users_own_words_becomes_a_pointer() {
    assert_snapshot!(request(r#"
        u1: "build it" @plan.png ~"the plan"
        a1: push:A
        a2: "like this?"
        u2: . "like that" @shot.png ~"Called the Read tool with the following input" ~"" "please"
        a3: pop:A
    "#), @r#"
    u1: "build it" @plan.png ~"the plan"
    a1: push:A=(see below)
    a2: "like this?"
    u2: "like that" [callstack] Attached here: shot.png (image/png). It is in the log of frame f1. "please" +<A returned>
    "#);
}

/// Two turns that nobody pushed, in a root.
const TURNS: &str = r#"
    [open A]
    u1: "build it" @plan.rs ~"the plan" ~"a list of skills" @shot.png
    [open B]
    a1: think edit
    a2: "built"
    [close B]
    u2: "test it" ~"a reminder" "all of it"
    [open C]
    a3: think test
    a4: "tested"
    [close C]
    u3: "thanks" ~"another reminder"
"#;

fn turns() -> Session {
    let mut session = Session::read(TURNS);
    let root = session.span("A");
    (root.origin, root.foldable) = (SpanOrigin::Root, false);
    for turn in ["B", "C"] {
        session.span(turn).origin = SpanOrigin::Turn;
    }
    session
}

#[test]
fn what_the_host_added_to_the_message_of_a_turn_leaves_with_the_turn() {
    assert_snapshot!(turns().request(), @r#"
    u1: "build it" [callstack] Attached here: plan.rs (text/plain). It is in the log of frame f1. @shot.png
    a2: "built"
    u2: "test it" [callstack] Added here by the host: 10 characters, beginning "a reminder". They are in the log of frame f1. "all of it" +<B returned>
    a4: "tested"
    u3: "thanks" ~"another reminder" +<C returned>
    "#);
}

#[test]
fn it_stays_while_the_turn_is_sent() {
    let mut session = turns();
    for turn in ["B", "C"] {
        session.span(turn).fold = None;
    }
    assert_snapshot!(session.request(), @r#"
    u1: "build it" @plan.rs ~"the plan" ~"a list of skills" @shot.png
    a1: think edit
    a2: "built"
    u2: "test it" ~"a reminder" "all of it"
    a3: think test
    a4: "tested"
    u3: "thanks" ~"another reminder"
    "#);
}

#[test]
fn what_was_sent_folded_by_an_earlier_rule_keeps_it() {
    let mut session = turns();
    for turn in ["B", "C"] {
        session.span(turn).fold.as_mut().unwrap().renderer = ADDITIONS_LEAVE - 1;
    }
    assert_snapshot!(session.request(), @r#"
    u1: "build it" @plan.rs ~"the plan" ~"a list of skills" @shot.png
    a2: "built"
    u2: "test it" ~"a reminder" "all of it" +<B returned>
    a4: "tested"
    u3: "thanks" ~"another reminder" +<C returned>
    "#);
}

#[test]
fn a_message_of_nothing_but_a_file_is_the_users() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: "like this?"
        u2: @shot.png
        a3: pop:A
    "#), @r#"
    u1: "build it"
    a1: push:A=(see below)
    a2: "like this?"
    u2: [callstack] Attached here: shot.png (image/png). It is in the log of frame f1. +<A returned>
    "#);
}

#[test]
fn what_only_the_host_said_goes_and_starts_no_turn() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: "half way"
        u2: ~"continue"
        a3: edit
        a4: "done so far"
        u3: "go on"
        a5: pop:A
    "#), @r#"
    u1: "build it"
    a1: push:A=(see below)
    a4: "done so far"
    u3: "go on" +<A returned>
    "#);
}

#[test]
fn an_outer_frame_folds_over_an_inner_one_that_crossed_turns() {
    let mut session = Session::read(
        r#"
        u1: "build it"
        a1: push:A push:B
        a2: "which?"
        u2: "this"
        a3: pop:B
        a4: edit
    "#,
    );
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: push:A push:B=(see below)
    a2: "which?"
    u2: "this" +<B returned>
    a4: edit
    "#);
    session.extend("a5: pop:A");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: push:A=(see below)
    a2: "which?"
    u2: "this" +<A returned>
    "#);
}

#[test]
fn a_pop_and_push_after_the_users_words() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: "which?"
        u2: "this"
        a3: think pop:A push:B
        a4: "and now?"
        u3: "that"
        a5: pop:B
    "#), @r#"
    u1: "build it"
    a1: push:A=(see below)
    a2: "which?"
    u2: "this" +<A returned>
    a3: push:B=(see below)
    a4: "and now?"
    u3: "that" +<B returned>
    "#);
}

#[test]
fn notes_are_replayed_until_their_message_goes_into_a_fold() {
    let mut session = Session::read(
        r#"
        u1: "build it"
        a1: push:A
        a2: "so?"
        u2: "go on"
        a3: edit
        [append u1 <one>]
        [append u2 <two>]
        [append u2 <three>]
        [insert a3 <four>]
        [insert a3 <five>]
        [append a3 <for no user message>]
        [append u9 <nowhere>]
    "#,
    );
    assert_snapshot!(session.request(), @r#"
    u1: "build it" +<one>
    a1: push:A
    a2: "so?"
    u2: "go on" +<two> +<three>
    a3: edit
    ours:a3: +<four>⏎⏎<five>
    "#);
    session.extend("a4: pop:A\na5: \"done\"\nu3: \"more\"\n[append u3 <six>]");
    assert_snapshot!(session.request(), @r#"
    u1: "build it" +<one>
    a1: push:A=(see below)
    a2: "so?"
    u2: "go on" +<A returned>
    a5: "done"
    u3: "more" +<six>
    "#);
}

#[test]
fn the_words_of_renderer_1_never_change() {
    let frame = FrameNum(12);
    let long = "word ".repeat(40);
    let lines = [
        wording::returned_below(frame),
        wording::taken_up(frame),
        wording::attached(frame, "a b\n\u{1b}[31mc.png", "image/png"),
        wording::attached(frame, &"x".repeat(300), "text/plain"),
        wording::added(frame, 1200, &long),
        wording::added(frame, 60, &"y".repeat(60)),
    ];
    assert_snapshot!(lines.join("\n"), @r#"
    [callstack] The work that this call began has ended. What frame f12 returned stands further down, behind the last message that the user wrote during it.
    [callstack] Taken up in frame f12; this turn ended without a closing reply. What came of it is in what the frame returned, further down.
    [callstack] Attached here: a b [31mc.png (image/png). It is in the log of frame f12.
    [callstack] Attached here: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (text/plain). It is in the log of frame f12.
    [callstack] Added here by the host: 1200 characters, beginning "word word word word word word word word word word word word …". They are in the log of frame f12.
    [callstack] Added here by the host: 60 characters, beginning "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy". They are in the log of frame f12.
    "#);
}
