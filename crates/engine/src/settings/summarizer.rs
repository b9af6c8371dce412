//! Settings of the model that writes missing results, which the user configures.

use super::{known, number, word};
use crate::error::EngineError;

/// The variables, in the order of the fields.
pub const SUMMARIZER_VARIABLES: [&str; 7] = [
    "STACK_SUMMARIZER_ADDRESS",
    "STACK_SUMMARIZER_FORMAT",
    "STACK_SUMMARIZER_MODEL",
    "STACK_SUMMARIZER_KEY_ENV",
    "STACK_SUMMARIZER_TIME_LIMIT",
    "STACK_SUMMARIZER_RETRIES",
    "STACK_SUMMARIZER_TOKENS",
];

/// The wire format of requests to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// Chat completions as `OpenAI` has them.
    OpenAi,
    /// Messages as Anthropic has them.
    Anthropic,
}

impl WireFormat {
    /// `openai` or `anthropic`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    /// Guesses the wire format of an address.
    fn guessed(address: &str) -> Self {
        let address = address.trim_end_matches('/');
        let (host, path) = match address.split_once("://") {
            Some((_, rest)) => rest.split_once('/').unwrap_or((rest, "")),
            None => ("", address),
        };
        if host.contains("anthropic") || path.contains("anthropic") || path.ends_with("messages") {
            Self::Anthropic
        } else {
            Self::OpenAi
        }
    }
}

/// The address of the model, and the limits of its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummarizerSettings {
    /// `STACK_SUMMARIZER_ADDRESS`.
    pub address: Option<String>,
    /// `STACK_SUMMARIZER_FORMAT`; none for the likely format of the address.
    pub format: Option<WireFormat>,
    /// `STACK_SUMMARIZER_MODEL`.
    pub model: Option<String>,
    /// `STACK_SUMMARIZER_KEY_ENV`: the variable that holds the key. The key itself is never kept.
    pub key_variable: String,
    /// `STACK_SUMMARIZER_TIME_LIMIT`, for all attempts together, in milliseconds.
    pub time_limit: u32,
    /// `STACK_SUMMARIZER_RETRIES`: attempts after the first.
    pub retries: u32,
    /// `STACK_SUMMARIZER_TOKENS`: estimated tokens of a frame's steps in its prompt.
    pub tokens: usize,
}

impl Default for SummarizerSettings {
    fn default() -> Self {
        Self {
            address: None,
            format: None,
            model: None,
            key_variable: "STACK_SUMMARIZER_KEY".to_owned(),
            time_limit: 30_000,
            retries: 2,
            tokens: 8_000,
        }
    }
}

impl SummarizerSettings {
    /// Whether there is a model to ask: address and model are set.
    pub fn is_set(&self) -> bool {
        self.address.is_some() && self.model.is_some()
    }

    /// Returns the wire format.
    pub fn wire_format(&self) -> WireFormat {
        let address = self.address.as_deref().unwrap_or_default();
        self.format.unwrap_or_else(|| WireFormat::guessed(address))
    }
}

const FORMATS: [(&str, Option<WireFormat>); 3] = [
    ("auto", None),
    ("openai", Some(WireFormat::OpenAi)),
    ("anthropic", Some(WireFormat::Anthropic)),
];

/// `base`, changed by the variables that `var` gives a value.
pub(super) fn from_vars(
    var: &impl Fn(&str) -> Option<String>,
    base: SummarizerSettings,
) -> Result<SummarizerSettings, EngineError> {
    let [address, format, model, key, time_limit, retries, tokens] = SUMMARIZER_VARIABLES;
    Ok(SummarizerSettings {
        address: word(var, address, base.address)?,
        format: known(var, format, &FORMATS)?.unwrap_or(base.format),
        model: word(var, model, base.model)?,
        key_variable: word(var, key, None)?.unwrap_or(base.key_variable),
        time_limit: number(var, time_limit)?.unwrap_or(base.time_limit),
        retries: number(var, retries)?.unwrap_or(base.retries),
        tokens: number(var, tokens)?.unwrap_or(base.tokens),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_guessed_from_the_address_unless_it_is_said() {
        use WireFormat::{Anthropic, OpenAi};
        for (address, format, expected) in [
            ("https://api.openai.com/v1", None, OpenAi),
            ("http://127.0.0.1:11434/v1", None, OpenAi),
            ("https://api.anthropic.com", None, Anthropic),
            ("https://proxy.example.org/v1/messages/", None, Anthropic),
            ("https://proxy.example.org/anthropic", None, Anthropic),
            ("https://messages.example.org/v1", None, OpenAi),
            ("https://api.anthropic.com/v1", Some(OpenAi), OpenAi),
            ("https://api.openai.com/v1", Some(Anthropic), Anthropic),
        ] {
            let address = Some(address.to_owned());
            let settings = SummarizerSettings { address, format, ..SummarizerSettings::default() };
            assert_eq!(settings.wire_format(), expected, "{settings:?}");
        }
    }
}
