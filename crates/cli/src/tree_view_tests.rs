use callstack_core::frame::Identity;
use callstack_engine::tree::SessionNote;

use super::*;

fn frame(num: u64, parent: Option<u64>, title: &str, status: Status) -> TreeLine {
    let identity = Identity { title: title.to_owned(), ..Identity::default() };
    let parent = parent.map(FrameNum);
    let planned = Frame::planned(FrameNum(num), format!("frm-{num}"), parent, 0, identity, 1_000);
    let ended = status.is_finished().then_some(61_000);
    let frame = Frame { status, ended_at: ended, session: Some("ses_1".to_owned()), ..planned };
    TreeLine { branches: String::new(), frame, active: false, left_open: false, still_sent: false }
}

/// A root with a planned, an open, a failed child, and seven that are done.
fn lines() -> Vec<TreeLine> {
    let mut lines = vec![frame(1, None, "Build the parser", Status::InProgress)];
    lines.extend((2..9).map(|num| frame(num, Some(1), &format!("Step {num}"), Status::Completed)));
    lines.push(frame(9, Some(1), "Try a generator", Status::Failed));
    lines.push(TreeLine { active: true, ..frame(10, Some(1), "Write it", Status::InProgress) });
    lines.push(frame(11, Some(10), "Write the lexer, with every token of it", Status::Completed));
    lines.push(frame(12, Some(1), "Document it", Status::Planned));
    lines
}

fn notes() -> TreeNotes {
    let mut notes = TreeNotes::default();
    let file = |path: &str, added, removed| ChangedFile { path: path.to_owned(), added, removed };
    notes.changed.insert(FrameNum(8), vec![file("src/a.rs", 3, 0), file("src/b.rs", 1, 12)]);
    notes.changed.insert(FrameNum(11), vec![file("lexer.rs", 90, 0); 4]);
    let checked = [(8, Checked::Passed), (9, Checked::Failed)];
    notes.checked.extend(checked.map(|(num, how)| (FrameNum(num), how)));
    let session = SessionNote { host: "cli".to_owned(), recorded: false, figures: None };
    notes.sessions.insert("ses_1".to_owned(), session);
    notes
}

fn drawn(drawing: &Drawing<'_>) -> String {
    let mut page = Page::default();
    drawing.draw(&mut page, &lines(), &notes());
    anstream::adapter::strip_str(page.as_str()).to_string()
}

const WIDE: Drawing<'_> = Drawing {
    below: None,
    session: None,
    depth: None,
    all: false,
    width: None,
    now: 301_000,
    reveal: false,
};

#[test]
fn an_imported_session_says_what_it_took() {
    let mut notes = notes();
    let lines: Vec<TreeLine> = lines().into_iter().take(1).collect();
    let mut heading = |host: &str, recorded, figures| {
        let note = SessionNote { host: host.to_owned(), recorded, figures };
        notes.sessions.insert("ses_1".to_owned(), note);
        let mut page = Page::default();
        WIDE.draw(&mut page, &lines, &notes);
        let text = anstream::adapter::strip_str(page.as_str()).to_string();
        text.lines().next().unwrap().to_owned()
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
    let mut notes = notes();
    let note = notes.sessions["ses_1"].clone();
    let ids = ["6dccd523-0000-4000-8000-000000000001", "ses_0123456789abcdef", "feedbeef"];
    notes.sessions.extend(ids.map(|id| (id.to_owned(), note.clone())));
    let known_by = |id: &str, notes: &TreeNotes| Drawing::known_by(id, notes);
    let named = ids.map(|id| known_by(id, &notes));
    assert_eq!(named, ["6dccd523", "ses_01234567", "feedbeef"]);
    notes.sessions.insert("6dccd523-1111".to_owned(), note);
    assert_eq!(known_by(ids[0], &notes), ids[0]);
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
    let mut notes = notes();
    notes.checked.insert(FrameNum(8), Checked::PassedBefore);
    let mut page = Page::default();
    WIDE.draw(&mut page, &lines(), &notes);
    let page = page.as_str();
    assert!(page.contains("b.rs +1 −12 · checks passed before the last change"), "{page}");
    assert!(!page.contains("checks pass\n"), "{page}");
}

#[test]
fn all_frames_and_only_some() {
    assert_eq!(drawn(&Drawing { all: true, ..WIDE }).lines().count(), lines().len());
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
    insta::assert_snapshot!(drawn(&Drawing { below: Some(FrameNum(10)), ..WIDE }), @"
    ▶ f10 Write it                                   5m  ← open
    └ ✓ f11 Write the lexer, with every token of it  1m  lexer.rs +90, 3 more files
    ");
    assert_eq!(drawn(&Drawing { session: Some("ses_2"), ..WIDE }), "");
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
    let mut notes = notes();
    notes.tokens.extend(
        [(1, 197_000), (8, 90_400), (9, 4_000), (11, 900)]
            .map(|(num, tokens)| (FrameNum(num), tokens)),
    );
    let drawn = |width| {
        let mut page = Page::default();
        Drawing { width, ..WIDE }.draw(&mut page, &lines(), &notes);
        anstream::adapter::strip_str(page.as_str()).to_string()
    };
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
    let mut lines = lines();
    lines.push(frame(13, Some(1), &"a title that goes on and on ".repeat(9), Status::Completed));
    lines.push(frame(14, Some(1), "Say it", Status::Completed));
    lines[13].frame.results = Some("It says\nwhat it does".to_owned());
    let mut page = Page::default();
    Drawing { width: Some(100), below: None, ..WIDE }.draw(&mut page, &lines, &notes());
    let drawn = anstream::adapter::strip_str(page.as_str()).to_string();
    let noted: Vec<&str> =
        drawn.lines().filter(|line| line.contains("+3") || line.contains("It says")).collect();
    insta::assert_snapshot!(noted.join("\n"), @"
    ├ ✓ f8 Step 8                                         1m  a.rs +3, b.rs +1 −12 · checks pass
    └ ✓ f14 Say it                                        1m  It says what it does
    ");
}

#[test]
fn secrets_in_titles_files_and_results_are_masked() {
    let secret = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    let mut line = frame(1, None, &format!("Use {secret}"), Status::Completed);
    line.frame.results = Some(format!("It is {secret}"));
    for (reveal, shown) in [(false, 0), (true, 2)] {
        let mut page = Page::default();
        let drawing = Drawing { reveal, width: Some(200), ..WIDE };
        drawing.draw(&mut page, std::slice::from_ref(&line), &TreeNotes::default());
        assert_eq!(page.as_str().matches(&secret).count(), shown, "{}", page.as_str());
    }
}
