use std::collections::BTreeMap;

use callstack_engine::presets::{Preset, PresetFrame, preset, presets};
use callstack_engine::{EngineError, path_text};
use clap::Subcommand;
use serde_json::{Value, json};

use super::plan::print_planned;
use crate::args::NewStore;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{BOLD, DIM, PLAIN, Page};

/// Plan frames from a preset: a named tree with placeholders
///
/// A few presets are built in; a project's own are TOML files in `.opencode/stack/presets`.
#[derive(Debug, clap::Args)]
pub(crate) struct PresetArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show which presets there are, and the values that they take
    List,
    /// Show the frames of a preset
    Show {
        /// The preset
        name: String,
    },
    /// Plan the frames of a preset
    Apply {
        /// The preset
        name: String,
        /// Values of its placeholders
        #[arg(value_name = "KEY=VALUE")]
        values: Vec<String>,
        /// The frame to plan below, by handle or the beginning of its id [default: the open frame]
        #[arg(long, value_name = "FRAME")]
        parent: Option<String>,
        #[command(flatten)]
        new: NewStore,
    },
}

pub(crate) fn run(
    args: &PresetArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    match &args.action {
        Action::List => {
            let all = presets(&invocation.place.existing_or_new()?)?;
            let value: Vec<Value> = all.values().flatten().map(data).collect();
            output.either(&value.into(), |page| {
                for preset in all.values().flatten() {
                    head(page, preset);
                }
            })?;
            for error in all.values().filter_map(|preset| preset.as_ref().err()) {
                output.remark(&error.message);
            }
            Ok(())
        }
        Action::Show { name } => {
            let preset = preset(&invocation.place.existing_or_new()?, name)?;
            output.either(&data(&preset), |page| {
                head(page, &preset);
                draw(page, &preset.frames, 1);
            })
        }
        Action::Apply { name, values, parent, new } => {
            let values: BTreeMap<String, String> =
                values.iter().map(|given| pair(given)).collect::<Result<_, _>>()?;
            // A preset that can't be filled is refused before a store is made.
            preset(&invocation.place.existing_or_new()?, name)?.filled(&values)?;
            let engine = invocation.engine_or_new(*new, output)?;
            let arguments = json!({"name": name, "values": values, "parent": parent});
            let answer = invocation.run(&engine, "stack_preset", arguments)?;
            print_planned(output, &answer)
        }
    }
}

fn pair(given: &str) -> Result<(String, String), EngineError> {
    given
        .split_once('=')
        .map(|(name, value)| (name.trim().to_owned(), value.to_owned()))
        .ok_or_else(|| {
            EngineError::invalid(format!("`{given}` is no value"), "Give values as KEY=VALUE.")
        })
}

fn data(preset: &Preset) -> Value {
    json!({
        "name": preset.name,
        "description": preset.description,
        "values": preset.placeholders(),
        "file": preset.file.as_deref().map(path_text),
        "frames": preset.frames.iter().map(frame).collect::<Vec<_>>(),
    })
}

fn frame(of: &PresetFrame) -> Value {
    let children: Vec<Value> = of.children.iter().map(frame).collect();
    json!({"title": of.title, "criteria": of.criteria, "children": children})
}

fn head(page: &mut Page, preset: &Preset) {
    page.put(BOLD, &preset.name);
    for name in preset.placeholders() {
        page.put(PLAIN, &format!(" {name}=…"));
    }
    page.put(DIM, &format!("  {}", preset.description)).end();
}

fn draw(page: &mut Page, frames: &[PresetFrame], depth: usize) {
    for frame in frames {
        let indent = "  ".repeat(depth);
        page.put(PLAIN, &indent).put(PLAIN, "○ ").put(PLAIN, &frame.title).end();
        page.block(&format!("{indent}    "), &frame.criteria);
        draw(page, &frame.children, depth + 1);
    }
}
