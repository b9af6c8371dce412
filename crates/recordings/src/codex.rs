//! Codex's rollout files: JSON lines with the items of the conversation, and events about them. The first versions
//! wrote one document.

mod compacted;

use std::collections::{BTreeMap, HashSet};
use std::io::{self, BufRead};

use callstack_core::evidence::Action;
use callstack_core::framing::{Division, Todo};
use callstack_core::json::token_count;
use callstack_core::transcript::{MessageKind, Role};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::tools::{self, open_call, taken, text, time, words};
use super::transcript::{Answer, Transcript};
use super::{Format, Parent, Recorded, RecordedPart, Recording, Usage, lines};

/// A rollout as it is read.
struct Rollout {
    recording: Recording,
    transcript: Transcript,
    model: Option<String>,
    /// The answer that is being written, and whether one of its calls was answered already.
    open: Option<(usize, bool)>,
    /// The index of an answer whose tokens have not been reported.
    unreported: Option<usize>,
    /// The user's words, by the events.
    said: HashSet<String>,
    /// Exit codes from events.
    exits: BTreeMap<String, i64>,
    /// The messages of items that have an id.
    items: BTreeMap<String, String>,
    /// Summaries without a list of the messages that they left, by their ids.
    silent: Vec<String>,
}

/// Reads a rollout.
pub(super) fn read(from: impl BufRead) -> io::Result<Vec<Recording>> {
    let mut rollout = Rollout::new();
    let mut skipped = super::Skipped::default();
    lines::each(from, &mut skipped, |raw, value| rollout.take(raw, value))?;
    rollout.recording.skipped.add(skipped);
    Ok(vec![rollout.into_recording()])
}

/// The first form of it: one document with all items.
#[derive(Deserialize)]
struct Document<'a> {
    session: Value,
    #[serde(borrow)]
    items: Vec<&'a RawValue>,
}

/// Reads a rollout of the first form.
pub(super) fn read_document(document: &str) -> Result<Vec<Recording>, serde_json::Error> {
    let document: Document<'_> = serde_json::from_str(document)?;
    let mut rollout = Rollout::new();
    rollout.meta(&document.session);
    // Items do not say when they were.
    let at = time(&document.session["timestamp"]);
    for raw in document.items {
        match lines::value(raw.get()) {
            Ok(item) => rollout.item(raw.get().to_owned(), item, at),
            Err(_) => rollout.recording.skipped.unreadable += 1,
        }
    }
    Ok(vec![rollout.into_recording()])
}

impl Rollout {
    fn new() -> Self {
        Self {
            recording: Recording::new(Format::Codex),
            transcript: Transcript::default(),
            model: None,
            open: None,
            unreported: None,
            said: HashSet::new(),
            exits: BTreeMap::new(),
            items: BTreeMap::new(),
            silent: Vec::new(),
        }
    }

    fn take(&mut self, raw: String, mut value: Value) {
        let at = time(&value["timestamp"]);
        let payload = taken(&mut value, "payload");
        let skipped = &mut self.recording.skipped;
        match text(&value["type"]) {
            "session_meta" => self.meta(&payload),
            "response_item" => self.item(raw, payload, at),
            "event_msg" => self.event(&payload),
            "turn_context" => {
                self.model = payload["model"].as_str().map(str::to_owned).or(self.model.take());
                skipped.count("turn_context");
            }
            "compacted" => self.compacted(raw, &payload, at),
            // Old rollouts have their items bare, after a line about the session.
            "" if value["id"].is_string() && value["timestamp"].is_string() => self.meta(&value),
            "" => skipped.count(tools::kind(&value)),
            _ if payload.is_null() => self.item(raw, value, at),
            other => skipped.count(other),
        }
    }

    fn meta(&mut self, meta: &Value) {
        if !self.recording.session.is_empty() {
            self.recording.skipped.count("session_meta: of a session that this one goes on from");
            return;
        }
        text(&meta["id"]).clone_into(&mut self.recording.session);
        text(&meta["cwd"]).clone_into(&mut self.recording.project);
        let spawned = &meta["source"]["subagent"]["thread_spawn"]["parent_thread_id"];
        self.recording.parent =
            spawned.as_str().map(|session| Parent { session: session.to_owned(), call: None });
    }

    fn item(&mut self, raw: String, mut item: Value, at: Option<i64>) {
        match text(&item["type"]) {
            "message" => {
                match text(&item["role"]) {
                    "assistant" => {
                        let said = words(tools::content(&item["content"]), false);
                        self.answer(raw, at, said);
                    }
                    role => {
                        let host = role != "user";
                        self.heard(raw, &item["content"], host, at);
                    }
                }
                let message = self.transcript.messages.last();
                if let (Some(id), Some(message)) = (item["id"].as_str(), message) {
                    self.items.insert(id.to_owned(), message.id.clone());
                }
            }
            "reasoning" => {
                let thought = [&item["summary"], &item["content"]]
                    .map(tools::content)
                    .into_iter()
                    .filter(|it| !it.is_empty())
                    .collect::<Vec<_>>()
                    .join("\n");
                self.answer(raw, at, RecordedPart::Reasoning(thought));
            }
            "function_call" => {
                let arguments = text(&item["arguments"]);
                let input = serde_json::from_str(arguments)
                    .unwrap_or_else(|_| Value::String(arguments.to_owned()));
                self.call(raw, &item, input, at);
            }
            "custom_tool_call" => {
                let input = taken(&mut item, "input");
                self.call(raw, &item, input, at);
            }
            "local_shell_call" => {
                let input = taken(&mut item, "action");
                self.call(raw, &item, input, at);
            }
            "web_search_call" => {
                let input = taken(&mut item, "action");
                let id = format!("web_search_{}", self.transcript.messages.len());
                let id = item["id"].as_str().unwrap_or(&id).to_owned();
                let call = RecordedPart::Call(Box::new(open_call(&id, "web_search", input)));
                self.answer(raw, at, call);
                // The matches go into the model's own context and are not recorded.
                let answer = Answer { output: String::new(), failed: false, exit: None, at };
                self.transcript.answer(&id, answer, None);
            }
            "function_call_output" | "custom_tool_call_output" => self.output(&raw, &item, at),
            _ => self.recording.skipped.count(tools::kind(&item)),
        }
    }

    /// Adds to the answer that is being written. An answer ends with the count of its tokens, or where the model goes
    /// on after a call's result.
    fn answer(&mut self, raw: String, at: Option<i64>, part: RecordedPart) {
        let goes_on = self.open.filter(|(_, answered)| !answered);
        let place = goes_on.map_or_else(
            || {
                let mut answer = Recorded::new("", Role::Assistant, at);
                answer.model.clone_from(&self.model);
                self.transcript.push(answer)
            },
            |(place, _)| place,
        );
        self.open = Some((place, false));
        self.unreported = Some(place);
        self.transcript.add(place, part);
        self.transcript.messages[place].records.push(raw);
    }

    fn call(&mut self, raw: String, item: &Value, input: Value, at: Option<i64>) {
        let name = item["name"].as_str().unwrap_or("local_shell");
        let id = item["call_id"].as_str().or_else(|| item["id"].as_str()).unwrap_or_default();
        let mut call = open_call(id, name, input);
        call.division = division(name, &call.input);
        self.answer(raw, at, RecordedPart::Call(Box::new(call)));
    }

    fn output(&mut self, raw: &str, item: &Value, at: Option<i64>) {
        let id = text(&item["call_id"]);
        let output = shown(&item["output"]);
        let exit = output.exit.or_else(|| self.exits.get(id).copied());
        let failed = output.failed || exit.is_some_and(|exit| exit != 0);
        let answer = Answer { output: output.output, failed, exit, at };
        if !self.transcript.answer(id, answer, Some(raw)) {
            self.recording.skipped.count("function_call_output: of no known call");
        }
        if let Some((_, answered)) = &mut self.open {
            *answered = true;
        }
    }

    /// Adds a message in the user's place. `host` where the program wrote it.
    fn heard(&mut self, raw: String, content: &Value, host: bool, at: Option<i64>) {
        self.open = None;
        let mut user = Recorded::new("", Role::User, at);
        for part in content.as_array().into_iter().flatten() {
            user.parts.push(part["text"].as_str().map_or_else(
                || {
                    let mime = text(&part["type"]).to_owned();
                    RecordedPart::File { name: String::new(), mime }
                },
                |text| words(text, host),
            ));
        }
        user.records.push(raw);
        self.transcript.push(user);
    }

    fn event(&mut self, event: &Value) {
        match text(&event["type"]) {
            "user_message" => {
                self.said.insert(text(&event["message"]).trim().to_owned());
            }
            "token_count" => {
                self.open = None;
                let usage = usage(&event["info"]["last_token_usage"]);
                if let (Some(usage), Some(place)) = (usage, self.unreported.take()) {
                    self.transcript.messages[place].usage = Some(usage);
                }
            }
            "turn_aborted" => self.transcript.break_off(),
            "exec_command_end" => {
                if let Some(exit) = event["exit_code"].as_i64() {
                    let call = text(&event["call_id"]);
                    self.exits.insert(call.to_owned(), exit);
                    let call = self.transcript.call(call);
                    if let Some(call) = call.filter(|it| matches!(it.action, Action::Ran(_))) {
                        call.exit = Some(exit);
                    }
                }
            }
            "thread_rolled_back" => self.roll_back(event["num_turns"].as_u64().unwrap_or(1)),
            _ => {}
        }
        self.recording.skipped.count(format!("event_msg: {}", text(&event["type"])));
    }

    /// Removes the user's last turns, which were taken back.
    fn roll_back(&mut self, turns: u64) {
        let messages = &mut self.transcript.messages;
        for _ in 0..turns {
            let Some(from) = messages.iter().rposition(Recorded::is_of_user) else { break };
            for _ in messages.drain(from..) {
                self.recording.skipped.count("of a turn that was taken back");
            }
        }
        self.open = None;
        self.unreported = None;
    }

    fn compacted(&mut self, raw: String, payload: &Value, at: Option<i64>) {
        self.open = None;
        self.unreported = None;
        let mut summary = Recorded::new("", Role::Assistant, at);
        summary.standing = MessageKind::Summary;
        summary.records.push(raw);
        let left = compacted::left(payload, &self.transcript.messages, &self.items);
        let is_silent = left.is_none();
        match left {
            Some(left) => (summary.parts, summary.kept) = (left.parts, left.kept),
            None => summary.parts.push(words(text(&payload["message"]), false)),
        }
        let place = self.transcript.push(summary);
        if is_silent {
            self.silent.push(self.transcript.messages[place].id.clone());
        }
    }

    fn into_recording(mut self) -> Recording {
        if !self.said.is_empty() {
            for message in &mut self.transcript.messages {
                for part in &mut message.parts {
                    if let RecordedPart::Text { text, synthetic } = part
                        && message.role == Role::User
                    {
                        *synthetic = *synthetic || !is_of_user(text, &self.said);
                    }
                }
            }
        }
        self.recording.messages = self.transcript.messages;
        for summary in self.silent {
            compacted::leave(&summary, &mut self.recording.messages);
        }
        self.recording
    }
}

/// The fewest words in which an event's text is taken for the user's inside a longer text: short texts occur in many
/// others.
const WORDS: usize = 16;

/// Whether a text is the user's by an event, or a part of that, or contains it, as where an editor adds which file is
/// open.
fn is_of_user(text: &str, said: &HashSet<String>) -> bool {
    let text = text.trim();
    let ends_with = |message: &str| {
        text.strip_suffix(message)
            .is_some_and(|before| before.trim_end_matches(' ').ends_with('\n'))
    };
    let holds = |message: &&String| {
        message.contains(text)
            || !message.is_empty() && ends_with(message)
            || message.len() >= WORDS && text.contains(message.as_str())
    };
    !text.is_empty() && (said.contains(text) || said.iter().any(|message| holds(&message)))
}

struct Shown {
    output: String,
    exit: Option<i64>,
    failed: bool,
}

/// An answer is a text, a list of parts, or a text that is JSON with the text and the exit code in it.
fn shown(output: &Value) -> Shown {
    let wrapped = output.as_str().filter(|it| it.starts_with("{\"output\""));
    let wrapped = wrapped.and_then(|it| serde_json::from_str::<Value>(it).ok());
    if let Some(wrapped) = wrapped {
        let exit = wrapped["metadata"]["exit_code"].as_i64();
        return Shown { output: text(&wrapped["output"]).to_owned(), exit, failed: false };
    }
    let failed = output["success"] == false;
    let inner = if output.is_object() { &output["content"] } else { output };
    let output = tools::content(inner);
    let exit = tools::exit(&output);
    let failed = failed || output.starts_with("apply_patch verification failed");
    Shown { output, exit, failed }
}

fn division(tool: &str, input: &Value) -> Option<Division> {
    match tool {
        "update_plan" => {
            let todo = |item: &Value| {
                Some(Todo {
                    id: None,
                    content: item["step"].as_str()?.to_owned(),
                    status: tools::todo_status(item["status"].as_str()?),
                })
            };
            let items = input["plan"].as_array()?;
            Some(Division::Todos(items.iter().filter_map(todo).collect()))
        }
        tool => handed_on(tool, input),
    }
}

/// Work that a call hands to a subagent.
pub(super) fn handed_on(tool: &str, input: &Value) -> Option<Division> {
    match tool {
        "spawn_agent" => {
            let prompt = match text(&input["message"]) {
                "" => tools::content(&input["items"]),
                message => message.to_owned(),
            };
            let title = match text(&input["agent_type"]) {
                "" => callstack_core::framing::title_of(&prompt),
                kind => kind.to_owned(),
            };
            Some(Division::Subagent { title, prompt })
        }
        _ => None,
    }
}

fn usage(given: &Value) -> Option<Usage> {
    let count = |name: &str| given[name].is_u64().then(|| token_count(&given[name]));
    Some(Usage {
        input: count("input_tokens")?,
        cached: count("cached_input_tokens").unwrap_or_default(),
        output: count("output_tokens").unwrap_or_default(),
    })
}
