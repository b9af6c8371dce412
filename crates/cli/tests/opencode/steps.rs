//! Steps of the scripted agent.

use callstack_scripted_model::{RecordedRequest, Step};
use serde_json::{Value, json};

/// Stands in everything that an agent does inside a frame, and in nothing that may outlive it.
pub(crate) const WORK: &str = "INNERWORK";

/// A push whose call id is `push-` and the title's first word in lower case.
pub(crate) fn push(title: &str, criteria: &str) -> Step {
    let step = Step::call("stack_frame_push", json!({"title": title, "successCriteria": criteria}));
    named(step, &format!("push-{}", first_word(title)))
}

pub(crate) fn pop(results: &str) -> Step {
    Step::call("stack_frame_pop", json!({"results": results}))
}

pub(crate) fn pop_as(status: &str, results: &str) -> Step {
    Step::call("stack_frame_pop", json!({"status": status, "results": results}))
}

pub(crate) fn plan(children: &Value) -> Step {
    Step::call("stack_frame_plan", json!({"children": children}))
}

/// The activation in place of the frame with this title, whose handle the model knows. The call id is `activate-` and
/// the title's first word in lower case.
pub(crate) fn activate(title: &str) -> Step {
    activate_with(title, json!({"in": "here"}))
}

/// The activation of a frame in a session of its own.
pub(crate) fn delegate(title: &str) -> Step {
    activate_with(title, json!({"in": "session"}))
}

fn activate_with(title: &str, arguments: Value) -> Step {
    let id = format!("activate-{}", first_word(title));
    let title = title.to_owned();
    Step::from_request(move |request| {
        let frame = handle_of(request, &title);
        let mut arguments = arguments.clone();
        arguments["frame"] = frame.into();
        named(Step::call("stack_frame_activate", arguments), &id)
    })
}

/// The handle in front of the newest mention of the frame with this title.
pub(crate) fn handle_of(request: &RecordedRequest, title: &str) -> String {
    let text = request.render();
    let named = text.rfind(&format!(" \"{title}\""));
    let at = named.or_else(|| text.rfind(&format!(" is open now: {title}"))).unwrap();
    text[..at].split_whitespace().next_back().unwrap().to_owned()
}

fn first_word(title: &str) -> String {
    title.split(' ').next().unwrap().to_lowercase()
}

/// An operation through the tool that reaches all of them.
pub(crate) fn stack(op: &str, args: &Value) -> Step {
    Step::call("stack", json!({"op": op, "args": args}))
}

pub(crate) fn bash(command: &str) -> Step {
    Step::call("bash", json!({"command": command, "description": "look"}))
}

pub(crate) fn write(path: &str, content: &str) -> Step {
    Step::call("write", json!({"filePath": path, "content": content}))
}

/// A command whose output holds [`WORK`], though the command itself does not; `topic` distinguishes it from others,
/// and is in its words, call and thoughts.
pub(crate) fn work(topic: &str) -> Step {
    bash(&format!("printf INNER; echo WORK {topic}"))
        .and_text(format!("{WORK}: I look at {topic}."))
        .reasoning(format!("{WORK}: {topic} has to be looked at."))
}

/// The calls of all steps in one; what is said and thought is the first one's.
pub(crate) fn together(steps: impl IntoIterator<Item = Step>) -> Step {
    let mut steps = steps.into_iter();
    let mut first = steps.next().unwrap();
    first.calls.extend(steps.flat_map(|step| step.calls));
    first
}

/// Returns the step with thoughts before its first call, after the calls that it is joined with.
pub(crate) fn thought(mut step: Step, reasoning: &str) -> Step {
    step.calls[0].reasoning = Some(reasoning.to_owned());
    step
}

/// The step with an id for its first call.
pub(crate) fn named(mut step: Step, id: &str) -> Step {
    step.calls[0].id = Some(id.to_owned());
    step
}
