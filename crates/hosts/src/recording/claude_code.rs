//! Claude Code's session files: JSON lines that form a tree, an answer of the model in several lines,
//! the results of its calls among what the user says.

mod branch;
mod entry;
mod said;
mod tasks;

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use callstack_core::evidence::Action;
use callstack_core::transcript::{CallState, Role, Standing};
use serde_json::Value;

use super::link::AGENT;
use super::tools::{self, taken, text, words};
use super::transcript::{Answer, Transcript, message};
use super::{Division, Format, Parent, RecordedPart, Recording, Skipped, Usage, lines};
use entry::{Answered, Entry, What};
use tasks::Tasks;

/// Records by the side chain that they belong to; those of the session itself under none.
#[derive(Default)]
struct File {
    session: String,
    project: String,
    /// What the user called it, and what the program did.
    titles: [Option<String>; 2],
    /// Titles by the leaf of the branch that they are of.
    summaries: Vec<(String, String)>,
    main: Vec<Entry>,
    sides: BTreeMap<String, Side>,
    /// The chain of each record of a side chain that names no subagent.
    chains: BTreeMap<String, String>,
    skipped: Skipped,
}

#[derive(Default)]
struct Side {
    call: Option<String>,
    entries: Vec<Entry>,
}

/// Reads a session's file, or a subagent's.
pub(super) fn read(from: impl BufRead) -> io::Result<Vec<Recording>> {
    let mut file = File::default();
    let mut skipped = Skipped::default();
    lines::each(from, &mut skipped, |raw, value| file.take(raw, value))?;
    file.skipped.unreadable = skipped.unreadable;
    Ok(file.into_recordings())
}

impl File {
    fn take(&mut self, raw: String, mut value: Value) {
        let is_side = value["isSidechain"] == true;
        if (!is_side || self.session.is_empty())
            && let Some(session) = value["sessionId"].as_str()
        {
            session.clone_into(&mut self.session);
        }
        if self.project.is_empty() {
            text(&value["cwd"]).clone_into(&mut self.project);
        }
        match text(&value["type"]) {
            "custom-title" => self.titles[0] = value["customTitle"].as_str().map(str::to_owned),
            "ai-title" => self.titles[1] = value["aiTitle"].as_str().map(str::to_owned),
            "summary" => {
                let [leaf, summary] = ["leafUuid", "summary"].map(|it| text(&value[it]).to_owned());
                self.summaries.push((leaf, summary));
            }
            "progress" if value["data"]["type"] == "agent_progress" => {
                let agent = text(&value["data"]["agentId"]).to_owned();
                let call = value["parentToolUseID"].as_str().map(str::to_owned);
                self.main.push(Entry::link(&value));
                let side = self.sides.entry(agent).or_default();
                side.call = side.call.take().or(call);
                side.entries.extend(
                    Entry::read(raw, taken(&mut taken(&mut value, "data"), "message")).ok(),
                );
            }
            _ => match Entry::read(raw, value) {
                Ok(entry) if is_side => self.side(entry),
                Ok(entry) => self.main.push(entry),
                Err(kind) => self.skipped.count(kind),
            },
        }
    }

    fn side(&mut self, entry: Entry) {
        let above = entry.parent.as_ref().and_then(|parent| self.chains.get(parent));
        let chain = entry.agent.as_ref().or(above).unwrap_or(&entry.uuid).clone();
        self.chains.insert(entry.uuid.clone(), chain.clone());
        self.sides.entry(chain).or_default().entries.push(entry);
    }

    fn into_recordings(mut self) -> Vec<Recording> {
        let main = branch::live(std::mem::take(&mut self.main), &mut self.skipped);
        let summary = self.summaries.iter().rev().find_map(|(leaf, title)| {
            main.iter().any(|entry| entry.uuid == *leaf).then(|| title.clone())
        });
        let title = self.titles.iter_mut().find_map(Option::take).or(summary);
        let mut recordings = vec![Recording {
            session: self.session.clone(),
            project: self.project.clone(),
            title,
            ..super::recording(Format::ClaudeCode)
        }];
        assemble(&mut recordings[0], main, &mut self.skipped);
        for (id, side) in std::mem::take(&mut self.sides) {
            let parent = Parent { session: self.session.clone(), call: side.call };
            let mut recording = Recording {
                session: format!("{}{AGENT}{id}", self.session),
                parent: Some(parent),
                title: None,
                messages: Vec::new(),
                ..recordings[0].clone()
            };
            assemble(&mut recording, side.entries, &mut self.skipped);
            recordings.push(recording);
        }
        let holder = recordings.iter().position(|it| !it.messages.is_empty()).unwrap_or(0);
        recordings[holder].skipped = self.skipped;
        recordings
    }
}

/// Makes messages of records: the lines of one answer become one, and what a call was answered goes
/// to the call.
fn assemble(recording: &mut Recording, entries: Vec<Entry>, skipped: &mut Skipped) {
    let mut transcript = Transcript::default();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut tasks = Tasks::default();
    let mut results = Vec::new();
    for entry in entries {
        let Entry { uuid, at, what, raw, .. } = entry;
        match what {
            What::Assistant { message: id, model, usage, content, failed } => {
                if failed || model.as_deref() == Some("<synthetic>") {
                    transcript.break_off();
                    skipped.count("assistant: of the program itself");
                    continue;
                }
                let id = if id.is_empty() { uuid } else { id };
                let place = *places
                    .entry(id.clone())
                    .or_insert_with(|| transcript.push(message(&id, Role::Assistant, at)));
                for part in content {
                    transcript.add_answer(place, part);
                }
                let message = &mut transcript.messages[place];
                message.model = message.model.take().or(model);
                message.usage = usage.or(message.usage);
                message.records.push(raw);
            }
            What::User { content, meta, summary, answered } => {
                let said = said::said(content, meta);
                if said.interrupted {
                    transcript.break_off();
                }
                for kind in said.unknown {
                    skipped.count(format!("user: part {kind}").trim_end());
                }
                for (result, shown) in said.results {
                    let output = tools::content(&shown["content"]);
                    let failed = shown["is_error"] == true;
                    let exit = exit(&output, failed, &answered);
                    let answer = Answer { output, failed, exit, at };
                    if transcript.answer(&result, answer, Some(&raw)) {
                        results.push((result, answered.clone()));
                    } else {
                        skipped.count("tool_result: of no known call");
                    }
                }
                if said.parts.is_empty() {
                    continue;
                }
                let role = if summary { Role::Assistant } else { Role::User };
                let mut user = message(&uuid, role, at);
                if summary {
                    user.standing = Standing::Summary;
                }
                user.parts = said.parts;
                user.records.push(raw);
                transcript.push(user);
            }
            What::Attachment { parts } => {
                let mut user = message(&uuid, Role::User, at);
                user.parts = parts;
                user.records.push(raw);
                transcript.push(user);
            }
            What::Boundary => {
                let mut request = message(&uuid, Role::User, at);
                request.standing = Standing::CompactionRequest;
                request.records.push(raw);
                transcript.push(request);
            }
            What::Link => {}
        }
    }
    let answers: BTreeMap<String, Answered> = results.into_iter().collect();
    for message in &mut transcript.messages {
        for part in &mut message.parts {
            if let RecordedPart::Call(call) = part {
                let answered = answers.get(&call.id);
                call.division = division(call, answered, &mut tasks);
            }
        }
    }
    recording.messages = transcript.messages;
}

impl Transcript {
    fn add_answer(&mut self, place: usize, mut part: Value) {
        let part = match text(&part["type"]) {
            "text" => words(text(&part["text"]), false),
            "thinking" => RecordedPart::Reasoning(text(&part["thinking"]).to_owned()),
            "redacted_thinking" => RecordedPart::Reasoning(String::new()),
            "tool_use" | "server_tool_use" => {
                let input = taken(&mut part, "input");
                RecordedPart::Call(Box::new(tools::call(
                    text(&part["id"]),
                    text(&part["name"]),
                    input,
                )))
            }
            _ => words(tools::content(&Value::Array(vec![part])), false),
        };
        self.add(place, part);
    }
}

/// A failed command tells its exit code first; one that was left to run in the background has none.
fn exit(output: &str, failed: bool, answered: &Answered) -> Option<i64> {
    if failed {
        return tools::exit(output);
    }
    (!answered.in_background).then_some(0)
}

fn division(
    call: &super::RecordedCall,
    answered: Option<&Answered>,
    tasks: &mut Tasks,
) -> Option<Division> {
    let done = call.state == CallState::Completed;
    match call.tool.as_str() {
        "TodoWrite" if done => tools::todos(&call.input["todos"], "content").map(Division::Todos),
        "TaskCreate" if done => {
            let output = call.output.as_deref().unwrap_or_default();
            tasks.create(&call.input, answered.and_then(|it| it.task.as_deref()), output)
        }
        "TaskUpdate" if done && answered.is_none_or(|it| !it.refused) => tasks.update(&call.input),
        "Task" | "Agent" if call.action == Action::Other => {
            let field = |name: &str| text(&call.input[name]).to_owned();
            Some(Division::Subagent { title: field("description"), prompt: field("prompt") })
        }
        _ => None,
    }
}

/// What the provider reported: `input_tokens` are those that no cache had a part in.
fn usage(value: &Value) -> Option<Usage> {
    let count = |name: &str| value[name].as_u64().unwrap_or_default();
    let cached = count("cache_read_input_tokens");
    let usage = Usage {
        input: count("input_tokens") + count("cache_creation_input_tokens") + cached,
        cached,
        output: count("output_tokens"),
    };
    (usage.input + usage.output > 0).then_some(usage)
}
