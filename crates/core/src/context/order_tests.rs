use super::super::tests::frame;
use super::*;

fn siblings() -> Vec<Frame> {
    vec![
        frame(2, Some(1), Status::Completed, "a", ""),
        frame(3, Some(1), Status::Invalidated, "b", ""),
        frame(4, Some(1), Status::Planned, "c", ""),
        frame(6, Some(1), Status::Planned, "e", ""),
        frame(7, Some(1), Status::Planned, "f", ""),
    ]
}

#[test]
fn in_order_of_creation_without_the_invalidated() {
    let current = frame(5, Some(1), Status::InProgress, "d", "");
    let order = SiblingOrder { position: 3, total: 5, next: Some(FrameNum(6)) };
    assert_eq!(calculate_sibling_order(&current, &siblings()), order);
    let mut with_itself = siblings();
    with_itself.reverse();
    with_itself.push(current.clone());
    assert_eq!(calculate_sibling_order(&current, &with_itself), order);
}

#[test]
fn planned_ones_that_were_skipped_come_after_the_later_ones() {
    let current = frame(8, Some(1), Status::InProgress, "last", "");
    assert_eq!(calculate_sibling_order(&current, &siblings()).next, Some(FrameNum(4)));
    assert_eq!(
        calculate_sibling_order(&current, &[]),
        SiblingOrder { position: 1, total: 1, next: None }
    );
}

#[test]
fn undone_frames_do_not_count() {
    let current = frame(5, Some(1), Status::InProgress, "d", "");
    let mut all = siblings();
    for sibling in &mut all {
        sibling.detached = true;
    }
    assert_eq!(calculate_sibling_order(&current, &all).total, 1);
    assert_eq!(StatusCounts::of(&all), StatusCounts::default());
}

#[test]
fn every_status_is_counted() {
    let all: Vec<_> = Status::ALL
        .into_iter()
        .zip(2..)
        .map(|(status, num)| frame(num, Some(1), status, "", ""))
        .collect();
    let counts = StatusCounts::of(&all);
    assert_eq!((counts.shown(), counts.tasks(), counts.invalidated), (3, 5, 1));
}
