mod summarizer;

use std::collections::{BTreeMap, BTreeSet};

use callstack_engine::{
    Configured, EngineError, SETTINGS, Scope, Setting, SettingEntry, SettingsOutput, Source,
};
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::operations::user_settings::{UserSettings, UserSettingsParams};
use crate::output::Output;
use crate::page::{BOLD, DIM, PLAIN, Page, WARN};

/// Show the settings of this project, change one, or reset it
///
/// A variable of the environment of the same name counts first, then what is set here, then your own
/// configuration, `~/.config/callstack/config.toml`. What names an address, or a variable with a key, is never
/// set in a project, which can only do without it. Names may be shortened: `frame-mode` is `STACK_FRAME_MODE`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    several: Option<Several>,
    /// The setting [default: show all]
    name: Option<String>,
    /// What it is to be [default: show what it is]
    #[arg(conflicts_with = "reset", allow_hyphen_values = true)]
    value: Option<String>,
    /// Forget what was set here: for this setting, or for all if none is named
    #[arg(long)]
    reset: bool,
    /// Reset all without asking
    #[arg(long, short, requires = "reset")]
    yes: bool,
    /// Set it in your own configuration, for all projects
    #[arg(long, requires = "name")]
    user: bool,
}

/// Settings that are set together.
#[derive(Debug, clap::Subcommand)]
enum Several {
    Summarizer(summarizer::SummarizerArgs),
}

pub(crate) fn run(
    args: &ConfigArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    if let Some(Several::Summarizer(args)) = &args.several {
        return summarizer::run(args, invocation, output);
    }
    let setting = args.name.as_deref().map(Setting::meant).transpose()?;
    let is_outside = invocation.place.found().is_none();
    match (setting, &args.value) {
        (Some(setting), Some(value)) => {
            // A wrong value is refused before a store is made.
            setting.read(value)?;
            if args.user || setting.scope == Scope::User {
                let set = BTreeMap::from([(setting.name.to_owned(), value.clone())]);
                let changes = UserSettingsParams { set, reset: Vec::new() };
                invocation.on_machine::<UserSettings>(output, changes)?;
                if is_outside {
                    return print_user_set(setting, value, output);
                }
                return show_one(invocation, &json!({"name": setting.name}), output);
            }
            let change = json!({"name": setting.name, "value": value});
            show_one(invocation, &change, output)
        }
        (Some(setting), None) if is_outside && !args.reset => {
            let all = of_user(UserSettingsParams::default(), invocation, output)?;
            let all = all["settings"].as_array().into_iter().flatten();
            let data = all.into_iter().find(|it| it["name"] == setting.name).cloned();
            print_one(&data.unwrap_or_default(), output)
        }
        (Some(setting), None) => {
            if args.reset && (args.user || setting.scope == Scope::User) {
                let reset = vec![setting.name.to_owned()];
                let changes = UserSettingsParams { reset, ..UserSettingsParams::default() };
                invocation.on_machine::<UserSettings>(output, changes)?;
            }
            let reset = args.reset && !args.user;
            show_one(invocation, &json!({"name": setting.name, "reset": reset}), output)
        }
        (None, _) if is_outside && !args.reset => {
            let data = of_user(UserSettingsParams::default(), invocation, output)?;
            let all = configured(&data)?;
            output.either(&data, |page| {
                table(page, &all);
                let line =
                    "There is no project here: these count where a project sets nothing else.";
                page.put(DIM, line).end();
            })
        }
        (None, _) => {
            let engine = invocation.engine()?;
            let mut data = invocation.run(&engine, "stack_settings", json!({}))?.data;
            if args.reset {
                if !agree(&configured(&data)?, args.yes, output)? {
                    return output.either(&Value::Null, |page| {
                        page.put(PLAIN, "nothing was reset").end();
                    });
                }
                data = invocation.run(&engine, "stack_settings", json!({"reset": true}))?.data;
            }
            let all = configured(&data)?;
            output.either(&data, |page| table(page, &all))
        }
    }
}

/// Returns the settings as they count where no project sets them.
fn of_user(
    params: UserSettingsParams,
    invocation: &Invocation<'_>,
    output: &Output,
) -> Result<Value, CommandError> {
    Ok(json!(invocation.on_machine::<UserSettings>(output, params)?))
}

/// Returns the settings in an answer.
fn configured(data: &Value) -> Result<Vec<Configured>, CommandError> {
    let answer: SettingsOutput =
        serde_json::from_value(data.clone()).map_err(CommandError::of_shape)?;
    let settings = answer.settings.into_iter().map(SettingEntry::configured);
    Ok(settings.collect::<Result<_, _>>()?)
}

/// Shows a setting of the project, changed as the arguments of the operation say.
fn show_one(
    invocation: &Invocation<'_>,
    arguments: &Value,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let answer = invocation.run(&engine, "stack_settings", arguments.clone())?;
    print_one(&answer.data["settings"][0], output)
}

fn print_one(data: &Value, output: &mut Output) -> Result<(), CommandError> {
    let entry: SettingEntry =
        serde_json::from_value(data.clone()).map_err(CommandError::of_shape)?;
    let configured = entry.configured()?;
    output.either(data, |page| one(page, &configured))
}

/// Prints a setting for all projects where there is no project to show it in.
fn print_user_set(setting: &Setting, value: &str, output: &mut Output) -> Result<(), CommandError> {
    let data = json!({"name": setting.name, "value": value, "source": Source::User});
    output.either(&data, |page| {
        let line = format!("{} is {value} in your own configuration", setting.name);
        page.put(PLAIN, &line).end();
    })
}

/// Asks whether all that is set in the project may be forgotten; returns whether it may.
fn agree(all: &[Configured], yes: bool, output: &mut Output) -> Result<bool, CommandError> {
    let is_set = |it: &&Configured| {
        it.source == Source::Set || it.ignored.is_some() || it.overruled.is_some()
    };
    let names: BTreeSet<_> = all.iter().filter(is_set).map(|it| it.setting.name).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    let unasked = EngineError::invalid(
        format!("this would reset {names}, and nobody can be asked here"),
        "Give --yes to do it, or name one setting.",
    );
    Ok(names.is_empty() || yes || output.confirm(&format!("Reset {names}?"), unasked)?)
}

fn one(page: &mut Page, configured: &Configured) {
    let setting = configured.setting;
    row(page, configured, 0);
    page.block("  ", setting.doc);
    let words = setting.values.in_words();
    let default = setting.shown(setting.default);
    page.put(PLAIN, "  ").put(DIM, &format!("It may be {words}; the default is {default}.")).end();
    let width = setting.meanings.iter().map(|(of, _)| of.len()).max().unwrap_or(0);
    for (of, means) in setting.meanings {
        page.put(PLAIN, &format!("    {of:<width$}  ")).put(DIM, means).end();
    }
}

fn table(page: &mut Page, all: &[Configured]) {
    let width = all.iter().map(|it| it.setting.name.len()).max().unwrap_or(0);
    for (group, settings) in SETTINGS {
        page.put(DIM, group).end();
        for configured in all.iter().filter(|it| settings.contains(it.setting)) {
            page.put(PLAIN, "  ");
            row(page, configured, width);
        }
    }
    page.put(DIM, "`callstack config NAME` tells what a setting does and may be.").end();
}

/// Columns that most values take with their units.
const VALUES: usize = 12;

/// Draws a setting with its value and the meaning of that; below, the source of the value, and values without effect.
fn row(page: &mut Page, configured: &Configured, width: usize) {
    let Configured { setting, value, source, ignored, overruled } = configured;
    page.put(PLAIN, &format!("{:<width$} ", setting.name));
    let shown = setting.shown(value);
    page.put(if *source == Source::Default { PLAIN } else { BOLD }, &shown);
    if let Some(means) = setting.meant_by(value) {
        let columns = if width == 0 { 0 } else { VALUES };
        let gap = columns.saturating_sub(shown.chars().count()) + 2;
        page.put(DIM, &format!("{:gap$}{means}", ""));
    }
    page.end();
    let from = match source {
        Source::Environment => Some("from the environment"),
        Source::Set => Some("set here"),
        Source::User => Some("from your configuration"),
        Source::Host => Some("from OpenCode's configuration"),
        Source::Default => None,
    };
    let indent = if width == 0 { 2 } else { width + 3 };
    let mut below = |style, text: &str| {
        page.put(PLAIN, &" ".repeat(indent)).put(style, text).end();
    };
    if let Some(from) = from {
        below(DIM, from);
    }
    if let Some(value) = overruled {
        let value = setting.shown(value);
        below(WARN, &format!("set to {value} here, which counts once the variable is gone"));
    }
    if let Some(value) = ignored {
        below(WARN, &format!("set to {value} here, which a project may not: it does not count"));
    }
}
