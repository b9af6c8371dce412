//! Steps of several calls in every wire format: the parts that leave and those that stay, with their reasoning.

use std::fmt::Write as _;

use callstack_scripted_model::{RecordedRequest, Step, WireFormat, content_text};
use serde_json::{Value, json};

use super::seen::{assert_no_work, snapshot};
use super::steps::{bash, handle_of, named, plan, pop, push, thought, together, work, write};
use super::talk::Talk;

#[test]
fn steps_of_several_calls_fold_on_chat_completions() {
    fold_in("chat_completions", WireFormat::ChatCompletions, &[], &json!({}));
}

#[test]
fn steps_of_several_calls_fold_on_anthropic_messages() {
    fold_in("messages", WireFormat::Messages, &[], &json!({}));
}

#[test]
fn steps_of_several_calls_fold_on_responses() {
    fold_in("responses", WireFormat::Responses, &[], &json!({}));
}

/// Earlier Claude models have a fixed budget for thinking, and want the last answer with calls to begin with it.
#[test]
fn steps_of_several_calls_fold_on_messages_with_a_fixed_budget() {
    fold_in("messages_fixed_budget_strip", WireFormat::Messages, &[], &fixed_budget());
}

#[test]
fn with_wait_steps_of_several_calls_fold_on_messages_with_a_fixed_budget() {
    let env = [("STACK_FOLD_REASONING", "wait")];
    fold_in("messages_fixed_budget", WireFormat::Messages, &env, &fixed_budget());
}

fn fixed_budget() -> Value {
    let thinking = json!({"thinking": {"type": "enabled", "budgetTokens": 1024}});
    json!({"provider": {"scripted": {"models": {"scripted": {"options": thinking}}}}})
}

/// A step with its name.
type Script = (&'static str, Vec<Step>);

fn fold_in(name: &str, format: WireFormat, env: &[(&str, &str)], changes: &Value) {
    let Some(talk) = Talk::speaking(format, env, changes) else { return };
    let mut text = String::new();
    for (title, mut steps) in scripts() {
        steps.push(Step::text("Gladly.").reasoning("Thanked."));
        let session = talk.session(steps);
        session.say("Do it.");
        // With `STACK_FOLD_REASONING=wait` some folds wait for the user.
        session.say("Thanks.");
        let requests = session.finished();
        let last = requests.last().unwrap();
        assert_no_work(last);
        writeln!(text, "── {title}\n{}", outline(last)).unwrap();
    }
    snapshot(&format!("formats_{name}"), &text);
}

fn scripts() -> Vec<Script> {
    vec![
        (
            "calls behind the push",
            vec![
                together([
                    push("Survey the files", "all are known").reasoning("First a survey."),
                    thought(inner_work("one"), "Then the first file."),
                    inner_work("two"),
                ]),
                work("a third file").reasoning("INNERWORK: one is missing."),
                pop("There are three files.").reasoning("INNERWORK: that is all."),
                Step::text("Three files.").reasoning("Now I know."),
            ],
        ),
        (
            "calls in front of the push, and behind it",
            vec![
                together([
                    named(bash("echo in front"), "front").reasoning("Look first."),
                    thought(push("Sort the list", "it is sorted"), "That is a part of its own."),
                    thought(inner_work("order"), "What is the order?"),
                ])
                .and_text("I look, and sort."),
                pop("It is sorted.").reasoning("INNERWORK: sorted."),
                Step::text("Sorted.").reasoning("Told."),
            ],
        ),
        (
            "calls in front of the pop, and beside it",
            vec![
                push("Check the list", "it is checked").reasoning("A check."),
                work("its beginning"),
                together([
                    work("the list").reasoning("INNERWORK: look, and end."),
                    thought(pop("It is in order."), "INNERWORK: enough."),
                    thought(named(bash("echo beyond"), "beyond"), "And one more."),
                ]),
                Step::text("In order.").reasoning("Told."),
            ],
        ),
        (
            "a pop and the next push, with calls behind it",
            vec![
                push("First part", "one is done").reasoning("One."),
                work("one"),
                together([
                    pop("One gave alpha.").reasoning("INNERWORK: one is done."),
                    push("Second part", "two is done"),
                    inner_work("two"),
                ]),
                work("two").reasoning("INNERWORK: two goes on."),
                pop("Two gave beta.").reasoning("INNERWORK: two is done."),
                Step::text("alpha and beta.").reasoning("Told."),
            ],
        ),
        (
            "an activation with calls behind it",
            vec![
                plan(&json!([{"title": "Count them", "successCriteria": "counted"}]))
                    .reasoning("Plan it."),
                Step::from_request(|request| {
                    let frame = handle_of(request, "Count them");
                    let arguments = json!({"frame": frame, "in": "here"});
                    let step = Step::call("stack_frame_activate", arguments);
                    together([
                        named(step, "activate-count").reasoning("Begin."),
                        thought(inner_work("the number"), "How many?"),
                    ])
                }),
                pop("There are 40.").reasoning("INNERWORK: 40."),
                Step::text("40.").reasoning("Told."),
            ],
        ),
        (
            "a write beside the push",
            vec![
                together([
                    named(write("plan.txt", "a plan"), "front").reasoning("Write the plan."),
                    push("Write the parts", "both are written"),
                    thought(named(write("part.txt", "INNERWORK"), "behind"), "And the part."),
                ]),
                pop("Both are written.").reasoning("INNERWORK: written."),
                Step::text("Written.").reasoning("Told."),
            ],
        ),
    ]
}

/// A call whose output must leave with the frame, though the words about it stay.
fn inner_work(topic: &str) -> Step {
    bash(&format!("printf INNER; echo WORK {topic}"))
}

/// Returns the content of a request, a line for each thing, without the system prompt.
fn outline(request: &RecordedRequest) -> String {
    let mut lines = Vec::new();
    let line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    for message in request.messages() {
        let text = content_text(&message["content"]);
        match message["role"].as_str().unwrap() {
            "system" => {}
            "user" => lines.push(format!("user: {}", line(&text))),
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap();
                lines.push(format!("result of {}: {}", call(id), line(&text)));
            }
            _ => {
                if let Some(thought) = message["reasoning_content"].as_str() {
                    lines.push(format!("thinks: {thought}"));
                }
                if !text.is_empty() {
                    lines.push(format!("says: {}", line(&text)));
                }
                for it in message["tool_calls"].as_array().into_iter().flatten() {
                    lines.push(format!("calls {}", call(it["id"].as_str().unwrap())));
                }
            }
        }
    }
    lines.join("\n")
}

/// A call's id, without the number of the request where the model made it up.
fn call(id: &str) -> &str {
    if id.starts_with("call_") { "another" } else { id }
}
