use std::collections::{BTreeMap, BTreeSet};

use super::super::tests::{NOW, frame};
use super::super::{Parts, ScopedPin};
use super::*;
use crate::frame::{Artifact, FrameNum, Pin, Status};

fn hash(current: &Frame) -> u64 {
    let other = frame(9, Some(1), Status::Completed, "other", "");
    let others = [other];
    generate_state_hash(current, &others, &others, &others)
}

type Change = fn(&mut Frame);

#[test]
fn every_change_of_a_frame_changes_it() {
    let original = frame(2, Some(1), Status::InProgress, "title", "criteria");
    let changes: [(&str, Change); 13] = [
        ("num", |it| it.num = FrameNum(3)),
        ("parent", |it| it.parent = None),
        ("status", |it| it.status = Status::Blocked),
        ("title", |it| it.identity.title.push('x')),
        ("criteria", |it| it.identity.success_criteria = "criteriX".into()),
        ("compacted", |it| it.identity.success_criteria_compacted.push('x')),
        ("results", |it| it.results = Some(String::new())),
        ("results compacted", |it| it.results_compacted = Some("x".into())),
        ("artifacts", |it| it.artifacts.push(Artifact { path: "a".into(), hash: None })),
        ("decisions", |it| it.decisions.push("d".into())),
        ("updated", |it| it.updated_at += 1),
        ("ended", |it| it.ended_at = Some(1)),
        ("detached", |it| it.detached = true),
    ];
    assert_eq!(hash(&original), hash(&original.clone()));
    for (what, change) in changes {
        let mut other = original.clone();
        change(&mut other);
        assert_ne!(hash(&other), hash(&original), "{what}");
    }
}

#[test]
fn which_list_a_frame_is_in_matters() {
    let current = frame(2, Some(1), Status::InProgress, "t", "c");
    let one = [frame(9, Some(1), Status::Planned, "o", "")];
    let hashes = BTreeSet::from([
        generate_state_hash(&current, &one, &[], &[]),
        generate_state_hash(&current, &[], &one, &[]),
        generate_state_hash(&current, &[], &[], &one),
        generate_state_hash(&current, &[], &[], &[]),
    ]);
    assert_eq!(hashes.len(), 4);
}

#[test]
fn every_option_changes_the_key_and_the_time_does_not() {
    let current = frame(2, Some(1), Status::InProgress, "t", "c");
    let input = ContextInput::new("s", &current, NOW);
    let above = BTreeSet::from([FrameNum(1)]);
    let pins = [ScopedPin { owner: FrameNum(1), pin: Pin { num: 1, text: "never".to_owned() } }];
    let seen = BTreeMap::from([(FrameNum(1), "`make`: exit 0".to_owned())]);
    let mut counts = input.sibling_counts;
    counts.blocked = 1;
    let mut budget = input.budget;
    budget.siblings -= 1;
    let variants = [
        input,
        ContextInput { pins: &pins, ..input },
        ContextInput { visible_above: &above, ..input },
        ContextInput { sibling_evidence: &seen, ..input },
        ContextInput { sibling_counts: counts, ..input },
        ContextInput { planned_children_count: 1, ..input },
        ContextInput { next_sibling: Some(&current), ..input },
        ContextInput { budget, ..input },
        ContextInput { min_relevance: 31, ..input },
        ContextInput { calibration: 1.1, ..input },
        ContextInput { new_session: true, ..input },
        ContextInput { parts: Parts::for_start(), ..input },
    ];
    let hashes: BTreeSet<_> = variants.iter().map(ContextInput::state_hash).collect();
    assert_eq!(hashes.len(), variants.len());
    assert_eq!(ContextInput { now: NOW + 1, ..input }.state_hash(), input.state_hash());
}
