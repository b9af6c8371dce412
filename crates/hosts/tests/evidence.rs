//! The texts for the frames of recordings name all changes, and are true. `examples/evidence` compares them with the
//! log; this compares them with known mistakes.

use super::check::folds::{self, Drawn, Half};
use super::check::judge::{Judged, judge};
use super::fixture;

fn drawn() -> Vec<Drawn> {
    folds::of(&[fixture("")], Half::Both).unwrap()
}

fn judged(all: &[Drawn]) -> Judged {
    let mut sum = Judged::default();
    for fold in all {
        sum.add(judge(fold));
    }
    sum
}

#[test]
fn what_stands_for_the_frames_of_recordings_is_whole_and_true() {
    let all = drawn();
    assert!(all.len() > 10, "{}", all.len());
    let sum = judged(&all);
    assert!(sum.is_good() && sum.statements > 20, "{sum:#?}");
}

#[test]
fn what_is_missing_or_not_true_is_found() {
    let judged_after = |change: &dyn Fn(&str) -> String| {
        let mut all = drawn();
        for fold in &mut all {
            fold.text = fold.text.lines().map(|line| change(line) + "\n").collect();
        }
        judged(&all)
    };
    let none =
        judged_after(&|line| if line.starts_with("- ") { String::new() } else { line.to_owned() });
    assert!(none.wrong.is_empty() && !none.misses.is_empty(), "{none:#?}");
    for (said, wrong) in
        [(" +", " +1"), ("read whole: ", "read whole: no/"), ("failed, exit ", "exit 9")]
    {
        let sum = judged_after(&|line| line.replacen(said, wrong, 1));
        assert!(!sum.wrong.is_empty(), "{wrong}: {sum:#?}");
    }
}
