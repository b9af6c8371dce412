//! Frames that the agent pushes and pops by calls.

use insta::assert_snapshot;

use super::ReasoningPolicy;
use super::testing::notation::{Session, request};

#[test]
fn a_finished_frame_reads_as_one_call_that_returned() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: think push:A
        a2: think edit
        a3: think test "looks good"
        a4: think pop:A
    "#), @r#"
    u1: "build it"
    a1: think push:A=<A returned>
    "#);
}

#[test]
fn an_open_frame_is_left_alone() {
    let text = r#"
        u1: "build it"
        a1: think push:A
        a2: think edit
    "#;
    assert_eq!(Session::read(text).fold(), super::Folded::default());
}

#[test]
fn a_frame_that_is_not_durable_yet_is_left_alone() {
    let mut session = Session::read("u1: \"x\"\na1: push:A\na2: pop:A");
    session.span("A").fold = None;
    assert_eq!(session.fold(), super::Folded::default());
}

#[test]
fn a_root_is_never_folded() {
    let mut session = Session::read("u1: \"x\"\na1: push:A\na2: pop:A\nu2: \"y\"");
    session.span("A").foldable = false;
    assert_eq!(session.fold(), super::Folded::default());
}

#[test]
fn what_was_undone_is_left_alone() {
    let mut session = Session::read("u1: \"x\"\na1: push:A\na2: pop:A");
    session.span("A").close_undone = true;
    assert_eq!(session.fold(), super::Folded::default());
    session.span("A").close_undone = false;
    assert_eq!(session.effects(), "A* /");
    session.span("A").detached = true;
    assert_eq!(session.fold(), super::Folded::default());
}

#[test]
fn what_follows_a_fold_stays() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: edit
        a3: pop:A
        a4: "done"
        u2: "thanks"
    "#), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    a4: "done"
    u2: "thanks"
    "#);
}

#[test]
fn inner_frames_vanish_with_the_outer_one() {
    let text = r#"
        u1: "build it"
        a1: push:A
        a2: push:B
        a3: edit
        a4: pop:B
        a5: push:C
        a6: pop:C
        a7: test
        a8: pop:A
    "#;
    assert_snapshot!(request(text), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    "#);
    assert_eq!(Session::read(text).effects(), "A* / B C");
}

#[test]
fn an_inner_frame_folds_while_the_outer_one_is_open() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: push:B
        a3: edit
        a4: pop:B
        a5: test
    "#), @r#"
    u1: "build it"
    a1: push:A
    a2: push:B=<B returned>
    a5: test
    "#);
}

#[test]
fn siblings_fold_each_by_itself() {
    let text = r#"
        u1: "build it"
        a1: push:A
        a2: edit
        a3: pop:A
        a4: push:B
        a5: edit
        a6: pop:B
    "#;
    assert_snapshot!(request(text), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    a4: push:B=<B returned>
    "#);
    assert_eq!(Session::read(text).effects(), "A* B* /");
}

#[test]
fn a_push_in_the_step_of_a_pop_stays_without_the_reasoning() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: think push:A
        a2: think edit
        a3: think . "on to the next" pop:A "now B" push:B
        a4: think edit
    "#), @r#"
    u1: "build it"
    a1: think push:A=<A returned>
    a3: "now B" push:B
    a4: edit
    "#);
}

#[test]
fn a_chain_of_pops_and_pushes_folds_link_by_link() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: pop:A push:B read
        a3: edit
        a4: pop:B push:C
        a5: pop:C
        a6: "done"
    "#), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    a2: push:B=<B returned>
    a4: push:C=<C returned>
    a6: "done"
    "#);
}

#[test]
fn words_after_a_pop_do_not_end_the_request() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: edit
        a3: pop:A "that was it"
    "#), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    "#);
}

#[test]
fn two_pops_in_one_step_close_both_frames() {
    let text = r#"
        u1: "build it"
        a1: push:A
        a2: push:B
        a3: pop:B pop:A push:C
    "#;
    assert_snapshot!(request(text), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    a3: push:C
    "#);
    let mut session = Session::read(text);
    session.span("A").fold = None;
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: push:A
    a2: push:B=<B returned>
    a3: pop:A push:C
    "#);
}

#[test]
fn push_and_pop_in_one_step_leave_the_push() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: think push:A read pop:A
        a2: think "done"
    "#), @r#"
    u1: "build it"
    a1: think push:A=<A returned>
    a2: "done"
    "#);
}

#[test]
fn a_step_may_pop_push_and_pop_again() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: think pop:A push:B pop:B push:C
        a3: pop:C
    "#), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    a2: push:B=<B returned> push:C=<C returned>
    "#);
}

#[test]
fn calls_of_one_step_may_be_carried_out_in_another_order() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: push:B pop:A
        a3: edit
        a4: pop:B
    "#), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    a2: push:B=<B returned>
    "#);
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: push:B pop:A
        a3: edit
    "#), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    a2: push:B
    a3: edit
    "#);
}

#[test]
fn a_pop_may_be_written_in_front_of_its_push() {
    let mut session = Session::read("u1: \"x\"\na1: push:A pop:A\na2: push:B\na3: pop:B");
    session.transcript[1].parts.swap(0, 1);
    assert_snapshot!(session.request(), @r#"
    u1: "x"
    a1: push:A=<A returned>
    a2: push:B=<B returned>
    "#);
}

#[test]
fn of_frames_pushed_in_one_step_each_takes_the_calls_after_it() {
    let text = r#"
        u1: "build it"
        a1: think push:A push:B read
        a2: edit
        a3: pop:B
        a4: edit
    "#;
    let mut session = Session::read(text);
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: think push:A push:B=<B returned>
    a4: edit
    "#);
    session.extend("a5: pop:A");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: think push:A=<A returned>
    "#);
    assert_eq!(session.effects(), "A* / B");
}

#[test]
fn calls_after_a_push_leave_with_its_frame_and_calls_before_it_stay() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: think "first" read push:A grep? write!
        a2: edit
        a3: pop:A
    "#), @r#"
    u1: "build it"
    a1: think "first" read push:A=<A returned>
    "#);
}

#[test]
fn an_unfinished_call_after_a_pop_stays() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: think pop:A read?
    "#), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    a2: read?
    "#);
}

#[test]
fn a_blocked_frame_that_is_taken_up_again_folds_twice() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: edit
        a3: pop:A
        a4: ask
        a5: take:A2
        a6: edit
        a7: pop:A2
        a8: "done"
    "#), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    a4: ask
    a5: take:A2=<A2 returned>
    a8: "done"
    "#);
}

#[test]
fn a_call_without_result_is_no_anchor() {
    for text in [
        "u1: \"x\"\na1: push:A!\na2: edit\na3: pop:A",
        "u1: \"x\"\na1: push:A?\na2: edit\na3: pop:A",
        "u1: \"x\"\na1: push:A\na2: edit\na3: pop:A!",
        "u1: \"x\"\na1: push:A\na2: edit\na3: pop:A?",
    ] {
        assert_eq!(Session::read(text).fold(), super::Folded::default(), "{text}");
    }
}

#[test]
fn an_anchor_that_is_gone_folds_nothing() {
    for text in [
        "u1: \"x\"\n- a1: push:A\na2: edit\na3: pop:A",
        "u1: \"x\"\na1: push:A\na2: edit\n- a3: pop:A",
        "u1: \"x\"\n- a1: push:A\na2: edit\n- a3: pop:A",
    ] {
        assert_eq!(Session::read(text).fold(), super::Folded::default(), "{text}");
    }
    let mut session = Session::read("u1: \"x\"\na1: push:A\na2: pop:A");
    session.span("A").open.call = Some("another".to_owned());
    assert_eq!(session.fold(), super::Folded::default());
    session.span("A").open.message = None;
    assert_eq!(session.fold(), super::Folded::default());
}

#[test]
fn a_span_that_ends_before_it_begins_folds_nothing() {
    let mut session = Session::read("u1: \"x\"\na1: push:A\na2: read\na3: pop:A");
    let span = session.span("A");
    let (open, close) = (span.open.clone(), span.close.clone().unwrap());
    span.open = close;
    span.close = Some(open);
    assert_eq!(session.fold(), super::Folded::default());
}

#[test]
fn of_two_spans_that_overlap_the_first_is_folded() {
    let mut session = Session::read(
        r#"
        u1: "x"
        a1: push:A
        a2: push:B
        a3: pop:A
        a4: edit
        a5: pop:B
    "#,
    );
    assert_snapshot!(session.request(), @r#"
    u1: "x"
    a1: push:A=<A returned>
    a4: edit
    a5: pop:B
    "#);
    session.span("A").fold = None;
    assert_snapshot!(session.request(), @r#"
    u1: "x"
    a1: push:A
    a2: push:B=<B returned>
    "#);
}

#[test]
fn reasoning_from_after_the_unfolded_span_is_not_sent_again() {
    let mut session = Session::read(
        r#"
        u1: "build it"
        a1: think push:A
        a2: think edit
        a3: think pop:A
        a4: think read
        a5: think
        a6: think edit
    "#,
    );
    session.settle("A", "a5");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: think push:A=<A returned>
    a4: read
    a6: think edit
    "#);
    assert_eq!(session.effects(), "A /");

    session.settle("A", "a3");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: think push:A=<A returned>
    a4: think read
    a5: think
    a6: think edit
    "#);

    session.settle("A", "taken back");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: think push:A=<A returned>
    a4: read
    a6: edit
    "#);
    assert_eq!(session.effects(), "A* /");
}

#[test]
fn an_earlier_fold_that_comes_later_takes_the_reasoning_after_it() {
    let mut session = Session::read(
        r#"
        u1: "build it"
        a1: think push:A
        a2: think pop:A
        a3: think push:B
        a4: think pop:B
        a5: think edit
    "#,
    );
    session.settle("B", "a4");
    session.span("A").fold.as_mut().unwrap().settled_at = None;
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: think push:A=<A returned>
    a3: push:B=<B returned>
    a5: edit
    "#);
    assert_eq!(session.effects(), "A* B /");
}

#[test]
fn a_fold_may_wait_until_the_user_speaks_again() {
    let mut session = Session::read(
        r#"
        u1: "build it"
        a1: think push:A
        a2: think edit
        a3: think pop:A push:B
        a4: think edit
    "#,
    );
    session.reasoning = ReasoningPolicy::Wait;
    assert_eq!(session.fold(), super::Folded::default());

    session.extend("a5: \"how far?\"\nu2: ~\"the host\"");
    assert_eq!(session.fold(), super::Folded::default());

    session.extend("u3: \"all of it\"");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: think push:A=<A returned> push:B
    a4: edit
    a5: "how far?"
    u2: ~"the host"
    u3: "all of it"
    "#);
}

#[test]
fn nothing_waits_where_no_reasoning_is_lost_or_the_fold_was_sent() {
    let simple = "u1: \"x\"\na1: think push:A\na2: think pop:A";
    let unreasoned = "u1: \"x\"\na1: think push:A\na2: pop:A push:B";
    let one_step = "u1: \"x\"\na1: think push:A pop:A read";
    for text in [simple, unreasoned, one_step] {
        let mut session = Session::read(text);
        session.reasoning = ReasoningPolicy::Wait;
        assert_eq!(session.effects(), "A* /", "{text}");
    }
    let mut sent = Session::read("u1: \"x\"\na1: think push:A\na2: think pop:A push:B");
    sent.reasoning = ReasoningPolicy::Wait;
    sent.settle("A", "a2");
    assert_eq!(sent.effects(), "A /");
}
