//! The report: all that the page shows of a project, as one document for a page without a server.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::inspect::DetailsOutput;
use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::{Access, Caller, CallerKind, Operate, Repeated, TERMINAL_ONLY};
use crate::operations;
use crate::views::calls::CallList;
use crate::views::diff::FrameDiff;
use crate::views::folded::FoldedFrame;
use crate::views::frames::FrameList;
use crate::views::sent::{FrameMessages, Sent};
use crate::views::window::Window;

/// The version of the document's shape.
const VERSION: u32 = 1;
/// Bytes of a document. A browser takes long to read a larger one.
const ROOM: usize = 24 * 1024 * 1024;
/// Messages of a request, and of what a frame did.
const MESSAGES: usize = 100;

/// `stack_report`.
pub(crate) struct WriteReport;

/// Arguments of `stack_report`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportParams {
    /// Handle: only this frame and those below it; default: the whole tree
    frame: Option<String>,
    /// Only this session, and those below its frames
    session: Option<String>,
    /// The program that writes it, with its version
    by: Option<String>,
}

/// All that the page shows of a project. Parts for which there is no room are named in it.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReportDocument {
    /// `callstack-report`
    kind: &'static str,
    /// Version of the document's shape
    version: u32,
    /// When it was made, in milliseconds since 1970
    made_at: i64,
    /// The program that writes it, with its version
    by: Option<String>,
    /// `store`: it is about frames of a store
    source: &'static str,
    /// Name of the project's folder
    title: Option<String>,
    /// Handle of the frame that was asked for
    start: Option<String>,
    #[schemars(with = "FrameList")]
    frames: Value,
    /// By id
    #[schemars(with = "BTreeMap<String, ReportedSession>")]
    sessions: Map<String, Value>,
    /// By handle
    #[schemars(with = "BTreeMap<String, DetailsOutput>")]
    details: Map<String, Value>,
    /// By handle
    #[schemars(with = "BTreeMap<String, FoldedFrame>")]
    folds: Map<String, Value>,
    /// By handle
    #[schemars(with = "BTreeMap<String, FrameDiff>")]
    diffs: Map<String, Value>,
    /// By handle
    #[schemars(with = "BTreeMap<String, FrameMessages>")]
    logs: Map<String, Value>,
    /// The parts that the document lacks, a line each
    left_out: Vec<String>,
}

/// A session in a report.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it only describes the answers of other operations")]
struct ReportedSession {
    window: Window,
    calls: CallList,
    /// The next request
    sent: Sent,
}

impl Operate for WriteReport {
    const NAME: &'static str = "stack_report";
    const SUMMARY: &'static str = "All that the page shows of a project, as one document for a page \
        without a server.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = TERMINAL_ONLY;
    type Params = ReportParams;
    type Output = ReportDocument;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: ReportParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let document = report(engine, caller.reveal, params)?;
        let frames = document.frames["frames"].as_array().map_or(0, Vec::len);
        Ok(Reply::new("report", format!("A report on {frames} frames."), document))
    }
}

fn report(
    engine: &Engine,
    reveal: bool,
    params: ReportParams,
) -> Result<ReportDocument, EngineError> {
    let frame = params.frame.as_deref().map(|frame| engine.resolve(frame)).transpose()?;
    let session = params.session.as_deref().map(|it| engine.find_session(it)).transpose()?;
    let session = session.map(|(session, _)| session);
    let caller = Caller::at_terminal(session.clone().unwrap_or_default(), None, reveal);
    let mut report = Report { engine, caller, room: ROOM, left_out: Vec::new() };
    let mut frames = report.run("stack_frames", json!({ "session": session }))?;
    if let Some(frame) = &frame {
        keep_below(&mut frames, &frame.num.to_string());
    }
    let title = engine.project().file_name().map(|name| name.to_string_lossy().into_owned());
    let sessions = report.sessions(&frames);
    let handles = texts(&frames["frames"], "handle");
    let count = json!({ "count": MESSAGES });
    Ok(ReportDocument {
        kind: "callstack-report",
        version: VERSION,
        made_at: engine.kernel.now(),
        by: params.by,
        source: "store",
        title,
        start: frame.map(|frame| frame.num.to_string()),
        frames,
        sessions,
        details: report.of_frames(&handles, "details", "stack_frame_details", &json!({})),
        folds: report.of_frames(&handles, "fold", "stack_folded", &json!({})),
        diffs: report.of_frames(&handles, "files", "stack_diff", &json!({})),
        logs: report.of_frames(&handles, "log", "stack_read_frame", &count),
        left_out: report.left_out,
    })
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
