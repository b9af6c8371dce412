use proptest::prelude::*;

use super::*;

fn step(doing: Doing, chars: usize) -> Step {
    let tokens = chars / 4;
    Step { doing: Some(doing), begins: false, may_be_first: true, tokens, chars }
}

#[test]
fn names_are_read_back() {
    assert_eq!(number_of(&name_of(14)), Some(14));
    assert_eq!(number_of(" S3 "), Some(3));
    for wrong in ["", "s", "14", "f14", "s-1", "s+1", "s1x", "s99999999999999999999999"] {
        assert_eq!(number_of(wrong), None, "{wrong}");
    }
}

#[test]
fn calls_that_look_are_distinguished_from_those_that_try() {
    let of = |tools: &[&'static str]| Doing::of(tools.iter().copied());
    assert_eq!(of(&["read", "grep"]), Some(Doing::Looking));
    assert_eq!(of(&["read", "bash"]), Some(Doing::Trying));
    assert_eq!(of(&["stack_frame_push", "read"]), Some(Doing::Looking));
    assert_eq!(of(&["todowrite", "stack_status"]), None);
}

#[test]
fn a_run_is_named_from_where_it_begins() {
    let mut steps = vec![step(Doing::Trying, 3_000); 4];
    steps.extend([step(Doing::Looking, 8_000); 3]);
    assert_eq!(
        steps_to_name(&steps, 0, 9_000, 8),
        Some(4),
        "what was tried before is not part of it"
    );
    assert_eq!(steps_to_name(&steps, 0, 9_000, 2), None, "the turn has only begun");
    assert_eq!(steps_to_name(&steps, 0, 90_000, 8), None, "a call of its own costs more");
    steps.pop();
    assert_eq!(steps_to_name(&steps, 0, 9_000, 8), Some(0), "the run alone is too short");
    steps[0].may_be_first = false;
    assert_eq!(steps_to_name(&steps, 0, 9_000, 9), Some(1), "the next one begins them");
}

#[test]
fn a_run_that_has_a_name_goes_on_without_another_one() {
    let mut steps = vec![step(Doing::Looking, 9_000); 8];
    assert_eq!(steps_to_name(&steps, 0, 20_000, 9), Some(0));
    assert_eq!(steps_to_name(&steps, 3, 20_000, 9), None);
    steps[4].begins = true;
    assert_eq!(steps_to_name(&steps, 3, 20_000, 9), Some(4));
}

#[test]
fn a_step_that_can_not_be_the_first_leaves_its_place_to_the_next() {
    let mut steps = vec![step(Doing::Looking, 9_000); 5];
    steps[1] = Step { begins: true, may_be_first: false, ..steps[1] };
    assert_eq!(steps_to_name(&steps, 0, 11_000, 9), Some(2));
}

fn ran(command: &str) -> ToolCall {
    ToolCall { action: Action::Ran(command.to_owned()), ..ToolCall::default() }
}

#[test]
fn steps_are_named_by_their_first_call() {
    insta::assert_snapshot!(
        naming(14, &ran("python probe.py\n# again"), 9, 35_000, Dialect::Stack),
        @r#"[callstack] s14: the 9 calls from `python probe.py # again` on, before this answer, 35,000 characters. Once they are needed no more, now or in a later turn, stack_frame_pop with since "s14" takes all from there up to that pop out of your context, later steps and offers too. What you return stays, as do the user's words, your final answers, what frames returned, and calls after the pop."#
    );
    let read = ToolCall {
        tool: "read".to_owned(),
        action: Action::Read("src/`a`.rs".to_owned()),
        ..ToolCall::default()
    };
    insta::assert_snapshot!(
        naming(3, &read, 1, 1_234_567, Dialect::Flame),
        @r#"[callstack] s3: the call `read src/'a'.rs` before this answer, 1,234,567 characters. Once they are needed no more, now or in a later turn, flame_pop with since "s3" takes all from there up to that pop out of your context, later steps and offers too. What you return stays, as do the user's words, your final answers, what frames returned, and calls after the pop."#
    );
}

#[test]
fn steps_whose_files_were_changed_are_offered_with_their_names() {
    let (changed, one) = (["a.rs", "b.rs"], ["a.rs"]);
    insta::assert_snapshot!(overtaken(14, &changed, 3, Dialect::Stack), @r#"[callstack] s14 again: 2 of the 3 files read there were changed since (a.rs, b.rs). stack_frame_pop with since "s14" takes all from there up to that pop out of your context."#);
    insta::assert_snapshot!(overtaken(2, &one, 1, Dialect::Flame), @r#"[callstack] s2 again: the file read there was changed since (a.rs). flame_pop with since "s2" takes all from there up to that pop out of your context."#);
    let many: Vec<String> = (0..9).map(|it| format!("{it}.rs")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let text = overtaken(2, &many, 9, Dialect::Stack);
    assert!(text.starts_with(&overtaken_mark(2)) && text.contains("5.rs and 3 more)"), "{text}");
}

#[test]
fn closed_calls_are_described_by_the_first_and_the_last() {
    let calls = [ran("ls"), ran("make"), ran(&"long ".repeat(40))];
    let closed = ClosedCalls::of(calls.iter()).unwrap();
    assert_eq!((closed.count, closed.first.as_str()), (3, "ls"));
    assert!(closed.last.len() <= LONGEST_CALL + '…'.len_utf8() && closed.last.ends_with('…'));
    assert_eq!(ClosedCalls::of([].iter()), None);
}

fn any_step() -> impl Strategy<Value = Step> {
    let doing = prop_oneof![Just(None), Just(Some(Doing::Looking)), Just(Some(Doing::Trying))];
    (doing, any::<bool>(), any::<bool>(), 0_usize..9_000, 0_usize..30_000).prop_map(
        |(doing, begins, may_be_first, tokens, chars)| Step {
            doing,
            begins,
            may_be_first,
            tokens,
            chars,
        },
    )
}

proptest! {
    #[test]
    fn what_is_named_is_large_pays_and_begins_last(
        steps in prop::collection::vec(any_step(), 0..30),
        unnamed in 0_usize..10,
        request in 0_usize..100_000,
        calls in 0_usize..60,
    ) {
        let named = steps_to_name(&steps, unnamed, request, calls);
        prop_assert!(named.is_none_or(|at| at >= unnamed));
        let is_named = |at: usize| {
            let chars: usize = steps[at..].iter().map(|it| it.chars).sum();
            let tokens: usize = steps[at..].iter().map(|it| it.tokens).sum();
            chars >= ONE_FOR_EACH && pays_to_close(&Closing { steps: tokens, request, calls })
        };
        if let Some(at) = named {
            prop_assert!(steps[at].may_be_first && is_named(at));
            // A step that goes on with the run in front of it, which could begin itself, is no beginning.
            if at > 0 && steps[at - 1].may_be_first && !steps[at].begins {
                let before = steps[..at].iter().rev().find_map(|it| it.doing);
                prop_assert!(steps[at].doing.is_some() && steps[at].doing != before);
            }
        }
        for (at, step) in steps.iter().enumerate().skip(named.map_or(unnamed, |at| at + 1)) {
            prop_assert!(!(step.begins && step.may_be_first && is_named(at)), "a later one is passed");
        }
        prop_assert_eq!(steps_to_name(&steps, 0, request, 0), None);
    }
}
