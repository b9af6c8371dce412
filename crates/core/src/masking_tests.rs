use proptest::prelude::*;

use super::*;

fn outputs(tokens: &[usize]) -> Vec<Output> {
    let mut at = 0;
    let mut place = |(place, tokens_of): (usize, &usize)| {
        let steps_since = tokens.len() - place;
        let output = Output { tokens: *tokens_of, at, steps_since, is_replaced: false };
        at += tokens_of + 100;
        output
    };
    tokens.iter().enumerate().map(&mut place).collect()
}

fn replaced(tokens: &[usize], places: &[usize]) -> Vec<Output> {
    let mut outputs = outputs(tokens);
    for place in places {
        outputs[*place].is_replaced = true;
    }
    outputs
}

/// A request of a session without pauses in which the user spoke once.
fn request(cached: usize, calls: usize) -> Request {
    Request { tokens: 12_000, cached, calls, since_the_user: calls, fill: None }
}

fn full(cached: usize, calls: usize, fill: usize) -> Request {
    Request { fill: Some(fill), ..request(cached, calls) }
}

fn limits() -> Limits {
    Limits { steps: 2, ..Limits::default() }
}

#[test]
fn what_nothing_replaced_stays_however_old_and_large_it_is() {
    let outputs = outputs(&[20_000, 20_000, 20_000, 20_000]);
    assert_eq!(due(&outputs, &request(0, 100), &limits()), None);
    assert_eq!(due(&outputs, &full(0, 100, 59), &limits()), None);
}

#[test]
fn replaced_outputs_leave_once_a_batch_is_full_and_small_ones_stay() {
    let some = replaced(&[2_000, 2_000, 3_000, 9_000], &[0, 1]);
    assert_eq!(due(&some, &request(0, 100), &limits()), None);
    let batch = replaced(&[2_000, 150, 2_900, 9_000], &[0, 1, 2]);
    assert_eq!(due(&batch, &request(0, 0), &limits()), Some(Batch::Replaced(vec![0, 2])));
    assert_eq!(due(&batch, &request(11_000, 800), &limits()), Some(Batch::Replaced(vec![0, 2])));
}

#[test]
fn what_the_model_has_not_read_stays() {
    let mut outputs = replaced(&[6_000, 20_000, 20_000], &[0, 1, 2]);
    outputs[1].steps_since = 0;
    outputs[2].steps_since = 0;
    let fill = full(0, 100, 90);
    assert_eq!(due(&outputs, &fill, &limits()), Some(Batch::Replaced(vec![0])));
}

#[test]
fn while_the_cache_is_warm_it_has_to_pay() {
    let outputs = replaced(&[3_000, 3_000, 3_000, 2_500], &[0, 1]);
    let warm = 12_000;
    let both = Some(Batch::Replaced(vec![0, 1]));
    assert_eq!(due(&outputs, &request(warm, 8), &limits()), None);
    assert_eq!(due(&outputs, &request(warm, 800), &limits()), both);
    let short = Request { since_the_user: 800, ..request(warm, 8) };
    assert_eq!(due(&outputs, &short, &limits()), None, "it may end right after");
    assert_eq!(due(&outputs, &request(0, 8), &limits()), both, "after a pause everything is new");
}

#[test]
fn under_pressure_the_oldest_leave_until_the_request_is_small_enough() {
    let outputs = outputs(&[2_000, 2_000, 2_000, 2_000, 2_000, 2_000]);
    let pressed = |fill| due(&outputs, &full(0, 100, fill), &limits());
    assert_eq!(pressed(60), Some(Batch::Pressed(vec![0, 1, 2])), "a third of 12,000");
    assert_eq!(pressed(80), Some(Batch::Pressed(vec![0, 1, 2, 3])), "two steps stay");
    let cached = full(12_000, 8, 60);
    assert_eq!(due(&outputs, &cached, &limits()), None, "so few calls never pay for it");
    assert_eq!(
        due(&outputs, &full(12_000, 80, 60), &limits()),
        Some(Batch::Pressed(vec![0, 1, 2]))
    );
}

proptest! {
    #[test]
    fn what_leaves_is_replaced_or_old_and_frees_a_batch(
        sizes in proptest::collection::vec((0_usize..6_000, any::<bool>()), 1..40),
        cached in 0_usize..100_000,
        calls in 0_usize..200,
        fill in proptest::option::of(0_usize..120),
    ) {
        let tokens: Vec<usize> = sizes.iter().map(|(tokens, _)| *tokens).collect();
        let marked = sizes.iter().enumerate().filter(|(_, (_, replaced))| *replaced);
        let marked: Vec<usize> = marked.map(|(place, _)| place).collect();
        let outputs = replaced(&tokens, &marked);
        let limits = limits();
        let request = Request { fill, ..request(cached, calls) };
        let Some(batch) = due(&outputs, &request, &limits) else { return Ok(()) };
        let (Batch::Replaced(chosen) | Batch::Pressed(chosen)) = &batch;
        prop_assert!(chosen.is_sorted());
        let freed: usize = chosen.iter().map(|at| outputs[*at].tokens - LINE).sum();
        prop_assert!(freed >= limits.batch);
        for at in chosen {
            let output = outputs[*at];
            prop_assert!(output.tokens >= limits.least && output.steps_since > 0);
            match batch {
                Batch::Replaced(_) => prop_assert!(output.is_replaced),
                Batch::Pressed(_) => {
                    prop_assert!(fill.is_some_and(|fill| fill >= limits.pressure));
                    prop_assert!(output.is_replaced || output.steps_since > limits.steps);
                }
            }
        }
    }
}
