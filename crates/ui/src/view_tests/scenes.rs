//! States to be drawn.

use std::path::PathBuf;

use callstack_core::frame::{FrameNum, Status};
use callstack_engine::EngineError;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::data::loads::{Load, Loaded};
use crate::data::messages::Piece;
use crate::data::rows::Row;
use crate::model::app::{App, Order};
use crate::options::Options;

const HOSTILE: &str =
    "a\u{1b}[2Jb\u{9b}1m\u{202e}c\u{2066}d\u{7f}\r\n\t日本語タイトル \u{200f}e\u{301}";
/// The present time, in milliseconds since 1970.
const NOW: i64 = 600_000;

fn resume(host: &str, session: &str) -> Option<Vec<String>> {
    (host == "opencode").then(|| vec!["opencode".to_owned(), "-s".to_owned(), session.to_owned()])
}

/// A view of which nothing is known yet.
fn app() -> App {
    let options = Options {
        project: PathBuf::from("/project"),
        colours: true,
        editor: vec!["vi".to_owned()],
        resume,
        for_a_terminal: ToString::to_string,
    };
    App::new(options, NOW)
}

fn with(rows: Vec<Row>) -> App {
    let mut app = app();
    app.loaded(Loaded::Tree(Ok(Row::tree(rows))));
    answer(&mut app);
    app
}

pub(crate) fn empty() -> App {
    let mut app = app();
    app.loaded(Loaded::Tree(Ok(Vec::new())));
    app.loaded(Loaded::Window(Err(EngineError::invalid("no session has worked here yet", ""))));
    app
}

pub(crate) fn one_frame() -> App {
    let mut row = Row::of(1, 0, "Build the parser", Status::InProgress);
    row.active = true;
    with(vec![row])
}

pub(crate) fn many(count: u64) -> Vec<Row> {
    let row = |num: u64| {
        let status = Status::ALL[usize::try_from(num % 6).unwrap()];
        let depth = usize::try_from(num % 15).unwrap();
        Row::of(num, depth, &format!("Unit of work number {num}"), status)
    };
    Row::tree((0..count).map(row).collect())
}

pub(crate) fn large(count: u64) -> App {
    with(many(count))
}

pub(crate) fn hostile() -> App {
    let mut rows: Vec<_> = (1..9)
        .map(|num| {
            let depth = usize::try_from(num - 1).unwrap() * 7;
            Row::of(num, depth, HOSTILE, Status::InProgress)
        })
        .collect();
    rows[7].session = Some(HOSTILE.to_owned());
    let mut app = with(rows);
    app.notice = Some(HOSTILE.to_owned());
    app
}

pub(crate) fn damaged() -> App {
    let mut app = app();
    let mut error = EngineError::invalid(
        "the store /project/.callstack/callstack.db is damaged: database disk image is malformed",
        "`callstack doctor` looks closer.",
    );
    app.loaded(Loaded::Window(Err(error.clone())));
    error.hint = None;
    app.loaded(Loaded::Tree(Err(error)));
    app
}

pub(crate) fn refused() -> EngineError {
    EngineError::invalid(
        "frame f4 \"Try a generator\" is failed",
        "`callstack reopen f4` brings it back.",
    )
}

/// A parser that is being built; a frame that failed is selected.
pub(crate) fn busy() -> App {
    let mut rows = vec![
        Row::of(1, 0, "Build the parser", Status::InProgress),
        Row::of(2, 1, "Read the grammar", Status::Completed),
        Row::of(3, 2, "Find the grammar", Status::Completed),
        Row::of(4, 1, "Try a generator", Status::Failed),
        Row::of(5, 1, "Write the parser", Status::InProgress),
        Row::of(6, 1, "Document the errors", Status::Planned),
    ];
    rows[4].active = true;
    rows[1].still_sent = true;
    let mut app = with(rows);
    app.tree.select(FrameNum(4));
    app.follow();
    answer(&mut app);
    app
}

fn of<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Answers everything that the view has asked.
pub(crate) fn answer(app: &mut App) {
    loop {
        let asked: Vec<_> = std::mem::take(&mut app.orders);
        let loads = asked.into_iter().filter_map(|order| match order {
            Order::Load(load) => Some(load),
            _ => None,
        });
        let loaded: Vec<_> = loads.filter_map(|load| reply(app, load)).collect();
        if loaded.is_empty() {
            return;
        }
        for it in loaded {
            app.loaded(it);
        }
    }
}

fn reply(app: &App, load: Load) -> Option<Loaded> {
    Some(match load {
        Load::Tree | Load::Do(_) => return None,
        Load::Details(frame) => Loaded::Details(frame, Box::new(Ok(of(details(app, frame))))),
        Load::Log { frame: FrameNum(4), from, .. } => log(from, (from + 30).min(100)),
        Load::Log { frame, .. } => Loaded::Log(frame, Ok(Piece::default())),
        Load::Diff(frame) => Loaded::Diff(frame, Ok(of(diff(frame)))),
        Load::Sent { session, .. } => Loaded::Sent(session, Ok(of(sent()))),
        Load::Folded { frame, .. } => Loaded::Folded(frame, Ok(of(folded()))),
        Load::Window { .. } => Loaded::Window(Ok(of(window()))),
        Load::Search(text) => Loaded::Search(text, Ok(of(places()))),
        Load::Preview(rollback) => Loaded::Preview(rollback, Ok(of(plan()))),
    })
}

fn details(app: &App, frame: FrameNum) -> Value {
    let row = app.tree.row(frame).unwrap();
    let mut details = json!({"sessionID": "frm-1", "handle": frame.to_string(),
        "status": row.status, "title": row.title, "successCriteria": "cargo test is green\n\tand quiet",
        "createdAt": 60_000, "workedIn": row.session,
        "view": {"messages": 100, "tokens": 42_000, "host": "opencode"}});
    if row.status.is_finished() {
        details["endedAt"] = json!(226_000);
        details["results"] =
            json!("Errors have no positions: the generator drops them.\nSee `src/generator.rs`.");
        details["resultsSource"] = json!("agent");
    }
    if frame.0 == 4 {
        details["evidence"] = json!({
            "changes": [{"path": "src/generator.rs", "fate": "created", "added": 26, "removed": 0},
                {"path": "src/lib.rs", "fate": "edited", "added": 1, "removed": 2}],
            "checks": [{"line": "cargo test", "passed": false, "said": "2 failed, 9 passed"},
                {"line": "cargo fmt --check", "passed": true, "said": ""}],
            "failures": [{"what": "edit src/lib.rs", "how": "the text was not found"}]});
        details["pins"] = json!({"p1": "No unsafe code."});
        details["decisions"] = json!(["Recursive descent, no generator"]);
        details["changedArtifacts"] = json!({"src/lib.rs": "changed since"});
    }
    if row.title.contains('a') && row.title.contains("\\u{1b}") {
        details["title"] = json!(HOSTILE);
        details["results"] = json!(HOSTILE);
        details["pins"] = json!({"p1": HOSTILE});
        details["decisions"] = json!([HOSTILE]);
        details["artifacts"] = json!([HOSTILE]);
    }
    details
}

pub(crate) fn log(from: u64, to: u64) -> Loaded {
    let message = |place: u64| match place % 3 {
        0 => {
            json!({"place": place, "id": "m", "role": "user", "tokens": 12, "frame": "f4", "parts":
            [{"kind": "text", "origin": "user", "text": format!("message number {place}"), "chars": 20}]})
        }
        1 => json!({"place": place, "role": "assistant", "tokens": 1200, "frame": "f4", "parts": [
            {"kind": "reasoning", "origin": "agent", "text": "The generator has no positions."},
            {"kind": "text", "origin": "agent", "text": format!("message number {place}: I look \
                whether the generator keeps the positions of errors, which the tests need.")},
            {"kind": "tool", "origin": "agent", "tool": "bash", "state": "completed",
                "input": "{\"command\":\"cargo test\"}", "output": "test a ... FAILED\n\ttest b ... ok"}]}),
        _ => json!({"place": place, "role": "assistant", "frame": "f5", "parts": [
            {"kind": "tool", "origin": "agent", "tool": "read", "state": "error", "input": "{}",
                "output": HOSTILE, "cut": true, "chars": 5000},
            {"kind": "file", "origin": "user", "text": "shot.png (image/png)"},
            {"kind": "text", "origin": "agent", "text": format!("message number {place}")}]}),
    };
    let more = (to < 100).then_some(to);
    let messages: Vec<_> = (from..to).map(message).collect();
    let piece =
        json!({"frame": "f4", "total": 100, "from": from, "more": more, "messages": messages});
    Loaded::Log(FrameNum(4), Ok(of(piece)))
}

fn diff(frame: FrameNum) -> Value {
    if frame.0 != 4 {
        return json!({"files": [], "total": 0, "why": "The files were not recorded when it began."});
    }
    json!({"frame": "f4", "source": "states", "since": "begun", "until": "ended", "total": 3,
        "from": 0, "files": [
            {"path": "src/generator.rs", "kind": "created", "added": 3, "removed": 0, "seen": true,
                "patch": "@@ -0,0 +1,3 @@\n+fn generate() {\n+\tlet it = \"\u{1b}[2J\";\n+}\n"},
            {"path": "src/lib.rs", "kind": "changed", "added": 1, "removed": 2, "seen": true,
                "patch": "@@ -1,4 +1,3 @@\n mod a;\n-mod b;\n-mod c;\n+mod generator;\n mod d;\n", "cut": true},
            {"path": "logo.png", "kind": "changed", "binary": true, "seen": false}]})
}

fn sent() -> Value {
    json!({"session": "ses_1", "next": true, "total": 3, "from": 0, "messages": [
        {"place": 0, "id": "system", "role": "system", "tokens": 900, "parts":
            [{"kind": "text", "origin": "callstack", "text": "You work in frames.", "chars": 19}]},
        {"place": 1, "role": "user", "tokens": 40, "parts":
            [{"kind": "text", "origin": "user", "text": "Build the parser", "chars": 16}]},
        {"place": 2, "role": "assistant", "tokens": 300, "frame": "f1", "parts": [
            {"kind": "tool", "origin": "agent", "tool": "stack_frame_push", "state": "completed",
                "input": "{\"title\":\"Read the grammar\"}", "output": "23 rules, none left-recursive.",
                "outputOrigin": "fold", "frame": "f2"},
            {"kind": "tool", "origin": "agent", "tool": "read", "state": "completed", "input": "{}",
                "output": "a newer read shows the same", "outputOrigin": "mask"}]}]})
}

fn folded() -> Value {
    json!({"frame": "f4", "folded": true, "text": "Failed: errors have no positions.\nChanged: src/lib.rs",
        "tokensBefore": 12_000, "tokensAfter": 310, "total": 1, "from": 0, "left": [
            {"place": 0, "role": "assistant", "tokens": 800, "frame": "f4", "parts":
                [{"kind": "text", "origin": "agent", "text": "I try the generator.", "chars": 20}]}]})
}

fn window() -> Value {
    let part = |kind: &str, tokens: u64, line: &str| {
        let messages =
            json!([{"role": "assistant", "line": line, "tokens": tokens, "frame": "f1"}]);
        json!({"kind": kind, "tokens": tokens, "count": 1, "basis": "estimated", "messages": messages})
    };
    json!({"session": "ses_1", "host": "opencode", "model": "anthropic/claude-x", "limit": 200_000,
        "tokens": 40_123, "free": 159_877, "basis": "reported", "parts": [
            part("system", 21_000, "You are an agent"), part("pins", 23, HOSTILE),
            part("summary", 0, ""), part("results", 3_000, "23 rules"),
            part("user", 2_000, "Build the parser"), part("live", 14_000, "I read src/lib.rs"),
            part("notes", 100, "A reminder")]})
}

fn places() -> Value {
    let frame =
        json!({"handle": "f4", "id": "frm-4", "title": "Try a generator", "status": "failed"});
    json!([
        {"frame": frame, "kind": "frame", "message": null, "score": 2.0, "marks": [[6, 15]],
            "snippet": "Try a generator"},
        {"frame": frame, "kind": "message", "score": 1.0, "marks": [[4, 13]],
            "snippet": "the generator drops the positions", "message": {"session": "ses_1",
            "id": "m7", "role": "assistant", "position": 7, "version": 1, "outdated": false}}])
}

fn plan() -> Value {
    json!({"frame": "f4", "restored": [{"path": "src/generator.rs", "how": "removed"},
        {"path": "src/lib.rs", "how": "reverted"}],
        "left": [{"path": "logo.png", "why": "not_seen"}]})
}
