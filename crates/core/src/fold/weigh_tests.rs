//! Which finished spans are worth their folds.

use super::testing::notation::Session;
use super::{Weighed, weigh};
use crate::masking::outputs::Weight;
use crate::transcript::{Fold, Held, Outcome, SpanNum, SpanOrigin};

const TEXT: &str =
    "What stands for the work of a turn or of an item that somebody has finished by now.";

/// A session whose spans ended by themselves.
fn ended(text: &str, names: &[&str]) -> Session {
    let mut session = Session::read(text);
    for name in names {
        let span = session.span(name);
        if span.origin != SpanOrigin::Todo {
            span.origin = SpanOrigin::Turn;
        }
        span.fold = Some(Fold::unweighed(TEXT.to_owned(), 1));
    }
    session
}

/// Weighs a session whose messages have so many tokens each.
fn weighed(session: &Session, tokens: &[usize], is_cached: bool) -> Vec<Weighed> {
    let weight = |all: &usize| Weight { all: *all, results: Vec::new() };
    weigh(&session.input(), &tokens.iter().map(weight).collect::<Vec<_>>(), is_cached)
}

fn take_over(session: &mut Session, weighed: &[Weighed]) {
    for (num, held) in weighed {
        let span = session.spans.iter_mut().find(|span| span.num == *num).unwrap();
        span.fold.as_mut().unwrap().held = *held;
    }
}

const TURN: &str = r#"
    u1: "build it"
    [open A]
    a1: edit
    a2: "built"
    [close A]
"#;

#[test]
fn a_turn_is_weighed_when_the_user_speaks_again() {
    let mut session = ended(TURN, &["A"]);
    assert_eq!(weighed(&session, &[10, 9_000, 10], true), [], "nothing could be sent without it");
    session.extend("u2: \"thanks\"");
    assert_eq!(session.effects(), "/", "what is not weighed is not folded");
    let large = weighed(&session, &[10, 9_000, 10, 10], true);
    assert_eq!(large, [(SpanNum(1), None)]);
    let small = weighed(&session, &[10, 90, 10, 10], true);
    assert!(
        matches!(small[..], [(_, Some(Held::Light { span: 100, stands: 20..30 }))]),
        "{small:?}"
    );
    take_over(&mut session, &small);
    assert_eq!(session.effects(), "/");
    take_over(&mut session, &large);
    assert_eq!(session.effects(), "A* /");
}

#[test]
fn what_was_too_light_is_weighed_again_only_where_nothing_is_lost() {
    let mut session = ended(TURN, &["A"]);
    session.extend("u2: \"thanks\"");
    let tokens = [10, 90, 10, 10];
    let light = weighed(&session, &tokens, true);
    take_over(&mut session, &light);
    assert_eq!(weighed(&session, &tokens, true), []);
    assert_eq!(weighed(&session, &tokens, false), [(SpanNum(1), None)]);
    let shorter = [10, 9, 1, 10];
    assert_eq!(weighed(&session, &shorter, false), [], "what stands for it is longer than it");
}

#[test]
fn the_reply_that_stays_of_a_turn_weighs_against_it() {
    let mut session = ended(TURN, &["A"]);
    session.extend("u2: \"thanks\"");
    let tokens = [10, 900, 10, 10];
    assert_eq!(weighed(&session, &tokens, true), [(SpanNum(1), None)]);
    let results = "It is built, and this is told at length. ".repeat(40);
    session.span("A").outcome = Some(Outcome {
        results: Some(results),
        ..Outcome::without_results(crate::frame::Status::Completed)
    });
    let told = weighed(&session, &tokens, true);
    assert!(matches!(told[..], [(_, Some(Held::Light { stands: 300.., .. }))]), "{told:?}");
    session.span("A").origin = SpanOrigin::Todo;
    assert_eq!(weighed(&session, &tokens, true), [(SpanNum(1), None)], "an item has no reply");
}

#[test]
fn a_light_item_goes_with_the_turn_around_it() {
    let text = "u1: \"build it\"\n[open T]\na1: list:A\na2: edit\na3: list:/A";
    let mut session = ended(text, &["A"]);
    let [turn, item] = [session.span("T").num, session.span("A").num];
    let mut tokens = vec![10, 10, 90, 10];
    let light = weighed(&session, &tokens, true);
    assert!(matches!(light[..], [(num, Some(_))] if num == item), "{light:?}");
    take_over(&mut session, &light);
    session.extend("a4: edit\na5: \"built\"\n[close T]\nu2: \"thanks\"");
    tokens.extend([9_000, 10, 10]);
    let span = session.span("T");
    span.origin = SpanOrigin::Turn;
    span.fold = Some(Fold::unweighed(TEXT.to_owned(), 1));
    assert_eq!(session.effects(), "/");
    let due = weighed(&session, &tokens, true);
    assert_eq!(due, [(turn, None)]);
    take_over(&mut session, &due);
    assert_eq!(session.effects(), "T* / A");
}

#[test]
fn pushed_frames_are_not_weighed() {
    let session = Session::read("u1: \"x\"\na1: push:A\na2: pop:A\nu2: \"y\"");
    assert_eq!(weighed(&session, &[1, 1, 1, 1], true), []);
    assert_eq!(session.effects(), "A* /");
}
