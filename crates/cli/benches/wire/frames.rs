//! The additions of a model to a recorded session that works with frames.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use callstack_scripted_model::{Call, RecordedRequest, Step};
use serde_json::{Value, json};

use super::recorded::{Played, Session};

/// The model's use of frames.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Habit {
    /// Nothing: it knows of none.
    Nothing,
    /// A frame for each item of its todo list, pushed and popped in the steps that write the list.
    Tasks,
    /// The same, with a pop of each stretch that callstack names, in the next step with calls.
    TasksAndStretches,
}

/// The steps of all turns, in order.
pub(crate) fn steps(session: &Session, habit: Habit) -> Vec<Step> {
    let mut open = None;
    let named = Arc::new(Mutex::new(Named::default()));
    let played = session.turns.iter().flat_map(|turn| &turn.steps);
    played
        .map(|played| match habit {
            Habit::Nothing => played.step.clone(),
            Habit::Tasks => with_task(played, &mut open),
            Habit::TasksAndStretches => closing(with_task(played, &mut open), &named),
        })
        .collect()
}

/// An item with an open frame, and the words since its push.
struct Open {
    item: String,
    said: Vec<String>,
}

/// The step, with a pop before the calls where the open item is over, and a push after them where another one begins.
fn with_task(played: &Played, open: &mut Option<Open>) -> Step {
    let mut step = played.step.clone();
    if let Some(open) = open {
        open.said.extend(step.text.clone());
    }
    if played.todos.is_none() {
        return step;
    }
    let item = played.item();
    if let Some(ended) = open.take_if(|open| Some(open.item.as_str()) != item) {
        let said = ended.said.last().map_or("Done.", String::as_str);
        let results = format!("{}: {said}", ended.item);
        step.calls.insert(0, call("stack_frame_pop", json!({ "results": results })));
    }
    if let (None, Some(item)) = (&open, item) {
        let criteria = format!("done: {item}");
        let arguments = json!({ "title": item, "successCriteria": criteria });
        step.calls.push(call("stack_frame_push", arguments));
        *open = Some(Open { item: item.to_owned(), said: Vec::new() });
    }
    step
}

/// Stretches that callstack named.
#[derive(Default)]
struct Named {
    known: BTreeSet<String>,
    /// Those that are not closed yet.
    due: Vec<String>,
}

/// The step, with a pop of each stretch that was named and is not closed in front of its calls.
fn closing(step: Step, named: &Arc<Mutex<Named>>) -> Step {
    let named = Arc::clone(named);
    Step::from_request(move |request| {
        let mut named = named.lock().unwrap();
        for name in named_in(request) {
            if named.known.insert(name.clone()) {
                named.due.push(name);
            }
        }
        let mut step = step.clone();
        if !step.calls.is_empty() {
            let pops = named.due.drain(..).map(|since| {
                call("stack_frame_pop", json!({ "since": since, "results": "Looked at and done." }))
            });
            step.calls.splice(0..0, pops);
        }
        step
    })
}

/// The names after `since` in the newest tool result.
fn named_in(request: &RecordedRequest) -> Vec<String> {
    let text = request.last_tool_text().unwrap_or_default();
    let mentions = text.split("since `").skip(1).filter_map(|rest| rest.split('`').next());
    let is_name =
        |name: &&str| name.strip_prefix('s').is_some_and(|number| number.parse::<u64>().is_ok());
    mentions.filter(is_name).map(str::to_owned).collect()
}

fn call(name: &str, arguments: Value) -> Call {
    Call { name: name.to_owned(), arguments, ..Call::default() }
}
