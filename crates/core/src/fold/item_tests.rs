//! Todo items that their list says are over.

use insta::assert_snapshot;

use super::ReasoningPolicy;
use super::testing::notation::{Session, request};

#[test]
fn an_item_returns_to_the_call_that_took_it_up_as_soon_as_it_is_over() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: think "first" list:A
        a2: think edit
        a3: think "half" edit
        a4: think "now the tests" list:/A+B
        a5: think test
    "#), @r#"
    u1: "build it"
    a1: think "first" list:A=<A returned>
    a4: "now the tests" list:/A+B
    a5: test
    "#);
}

#[test]
fn items_return_one_after_the_other() {
    let mut session = Session::read(
        r#"
        u1: "build it"
        a1: list:A
        a2: edit
        a3: list:/A+B
    "#,
    );
    let first = session.fold().ops;
    session.settle("A", "a3");
    session.extend("a4: think test\na5: list:/B");
    let both = session.fold().ops;
    assert_eq!(both[..first.len()], first, "what was sent stays");
    session.extend("a6: \"built\"\nu2: \"thanks\"");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: list:A=<A returned>
    a3: list:/A+B=<B returned>
    a5: list:/B
    a6: "built"
    u2: "thanks"
    "#);
}

#[test]
fn the_users_words_in_an_item_stay() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: list:A
        a2: edit
        a3: "which?"
        u2: "this"
        a4: edit
        a5: list:/A
    "#), @r#"
    u1: "build it"
    a1: list:A=(see below)
    a3: "which?"
    u2: "this" +<A returned>
    a5: list:/A
    "#);
}

#[test]
fn an_item_goes_with_the_frame_around_it() {
    let mut session = Session::read(
        r#"
        u1: "build it"
        [open T]
        a1: list:A
        a2: edit
        a3: list:/A
        a4: "built"
    "#,
    );
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: list:A=<A returned>
    a3: list:/A
    a4: "built"
    "#);
    session.extend("[close T]\nu2: \"thanks\"");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a4: "built"
    u2: "thanks" +<T returned>
    "#);
    assert_eq!(session.effects(), "T* / A");
}

#[test]
fn a_list_that_shows_its_reasoning_waits_if_that_is_wanted() {
    let text = "u1: \"x\"\na1: list:A\na2: edit\na3: think list:/A\na4: edit";
    let mut session = Session::read(text);
    session.reasoning = ReasoningPolicy::Wait;
    assert_eq!(session.fold(), super::Folded::default());
    session.extend("u2: \"y\"");
    assert_eq!(session.effects(), "A* /");
}

#[test]
fn an_item_without_work_returns_all_the_same() {
    assert_snapshot!(request("u1: \"x\"\na1: list:A\na2: list:/A\na3: edit"), @r#"
    u1: "x"
    a1: list:A=<A returned>
    a2: list:/A
    a3: edit
    "#);
}

#[test]
fn masked_results_are_lines_and_what_was_reasoned_after_them_goes() {
    let mut session = Session::read(
        r#"
        u1: "build it"
        a1: think read read
        a2: think edit
        [mask a1.1 <read once>]
    "#,
    );
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: think read=<read once> read
    a2: edit
    "#);
    session.masks[0].settled_at = Some("a2".to_owned());
    session.extend("a3: think edit");
    assert_snapshot!(session.request(), @r#"
    u1: "build it"
    a1: think read=<read once> read
    a2: edit
    a3: think edit
    "#);
}

#[test]
fn a_mask_goes_with_the_work_around_it_and_leaves_other_results_alone() {
    assert_snapshot!(request(r#"
        u1: "build it"
        a1: push:A
        a2: read
        [mask a2.0 <read once>]
        [mask a1.0 <not this>]
        [mask a9.0 <nor this>]
        a3: pop:A
    "#), @r#"
    u1: "build it"
    a1: push:A=<A returned>
    "#);
}
