//! The page that is written.

use callstack_replay::{Policy, Replay, Report, html, thousands};
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
            assert!(row.contains(&format!("<td>{}</td>", thousands(number))), "{number} in {row}");
        }
        let mut rows =
            page.lines().filter(|line| line.contains(&format!("<td>{}</td>", way.way.name())));
        let row = rows.next_back().unwrap();
        for number in [way.whole.largest, way.reads, way.verbatim, way.edits] {
            assert!(row.contains(&format!("<td>{}</td>", thousands(number))), "{number} in {row}");
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

/// The drawings of a page.
fn drawings(page: &str) -> Vec<&str> {
    let drawings = page.split("<svg ").skip(1);
    drawings.filter_map(|rest| Some(rest.split_once("</svg>")?.0)).collect()
}

fn number(tag: &str, name: &str) -> f64 {
    let (_, value) = tag.split_once(&format!(" {name}=\"")).unwrap();
    value.split('"').next().unwrap().parse().unwrap()
}

#[test]
fn no_label_leaves_its_drawing_and_none_covers_another() {
    let (_, page) = page();
    let drawings = drawings(&page);
    assert_eq!(drawings.len(), 3);
    for drawing in drawings {
        let (_, size) = drawing.split_once("viewBox=\"0 0 ").unwrap();
        let size = size.split('"').next().unwrap().split_once(' ').unwrap();
        let (width, height): (f64, f64) = (size.0.parse().unwrap(), size.1.parse().unwrap());
        let mut boxes: Vec<(f64, f64, f64)> = Vec::new();
        for text in drawing.split("<text").skip(1) {
            let (tag, rest) = text.split_once('>').unwrap();
            let label = rest.split('<').next().unwrap();
            let label = label.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">");
            // A letter of twelve units is half as wide, and a little more.
            let wide = label.chars().count() as f64 * 6.5;
            let left = match tag {
                _ if tag.contains("\"end\"") => number(tag, "x") - wide,
                _ if tag.contains("\"middle\"") => number(tag, "x") - wide / 2.0,
                _ => number(tag, "x"),
            };
            let y = number(tag, "y");
            assert!(left >= 0.0 && left + wide <= width, "{label} from {left} in {width}");
            assert!(y >= 10.0 && y <= height, "{label} at {y} in {height}");
            let covers = |other: &&(f64, f64, f64)| {
                (other.2 - y).abs() < 10.0 && other.0 < left + wide && left < other.1
            };
            assert_eq!(boxes.iter().find(covers), None, "{label} at {left}, {y}");
            boxes.push((left, left + wide, y));
        }
        assert!(boxes.len() > 3, "{drawing}");
    }
}

#[test]
fn each_frame_leads_to_its_result_its_files_and_its_log() {
    let outline = Replay::of(&work(), &Policy::default()).outline();
    let (_, page) = page();
    for bar in &outline.frames {
        let name = format!("s1-{}", bar.num);
        assert_eq!(page.matches(&format!(" id=\"{name}\"")).count(), 1, "{name}");
        for drawing in &drawings(&page)[1..] {
            assert_eq!(drawing.matches(&format!("<a href=\"#{name}\">")).count(), 1, "{name}");
        }
        let (_, told) = page.split_once(&format!(" id=\"{name}\"")).unwrap();
        let told = told.split(" id=").next().unwrap();
        assert!(told.contains("<h4>Result</h4>"), "{told}");
        assert_eq!(told.contains("<h4>Files</h4>"), !bar.files.is_empty(), "{told}");
        assert_eq!(told.matches("<li><b>").count(), bar.log.len(), "{told}");
    }
    let told = |has: fn(&callstack_replay::Bar) -> bool| outline.frames.iter().any(has);
    assert!(told(|bar| !bar.files.is_empty()) && told(|bar| !bar.log.is_empty()));
    assert!(told(|bar| bar.log.iter().any(|line| line.who == "call")));
    for link in page.split("href=\"#").skip(1) {
        let target = link.split('"').next().unwrap();
        assert!(page.contains(&format!(" id=\"{target}\"")), "{target}");
    }
}

#[test]
fn the_page_says_first_what_the_command_line_says() {
    let (report, page) = page();
    let verdict = page.split("<details>").next().unwrap();
    let (linear, frames) = (&report.sum[0].whole, &report.sum[4].whole);
    for number in [linear.largest, frames.largest, linear.input, frames.input] {
        assert!(
            verdict.contains(&format!("<td>{}</td>", thousands(number))),
            "{number}: {verdict}"
        );
    }
    assert!(linear.input >= 1_000, "there are thousands to set apart");
}
