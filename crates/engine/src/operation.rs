//! What an operation is. The table of them is in `operations`; agents' tools, the command line and the
//! reference page are derived from it.

pub use crate::call::{Answer, Caller};
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::effect::EffectOutcome;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::schema;

/// One operation, as its own type declares it.
pub(crate) trait Operate {
    /// The name of the tool.
    const NAME: &'static str;
    /// What it does: the tool's description.
    const SUMMARY: &'static str;
    /// Whether the default profile lists it.
    const LISTED: bool = false;
    /// Its arguments.
    type Params: DeserializeOwned + JsonSchema;

    /// Carries it out.
    fn run(engine: &Engine, caller: &Caller, params: Self::Params) -> Result<Answer, EngineError>;

    /// Goes on after an effect that an answer of this operation had to wait for.
    fn resume(
        _engine: &Engine,
        _caller: &Caller,
        _token: Value,
        _outcome: EffectOutcome,
    ) -> Result<Answer, EngineError> {
        Err(EngineError {
            kind: Kind::Internal,
            message: format!("`{}` waits for nothing", Self::NAME),
            hint: None,
        })
    }
}

/// One entry of the table.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The name of the tool.
    pub name: &'static str,
    /// What it does.
    pub summary: &'static str,
    /// Whether the default profile lists it.
    pub listed: bool,
    /// The schema of its arguments: an object with `properties` and `required`.
    pub parameters: fn() -> Value,
    /// The same without the arguments that only the profile `full` lists.
    pub brief: fn() -> Value,
    run: fn(&Engine, &Caller, Value) -> Result<Answer, EngineError>,
    resume: fn(&Engine, &Caller, Value, EffectOutcome) -> Result<Answer, EngineError>,
}

impl Operation {
    pub(crate) const fn of<O: Operate>() -> Self {
        Self {
            name: O::NAME,
            summary: O::SUMMARY,
            listed: O::LISTED,
            parameters: schema::plain::<O::Params>,
            brief: schema::brief::<O::Params>,
            run: run_typed::<O>,
            resume: O::resume,
        }
    }

    /// Carries the operation out with arguments as JSON.
    pub fn run(
        &self,
        engine: &Engine,
        caller: &Caller,
        arguments: Value,
    ) -> Result<Answer, EngineError> {
        let _outside = caller.is_outside().then(|| engine.kernel.env().outside.enter());
        let answer = (self.run)(engine, caller, arguments)?;
        engine.files.record_files_of(&answer);
        Ok(answer)
    }

    /// Goes on after the effect that the operation's last answer asked for.
    pub fn resume(
        &self,
        engine: &Engine,
        caller: &Caller,
        token: Value,
        outcome: EffectOutcome,
    ) -> Result<Answer, EngineError> {
        let answer = (self.resume)(engine, caller, token, outcome)?;
        engine.files.record_files_of(&answer);
        Ok(answer)
    }

    /// What the operation takes, in one line: `title, successCriteria, [in]`.
    pub fn signature(&self) -> String {
        signature(&(self.brief)())
    }
}

/// What an object of a schema holds, in one line.
pub(crate) fn signature(schema: &Value) -> String {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut line = String::new();
    for name in schema["properties"].as_object().into_iter().flat_map(|it| it.keys()) {
        let separator = if line.is_empty() { "" } else { ", " };
        // Writing to a string can't fail.
        let _ = if required.contains(&name.as_str()) {
            write!(line, "{separator}{name}")
        } else {
            write!(line, "{separator}[{name}]")
        };
    }
    line
}

/// The same, in words.
pub(crate) fn takes(schema: &Value) -> String {
    let signature = signature(schema);
    if signature.is_empty() { "no arguments".to_owned() } else { signature }
}

fn run_typed<O: Operate>(
    engine: &Engine,
    caller: &Caller,
    arguments: Value,
) -> Result<Answer, EngineError> {
    let arguments = if arguments.is_null() { json!({}) } else { arguments };
    check_lengths(&arguments)?;
    let params = serde_json::from_value(arguments).map_err(|error| EngineError {
        kind: Kind::Invalid,
        message: format!("the arguments of `{}` are not right: {error}", O::NAME),
        hint: Some(format!("It takes: {}.", takes(&schema::brief::<O::Params>()))),
    })?;
    O::run(engine, caller, params)
}

/// Bytes of one text. Every text may end up in what a model is sent, and none that is longer than this
/// would leave room for anything else.
const LONGEST: usize = 256 * 1024;

/// Refuses arguments with a text that is too long.
pub(crate) fn check_lengths(arguments: &Value) -> Result<(), EngineError> {
    let Some((name, bytes)) = longest(arguments).filter(|(_, bytes)| *bytes > LONGEST) else {
        return Ok(());
    };
    Err(EngineError {
        kind: Kind::Limit,
        message: format!("`{name}` is {bytes} bytes long, and the limit is {LONGEST}"),
        hint: Some(
            "Nothing was changed. Put the text into a file, record that with `stack_add_artifact`, \
             and give its essence here."
                .to_owned(),
        ),
    })
}

/// The longest text among arguments, with the name of the argument that it is in.
fn longest(arguments: &Value) -> Option<(&str, usize)> {
    fn within(value: &Value) -> usize {
        match value {
            Value::String(text) => text.len(),
            Value::Array(values) => values.iter().map(within).max().unwrap_or(0),
            Value::Object(fields) => fields.values().map(within).max().unwrap_or(0),
            _ => 0,
        }
    }
    let fields = arguments.as_object()?.iter();
    fields.map(|(name, value)| (name.as_str(), within(value))).max_by_key(|(_, bytes)| *bytes)
}
