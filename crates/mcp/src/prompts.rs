//! The engine's slash commands as prompts that a person picks.

use callstack_engine::{Engine, SLASH, Slash};
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

/// The name of the argument that every prompt takes.
const WORDS: &str = "words";
/// The place of the words in a command's template.
const PLACE: &str = "$ARGUMENTS";
/// The replacement of an argument that was not given.
const UNSAID: &str = "(not said; take it from the conversation)";
/// The mark that distinguishes the templates in files from other commands.
const MARK: &str = "(callstack) ";

/// Returns the prompts.
pub(crate) fn listed() -> Vec<Prompt> {
    let prompt = |slash: &Slash| {
        let words = PromptArgument::new(WORDS).with_description("What stands behind the command");
        Prompt::new(slash.name, Some(slash.description), Some(vec![words]))
    };
    SLASH.iter().map(prompt).collect()
}

/// Returns the message of a prompt, with the names of tools in the engine's dialect.
pub(crate) fn made(
    name: &str,
    arguments: &JsonObject,
    engine: Option<&Engine>,
) -> Option<GetPromptResult> {
    let slash = SLASH.iter().find(|slash| slash.name == name)?;
    let template = slash.template.strip_prefix(MARK).unwrap_or(slash.template);
    let template = match engine {
        Some(engine) => engine.dialect().words(template),
        None => template.into(),
    };
    let given = arguments.get(WORDS).and_then(Value::as_str).map(str::trim);
    let text = template.replace(PLACE, given.filter(|it| !it.is_empty()).unwrap_or(UNSAID));
    let message = PromptMessage::new_text(Role::User, text);
    Some(GetPromptResult::new(vec![message]).with_description(slash.description))
}
