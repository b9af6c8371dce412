use std::collections::BTreeMap;

use callstack_engine::EngineError;
use clap::Subcommand;
use serde_json::json;

use super::plan::print_planned;
use crate::args::NewStore;
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::operations::presets::{Presets, PresetsParams, ShownPreset, ShownPresetFrame};
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
            let found = invocation.on_machine::<Presets>(output, PresetsParams::default())?;
            output.either(&json!(found.presets), |page| {
                for preset in &found.presets {
                    head(page, preset);
                }
            })?;
            for unusable in &found.unusable {
                output.remark(&unusable.error);
            }
            Ok(())
        }
        Action::Show { name } => {
            let params = PresetsParams { name: Some(name.clone()), values: None };
            let found = invocation.on_machine::<Presets>(output, params)?.presets;
            for preset in &found {
                output.either(&json!(preset), |page| {
                    head(page, preset);
                    draw(page, &preset.frames, 1);
                })?;
            }
            Ok(())
        }
        Action::Apply { name, values, parent, new } => {
            let values: BTreeMap<String, String> =
                values.iter().map(|given| pair(given)).collect::<Result<_, _>>()?;
            // A preset that can't be filled is refused before a store is made.
            let params = PresetsParams { name: Some(name.clone()), values: Some(values.clone()) };
            let found = invocation.on_machine::<Presets>(output, params)?.presets;
            let engine = invocation.engine_or_new(*new, output)?;
            let arguments = json!({"name": name, "values": values, "parent": parent});
            let answer = invocation.run(&engine, "stack_preset", arguments)?;
            for origin in found.iter().filter_map(|preset| preset.origin.as_ref()) {
                output.remark(&format!("the frames are from {origin}"));
            }
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

fn head(page: &mut Page, preset: &ShownPreset) {
    page.put(BOLD, &preset.name);
    for name in &preset.values {
        page.put(PLAIN, &format!(" {name}=…"));
    }
    page.put(DIM, &format!("  {}", preset.description)).end();
    if let Some(origin) = &preset.origin {
        page.put(DIM, &format!("  from {origin}")).end();
    }
}

fn draw(page: &mut Page, frames: &[ShownPresetFrame], depth: usize) {
    for frame in frames {
        let indent = "  ".repeat(depth);
        page.put(PLAIN, &indent).put(PLAIN, "○ ").put(PLAIN, &frame.title).end();
        page.block(&format!("{indent}    "), &frame.criteria);
        draw(page, &frame.children, depth + 1);
    }
}
