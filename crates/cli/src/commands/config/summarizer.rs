use callstack_engine::{SUMMARIZER_VARIABLES, Setting, Source, SummarizerOutput, SummarizerWord};
use serde_json::json;

use super::{configured, row};
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::operations::user_settings::{UserSettings, UserSettingsParams};
use crate::output::Output;
use crate::page::{BOLD, DIM, PLAIN, Page};
use crate::project::variable;

const EXAMPLES: &str = "Examples:
  callstack config summarizer --address http://127.0.0.1:11434/v1 --model qwen3 --try
  callstack config summarizer --address https://api.anthropic.com --model claude-haiku-4-5 \\
    --key-env ANTHROPIC_API_KEY";

/// Show or set the model of your own that writes results where an agent gave none
///
/// Any address will do at which chat completions or messages are spoken as the two large providers do,
/// such as a server on this machine. Its key stays in a variable of the environment that agents are started with, and
/// is never stored. It is set in your own configuration, for all projects; a project can only do without
/// it. Where no model is set, or it does not answer in time, results are
/// extracted from what was said and done.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SummarizerArgs {
    /// Its base address
    #[arg(long, value_name = "URL")]
    address: Option<String>,
    /// The model's name there
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// How it is spoken to: auto (as the address suggests), openai or anthropic
    #[arg(long)]
    format: Option<String>,
    /// The variable of the environment that holds its key
    #[arg(long, value_name = "VARIABLE")]
    key_env: Option<String>,
    /// Milliseconds that it may take, retries included
    #[arg(long, value_name = "MS")]
    time_limit: Option<String>,
    /// How often it is asked again when it is overloaded or can't be reached
    #[arg(long, value_name = "N")]
    retries: Option<String>,
    /// Tokens (estimated) of a frame's steps that it is told
    #[arg(long, value_name = "N")]
    tokens: Option<String>,
    /// Ask no model any more; the other settings stay
    #[arg(long, conflicts_with_all = ["address", "try_it"])]
    off: bool,
    /// Ask none in this project only; `callstack config summarizer-address --reset` forgets that
    #[arg(long, requires = "off", conflicts_with_all = ["model", "format", "key_env", "time_limit", "retries", "tokens"])]
    here: bool,
    /// Ask it for a word, and say whether it answers
    #[arg(long = "try")]
    try_it: bool,
}

pub(super) fn run(
    args: &SummarizerArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let off = args.off.then(|| "none".to_owned());
    // In the order of the variables.
    let wanted = [
        args.address.as_ref().or(off.as_ref()),
        args.format.as_ref(),
        args.model.as_ref(),
        args.key_env.as_ref(),
        args.time_limit.as_ref(),
        args.retries.as_ref(),
        args.tokens.as_ref(),
    ];
    let mut changes = Vec::new();
    for (name, value) in SUMMARIZER_VARIABLES.iter().zip(wanted) {
        let Some(value) = value else { continue };
        let setting = Setting::meant(name)?;
        // No setting is changed and no store is made if one of the values is wrong.
        setting.read(value)?;
        changes.push((setting, value));
    }
    if args.here {
        let engine = invocation.engine()?;
        for (setting, value) in changes {
            let change = json!({"name": setting.name, "value": value});
            invocation.run(&engine, "stack_settings", change)?;
        }
    } else if !changes.is_empty() {
        let set = changes.into_iter();
        let set = set.map(|(setting, value)| (setting.name.to_owned(), value.clone())).collect();
        let changes = UserSettingsParams { set, reset: Vec::new() };
        invocation.on_machine::<UserSettings>(output, changes)?;
        if invocation.place.found().is_none() {
            return print_set(output);
        }
    }
    show(args.try_it, invocation, output)
}

/// Prints that a model is set where there is no project to show and try it in.
fn print_set(output: &mut Output) -> Result<(), CommandError> {
    output.either(&json!({"source": Source::User}), |page| {
        page.put(PLAIN, "set in your own configuration, for all projects").end();
        page.put(PLAIN, "In a project with a store, `callstack config summarizer --try` asks it.")
            .end();
    })
}

fn show(
    try_it: bool,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let answer = invocation.run(&engine, "stack_summarizer", json!({"ask": try_it}))?;
    let model: SummarizerOutput =
        serde_json::from_value(answer.data).map_err(CommandError::of_shape)?;
    let mut data = invocation.run(&engine, "stack_settings", json!({}))?.data;
    if let Some(settings) = data["settings"].as_array_mut() {
        settings.retain(|it| SUMMARIZER_VARIABLES.iter().any(|name| it["name"] == *name));
    }
    let all = configured(&data)?;
    let has_key = variable(&model.key_variable).is_some_and(|key| !key.trim().is_empty());
    let format = &model.format;
    let value = json!({
        "on": model.on,
        "format": format,
        "keyIsSet": has_key,
        "settings": data["settings"],
        "answer": model.answer,
    });
    output.either(&value, |page| {
        if model.on {
            state(page, "on", "what nobody gives results of, the model writes them of");
            page.put(PLAIN, &format!("spoken to as {format}")).end();
            let held = if has_key { "holds a key" } else { "holds no key here: none is sent" };
            page.put(PLAIN, &format!("{} {held}", model.key_variable)).end();
        } else {
            state(
                page,
                "off",
                "results that nobody gives are extracted from what was said and done",
            );
        }
        let width = all.iter().map(|it| it.setting.name.len()).max().unwrap_or(0);
        for configured in &all {
            page.put(PLAIN, "  ");
            row(page, configured, width);
        }
        if let Some(SummarizerWord { text, ms }) = &model.answer {
            page.put(BOLD, "it answers").put(DIM, &format!(" after {ms} ms")).end();
            page.block("  ", text);
        }
    })
}

fn state(page: &mut Page, state: &str, meaning: &str) {
    page.put(BOLD, state).put(DIM, &format!(": {meaning}")).end();
}
