use proptest::prelude::*;

use super::*;

fn outputs(tokens: &[usize]) -> Vec<Output> {
    let mut at = 0;
    let mut place = |tokens: &usize| {
        let output = Output { tokens: *tokens, at, unread: false };
        at += tokens + 100;
        output
    };
    tokens.iter().map(&mut place).collect()
}

/// A request of a session without pauses in which the user spoke once.
fn request(cached: usize, calls: usize) -> Request {
    Request { tokens: 12_000, cached, calls, since_the_user: calls }
}

fn limits() -> Limits {
    Limits { recent: 5_000, batch: 4_000, least: 200 }
}

#[test]
fn nothing_is_masked_before_a_batch_is_full() {
    let outputs = outputs(&[2_000, 1_900, 3_000, 2_500]);
    assert_eq!(due(&outputs, &request(0, 100), &limits()), [0usize; 0]);
}

#[test]
fn a_batch_goes_at_once_and_small_and_recent_ones_stay() {
    let outputs = outputs(&[2_000, 150, 2_900, 3_000, 2_500]);
    assert_eq!(due(&outputs, &request(0, 0), &limits()), [0, 2]);
    assert_eq!(due(&outputs, &request(11_000, 800), &limits()), [0, 2]);
}

#[test]
fn what_the_model_has_not_read_stays() {
    let mut outputs = outputs(&[6_000, 20_000, 20_000]);
    outputs[1].unread = true;
    outputs[2].unread = true;
    assert_eq!(due(&outputs, &request(0, 100), &limits()), [0]);
}

#[test]
fn while_the_cache_is_warm_it_has_to_pay() {
    let outputs = outputs(&[3_000, 3_000, 3_000, 2_500]);
    let warm = 12_000;
    assert_eq!(due(&outputs, &request(warm, 8), &limits()), [0usize; 0]);
    assert_eq!(due(&outputs, &request(warm, 800), &limits()), [0, 1]);
    let short = Request { since_the_user: 800, ..request(warm, 8) };
    assert_eq!(due(&outputs, &short, &limits()), [0usize; 0], "it may end right behind");
    assert_eq!(
        due(&outputs, &request(0, 8), &limits()),
        [0, 1],
        "after a pause everything is new anyway"
    );
}

proptest! {
    #[test]
    fn what_is_masked_is_large_and_old_and_frees_a_batch(
        oldest in 4_030_usize..6_000,
        between in proptest::collection::vec(0_usize..6_000, 0..40),
        newest in 5_000_usize..6_000,
        cached in 0_usize..100_000,
        calls in 0_usize..200,
    ) {
        let tokens = [&[oldest], &between[..], &[newest]].concat();
        let outputs = outputs(&tokens);
        let limits = limits();
        let chosen = due(&outputs, &request(0, calls), &limits);
        prop_assert_eq!(chosen.first(), Some(&0), "a batch is full, and after a pause it costs nothing");
        let while_cached = due(&outputs, &request(cached, calls), &limits);
        prop_assert!(while_cached.is_empty() || while_cached == chosen, "{:?}", while_cached);
        let freed: usize = chosen.iter().map(|at| outputs[*at].tokens - LINE).sum();
        prop_assert!(freed >= limits.batch);
        prop_assert!(chosen.is_sorted());
        for at in &chosen {
            let newer: usize = outputs[*at + 1..].iter().map(|output| output.tokens).sum();
            prop_assert!(outputs[*at].tokens >= limits.least && newer >= limits.recent);
        }
        // What is masked once is a small line from then on, and nothing is due again at once.
        let mut after = tokens;
        for at in chosen {
            after[at] = LINE;
        }
        let after = super::tests::outputs(&after);
        for cached in [0, cached] {
            prop_assert_eq!(due(&after, &request(cached, calls), &limits), Vec::<usize>::new());
        }
    }
}
