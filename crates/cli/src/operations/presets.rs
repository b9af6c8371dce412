//! The operation that shows presets: they lie in files, and are looked at before there is a store.

use std::collections::BTreeMap;

use callstack_engine::operation::{
    Access, Caller, CallerKind, Operate, Repeated, Reply, TERMINAL_ONLY,
};
use callstack_engine::presets::{Preset, PresetFrame, preset, presets};
use callstack_engine::{EngineError, path_text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Machine;

/// `stack_presets`.
pub(crate) struct Presets;

/// Arguments of `stack_presets`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PresetsParams {
    /// Only this one
    pub(crate) name: Option<String>,
    /// Values that are put into its placeholders, by name; all of them, or none
    pub(crate) values: Option<BTreeMap<String, String>>,
}

/// The presets of a project, with those that are built in.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PresetsOutput {
    pub(crate) presets: Vec<ShownPreset>,
    /// Files that can't be used
    pub(crate) unusable: Vec<UnusablePreset>,
}

/// A preset.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ShownPreset {
    pub(crate) name: String,
    pub(crate) description: String,
    /// Names of its placeholders
    pub(crate) values: Vec<String>,
    /// The file that it stands in; null for one that is built in
    pub(crate) file: Option<String>,
    /// The same in words; null for one that is built in
    pub(crate) origin: Option<String>,
    pub(crate) frames: Vec<ShownPresetFrame>,
}

/// A frame of a preset.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ShownPresetFrame {
    pub(crate) title: String,
    pub(crate) criteria: String,
    pub(crate) children: Vec<Self>,
}

/// A preset that can't be used.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct UnusablePreset {
    pub(crate) name: String,
    /// Why it can't
    pub(crate) error: String,
}

impl Operate<Machine> for Presets {
    const NAME: &'static str = "stack_presets";
    const SUMMARY: &'static str = "Show the presets of a project, or one of them with values in the places of its \
        placeholders; no store is needed, and nothing is planned.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = TERMINAL_ONLY;
    type Params = PresetsParams;
    type Output = PresetsOutput;

    fn run(
        machine: &Machine,
        _: &Caller,
        params: PresetsParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let project = machine.place.existing_or_new()?;
        let mut output = PresetsOutput { presets: Vec::new(), unusable: Vec::new() };
        if let Some(name) = params.name {
            let named = preset(&project, &name)?;
            let frames = match &params.values {
                Some(values) => named.filled(values)?,
                None => named.frames.clone(),
            };
            output.presets.push(ShownPreset::of(&Preset { frames, ..named }));
        } else {
            for (name, preset) in presets(&project)? {
                match preset {
                    Ok(preset) => output.presets.push(ShownPreset::of(&preset)),
                    Err(error) => {
                        output.unusable.push(UnusablePreset { name, error: error.message });
                    }
                }
            }
        }
        Ok(Reply::new("presets", "The presets of the project.", output))
    }
}

impl ShownPreset {
    fn of(preset: &Preset) -> Self {
        Self {
            name: preset.name.clone(),
            description: preset.description.clone(),
            values: preset.placeholders().into_iter().collect(),
            file: preset.file.as_deref().map(|file| path_text(file).into_owned()),
            origin: preset.origin(),
            frames: preset.frames.iter().map(ShownPresetFrame::of).collect(),
        }
    }
}

impl ShownPresetFrame {
    fn of(frame: &PresetFrame) -> Self {
        Self {
            title: frame.title.clone(),
            criteria: frame.criteria.clone(),
            children: frame.children.iter().map(Self::of).collect(),
        }
    }
}
