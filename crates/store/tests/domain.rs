//! Random sequences of commands, including those that must be refused, through the domain and the store, compared
//! with the model after each step.

mod harness;
mod model;

use proptest::prelude::*;

use harness::{Harness, Step};

/// Sessions `a` and `b` are a user's, `c` was started by `a`.
const STARTED_BY: [Option<usize>; 3] = [None, None, Some(0)];

/// A frame is named by the number of frames made since: commands are mostly about recent ones.
fn frame() -> impl Strategy<Value = usize> {
    prop_oneof![3 => 0..4usize, 1 => 0..40usize]
}

fn session() -> impl Strategy<Value = usize> {
    prop_oneof![4 => Just(0usize), 1 => 1..3usize]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => session().prop_map(Step::OpenRoot),
        6 => session().prop_map(Step::Push),
        6 => (session(), 0..6usize).prop_map(|(session, ending)| Step::Pop(session, None, ending)),
        2 => (session(), frame(), 0..6usize)
            .prop_map(|(session, frame, ending)| Step::Pop(session, Some(frame), ending)),
        3 => (proptest::option::weighted(0.9, frame()), 0..6usize)
            .prop_map(|(parent, shape)| Step::Plan(parent, shape)),
        4 => (session(), frame()).prop_map(|(session, frame)| Step::Activate(session, frame)),
        2 => (session(), frame()).prop_map(|(session, frame)| Step::Invalidate(session, frame)),
        2 => (session(), frame()).prop_map(|(session, frame)| Step::Reopen(session, frame)),
        3 => (session(), 1..6usize).prop_map(|(session, calls)| Step::Undo(session, calls)),
        2 => (session(), 1..6usize).prop_map(|(session, calls)| Step::Redo(session, calls)),
        1 => (frame(), any::<bool>()).prop_map(|(frame, derived)| Step::Identity(frame, derived)),
        1 => (frame(), 0..3usize, 0..3usize)
            .prop_map(|(frame, path, hash)| Step::Artifact(frame, path, hash)),
        1 => (frame(), 0..3usize).prop_map(|(frame, text)| Step::Decision(frame, text)),
        1 => (frame(), 0..3usize).prop_map(|(frame, text)| Step::Pin(frame, text)),
        1 => (frame(), 0..6u64).prop_map(|(frame, pin)| Step::Unpin(frame, pin)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_store_says_what_the_model_says(steps in proptest::collection::vec(step(), 1..60)) {
        let mut harness = Harness::new(&STARTED_BY);
        for step in &steps {
            harness.take(step);
        }
        harness.check_store();
    }
}

#[test]
fn a_reopened_frame_counts_as_one_in_progress() {
    let mut harness = Harness::new(&STARTED_BY);
    let completed = Step::Pop(0, None, 0);
    for step in [Step::OpenRoot(0), Step::Push(0), completed, Step::OpenRoot(1)] {
        harness.take(&step);
    }
    for _ in 0..model::LIVE - 2 {
        harness.take(&Step::Push(1));
    }
    // The second frame, counted from the newest.
    harness.take(&Step::Reopen(0, model::LIVE - 1));
    harness.take(&Step::Pop(1, None, 0));
    harness.take(&Step::Reopen(0, model::LIVE - 1));
    harness.check_store();
}

/// Hosts lose single messages too, not only the end of a transcript: whichever spans are reported as gone or back, no
/// session may end up in a frame that is not there, and no frame without its parent.
#[derive(Clone, Debug)]
struct Wild {
    session: usize,
    detach: Vec<usize>,
    attach: Vec<usize>,
    unclose: Vec<usize>,
    reclose: Vec<usize>,
}

fn wild() -> impl Strategy<Value = Wild> {
    let some = || proptest::collection::vec(0..12usize, 0..3);
    (0..3usize, some(), some(), some(), some()).prop_map(
        |(session, detach, attach, unclose, reclose)| Wild {
            session,
            detach,
            attach,
            unclose,
            reclose,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_host_undoes_the_tree_stays_a_tree(
        steps in proptest::collection::vec(step(), 1..40),
        wilds in proptest::collection::vec(wild(), 1..4),
    ) {
        let mut harness = Harness::new(&STARTED_BY);
        for step in &steps {
            harness.take(step);
        }
        harness.leave_the_model();
        for it in &wilds {
            harness.reconcile_wildly(
                it.session,
                [&it.detach, &it.attach, &it.unclose, &it.reclose],
            );
        }
        harness.push_everywhere();
        harness.check_store();
    }
}
