//! A person's actions on a frame, by its status. Each is an operation that the command line has as well.

use callstack_core::frame::Status;
use serde::Serialize;
use serde_json::{Value, json};

/// Something that can be done with a frame.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Action {
    /// Its effect, for people.
    title: &'static str,
    /// The operation and its arguments.
    operation: &'static str,
    arguments: Value,
    /// The text that it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<Asks>,
}

/// A text that a person is asked for.
#[derive(Clone, Debug, Serialize)]
struct Asks {
    /// The argument that it becomes.
    argument: &'static str,
    question: &'static str,
    /// Whether it may be left empty.
    optional: bool,
}

/// Returns the actions on a frame. `active` is whether the session works in it now.
pub(super) fn of(handle: &str, status: Status, active: bool, imported: bool) -> Vec<Action> {
    let frame = || json!({"frame": handle});
    let act = |title, operation| Action { title, operation, arguments: frame(), asks: None };
    let asking = |title, operation, arguments, argument, question, optional| Action {
        title,
        operation,
        arguments,
        asks: Some(Asks { argument, question, optional }),
    };
    let pop = |title, status: &str| {
        let arguments = json!({"frame": handle, "status": status});
        let question = "Its results: all that later work needs (empty: what can be extracted)";
        asking(title, "stack_frame_pop", arguments, "results", question, true)
    };
    let to_note = [
        asking("Pin a rule", "stack_pin", frame(), "text", "A rule for all work below it", false),
        asking(
            "Note a decision",
            "stack_add_decision",
            frame(),
            "decision",
            "What was decided",
            false,
        ),
    ];
    let to_drop = asking(
        "Declare it irrelevant",
        "stack_frame_invalidate",
        frame(),
        "reason",
        "Why it does not matter any more",
        false,
    );
    let go =
        || Action { arguments: json!({"to": handle}), ..act("Go back to it", "stack_navigate") };
    let mut actions = match status {
        _ if imported => Vec::new(),
        Status::InProgress => vec![
            pop("End it: its criteria are met", "completed"),
            pop("End it: it failed", "failed"),
            pop("Set it aside", "blocked"),
        ],
        Status::Planned => vec![
            act("Begin it in this session", "stack_frame_activate"),
            act("Take it off the plan", "stack_frame_unplan"),
        ],
        Status::Blocked => vec![act("Take it up again", "stack_frame_activate")],
        Status::Completed | Status::Failed | Status::Invalidated => {
            vec![act("Open it again", "stack_frame_reopen")]
        }
    };
    if status == Status::InProgress && !active && !imported {
        actions.insert(0, go());
    }
    actions.extend(to_note);
    if status != Status::Invalidated {
        actions.push(to_drop);
    }
    actions
}
