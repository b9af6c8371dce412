//! The document that the page shows of replayed sessions: in the shape of a project's report, with the replay's own
//! figures beside it.

use std::collections::BTreeSet;

use callstack_core::frame::Status;
use serde_json::{Map, Value, json};

use crate::format::rounded;
use crate::outline::{Bar, Outline};
use crate::report::{Report, SessionReport};
use crate::ways::Strategy;

/// Characters of a frame's results in the list of frames.
const RESULTS: usize = 160;
/// The version of the document's shape.
const VERSION: u32 = 1;

/// Returns the document in JSON. Outlines are those of the report's sessions, in their order; `made_at` is in
/// milliseconds since 1970, and `by` the program that writes it, with its version.
pub fn document(report: &Report, outlines: &[Outline], made_at: i64, by: &str) -> Value {
    let mut parts = Parts::default();
    let several = outlines.len() > 1;
    for (number, (session, outline)) in (1..).zip(report.sessions.iter().zip(outlines)) {
        let prefix = if several { format!("{number}.") } else { String::new() };
        parts.add(&prefix, session, outline);
    }
    let title = match &report.sessions[..] {
        [session] => session.title.clone().unwrap_or_else(|| session.session.clone()),
        sessions => format!("{} recorded sessions", sessions.len()),
    };
    json!({
        "kind": "callstack-report",
        "version": VERSION,
        "madeAt": made_at,
        "by": by,
        "source": "recording",
        "title": title,
        "frames": { "revision": 0, "frames": parts.frames, "sessions": parts.listed },
        "sessions": parts.sessions,
        "details": parts.details,
        "folds": {},
        "diffs": {},
        "logs": parts.logs,
        "replay": { "report": report, "curves": parts.curves },
        "leftOut": ["files as they were, and what stands for frames: `callstack import` keeps all of it"],
    })
}

#[derive(Default)]
struct Parts {
    frames: Vec<Value>,
    listed: Vec<Value>,
    sessions: Map<String, Value>,
    details: Map<String, Value>,
    logs: Map<String, Value>,
    curves: Vec<Value>,
}

impl Parts {
    fn add(&mut self, prefix: &str, session: &SessionReport, outline: &Outline) {
        let mut around: Vec<String> = Vec::new();
        for bar in &outline.frames {
            let handle = format!("{prefix}{}", bar.num);
            around.truncate(bar.depth as usize);
            let parent = around.last().cloned();
            let below = below(&outline.frames, bar);
            self.frames.push(listed(bar, &handle, parent.as_deref(), below, session, outline));
            let details = details(bar, &handle, parent.as_deref(), &session.session, outline);
            self.details.insert(handle.clone(), details);
            self.logs.insert(handle.clone(), log(bar, &handle));
            around.push(handle);
        }
        self.listed.push(json!({
            "id": session.session,
            "host": session.format,
            "parent": session.parent,
            "recorded": true,
            "root": outline.frames.first().map(|bar| format!("{prefix}{}", bar.num)),
        }));
        let calls = calls(session, outline);
        self.sessions.insert(session.session.clone(), json!({ "calls": calls }));
        let curve = |(way, tokens): &(Strategy, Vec<u64>)| json!({ "way": way, "tokens": tokens });
        let curves: Vec<Value> = outline.curves.iter().map(curve).collect();
        self.curves.push(json!({ "session": session.session, "curves": curves }));
    }
}

/// Tokens of the frames right below one.
fn below(bars: &[Bar], around: &Bar) -> u64 {
    let after = bars.iter().skip_while(|bar| bar.num != around.num).skip(1);
    let inside = after.take_while(|bar| bar.depth > around.depth);
    let direct = inside.filter(|bar| bar.depth == around.depth + 1);
    direct.map(|bar| bar.tokens.1.saturating_sub(bar.tokens.0)).sum()
}

/// A frame as the list of a project's frames has it.
fn listed(
    bar: &Bar,
    handle: &str,
    parent: Option<&str>,
    below: u64,
    session: &SessionReport,
    outline: &Outline,
) -> Value {
    let tokens = bar.tokens.1.saturating_sub(bar.tokens.0);
    let files: BTreeSet<&str> = bar.files.iter().map(|file| path_of(file)).collect();
    json!({
        "handle": handle,
        "id": format!("{}/{handle}", session.session),
        "parent": parent,
        "depth": bar.depth,
        "title": bar.title,
        "status": bar.status,
        "sign": sign(bar),
        "session": session.session,
        "createdAt": at(outline, bar.time.0),
        "begunAt": at(outline, bar.time.0),
        "endedAt": at(outline, bar.time.1),
        "updatedAt": at(outline, bar.time.1),
        "workedMs": bar.time.1.saturating_sub(bar.time.0),
        "tokens": tokens,
        "ownTokens": tokens.saturating_sub(below),
        "result": (!bar.results.is_empty()).then(|| beginning(&bar.results)),
        "files": files,
        "added": 0,
        "removed": 0,
        "pins": 0,
        "decisions": 0,
    })
}

fn details(
    bar: &Bar,
    handle: &str,
    parent: Option<&str>,
    session: &str,
    outline: &Outline,
) -> Value {
    let results = (!bar.results.is_empty()).then_some(&bar.results);
    json!({
        "handle": handle,
        "sessionID": session,
        "title": bar.title,
        "status": bar.status,
        "successCriteria": "",
        "successCriteriaCompacted": "",
        "results": results,
        "createdAt": at(outline, bar.time.0),
        "begunAt": at(outline, bar.time.0),
        "endedAt": at(outline, bar.time.1),
        "updatedAt": at(outline, bar.time.1),
        "artifacts": bar.files,
        "decisions": [],
        "workedIn": session,
        "parent": parent,
        "planned": [],
        "view": {
            "workedMs": bar.time.1.saturating_sub(bar.time.0),
            "tokens": bar.tokens.1.saturating_sub(bar.tokens.0),
            "messages": bar.log.len() + bar.more,
            "recorded": true,
        },
    })
}

fn log(bar: &Bar, handle: &str) -> Value {
    let messages = bar.log.iter().enumerate().map(|(place, line)| {
        let (role, origin) =
            if line.who == "user" { ("user", "user") } else { ("assistant", "agent") };
        let part = json!({
            "kind": "text",
            "origin": origin,
            "text": line.text,
            "chars": line.text.chars().count(),
        });
        json!({ "place": place, "id": place.to_string(), "role": role, "tokens": 0, "parts": [part] })
    });
    let messages: Vec<Value> = messages.collect();
    let more = (bar.more > 0).then_some(messages.len());
    json!({
        "frame": handle,
        "total": messages.len() + bar.more,
        "from": 0,
        "more": more,
        "messages": messages,
    })
}

/// The calls as the views of a live session have them: sent with frames, and as recorded.
fn calls(session: &SessionReport, outline: &Outline) -> Value {
    let curve = |way: Strategy| {
        let curve = outline.curves.iter().find(|(it, _)| *it == way);
        curve.map(|(_, tokens)| tokens.as_slice()).unwrap_or_default()
    };
    let (sent, without) = (curve(Strategy::Frames), curve(Strategy::Linear));
    let calls = sent.iter().zip(without).enumerate().map(|(place, (sent, without))| {
        json!({
            "place": place,
            "message": place.to_string(),
            "tokens": sent,
            "tokensWithout": without,
        })
    });
    let calls: Vec<Value> = calls.collect();
    let of = |way: Strategy| session.ways.iter().find(|it| it.way == way);
    let billed = |way: Strategy| of(way).map_or(0, |it| rounded(it.whole.billed * 100.0));
    let input = |way: Strategy| of(way).map_or(0, |it| it.whole.input);
    let sum = json!({
        "requests": session.calls,
        "sent": input(Strategy::Frames),
        "billedHundredths": billed(Strategy::Frames),
        "sentWithout": input(Strategy::Linear),
        "billedWithoutHundredths": billed(Strategy::Linear),
    });
    json!({
        "session": session.session,
        "factor": session.tokens.factor,
        "total": calls.len(),
        "from": 0,
        "calls": calls,
        "folds": [],
        "sum": sum,
        "withChildren": sum,
        "children": 0,
    })
}

/// The beginning of results in one line.
fn beginning(results: &str) -> String {
    let line: Vec<&str> = results.split_whitespace().collect();
    let line = line.join(" ");
    match line.char_indices().nth(RESULTS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The path in a line such as `src/a.rs +26 −3`.
fn path_of(file: &str) -> &str {
    let end = [" +", " −"].iter().filter_map(|mark| file.rfind(mark)).min();
    end.map_or(file, |end| &file[..end])
}

/// A moment of the session, in milliseconds since 1970.
fn at(outline: &Outline, time: u64) -> i64 {
    outline.began.saturating_add(i64::try_from(time).unwrap_or(i64::MAX))
}

fn sign(bar: &Bar) -> &'static str {
    match bar.status {
        Status::Planned => "○",
        Status::InProgress => "▶",
        Status::Completed => "✓",
        Status::Failed => "✗",
        Status::Blocked => "‖",
        Status::Invalidated => "⊘",
    }
}
