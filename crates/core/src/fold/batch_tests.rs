//! Steps with several calls: which of them belong to the frame that begins or ends there.

use insta::assert_snapshot;

use super::testing::notation::{Session, request};
use crate::transcript::CALLS_LEAVE;

#[test]
fn calls_after_an_activation_leave_as_those_after_a_push() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: "first" look take:A read grep!
        a2: edit
        a3: test pop:A
        a4: "done"
    "#), @r#"
    u1: "build it"
    a1: "first" look take:A=<A returned>
    a4: "done"
    "#);
}

#[test]
fn calls_before_a_pop_leave_and_calls_after_it_stay() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A read
        a2: test edit pop:A look list
        a3: "done"
    "#), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    a2: look list
    a3: "done"
    "#);
}

#[test]
fn a_pop_and_the_next_push_share_a_step_with_calls_of_both() {
    let text = r#"
        u1: "build it"
        a1: push:A read
        a2: test pop:A look push:B read2 read3
        a3: edit
    "#;
    assert_snapshot!(request(text), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    a2: look push:B read2 read3
    a3: edit
    "#);
    assert_snapshot!(request(&format!("{text}\na4: pop:B take:C read4\na5: pop:C")), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    a2: look push:B=<B returned>
    a4: take:C=<C returned>
    "#);
}

/// Some providers refuse a request whose last step with calls does not begin with reasoning.
#[test]
fn calls_after_a_pop_join_the_pushs_step_where_the_model_thought_before_both() {
    let mut session = Session::read(
        r#"
        u1: "build it"
        a1: seal "first" push:A read
        a2: seal test
        a3: seal test pop:A look push:B read2
    "#,
    );
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: seal "first" push:A=<A returned> look push:B read2
    "#);
    session.extend("a4: seal edit\na5: seal pop:B take:C read3");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: seal "first" push:A=<A returned> look push:B=<B returned> take:C read3
    "#);
    session.extend("a6: seal pop:C\na7: \"done\"");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: seal "first" push:A=<A returned> look push:B=<B returned> take:C=<C returned>
    a7: "done"
    "#);
}

#[test]
fn they_stay_a_step_where_something_stands_in_between_or_was_said() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: think push:A read
        a2: think "so far"
        u2: "go on"
        a3: think pop:A look
    "#), @r#"
    u1: "build it"
    a1: think push:A=(see below)
    a2: "so far"
    u2: "go on" +<A returned>
    a3: look
    "#);
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: think push:A read
        a2: think pop:A look "and then" list
    "#), @r#"
    u1: "build it"
    a1: think push:A=<A returned>
    a2: look "and then" list
    "#);
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A read
        a2: think pop:A look
    "#), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    a2: look
    "#);
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: think push:A read
        a2: pop:A look
    "#), @r#"
    u1: "build it"
    a1: think push:A=<A returned>
    a2: look
    "#);
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: think push:A read
        [insert a1 words]
        a2: think pop:A look
    "#), @r#"
    u1: "build it"
    a1: think push:A=<A returned>
    ours:a1: +words
    a2: look
    "#);
}

#[test]
fn a_frame_that_begins_and_ends_in_one_step_leaves_what_stands_around_it() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: think look push:A read "found" pop:A write push:B read2
        a2: pop:B
    "#), @r#"
    u1: "build it"
    a1: think look push:A=<A returned> "found" write push:B=<B returned>
    "#);
}

#[test]
fn pushes_of_one_step_that_end_one_after_the_other_leave_with_the_outermost() {
    let mut session = Session::read(
        r#"
        u1: "build it"
        a1: push:A read push:B read2 push:C read3
        a2: pop:C edit pop:B
    "#,
    );
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: push:A read push:B=<B returned>
    "#);
    session.extend("a3: test\na4: pop:A");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    "#);
}

#[test]
fn words_of_the_pushs_step_stay_and_so_does_reasoning_that_is_not_signed() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: think "first" push:A think read "and then" grep
        a2: pop:A
    "#), @r#"
    u1: "build it"
    a1: think "first" push:A=<A returned> think "and then"
    "#);
}

#[test]
fn signed_reasoning_after_a_push_leaves_with_the_calls_that_it_led_to() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: seal "first" push:A seal read "and then" seal grep
        a2: seal pop:A
    "#), @r#"
    u1: "build it"
    a1: seal "first" push:A=<A returned> "and then"
    "#);
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: seal push:A seal read pop:A seal write
        a2: seal "done"
    "#), @r#"
    u1: "build it"
    a1: seal push:A=<A returned> write
    a2: "done"
    "#);
}

#[test]
fn a_frame_that_is_closed_from_outside_in_its_own_step_takes_the_calls_after_the_push() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: look push:A read
        [close A]
        u2: "go on"
    "#), @r#"
    u1: "build it"
    a1: look push:A=<A returned>
    u2: "go on"
    "#);
}

#[test]
fn a_push_that_ran_after_the_pop_before_which_it_is_written_stays() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A read push:B pop:A
        a2: edit
    "#), @r#"
    u1: "build it"
    a1: push:A=<A returned> push:B
    a2: edit
    "#);
}

#[test]
fn what_was_sent_by_the_earlier_rule_stays_as_it_was() {
    let mut session = Session::read(
        r#"
        u1: "build it"
        a1: think push:A push:B read
        a2: edit
        a3: pop:B
    "#,
    );
    let by_the_earlier_rule = |session: &mut Session, name: &str| {
        session.span(name).fold.as_mut().unwrap().renderer = CALLS_LEAVE - 1;
    };
    by_the_earlier_rule(&mut session, "B");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: think push:A push:B=<B returned> read
    "#);
    session.extend("a4: pop:A");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: think push:A=<A returned>
    "#);
    by_the_earlier_rule(&mut session, "A");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: think push:A=<A returned> push:B=(ended inside f1) read
    "#);
}

#[test]
fn a_fold_whose_text_is_not_fixed_waits() {
    let mut session = Session::read("u1: \"x\"\na1: push:A read\na2: test pop:A");
    let fold = session.span("A").fold.as_mut().unwrap();
    fold.held = Some(crate::transcript::Held::Unfixed);
    assert_eq!(session.fold(), super::Folded::default());
}
