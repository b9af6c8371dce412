use callstack_core::frame::{FrameNum, Status};
use proptest::prelude::*;

use super::Tree;
use crate::data::rows::Row;

const DONE: Status = Status::Completed;
const OPEN: Status = Status::InProgress;

fn tree() -> Tree {
    let mut rows = Row::tree(vec![
        Row::of(1, 0, "Old work", DONE),
        Row::of(2, 1, "A part", DONE),
        Row::of(3, 0, "Build the parser", OPEN),
        Row::of(4, 1, "Read the grammar", DONE),
        Row::of(5, 2, "Find it", DONE),
        Row::of(6, 1, "Try a generator", DONE),
        Row::of(7, 2, "Generate", Status::Failed),
        Row::of(8, 1, "Write the parser", OPEN),
        Row::of(12, 1, "Document it", Status::Planned),
    ]);
    rows[7].active = true;
    let mut tree = Tree { height: 20, ..Tree::default() };
    tree.take(rows);
    tree
}

fn selected(tree: &Tree) -> u64 {
    tree.selected().unwrap().num.0
}

fn numbers(tree: &Tree) -> Vec<u64> {
    tree.visible.iter().map(|at| tree.rows[*at].num.0).collect()
}

#[test]
fn what_is_finished_is_folded_and_what_failed_is_not() {
    let tree = tree();
    assert_eq!(numbers(&tree), [1, 3, 4, 6, 7, 8, 12]);
    assert_eq!(selected(&tree), 8, "the open frame");
}

#[test]
fn folding_goes_up_and_unfolding_down() {
    let mut tree = tree();
    tree.select(FrameNum(5));
    assert_eq!(numbers(&tree), [1, 3, 4, 5, 6, 7, 8, 12]);
    tree.fold();
    assert_eq!(selected(&tree), 4);
    tree.fold();
    assert_eq!(numbers(&tree), [1, 3, 4, 6, 7, 8, 12]);
    tree.fold();
    tree.fold();
    assert_eq!((selected(&tree), numbers(&tree)), (3, vec![1, 3]));
    tree.unfold();
    tree.unfold();
    assert_eq!(selected(&tree), 4);
    tree.fold_all(true);
    assert_eq!((selected(&tree), numbers(&tree)), (3, vec![1, 3]));
}

#[test]
fn a_filter_shows_matches_and_what_is_above_them() {
    let mut tree = tree();
    tree.set_filter("PARSER write");
    assert_eq!((numbers(&tree), tree.matches()), (vec![3, 8], 1));
    tree.set_filter("find");
    assert_eq!((numbers(&tree), selected(&tree)), (vec![3, 4, 5], 5));
    tree.set_filter("f1");
    assert_eq!(numbers(&tree), [1], "f1 is not f12");
    tree.set_filter("failed");
    assert_eq!(selected(&tree), 7);
    tree.set_filter("nothing has this");
    assert_eq!(numbers(&tree), [0; 0]);
    tree.set_filter("");
    assert_eq!(numbers(&tree).len(), 7);
    tree.set_filter("generator");
    tree.select(FrameNum(2));
    assert_eq!((tree.filter(), selected(&tree)), ("", 2), "a filter that hides it ends");
}

#[test]
fn a_newer_state_keeps_what_is_selected_and_folded() {
    let mut tree = tree();
    tree.select(FrameNum(3));
    tree.fold();
    let mut rows = tree.rows.clone();
    rows.push(Row::of(13, 1, "New", OPEN));
    tree.take(Row::tree(rows));
    assert_eq!((selected(&tree), numbers(&tree)), (3, vec![1, 3]));
    tree.take(vec![Row::of(20, 0, "Another store", OPEN)]);
    assert_eq!(selected(&tree), 20);
    tree.take(Vec::new());
    assert!(tree.selected().is_none());
}

#[test]
fn failed_frames_are_found_one_after_the_other() {
    let mut tree = tree();
    let mut rows = tree.rows.clone();
    rows[1].status = Status::Failed;
    tree.take(rows);
    assert!(tree.next_failed());
    assert_eq!(selected(&tree), 2);
    assert!(tree.next_failed());
    assert_eq!(selected(&tree), 7);
}

/// A person's action on a tree.
#[derive(Clone, Debug)]
enum Doing {
    Step(isize),
    Page(isize),
    Roll(isize),
    End(bool),
    Fold,
    Unfold,
    FoldAll(bool),
    Toggle(u64),
    Select(u64),
    Filter(&'static str),
    Height(usize),
    /// A tree of frames at these depths below one another.
    Take(Vec<usize>),
}

fn doings() -> impl Strategy<Value = Vec<Doing>> {
    let doing = prop_oneof![
        (-3_isize..4).prop_map(Doing::Step),
        (-2_isize..3).prop_map(Doing::Page),
        (-9_isize..10).prop_map(Doing::Roll),
        any::<bool>().prop_map(Doing::End),
        Just(Doing::Fold),
        Just(Doing::Unfold),
        any::<bool>().prop_map(Doing::FoldAll),
        (0_u64..30).prop_map(Doing::Toggle),
        (0_u64..30).prop_map(Doing::Select),
        prop::sample::select(vec!["", "f3", "completed", "1", "none"]).prop_map(Doing::Filter),
        (0_usize..12).prop_map(Doing::Height),
        prop::collection::vec(0_usize..4, 0..30).prop_map(Doing::Take),
    ];
    prop::collection::vec(doing, 1..30)
}

proptest! {
    #[test]
    fn what_is_selected_is_always_on_the_screen(doings in doings()) {
        let mut tree = Tree::default();
        for doing in doings {
            match doing {
                Doing::Step(by) => tree.step(by),
                Doing::Page(by) => tree.page(by),
                Doing::Roll(by) => tree.roll(by),
                Doing::End(last) => tree.ends(last),
                Doing::Fold => tree.fold(),
                Doing::Unfold => tree.unfold(),
                Doing::FoldAll(fold) => tree.fold_all(fold),
                Doing::Toggle(num) => tree.toggle(FrameNum(num)),
                Doing::Select(num) => tree.select(FrameNum(num)),
                Doing::Filter(filter) => tree.set_filter(filter),
                Doing::Height(height) => {
                    tree.height = height;
                    tree.scroll();
                }
                Doing::Take(deeper) => {
                    let mut depth = 0;
                    let row = |(num, deeper): (usize, usize)| {
                        // One deeper than the row before at most.
                        depth = if deeper == 3 { depth + 1 } else { deeper.min(depth) };
                        let depth = if num == 0 { 0 } else { depth };
                        let status = if num % 3 == 0 { OPEN } else { DONE };
                        Row::of(num as u64, depth, "Work", status)
                    };
                    tree.take(Row::tree(deeper.into_iter().enumerate().map(row).collect()));
                }
            }
            if tree.height > 0 && tree.visible() > 0 {
                let count = tree.on_screen().filter(|(_, is_selected, _)| *is_selected).count();
                prop_assert_eq!(count, 1, "{:?}", numbers(&tree));
            }
        }
    }
}
