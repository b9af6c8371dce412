//! The user's own configuration: a file with a line for each setting, `NAME = "value"`, in TOML. Everything else in
//! it, such as comments and the order of its lines, is the user's and stays.

use std::collections::BTreeMap;

use serde_json::json;

use super::setting::Setting;
use crate::error::EngineError;

/// The text of the user's configuration, and its values.
#[derive(Clone, Debug, Default)]
pub struct UserConfiguration {
    text: String,
    values: BTreeMap<&'static str, String>,
}

impl UserConfiguration {
    /// Reads it. A name or a value that is not understood is an error.
    pub fn parse(text: &str) -> Result<Self, EngineError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let message = error.message().lines().collect::<Vec<_>>().join(" ");
            EngineError::invalid(message, "Each line of it is `NAME = \"value\"`.")
        })?;
        let mut values = BTreeMap::new();
        for (name, value) in &table {
            let setting = Setting::meant(name)?;
            let value = match value {
                toml::Value::String(text) => text.clone(),
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Boolean(on) => if *on { "on" } else { "off" }.to_owned(),
                // The text may be a secret: it is not repeated.
                _ => {
                    let hint = format!("It may be {}.", setting.values.in_words());
                    return Err(EngineError::invalid(format!("{name} has no value"), hint));
                }
            };
            values.insert(setting.name, setting.read(&value)?);
        }
        Ok(Self { text: text.to_owned(), values })
    }

    /// The values by the names of their settings.
    pub fn values(&self) -> &BTreeMap<&'static str, String> {
        &self.values
    }

    /// The text with a setting set, or taken out.
    pub fn with(&self, setting: &Setting, value: Option<&str>) -> Result<Self, EngineError> {
        let value = value.map(|value| setting.read(value)).transpose()?;
        // A string of JSON is one of TOML, too.
        let line = value.as_ref().map(|value| format!("{} = {}", setting.name, json!(value)));
        let is_it = |text: &str| {
            let name = text.split_once('=').map(|(name, _)| name.trim().trim_matches(['"', '\'']));
            let meant = name.and_then(|name| Setting::meant(name).ok());
            !text.trim_start().starts_with('#') && meant.is_some_and(|it| it.name == setting.name)
        };
        let mut kept: Vec<&str> = self.text.lines().filter(|text| !is_it(text)).collect();
        let place = self.text.lines().take_while(|text| !is_it(text)).count();
        if let Some(line) = &line {
            kept.insert(place.min(kept.len()), line);
        }
        let mut text = kept.join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        let mut wanted = self.values.clone();
        match value {
            Some(value) => wanted.insert(setting.name, value),
            None => wanted.remove(setting.name),
        };
        match Self::parse(&text) {
            Ok(changed) if changed.values == wanted => Ok(changed),
            // A value may stand on several lines, or in a way of writing that is not known here.
            _ => Err(EngineError::invalid(
                format!("{} can't be changed in your configuration as it is written", setting.name),
                "Change it there by hand.",
            )),
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_other_lines_stay_as_they_are() {
        let text = "# mine\nlimit-depth = 3 # deep\n\nSTACK_LOG = false\n";
        let read = UserConfiguration::parse(text).unwrap();
        let values: Vec<_> = read.values().iter().map(|(name, it)| (*name, it.as_str())).collect();
        assert_eq!(values, [("STACK_LIMIT_DEPTH", "3"), ("STACK_LOG", "off")]);
        let log = Setting::find("STACK_LOG").unwrap();
        let model = Setting::find("STACK_SUMMARIZER_MODEL").unwrap();
        let changed = read.with(log, Some("on")).unwrap().with(model, Some("a\"b")).unwrap();
        let expected = "# mine\nlimit-depth = 3 # deep\n\nSTACK_LOG = \"on\"\n\
                        STACK_SUMMARIZER_MODEL = \"a\\\"b\"\n";
        assert_eq!(changed.text(), expected);
        let back = changed.with(model, None).unwrap().with(log, None).unwrap();
        assert_eq!(back.text(), "# mine\nlimit-depth = 3 # deep\n\n");
        let none = UserConfiguration::default().with(log, Some("off")).unwrap();
        assert_eq!(none.text(), "STACK_LOG = \"off\"\n");
    }

    #[test]
    fn what_is_no_setting_is_refused_and_a_secret_not_repeated() {
        for text in ["mood = 1", "STACK_LOG = 7", "STACK_LOG", "[STACK_LOG]", "STACK_LOG = [1]"] {
            assert!(UserConfiguration::parse(text).is_err(), "{text}");
        }
        let key = format!("sk-{}", "a1B2c3D4e5".repeat(4));
        let text = format!("STACK_SUMMARIZER_KEY_ENV = \"{key}\"");
        let error = UserConfiguration::parse(&text).unwrap_err().sentence();
        assert!(!error.contains(&key), "{error}");
    }
}
