//! Planning from a preset.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::{Answer, Caller, Operate};
use crate::path_text::path_text;
use crate::presets::{PresetFrame, preset, presets};

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

impl Operate for Preset {
    const NAME: &'static str = "stack_preset";
    const SUMMARY: &'static str = "Plan the frames of a preset, such as bugfix, feature, refactor or \
        review, with values for its placeholders.";
    type Params = PresetParams;

    fn run(engine: &Engine, caller: &Caller, params: PresetParams) -> Result<Answer, EngineError> {
        let Some(arguments) = params.into_plan(engine.project())? else { return list(engine) };
        let plan = super::find("stack_frame_plan").ok_or_else(|| EngineError {
            kind: crate::error::Kind::Internal,
            message: "nothing plans".to_owned(),
            hint: None,
        })?;
        plan.run(engine, caller, arguments)
    }
}

impl PresetParams {
    /// The arguments of `stack_frame_plan` that these come to; none where presets are to be listed.
    fn into_plan(self, project: &Path) -> Result<Option<Value>, EngineError> {
        let Some(name) = self.name.filter(|name| !name.is_empty()) else { return Ok(None) };
        let frames = preset(project, &name)?.filled(&self.values.unwrap_or_default())?;
        let children: Vec<Value> = frames.iter().map(child).collect();
        let mut arguments = json!({"children": children});
        if let Some(parent) = self.parent {
            arguments["parent"] = parent.into();
        }
        Ok(Some(arguments))
    }
}

fn child(frame: &PresetFrame) -> Value {
    let children: Vec<Value> = frame.children.iter().map(child).collect();
    // Where a preset says no more than a title, that is what is to be reached.
    let criteria = if frame.criteria.trim().is_empty() { &frame.title } else { &frame.criteria };
    json!({"title": frame.title, "successCriteria": criteria, "children": children})
}

fn list(engine: &Engine) -> Result<Answer, EngineError> {
    let mut text = String::from("Presets, with the values that they take:\n");
    let mut data = Vec::new();
    for (name, preset) in presets(engine.project())? {
        let preset = match preset {
            Ok(preset) => preset,
            Err(error) => {
                // Writing to a string can't fail.
                let _ = writeln!(text, "- {name:?} is not usable: {}", error.message);
                data.push(json!({"name": name, "error": error.message}));
                continue;
            }
        };
        let takes: Vec<_> = preset.placeholders().into_iter().collect();
        // Writing to a string can't fail.
        let _ = writeln!(text, "- {}({}): {}", preset.name, takes.join(", "), preset.description);
        data.push(json!({
            "name": preset.name,
            "description": preset.description,
            "values": takes,
            "file": preset.file.as_deref().map(path_text),
            "frames": preset.frames.iter().map(child).collect::<Vec<_>>(),
        }));
    }
    Ok(Answer { title: "presets".to_owned(), text, data: data.into(), ..Answer::default() })
}
