//! The operation that reads a frame's messages again.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::look::target;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::log::LogRequest;
use crate::operation::{Answer, Caller, Operate};

/// `stack_log`.
pub(crate) struct Log;

/// Arguments of `stack_log`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogParams {
    /// Handle; default: the open frame
    #[serde(alias = "sessionID")]
    frame: Option<String>,
    /// First message to show, from 1
    from: Option<u64>,
    /// How many messages; default 20
    count: Option<usize>,
    /// Only messages that hold these words or "quoted strings"
    query: Option<String>,
}

/// Messages that are told unless more are asked for.
const MESSAGES: usize = 20;
/// Characters after which no further message is begun: what an agent reads, it pays for.
const ENOUGH: usize = 40_000;

impl Operate for Log {
    const NAME: &'static str = "stack_log";
    const SUMMARY: &'static str = "Read again what was said and done in a frame, also after it was \
        folded away: its messages as the host showed them.";
    type Params = LogParams;

    fn run(engine: &Engine, caller: &Caller, params: LogParams) -> Result<Answer, EngineError> {
        let frame = target(engine, caller, params.frame.as_deref())?;
        let from = params.from.unwrap_or(1).max(1);
        let most = params.count.unwrap_or(MESSAGES);
        let request = LogRequest { from, most, query: params.query, ..LogRequest::default() };
        let mut part = engine.read_log(&frame, &request)?;
        let mut messages = String::new();
        let mut shown = 0;
        for entry in &part.entries {
            if messages.len() > ENOUGH {
                part.next = Some(entry.position);
                break;
            }
            messages.push_str(&entry.to_markdown(false));
            shown += 1;
        }
        part.entries.truncate(shown);
        let mut text = match &request.query {
            None => {
                let last = from - 1 + shown as u64;
                format!("{}: messages {from} to {last} of {}\n", frame.label(), part.total)
            }
            Some(query) => {
                let end = if shown == 1 { "" } else { "s" };
                let label = frame.label();
                format!("{label}: {shown} message{end} of {} with {query}\n", part.total)
            }
        };
        text.push_str(&messages);
        if let Some(next) = part.next {
            // Writing to a string can't fail.
            let _ = write!(text, "\nThere is more: go on with from {next}.");
        }
        let positions: Vec<u64> = part.entries.iter().map(|entry| entry.position).collect();
        let messages: Vec<Value> = part
            .entries
            .iter()
            .map(|entry| {
                let json = entry.to_json(false);
                serde_json::from_str(&json).unwrap_or_else(|_| json.into())
            })
            .collect();
        let data = json!({
            "frame": frame.num.to_string(),
            "total": part.total,
            "next": part.next,
            "positions": positions,
            "messages": messages,
        });
        Ok(Answer { title: frame.label(), text, data, ..Answer::default() })
    }
}
