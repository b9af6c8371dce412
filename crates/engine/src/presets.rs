//! Presets: trees of planned frames with placeholders, from TOML files. A few are built in; a project's
//! own lie in `.opencode/stack/presets/`, where they can be committed, and take precedence.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use callstack_core::xml::one_line;
use callstack_store::plain;
use serde::Deserialize;

use crate::error::{EngineError, Kind};

/// The folder of a project's own presets, relative to the project.
pub const PRESETS: &str = ".opencode/stack/presets";

const BUILT_IN: [(&str, &str); 4] = [
    ("bugfix", include_str!("../presets/bugfix.toml")),
    ("feature", include_str!("../presets/feature.toml")),
    ("refactor", include_str!("../presets/refactor.toml")),
    ("review", include_str!("../presets/review.toml")),
];

/// Bytes of a preset's file.
const LONGEST: u64 = 256 * 1024;
/// Characters of a preset's file that are shown of what is wrong with it.
const SHOWN: usize = 200;

/// A named tree of frames to be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name: that of its file, without the ending.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// The file that it comes from; none for one that is built in.
    pub file: Option<PathBuf>,
    /// The frames, in working order.
    pub frames: Vec<PresetFrame>,
}

/// A frame of a preset. `{name}` in its texts is replaced by a value that is given when it is applied.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PresetFrame {
    /// Short name.
    pub title: String,
    /// The conditions under which it is done.
    #[serde(default)]
    pub criteria: String,
    /// Frames below it.
    #[serde(default)]
    pub children: Vec<PresetFrame>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    description: String,
    frames: Vec<PresetFrame>,
}

/// Returns all presets of a project by name, each with the reason if it can't be used.
pub fn presets(
    project: &Path,
) -> Result<BTreeMap<String, Result<Preset, EngineError>>, EngineError> {
    let mut names: BTreeSet<String> = BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
    let folder = project.join(PRESETS);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries.collect::<Result<Vec<_>, _>>(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    for entry in entries.map_err(|error| unreadable(&folder, error))? {
        let path = entry.path();
        if path.extension().is_some_and(|it| it == "toml") {
            names.extend(path.file_stem().map(|it| it.to_string_lossy().into_owned()));
        }
    }
    let found = |name: String| {
        let preset = if is_name(&name) { preset(project, &name) } else { Err(misnamed(&name)) };
        (name, preset)
    };
    Ok(names.into_iter().map(found).collect())
}

fn is_name(name: &str) -> bool {
    let plain = |char: char| char.is_alphanumeric() || char == '-' || char == '_';
    !name.is_empty() && name.chars().all(plain)
}

fn misnamed(name: &str) -> EngineError {
    EngineError::invalid(
        format!("{PRESETS}/{name}.toml can't be a preset by that name"),
        "Names have letters, digits, `-` and `_`: rename the file.",
    )
}

/// The preset of a name.
pub fn preset(project: &Path, name: &str) -> Result<Preset, EngineError> {
    let unknown = || {
        EngineError::new(Kind::NotFound, format!("there is no preset `{name}`")).with_hint(format!(
            "Built in are {}; a project's own lie in {PRESETS}/NAME.toml.",
            BUILT_IN.map(|(name, _)| name).join(", ")
        ))
    };
    if !is_name(name) {
        return Err(unknown());
    }
    let path = project.join(PRESETS).join(format!("{name}.toml"));
    let shown = format!("{PRESETS}/{name}.toml");
    if std::fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() > LONGEST) {
        return Err(EngineError::invalid(
            format!("{shown} is longer than {LONGEST} bytes"),
            "A preset is a handful of frames.",
        ));
    }
    match plain::open(&path).and_then(std::io::read_to_string) {
        Ok(text) => {
            let frames = read(&shown, &text)?;
            Ok(Preset { name: name.to_owned(), file: Some(path), ..frames })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
            let (_, text) = built_in.ok_or_else(unknown)?;
            Ok(Preset { name: name.to_owned(), ..read(name, text)? })
        }
        Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {
            let refused = format!("{}: {error}", path.display());
            Err(EngineError::invalid(refused, "Remove it.").caused_by(error))
        }
        Err(error) => Err(unreadable(&path, error)),
    }
}

/// Returns what a preset's file says on one line, cut.
pub(crate) fn shown(text: &str) -> String {
    one_line(&text.chars().take(SHOWN).collect::<String>())
}

fn read(file: &str, text: &str) -> Result<Preset, EngineError> {
    let wrong = |at: usize, why: &str| {
        let line = text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
        EngineError::invalid(
            format!("{file}, line {line}: {}", shown(why)),
            "A preset is a `description` and `[[frames]]`, each with `title`, `criteria` and, if \
             there are any, `children` of the same kind.",
        )
    };
    let parsed: File = toml::from_str(text)
        .map_err(|error| wrong(error.span().map_or(0, |span| span.start), error.message()))?;
    if parsed.frames.is_empty() {
        return Err(wrong(0, "there are no frames"));
    }
    let preset = Preset {
        name: String::new(),
        description: parsed.description,
        file: None,
        frames: parsed.frames,
    };
    for text_with in preset.texts() {
        if let Err(piece) = pieces(text_with) {
            let at = text.find(piece).unwrap_or(0);
            return Err(wrong(at, &format!("`{piece}` is no placeholder: one is {{name}}")));
        }
    }
    Ok(preset)
}

impl Preset {
    /// Returns which file of the project its words are from, and whether it stands in for a built-in preset; none for
    /// one that is built in. What a repository brings is not the user's word.
    pub fn origin(&self) -> Option<String> {
        self.file.as_ref()?;
        let stands_in = BUILT_IN.iter().any(|(known, _)| *known == self.name);
        let instead = if stands_in { ", in place of the built-in preset" } else { "" };
        Some(format!("{PRESETS}/{}.toml, a file of the project{instead}", self.name))
    }

    /// Returns the placeholders in it, in alphabetical order.
    pub fn placeholders(&self) -> BTreeSet<String> {
        let texts = self.texts().into_iter();
        let found = texts.filter_map(|text| pieces(text).ok()).flatten();
        found.filter_map(|piece| piece.err().map(str::to_owned)).collect()
    }

    /// Its frames with values in the places of their placeholders.
    pub fn filled(
        &self,
        values: &BTreeMap<String, String>,
    ) -> Result<Vec<PresetFrame>, EngineError> {
        let wanted = self.placeholders();
        let hint = || {
            let names: Vec<_> = wanted.iter().map(|name| format!("{name}=…")).collect();
            if names.is_empty() {
                format!("The preset `{}` takes no values.", self.name)
            } else {
                format!("The preset `{}` takes {}.", self.name, names.join(" "))
            }
        };
        let missing: Vec<_> = wanted
            .iter()
            .filter(|name| values.get(*name).is_none_or(|value| value.trim().is_empty()))
            .cloned()
            .collect();
        if !missing.is_empty() {
            return Err(EngineError::invalid(
                format!("no value is given for {}", missing.join(", ")),
                hint(),
            ));
        }
        if let Some(other) = values.keys().find(|name| !wanted.contains(*name)) {
            return Err(EngineError::invalid(format!("there is no placeholder `{other}`"), hint()));
        }
        Ok(self.frames.iter().map(|frame| frame.filled(values)).collect())
    }

    fn texts(&self) -> Vec<&str> {
        fn of<'a>(frame: &'a PresetFrame, texts: &mut Vec<&'a str>) {
            texts.extend([frame.title.as_str(), &frame.criteria]);
            frame.children.iter().for_each(|child| of(child, texts));
        }
        let mut texts = Vec::new();
        self.frames.iter().for_each(|frame| of(frame, &mut texts));
        texts
    }
}

impl PresetFrame {
    /// Returns its criteria; where there are none, the title is the criterion.
    pub(crate) fn criteria_or_title(&self) -> &str {
        if self.criteria.trim().is_empty() { &self.title } else { &self.criteria }
    }

    fn filled(&self, values: &BTreeMap<String, String>) -> Self {
        let fill = |text: &str| -> String {
            let value = |name: &str| values.get(name).map_or("", |value| value.trim()).to_owned();
            let filled = pieces(text).unwrap_or_default().into_iter();
            filled.map(|piece| piece.map_or_else(value, str::to_owned)).collect()
        };
        Self {
            title: fill(&self.title),
            criteria: fill(&self.criteria),
            children: self.children.iter().map(|child| child.filled(values)).collect(),
        }
    }
}

/// Returns a text's plain pieces and, as errors, the names of its placeholders; or the beginning of a malformed one.
fn pieces(text: &str) -> Result<Vec<Result<&str, &str>>, &str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        let end = from.find('}').ok_or(from)?;
        let name = &from[1..end];
        let plain = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(&from[..=end]);
        }
        found.extend([Ok(before), Err(name)]);
        rest = &from[end + 1..];
    }
    found.push(Ok(rest));
    Ok(found)
}

fn unreadable(path: &Path, error: std::io::Error) -> EngineError {
    EngineError::new(Kind::Unavailable, format!("can't read {}: {error}", path.display()))
        .caused_by(error)
}
