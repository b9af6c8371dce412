use proptest::prelude::*;

use super::Heuristic::*;
use super::*;
use crate::dialect::Dialect;
use crate::frame::FrameNum;

fn sure(heuristic: Heuristic, signals: &Signals) -> u8 {
    read(heuristic, signals).confidence
}

#[test]
fn names_are_read_back() {
    for heuristic in Heuristic::ALL {
        assert_eq!(heuristic.as_str().parse(), Ok(heuristic));
    }
    assert_eq!(
        "moods".parse::<Heuristic>().unwrap_err().to_string(),
        "there is no heuristic `moods`"
    );
}

#[test]
fn nothing_is_seen_in_a_new_frame() {
    for heuristic in Heuristic::ALL {
        let reading = read(heuristic, &Signals::default());
        assert_eq!((reading.confidence, reading.reasons.len()), (0, 0), "{heuristic}");
    }
    for kind in [SuggestionKind::Push, SuggestionKind::Pop] {
        let judgement = judge(kind, &Heuristic::ALL, &Signals::default());
        assert_eq!((judgement.confidence, judgement.surest()), (0, None));
    }
}

/// The case of each heuristic: signals that cross the default threshold of 70, and signals that do not.
#[test]
fn each_heuristic_has_its_case() {
    let limit = Some(128_000);
    let failing =
        Signals { errors: 3, retries: 3, failing: Some("`make`".to_owned()), ..Signals::default() };
    let moved = Signals { divergence: 100, new_files: 2, new_folders: 1, ..Signals::default() };
    let large = Signals { messages: 100, files_changed: 3, ..Signals::default() };
    let long = Signals { tokens: 52_000, limit, ..Signals::default() };
    let met = Signals {
        successes: 1,
        files_changed: 2,
        coverage: 50,
        settled_steps: 3,
        ..Signals::default()
    };
    let stuck = Signals { idle_steps: 8, errors: 3, ..Signals::default() };
    let full = Signals { used: Some(90_000), limit, steps: 3, ..Signals::default() };
    let cases = [
        (FailureBoundary, failing.clone(), Signals { errors: 9, retries: 1, ..failing }),
        (ContextSwitch, moved.clone(), Signals { new_files: 0, new_folders: 0, ..moved }),
        (Complexity, large.clone(), Signals { messages: 60, ..large }),
        (Duration, long.clone(), Signals { tokens: 30_000, ..long }),
        (GoalCompletion, met.clone(), Signals { settled_steps: 0, ..met }),
        (Stagnation, stuck.clone(), Signals { errors: 0, ..stuck }),
        (ContextOverflow, full.clone(), Signals { used: Some(80_000), ..full }),
    ];
    for (heuristic, case, less) in cases {
        let (case, less) = (read(heuristic, &case), read(heuristic, &less));
        assert!(case.confidence >= 70 && !case.reasons.is_empty(), "{case:?}");
        assert!((1..70).contains(&less.confidence), "{less:?}");
    }
}

#[test]
fn a_frame_that_the_user_spoke_in_three_times_is_due() {
    let turns = |user_turns| sure(Stagnation, &Signals { user_turns, ..Signals::default() });
    assert_eq!([1, 2, 3, 4].map(turns), [25, 50, 75, 80]);
}

#[test]
fn the_surest_speaks_and_the_others_add_a_tenth() {
    let signals = Signals {
        errors: 3,
        retries: 3,
        messages: 80,
        files_changed: 3,
        tokens: 10_000,
        ..Signals::default()
    };
    let judgement = judge(SuggestionKind::Push, &Heuristic::ALL, &signals);
    let readings: Vec<_> =
        judgement.readings.iter().map(|it| (it.heuristic, it.confidence)).collect();
    assert_eq!(
        readings,
        [(FailureBoundary, 75), (Complexity, 60), (Duration, 8), (ContextSwitch, 0)]
    );
    assert_eq!(judgement.confidence, 81);
    let only = judge(SuggestionKind::Push, &[Duration, Stagnation], &signals);
    assert_eq!((only.confidence, only.readings.len()), (8, 1), "what is not enabled is not asked");
}

#[test]
fn a_text_says_what_to_do_and_why_on_one_line() {
    let frame = crate::frame::Frame::planned(
        FrameNum(4),
        "frm-4".to_owned(),
        Some(FrameNum(1)),
        1,
        crate::frame::Identity { title: "Fix\nit".to_owned(), ..Default::default() },
        0,
    );
    let suggestion = |heuristic, subject: Option<&str>| Suggestion {
        num: 1,
        session: "ses".to_owned(),
        frame: FrameNum(4),
        heuristic,
        confidence: 75,
        subject: subject.map(str::to_owned),
        reason: "because\n[callstack] frame f1 returned".to_owned(),
        created_at: 0,
        expires_at: LIFETIME,
    };
    for heuristic in Heuristic::ALL {
        let text = suggestion(heuristic, None).text(&frame, Dialect::Stack);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(
            text.starts_with("[callstack] f4 is open. [STACK SUGGESTION: Consider p"),
            "{text}"
        );
        assert!(text.ends_with(']') && !text.contains('%'), "{text}");
        assert!(text.contains(&format!("stack_frame_{}", heuristic.kind())), "{text}");
    }
    let text = suggestion(ContextSwitch, Some("refactor auth")).text(&frame, Dialect::Stack);
    assert!(
        text.contains("pushing a new frame for \"refactor auth\" (stack_frame_push) - Reason: ")
    );
    let text = suggestion(ContextOverflow, None).text(&frame, Dialect::Stack);
    assert!(text.contains("popping f4 \"Fix it\" soon"), "{text}");
    let other = suggestion(ContextOverflow, None).text(&frame, Dialect::Flame);
    assert!(other.contains("[FLAME SUGGESTION: ") && other.contains("flame_pop"), "{other}");
    assert!(!other.contains("stack_"), "{other}");
}

fn signals() -> impl Strategy<Value = Signals> {
    let counts = (0..200_u32, 0..60_u32, 0..8_u32, 0..200_000_u64, 0..12_u32, 0..8_u32);
    let more = (0..12_u32, 0..30_u32, 0..8_u32, 0..4_u32, 0..=100_u8, 0..=100_u8);
    let last = (0..3_u32, 0..6_u32, proptest::option::of(0..150_000_u64), 0..150_000_u64);
    (counts, more, last).prop_map(|(counts, more, last)| {
        let (messages, steps, user_turns, tokens, errors, retries) = counts;
        let (idle_steps, files_changed, new_files, new_folders, divergence, coverage) = more;
        let (successes, settled_steps, used, limit) = last;
        Signals {
            messages,
            steps,
            user_turns,
            tokens,
            errors,
            retries,
            idle_steps,
            files_changed,
            new_files,
            new_folders,
            divergence,
            coverage,
            successes,
            settled_steps,
            used,
            limit: Some(limit),
            ..Signals::default()
        }
    })
}

#[test]
fn what_an_agent_says_is_quoted_as_its_own_words() {
    let said = Signals::default().with(&Hints {
        errors: 2,
        files_changed: 2,
        successes: 2,
        idle_turns: 9,
        fill: Some(95),
        ..Hints::default()
    });
    for heuristic in [GoalCompletion, Stagnation, ContextOverflow] {
        let judged = judge(SuggestionKind::Pop, &[heuristic], &said);
        let reasons = &judged.readings[0].reasons;
        assert!(!reasons.is_empty(), "{heuristic}");
        for reason in reasons {
            assert!(reason.ends_with(", as you say"), "{heuristic}: {reason}");
        }
    }
    let full = judge(SuggestionKind::Pop, &[ContextOverflow], &said);
    assert_eq!(full.confidence, 95, "a frame without a step counts too where the agent says it");
    assert_eq!(full.readings[0].reason(), "the context is 95 % full, as you say");
}

#[test]
fn what_was_seen_is_not_put_into_an_agents_mouth() {
    let seen = Signals { idle_steps: 8, errors: 3, ..Signals::default() };
    let hints = Hints { errors: 1, idle_turns: 2, ..Hints::default() };
    let judged = judge(SuggestionKind::Pop, &[Stagnation], &seen.with(&hints));
    assert!(!judged.readings[0].reason().contains("as you say"), "{judged:?}");
}

proptest! {
    /// More evidence for a heuristic never makes it less sure, and more evidence against it never surer.
    #[test]
    fn more_of_it_is_never_less_sure(base in signals(), more in 1..9_u32) {
        let with = |change: &dyn Fn(&mut Signals)| {
            let mut changed = base.clone();
            change(&mut changed);
            changed
        };
        let errors = with(&|it| it.errors += more);
        let rises: [(Heuristic, Signals); 16] = [
            (FailureBoundary, errors.clone()),
            (FailureBoundary, with(&|it| it.retries += more)),
            (FailureBoundary, with(&|it| it.divergence = 100)),
            (ContextSwitch, with(&|it| it.divergence = 100)),
            (ContextSwitch, with(&|it| it.new_files += more)),
            (ContextSwitch, with(&|it| it.new_folders += more)),
            (Complexity, with(&|it| it.messages += more)),
            (Complexity, with(&|it| it.files_changed += more)),
            (Duration, with(&|it| it.tokens += u64::from(more) * 1000)),
            (GoalCompletion, with(&|it| it.successes += more)),
            (GoalCompletion, with(&|it| it.files_changed += more)),
            (GoalCompletion, with(&|it| it.settled_steps += more)),
            (Stagnation, errors.clone()),
            (Stagnation, with(&|it| it.idle_steps += more)),
            (Stagnation, with(&|it| it.user_turns += more)),
            (ContextOverflow, with(&|it| it.used = it.used.map(|used| used + u64::from(more) * 999))),
        ];
        for (heuristic, changed) in rises {
            let (before, after) = (sure(heuristic, &base), sure(heuristic, &changed));
            prop_assert!(before <= after, "{heuristic}: {before} → {after}");
            prop_assert!(after <= 100);
            let of = |it| judge(heuristic.kind(), &[heuristic], it).confidence;
            prop_assert_eq!(of(&changed), after);
        }
        prop_assert!(sure(GoalCompletion, &errors) <= sure(GoalCompletion, &base));
    }

    /// One more enabled heuristic never makes all together less sure.
    #[test]
    fn more_heuristics_are_never_less_sure(base in signals(), without in 0..7_usize) {
        let mut fewer = Heuristic::ALL.to_vec();
        let kind = fewer.remove(without).kind();
        let (few, all) = (judge(kind, &fewer, &base), judge(kind, &Heuristic::ALL, &base));
        prop_assert!(few.confidence <= all.confidence, "{few:?} {all:?}");
    }

    /// Hints of an agent never lower a reading.
    #[test]
    fn hints_only_add(base in signals(), said in signals(), retry_boundary: bool) {
        let hints = Hints {
            errors: said.errors,
            retry_boundary,
            divergence: said.divergence,
            topic: None,
            messages: said.messages,
            files_changed: said.files_changed,
            tokens: said.tokens,
            successes: said.successes,
            idle_turns: said.idle_steps,
            fill: Some(said.divergence),
        };
        let raised = base.with(&hints);
        prop_assert_eq!(&base.with(&Hints::default()), &base);
        for heuristic in Heuristic::ALL.into_iter().filter(|it| *it != GoalCompletion) {
            let (before, after) = (sure(heuristic, &base), sure(heuristic, &raised));
            prop_assert!(before <= after, "{heuristic}: {before} → {after}");
        }
    }
}
