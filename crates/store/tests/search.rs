//! The search index: it narrows down to what holds the terms, and nothing is missing from that.

use std::collections::BTreeSet;

use callstack_core::search::{Known, terms};
use callstack_store::{MessagePlace, Store};
use proptest::prelude::*;

use crate::child::WIDE;
use crate::support::{carry_out, pop, push, record, root};

/// Catches up in small steps, as is done in between other writes.
fn index(store: &Store) {
    while store.write(|change| change.index(64, &str::to_owned)).unwrap() {}
    assert!(!store.read(|view| view.is_behind()).unwrap());
}

fn known(terms: BTreeSet<String>) -> Known {
    Known { terms, beginning: None }
}

fn ids(store: &Store, query: &str) -> Vec<String> {
    store
        .read(|view| view.messages_known_by(&known(terms(query)), i64::MAX, 1_000))
        .unwrap()
        .into_iter()
        .map(|found| format!("{} {} {}", found.session, found.message.id, found.message.version))
        .collect()
}

#[test]
fn messages_of_all_sessions_and_versions_are_known_by_their_terms_newest_first() {
    let store = Store::in_memory().unwrap();
    record(&store, "ses_a", &[("m1", "parse_header fails"), ("m2", "nothing here")]);
    assert_eq!(ids(&store, "header"), Vec::<String>::new());
    assert!(store.read(|view| view.is_behind()).unwrap());
    index(&store);
    record(&store, "ses_b", &[("m1", "the Header again")]);
    record(&store, "ses_a", &[("m1", "parse_footer works")]);
    index(&store);
    assert_eq!(ids(&store, "header"), ["ses_b m1 1", "ses_a m1 1"]);
    assert_eq!(ids(&store, "parse"), ["ses_a m1 2", "ses_a m1 1"]);
    assert_eq!(ids(&store, "parse header"), ["ses_a m1 1"]);
    let older = store
        .read(|view| view.messages_known_by(&known(terms("header")), 3, 10))
        .unwrap()
        .into_iter()
        .map(|found| found.num);
    assert_eq!(older.collect::<Vec<_>>(), [1]);
}

#[test]
fn frames_are_known_by_what_is_said_of_them_as_it_is_now() {
    let store = Store::in_memory().unwrap();
    carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    let num = carry_out(&store, &push("ses_a", "frm-1", "tokenizer"), &WIDE).unwrap();
    index(&store);
    let known = |query: &str| {
        store.read(|view| view.frames_known_by(&terms(query), 10)).unwrap().contains(&num)
    };
    assert!(known("tokenizer"));
    assert!(!known("forty_two"));
    carry_out(&store, &pop("ses_a", "it returns forty_two"), &WIDE).unwrap();
    assert!(!known("forty_two"));
    index(&store);
    assert!(known("forty_two") && known("tokenizer forty"));
    store.rebuild().unwrap();
    index(&store);
    assert!(known("forty_two"));
    assert_eq!(store.check().unwrap().damage, Vec::<String>::new());
}

#[test]
fn a_message_is_found_in_the_frame_whose_work_it_is() {
    let store = Store::in_memory().unwrap();
    let outer = carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    record(&store, "ses_a", &[("m0", "a"), ("msg-push", "b")]);
    let num = carry_out(&store, &push("ses_a", "frm-1", "inner"), &WIDE).unwrap();
    record(&store, "ses_a", &[("m2", "c"), ("m3", "d")]);
    carry_out(&store, &pop("ses_a", "done"), &WIDE).unwrap();
    record(&store, "ses_a", &[("m4", "e")]);
    let span = store.read(|view| view.frame_spans(num)).unwrap().remove(0);
    let place = |seq| store.read(|view| view.message_place("ses_a", seq)).unwrap().unwrap();
    // Where the harness anchors push and pop is its own affair; what lies between them is the frame's.
    let order = store.read(|view| view.message_order("ses_a")).unwrap();
    let at = |id: Option<&String>| {
        id.and_then(|id| order.iter().position(|known| known == id)).map(|at| at as u64 + 1)
    };
    let first = at(span.open.message.as_ref()).unwrap_or(0);
    let last = at(span.close.and_then(|close| close.message).as_ref()).unwrap_or(5);
    for seq in 1..=5 {
        let expected = if first < seq && seq <= last { num } else { outer };
        assert_eq!(place(seq).frame, expected, "{seq} {first} {last}");
    }
    assert_eq!(place(first + 1), MessagePlace { frame: num, position: 1 });
    assert_eq!(store.read(|view| view.message_place("ses_b", 1)).unwrap(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_index_knows_exactly_what_holds_the_terms(
        texts in prop::collection::vec(prop::collection::vec("[a-e]{1,2}", 0..6), 1..20),
        wanted in prop::collection::vec("[a-e]{1,2}", 1..3),
    ) {
        let store = Store::in_memory().unwrap();
        let texts: Vec<String> = texts.iter().map(|words| words.join(" ")).collect();
        for (at, text) in texts.iter().enumerate() {
            record(&store, "ses_a", &[(&format!("m{at}"), text)]);
        }
        index(&store);
        let wanted = terms(&wanted.join(" "));
        let mut expected: Vec<String> = texts
            .iter()
            .enumerate()
            .filter(|(_, text)| wanted.is_subset(&terms(text)))
            .map(|(at, _)| format!("m{at}"))
            .collect();
        expected.reverse();
        let found: Vec<String> = store
            .read(|view| view.messages_known_by(&known(wanted.clone()), i64::MAX, 100))
            .unwrap()
            .into_iter()
            .map(|found| found.message.id)
            .collect();
        prop_assert_eq!(found, expected);
        let all = store.read(|view| view.messages_known_by(&Known::default(), i64::MAX, 100)).unwrap();
        prop_assert_eq!(all.len(), texts.len());
    }
}
