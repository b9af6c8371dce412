//! Steps that a pop closed after the fact.

use insta::assert_snapshot;

use super::since;
use super::testing::notation::{Session, request};
use crate::frame::FrameNum;
use crate::transcript::{Anchor, Held, SpanOrigin};

#[test]
fn the_first_call_stays_with_what_was_returned_and_the_rest_leaves() {
    assert_snapshot!(request(
        "u1: \"do it\"
         a1: think \"I look\" read1 read2
         a2: think read3
         [named read3 named]
         a3: think read4 since:A:read1 read5
         a4: think edit"
    ), @r#"
    u1: "do it"
    a1: think "I look" read1=<A returned> read5
    a4: edit
    "#);
}

#[test]
fn calls_in_front_of_the_first_one_stay() {
    assert_snapshot!(request(
        "u1: \"do it\"
         a1: seal push:A
         a2: pop:A edit seal read1 read2
         a3: think read3
         a4: since:B:read1"
    ), @r#"
    u1: "do it"
    a1: seal push:A=<A returned> edit read1=<B returned>
    "#);
}

#[test]
fn the_users_words_stay() {
    assert_snapshot!(request(
        "u1: \"do it\"
         a1: think read1
         a2: \"Here it is\"
         u2: \"and that\" @photo.png
         a3: think read2
         a4: since:A:read1"
    ), @r#"
    u1: "do it"
    a1: think read1=(see below)
    a2: "Here it is"
    u2: "and that" [callstack] Attached here: photo.png (image/png). It is in the log of frame f1. +<A returned>
    "#);
}

#[test]
fn frames_that_began_and_ended_in_them_go_with_them() {
    let mut session = Session::read(
        "u1: \"do it\"
         a1: think read1
         a2: push:A
         a3: read2
         a4: pop:A",
    );
    assert_snapshot!(session.request(), @r#"
    u1: "do it"
    a1: think read1
    a2: push:A=<A returned>
    "#);
    session.settle("A", "a4");
    session.extend("a5: think read3\na6: since:B:read1 read4");
    assert_snapshot!(session.request(), @r#"
    u1: "do it"
    a1: think read1=<B returned>
    a6: read4
    "#);
    assert_eq!(session.effects(), "B* / A");
}

#[test]
fn in_a_frame_they_go_with_it_when_it_ends() {
    let mut session = Session::read(
        "u1: \"do it\"
         a1: push:A
         a2: think read1
         a3: read2
         a4: since:B:read1 read3",
    );
    assert_snapshot!(session.request(), @r#"
    u1: "do it"
    a1: push:A
    a2: think read1=<B returned>
    a4: read3
    "#);
    session.settle("B", "a4");
    session.extend("a5: pop:A");
    assert_snapshot!(session.request(), @r#"
    u1: "do it"
    a1: push:A=<A returned>
    "#);
}

#[test]
fn what_is_named_says_so_in_the_output_also_where_it_is_masked() {
    assert_snapshot!(request(
        "u1: \"do it\"
         a1: read1 read2
         [named read2 name]
         [mask a1.1 line]
         a2: read3"
    ), @r#"
    u1: "do it"
    a1: read1 read2=line+name
    a2: read3
    "#);
}

#[test]
fn a_turn_whose_end_they_took_stays_as_it_is() {
    let turn = "u1: \"do it\"
         [open A]
         a1: read1
         a2: read2
         a3: \"done\"
         [close A]
         u2: \"and that\"
         a4: read3";
    let mut session = Session::read(turn);
    session.span("A").origin = SpanOrigin::Turn;
    session.span("A").fold.as_mut().unwrap().held = Some(Held::Light { span: 10, stands: 9 });
    session.extend("a5: since:B:read2 read4");
    let sent = session.request();
    assert_snapshot!(sent, @r#"
    u1: "do it"
    a1: read1
    a2: read2=(see below)
    a3: "done"
    u2: "and that" +<B returned>
    a5: read4
    "#);
    // It is weighed again when the provider has forgotten the request.
    session.span("A").fold.as_mut().unwrap().held = None;
    assert_eq!(session.request(), sent);
}

fn begun(text: &str, first: &str) -> Option<Vec<FrameNum>> {
    let session = Session::read(text);
    let last = session.anchor_of("pop");
    since(&session.input(), &session.anchor_of(first), &last).map(|since| since.begun)
}

#[test]
fn only_what_is_sent_can_be_closed() {
    let none = Some(Vec::new());
    assert_eq!(begun("u1: \"do\"\na1: read1 read2", "read2"), none);
    assert_eq!(begun("u1: \"do\"\na1: read1!", "read1!"), None, "it failed");
    assert_eq!(begun("u1: \"do\"\na1: read1", "read9"), None, "it is not shown");
    assert_eq!(begun("- a1: read1\nu1: \"do\"", "read1"), None, "it was undone");
    let folded = "u1: \"do\"\na1: read1 push:A read2\na2: read3\na3: pop:A\na4: read4";
    assert_eq!(begun(folded, "read1"), none);
    assert_eq!(begun(folded, "read2"), None, "it left with the calls behind the push");
    assert_eq!(begun(folded, "read3"), None);
    assert_eq!(begun(folded, "push:A"), None, "it is another frame's");
    assert_eq!(begun(folded, "read4"), none);
    let compacted = "u1: \"do\"\n- a1: read1\nc1: \"sum up\"\ns1: \"all\"\na2: read2";
    assert_eq!(begun(compacted, "read1"), None);
    assert_eq!(begun(compacted, "read2"), none);
}

#[test]
fn frames_that_are_open_and_began_after_the_first_call_are_named() {
    let text = "u1: \"do\"\na1: read1\na2: push:A\na3: read2\na4: push:B read3";
    assert_eq!(begun(text, "read1"), Some(vec![FrameNum(1), FrameNum(2)]));
    assert_eq!(begun(text, "read2"), Some(vec![FrameNum(2)]));
    assert_eq!(begun(text, "read3"), Some(Vec::new()));
}

#[test]
fn what_ends_in_a_step_that_is_not_shown_yet_has_ended() {
    let mut session = Session::read("u1: \"do\"\na1: read1 push:A\na2: read2\na3: read3 pop:A");
    session.transcript.pop();
    let last = Anchor { message: Some("a3".to_owned()), call: Some("since".to_owned()) };
    let begun = |first: &str| since(&session.input(), &session.anchor_of(first), &last);
    assert!(begun("read1").is_some_and(|since| since.begun.is_empty()));
    assert_eq!(begun("read2"), None, "it leaves with the frame");
}
