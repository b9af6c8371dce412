//! The operation that shows the model which writes missing results, and asks it for a word.

use std::time::Duration;

use callstack_core::results::SummaryPrompt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SummaryRequest;
use crate::call::Reply;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::operation::{Access, Caller, CallerKind, Operate, Repeated, TERMINAL_ONLY};
use crate::settings::SummarizerSettings;

/// `stack_summarizer`.
pub(crate) struct Summarizer;

/// Arguments of `stack_summarizer`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SummarizerParams {
    /// Ask the model for a word
    #[serde(default)]
    ask: bool,
}

/// The model that writes missing results.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SummarizerOutput {
    /// Whether there is a model to ask
    pub on: bool,
    /// How it is spoken to: `openai` or `anthropic`
    pub format: String,
    /// The variable of the environment that holds its key
    pub key_variable: String,
    /// What it answered, if it was asked
    pub answer: Option<SummarizerWord>,
}

/// An answer of the model.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SummarizerWord {
    /// The answer
    pub text: String,
    /// How long it took, in milliseconds
    pub ms: u64,
}

impl Operate for Summarizer {
    const NAME: &'static str = "stack_summarizer";
    const SUMMARY: &'static str = "The model of the user's own that writes results where an agent gave \
        none; asks it for a word, to see whether it answers.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = TERMINAL_ONLY;
    type Params = SummarizerParams;
    type Output = SummarizerOutput;

    fn run(
        engine: &Engine,
        _: &Caller,
        params: SummarizerParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let settings = engine.current_settings()?.summarizer.clone();
        let output = SummarizerOutput {
            on: settings.is_set(),
            format: settings.wire_format().as_str().to_owned(),
            key_variable: settings.key_variable.clone(),
            answer: params.ask.then(|| ask(engine, &settings)).transpose()?,
        };
        let text = if output.on { "A model is set." } else { "No model is set." };
        Ok(Reply::new("summarizer", text, output))
    }
}

fn ask(engine: &Engine, settings: &SummarizerSettings) -> Result<SummarizerWord, EngineError> {
    if !settings.is_set() {
        return Err(EngineError::invalid(
            "no model is set that could be asked",
            "Set one: `callstack config summarizer --address URL --model NAME --try`.",
        ));
    }
    let prompt = SummaryPrompt {
        system: "Answer with one word.".to_owned(),
        user: "Say that it works.".to_owned(),
    };
    let time_limit = Duration::from_millis(settings.time_limit.into());
    let begun = engine.world().now();
    let request = SummaryRequest { prompt, settings: settings.clone(), time_limit };
    let text = engine.ask_summarizer(&request).map_err(|error| {
        EngineError::new(Kind::Conflict, format!("the model can't be used: {error}"))
            .with_hint("Until it answers, results that nobody gave are extracted without it.")
            .caused_by(error)
    })?;
    let ms = u64::try_from(engine.world().now() - begun).unwrap_or_default();
    Ok(SummarizerWord { text, ms })
}
