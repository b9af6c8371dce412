use proptest::prelude::*;

use super::tests::{NOW, artifact, frame, pin, well_formed};
use super::*;
use crate::frame::Status;
use crate::text::estimate_tokens;

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,40}",
        "\\PC{0,60}",
        "[a-zA-Z0-9+/]{0,300}",
        "[&<>\"' \\n]{0,80}",
        ("[a-z]{1,9} ", 0_usize..600).prop_map(|(word, times)| word.repeat(times)),
    ]
}

fn any_frame() -> impl Strategy<Value = Frame> {
    let texts = (words(), words(), words(), proptest::option::of(words()));
    let lists =
        (proptest::collection::vec(words(), 0..4), proptest::collection::vec(words(), 0..4));
    (2_u64..90, 0_usize..6, texts, lists, any::<bool>()).prop_map(
        |(
            num,
            status,
            (title, criteria, compacted, results),
            (artifacts, decisions),
            has_compacted,
        )| {
            let mut made = frame(num, Some(1), Status::ALL[status], &title, &criteria);
            made.identity.success_criteria_compacted = compacted;
            made.results_compacted = results.clone().filter(|_| has_compacted);
            made.results = results;
            made.artifacts = artifacts.iter().map(|path| artifact(path)).collect();
            made.decisions = decisions;
            made
        },
    )
}

fn frames(most: usize) -> impl Strategy<Value = Vec<Frame>> {
    proptest::collection::vec(any_frame(), 0..=most)
}

proptest! {
    #[test]
    fn budgets_hold_for_any_frames(
        (current, ancestors, siblings, planned) in (any_frame(), frames(5), frames(8), frames(4)),
        pin_texts in proptest::collection::vec(words(), 0..2),
        (total, section, calibration) in (1_usize..5000, 60_usize..2000, 0.3_f64..3.0),
        (full, new_session) in (any::<bool>(), any::<bool>()),
        above in 0_u64..90,
    ) {
        let pins: Vec<_> = pin_texts.iter().map(|text| pin(1, text)).collect();
        let above: BTreeSet<_> = (0..above).map(FrameNum).collect();
        let budget = TokenBudget {
            total, ancestors: section, siblings: section, current: section, overhead: 0,
        };
        let out = render(&ContextInput {
            ancestors: &ancestors,
            siblings: &siblings,
            planned_children: &planned,
            pins: &pins,
            visible_above: &above,
            new_session,
            budget,
            calibration,
            min_relevance: 0,
            parts: if full { Parts::full() } else { Parts::for_push() },
            ..ContextInput::new("ses_1", &current, NOW)
        });
        well_formed(&out.text);
        let tokens = &out.metadata.tokens;
        let real = (estimate_tokens(&out.text) as f64 * calibration).ceil();
        let is_estimate = (tokens.total as f64 - real).abs() < 0.5;
        prop_assert!(is_estimate || out.text.is_empty(), "{} {real}", tokens.total);
        prop_assert!(tokens.total <= total || !pins.is_empty());
        prop_assert_eq!(out.metadata.over_budget, tokens.total > total);
        if out.metadata.over_budget {
            prop_assert!(!out.text.contains("<frame "), "only pins may be too much");
        }
        // The line with the number of omissions may exceed the section's budget.
        let notice = budget::Calibration::new(calibration).tokens(1600);
        for tokens in [tokens.ancestors, tokens.siblings] {
            prop_assert!(tokens <= section.max(notice));
        }
        prop_assert!(tokens.current <= section);
        prop_assert!(tokens.current + tokens.planned_children <= section + notice);
        let seen = out.metadata.ancestors.len() + out.metadata.ancestors_omitted;
        prop_assert_eq!(seen, ancestors.len());
    }
}
