//! The document that the page shows.

use callstack_replay::{Bar, Outline, Policy, Replay, Report, Strategy, document};
use serde_json::{Value, json};

use crate::sessions::work;

fn of_sessions(count: usize) -> (Report, Outline, Value) {
    let recording = work();
    let replay = Replay::of(&recording, &Policy::default());
    let mut report = Report::default();
    for _ in 0..count {
        report.add("work.jsonl".to_owned(), &recording, &replay);
    }
    let report = report.finish();
    let outlines: Vec<Outline> = (0..count).map(|_| replay.outline()).collect();
    let document = document(&report, &outlines, 7, "callstack 0.0.0");
    (report, replay.outline(), document)
}

#[test]
fn each_frame_has_its_result_its_files_and_its_log() {
    let (_, outline, document) = of_sessions(1);
    let frames = document["frames"]["frames"].as_array().unwrap();
    assert_eq!(frames.len(), outline.frames.len());
    for (bar, frame) in outline.frames.iter().zip(frames) {
        let handle = bar.num.to_string();
        assert_eq!((&frame["handle"], &frame["depth"]), (&json!(handle), &json!(bar.depth)));
        let time = i64::try_from(bar.time.1 - bar.time.0).unwrap();
        let spent =
            |from: &str, to: &str| frame[to].as_i64().unwrap() - frame[from].as_i64().unwrap();
        assert_eq!((spent("begunAt", "endedAt"), &frame["workedMs"]), (time, &json!(time)));
        assert_eq!(frame["tokens"], bar.tokens.1 - bar.tokens.0);
        let details = &document["details"][&handle];
        assert_eq!(details["artifacts"], json!(bar.files));
        assert_eq!(details["results"].as_str().unwrap_or_default(), bar.results);
        let log = &document["logs"][&handle];
        let messages = log["messages"].as_array().unwrap();
        assert_eq!(messages.len(), bar.log.len());
        assert_eq!(log["total"], bar.log.len() + bar.more);
        for (line, message) in bar.log.iter().zip(messages) {
            assert_eq!(message["parts"][0]["text"], line.text);
        }
    }
    let any = |has: fn(&Bar) -> bool| outline.frames.iter().any(has);
    assert!(any(|bar| !bar.files.is_empty()) && any(|bar| !bar.log.is_empty()));
    let paths = frames.iter().flat_map(|frame| frame["files"].as_array().unwrap());
    for path in paths.map(|path| path.as_str().unwrap()) {
        assert!(!path.contains(" +") && !path.contains('\u{2212}'), "{path}");
    }
}

#[test]
fn a_frame_stands_below_the_one_around_it_and_counts_its_own_tokens() {
    let (_, outline, document) = of_sessions(1);
    let frames = document["frames"]["frames"].as_array().unwrap();
    let number = |frame: &Value, field: &str| frame[field].as_u64().unwrap();
    for frame in frames {
        let below = frames.iter().filter(|it| it["parent"] == frame["handle"]);
        let inside: u64 = below.clone().map(|it| number(it, "tokens")).sum();
        assert_eq!(number(frame, "ownTokens"), number(frame, "tokens").saturating_sub(inside));
        for it in below {
            assert_eq!(number(it, "depth"), number(frame, "depth") + 1);
        }
    }
    let roots = frames.iter().filter(|frame| frame["parent"].is_null());
    assert_eq!(roots.count(), 1);
    assert!(outline.frames.len() > 3);
}

#[test]
fn calls_are_those_of_the_report() {
    let (report, outline, document) = of_sessions(1);
    let session = &report.sessions[0];
    let calls = &document["sessions"][&session.session]["calls"];
    let sizes = |way: Strategy| &outline.curves.iter().find(|(it, _)| *it == way).unwrap().1;
    let each = calls["calls"].as_array().unwrap();
    assert_eq!(each.len() as u64, session.calls);
    for ((call, sent), without) in
        each.iter().zip(sizes(Strategy::Frames)).zip(sizes(Strategy::Linear))
    {
        assert_eq!((&call["tokens"], &call["tokensWithout"]), (&json!(sent), &json!(without)));
    }
    let of = |way: Strategy| session.ways.iter().find(|it| it.way == way).unwrap();
    assert_eq!(calls["sum"]["sent"], of(Strategy::Frames).whole.input);
    assert_eq!(calls["sum"]["sentWithout"], of(Strategy::Linear).whole.input);
    assert_eq!(document["replay"]["report"], json!(report));
    assert_eq!(document["replay"]["curves"][0]["curves"].as_array().unwrap().len(), 5);
}

#[test]
fn frames_of_several_sessions_are_kept_apart() {
    let (_, outline, document) = of_sessions(2);
    let frames = document["frames"]["frames"].as_array().unwrap();
    let mut handles: Vec<&str> =
        frames.iter().map(|frame| frame["handle"].as_str().unwrap()).collect();
    assert!(handles.contains(&"1.f1") && handles.contains(&"2.f1"), "{handles:?}");
    handles.sort_unstable();
    handles.dedup();
    assert_eq!(handles.len(), 2 * outline.frames.len());
    assert_eq!(document["details"].as_object().unwrap().len(), handles.len());
}

#[test]
fn bars_of_frames_lie_inside_those_around_them() {
    let outline = Replay::of(&work(), &Policy::default()).outline();
    assert!(outline.frames.len() > 3, "{:?}", outline.frames);
    let mut around: Vec<&Bar> = Vec::new();
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
