//! A replayed session as other tools draw it.

use std::collections::HashMap;

use callstack_core::frame::{Frame, FrameNum};
use callstack_core::secrets::mask;
use callstack_core::text::estimate_tokens;
use callstack_core::trace::{
    FrameTrace, ModelCall, Owners, ParentTrace, SessionTrace, Step, ToolStep, Usage, WeighedCall,
};
use callstack_core::transcript::ToolCall;
use callstack_recordings::{Recorded, RecordedPart, Recording};

use crate::replay::Replay;
use crate::ways::Strategy;

impl Replay {
    /// Returns the session with the frames that it would have had, and each call's tokens with and without these.
    /// Handles continue after `frames`, the number of those in earlier sessions.
    pub fn trace(&self, recording: &Recording, frames: u64) -> SessionTrace {
        let places: HashMap<&str, usize> =
            recording.messages.iter().enumerate().map(|(at, it)| (it.id.as_str(), at)).collect();
        let call = |message: usize, id: &str| {
            let parts = &recording.messages.get(message)?.parts;
            parts.iter().position(|part| matches!(part, RecordedPart::Call(call) if call.id == id))
        };
        let owners = Owners::new(&self.spans, |id| places.get(id).copied(), call);
        let mut builder = TraceBuilder { replay: self, frames, owners, end: None };
        let mut weighed = self.weighed().into_iter();
        let mut steps: Vec<Step> = Vec::with_capacity(recording.messages.len());
        for (place, recorded) in recording.messages.iter().enumerate() {
            let mut step = builder.step(place, recorded);
            if let Some(call) = &mut step.call {
                call.weighed = weighed.next();
            }
            steps.push(step);
        }
        SessionTrace {
            id: recording.session.clone(),
            host: recording.format.host().to_owned(),
            frames: self.frames.iter().map(|frame| builder.frame(frame)).collect(),
            guests: Vec::new(),
            steps,
        }
    }

    /// The size of each call's whole request, with frames and as recorded.
    fn weighed(&self) -> Vec<WeighedCall> {
        let (with, without) =
            (self.figures(Strategy::Frames).whole(), self.figures(Strategy::Linear).whole());
        let with = with.curve.into_iter().zip(with.bills);
        let without = without.curve.into_iter().zip(without.bills);
        let weighed =
            with.zip(without).map(|((with, billed), (without, billed_without))| WeighedCall {
                with,
                billed_with_hundredths: billed,
                without,
                billed_without_hundredths: billed_without,
            });
        weighed.collect()
    }
}

struct TraceBuilder<'r> {
    replay: &'r Replay,
    /// Frames of sessions before this one.
    frames: u64,
    owners: Owners,
    /// The end of the last step.
    end: Option<i64>,
}

impl TraceBuilder<'_> {
    fn num(&self, num: FrameNum) -> FrameNum {
        FrameNum(num.0 + self.frames)
    }

    /// Frames of recordings have handles only.
    fn id(&self, num: FrameNum) -> String {
        format!("{}/{num}", self.replay.session.id)
    }

    fn frame(&self, frame: &Frame) -> FrameTrace {
        let parent = frame.parent.map(|num| ParentTrace {
            num: self.num(num),
            id: self.id(num),
            has_begun: true,
        });
        let root = self.replay.frames.first().map_or(frame.num, |root| root.num);
        FrameTrace {
            num: self.num(frame.num),
            id: self.id(frame.num),
            parent,
            root: self.id(root),
            title: mask(&frame.identity.title).into_owned(),
            is_derived: true,
            status: frame.status,
            begun_at: Some(frame.begun_at.unwrap_or(frame.created_at)),
            ended_at: frame.ended_at,
            content: None,
        }
    }

    fn step(&mut self, place: usize, recorded: &Recorded) -> Step {
        let at = recorded.at.or(self.end).unwrap_or_default();
        // A recording has the time at which an answer was complete, not the one at which it began.
        let from = if recorded.is_answer() { self.end.map_or(at, |end| end.min(at)) } else { at };
        let frame = self.owners.at((place, 0)).map(|num| self.num(num));
        let (mut tools, mut texts) = (Vec::new(), Vec::new());
        for (part, body) in recorded.parts.iter().enumerate() {
            match body {
                RecordedPart::Call(call) => {
                    let frame = self.owners.at((place, part)).map(|num| self.num(num));
                    tools.push(self.tool(call, at, frame));
                }
                RecordedPart::Text { text, .. } => texts.push(text.as_str()),
                RecordedPart::Reasoning(_) | RecordedPart::File { .. } => {}
            }
        }
        let last = tools.iter().map(|tool| tool.to).fold(at, i64::max);
        self.end = Some(self.end.map_or(last, |end| end.max(last)));
        let words = texts.join("\n");
        Step {
            id: recorded.id.clone(),
            role: recorded.role,
            from,
            to: at,
            frame,
            tokens: self.tokens(&words),
            call: recorded.is_answer().then(|| call(recorded)),
            tools,
        }
    }

    fn tool(&self, call: &ToolCall, at: i64, frame: Option<FrameNum>) -> ToolStep {
        let output = call.output.as_deref();
        let tokens = self.tokens(&call.input.to_string()) + output.map_or(0, |it| self.tokens(it));
        ToolStep {
            frame,
            from: at,
            to: call.ended.unwrap_or(at).max(at),
            tokens,
            call: ToolCall {
                began: call.began,
                ended: call.ended,
                ..ToolCall::new(&call.id, &call.tool, call.state)
            },
            has_content: false,
        }
    }

    fn tokens(&self, text: &str) -> u64 {
        self.replay.fit.tokens(estimate_tokens(text) as u64)
    }
}

fn call(recorded: &Recorded) -> ModelCall {
    let usage = recorded.usage.unwrap_or_default();
    ModelCall {
        model: recorded.model.clone(),
        error: recorded.broken_off.then(|| "broken off".to_owned()),
        usage: Usage {
            input: usage.input,
            cached: usage.cached,
            output: usage.output,
            ..Usage::default()
        },
        ..ModelCall::default()
    }
}
