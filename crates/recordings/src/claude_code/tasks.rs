//! Tasks that are made and changed one at a time, as a whole list.

use callstack_core::framing::{Division, Todo, TodoStatus};
use serde_json::Value;

use super::super::tools::{text, todo_status};

/// The task list of a session, as it stands.
#[derive(Default)]
pub(super) struct Tasks {
    list: Vec<Todo>,
}

impl Tasks {
    /// A task was made. `id` as the program noted it; else it is in the call's answer.
    pub(super) fn create(
        &mut self,
        input: &Value,
        id: Option<&str>,
        output: &str,
    ) -> Option<Division> {
        let content = [&input["subject"], &input["description"]]
            .iter()
            .find_map(|it| it.as_str())
            .filter(|it| !it.trim().is_empty())?;
        let id = id.map_or_else(|| self.id_in(output), str::to_owned);
        self.list.push(Todo {
            id: Some(id),
            content: content.to_owned(),
            status: TodoStatus::Pending,
        });
        Some(self.stands())
    }

    /// A task was changed.
    pub(super) fn update(&mut self, input: &Value) -> Option<Division> {
        let id = match &input["taskId"] {
            Value::Number(number) => number.to_string(),
            other => text(other).trim_start_matches('#').to_owned(),
        };
        let task = self.list.iter_mut().find(|task| task.id.as_deref() == Some(&id))?;
        if let Some(subject) = input["subject"].as_str() {
            subject.clone_into(&mut task.content);
        }
        if let Some(status) = input["status"].as_str() {
            task.status = todo_status(status);
        }
        Some(self.stands())
    }

    fn stands(&self) -> Division {
        Division::Todos(self.list.clone())
    }

    /// `Task #3 created successfully: …`
    fn id_in(&self, output: &str) -> String {
        let digits = output.split_once('#').map_or("", |(_, rest)| rest);
        let end = digits.find(|char: char| !char.is_ascii_digit()).unwrap_or(digits.len());
        match &digits[..end] {
            "" => (self.list.len() + 1).to_string(),
            digits => digits.to_owned(),
        }
    }
}
