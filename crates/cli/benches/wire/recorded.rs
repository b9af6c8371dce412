//! A recorded session as a script for the model, turns for the user, and answers for the tools.

use std::collections::BTreeMap;

use callstack_core::framing::{Division, Todo, TodoStatus};
use callstack_core::transcript::{CallState, MessageKind, Role, ToolCall};
use callstack_recordings::{Recorded, RecordedPart, Recording};
use callstack_scripted_model::{Call, Step};
use serde_json::{Value, json};

/// Names of arguments in Claude Code's tools, each with its name in `OpenCode`'s.
const ARGUMENTS: [(&str, &str); 4] = [
    ("file_path", "filePath"),
    ("old_string", "oldString"),
    ("new_string", "newString"),
    ("replace_all", "replaceAll"),
];

/// A recorded session, to be played in a project of its own.
pub(crate) struct Session {
    pub(crate) turns: Vec<Turn>,
    /// The tools that it calls.
    pub(crate) tools: Vec<String>,
    /// The answers of its calls, by their ids.
    pub(crate) answers: BTreeMap<String, Value>,
}

/// The user's words, and the steps of the agent up to the next time.
#[derive(Default)]
pub(crate) struct Turn {
    pub(crate) parts: Vec<Value>,
    pub(crate) steps: Vec<Played>,
}

/// A step of the agent.
pub(crate) struct Played {
    pub(crate) step: Step,
    /// The agent's todo list, where the step writes it.
    pub(crate) todos: Option<Vec<Todo>>,
}

impl Played {
    /// The item of the todo list that is being worked on, if the step writes the list and there is one.
    pub(crate) fn item(&self) -> Option<&str> {
        let mut todos = self.todos.iter().flatten();
        let item = todos.find(|todo| todo.status == TodoStatus::InProgress);
        item.map(|todo| todo.content.as_str())
    }
}

impl Session {
    /// Reads it from a recording, as if it had been worked on in `project`. Compactions are not played: requests go
    /// on as if there had been none.
    pub(crate) fn of(recording: &Recording, project: &str) -> Self {
        let mut session = Self { turns: Vec::new(), tools: Vec::new(), answers: BTreeMap::new() };
        let moved = |text: &str| match recording.project.as_str() {
            "" => text.to_owned(),
            folder => text.replace(folder, project),
        };
        let normal = recording.messages.iter().filter(|it| it.standing == MessageKind::Normal);
        for message in normal {
            if message.role == Role::User {
                session.user(message, &moved);
            } else if message.is_answer() {
                session.agent(message, &moved);
            }
        }
        session.turns.retain(|turn| !turn.parts.is_empty() && !turn.steps.is_empty());
        for turn in &mut session.turns {
            if turn.steps.last().is_some_and(|last| !last.step.calls.is_empty()) {
                turn.steps.push(Played { step: Step::text("That is all."), todos: None });
            }
        }
        session.tools.sort_unstable();
        session.tools.dedup();
        session
    }

    fn user(&mut self, message: &Recorded, moved: &dyn Fn(&str) -> String) {
        if self.turns.last().is_none_or(|turn| !turn.steps.is_empty()) {
            self.turns.push(Turn::default());
        }
        let parts = message.parts.iter().filter_map(|part| match part {
            RecordedPart::Text { text, synthetic } if !text.trim().is_empty() => {
                Some(json!({"type": "text", "text": moved(text), "synthetic": synthetic}))
            }
            _ => None,
        });
        self.turns.last_mut().unwrap().parts.extend(parts);
    }

    fn agent(&mut self, message: &Recorded, moved: &dyn Fn(&str) -> String) {
        let mut step = Step::default();
        let mut todos = None;
        let add = |to: &mut Option<String>, text: &str| match to {
            Some(before) => *before = format!("{before}\n\n{text}"),
            None => *to = Some(text.to_owned()),
        };
        for part in &message.parts {
            match part {
                RecordedPart::Text { text, .. } => add(&mut step.text, &moved(text)),
                RecordedPart::Reasoning(text) => add(&mut step.reasoning, &moved(text)),
                RecordedPart::Call(call) => {
                    if let Some(Division::Todos(list)) = &call.division {
                        todos = Some(list.clone());
                    }
                    step.calls.push(self.call(call, moved));
                }
                RecordedPart::File { .. } => {}
            }
        }
        let Some(turn) = self.turns.last_mut() else { return };
        // A step without a call ends the agent's turn, so words after which the agent continued are added to the next
        // step.
        if let Some(last) = turn.steps.last_mut()
            && last.step.calls.is_empty()
        {
            let said = last.step.text.iter().chain(&step.text).cloned().collect::<Vec<_>>();
            let thought = last.step.reasoning.iter().chain(&step.reasoning).cloned();
            let thought = thought.collect::<Vec<_>>().join("\n\n");
            step.text = Some(said.join("\n\n")).filter(|text| !text.is_empty());
            step.reasoning = Some(thought).filter(|text| !text.is_empty());
            turn.steps.pop();
        }
        turn.steps.push(Played { step, todos });
    }

    fn call(&mut self, call: &ToolCall, moved: &dyn Fn(&str) -> String) -> Call {
        let name: String = call.tool.to_lowercase();
        let (name, arguments) = match &call.division {
            Some(Division::Todos(list)) => ("todowrite".to_owned(), json!({"todos": todos(list)})),
            _ => (name, arguments(&call.input, moved)),
        };
        let failed = call.state == CallState::Failed;
        // OpenCode's shell tool reports a command that failed like any other.
        let exit = (name == "bash").then(|| call.exit.unwrap_or(i64::from(failed)));
        let mut answer = json!({
            "output": call.output.as_deref().map(moved).unwrap_or_default(),
            "failed": failed && exit.is_none(),
        });
        if let Some(exit) = exit {
            answer["exit"] = exit.into();
        }
        self.answers.insert(call.id.clone(), answer);
        self.tools.push(name.clone());
        Call { name, arguments, id: Some(call.id.clone()), ..Call::default() }
    }
}

fn todos(list: &[Todo]) -> Vec<Value> {
    let status = |todo: &Todo| match todo.status {
        TodoStatus::Pending => "pending",
        TodoStatus::InProgress => "in_progress",
        TodoStatus::Completed => "completed",
        TodoStatus::Cancelled => "cancelled",
    };
    let todo = |todo: &Todo| json!({"content": todo.content, "status": status(todo), "priority": "medium"});
    list.iter().map(todo).collect()
}

fn arguments(input: &Value, moved: &dyn Fn(&str) -> String) -> Value {
    let Some(arguments) = input.as_object() else {
        return json!({"input": input});
    };
    let renamed = |name: &str| {
        let known = ARGUMENTS.iter().find(|(theirs, _)| *theirs == name);
        known.map_or(name, |(_, ours)| ours).to_owned()
    };
    let text = |value: &Value| match value.as_str() {
        Some(text) => moved(text).into(),
        None => value.clone(),
    };
    arguments.iter().map(|(name, value)| (renamed(name), text(value))).collect()
}
