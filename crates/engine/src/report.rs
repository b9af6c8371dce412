//! The report: all that the page shows of a project, as one document for a page without a server.

use std::collections::BTreeSet;

use callstack_core::transcript::Anchor;
use serde_json::{Map, Value, json};

use crate::call::{Caller, TERMINAL};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::operations;

/// The version of the document's shape.
const VERSION: u32 = 1;
/// Bytes of a document. A browser takes long to read a larger one.
const ROOM: usize = 24 * 1024 * 1024;
/// Messages of a request, and of what a frame did.
const MESSAGES: usize = 100;

/// The content of a report.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportRequest<'a> {
    /// Only this session, and those below its frames; all if there is no frame either.
    pub session: Option<&'a str>,
    /// Only this frame and those below it.
    pub frame: Option<&'a str>,
    /// The program that writes it, with its version.
    pub by: &'a str,
    /// Whether secrets are shown instead of being masked.
    pub reveal: bool,
}

/// Returns the report: a document in JSON with the data that the page asks a server for. Parts for which there is no
/// room are named in it.
pub fn report(engine: &Engine, request: &ReportRequest<'_>) -> Result<Value, EngineError> {
    let frame = request.frame.map(|frame| engine.resolve(frame)).transpose()?;
    let session = request.session.map(|session| engine.find_session(session)).transpose()?;
    let session = session.map(|(session, _)| session);
    let caller = Caller {
        session: session.clone().unwrap_or_default(),
        host: TERMINAL.to_owned(),
        anchor: Anchor { message: None, call: None },
        agent: None,
        performs: false,
        reveal: request.reveal,
        key: None,
    };
    let mut report = Report { engine, caller, room: ROOM, left_out: Vec::new() };
    let mut frames = report.run("stack_frames", json!({ "session": session }))?;
    if let Some(frame) = &frame {
        keep_below(&mut frames, &frame.num.to_string());
    }
    let title = engine.project().file_name().map(|name| name.to_string_lossy().into_owned());
    let sessions = report.sessions(&frames);
    let handles = texts(&frames["frames"], "handle");
    let details = report.of_frames(&handles, "details", "stack_frame_details", &json!({}));
    let count = json!({ "count": MESSAGES });
    let folds = report.of_frames(&handles, "fold", "stack_folded", &json!({}));
    let diffs = report.of_frames(&handles, "files", "stack_diff", &json!({}));
    let logs = report.of_frames(&handles, "log", "stack_read_frame", &count);
    Ok(json!({
        "kind": "callstack-report",
        "version": VERSION,
        "madeAt": engine.kernel.now(),
        "by": request.by,
        "source": "store",
        "title": title,
        "start": frame.map(|frame| frame.num.to_string()),
        "frames": frames,
        "sessions": sessions,
        "details": details,
        "folds": folds,
        "diffs": diffs,
        "logs": logs,
        "leftOut": report.left_out,
    }))
}

struct Report<'e> {
    engine: &'e Engine,
    caller: Caller,
    /// Bytes that are left.
    room: usize,
    /// The parts that the document lacks, a line each.
    left_out: Vec<String>,
}

impl Report<'_> {
    fn run(&self, name: &str, arguments: Value) -> Result<Value, EngineError> {
        let operation = operations::find(name).ok_or_else(|| {
            EngineError::invalid(
                format!("there is no operation `{name}`"),
                "It is a mistake in callstack.",
            )
        })?;
        Ok(operation.run(self.engine, &self.caller, arguments)?.data)
    }

    /// Adds an answer where there is room for it, and names it otherwise.
    fn add(
        &mut self,
        to: &mut Map<String, Value>,
        key: &str,
        what: &str,
        name: &str,
        arguments: Value,
    ) {
        match self.run(name, arguments) {
            Ok(data) => {
                let bytes = data.to_string().len();
                match self.room.checked_sub(bytes) {
                    Some(room) => {
                        self.room = room;
                        to.insert(key.to_owned(), data);
                    }
                    None => self.left_out.push(format!("{what}: there was no room for it")),
                }
            }
            Err(error) => self.left_out.push(format!("{what}: {}", error.masked().message)),
        }
    }

    fn sessions(&mut self, frames: &Value) -> Map<String, Value> {
        let mut sessions = Map::new();
        let worked_in: BTreeSet<String> = texts(&frames["frames"], "session").into_iter().collect();
        for id in worked_in {
            let mut session = Map::new();
            let of = |what: &str| format!("{what} of session {id}");
            let named = json!({ "session": id });
            self.add(&mut session, "window", &of("window"), "stack_window", named.clone());
            self.add(&mut session, "calls", &of("calls"), "stack_calls", named.clone());
            let request = json!({ "session": id, "count": MESSAGES });
            self.add(&mut session, "sent", &of("request"), "stack_sent", request);
            sessions.insert(id, session.into());
        }
        sessions
    }

    /// The answers of an operation for each frame.
    fn of_frames(
        &mut self,
        handles: &[String],
        what: &str,
        name: &str,
        arguments: &Value,
    ) -> Map<String, Value> {
        let mut answers = Map::new();
        for handle in handles {
            let mut arguments = arguments.clone();
            arguments["frame"] = handle.as_str().into();
            self.add(&mut answers, handle, &format!("{what} of {handle}"), name, arguments);
        }
        answers
    }
}

/// Keeps only a frame and those below it.
fn keep_below(list: &mut Value, top: &str) {
    let mut kept = BTreeSet::from([top.to_owned()]);
    if let Some(frames) = list["frames"].as_array_mut() {
        frames.retain(|frame| {
            let is_below = frame["parent"].as_str().is_some_and(|parent| kept.contains(parent));
            let handle = frame["handle"].as_str().unwrap_or_default();
            is_below && kept.insert(handle.to_owned()) || handle == top
        });
    }
    let sessions: BTreeSet<String> = texts(&list["frames"], "session").into_iter().collect();
    if let Some(listed) = list["sessions"].as_array_mut() {
        listed.retain(|session| session["id"].as_str().is_some_and(|id| sessions.contains(id)));
    }
}

fn texts(list: &Value, field: &str) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|it| it[field].as_str().map(str::to_owned)).collect()
}
