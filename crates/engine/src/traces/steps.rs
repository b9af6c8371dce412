//! The steps of a session, from its stored messages.

use std::collections::HashMap;

use callstack_core::json::counted;
use callstack_core::saving::Compared;
use callstack_core::secrets::{mask, mask_value};
use callstack_core::stored::{Call, Message, Part, PartBody};
use callstack_core::text::estimate_tokens;
use callstack_core::trace::{ModelCall, Owners, Step, ToolStep, Usage, WeighedCall};
use callstack_core::transcript::{Role, ToolCall};
use callstack_store::{StoredMessage, View};

use super::TraceRequest;
use crate::calibration::tokens_per_estimate;
use crate::error::EngineError;
use crate::saving::{Measured, began};

/// The size of a request, with frames and without.
fn of(call: &Compared) -> WeighedCall {
    WeighedCall {
        with: call.request.tokens,
        billed_with_hundredths: call.billed_hundredths,
        without: call.without,
        billed_without_hundredths: call.billed_without_hundredths,
    }
}

/// Steps in the making.
pub(super) struct Steps<'a> {
    request: &'a TraceRequest,
    /// The provider's tokens in an estimated one.
    factor: f64,
    /// The time at which the first message was stored: earlier answers are copies of another session's.
    began: i64,
    /// When the last step ended.
    end: Option<i64>,
}

/// A message with the places of its calls among its parts.
struct Read {
    step: Step,
    calls: Vec<usize>,
    /// Whether it is work of this session.
    counts: bool,
}

impl<'a> Steps<'a> {
    /// Reads the steps of a session.
    pub(super) fn read(
        view: &View<'_>,
        session: &str,
        request: &'a TraceRequest,
    ) -> Result<Vec<Step>, EngineError> {
        let stored = view.messages(session)?;
        let Some(began) = began(view, session)? else { return Ok(Vec::new()) };
        let factor = tokens_per_estimate(view, session)?;
        let mut steps = Self { request, factor, began, end: None };
        let read: Vec<Read> = stored.iter().map(|message| steps.of(message)).collect();
        let places: HashMap<&str, usize> =
            read.iter().enumerate().map(|(place, it)| (it.step.id.as_str(), place)).collect();
        let call = |place: usize, id: &str| {
            let Read { step, calls, .. } = read.get(place)?;
            let call = step.tools.iter().position(|tool| tool.call.id == id)?;
            calls.get(call).copied()
        };
        let mut weighed: HashMap<usize, WeighedCall> =
            Measured::of(view, session)?.calls.iter().map(|call| (call.place, of(call))).collect();
        let spans = view.session_spans(session)?;
        let mut owners = Owners::new(&spans, |id| places.get(id).copied(), call);
        let mut steps = Vec::with_capacity(read.len());
        for (place, Read { mut step, calls, counts }) in read.into_iter().enumerate() {
            step.frame = owners.at((place, 0));
            if let Some(call) = &mut step.call {
                call.weighed = weighed.remove(&place);
            }
            for (tool, part) in step.tools.iter_mut().zip(calls) {
                tool.frame = owners.at((place, part));
            }
            if counts {
                steps.push(step);
            }
        }
        Ok(steps)
    }

    fn of(&mut self, message: &StoredMessage) -> Read {
        let read = Message::read(&message.json).unwrap_or_default();
        let is_recorded = read.recording.is_some();
        let is_answer = read.is_of_assistant();
        let completed = read.completed;
        let is_copy = is_answer && completed.is_some_and(|at| at < self.began) && !is_recorded;
        let stored = if is_recorded { self.end } else { Some(message.at) };
        let at = read.created.or(stored).unwrap_or_default();
        // A recording has the time at which an answer was complete, not the one at which it began.
        let from = if is_answer && is_recorded && completed.is_none() {
            self.end.map_or(at, |end| end.min(at))
        } else {
            at
        };
        let (mut tools, mut calls, mut words) = (Vec::new(), Vec::new(), 0);
        for (place, part) in read.parts().iter().enumerate() {
            match &part.body {
                PartBody::Call(call) => {
                    tools.push(self.tool(call, at));
                    calls.push(place);
                }
                PartBody::Text { text, ignored: false, .. } => words += estimate_tokens(text),
                _ => {}
            }
        }
        let last = tools.iter().map(|tool| tool.to).fold(at.max(from), i64::max);
        let step = Step {
            id: message.id.clone(),
            role: if is_answer { Role::Assistant } else { Role::User },
            from,
            to: completed.unwrap_or(if is_recorded { at } else { last }).max(from),
            frame: None,
            tokens: self.scaled(words),
            call: if is_answer { self.call(&read, &tools) } else { None },
            tools,
        };
        let counts = !is_copy && !read.is_aside();
        if counts {
            self.end = Some(last.max(step.to).max(self.end.unwrap_or(i64::MIN)));
        }
        Read { step, calls, counts }
    }

    fn call(&self, message: &Message, tools: &[ToolStep]) -> Option<ModelCall> {
        let used = &message.tokens;
        let reasoning = counted(used.reasoning);
        let usage = Usage {
            input: used.sent(),
            cached: counted(used.cache_read),
            cache_written: counted(used.cache_written),
            output: counted(used.output) + reasoning,
            reasoning,
        };
        // A host writes answers in the model's place, with the calls that a command of the user's makes.
        let is_of_program = usage == Usage::default() && message.parts().len() == tools.len();
        if is_of_program {
            return None;
        }
        let said = || {
            let texts: Vec<&str> = message.parts().iter().filter_map(Part::text).collect();
            self.masked(texts.join("\n"))
        };
        let error = message.error.as_ref().and_then(|error| error["name"].as_str());
        Some(ModelCall {
            model: message.model.clone(),
            provider: message.provider.clone(),
            agent: message.agent.clone(),
            finish: message.finish.clone(),
            error: error.map(str::to_owned),
            usage,
            weighed: None,
            words: self.request.content.then(said),
        })
    }

    fn tool(&self, call: &Call, at: i64) -> ToolStep {
        let ToolCall { id, tool, state, input, began, ended, .. } = &call.made;
        let result = call.result();
        let arguments = if input.is_null() { 0 } else { estimate_tokens(&input.to_string()) };
        let tokens = self.scaled(arguments + result.map(estimate_tokens).unwrap_or_default());
        let mut shown = ToolCall {
            began: *began,
            ended: *ended,
            ..ToolCall::new(id.as_str(), tool.as_str(), *state)
        };
        let from = began.unwrap_or(at).max(at);
        let to = ended.unwrap_or(from).max(from);
        if self.request.content {
            shown.input = input.clone();
            if !self.request.reveal {
                mask_value(&mut shown.input);
            }
            shown.output = result.map(|result| self.masked(result.to_owned()));
        }
        ToolStep { call: shown, frame: None, from, to, tokens, has_content: self.request.content }
    }

    fn masked(&self, text: String) -> String {
        if self.request.reveal { text } else { mask(&text).into_owned() }
    }

    fn scaled(&self, estimated: usize) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "tokens, at least 0"
        )]
        let tokens = (estimated as f64 * self.factor).round() as u64;
        tokens
    }
}
