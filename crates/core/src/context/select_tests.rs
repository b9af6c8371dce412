use super::super::MIN_RELEVANCE;
use super::super::tests::{NOW, frame};
use super::*;
use crate::frame::Status;

const GOAL: &str = "tokenizer tests";

fn sibling(num: u64, results: &str) -> Frame {
    let mut sibling = frame(num, Some(1), Status::Completed, "tokenizer tests", "");
    sibling.results = Some(results.to_owned());
    sibling
}

fn nums(selection: &Selection<'_>) -> Vec<u64> {
    selection.chosen.iter().map(|chosen| chosen.frame.num.0).collect()
}

#[test]
fn all_whole_where_there_is_room() {
    let siblings = [sibling(4, "a b c"), sibling(3, "d e f")];
    let selection = select_siblings(&siblings, 1500, GOAL, MIN_RELEVANCE, NOW);
    assert_eq!(nums(&selection), [4, 3]);
    assert!(selection.chosen.iter().all(|chosen| !chosen.truncated));
    assert_eq!(selection.omitted, 0);
}

#[test]
fn irrelevant_ones_are_omitted_and_counted() {
    let mut stranger = frame(5, Some(1), Status::Completed, "colours", "");
    stranger.updated_at = 0;
    let siblings = [stranger, sibling(4, "a")];
    let selection = select_siblings(&siblings, 1500, GOAL, MIN_RELEVANCE, NOW);
    assert_eq!((nums(&selection), selection.omitted), (vec![4], 1));
}

#[test]
fn what_does_not_fit_is_shortened_between_words_and_the_rest_counted() {
    let long = "wordy ".repeat(400);
    let siblings = [sibling(6, &long), sibling(5, &long), sibling(4, &long), sibling(3, &long)];
    let selection = select_siblings(&siblings, 120, GOAL, MIN_RELEVANCE, NOW);
    assert!(selection.tokens() <= 120);
    assert_eq!(selection.chosen.len() + selection.omitted, 4);
    assert!(selection.chosen.len() >= 2 && selection.omitted >= 1);
    for chosen in &selection.chosen {
        assert!(chosen.truncated && chosen.xml.contains("truncated=\"true\""));
    }
    assert!(selection.chosen[0].xml.contains("wordy …</results>"), "{}", selection.chosen[0].xml);
}

#[test]
fn room_that_small_ones_leave_goes_to_the_shortened() {
    let long = "wordy ".repeat(200);
    let siblings = [sibling(5, &long), sibling(4, "short")];
    let selection = select_siblings(&siblings, 300, GOAL, MIN_RELEVANCE, NOW);
    assert_eq!((nums(&selection), selection.omitted), (vec![5, 4], 0));
    assert!(selection.chosen.iter().all(|chosen| !chosen.truncated), "200 and 40 of 300 tokens");
}

#[test]
fn the_parent_is_first_and_leaves_room_for_others() {
    let current = frame(9, Some(3), Status::InProgress, "now", "");
    let mut parent = frame(3, Some(2), Status::InProgress, "parent", &"criterion ".repeat(2000));
    parent.updated_at = 0;
    let ancestors = [
        parent,
        frame(2, Some(1), Status::InProgress, "grandparent", "g"),
        frame(1, None, Status::InProgress, "root", "r"),
    ];
    let selection = select_ancestors(&ancestors, 400, &current, NOW);
    assert_eq!(nums(&selection), [3, 2, 1]);
    assert!(selection.chosen[0].truncated && !selection.chosen[2].truncated);
    assert!((330..=400).contains(&selection.tokens()), "{}", selection.tokens());
    assert_eq!(select_ancestors(&ancestors, 0, &current, NOW).omitted, 3);
}

#[test]
fn costs_are_those_of_what_is_rendered() {
    let siblings = [sibling(4, "a & b < c"), sibling(3, "d\n\n  e")];
    let selection = select_siblings(&siblings, 1500, GOAL, MIN_RELEVANCE, NOW);
    let text: String = selection.chosen.iter().map(|chosen| chosen.xml.as_str()).collect();
    assert_eq!(selection.tokens(), crate::text::estimate_tokens(&text));
}
