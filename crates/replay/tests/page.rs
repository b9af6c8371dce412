//! The page that is written.

use callstack_replay::{Policy, Replay, Report, html};
use insta::assert_snapshot;

use crate::sessions::work;

fn page() -> (Report, String) {
    let recording = work();
    let replay = Replay::of(&recording, &Policy::default());
    let mut report = Report::default();
    report.add("work.jsonl".to_owned(), &recording, &replay);
    let report = report.finish();
    let page = html(&report, &[replay.outline()]);
    (report, page)
}

#[test]
fn the_page_of_a_session() {
    assert_snapshot!(page().1);
}

#[test]
fn the_page_needs_no_other_file_and_runs_nothing() {
    let (_, page) = page();
    for foreign in ["http://", "https://", "<script", "<link", "<img", "url(", "@import", "<times>"]
    {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn the_page_tells_the_figures_of_the_report() {
    let (report, page) = page();
    for way in &report.sessions[0].ways {
        let row = page.lines().find(|line| line.contains(&format!("<td>{}</td>", way.way.name())));
        let row = row.unwrap();
        let sizes = &way.conversation;
        for number in [sizes.largest, sizes.input, way.kept, way.used] {
            assert!(row.contains(&format!("<td>{number}</td>")), "{number} in {row}");
        }
        let mut rows =
            page.lines().filter(|line| line.contains(&format!("<td>{}</td>", way.way.name())));
        let row = rows.next_back().unwrap();
        for number in [way.whole.largest, way.reads, way.verbatim, way.edits] {
            assert!(row.contains(&format!("<td>{number}</td>")), "{number} in {row}");
        }
    }
}

#[test]
fn bars_of_frames_lie_inside_those_around_them() {
    let outline = Replay::of(&work(), &Policy::default()).outline();
    assert!(outline.frames.len() > 3, "{:?}", outline.frames);
    let mut around: Vec<&callstack_replay::Bar> = Vec::new();
    for bar in &outline.frames {
        around.truncate(bar.depth as usize);
        if let Some(outer) = around.last() {
            assert!(
                outer.time.0 <= bar.time.0 && bar.time.1 <= outer.time.1,
                "{bar:?} in {outer:?}"
            );
            assert!(outer.tokens.0 <= bar.tokens.0 && bar.tokens.1 <= outer.tokens.1, "{bar:?}");
        }
        around.push(bar);
    }
    let root = &outline.frames[0];
    assert_eq!((root.time, root.tokens), ((0, outline.time), (0, outline.tokens)));
}

#[test]
fn of_one_long_session_there_is_no_mean() {
    let page = |long: usize| {
        let recording = work();
        let replay = Replay::of(&recording, &Policy::default());
        let mut report = Report::default();
        (0..2).for_each(|_| report.add("work.jsonl".to_owned(), &recording, &replay));
        report.sessions[1].calls = if long == 2 { report.sessions[1].calls } else { 79 };
        html(&report.finish(), &[replay.outline(), replay.outline()])
    };
    let one = page(1);
    assert!(one.contains("<h3>Of linear</h3>") && !one.contains("In the mean"));
    let told = "<h3>In the mean of 2 sessions with at least 80 calls, of linear</h3>";
    assert!(page(2).contains(told));
}
