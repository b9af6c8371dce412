mod summarizer;

use callstack_engine::{Configured, Engine, EngineError, SETTINGS, Scope, Setting, Source};
use serde_json::{Value, json};

use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{BOLD, DIM, PLAIN, Page, WARN};
use crate::user;

/// Show the settings of this project, change one, or reset it
///
/// What is set here counts before the environment's variables of the same names, until it is reset; these
/// count before your own configuration, `~/.config/callstack/config.toml`. What names an address, or a variable with a key,
/// is set there only, and never in a project. Names may be shortened: `frame-mode` is `STACK_FRAME_MODE`.
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
) -> Result<(), Failure> {
    if let Some(Several::Summarizer(args)) = &args.several {
        return summarizer::run(args, invocation, output);
    }
    let setting = args.name.as_deref().map(Setting::meant).transpose()?;
    match (setting, &args.value) {
        (Some(setting), Some(value)) => {
            // Before a store is made for it.
            setting.read(value)?;
            let configured = if args.user || setting.scope == Scope::User {
                user::configure(&user::configuration()?.with(setting, Some(value))?)?;
                invocation.engine_or_new()?.configured_as(setting)?
            } else {
                invocation.engine_or_new()?.configure(setting, Some(value))?
            };
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
        (None, _) => {
            let engine = invocation.engine()?;
            if args.reset {
                reset(&engine)?;
            }
            let all = engine.configuration()?;
            let value = json!({"settings": all.iter().map(data).collect::<Vec<_>>()});
            output.either(&value, |page| table(page, &all))
        }
    }
}

fn reset(engine: &Engine) -> Result<(), EngineError> {
    for name in engine.stored_settings()?.keys() {
        engine.set_setting(name, None)?;
    }
    Ok(())
}

fn data(configured: &Configured) -> Value {
    let Configured { setting, value, source, ignored } = configured;
    json!({
        "name": setting.name,
        "value": value,
        "source": source.as_str(),
        "ignored": ignored,
        "default": setting.default,
        "mayBe": setting.values.told(),
        "doc": setting.doc,
    })
}

fn one(page: &mut Page, configured: &Configured) {
    let setting = configured.setting;
    row(page, configured, 0);
    page.block("  ", setting.doc);
    let told = format!("It may be {}; the default is {}.", setting.values.told(), setting.default);
    page.put(PLAIN, "  ").put(DIM, &told).end();
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

fn row(page: &mut Page, configured: &Configured, width: usize) {
    let Configured { setting, value, source, ignored } = configured;
    page.put(PLAIN, &format!("{:<width$} ", setting.name));
    page.put(if *source == Source::Default { PLAIN } else { BOLD }, value);
    let told = match source {
        Source::Set => "  (set here)",
        Source::Environment => "  (environment)",
        Source::User => "  (your configuration)",
        Source::Default => "",
    };
    page.put(DIM, told);
    if let Some(ignored) = ignored {
        page.put(WARN, &format!("  (set to {ignored} here, which does not count)"));
    }
    page.end();
}
