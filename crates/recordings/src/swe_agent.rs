//! SWE-agent's trajectories: one document with the task, and a step for each call of the model.

mod editor;

use callstack_core::transcript::Role;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::tools::{self, open_call, text, words};
use super::transcript::{Answer, Transcript};
use super::{Format, Recorded, RecordedPart, Recording, lines};

#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, rename = "trajectory")]
    steps: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    history: Vec<&'a RawValue>,
    #[serde(default)]
    environment: Value,
}

/// Reads a trajectory. It has no id, so one is made of how it begins, which stays as it grows.
pub(super) fn read(document: &str) -> Result<Vec<Recording>, serde_json::Error> {
    let file: Document<'_> = serde_json::from_str(document)?;
    let mut recording = Recording::new(Format::SweAgent);
    let mut transcript = Transcript::default();
    let mut beginning = text(&file.environment).to_owned();
    for raw in file.history {
        let Ok(value) = lines::value(raw.get()) else { continue };
        let is_demo = value["is_demo"] == true || value["message_type"] == "demonstration";
        let role = text(&value["role"]);
        // The steps show the agent's actions better.
        if role == "assistant" && !is_demo {
            break;
        }
        let content = tools::content(&value["content"]);
        beginning.push_str(&content);
        if is_demo || role == "user" {
            let mut user = Recorded::new("", Role::User, None);
            user.parts.push(words(content, is_demo));
            user.records.push(raw.get().to_owned());
            transcript.push(user);
        } else {
            recording.skipped.count(format!("history: {role}"));
        }
    }
    let first = file.steps.first().and_then(|raw| lines::value(raw.get()).ok());
    for name in ["response", "action", "observation"] {
        beginning.push_str(first.as_ref().map_or("", |step| text(&step[name])));
    }
    recording.session = format!("swe-agent-{}", tools::id_of(&beginning));
    for (place, raw) in file.steps.into_iter().enumerate() {
        match lines::value(raw.get()) {
            Ok(step) => take(place, &step, raw.get(), &mut transcript, &mut recording),
            Err(_) => recording.skipped.unreadable += 1,
        }
    }
    if recording.project.is_empty() {
        text(&file.environment).clone_into(&mut recording.project);
    }
    recording.messages = transcript.messages;
    Ok(vec![recording])
}

fn take(
    place: usize,
    step: &Value,
    raw: &str,
    transcript: &mut Transcript,
    recording: &mut Recording,
) {
    let state = &step["state"];
    let state =
        state.as_str().and_then(|it| serde_json::from_str(it).ok()).unwrap_or(state.clone());
    if recording.project.is_empty() {
        text(&state["working_dir"]).clone_into(&mut recording.project);
    }
    let mut answer = Recorded::new("", Role::Assistant, None);
    let thought = step["thought"].as_str().or_else(|| step["response"].as_str());
    let thought = thought.unwrap_or_default();
    if !thought.trim().is_empty() {
        answer.parts.push(words(thought, false));
    }
    answer.records.push(raw.to_owned());
    let here = transcript.push(answer);
    let action = text(&step["action"]).trim_end();
    if action.is_empty() {
        return;
    }
    let id = format!("step-{}", place + 1);
    let mut call = open_call(&id, "bash", json!({ "command": action }));
    let of_editor = editor::action(action, &state);
    let output = tools::content(&step["observation"]);
    let failed = of_editor.is_some() && editor::is_refused(&output);
    call.action = of_editor.unwrap_or(call.action);
    transcript.add(here, RecordedPart::Call(Box::new(call)));
    let answer = Answer { output, failed, exit: None, at: None };
    transcript.answer(&id, answer, None);
}
