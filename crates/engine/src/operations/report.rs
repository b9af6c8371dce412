//! The report: all that the page shows of a project, as one document for a page without a server.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::inspect::{Details, DetailsOutput};
use super::views::{Diff, Frames, LookAtCalls, LookAtFold, LookAtRequest, LookAtWindow, ReadFrame};
use crate::call::Reply;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::operation::{Access, Caller, CallerKind, Operate, Repeated, TERMINAL_ONLY, typed};
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
    frames: FrameList,
    /// By id
    sessions: BTreeMap<String, ReportedSession>,
    /// By handle
    details: BTreeMap<String, DetailsOutput>,
    /// By handle
    folds: BTreeMap<String, FoldedFrame>,
    /// By handle
    diffs: BTreeMap<String, FrameDiff>,
    /// By handle
    logs: BTreeMap<String, FrameMessages>,
    /// The parts that the document lacks, a line each
    left_out: Vec<String>,
}

/// A session in a report.
#[derive(Clone, Serialize, JsonSchema)]
struct ReportedSession {
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<Window>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<CallList>,
    /// The next request
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<Sent>,
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
        let frames = document.frames.frames.len();
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
    let mut frames = report.run::<Frames>(json!({ "session": session }))?;
    if let Some(frame) = &frame {
        frames.keep_below(&frame.num.to_string());
    }
    let title = engine.project().file_name().map(|name| name.to_string_lossy().into_owned());
    let sessions = report.sessions(&frames);
    let handles: Vec<_> = frames.frames.iter().map(|frame| frame.handle.clone()).collect();
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
        details: report.of_frames::<Details>(&handles, "details", &json!({})),
        folds: report.of_frames::<LookAtFold>(&handles, "fold", &json!({})),
        diffs: report.of_frames::<Diff>(&handles, "files", &json!({})),
        logs: report.of_frames::<ReadFrame>(&handles, "log", &count),
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
    /// Returns the data of an operation's answer. Secrets are masked with the whole report.
    fn run<O: Operate>(&self, arguments: Value) -> Result<O::Output, EngineError> {
        let reply = typed::<Engine, O>(self.engine, &self.caller, arguments)?;
        reply.data.ok_or_else(|| {
            EngineError::new(Kind::Internal, format!("`{}` answered without data", O::NAME))
        })
    }

    /// Returns the data of an operation's answer where there is room for it, and names it otherwise.
    fn part<O: Operate>(&mut self, what: &str, arguments: Value) -> Option<O::Output> {
        let sized = self.run::<O>(arguments).and_then(|data| {
            let bytes = serde_json::to_vec(&data).map_err(EngineError::unwritable)?.len();
            Ok((data, bytes))
        });
        match sized {
            Ok((data, bytes)) => match self.room.checked_sub(bytes) {
                Some(room) => {
                    self.room = room;
                    return Some(data);
                }
                None => self.left_out.push(format!("{what}: there was no room for it")),
            },
            Err(error) => self.left_out.push(format!("{what}: {}", error.masked().message)),
        }
        None
    }

    fn sessions(&mut self, frames: &FrameList) -> BTreeMap<String, ReportedSession> {
        let worked_in = frames.frames.iter().filter_map(|frame| frame.session.clone());
        let mut sessions = BTreeMap::new();
        for id in worked_in.collect::<BTreeSet<_>>() {
            let of = |what: &str| format!("{what} of session {id}");
            let named = json!({ "session": id });
            let request = json!({ "session": id, "count": MESSAGES });
            let session = ReportedSession {
                window: self.part::<LookAtWindow>(&of("window"), named.clone()),
                calls: self.part::<LookAtCalls>(&of("calls"), named.clone()),
                sent: self.part::<LookAtRequest>(&of("request"), request),
            };
            sessions.insert(id, session);
        }
        sessions
    }

    /// The data of an operation for each frame.
    fn of_frames<O: Operate>(
        &mut self,
        handles: &[String],
        what: &str,
        arguments: &Value,
    ) -> BTreeMap<String, O::Output> {
        let mut parts = BTreeMap::new();
        for handle in handles {
            let mut arguments = arguments.clone();
            arguments["frame"] = handle.as_str().into();
            if let Some(data) = self.part::<O>(&format!("{what} of {handle}"), arguments) {
                parts.insert(handle.clone(), data);
            }
        }
        parts
    }
}
