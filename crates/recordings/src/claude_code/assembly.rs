//! Messages of the records of a session's branch.

use std::collections::{BTreeMap, HashMap};

use callstack_core::evidence::{Action, Edit};
use callstack_core::framing::Division;
use callstack_core::transcript::{CallState, MessageKind, Role, ToolCall};
use serde_json::Value;

use super::super::tool_input::{edits, with_places};
use super::super::tools::{self, open_call, taken, text, words};
use super::super::transcript::{Answer, Transcript};
use super::super::{Recorded, RecordedPart, Recording, Skipped};
use super::entry::{Answered, Entry, Kept, What};
use super::said;
use super::tasks::Tasks;

/// Makes messages of records: the lines of one answer become one, and answers go to their calls.
pub(super) fn assemble(recording: &mut Recording, entries: Vec<Entry>, skipped: &mut Skipped) {
    let mut assembly = Assembly {
        transcript: Transcript::default(),
        answers: BTreeMap::new(),
        results: BTreeMap::new(),
        ends: HashMap::new(),
        kept: None,
        summaries: Vec::new(),
        skipped,
    };
    for entry in &entries {
        if let What::Boundary { kept: Some(kept) } = &entry.what {
            assembly.ends.extend([&kept.first, &kept.last].map(|end| (end.clone(), None)));
        }
    }
    for entry in entries {
        assembly.take(entry);
    }
    recording.messages = assembly.into_messages();
}

struct Assembly<'a> {
    transcript: Transcript,
    /// The places of answers, by the provider's ids.
    answers: BTreeMap<String, usize>,
    /// The program's notes on answers of calls.
    results: BTreeMap<String, Answered>,
    /// The messages that the first and the last records are in that compactions kept.
    ends: HashMap<String, Option<usize>>,
    /// The messages that the next summary's compaction kept.
    kept: Option<Kept>,
    /// Summaries, and the messages that they left.
    summaries: Vec<(usize, Kept)>,
    skipped: &'a mut Skipped,
}

impl Assembly<'_> {
    fn take(&mut self, entry: Entry) {
        let Entry { uuid, at, what, raw, .. } = entry;
        let place = match what {
            What::Assistant { message: id, model, usage, content, failed } => {
                if failed || model.as_deref() == Some("<synthetic>") {
                    self.transcript.break_off();
                    return self.skipped.count("assistant: of the program itself");
                }
                let id = if id.is_empty() { uuid.clone() } else { id };
                let transcript = &mut self.transcript;
                let place = *self
                    .answers
                    .entry(id.clone())
                    .or_insert_with(|| transcript.push(Recorded::new(&id, Role::Assistant, at)));
                for part in content {
                    transcript.add(place, answer_part(part));
                }
                let message = &mut transcript.messages[place];
                message.model = message.model.take().or(model);
                message.usage = usage.or(message.usage);
                message.records.push(raw);
                Some(place)
            }
            What::User { content, meta, summary, answered } => {
                let mut said = said::said(content, meta);
                if said.interrupted {
                    self.transcript.break_off();
                }
                for kind in &said.unknown {
                    self.skipped.count(format!("user: part {kind}").trim_end());
                }
                let results = std::mem::take(&mut said.results);
                let answers = self.results(results, &answered, at, &raw);
                let role = if summary { Role::Assistant } else { Role::User };
                let user = Recorded { parts: said.parts, ..Recorded::new(&uuid, role, at) };
                let place = (!user.parts.is_empty()).then(|| self.push(user, raw));
                if let (true, Some(place)) = (summary, place) {
                    self.transcript.messages[place].standing = MessageKind::Summary;
                    self.summaries.extend(self.kept.take().map(|kept| (place, kept)));
                }
                place.or(answers)
            }
            What::Attachment { parts } => {
                Some(self.push(Recorded { parts, ..Recorded::new(&uuid, Role::User, at) }, raw))
            }
            What::Boundary { kept } => {
                let standing = MessageKind::CompactionRequest;
                let request = Recorded { standing, ..Recorded::new(&uuid, Role::User, at) };
                self.kept = kept;
                Some(self.push(request, raw))
            }
            What::Link => None,
        };
        if let Some(end) = self.ends.get_mut(&uuid) {
            *end = place;
        }
    }

    fn push(&mut self, mut message: Recorded, raw: String) -> usize {
        message.records.push(raw);
        self.transcript.push(message)
    }

    /// Gives calls their answers; returns the place of the message with one of them.
    fn results(
        &mut self,
        results: Vec<(String, Value)>,
        answered: &Answered,
        at: Option<i64>,
        raw: &str,
    ) -> Option<usize> {
        let mut place = None;
        for (call, shown) in results {
            let output = tools::content(&shown["content"]);
            let failed = shown["is_error"] == true;
            let exit = exit(&output, failed, answered);
            let answer = Answer { output, failed, exit, at };
            if self.transcript.answer(&call, answer, Some(raw)) {
                place = self.transcript.place_of(&call);
                if let Some(call) = self.transcript.call(&call) {
                    call.edits = edits_noted(call, &answered.original);
                }
                self.results.insert(call, answered.clone());
            } else {
                self.skipped.count("tool_result: of no known call");
            }
        }
        place
    }

    fn into_messages(mut self) -> Vec<Recorded> {
        for (place, kept) in &self.summaries {
            let end = |id: &String| self.ends.get(id).copied().flatten();
            if let (Some(first), Some(last)) = (end(&kept.first), end(&kept.last)) {
                self.transcript.messages[*place].kept = self.transcript.ids(first..last + 1);
            }
        }
        let mut tasks = Tasks::default();
        for message in &mut self.transcript.messages {
            for part in &mut message.parts {
                if let RecordedPart::Call(call) = part {
                    call.division = division(call, self.results.get(&call.id), &mut tasks);
                }
            }
        }
        self.transcript.messages
    }
}

fn answer_part(mut part: Value) -> RecordedPart {
    match text(&part["type"]) {
        "text" => words(text(&part["text"]), false),
        "thinking" => RecordedPart::Reasoning(text(&part["thinking"]).to_owned()),
        "redacted_thinking" => RecordedPart::Reasoning(String::new()),
        "tool_use" | "server_tool_use" => {
            let input = taken(&mut part, "input");
            let call = open_call(text(&part["id"]), text(&part["name"]), input);
            RecordedPart::Call(Box::new(call))
        }
        _ => words(tools::content(&Value::Array(vec![part])), false),
    }
}

/// Returns the edits of a call whose places the program noted.
fn edits_noted(call: &ToolCall, noted: &Value) -> Vec<Edit> {
    match &call.action {
        Action::Wrote(paths) if call.state == CallState::Completed && !noted.is_null() => {
            with_places(edits(&call.input, paths), noted)
        }
        _ => Vec::new(),
    }
}

/// Returns the exit code of a command: a failed one begins with it; one that was left to run in the background has
/// none.
fn exit(output: &str, failed: bool, answered: &Answered) -> Option<i64> {
    if failed {
        return tools::exit(output);
    }
    (!answered.in_background).then_some(0)
}

fn division(call: &ToolCall, answered: Option<&Answered>, tasks: &mut Tasks) -> Option<Division> {
    let done = call.state == CallState::Completed;
    match call.tool.as_str() {
        "TodoWrite" if done => tools::todos(&call.input["todos"], "content").map(Division::Todos),
        "TaskCreate" if done => {
            let output = call.output.as_deref().unwrap_or_default();
            tasks.create(&call.input, answered.and_then(|it| it.task.as_deref()), output)
        }
        "TaskUpdate" if done && answered.is_none_or(|it| !it.refused) => tasks.update(&call.input),
        tool if call.action == Action::Other => handed_on(tool, &call.input),
        _ => None,
    }
}

/// Work that a call hands to a subagent.
pub(crate) fn handed_on(tool: &str, input: &Value) -> Option<Division> {
    let field = |name: &str| text(&input[name]).to_owned();
    matches!(tool, "Task" | "Agent")
        .then(|| Division::Subagent { title: field("description"), prompt: field("prompt") })
}
