//! The operation that plans frames from a preset.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::plan::{Plan, PlannedFrame};
use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated, typed};
use crate::path_text::path_text;
use crate::presets::{PresetFrame, preset, presets, shown};

/// `stack_preset`.
pub(crate) struct Preset;

/// Arguments of `stack_preset`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PresetParams {
    /// The preset; omit to list all
    name: Option<String>,
    /// Values of its placeholders, by name
    values: Option<BTreeMap<String, String>>,
    /// Handle of the frame to plan below; default: the open one
    parent: Option<String>,
}

/// The frames that were planned, or the presets that there are.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum PresetOutput {
    Planned(Vec<PlannedFrame>),
    Presets(Vec<ListedPreset>),
}

/// One of the presets.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ListedPreset {
    Usable {
        name: String,
        description: String,
        /// Names of its placeholders
        values: Vec<String>,
        /// The file that it stands in; null for one that is built in
        file: Option<String>,
        frames: Vec<PresetChild>,
    },
    Unusable {
        name: String,
        error: String,
    },
}

/// A frame of a preset.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PresetChild {
    title: String,
    success_criteria: String,
    children: Vec<Self>,
}

impl Operate for Preset {
    const NAME: &'static str = "stack_preset";
    const SUMMARY: &'static str = "Plan the frames of a preset, such as bugfix, feature, refactor or \
        review, with values for its placeholders.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Stored;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = PresetParams;
    type Output = PresetOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: PresetParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let Some(arguments) = params.into_plan(engine.project())? else {
            return Ok(list(engine)?.map(PresetOutput::Presets));
        };
        Ok(typed::<Engine, Plan>(engine, caller, arguments)?.map(PresetOutput::Planned))
    }
}

impl PresetParams {
    /// Returns the arguments of `stack_frame_plan` that plan the preset; `None` if presets are to be listed.
    fn into_plan(self, project: &Path) -> Result<Option<Value>, EngineError> {
        let Some(name) = self.name.filter(|name| !name.is_empty()) else { return Ok(None) };
        let preset = preset(project, &name)?;
        let frames = preset.filled(&self.values.unwrap_or_default())?;
        let context =
            preset.origin().map(|origin| format!("Title and criteria are from {origin}."));
        let children: Vec<_> = frames.iter().map(|it| planned(it, context.as_deref())).collect();
        let mut arguments = json!({"children": children});
        if let Some(parent) = self.parent {
            arguments["parent"] = parent.into();
        }
        Ok(Some(arguments))
    }
}

/// Returns a frame as `stack_frame_plan` takes it.
fn planned(frame: &PresetFrame, context: Option<&str>) -> Value {
    let children: Vec<_> = frame.children.iter().map(|child| planned(child, context)).collect();
    json!({
        "title": frame.title,
        "successCriteria": frame.criteria_or_title(),
        "context": context,
        "children": children,
    })
}

impl PresetChild {
    fn of(frame: &PresetFrame) -> Self {
        Self {
            title: frame.title.clone(),
            success_criteria: frame.criteria_or_title().to_owned(),
            children: frame.children.iter().map(Self::of).collect(),
        }
    }
}

fn list(engine: &Engine) -> Result<Reply<Vec<ListedPreset>>, EngineError> {
    let mut text = String::from("Presets, with the values that they take:\n");
    let mut data = Vec::new();
    for (name, preset) in presets(engine.project())? {
        let preset = match preset {
            Ok(preset) => preset,
            Err(error) => {
                // Writing to a string can't fail.
                let _ = writeln!(text, "- {name:?} is not usable: {}", error.message);
                data.push(ListedPreset::Unusable { name, error: error.message });
                continue;
            }
        };
        let takes: Vec<_> = preset.placeholders().into_iter().collect();
        let origin = preset.origin().map(|origin| format!(" (from {origin})")).unwrap_or_default();
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "- {}({}){origin}: {}",
            preset.name,
            takes.join(", "),
            shown(&preset.description)
        );
        data.push(ListedPreset::Usable {
            file: preset.file.as_deref().map(|file| path_text(file).into_owned()),
            frames: preset.frames.iter().map(PresetChild::of).collect(),
            values: takes,
            name: preset.name,
            description: preset.description,
        });
    }
    Ok(Reply::new("presets", text, data))
}
