use callstack_engine::tree::sign;
use serde_json::json;

use super::*;

fn frame(num: u64, parent: Option<u64>, title: &str, status: Status) -> ListedFrame {
    let ended = status.is_finished().then_some(61_000);
    let listed = json!({
        "handle": format!("f{num}"), "id": format!("frm-{num}"), "depth": 0, "title": title,
        "parent": parent.map(|parent| format!("f{parent}")), "status": status,
        "sign": sign(status), "session": "ses_1", "createdAt": 1_000, "updatedAt": 1_000,
        "endedAt": ended, "workedMs": 0, "tokens": 0, "ownTokens": 0, "added": 0, "removed": 0,
        "pins": 0, "decisions": 0,
    });
    serde_json::from_value(listed).unwrap()
}

/// A root with a planned, an open, a failed child, and seven that are done.
fn list() -> FrameList {
    let mut frames = vec![frame(1, None, "Build the parser", Status::InProgress)];
    frames.extend((2..9).map(|num| frame(num, Some(1), &format!("Step {num}"), Status::Completed)));
    frames.push(frame(9, Some(1), "Try a generator", Status::Failed));
    frames.push(ListedFrame { active: true, ..frame(10, Some(1), "Write it", Status::InProgress) });
    frames.push(frame(11, Some(10), "Write the lexer, with every token of it", Status::Completed));
    frames.push(frame(12, Some(1), "Document it", Status::Planned));
    let file = |path: &str, added, removed| ChangedFile { path: path.to_owned(), added, removed };
    frames[7].changes = vec![file("src/a.rs", 3, 0), file("src/b.rs", 1, 12)];
    frames[10].changes = vec![file("lexer.rs", 90, 0); 4];
    frames[7].checked = Some(CheckedView::Passed);
    frames[8].checked = Some(CheckedView::Failed);
    FrameList { frames, sessions: vec![session("ses_1", "cli")], ..FrameList::default() }
}

fn session(id: &str, host: &str) -> ListedSession {
    serde_json::from_value(json!({"id": id, "host": host, "recorded": false})).unwrap()
}

fn plain(drawing: &Drawing, list: &FrameList) -> String {
    let mut page = Page::default();
    drawing.draw(&mut page, list);
    anstream::adapter::strip_str(page.as_str()).to_string()
}

fn drawn(drawing: &Drawing) -> String {
    plain(drawing, &list())
}

const WIDE: Drawing = Drawing { below: false, depth: None, all: false, width: None, now: 301_000 };

#[test]
fn an_imported_session_says_what_it_took() {
    let mut list = list();
    list.frames.truncate(1);
    let mut heading = |host: &str, recorded, figures| {
        list.sessions = vec![ListedSession { recorded, figures, ..session("ses_1", host) }];
        plain(&WIDE, &list).lines().next().unwrap().to_owned()
    };
    let begun = 1_770_811_200_000;
    let times = Some((begun, begun + 6_480_000));
    let figures = RecordedFigures { calls: 180, times, largest: Some(145_000) };
    assert_eq!(
        heading("claude-code", true, Some(figures)),
        "Claude Code · ses_1 · 11 Feb 2026 · 180 calls · 1h 48m · largest request 145k"
    );
    let figures = RecordedFigures { calls: 1, ..RecordedFigures::default() };
    assert_eq!(heading("swe-agent", true, Some(figures)), "swe-agent · ses_1 · 1 call");
    // A session that goes on here has no end yet.
    assert!(heading("opencode", false, Some(figures)).ends_with("1970, 00:00"));
}

#[test]
fn a_uuid_is_named_by_its_first_group() {
    let ids = ["6dccd523-0000-4000-8000-000000000001", "ses_0123456789abcdef", "feedbeef"];
    let mut sessions = vec![session("ses_1", "cli")];
    sessions.extend(ids.map(|id| session(id, "cli")));
    let named = ids.map(|id| Drawing::known_by(id, &sessions));
    assert_eq!(named, ["6dccd523", "ses_01234567", "feedbeef"]);
    sessions.push(session("6dccd523-1111", "cli"));
    assert_eq!(Drawing::known_by(ids[0], &sessions), ids[0]);
}

#[test]
fn finished_frames_in_a_row_are_one_line() {
    insta::assert_snapshot!(drawn(&WIDE), @"
    ▶ f1 Build the parser                              5m
    ├ ✓ f2 Step 2                                      1m
    ├ … 5 finished (f3–f7)
    ├ ✓ f8 Step 8                                      1m  a.rs +3, b.rs +1 −12 · checks pass
    ├ ✗ f9 Try a generator                             1m  checks fail
    ├ ▶ f10 Write it                                   5m  ← open
    │ └ ✓ f11 Write the lexer, with every token of it  1m  lexer.rs +90, 3 more files
    └ ○ f12 Document it
    ");
}

#[test]
fn checks_that_passed_before_the_last_change_are_no_pass() {
    let mut list = list();
    list.frames[7].checked = Some(CheckedView::PassedBefore);
    let page = plain(&WIDE, &list);
    assert!(page.contains("b.rs +1 −12 · checks passed before the last change"), "{page}");
    assert!(!page.contains("checks pass\n"), "{page}");
}

#[test]
fn all_frames_and_only_some() {
    assert_eq!(drawn(&Drawing { all: true, ..WIDE }).lines().count(), list().frames.len());
    insta::assert_snapshot!(drawn(&Drawing { depth: Some(1), ..WIDE }), @"
    ▶ f1 Build the parser   5m
    ├ ✓ f2 Step 2           1m
    ├ … 5 finished (f3–f7)
    ├ ✓ f8 Step 8           1m  a.rs +3, b.rs +1 −12 · checks pass
    ├ ✗ f9 Try a generator  1m  checks fail
    ├ ▶ f10 Write it        5m  ← open
    │ └ … 1 below
    └ ○ f12 Document it
    ");
    let mut below = list();
    below.frames.retain(|frame| ["f10", "f11"].contains(&frame.handle.as_str()));
    insta::assert_snapshot!(plain(&Drawing { below: true, ..WIDE }, &below), @"
    ▶ f10 Write it                                   5m  ← open
    └ ✓ f11 Write the lexer, with every token of it  1m  lexer.rs +90, 3 more files
    ");
    assert_eq!(plain(&WIDE, &FrameList::default()), "");
}

#[test]
fn no_line_is_wider_than_the_terminal_and_every_frame_keeps_its_handle() {
    for width in 24..140 {
        let drawn = drawn(&Drawing { all: true, width: Some(width), ..WIDE });
        for line in drawn.lines() {
            assert!(columns(line) <= width, "{width}: {line}");
        }
        for num in 1..=12 {
            assert!(drawn.contains(&format!(" f{num} ")), "{width}: f{num} in\n{drawn}");
        }
        assert!(drawn.contains('←'), "{width}:\n{drawn}");
    }
}

#[test]
fn sizes_stand_beside_frames_where_there_is_room() {
    let mut list = list();
    for (num, tokens) in [(1, 197_000), (8, 90_400), (9, 4_000), (11, 900)] {
        list.frames[num - 1].tokens = tokens;
    }
    let drawn = |width| plain(&Drawing { width, ..WIDE }, &list);
    insta::assert_snapshot!(drawn(None), @"
    ▶ f1 Build the parser                              5m  197k ██████████
    ├ ✓ f2 Step 2                                      1m
    ├ … 5 finished (f3–f7)
    ├ ✓ f8 Step 8                                      1m   90k █████       a.rs +3, b.rs +1 −12 · checks pass
    ├ ✗ f9 Try a generator                             1m    4k ▌           checks fail
    ├ ▶ f10 Write it                                   5m                   ← open
    │ └ ✓ f11 Write the lexer, with every token of it  1m   900 ▌           lexer.rs +90, 3 more files
    └ ○ f12 Document it
    ");
    assert!(!drawn(Some(80)).contains('█') && drawn(Some(80)).contains("1m   90k"));
    assert!(!drawn(Some(60)).contains("90k"));
}

#[test]
fn a_long_title_leaves_room_for_notes() {
    let mut list = list();
    let frames = &mut list.frames;
    frames.push(frame(13, Some(1), &"a title that goes on and on ".repeat(9), Status::Completed));
    frames.push(frame(14, Some(1), "Say it", Status::Completed));
    frames[13].results = Some("It says\nwhat it does".to_owned());
    let drawn = plain(&Drawing { width: Some(100), ..WIDE }, &list);
    let noted: Vec<&str> =
        drawn.lines().filter(|line| line.contains("+3") || line.contains("It says")).collect();
    insta::assert_snapshot!(noted.join("\n"), @"
    ├ ✓ f8 Step 8                                         1m  a.rs +3, b.rs +1 −12 · checks pass
    └ ✓ f14 Say it                                        1m  It says what it does
    ");
}
