//! Frames that begin and end by themselves.

mod attached;
mod broken;
mod sessions;

use callstack_scripted_model::Step;
use serde_json::json;

use super::steps::{WORK, bash};

/// Has frames begin by themselves.
pub(super) const AUTO: [(&str, &str); 1] = [("STACK_AUTONOMY_LEVEL", "auto")];

/// A command whose output is so long that it is clearly work, and worth a fold.
fn much(topic: &str) -> Step {
    looks_at(topic, 400)
}

/// A command whose output is so short that four of them are work, but not worth a fold.
fn little(topic: &str) -> Step {
    looks_at(topic, 10)
}

fn looks_at(topic: &str, lines: usize) -> Step {
    let command =
        format!("on='{topic}'; for n in $(seq {lines}); do printf INNER; echo WORK $on $n; done");
    bash(&command)
        .and_text(format!("{WORK}: I look at {topic}."))
        .reasoning(format!("{WORK}: {topic} has to be looked at."))
}

/// The agent writes its list: `>` in progress, `+` completed.
pub(super) fn todos(list: &[&str], words: &str) -> Step {
    let items: Vec<_> = list
        .iter()
        .map(|item| {
            let status = match &item[..1] {
                ">" => "in_progress",
                "+" => "completed",
                _ => "pending",
            };
            let content = item.trim_start_matches(['>', '+']);
            json!({ "content": content, "status": status, "priority": "medium" })
        })
        .collect();
    Step::call("todowrite", json!({ "todos": items }))
        .and_text(format!("{WORK}: {words}"))
        .reasoning(format!("{WORK}: the list."))
}
