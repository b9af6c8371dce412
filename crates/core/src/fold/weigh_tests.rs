//! Finished spans that are worth their folds, and others.

use super::testing::notation::Session;
use proptest::prelude::*;

use super::{RECENT, Weighed, weigh};
use crate::cost::{CACHED, NEW, tolerated};
use crate::masking::outputs::Weight;
use crate::text::estimate_tokens;
use crate::transcript::{ADDITIONS_LEAVE, Fold, Held, Outcome, SpanNum, SpanOrigin};

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
    let held = weighed(&session, &tokens, true);
    assert!(matches!(held[..], [(_, Some(Held::Light { stands: 300.., .. }))]), "{held:?}");
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
#[test]
fn what_the_host_added_to_the_message_of_a_turn_is_weighed_with_it() {
    let said = format!("u1: \"build it\" ~\"{}\"", "skill ".repeat(6_000));
    let text = TURN.replace("u1: \"build it\"", &said) + "u2: \"thanks\"";
    let mut session = ended(&text, &["A"]);
    let tokens = [9_000, 10, 5, 10];
    let before = weighed(&session, &tokens, true);
    assert!(matches!(before[..], [(_, Some(Held::Light { span: 15, .. }))]), "{before:?}");
    session.span("A").fold.as_mut().unwrap().renderer = ADDITIONS_LEAVE;
    assert_eq!(weighed(&session, &tokens, true), [(SpanNum(1), None)]);
}

#[test]
fn a_turn_that_changed_files_last_waits_for_the_end_of_the_next_turn() {
    let mut session = ended(TURN, &["A"]);
    session.span("A").fold = Some(Fold::recent(TEXT.to_owned(), 1));
    session.extend("u2: \"thanks\"");
    assert_eq!(weighed(&session, &[10, 900, 10, 10], true), [], "the next turn may need it");
    assert_eq!(weighed(&session, &[10, 900, 10, 10], false), [], "after a pause, too");
    let large = weighed(&session, &[10, 9_000, 10, 10], true);
    assert_eq!(large, [(SpanNum(1), None)], "it is dearer than to read again");
    session.extend("a3: look\na4: \"that is it\"");
    assert_eq!(weighed(&session, &[10, 900, 10, 10, 10, 10], true), []);
    session.extend("u3: \"fine\"");
    let over = [10, 900, 10, 10, 10, 10, 10];
    assert_eq!(weighed(&session, &over, true), [(SpanNum(1), None)]);
    let much_after = weighed(&session, &[10, 900, 10, 10, 9_000, 10, 10], true);
    assert!(matches!(much_after[..], [(_, Some(Held::Light { .. }))]), "{much_after:?}");
}

/// A turn of the model: its tokens, whether its last calls changed files, and whether it ended by itself.
#[derive(Clone, Copy, Debug)]
struct Turn {
    tokens: usize,
    is_recent: bool,
    is_framed: bool,
}

fn turn() -> impl Strategy<Value = Turn> {
    let tokens = prop_oneof![10_usize..300, 300_usize..12_000];
    (tokens, any::<bool>(), any::<bool>()).prop_map(|(tokens, is_recent, is_framed)| Turn {
        tokens,
        is_recent,
        is_framed,
    })
}

/// Tokens of a reply, and of what the user says.
const SAID: usize = 10;

/// Returns the verdicts by the documented rules, for a session of turns of three messages each and the user's next
/// words.
fn model(turns: &[Turn], is_cached: bool) -> Vec<(u64, bool)> {
    let stands = estimate_tokens(TEXT);
    let is_due = |(place, turn): (usize, &Turn)| {
        let is_last = place + 1 == turns.len();
        let waits = turn.is_recent && is_last && turn.tokens + SAID <= RECENT;
        turn.is_framed && !waits
    };
    let due: Vec<bool> = turns.iter().enumerate().map(is_due).collect();
    // Everything in front of the last reply was in the last request.
    let request: usize = turns.iter().map(|turn| turn.tokens + 2 * SAID).sum::<usize>() - SAID;
    let mut verdicts = Vec::new();
    let mut num = 0;
    for (place, turn) in turns.iter().enumerate() {
        num += u64::from(turn.is_framed);
        if !due[place] {
            continue;
        }
        let mut after = 0;
        for (other, turn) in turns.iter().enumerate().skip(place + 1) {
            after += SAID;
            if !due[other] {
                after += turn.tokens + SAID;
            }
        }
        if after > 0 && !due[turns.len() - 1] {
            after -= SAID;
        }
        let span = turn.tokens + SAID;
        let whole = span * if is_cached { CACHED } else { NEW };
        let resent = if is_cached { after * (NEW - CACHED) } else { 0 };
        let most = whole + tolerated(request, 2 * turns.len());
        verdicts.push((num, stands < span && stands * NEW + resent <= most));
    }
    verdicts
}

proptest! {
    #[test]
    fn turns_are_weighed_as_the_rules_say(turns in proptest::collection::vec(turn(), 1..5), is_cached: bool) {
        let mut text = String::new();
        let mut tokens = Vec::new();
        let names = ["A", "B", "C", "D"];
        for (place, (turn, name)) in turns.iter().zip(names).enumerate() {
            let (open, close) = if turn.is_framed {
                (format!("[open {name}]\n"), format!("[close {name}]\n"))
            } else {
                (String::new(), String::new())
            };
            let (edit, reply) = (2 * place + 1, 2 * place + 2);
            let script = format!("u{place}: \"go on\"\n{open}a{edit}: edit\na{reply}: \"built\"\n{close}");
            text.push_str(&script);
            tokens.extend([SAID, turn.tokens, SAID]);
        }
        text += "u9: \"thanks\"";
        tokens.push(SAID);
        let framed: Vec<&str> =
            names.into_iter().zip(&turns).filter(|(_, turn)| turn.is_framed).map(|(name, _)| name).collect();
        let mut session = ended(&text, &framed);
        for (name, turn) in names.into_iter().zip(&turns).filter(|(_, turn)| turn.is_framed && turn.is_recent) {
            prop_assert!(turn.is_recent);
            session.span(name).fold = Some(Fold::recent(TEXT.to_owned(), 1));
        }
        let verdicts: Vec<(u64, bool)> = weighed(&session, &tokens, is_cached)
            .into_iter()
            .map(|(num, held)| (num.0, held.is_none()))
            .collect();
        prop_assert_eq!(verdicts, model(&turns, is_cached));
    }
}
