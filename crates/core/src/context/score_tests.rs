use super::super::tests::{MINUTE, NOW, frame};
use super::*;
use crate::frame::Artifact;

const DAY: i64 = 24 * 60 * MINUTE;

fn artifact(path: &str) -> Artifact {
    Artifact { path: path.to_owned(), hash: None }
}

#[test]
fn ancestors_by_distance() {
    let current = frame(20, Some(10), Status::InProgress, "now", "");
    let mut ancestor = frame(9, Some(1), Status::InProgress, "above", "");
    ancestor.updated_at = NOW - 30 * DAY;
    let scores: Vec<_> =
        (1..=8).map(|depth| score_ancestor(&ancestor, depth, &current, NOW)).collect();
    assert_eq!(scores, [210, 80, 60, 50, 40, 30, 20, 20]);
}

#[test]
fn bonuses_of_ancestors() {
    let current = frame(20, Some(10), Status::InProgress, "now", "");
    let plain = || {
        let mut ancestor = frame(9, Some(1), Status::Failed, "above", "");
        ancestor.updated_at = NOW - 30 * DAY;
        ancestor
    };
    let score = |change: &dyn Fn(&mut Frame)| {
        let mut ancestor = plain();
        change(&mut ancestor);
        score_ancestor(&ancestor, 2, &current, NOW)
    };
    assert_eq!(score(&|_| {}), 70);
    assert_eq!(score(&|it| it.status = Status::InProgress), 80);
    assert_eq!(score(&|it| it.status = Status::Completed), 75);
    assert_eq!(score(&|it| it.results_compacted = Some("x".into())), 75);
    assert_eq!(score(&|it| it.results = Some("x".into())), 75);
    assert_eq!(score(&|it| it.results = Some("  ".into())), 70);
    assert_eq!(score(&|it| it.artifacts.push(artifact("a.rs"))), 75);
    assert_eq!(score(&|it| it.parent = None), 90);
    assert_eq!(score(&|it| it.updated_at = NOW - MINUTE), 85);
    assert_eq!(score(&|it| it.updated_at = NOW + MINUTE), 85);
    assert_eq!(score(&|it| it.updated_at = NOW - DAY), 78);
    assert_eq!(score(&|it| it.updated_at = NOW - 2 * DAY), 74);
    assert_eq!(score(&|it| it.num = FrameNum(10)), 200);
}

#[test]
fn the_parent_outranks_every_other() {
    let current = frame(20, Some(3), Status::InProgress, "now", "");
    let mut parent = frame(3, Some(2), Status::Invalidated, "parent", "");
    parent.updated_at = 0;
    let mut root = frame(1, None, Status::InProgress, "root", "");
    root.results = Some("x".into());
    root.artifacts.push(artifact("a.rs"));
    let ancestors = [parent, root];
    let ranked = rank_ancestors(&ancestors, &current, NOW);
    let order: Vec<_> = ranked.iter().map(|(_, depth, _)| *depth).collect();
    assert_eq!(order, [1, 2]);
}

const CRITERIA: &str = "Cursor pagination for GET items in src/api/routes.rs";

fn sibling(status: Status, words: &str, age: i64) -> Frame {
    let mut sibling = frame(4, Some(2), status, words, "");
    sibling.ended_at = Some(NOW - age);
    sibling
}

#[test]
fn siblings_by_shared_keywords() {
    let score =
        |words: &str| score_sibling(&sibling(Status::Completed, words, 30 * DAY), CRITERIA, NOW);
    let nothing = score("Login page colours");
    let one = score("Item list");
    let several = score("Offset pagination of items by api routes");
    assert_eq!(nothing, 12);
    assert_eq!(one, 20);
    assert!(several > one && several >= MIN_RELEVANCE, "{several}");
    assert_eq!(score(CRITERIA), 12 + 65);
}

#[test]
fn artifacts_results_and_decisions_are_searched() {
    let plain = sibling(Status::Completed, "x", 30 * DAY);
    let mut by_artifact = plain.clone();
    by_artifact.artifacts.push(artifact("src/api/routes.rs"));
    assert_eq!(score_sibling(&by_artifact, CRITERIA, NOW), 12 + 4 + 65 * 5 / 8);
    let mut by_results = plain.clone();
    by_results.results = Some("the cursor is opaque".into());
    assert_eq!(score_sibling(&by_results, CRITERIA, NOW), 12 + 4 + 65 / 8);
    let mut by_decision = plain;
    by_decision.decisions.push("no cursor in urls".into());
    assert_eq!(score_sibling(&by_decision, CRITERIA, NOW), 12 + 65 / 8);
}

#[test]
fn completed_work_is_worth_most_and_failed_has_lessons() {
    let score = |status| score_sibling(&sibling(status, "pagination", 30 * DAY), CRITERIA, NOW);
    let scores = [Status::Completed, Status::Failed, Status::Blocked, Status::Planned].map(score);
    assert_eq!(scores, [20, 18, 14, 8]);
}

#[test]
fn what_ended_lately_counts_more() {
    let score = |age| score_sibling(&sibling(Status::Completed, "x", age), CRITERIA, NOW);
    assert_eq!([MINUTE, 2 * 60 * MINUTE, 3 * DAY, 8 * DAY].map(score), [27, 20, 16, 12]);
    let mut completed = sibling(Status::Completed, "x", MINUTE);
    completed.results = Some("done".into());
    assert!(score_sibling(&completed, CRITERIA, NOW) >= MIN_RELEVANCE);
}

#[test]
fn never_above_a_hundred() {
    let mut best = sibling(Status::Completed, CRITERIA, 0);
    best.results = Some(CRITERIA.into());
    best.artifacts.push(artifact("src/api/routes.rs"));
    assert_eq!(score_sibling(&best, CRITERIA, NOW), 100);
    assert_eq!(score_sibling(&best, "", NOW), 35);
}

#[test]
fn only_the_finished_and_relevant_are_ranked() {
    let all: Vec<_> = Status::ALL
        .into_iter()
        .zip(3..)
        .map(|(status, num)| Frame { num: FrameNum(num), ..sibling(status, CRITERIA, MINUTE) })
        .collect();
    let order = |current, least| -> Vec<u64> {
        rank_siblings(&all, current, CRITERIA, least, NOW)
            .iter()
            .map(|(_, frame)| frame.num.0)
            .collect()
    };
    assert_eq!(order(None, 30), [5, 6, 7]);
    assert_eq!(order(Some(FrameNum(5)), 30), [6, 7]);
    assert_eq!(order(None, 91), [5, 6]);
}

#[test]
fn what_shares_nothing_is_hidden_however_new_it_is() {
    let mut stranger = sibling(Status::Completed, "Zebra stripes", MINUTE);
    stranger.results = Some("black and white".into());
    stranger.artifacts.push(artifact("zoo.md"));
    let shown = |sibling: &Frame, goal, least| {
        !rank_siblings(std::slice::from_ref(sibling), None, goal, least, NOW).is_empty()
    };
    assert!(score_sibling(&stranger, CRITERIA, NOW) >= MIN_RELEVANCE);
    assert!(!shown(&stranger, CRITERIA, MIN_RELEVANCE));
    assert!(shown(&stranger, CRITERIA, 0));
    assert!(shown(&stranger, "", MIN_RELEVANCE), "without a goal nothing can be compared");
}

#[test]
fn a_failed_one_is_shown_where_a_completed_one_like_it_is() {
    let shown = |status, age| {
        let mut sibling = sibling(status, "Pagination of items", age);
        sibling.results = Some("the offset overflows".into());
        !rank_siblings(&[sibling], None, CRITERIA, MIN_RELEVANCE, NOW).is_empty()
    };
    for age in [MINUTE, 2 * 60 * MINUTE, 3 * DAY, 30 * DAY] {
        assert_eq!(shown(Status::Failed, age), shown(Status::Completed, age), "{age}");
    }
    assert!(shown(Status::Failed, MINUTE));
}
