//! The spans of a session.

use std::collections::HashMap;

use callstack_core::control::escape_line;
use callstack_core::frame::{FrameNum, Status};
use callstack_core::trace::{FrameTrace, ModelCall, SessionTrace, Step, ToolStep};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{self, Span};

use super::attributes::{self as names, Attributes};
use super::{content, ids, providers};
use crate::About;

/// Nanoseconds in a millisecond.
const NANO: u64 = 1_000_000;
/// The error of a call of which nothing more is known.
const FAILED: &str = "_OTHER";

/// Returns the spans of a session: its frames, then their calls in order.
pub(super) fn of(about: &About, session: &SessionTrace) -> Vec<Span> {
    let frames = session.all_frames().map(|frame| (frame.num, frame)).collect();
    let first = session.steps.iter().find_map(|step| step.call.as_ref());
    let around = Around { about, session, frames, worked: worked(session), first };
    let mut spans: Vec<Span> =
        session.frames.iter().filter_map(|frame| around.of_frame(frame)).collect();
    for step in &session.steps {
        spans.extend(step.call.as_ref().map(|call| around.of_call(step, call)));
        let tools = step.tools.iter().enumerate();
        spans.extend(tools.map(|(place, tool)| around.of_tool(step, place, tool)));
    }
    spans
}

/// The data of a frame from the steps of its session.
#[derive(Clone, Copy)]
struct Worked<'a> {
    from: i64,
    to: i64,
    call: Option<&'a ModelCall>,
}

/// Returns the beginning and the end of the steps of each frame.
fn worked(session: &SessionTrace) -> HashMap<FrameNum, Worked<'_>> {
    let mut worked: HashMap<FrameNum, Worked<'_>> = HashMap::new();
    let mut add = |frame: Option<FrameNum>, from: i64, to: i64, call| {
        let Some(frame) = frame else { return };
        let known = worked.entry(frame).or_insert(Worked { from, to, call });
        (known.from, known.to) = (known.from.min(from), known.to.max(to));
        known.call = known.call.or(call);
    };
    for step in &session.steps {
        let call = step.call.as_ref();
        add(step.frame, step.from, step.to, call);
        for tool in &step.tools {
            add(tool.frame, tool.from, tool.to, call);
        }
    }
    worked
}

struct Around<'a> {
    about: &'a About,
    session: &'a SessionTrace,
    frames: HashMap<FrameNum, &'a FrameTrace>,
    worked: HashMap<FrameNum, Worked<'a>>,
    /// The first call of the session.
    first: Option<&'a ModelCall>,
}

impl Around<'_> {
    fn of_frame(&self, frame: &FrameTrace) -> Option<Span> {
        let begun = frame.begun_at?;
        let worked = self.worked.get(&frame.num);
        let from = worked.map_or(begun, |worked| worked.from.min(begun));
        let last = worked.map_or(from, |worked| worked.to);
        // One that is still open lasts until now.
        let is_open = !frame.status.is_finished();
        let ended = frame.ended_at.unwrap_or(if is_open { self.about.at } else { last });
        let call = worked.and_then(|worked| worked.call).or(self.first);
        let agent = call.and_then(|call| call.agent.as_deref()).unwrap_or(&self.session.host);
        let (provider, model) =
            call.map_or((None, None), |it| (it.provider.as_deref(), it.model.as_deref()));
        let title = title(frame);
        let content = frame.content.as_ref();
        let attributes = Attributes::default()
            .text(names::OPERATION, "invoke_agent")
            .text(names::PROVIDER, providers::provider(provider, model))
            .text(names::CONVERSATION, &self.session.id)
            .text(names::AGENT_NAME, agent)
            .text(names::AGENT_ID, &frame.id)
            .text("callstack.frame", &frame.num.to_string())
            .text("callstack.frame.status", frame.status.as_str())
            .text_if("callstack.frame.title", title.as_deref())
            .text_if("callstack.frame.criteria", content.map(|it| it.criteria.as_str()))
            .text_if("callstack.frame.results", content.and_then(|it| it.results.as_deref()))
            .text("callstack.host", &self.session.host);
        let failed = (frame.status == Status::Failed).then_some("failed");
        let parent = frame.parent.as_ref().filter(|parent| parent.has_begun);
        Some(Span {
            trace_id: ids::trace(&frame.root),
            span_id: ids::frame(&frame.id),
            parent_span_id: parent.map(|parent| ids::frame(&parent.id)).unwrap_or_default(),
            name: match title {
                Some(title) => format!("invoke_agent {agent}: {} {title}", frame.num),
                None => format!("invoke_agent {agent}: {}", frame.num),
            },
            attributes: attributes.text_if(names::ERROR, failed).done(),
            status: failed.map(error),
            ..timed(from, ended.max(last), SpanKind::Internal)
        })
    }

    fn of_call(&self, step: &Step, call: &ModelCall) -> Span {
        let model = call.model.as_deref();
        let usage = call.usage;
        let finish: Vec<&str> = call.finish.as_deref().into_iter().collect();
        let mut attributes = Attributes::default()
            .text(names::OPERATION, "chat")
            .text(names::PROVIDER, providers::provider(call.provider.as_deref(), model))
            .text(names::CONVERSATION, &self.session.id)
            .text_if(names::AGENT_NAME, call.agent.as_deref())
            .text_if(names::MODEL, model)
            .text(names::RESPONSE_ID, &step.id)
            .number(names::INPUT_TOKENS, usage.input)
            .number(names::OUTPUT_TOKENS, usage.output)
            .number_if_any(names::CACHE_READ, usage.cached)
            .number_if_any(names::CACHE_CREATION, usage.cache_written)
            .number_if_any(names::REASONING, usage.reasoning)
            .text_if("callstack.frame", step.frame.map(|num| num.to_string()).as_deref());
        if let Some(weighed) = call.weighed {
            attributes = attributes
                .number("callstack.tokens.with_frames", weighed.with)
                .number("callstack.tokens.without_frames", weighed.without);
        }
        if !finish.is_empty() {
            attributes = attributes.texts(names::FINISH_REASONS, &finish);
        }
        attributes = attributes
            .text_if(names::OUTPUT_MESSAGES, content::output(step).as_deref())
            .text_if(names::ERROR, call.error.as_deref());
        Span {
            trace_id: self.trace(step.frame),
            span_id: ids::call(&self.session.id, &step.id),
            parent_span_id: self.parent(step.frame),
            name: model.map_or_else(|| "chat".to_owned(), |model| format!("chat {model}")),
            attributes: attributes.done(),
            status: call.error.as_deref().map(error),
            ..timed(step.from, step.to, SpanKind::Client)
        }
    }

    fn of_tool(&self, step: &Step, place: usize, tool: &ToolStep) -> Span {
        let call = &tool.call;
        let arguments = tool.has_content.then(|| call.input.to_string());
        let result = call.output.as_deref().filter(|_| tool.has_content);
        let failed = call.is_failed().then_some(FAILED);
        let attributes = Attributes::default()
            .text(names::OPERATION, "execute_tool")
            .text(names::CONVERSATION, &self.session.id)
            .text(names::TOOL_NAME, &call.tool)
            .text(names::TOOL_CALL, &call.id)
            .text(names::TOOL_TYPE, "function")
            .text_if(names::TOOL_ARGUMENTS, arguments.as_deref())
            .text_if(names::TOOL_RESULT, result)
            .text_if("callstack.frame", tool.frame.map(|num| num.to_string()).as_deref())
            .text_if(names::ERROR, failed);
        Span {
            trace_id: self.trace(tool.frame),
            span_id: ids::tool(&self.session.id, &step.id, place, &call.id),
            parent_span_id: self.parent(tool.frame),
            name: format!("execute_tool {}", call.tool),
            attributes: attributes.done(),
            status: failed.map(error),
            ..timed(tool.from, tool.to, SpanKind::Internal)
        }
    }

    fn trace(&self, frame: Option<FrameNum>) -> Vec<u8> {
        let frame = frame.and_then(|num| self.frames.get(&num));
        ids::trace(frame.map_or(&self.session.id, |frame| &frame.root))
    }

    fn parent(&self, frame: Option<FrameNum>) -> Vec<u8> {
        let frame = frame.and_then(|num| self.frames.get(&num));
        let frame = frame.filter(|frame| frame.begun_at.is_some());
        frame.map(|frame| ids::frame(&frame.id)).unwrap_or_default()
    }
}

/// The title of a frame. One that was guessed from the user's words is content.
fn title(frame: &FrameTrace) -> Option<String> {
    let may = !frame.is_derived || frame.content.is_some();
    Some(escape_line(frame.title.trim()).into_owned()).filter(|title| may && !title.is_empty())
}

fn timed(from: i64, to: i64, kind: SpanKind) -> Span {
    let nano = |at: i64| u64::try_from(at).unwrap_or_default().saturating_mul(NANO);
    Span {
        start_time_unix_nano: nano(from),
        end_time_unix_nano: nano(to.max(from)),
        kind: kind.into(),
        ..Span::default()
    }
}

fn error(why: &str) -> v1::Status {
    v1::Status { message: why.to_owned(), code: StatusCode::Error.into() }
}
