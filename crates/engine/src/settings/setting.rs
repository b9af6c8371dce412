//! One setting: its possible values, their meanings, and its scope.

use callstack_core::secrets::secrets;

use super::table::SETTINGS;
use crate::error::{EngineError, Kind};

/// One setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name: the variable that sets it in the environment, and the key under which it is stored.
    pub name: &'static str,
    /// Its possible values.
    pub values: Values,
    /// Its default, as it is written.
    pub default: &'static str,
    /// Its description.
    pub doc: &'static str,
    /// The sources that may set it.
    pub scope: Scope,
    /// The meanings of its values, in a few words.
    pub meanings: &'static [(&'static str, &'static str)],
    /// The unit of its number.
    pub unit: Option<Unit>,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// One of them: `token`, `ms`, `%`.
    pub name: &'static str,
    /// The kind or the purpose of the unit.
    pub of: &'static str,
}

/// The sources that may set a setting. A store lies in its project, which may come from somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user, and each project.
    Project,
    /// The user; a project may switch it off, and never on.
    OffInProject,
    /// The user alone: it names an address, or a variable with a key. A project may say `none` to it.
    User,
}

pub(super) const fn setting(
    name: &'static str,
    values: Values,
    default: &'static str,
    doc: &'static str,
) -> Setting {
    Setting { name, values, default, doc, scope: Scope::Project, meanings: &[], unit: None }
}

impl Setting {
    pub(super) const fn of_user(self) -> Self {
        Self { scope: Scope::User, ..self }
    }

    pub(super) const fn off_in_project(self) -> Self {
        Self { scope: Scope::OffInProject, ..self }
    }

    pub(super) const fn meaning(self, meanings: &'static [(&'static str, &'static str)]) -> Self {
        Self { meanings, ..self }
    }

    pub(super) const fn counted(self, name: &'static str, of: &'static str) -> Self {
        Self { unit: Some(Unit { name, of }), ..self }
    }

    /// A value with its unit: `4000 tokens`.
    pub fn shown(&self, value: &str) -> String {
        match self.unit.map(|unit| unit.name) {
            None => value.to_owned(),
            Some(unit @ ("%" | "ms")) => format!("{value} {unit}"),
            Some(unit) if value == "1" => format!("{value} {unit}"),
            Some(unit) => format!("{value} {unit}s"),
        }
    }

    /// Returns the meaning of a value in a few words, if that adds anything to the value.
    pub fn meant_by(&self, value: &str) -> Option<&'static str> {
        let said = self.meanings.iter().find(|(of, _)| *of == value).map(|(_, means)| *means);
        said.or(self.unit.map(|unit| unit.of))
    }

    /// Whether a value counts that is set in a project.
    pub fn counts_in_project(&self, value: &str) -> bool {
        match self.scope {
            Scope::Project => true,
            Scope::OffInProject => value == "off",
            Scope::User => value == NONE,
        }
    }
}

/// The possible values of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// `on` or `off`; the usual other words for these are understood.
    Switch,
    /// A whole number.
    Number {
        /// The smallest.
        least: u64,
        /// The largest.
        most: u64,
    },
    /// Texts with commas between them, or `none`.
    List,
    /// A text without white space, or `none`.
    Word,
    /// An address that begins with `http://` or `https://` and has no password in it, or `none`.
    Address,
    /// The name of a variable of the environment. A text that can't be one may be the secret itself, and is not
    /// repeated.
    Variable,
}

const ON: [&str; 4] = ["on", "true", "yes", "1"];
const OFF: [&str; 4] = ["off", "false", "no", "0"];
/// An empty list or no word: an empty text is an unset variable.
pub(super) const NONE: &str = "none";

impl Values {
    /// Returns the possible values, in a few words: `default or full`.
    pub fn in_words(&self) -> String {
        match self {
            Self::OneOf(words) => match words {
                [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                words => words.concat(),
            },
            Self::Switch => "on or off".to_owned(),
            Self::Number { least, most } if *most >= u64::from(u32::MAX) => {
                format!("a whole number, {least} or more")
            }
            Self::Number { least, most } => format!("a whole number from {least} to {most}"),
            Self::List => format!("texts with commas between them, or {NONE}"),
            Self::Word => format!("a text without white space, or {NONE}"),
            Self::Address => {
                format!("an address with http:// or https:// and without a key in it, or {NONE}")
            }
            Self::Variable => "the name of a variable of the environment".to_owned(),
        }
    }

    /// A value as it is kept, if it is one.
    fn canonical(&self, value: &str) -> Option<String> {
        let value = value.trim();
        let among = |words: &[&str]| {
            words.iter().find(|word| word.eq_ignore_ascii_case(value)).map(|it| (*it).to_owned())
        };
        match self {
            Self::OneOf(words) => among(words),
            Self::Switch if among(&ON).is_some() => Some("on".to_owned()),
            Self::Switch if among(&OFF).is_some() => Some("off".to_owned()),
            Self::Switch => None,
            Self::Number { least, most } => {
                let number = value.parse().ok().filter(|it| (*least..=*most).contains(it));
                number.map(|it| it.to_string())
            }
            Self::List | Self::Word | Self::Address if value.eq_ignore_ascii_case(NONE) => {
                Some(NONE.to_owned())
            }
            Self::List => {
                let texts: Vec<_> = parts(value).collect();
                (!texts.is_empty()).then(|| texts.join(","))
            }
            Self::Word => is_word(value).then(|| value.to_owned()),
            Self::Address => is_address(value).then(|| value.to_owned()),
            Self::Variable => is_variable(value).then(|| value.to_owned()),
        }
    }
}

fn is_word(value: &str) -> bool {
    !value.is_empty() && !value.contains(|char: char| char.is_whitespace() || char.is_control())
}

fn is_address(value: &str) -> bool {
    let rest = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://"));
    let Some((host, _)) = rest.map(|rest| rest.split_once('/').unwrap_or((rest, ""))) else {
        return false;
    };
    // Keys are put before an `@` or after a `?`.
    is_word(value) && !host.is_empty() && !value.contains(['@', '?', '#']) && !is_secret(value)
}

fn is_variable(value: &str) -> bool {
    let mut chars = value.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
        && !is_secret(value)
}

fn is_secret(value: &str) -> bool {
    !secrets(value).is_empty()
}

/// The texts of a list.
pub(super) fn parts(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|part| !part.is_empty() && *part != NONE)
}

/// A value that a setting does not take.
#[derive(Debug, thiserror::Error)]
#[error("{setting} does not take its value")]
pub(super) struct UnfitValue {
    pub(super) setting: &'static str,
}

impl Setting {
    /// The setting of a name.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::all().find(|setting| setting.name.eq_ignore_ascii_case(name))
    }

    /// Returns the setting with a name that stands in this program.
    pub(crate) fn named(name: &str) -> Result<&'static Self, EngineError> {
        Self::find(name).ok_or_else(|| {
            EngineError::new(
                Kind::Internal,
                format!("the setting {name} is not in the table of settings"),
            )
        })
    }

    /// Every setting.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        SETTINGS.iter().flat_map(|(_, settings)| settings.iter())
    }

    /// Returns a value in its stored form; an invalid one is an error that names the setting and its possible values.
    pub fn read(&self, value: &str) -> Result<String, EngineError> {
        self.values.canonical(value).ok_or_else(|| {
            let hint = format!("It may be {}.", self.values.in_words());
            let fault = match self.values {
                Values::Variable => format!("{} is no such name", self.name),
                Values::Address if value.contains(['@', '?']) || is_secret(value) => {
                    format!("{} has a key in it", self.name)
                }
                _ => format!("{} is `{value}`", self.name),
            };
            EngineError::invalid(fault, hint).caused_by(UnfitValue { setting: self.name })
        })
    }
}
