//! mini-swe-agent's trajectories: one document with the messages as the model was shown them. Older
//! versions have an action in the words of each answer, newer ones note the actions beside them.

use std::collections::VecDeque;

use callstack_core::transcript::Role;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::tools::{self, open_call, taken, text, words};
use super::transcript::{Answer, Transcript};
use super::{Format, Recorded, RecordedPart, Recording, Usage, lines};

#[derive(Deserialize)]
struct Document<'a> {
    info: Value,
    #[serde(borrow)]
    messages: Vec<&'a RawValue>,
}

/// A trajectory as it is read.
struct Trajectory {
    recording: Recording,
    transcript: Transcript,
    model: Option<String>,
    /// Calls that were not answered yet, in order.
    open: VecDeque<String>,
    /// How it begins, up to the first answer.
    beginning: String,
}

/// Reads a trajectory. It has no id, so one is made of how it begins, which stays as it grows.
pub(super) fn read(document: &str) -> Result<Vec<Recording>, serde_json::Error> {
    let file: Document<'_> = serde_json::from_str(document)?;
    let config = &file.info["config"];
    let mut trajectory = Trajectory {
        recording: Recording::new(Format::MiniSweAgent),
        transcript: Transcript::default(),
        model: config["model"]["model_name"].as_str().map(str::to_owned),
        open: VecDeque::new(),
        beginning: String::new(),
    };
    text(&config["environment"]["cwd"]).clone_into(&mut trajectory.recording.project);
    for raw in file.messages {
        match lines::value(raw.get()) {
            Ok(value) => trajectory.take(value, raw.get()),
            Err(_) => trajectory.recording.skipped.unreadable += 1,
        }
    }
    let Trajectory { mut recording, transcript, beginning, .. } = trajectory;
    recording.session = format!("mini-swe-agent-{}", tools::id_of(&beginning));
    recording.messages = transcript.messages;
    Ok(vec![recording])
}

impl Trajectory {
    fn take(&mut self, value: Value, raw: &str) {
        let is_answer = value["role"] == "assistant" || value["object"] == "response";
        let no_answer_yet = !self.transcript.messages.iter().any(|it| it.role == Role::Assistant);
        if no_answer_yet {
            self.beginning.push_str(&tools::content(&value["content"]));
        }
        match text(&value["role"]) {
            _ if is_answer => self.answer(value, raw),
            "user" | "tool" => self.shown(&value, raw, no_answer_yet),
            "" if value["type"] == "function_call_output" => self.shown(&value, raw, false),
            // It ends the session, and answers the call that ended it.
            "exit" if !self.open.is_empty() => self.shown(&value, raw, false),
            role => self.recording.skipped.count(format!("message: {role}")),
        }
    }

    fn answer(&mut self, mut value: Value, raw: &str) {
        self.open.clear();
        let mut extra = taken(&mut value, "extra");
        let mut said = said(&value);
        let mut answer = Recorded::new("", Role::Assistant, at(&value, &extra));
        answer.usage = usage(&extra["response"]["usage"]).or_else(|| usage(&value["usage"]));
        answer.model.clone_from(&self.model);
        answer.records.push(raw.to_owned());
        let actions = match taken(&mut extra, "actions") {
            Value::Array(actions) => actions,
            _ => Vec::new(),
        };
        let mut calls: Vec<(Option<String>, String)> = actions
            .iter()
            .chain(value["tool_calls"].as_array().into_iter().flatten())
            .filter_map(command)
            .collect();
        if !actions.is_empty() {
            calls.truncate(actions.len());
        }
        if let Some((before, command, after)) = block(&said) {
            if calls.is_empty() {
                calls.push((None, command.to_owned()));
            }
            if calls.iter().any(|(_, it)| it.trim() == command) {
                said = format!("{}{}", before.trim_end(), after.trim_end());
            }
        }
        if !said.trim().is_empty() {
            answer.parts.push(words(said, false));
        }
        let place = self.transcript.push(answer);
        for (at, (id, command)) in calls.into_iter().enumerate() {
            let id = id.unwrap_or_else(|| format!("call-{place}-{}", at + 1));
            let call = open_call(&id, "bash", json!({ "command": command }));
            self.transcript.add(place, RecordedPart::Call(Box::new(call)));
            self.open.push_back(id);
        }
    }

    /// Adds a message to the model: the result of a call, else words. `asked` where it did not answer yet.
    fn shown(&mut self, value: &Value, raw: &str, asked: bool) {
        let extra = &value["extra"];
        let interrupt = text(&extra["interrupt_type"]);
        let named = [&value["tool_call_id"], &value["call_id"]].into_iter().find_map(Value::as_str);
        let named = named.and_then(|id| self.open.iter().position(|open| open == id));
        let next = (!self.open.is_empty() && interrupt.is_empty()).then_some(0);
        let at = at(value, extra);
        if let Some(call) = named.or(next).and_then(|place| self.open.remove(place)) {
            let shown =
                if value["output"].is_null() { &value["content"] } else { &value["output"] };
            let output = tools::content(shown);
            let exit = extra["returncode"].as_i64().or_else(|| exit(&output));
            let answer = Answer { output, failed: exit.is_some_and(|it| it != 0), exit, at };
            self.transcript.answer(&call, answer, Some(raw));
            return;
        }
        let mut user = Recorded::new("", Role::User, at);
        let of_user = asked || interrupt.starts_with("User");
        user.parts.push(words(tools::content(&value["content"]), !of_user));
        user.records.push(raw.to_owned());
        self.transcript.push(user);
    }
}

/// Returns the text of an answer: its content, or the words of its output items.
fn said(value: &Value) -> String {
    let items = value["output"].as_array().into_iter().flatten();
    let said: Vec<String> = items
        .filter(|item| item["type"] == "message")
        .map(|item| tools::content(&item["content"]))
        .collect();
    if said.is_empty() { tools::content(&value["content"]) } else { said.join("\n") }
}

/// The id and the command of an action, or of a call of the tool.
fn command(action: &Value) -> Option<(Option<String>, String)> {
    let id = [&action["tool_call_id"], &action["id"]].into_iter().find_map(Value::as_str);
    let arguments = text(&action["function"]["arguments"]);
    let arguments = serde_json::from_str::<Value>(arguments).unwrap_or_default();
    let command =
        [&action["command"], &arguments["command"]].into_iter().find_map(Value::as_str)?;
    Some((id.map(str::to_owned), command.to_owned()))
}

/// Returns the one action in the words of an answer, and the text before and after it. Several are refused.
fn block(said: &str) -> Option<(&str, &str, &str)> {
    let fence = ["```mswea_bash_command", "```bash"].into_iter().find(|it| said.contains(it))?;
    let (before, rest) = said.split_once(fence)?;
    let (command, after) = rest.split_once("\n```")?;
    let is_only = !after.contains(fence);
    is_only.then(|| (before, command.trim(), after))
}

fn exit(output: &str) -> Option<i64> {
    let (_, rest) = output.split_once("<returncode>")?;
    rest.split_once("</returncode>")?.0.trim().parse().ok()
}

/// Its times are seconds.
fn at(value: &Value, extra: &Value) -> Option<i64> {
    let seconds = [&extra["timestamp"], &value["timestamp"]].into_iter().find_map(Value::as_f64)?;
    #[expect(clippy::cast_possible_truncation, reason = "a time stamp is far below 2^53")]
    let millis = (seconds * 1000.0) as i64;
    Some(millis)
}

fn usage(given: &Value) -> Option<Usage> {
    let count = |names: [&str; 2]| names.iter().find_map(|name| given[*name].as_u64());
    let details = [&given["prompt_tokens_details"], &given["input_tokens_details"]];
    Some(Usage {
        input: count(["prompt_tokens", "input_tokens"])?,
        cached: details.iter().find_map(|it| it["cached_tokens"].as_u64()).unwrap_or_default(),
        output: count(["completion_tokens", "output_tokens"]).unwrap_or_default(),
    })
}
