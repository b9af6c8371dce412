//! Measures trials: recorded requests of agents that used frames, and their size under the present rules.
//!
//!     cargo run -p callstack-replay --example trials -- FOLDER
//!
//! Each `*.jsonl.gz` in the folder is a session. A line of it is a request in the chat-completions format,
//! `[number, kept, messages]`: so many messages of the request before, then these. Tool lists and the other content
//! of a session's first line don't count.
//!
//! The steps that were folded away are put back, so that both rules fold the same session: the old one, by which
//! calls beside a push stayed in the parent and which has to give the recorded size, and the present one. The last
//! columns show the size under the present rule if the first frame's pop had also closed all calls before the push,
//! after the fact.

#![expect(clippy::print_stdout, reason = "what is measured is printed")]

use std::path::Path;
use std::process::{Command, ExitCode};

use callstack_core::fold::{Input, ReasoningPolicy, fold};
use callstack_core::frame::FrameNum;
use callstack_core::returned::RENDERER_VERSION;
use callstack_core::transcript::{
    Anchor, CALLS_LEAVE, CallState, Fold, FoldOp, Message, MessageKind, Part, PartBody, Role, Span,
    SpanNum, SpanOrigin, ToolCall,
};
use serde_json::Value;

fn main() -> ExitCode {
    let Some(folder) = std::env::args().nth(1) else {
        println!("skipped: name the folder that holds the trials (*.jsonl.gz)");
        return ExitCode::SUCCESS;
    };
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: there is no folder {folder}");
        return ExitCode::SUCCESS;
    };
    let mut files: Vec<_> = files.flatten().map(|file| file.path()).collect();
    files.retain(|file| file.to_string_lossy().ends_with(".jsonl.gz"));
    files.sort();
    for file in files {
        if let Err(error) = measure(&file) {
            println!("{}: {error}", file.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn measure(file: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let unpacked = Command::new("gzip").arg("-dc").arg(file).output()?;
    let text = String::from_utf8(unpacked.stdout)?;
    println!("{}", file.file_name().unwrap_or_default().to_string_lossy());
    println!(
        "  request  recorded  calls stay  calls leave  of recorded  closed since  of recorded"
    );
    let mut session = Session::default();
    let (mut recorded_all, mut leaves_all, mut since_all, mut any) = (0, 0, 0, false);
    for line in text.lines() {
        let request: Value = serde_json::from_str(line)?;
        let messages = request[2].as_array().ok_or("a line has no messages")?;
        let kept = request[1].as_u64().and_then(|kept| usize::try_from(kept).ok());
        session.take(kept.unwrap_or(0), messages);
        let recorded = size(&session.recorded);
        let stays = session.sent(CALLS_LEAVE - 1, &session.spans);
        let leaves = session.sent(RENDERER_VERSION, &session.spans);
        let since = session.sent(RENDERER_VERSION, &session.closed_since());
        let same = if stays == recorded { "" } else { "  (outputs were masked)" };
        println!(
            "  {:>7}  {recorded:>8}  {stays:>10}  {leaves:>11}  {:>11.2}  {since:>12}  {:>11.2}{same}",
            request[0],
            share(leaves, recorded),
            share(since, recorded)
        );
        any |= !session.spans.is_empty();
        if any {
            recorded_all += recorded;
            leaves_all += leaves;
            since_all += since;
        }
    }
    let shares = (share(leaves_all, recorded_all), share(since_all, recorded_all));
    println!("  from the first fold on, all: {:.2}, closed since: {:.2}", shares.0, shares.1);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^52")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn size(messages: &[Value]) -> usize {
    messages.iter().map(|message| message.to_string().chars().count()).sum()
}

/// A session with all of its words and calls.
#[derive(Default)]
struct Session {
    /// The newest request as it was recorded.
    recorded: Vec<Value>,
    /// All messages, also those that were folded away.
    whole: Vec<Value>,
    spans: Vec<Span>,
}

impl Session {
    /// Takes over a request: `kept` messages of the one before, and further ones.
    fn take(&mut self, kept: usize, messages: &[Value]) {
        let gone = self.recorded.split_off(kept.min(self.recorded.len()));
        self.recorded.extend_from_slice(messages);
        let returned = messages.iter().take(gone.len()).filter(|message| {
            let text = message["content"].as_str().unwrap_or_default();
            text.starts_with("[callstack] frame ") && text.contains(" returned: ")
        });
        let returned: Vec<_> = returned.cloned().collect();
        for result in &returned {
            self.pop(result);
        }
        let new = messages.iter().filter(|message| {
            let call = &message["tool_call_id"];
            let known = |it: &Value| call.is_string() && it["tool_call_id"] == *call;
            !self.whole.iter().any(|it| known(it) || (!gone.is_empty() && it == *message))
        });
        let new: Vec<_> = new.cloned().collect();
        self.whole.extend(new);
    }

    /// Puts the pop back that no request shows.
    fn pop(&mut self, result: &Value) {
        let call = result["tool_call_id"].as_str().unwrap_or_default().to_owned();
        let push = self.whole.iter().position(|message| calls(message).any(|it| it == call));
        let Some(push) = push else { return };
        let pop = format!("pop-{call}");
        let close = Anchor { message: Some(name(self.whole.len())), call: Some(pop.clone()) };
        self.whole.push(serde_json::json!({"role": "assistant", "tool_calls": [{"id": pop}]}));
        self.whole.push(serde_json::json!({"role": "tool", "tool_call_id": pop, "content": ""}));
        let text = result["content"].as_str().unwrap_or_default().to_owned();
        let num = self.spans.len() as u64 + 1;
        self.spans.push(Span {
            num: SpanNum(num),
            frame: FrameNum(num),
            session: "trial".to_owned(),
            open: Anchor { message: Some(name(push)), call: Some(call) },
            origin: SpanOrigin::Push,
            close: Some(close),
            outcome: None,
            close_undone: false,
            detached: false,
            foldable: true,
            fold: Some(Fold::new(text, RENDERER_VERSION)),
        });
    }

    /// The spans where the first frame's pop also closed all calls from the session's first one on.
    fn closed_since(&self) -> Vec<Span> {
        let mut spans = self.spans.clone();
        let first = self.whole.iter().enumerate().find_map(|(at, message)| {
            let call = calls(message).next();
            call.map(|call| Anchor { message: Some(name(at)), call: Some(call) })
        });
        if let (Some(first), Some(frame)) = (first, self.spans.first())
            && first != frame.open
        {
            let num = spans.len() as u64 + 1;
            spans.push(Span {
                num: SpanNum(num),
                frame: FrameNum(num),
                open: first,
                origin: SpanOrigin::Since,
                ..frame.clone()
            });
        }
        spans
    }

    /// Returns the size of the newest request if these spans were folded by this version of the renderer.
    fn sent(&self, renderer: u32, spans: &[Span]) -> usize {
        let mut spans = spans.to_vec();
        for span in &mut spans {
            span.fold.as_mut().into_iter().for_each(|fold| fold.renderer = renderer);
        }
        let transcript: Vec<Message> = self
            .whole
            .iter()
            .enumerate()
            .filter_map(|(at, message)| decoded(&name(at), message))
            .collect();
        let ops = fold(&Input {
            transcript: &transcript,
            spans: &spans,
            notes: &[],
            masks: &[],
            reasoning: ReasoningPolicy::Strip,
            stale_until: None,
            stale: &[],
        })
        .ops;
        let mut sent: Vec<(String, Value)> =
            self.whole.iter().cloned().enumerate().map(|(at, it)| (name(at), it)).collect();
        for op in &ops {
            apply(op, &mut sent);
        }
        let sent: Vec<Value> = sent.into_iter().map(|(_, message)| message).collect();
        size(&sent)
    }
}

fn name(at: usize) -> String {
    format!("m{at}")
}

fn calls(message: &Value) -> impl Iterator<Item = String> + '_ {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    calls.filter_map(|call| call["id"].as_str().map(str::to_owned))
}

fn decoded(id: &str, message: &Value) -> Option<Message> {
    let role = match message["role"].as_str()? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        // Results of calls stand with these, the system prompt is no part of a session.
        _ => return None,
    };
    let text = message["content"].as_str().unwrap_or_default();
    let mut bodies = vec![PartBody::Text {
        synthetic: false,
        chars: text.trim().chars().count(),
        head: text.chars().take(60).collect(),
    }];
    bodies.extend(
        calls(message)
            .map(|call| PartBody::from(ToolCall::new(call, "tool", CallState::Completed))),
    );
    let part = |(at, body): (usize, PartBody)| {
        let id = match &body {
            PartBody::Tool(call) => call.id.clone(),
            _ => format!("{id}.{at}"),
        };
        Part { id, body }
    };
    let parts = bodies.into_iter().enumerate().map(part).collect();
    Some(Message { id: id.to_owned(), role, standing: MessageKind::Normal, parts })
}

fn apply(op: &FoldOp, sent: &mut Vec<(String, Value)>) {
    let at = |sent: &[(String, Value)], wanted: &str| sent.iter().position(|(id, _)| id == wanted);
    let drop_results = |sent: &mut Vec<(String, Value)>, gone: &[String]| {
        sent.retain(|(_, message)| {
            !gone.iter().any(|call| message["tool_call_id"] == call.as_str())
        });
    };
    match op {
        FoldOp::Cut { from, to } => {
            let (Some(from), Some(to)) = (at(sent, from), at(sent, to)) else { return };
            let cut: Vec<_> = sent.drain(from..=to).collect();
            let gone: Vec<_> = cut.iter().flat_map(|(_, message)| calls(message)).collect();
            drop_results(sent, &gone);
        }
        FoldOp::Keep { message, parts } => {
            let Some(at) = at(sent, message) else { return };
            let all: Vec<_> = calls(&sent[at].1).collect();
            let gone: Vec<_> = all.into_iter().filter(|call| !parts.contains(call)).collect();
            if let Some(made) = sent[at].1["tool_calls"].as_array_mut() {
                made.retain(|call| !gone.iter().any(|gone| call["id"] == gone.as_str()));
            }
            drop_results(sent, &gone);
        }
        FoldOp::Output { part, text, .. } => {
            for (_, message) in sent.iter_mut() {
                if message["tool_call_id"] == part.as_str() {
                    message["content"] = text.clone().into();
                }
            }
        }
        FoldOp::Replace { .. } | FoldOp::AddToOutput { .. } | FoldOp::Join { .. } => {}
        FoldOp::Append { message, text } => {
            let Some(at) = at(sent, message) else { return };
            let said = sent[at].1["content"].as_str().unwrap_or_default();
            sent[at].1["content"] = format!("{said}\n{text}").into();
        }
        FoldOp::Insert { after, text } => {
            let Some(at) = at(sent, after) else { return };
            let message = serde_json::json!({"role": "user", "content": text});
            sent.insert(at + 1, (format!("ours-{after}"), message));
        }
    }
}
