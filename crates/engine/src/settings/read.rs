//! One setting from named values, in the shape that the table gives it. None where it is not given; an
//! empty value is none.

use super::setting::{NONE, Setting, parts};
use crate::error::{EngineError, Kind};

/// Returns the meaning of a word of a setting of [`super::Values::OneOf`].
pub(super) fn known<T: Copy>(
    var: &impl Fn(&str) -> Option<String>,
    name: &str,
    choices: &[(&str, T)],
) -> Result<Option<T>, EngineError> {
    let Some(value) = text(var, name)? else { return Ok(None) };
    let chosen = choices.iter().find(|(word, _)| *word == value);
    chosen.map(|(_, choice)| Some(*choice)).ok_or_else(|| misread(name))
}

/// Whether a setting of [`super::Values::Switch`] is on.
pub(super) fn flag(
    var: &impl Fn(&str) -> Option<String>,
    name: &str,
) -> Result<Option<bool>, EngineError> {
    known(var, name, &[("on", true), ("off", false)])
}

/// Returns the number in a setting of [`super::Values::Number`].
pub(super) fn number<T: TryFrom<u64>>(
    var: &impl Fn(&str) -> Option<String>,
    name: &str,
) -> Result<Option<T>, EngineError> {
    let Some(value) = text(var, name)? else { return Ok(None) };
    let number = value.parse::<u64>().ok().and_then(|it| T::try_from(it).ok());
    number.map(Some).ok_or_else(|| misread(name))
}

/// The texts of a setting of [`super::Values::List`], in their order.
pub(super) fn list(
    var: &impl Fn(&str) -> Option<String>,
    name: &str,
) -> Result<Option<Vec<String>>, EngineError> {
    Ok(text(var, name)?.map(|value| parts(&value).map(str::to_owned).collect()))
}

/// The word of a setting that may be `none`; `base` where it is not given.
pub(super) fn word(
    var: &impl Fn(&str) -> Option<String>,
    name: &str,
    base: Option<String>,
) -> Result<Option<String>, EngineError> {
    Ok(text(var, name)?.or(base).filter(|value| value != NONE))
}

/// A setting's value as it is kept.
fn text(var: &impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<String>, EngineError> {
    let setting = Setting::named(name)?;
    let value = var(setting.name).filter(|value| !value.trim().is_empty());
    value.map(|value| setting.read(&value)).transpose()
}

/// Returns the error for a read in another shape than the table gives, which is a fault of this program.
fn misread(name: &str) -> EngineError {
    EngineError::new(Kind::Internal, format!("the setting {name} is read as what it is not"))
}
