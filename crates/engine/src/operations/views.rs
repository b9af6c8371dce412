//! Operations that show people what a session's model is sent.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::{Access, Caller, CallerKind, Operate, PEOPLE, Repeated};
use crate::views::calls::{CallList, Page};
use crate::views::diff::{DiffRequest, FrameDiff, LIMIT, MOST};
use crate::views::folded::FoldedFrame;
use crate::views::frames::{FrameDetail, FrameList, FrameRequest};
use crate::views::sent::{FrameMessages, Sent};
use crate::views::window::Window;

/// Messages in one answer unless another number is asked for, and the most.
const MESSAGES: usize = 20;
const MOST_MESSAGES: usize = 100;

/// Returns a page of messages.
fn page(from: Option<usize>, count: Option<usize>) -> Page {
    let most = count.unwrap_or(MESSAGES).clamp(1, MOST_MESSAGES);
    Page { from: from.unwrap_or_default(), most }
}

/// `stack_window`.
pub(crate) struct LookAtWindow;

/// Arguments of an operation that looks at a session.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionParams {
    /// Session, or the beginning of its id; default: the caller's
    session: Option<String>,
}

impl Operate for LookAtWindow {
    const NAME: &'static str = "stack_window";
    const SUMMARY: &'static str = "What fills a session's next request: system prompt and tools, pins, \
        results, the user's words, live work, each with its messages and tokens.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = PEOPLE;
    type Params = SessionParams;
    type Output = Window;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: SessionParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let session = engine.views.session_id(params.session.as_deref(), &caller.session)?;
        let window = engine.views.window(&session, caller.reveal)?;
        Ok(Reply::new("window", window.text(), window))
    }
}

/// `stack_calls`.
pub(crate) struct LookAtCalls;

/// Arguments of `stack_calls`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallsParams {
    /// Session, or the beginning of its id; default: the caller's
    session: Option<String>,
    /// Place of the first call, from 0; default: the first
    from: Option<usize>,
    /// How many calls; default: all
    count: Option<usize>,
}

impl Operate for LookAtCalls {
    const NAME: &'static str = "stack_calls";
    const SUMMARY: &'static str = "The calls of a session's model: what each was sent and billed, what it \
        would have been without frames, and when frames left.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = PEOPLE;
    type Params = CallsParams;
    type Output = CallList;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: CallsParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let session = engine.views.session_id(params.session.as_deref(), &caller.session)?;
        let page = Page {
            from: params.from.unwrap_or_default(),
            most: params.count.unwrap_or(usize::MAX),
        };
        let calls = engine.views.calls(&session, page, &engine.savings(&session)?)?;
        Ok(Reply::new("calls", calls.text(), calls))
    }
}

/// `stack_sent`.
pub(crate) struct LookAtRequest;

/// Arguments of `stack_sent`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SentParams {
    /// Session, or the beginning of its id; default: the caller's
    session: Option<String>,
    /// Id of the message that answers the request; default: the next request
    call: Option<String>,
    /// Place of the first message, from 0; default: the first
    from: Option<usize>,
    /// How many messages; default 20, at most 100
    count: Option<usize>,
    /// Only the message with this id, whole
    message: Option<String>,
}

impl Operate for LookAtRequest {
    const NAME: &'static str = "stack_sent";
    const SUMMARY: &'static str = "A request as the model was sent it, or as the next one would be sent: \
        its messages with their bodies, in parts.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = PEOPLE;
    type Params = SentParams;
    type Output = Sent;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: SentParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let session = engine.views.session_id(params.session.as_deref(), &caller.session)?;
        let page = page(params.from, params.count);
        let (call, message) = (params.call.as_deref(), params.message.as_deref());
        let sent = engine.views.sent(&session, call, message, page, caller.reveal)?;
        let text = format!("{} of {} messages", sent.messages.len(), sent.total);
        Ok(Reply::new("request", text, sent))
    }
}

/// `stack_folded`.
pub(crate) struct LookAtFold;

/// Arguments of an operation that shows messages of a frame.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FrameParams {
    /// Handle such as f12
    frame: String,
    /// Place of the first message, from 0; default: the first
    from: Option<usize>,
    /// How many messages; default 20, at most 100
    count: Option<usize>,
}

impl Operate for LookAtFold {
    const NAME: &'static str = "stack_folded";
    const SUMMARY: &'static str =
        "What left the requests with a frame, beside the text that stands for it.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = PEOPLE;
    type Params = FrameParams;
    type Output = FoldedFrame;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: FrameParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = engine.resolve(&params.frame)?;
        let page = page(params.from, params.count);
        let folded = engine.views.folded(&frame, page, caller.reveal)?;
        Ok(Reply::new(frame.label(), folded.about(), folded))
    }
}

/// `stack_read_frame`.
pub(crate) struct ReadFrame;

impl Operate for ReadFrame {
    const NAME: &'static str = "stack_read_frame";
    const SUMMARY: &'static str =
        "The messages of a frame in the form in which requests are shown, in parts.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = PEOPLE;
    type Params = FrameParams;
    type Output = FrameMessages;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: FrameParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = engine.resolve(&params.frame)?;
        let page = page(params.from, params.count);
        let messages = engine.views.frame_messages(&frame, page, caller.reveal)?;
        Ok(Reply::new(frame.label(), messages.text(), messages))
    }
}

/// `stack_diff`.
pub(crate) struct Diff;

/// Arguments of `stack_diff`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DiffParams {
    /// Handle such as f12
    frame: String,
    /// Only the file with this path
    path: Option<String>,
    /// Place of the first file, from 0; default: the first
    from: Option<usize>,
    /// How many files; default 20, at most 100
    count: Option<usize>,
    /// Bytes of the changes of each file; default 65536, at most 1048576
    limit: Option<usize>,
}

impl Operate for Diff {
    const NAME: &'static str = "stack_diff";
    const SUMMARY: &'static str = "The changes of the project's files while a frame, and the frames below \
        it, were worked on, as hunks of a unified diff.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = PEOPLE;
    type Params = DiffParams;
    type Output = FrameDiff;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: DiffParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = engine.resolve(&params.frame)?;
        let request = DiffRequest {
            path: params.path.as_deref(),
            page: page(params.from, params.count),
            limit: params.limit.unwrap_or(LIMIT).min(MOST),
            reveal: caller.reveal,
        };
        let diff = engine.views.diff(&frame, &request)?;
        Ok(Reply::new(frame.label(), diff.text(), diff))
    }
}

/// `stack_frames`.
pub(crate) struct Frames;

/// Arguments of `stack_frames`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FramesParams {
    /// Only the frames of this session, and those below them; default: all
    session: Option<String>,
    /// Only this frame, and those below it
    frame: Option<String>,
    /// A revision: where nothing was changed since, nothing is returned
    since: Option<i64>,
    /// How much is said of each: `usual`, `titles` without results and files, or `whole` results and files with their
    /// lines. Agents of sessions are said in the usual detail alone
    detail: Option<FrameDetail>,
}

impl Operate for Frames {
    const NAME: &'static str = "stack_frames";
    const SUMMARY: &'static str = "All frames as a flat list, with times, tokens, changed files and checks of \
        each, and the sessions that worked in them.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = PEOPLE;
    type Params = FramesParams;
    type Output = FrameList;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: FramesParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let session = params.session.as_deref();
        let session = session.map(|it| engine.views.session_id(Some(it), it)).transpose()?;
        let frame = params.frame.as_deref().map(|frame| engine.resolve(frame)).transpose()?;
        let mut list = engine.views.frames(&FrameRequest {
            session: session.as_deref(),
            callers: &caller.session,
            since: params.since,
            detail: params.detail.unwrap_or_default(),
            reveal: caller.reveal,
        })?;
        if let Some(frame) = frame {
            list.keep_below(&frame.num.to_string());
        }
        let text = format!("{} frames", list.frames.len());
        Ok(Reply::new("frames", text, list))
    }
}
