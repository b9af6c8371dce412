//! Messages that describe the work in them, and the reader that takes evidence from them: `did` holds
//! `{"ran":line,"exit":code,"output":text}`, `{"read":path,"output":text}`, `{"wrote":path}` and
//! `{"wrote":path,"before":text,"after":text}`.

use std::path::Path;

use callstack_core::evidence::{Action, Activity, Edit};
use callstack_core::transcript::{CallState, ToolCall};
use callstack_engine::HostMessage;
use serde_json::Value;

/// Has a message say what was done in it.
pub(crate) fn did(shown: &mut HostMessage, doings: impl IntoIterator<Item = Value>) {
    let mut message: Value = serde_json::from_str(&shown.json).unwrap();
    message["did"] = doings.into_iter().collect();
    shown.json = message.to_string();
}

/// Reads a message: returns its words and calls, each with the id of its part.
pub(crate) fn activities(json: &str, _: &Path) -> Vec<(String, Activity)> {
    let message: Value = serde_json::from_str(json).unwrap();
    let doings = message["did"].as_array().into_iter().flatten();
    let calls = doings.enumerate().map(|(at, did)| {
        let text = |name: &str| did[name].as_str().unwrap_or_default().to_owned();
        let action = match (&did["ran"], &did["read"]) {
            (Value::Null, Value::Null) => Action::Wrote(vec![text("wrote")]),
            (Value::Null, _) => Action::Read(text("read")),
            _ => Action::Ran(text("ran")),
        };
        let before = did["before"].as_str().map(str::to_owned);
        let replaced = |after: &str| Edit {
            path: text("wrote"),
            before,
            after: after.to_owned(),
            ..Edit::default()
        };
        let edits = did["after"].as_str().map(replaced).into_iter().collect();
        let (input, output) = (text("ran").into(), Some(text("output")));
        let exit = did["exit"].as_i64();
        let call = ToolCall::new("", "", CallState::Completed);
        let call = ToolCall { input, output, exit, action, edits, ..call };
        (at.to_string(), Activity::called(call))
    });
    calls.collect()
}
