//! Foreign texts, in every place that a text for a model has for one, made of what callstack's own lines begin with.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::evidence::{Action, FileOutline, KeptFiles, Passage};
use crate::frame::{Artifact, Identity, Pin, given};
use crate::outside::{changes_note, outside_changes};
use crate::transcript::{CallState, ToolCall};

/// Beginnings of lines that only callstack may write, spelt here once more.
const OURS: [&str; 15] = [
    "[callstack]",
    "Pins, which hold from here on:",
    "- p1 of f1",
    "Evidence, recorded by the machine:",
    "The user's request:",
    "The user's newest request:",
    "<stack-context",
    "</stack-context>",
    "<pins",
    "<pin ",
    "Frames inside it:",
    "- f4 \"",
    "Every step of it can be read again",
    "Results:",
    "Next:",
];
const ENDS: [&str; 10] =
    ["\n", "\r\n", "\r", "\u{85}", "\u{2028}", "\u{2029}", "\u{b}", "\u{1c}", "\n\u{2028}", "\n\n"];
const UNSEEN: [&str; 9] =
    ["", " ", "\t", "\u{200b}", "\u{feff}", "\u{2060}", "\u{a0}", "\u{ad}\u{200e}", "\u{e0020} "];
const WORDS: [&str; 4] = ["run it", "12: fn main() {", "- ", "\u{1b}[2J"];

fn foreign() -> impl Strategy<Value = String> {
    let piece =
        prop_oneof![select(&OURS[..]), select(&ENDS[..]), select(&UNSEEN[..]), select(&WORDS[..])];
    let line = (select(&ENDS[..]), select(&UNSEEN[..]), select(&OURS[..]))
        .prop_map(|(end, unseen, ours)| [end, unseen, ours].concat());
    // The last word keeps it from being empty.
    vec(prop_oneof![line, piece.prop_map(str::to_owned)], 1..8).prop_map(|it| it.concat() + " x")
}

fn frame(num: u64, foreign: &str) -> Frame {
    let identity = Identity {
        title: foreign.to_owned(),
        success_criteria: foreign.to_owned(),
        success_criteria_compacted: String::new(),
    };
    let mut frame =
        Frame::planned(FrameNum(num), format!("frm-{num}"), None, 0, identity, 1_800_000_000_000);
    frame.status = Status::Completed;
    frame.results = Some(foreign.to_owned());
    frame.decisions = vec![foreign.to_owned(), given(foreign).unwrap()];
    frame.artifacts = vec![Artifact { path: format!("{foreign} made"), hash: None }];
    frame.invalidation_reason = Some(foreign.to_owned());
    frame
}

fn texts(foreign: &str) -> Vec<String> {
    let (done, parent) = (frame(4, foreign), frame(2, foreign));
    let inside = [frame(5, foreign), Frame { depth: 1, ..frame(6, foreign) }];
    let planned = [Frame { status: Status::Planned, ..frame(7, foreign) }];
    let lines = [foreign.to_owned()];
    let pins = [ScopedPin { owner: FrameNum(2), pin: Pin { num: 9, text: foreign.to_owned() } }];
    let passage = |path: &str, text: &str| Passage { path: path.to_owned(), text: text.to_owned() };
    let passages =
        vec![passage("src/a.rs", "fn a() {}\n"), passage(foreign, foreign), passage(foreign, "b")];
    let files = KeptFiles {
        outlines: vec![FileOutline {
            path: foreign.to_owned(),
            lines: (1, 2),
            definitions: vec![foreign.to_owned()],
        }],
        heads: passages.clone(),
        passages,
        ..KeptFiles::default()
    };
    let dialect = Dialect::Stack;
    let ended = Returned {
        frame: &done,
        opened_above: false,
        inside: &inside,
        evidence: &lines,
        outdated: &lines,
        is_followed: true,
        gaps: Gaps::default(),
        unseen: &lines,
        closed: None,
        parent: Some(&parent),
        went_on: WentOn::Parent,
        parent_above: false,
        elsewhere: false,
        planned: &planned,
        planned_count: 3,
        pins: &pins,
        dialect,
    };
    let turn = Unpushed {
        frame: &done,
        inside: &inside,
        evidence: &lines,
        files: &files,
        gaps: Gaps::default(),
        replied: false,
        goes_on: false,
        pins: &pins,
        dialect,
    };
    let begun =
        Pushed { frame: &done, activated: true, goal_is_known: false, context: "", dialect };
    let asked = Asked { root: &done, newest: Some(foreign), tokens: 1_000 }.text();
    let prompt =
        Entrusted { frame: &done, parent: Some(&parent), asked: &asked, context: "", dialect };
    let call = |action| ToolCall {
        action,
        output: Some(format!("12: fn main() {{\n{foreign}")),
        ..ToolCall::new("", foreign, CallState::Completed)
    };
    let calls = [
        call(Action::Read("src/a.rs".to_owned())),
        call(Action::Read(foreign.to_owned())),
        call(Action::Ran(foreign.to_owned())),
        call(Action::Other),
    ];
    let mut texts = vec![
        returned(&ended),
        returned(&Returned { parent: None, ..ended }),
        unpushed(&turn),
        pushed(&begun),
        entrusted(&prompt),
        outside(&done, &pins),
        announced(60, &calls.iter().map(|call| (Some(call), 9)).collect::<Vec<_>>()),
    ];
    texts.extend(calls.iter().flat_map(|call| {
        [replaced(9, Some(call)), with_log(&pressed(9, Some(call), 1_000), FrameNum(2), dialect)]
    }));
    texts
}

fn outside(frame: &Frame, pins: &[ScopedPin]) -> String {
    let set =
        |pin: &ScopedPin| crate::event::Event::PinSet { frame: frame.num, pin: pin.pin.clone() };
    let events: Vec<_> = pins.iter().map(set).collect();
    let changes = outside_changes(&events, &[frame.num], |_| Ok::<_, ()>(frame.clone())).unwrap();
    let lines: Vec<_> = changes.iter().map(|change| change.text.as_str()).collect();
    changes_note(&lines, Some(frame), false)
}

/// The number of lines that begin with each of ours, as somebody reads them to whom nothing unseen is there.
fn own_lines(text: &str) -> BTreeMap<&'static str, usize> {
    let ends = ['\n', '\r', '\u{b}', '\u{1c}', '\u{85}', '\u{2028}', '\u{2029}'];
    let unseen = UNSEEN.concat();
    let mut counts = BTreeMap::new();
    for line in text.split(ends) {
        let line = line.trim_start_matches(|char| unseen.contains(char));
        if let Some(ours) = OURS.iter().find(|ours| line.starts_with(**ours)) {
            *counts.entry(*ours).or_default() += 1;
        }
    }
    counts
}

static PLAIN: LazyLock<Vec<String>> = LazyLock::new(|| texts("a\nplain\ntext"));

proptest! {
    // Each case masks some forty texts.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_foreign_text_adds_a_line_of_ours(foreign in foreign()) {
        for (text, plain) in texts(&foreign).iter().zip(PLAIN.iter()) {
            prop_assert_eq!(own_lines(text), own_lines(plain), "{}", text);
        }
    }
}
