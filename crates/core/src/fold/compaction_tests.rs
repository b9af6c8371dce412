//! Sessions that the host has compacted.

use insta::assert_snapshot;

use super::testing::notation::{Session, request};

#[test]
fn a_compaction_in_an_open_frame_folds_what_is_left_after_the_summary() {
    assert_snapshot!(request(r#"
        - u1: "build it"
        - a1: push:A
        - a2: edit
        c1: "compact"
        s1: think "so far"
        u2: ~"continue"
        a3: think edit
        a4: think pop:A
        a5: think "done"
    "#), @r#"
    c1: "compact"
    s1: "so far"
    ours:s1: +<A returned>
    a5: "done"
    "#);
}

#[test]
fn after_a_compaction_the_users_words_stay() {
    assert_snapshot!(request(r#"
        - u1: "build it"
        - a1: push:A
        c1: "compact"
        s1: "so far"
        a2: edit
        a3: "which?"
        u2: "this"
        a4: pop:A push:B
    "#), @r#"
    c1: "compact"
    s1: "so far"
    a3: "which?"
    u2: "this" +<A returned>
    a4: push:B
    "#);
}

#[test]
fn a_tail_that_begins_inside_a_finished_span() {
    let text = r#"
        - u1: "build it"
        - a1: push:A
        - a2: push:B
        c1: "compact"
        s1: "so far"
        a3: edit
        a4: pop:B
        a5: edit
        a6: pop:A
        a7: push:C
        a8: pop:C
        a9: "done"
    "#;
    assert_snapshot!(request(text), @r#"
    c1: "compact"
    s1: "so far"
    ours:s1: +<A returned>
    a7: push:C=<C returned>
    a9: "done"
    "#);
    assert_eq!(Session::read(text).effects(), "A* C* / B");
}

#[test]
fn an_inner_frame_with_a_hidden_push_folds_while_the_outer_one_is_open() {
    assert_snapshot!(request(r#"
        - a1: push:A
        - a2: push:B
        c1: "compact"
        s1: "so far"
        a3: edit
        a4: pop:B
        a5: edit
    "#), @r#"
    c1: "compact"
    s1: "so far"
    ours:s1: +<B returned>
    a5: edit
    "#);
}

#[test]
fn a_frame_that_is_hidden_as_a_whole_is_forgotten() {
    let text = r#"
        - u1: "build it"
        - a1: push:A
        - a2: pop:A
        c1: "compact"
        s1: "so far"
        u2: "go on"
    "#;
    assert_eq!(Session::read(text).fold(), super::Folded::default());
}

#[test]
fn an_open_frame_with_a_hidden_push_is_left_alone() {
    let text = r#"
        - a1: push:A
        c1: "compact"
        s1: "so far"
        a2: edit
    "#;
    assert_eq!(Session::read(text).fold(), super::Folded::default());
}

#[test]
fn frames_after_a_compaction_fold_as_ever() {
    assert_snapshot!(request(r#"
        c1: "compact"
        s1: "so far"
        u1: "build it"
        a1: push:A
        a2: edit
        a3: pop:A
        a4: "built"
    "#), @r#"
    c1: "compact"
    s1: "so far"
    u1: "build it"
    a1: push:A=<A returned>
    a4: "built"
    "#);
}

#[test]
fn a_frame_from_outside_whose_beginning_is_hidden() {
    assert_snapshot!(request(r#"
        - u1: "build it"
        - a0: "yes"
        [open A]
        c1: "compact"
        s1: "so far"
        a1: edit
        a2: "built"
        [close A]
        u2: "thanks"
    "#), @r#"
    c1: "compact"
    s1: "so far"
    a2: "built"
    u2: "thanks" +<A returned>
    "#);
}

#[test]
fn a_pushed_frame_closed_from_outside_whose_push_is_hidden() {
    assert_snapshot!(request(r#"
        - a0: push:A
        c1: "compact"
        s1: "so far"
        u1: ~"continue"
        a1: edit
        a2: "built"
        [close A]
        u2: "thanks"
    "#), @r#"
    c1: "compact"
    s1: "so far"
    ours:s1: +<A returned>
    a2: "built"
    u2: "thanks"
    "#);
}

#[test]
fn a_compaction_between_push_and_pop_goes_where_the_host_still_shows_both() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        c1: "compact"
        s1: "so far"
        a2: edit
        a3: pop:A
    "#), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    "#);
}

#[test]
fn the_request_for_a_compaction_is_no_turn_of_the_user() {
    assert_snapshot!(request(r#"
        u1: "build it"
        [open A]
        a1: edit
        a2: "built"
        [close A]
        a3: push:B
        a4: edit
        a5: pop:B
        c1: "compact"
    "#), @r#"
    u1: "build it"
    a1: edit
    a2: "built"
    a3: push:B=<B returned>
    c1: "compact"
    "#);
}

#[test]
fn reasoning_of_the_tail_that_a_host_keeps_is_not_sent_after_its_summary() {
    let mut session = Session::read(
        r#"
        c1: "compact"
        s1: think "so far"
        a1: think edit
        a2: think test
        a3: think "built"
    "#,
    );
    session.stale_until = Some("a2".to_owned());
    assert_snapshot!(session.request(), @r#"
    c1: "compact"
    s1: "so far"
    a1: edit
    a2: test
    a3: think "built"
    "#);
}

#[test]
fn reasoning_of_a_step_whose_request_went_out_without_us_is_not_sent() {
    let mut session = Session::read(
        r#"
        u1: "go"
        a1: think edit
        a2: think test
        a3: think "done"
    "#,
    );
    session.stale = vec!["a2".to_owned()];
    assert_snapshot!(session.request(), @r#"
    u1: "go"
    a1: think edit
    a2: test
    a3: think "done"
    "#);
}

#[test]
fn a_note_shares_the_message_of_ours_after_the_summary() {
    assert_snapshot!(request(r#"
        - a0: push:A
        c1: "compact"
        s1: "so far"
        [insert s1 <a note>]
        a1: edit
        a2: pop:A
    "#), @r#"
    c1: "compact"
    s1: "so far"
    ours:s1: +<A returned>⏎⏎<a note>
    "#);
}
