//! Figures of requests, on sessions that a reader can count by hand.

use super::*;

fn saving(messages: &[Weighed], left: &[Left], factor: f64) -> Saving {
    sum(&compared(messages, left, &vec![factor; messages.len()]))
}

#[test]
fn the_providers_count_of_a_token_is_learnt_and_does_not_change_what_was_said_before() {
    let mut messages = vec![said(1_000), answer(100, 9_000, 0), said(900), answer(100, 10_500, 0)];
    assert_eq!(factors(&messages), [1.0, 1.0, 1.0, 1.5]);
    // A fold and an image teach nothing, and a single request of another kind little.
    messages.extend([said(900), answer(100, 4_000, 0), said(100), answer(100, 9_000, 0)]);
    messages.extend([said(900), answer(100, 11_000, 0), said(900), answer(100, 12_500, 0)]);
    let learnt = factors(&messages);
    assert_eq!(learnt[..4], [1.0, 1.0, 1.0, 1.5]);
    assert_eq!(learnt[4..], [1.5, 1.5, 1.5, 1.5, 1.5, 2.0, 2.0, 1.5]);
}

fn said(tokens: u64) -> Weighed {
    Weighed { tokens, ..Weighed::default() }
}

fn answer(tokens: u64, request: u64, cached: u64) -> Weighed {
    Weighed { request: Some(Request { tokens: request, cached }), ..said(tokens) }
}

fn folded(messages: (usize, usize), stands: u64, since: usize) -> Left {
    Left { messages, stands, since, ..Left::default() }
}

#[test]
fn with_nothing_left_out_callstack_costs_its_tools_and_guidance() {
    let saved = saving(&[said(100), answer(50, 10_000, 0), answer(50, 10_100, 10_000)], &[], 1.0);
    let wanted = Saving {
        requests: 2,
        sent: 20_100,
        billed_hundredths: 1_250_000 + 100_000 + 12_500,
        sent_without: 20_100 - 2 * TOOLS_AND_GUIDANCE,
        // The second begins with all of the first, and the host says that more came from the cache.
        billed_without_hundredths: 8_500 * 125 + 8_600 * 10,
    };
    assert_eq!(saved, wanted);
}

#[test]
fn what_was_folded_is_added_to_the_requests_after_it() {
    let messages = [
        said(100),
        answer(4_000, 10_000, 0),
        answer(10, 14_000, 10_000),
        answer(10, 11_000, 9_000),
    ];
    let saved = saving(&messages, &[folded((1, 1), 500, 2)], 2.0);
    let without = [10_000 - 1_500, 14_000 - 1_500, 11_000 + 2 * 3_500 - 1_500];
    assert_eq!((saved.sent, saved.sent_without), (35_000, without.iter().sum()));
    let bill = |tokens: u64, cached: u64| cached * 10 + (tokens - cached) * 125;
    let billed = bill(without[0], 0) + bill(without[1], 10_000) + bill(without[2], without[1]);
    assert_eq!(saved.billed_without_hundredths, billed);
    assert!(saved.billed_without_hundredths < saved.billed_hundredths + bill(9_000, 9_000));
}

#[test]
fn inner_folds_and_masks_within_folds_count_once_and_users_words_stay() {
    let user = Weighed { tokens: 300, stays: 300, ..Weighed::default() };
    let messages = [said(1), said(1_000), user, said(2_000), answer(10, 9_000, 0)];
    let mask = |place, output| Left {
        messages: (place, place),
        output: Some(output),
        stands: 30,
        since: 3,
        ..Left::default()
    };
    let gone = |left: &[Left]| {
        i128::from(saving(&messages, left, 1.0).sent_without) + i128::from(TOOLS_AND_GUIDANCE)
            - 9_000
    };
    assert_eq!(gone(&[folded((1, 3), 200, 3)]), 2_800);
    assert_eq!(gone(&[folded((3, 3), 50, 3), folded((1, 3), 200, 3), mask(1, 900)]), 2_800);
    assert_eq!(gone(&[mask(1, 900), folded((3, 3), 50, 3)]), 870 + 1_950);
    assert_eq!(gone(&[folded((1, 3), 200, 4)]), 0, "it was not sent folded yet");
}

#[test]
fn calls_of_callstack_would_not_have_been_made() {
    let push = Weighed { ours: 400, ..answer(400, 10_000, 0) };
    let saved = saving(&[said(1), push, answer(1, 10_400, 10_000)], &[], 1.0);
    assert_eq!(saved.sent_without, 10_000 - 1_500 + 10_400 - 400 - 1_500);
}

#[test]
fn calls_after_a_push_leave_with_its_frame_and_those_after_a_pop_stay() {
    // The push's step: 40 of input and 160 of output of the push, 1,000 of a call after it. The pop's step: 300 of a
    // call before the pop, 50 of the pop, 70 of a call after it.
    let push = Weighed { ours: 200, ..answer(1_200, 9_000, 0) };
    let pop = Weighed { ours: 50, ..answer(420, 10_200, 9_000) };
    let messages = [said(1), push, pop, answer(1, 9_310, 9_000)];
    let left = Left {
        opening: Share { ours: 160, others: 1_000 },
        closing: Share { ours: 0, others: 70 },
        ..folded((2, 2), 200, 2)
    };
    let saved = saving(&messages, &[left], 1.0);
    let without = [9_000, 10_200 - 200, 9_310 - 40 - 200 + 1_000 + 300];
    let without = without.map(|tokens| tokens - TOOLS_AND_GUIDANCE);
    assert_eq!(saved.sent_without, without.iter().sum::<u64>());
}

#[test]
fn a_frame_of_one_step_takes_nothing_but_calls_of_it() {
    let step = Weighed { ours: 150, ..answer(650, 9_000, 0) };
    let messages = [said(1), step, answer(1, 9_080, 9_000)];
    let left = Left { opening: Share { ours: 110, others: 500 }, ..folded((2, 1), 30, 1) };
    let saved = saving(&messages, &[left], 1.0);
    let without = 9_080 - 40 - 30 + 500 - TOOLS_AND_GUIDANCE;
    assert_eq!(saved.sent_without, 9_000 - TOOLS_AND_GUIDANCE + without);
}

#[test]
fn after_a_compaction_nothing_from_before_counts() {
    let compacts = Weighed { compacts: true, ..Weighed::default() };
    let messages = [said(1), said(5_000), answer(1, 6_000, 0), compacts, answer(1, 3_000, 1_000)];
    let saved = saving(&messages, &[folded((1, 1), 10, 1)], 1.0);
    assert_eq!(saved.sent_without, 6_000 + 4_990 - 1_500 + 3_000 - 1_500);
    let billed = (6_000 + 4_990 - 1_500) * 125 + 1_000 * 10 + 500 * 125;
    assert_eq!(saved.billed_without_hundredths, billed);
}
