//! The search index: it narrows down to the messages that contain the terms, and none of these is missing.

use std::ops::ControlFlow;

use callstack_core::decide::Command;
use callstack_core::search::{Known, Query};
use callstack_store::{IndexedMessage, Store, StoreError, View};
use proptest::prelude::*;

use crate::child::WIDE;
use crate::support::{carry_out, pop, push, record, root};

/// Indexes in small steps, as between other writes.
pub(crate) fn index(store: &Store) {
    while store.write(|change| change.index(64, &str::to_owned)).unwrap() {}
    assert!(!store.read(|view| view.is_behind()).unwrap());
}

fn words(query: &str) -> Known {
    Query::words(query).unwrap().known()
}

fn known_by(store: &Store, known: &Known) -> Vec<IndexedMessage> {
    let mut found = Vec::new();
    let all = store.read(|view| {
        view.visit_messages_known_by(&view.narrowed(known)?, None, |message| {
            found.push(message);
            Ok::<_, StoreError>(ControlFlow::Continue(()))
        })
    });
    assert!(!all.unwrap());
    found
}

pub(crate) fn ids(store: &Store, query: &str) -> Vec<String> {
    known_by(store, &words(query))
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
    let mut seen = 0;
    let stopped = store.read(|view| {
        view.visit_messages_known_by(&view.narrowed(&words("header"))?, None, |_| {
            seen += 1;
            Ok::<_, StoreError>(ControlFlow::Break(()))
        })
    });
    assert_eq!((stopped.unwrap(), seen), (true, 1));
}

#[test]
fn frames_are_known_by_what_is_said_of_them_as_it_is_now() {
    let store = Store::in_memory().unwrap();
    carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    let num = carry_out(&store, &push("ses_a", "frm-1", "tokenizer"), &WIDE).unwrap();
    index(&store);
    let known = |query: &str| {
        let found = |view: &View<'_>| view.frames_known_by(&view.narrowed(&words(query))?, 10);
        store.read(found).unwrap().contains(&num)
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
fn paths_and_identifiers_are_known_by_what_stands_beside_what_in_them() {
    let store = Store::in_memory().unwrap();
    let texts = [
        ("m1", "see src/lexer/token.rs and parse_header"),
        ("m2", "src/token and lexer/parse.rs, the header"),
        ("m3", "getParseHeader(Src/Lexer)"),
    ];
    record(&store, "ses_a", &texts);
    index(&store);
    assert_eq!(ids(&store, "src/lexer/token.rs"), ["ses_a m1 1"]);
    assert_eq!(ids(&store, "lexer/token.rs"), ["ses_a m1 1"]);
    assert_eq!(ids(&store, "src/lexer"), ["ses_a m3 1", "ses_a m1 1"]);
    assert_eq!(ids(&store, "parse_header"), ["ses_a m3 1", "ses_a m1 1"]);
    assert_eq!(ids(&store, "ParseHeader"), ["ses_a m3 1", "ses_a m1 1"]);
    assert_eq!(ids(&store, "getparseheader"), ["ses_a m3 1"]);
    assert_eq!(ids(&store, "parse header"), ["ses_a m3 1", "ses_a m2 1", "ses_a m1 1"]);
}

#[test]
fn letters_that_stand_in_too_many_words_are_still_found() {
    let store = Store::in_memory().unwrap();
    let anywhere = |text: &str| Query::exact(text).unwrap().known_anywhere().unwrap();
    let many: Vec<_> = (0..3_000).map(|n| format!("some{n}thing")).collect();
    let many = many.join(" ");
    record(&store, "ses_a", &[("m1", &many), ("m2", "handsomely done"), ("m3", "ways of it")]);
    index(&store);
    let found = |text: &str| -> Vec<String> {
        let found = known_by(&store, &anywhere(text)).into_iter();
        found.map(|found| found.message.id).collect()
    };
    assert_eq!(found("dsome"), ["m2"]);
    assert_eq!(found("ome12th"), ["m1"]);
    assert_eq!(found("some"), ["m3", "m2", "m1"]);
    assert_eq!(found("ndsomely d"), ["m2"]);
    assert_eq!(found("zsome"), Vec::<String>::new());
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
    let frame = |seq| store.read(|view| view.frame_at("ses_a", seq)).unwrap().unwrap();
    // The harness chooses the anchors of push and pop; the messages between them belong to the frame.
    let order = store.read(|view| view.message_order("ses_a")).unwrap();
    let at = |id: Option<&String>| {
        id.and_then(|id| order.iter().position(|known| known == id)).map(|at| at as u64 + 1)
    };
    let first = at(span.open.message.as_ref()).unwrap_or(0);
    let last = at(span.close.and_then(|close| close.message).as_ref()).unwrap_or(5);
    for seq in 1..=5 {
        let expected = if first < seq && seq <= last { num } else { outer };
        assert_eq!(frame(seq), expected, "{seq} {first} {last}");
    }
    assert_eq!(store.read(|view| view.frame_at("ses_b", 1)).unwrap(), None);
}

#[test]
fn after_the_end_of_work_a_message_is_in_the_frame_around_it() {
    let store = Store::in_memory().unwrap();
    let at = |message: &str, mut command: Command| {
        let anchor = match &mut command {
            Command::Push(push) => &mut push.anchor,
            Command::Pop(pop) => &mut pop.anchor,
            _ => panic!("neither begins nor ends work"),
        };
        anchor.message = Some(message.to_owned());
        carry_out(&store, &command, &WIDE).unwrap()
    };
    let goal = carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    record(&store, "ses_a", &["m1", "m2", "m3", "m4", "m5", "m6"].map(|id| (id, id)));
    let outer = at("m2", push("ses_a", "frm-1", "outer"));
    let inner = at("m3", push("ses_a", "frm-2", "inner"));
    at("m4", pop("ses_a", "done"));
    at("m5", pop("ses_a", "done"));
    let frame = |seq| store.read(|view| view.frame_at("ses_a", seq)).unwrap().unwrap();
    assert_eq!([1, 2, 3, 4, 5, 6].map(frame), [goal, goal, outer, inner, outer, goal]);
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
        let mut expected: Vec<String> = texts
            .iter()
            .enumerate()
            .filter(|(_, text)| wanted.iter().all(|word| text.split(' ').any(|it| it == word)))
            .map(|(at, _)| format!("m{at}"))
            .collect();
        expected.reverse();
        let wanted = words(&wanted.join(" "));
        let found = known_by(&store, &wanted).into_iter();
        prop_assert_eq!(found.map(|found| found.message.id).collect::<Vec<_>>(), expected);
        prop_assert_eq!(known_by(&store, &Known::default()).len(), texts.len());
    }

    #[test]
    fn a_string_is_known_wherever_in_words_it_begins_and_ends(
        before in "[a-cA-C1_./ \\-]{0,30}",
        text in "[a-dA-D12é日本語ΣσßI_./:@ \n\\-]{1,40}|\\PC{1,30}|[a-f0-9]{35,50}",
        from in any::<prop::sample::Index>(),
        length in 1..20_usize,
    ) {
        let store = Store::in_memory().unwrap();
        record(&store, "ses_a", &[("m1", &before), ("m2", &text), ("m3", "something else")]);
        index(&store);
        let chars: Vec<char> = text.chars().collect();
        let from = from.index(chars.len());
        let range: String = chars[from..(from + length).min(chars.len())].iter().collect();
        if let Some(query) = Query::exact(&range) {
            let known = query.known_anywhere().unwrap_or_else(|| query.known());
            let found = known_by(&store, &known);
            let ids: Vec<_> = found.iter().map(|found| found.message.id.as_str()).collect();
            prop_assert!(ids.contains(&"m2"), "{range:?} by {known:?}");
        }
    }
}
