mod summarizer;

use std::collections::BTreeMap;

use callstack_engine::{Configured, Engine, EngineError, SETTINGS, Scope, Setting, Source};
use serde_json::{Map, Value, json};

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{BOLD, DIM, PLAIN, Page, WARN};
use crate::{project, user};

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
            let configured = if args.user || setting.scope == Scope::User {
                user::configure(&user::configuration()?.with(setting, Some(value))?)?;
                if is_outside {
                    return tell_user_set(setting, value, output);
                }
                invocation.engine()?.configured_as(setting)?
            } else {
                invocation.engine()?.configure(setting, Some(value))?
            };
            output.either(&data(&configured), |page| one(page, &configured))
        }
        (Some(setting), None) if is_outside && !args.reset => {
            let configured = outside(setting)?;
            output.either(&data(&configured), |page| one(page, &configured))
        }
        (Some(setting), None) => {
            if args.reset && (args.user || setting.scope == Scope::User) {
                user::configure(&user::configuration()?.with(setting, None)?)?;
            }
            let engine = invocation.engine()?;
            let configured = if args.reset && !args.user {
                engine.configure(setting, None)?
            } else {
                engine.configured_as(setting)?
            };
            output.either(&data(&configured), |page| one(page, &configured))
        }
        (None, _) if is_outside && !args.reset => {
            let all = Setting::all().map(outside).collect::<Result<Vec<_>, _>>()?;
            output.either(&listed(&all), |page| {
                table(page, &all);
                let told =
                    "There is no project here: these count where a project sets nothing else.";
                page.put(DIM, told).end();
            })
        }
        (None, _) => {
            let engine = invocation.engine()?;
            if args.reset && !reset(&engine, args.yes, output)? {
                return output.either(&Value::Null, |page| {
                    page.put(PLAIN, "nothing was reset").end();
                });
            }
            let all = engine.configuration()?;
            output.either(&listed(&all), |page| table(page, &all))
        }
    }
}

/// Returns a setting as it counts where no project sets it.
fn outside(setting: &'static Setting) -> Result<Configured, EngineError> {
    Ok(Configured::of(setting, &project::settings()?, &BTreeMap::new()))
}

fn listed(all: &[Configured]) -> Value {
    json!({"settings": all.iter().map(data).collect::<Vec<_>>()})
}

/// Prints a setting for all projects where there is no project to show it in.
fn tell_user_set(setting: &Setting, value: &str, output: &mut Output) -> Result<(), CommandError> {
    let value_told = json!({"name": setting.name, "value": value, "source": Source::User.as_str()});
    output.either(&value_told, |page| {
        let told = format!("{} is {value} in your own configuration", setting.name);
        page.put(PLAIN, &told).end();
    })
}

/// Forgets all that was set in the project, once somebody has agreed; returns whether it did.
fn reset(engine: &Engine, yes: bool, output: &mut Output) -> Result<bool, CommandError> {
    let stored = engine.stored_settings()?;
    let names: Vec<_> = stored.keys().map(String::as_str).collect();
    let names = names.join(", ");
    let unasked = EngineError::invalid(
        format!("this would reset {names}, and nobody can be asked here"),
        "Give --yes to do it, or name one setting.",
    );
    if !stored.is_empty() && !yes && !output.confirm(&format!("Reset {names}?"), unasked)? {
        return Ok(false);
    }
    for name in stored.keys() {
        engine.set_setting(name, None)?;
    }
    Ok(true)
}

fn data(configured: &Configured) -> Value {
    let Configured { setting, value, source, ignored, overruled } = configured;
    let meanings: Map<_, _> =
        setting.meanings.iter().map(|(of, means)| ((*of).to_owned(), json!(means))).collect();
    json!({
        "name": setting.name,
        "value": value,
        "unit": setting.unit.map(|unit| unit.name),
        "means": setting.meant_by(value),
        "source": source.as_str(),
        "ignored": ignored,
        "overruled": overruled,
        "default": setting.default,
        "mayBe": setting.values.told(),
        "meanings": meanings,
        "doc": setting.doc,
    })
}

fn one(page: &mut Page, configured: &Configured) {
    let setting = configured.setting;
    row(page, configured, 0);
    page.block("  ", setting.doc);
    let told = setting.values.told();
    let default = setting.shown(setting.default);
    page.put(PLAIN, "  ").put(DIM, &format!("It may be {told}; the default is {default}.")).end();
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
