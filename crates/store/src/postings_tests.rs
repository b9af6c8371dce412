use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::store::Store;

/// Some are merged in several steps, and few stay as they are.
const SMALL: Pace = Pace { long: 40, least: 1 };
const TERMS: u32 = 8;

#[derive(Clone, Debug)]
enum Step {
    /// Messages with some terms each, and each with so many further terms of its own.
    Keep(Vec<(BTreeSet<u32>, u32)>),
    /// One message of so many.
    Forget(i64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let message = (prop::collection::btree_set(0..TERMS, 0..4), prop_oneof![Just(0), 0..1_500_u32]);
    let step = prop_oneof![
        19 => prop::collection::vec(message, 1..4).prop_map(Step::Keep),
        1 => (2..9_i64).prop_map(Step::Forget),
    ];
    prop::collection::vec(step, 1..80)
}

fn ask(view: &View<'_>, wanted: &[Clause]) -> Vec<i64> {
    let mut found = Vec::new();
    let stopped = view.holding(wanted, |message| {
        found.push(message);
        Ok::<_, StoreError>(true)
    });
    assert!(!stopped.unwrap());
    found
}

/// Asserts that no two runs cover the same message, and that there are few, including those that wait to be removed.
fn check_runs(view: &View<'_>) {
    let mut runs = view.runs().unwrap();
    assert!(runs.len() < 60, "{runs:?}");
    runs.retain(IndexSegment::is_whole);
    assert!(runs.windows(2).all(|pair| pair[0].first > pair[1].last), "{runs:?}");
    let levels = runs.iter().map(|run| run.level).max().unwrap_or_default();
    for level in 0..=levels {
        let short =
            runs.iter().filter(|run| run.level == level && run.last - run.first < SMALL.long);
        assert!(short.count() < 10, "{runs:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_messages_that_hold_terms_are_found_the_newest_first(
        steps in steps(),
        wanted in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(0..TERMS + 3, 1..3), 1..3), 1..3),
    ) {
        let store = Store::in_memory().unwrap();
        let mut known: BTreeMap<i64, BTreeSet<u32>> = BTreeMap::new();
        let mut next = 1;
        for step in &steps {
            store.write(|change| {
                let view = change.view();
                match step {
                    Step::Keep(messages) => {
                        let mut kept = Vec::new();
                        for (terms, more) in messages {
                            let terms: BTreeSet<u32> =
                                terms.iter().copied().chain(TERMS..TERMS + more).collect();
                            kept.push((next, terms.iter().copied().collect()));
                            known.insert(next, terms);
                            next += 1;
                        }
                        view.keep_at(kept, SMALL)
                    }
                    Step::Forget(of) => {
                        let gone = (1..next).filter(|message| message % of == 0).collect();
                        known.retain(|message, _| message % of != 0);
                        view.forget_postings(&gone)
                    }
                }
            }).unwrap();
            store.read(|view| { check_runs(view); Ok::<_, StoreError>(()) }).unwrap();
        }
        store.read(|view| {
            let holds = |terms: &BTreeSet<u32>| wanted.iter().all(|clause| {
                clause.iter().any(|set| set.iter().all(|term| terms.contains(term)))
            });
            let expected: Vec<i64> =
                known.iter().rev().filter(|(_, terms)| holds(terms)).map(|(num, _)| *num).collect();
            assert_eq!(ask(view, &wanted), expected);
            let all: HashSet<u32> = known.values().flatten().copied().collect();
            assert_eq!(view.known_terms()?, all);
            Ok::<_, StoreError>(())
        }).unwrap();
    }
}

#[test]
fn numbers_of_words_and_of_other_terms_never_meet() {
    assert!(word(i64::from(u32::MAX)) < MARKS && word(7) == 7);
    assert!(mark(0) >= MARKS && mark(u64::MAX) >= MARKS);
    assert_eq!(mark(0x1234_5678_0000_0000), 0x9234_5678);
}

#[test]
fn whoever_has_seen_enough_is_shown_no_more() {
    let store = Store::in_memory().unwrap();
    let seen = store.write(|change| {
        let view = change.view();
        for message in 1..=20 {
            view.keep_postings([(message, vec![7])])?;
        }
        let mut seen = Vec::new();
        let stopped = view.holding(&[vec![vec![7]]], |message| {
            seen.push(message);
            Ok::<_, StoreError>(seen.len() < 3)
        })?;
        Ok::<_, StoreError>((stopped, seen))
    });
    assert_eq!(seen.unwrap(), (true, vec![20, 19, 18]));
}

#[test]
fn what_stands_nearly_everywhere_is_not_read_for_a_few_messages() {
    let store = Store::in_memory().unwrap();
    let of = |message: i64| match message {
        5 | 9_000 => vec![1, 2],
        7 => vec![2],
        _ => vec![1],
    };
    store.write(|change| change.view().keep_postings((1..=30_000).map(|it| (it, of(it))))).unwrap();
    store
        .read(|view| {
            assert_eq!(ask(view, &[vec![vec![1]], vec![vec![2]]]), [9_000, 7, 5]);
            assert_eq!(ask(view, &[vec![vec![1, 2]]]), [9_000, 5]);
            assert_eq!(ask(view, &[vec![vec![2]], vec![vec![3]]]), [0; 0]);
            Ok::<_, StoreError>(())
        })
        .unwrap();
}
