//! References that somebody typed, and the frames that they name.

use callstack_core::decide::{Activate, Command, Plan, PlannedChild};
use callstack_core::frame::FrameNum;
use callstack_store::{Store, StoreError};
use proptest::prelude::*;

use crate::child::WIDE;
use crate::support::{carry_out, identity, nowhere, push, root};

/// f1 `ses_a`, f2 `frm-0019aa`, f3 `frm-0019ab`, f4 `plan-77` that became `frm-0042`, f5 `frm-0019a`.
fn store() -> Store {
    let store = Store::in_memory().unwrap();
    let done = |command: &Command| carry_out(&store, command, &WIDE).unwrap();
    done(&root("ses_a", None));
    done(&push("ses_a", "frm-0019aa", "left"));
    done(&push("ses_a", "frm-0019ab", "right"));
    let child = PlannedChild {
        id: "plan-77".to_owned(),
        identity: identity("later"),
        children: Vec::new(),
    };
    done(&Command::Plan(Plan { parent: Some(FrameNum(3)), children: vec![child] }));
    done(&Command::Activate(Activate {
        frame: FrameNum(4),
        session: "ses_a".to_owned(),
        anchor: nowhere(),
        id: "frm-0042".to_owned(),
    }));
    done(&push("ses_a", "frm-0019a", "exact"));
    store
}

fn resolve(store: &Store, reference: &str) -> Result<u64, StoreError> {
    store.read(|view| view.resolve(reference)).map(|frame| frame.num.0)
}

#[test]
fn handles_ids_former_ids_and_unique_prefixes_are_taken() {
    let store = store();
    for (reference, frame) in [
        ("f1", 1),
        ("  f3 ", 3),
        ("ses_a", 1),
        ("s", 1),
        ("frm-0019aa", 2),
        ("frm-004", 4),
        ("frm-0042", 4),
        ("plan-77", 4),
        ("pl", 4),
        ("frm-0019a", 5),
    ] {
        assert_eq!(resolve(&store, reference).unwrap(), frame, "{reference}");
    }
}

#[test]
fn what_could_be_several_names_them() {
    let store = store();
    for (reference, candidates) in [("frm-0019", vec![2, 3, 5]), ("frm-", vec![2, 3, 4, 5])] {
        let error = resolve(&store, reference).unwrap_err();
        let message = error.to_string();
        let StoreError::Ambiguous { candidates: found, .. } = error else { panic!("{message}") };
        let nums: Vec<_> = found.iter().map(|it| it.0.0).collect();
        assert_eq!(nums, candidates, "{reference}");
        assert!(message.contains("f2 (frm-0019aa, \"left\")"), "{message}");
    }
}

/// `f` begins every handle, whatever the ids begin with.
#[test]
fn the_letter_of_handles_names_a_frame_only_when_there_is_one() {
    let store = Store::in_memory().unwrap();
    carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    assert_eq!(resolve(&store, "f").unwrap(), 1);
    carry_out(&store, &push("ses_a", "frm-1", "inner"), &WIDE).unwrap();
    let error = resolve(&store, "f").unwrap_err();
    assert!(matches!(error, StoreError::Ambiguous { .. }), "{error:?}");
}

#[test]
fn many_candidates_are_cut() {
    let store = Store::in_memory().unwrap();
    carry_out(&store, &root("ses_a", None), &WIDE).unwrap();
    for number in 0..12 {
        let id = format!("frm-{number:03}");
        carry_out(&store, &push("ses_a", &id, "deep"), &WIDE).unwrap();
    }
    let Err(error) = resolve(&store, "frm-") else { panic!("it is ambiguous") };
    assert!(error.to_string().ends_with(" or others"), "{error}");
    let StoreError::Ambiguous { candidates, .. } = error else { panic!("{error}") };
    assert_eq!(candidates.len(), 5);
    assert_eq!(resolve(&store, "f1").unwrap(), 1, "what is exact wins over f10 to f13");
}

#[test]
fn hostile_references_name_nothing() {
    let store = store();
    let long = "f".repeat(1_000_000);
    let digits = format!("f{}", "9".repeat(400));
    for reference in [
        "",
        " ",
        "%",
        "_",
        "frm-0019%",
        "' OR 1=1 --",
        "\"",
        "f0",
        "f-1",
        "f1.0",
        "f99",
        "f18446744073709551615",
        "f18446744073709551616",
        "ses_a\u{0}",
        "\u{10ffff}",
        "frm-0019aa; DROP TABLE frames",
        "plan-77x",
        "*",
        "?",
        "f１",
        &long,
        &digits,
    ] {
        let shown: String = reference.chars().take(40).collect();
        match resolve(&store, reference) {
            Err(StoreError::NoFrame(_)) => {}
            other => panic!("`{shown}`: {other:?}"),
        }
    }
    assert_eq!(store.read(|view| view.all_frames()).unwrap().len(), 5);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Compares with the plain rule: an exact name wins, else the only frame with a name that begins with the
    /// reference.
    #[test]
    fn a_reference_means_what_the_rule_says(
        reference in prop_oneof!["[fsp][erl]?[msa]?[-_n]?[0-9a-b]{0,6}", "frm-00[14][92]?a?[ab]?"],
    ) {
        let store = store();
        let names: [(u64, &[&str]); 5] = [
            (1, &["f1", "ses_a"]),
            (2, &["f2", "frm-0019aa"]),
            (3, &["f3", "frm-0019ab"]),
            (4, &["f4", "frm-0042", "plan-77"]),
            (5, &["f5", "frm-0019a"]),
        ];
        let matching = |fits: &dyn Fn(&str) -> bool| -> Vec<u64> {
            let found = names.iter().filter(|(_, names)| names.iter().any(|name| fits(name)));
            found.map(|(frame, _)| *frame).collect()
        };
        let exact = matching(&|name| name == reference);
        let expected = if exact.is_empty() { matching(&|name| name.starts_with(&reference)) } else { exact };
        // Leading zeros of a handle are no other handle.
        prop_assume!(!reference.starts_with("f0"));
        match (expected.as_slice(), resolve(&store, &reference)) {
            ([one], Ok(found)) => prop_assert_eq!(*one, found),
            ([], Err(StoreError::NoFrame(_)))
            | ([_, _, ..], Err(StoreError::Ambiguous { .. })) => {}
            (expected, found) => prop_assert!(false, "`{reference}`: {expected:?} and {found:?}"),
        }
    }
}
