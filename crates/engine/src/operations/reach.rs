//! The one tool that reaches every operation.

use std::fmt::Write as _;

use callstack_core::dialect::Dialect;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::effect::EffectOutcome;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::{Answer, Caller, Operate};
use crate::tools::{self, Tool};

/// `stack`.
pub(crate) struct Stack;

/// The token of an operation that was reached by its name.
#[derive(Deserialize, Serialize)]
struct Reached {
    op: String,
    token: Value,
}

/// Arguments of `stack`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct StackParams {
    /// Operation; omit to list all
    op: Option<String>,
    /// Its arguments
    args: Option<Map<String, Value>>,
}

impl Operate for Stack {
    const NAME: &'static str = "stack";
    const SUMMARY: &'static str = "Run any other frame operation by name: tree, details and logs of \
        finished frames, pins, artifacts, invalidate, reopen. Without op it lists them.";
    const LISTED: bool = true;
    type Params = StackParams;

    fn run(engine: &Engine, caller: &Caller, params: StackParams) -> Result<Answer, EngineError> {
        let Some(name) = params.op.filter(|name| !name.is_empty()) else {
            return Ok(list(engine.dialect()));
        };
        let Some(tool) = meant(engine.dialect(), &name) else {
            return Err(EngineError::invalid(
                format!("there is no operation `{name}`"),
                "Call `stack` without op for the list.",
            ));
        };
        let mut answer =
            tool.run(engine, caller, Value::Object(params.args.unwrap_or_default()))?;
        if let Some(next) = &mut answer.next {
            let reached = Reached { op: tool.name().into_owned(), token: next.token.take() };
            next.token = json!(reached);
        }
        Ok(answer)
    }

    fn resume(
        engine: &Engine,
        caller: &Caller,
        token: Value,
        outcome: EffectOutcome,
    ) -> Result<Answer, EngineError> {
        let unknown = |op: &str| {
            EngineError::invalid(
                format!("`{op}` waits for nothing"),
                "Restart the host after an update of callstack.",
            )
        };
        let reached: Reached =
            serde_json::from_value(token).map_err(|error| unknown(&error.to_string()))?;
        let tool = meant(engine.dialect(), &reached.op).ok_or_else(|| unknown(&reached.op))?;
        let mut answer = tool.resume(engine, caller, reached.token, outcome)?;
        if let Some(next) = &mut answer.next {
            next.token = json!(Reached { op: reached.op, token: next.token.take() });
        }
        Ok(answer)
    }
}

fn list(dialect: Dialect) -> Answer {
    let mut text = String::from("Operations, with what they take ([x] may be left out):\n");
    let mut data = Vec::new();
    for tool in tools::all(dialect).filter(|tool| tool.operation().name != Stack::NAME) {
        // Writing to a string can't fail.
        let _ = writeln!(text, "- {}({}): {}", tool.name(), tool.signature(), tool.summary());
        data.push(json!({
            "name": tool.name(),
            "summary": tool.summary(),
            "parameters": tool.parameters(),
        }));
    }
    Answer { title: "operations".to_owned(), text, data: data.into(), ..Answer::default() }
}

/// The tool that is meant, by its name with or without what all of them begin with.
pub(crate) fn meant(dialect: Dialect, name: &str) -> Option<Tool> {
    let whole = || tools::find(dialect, &format!("{}_{name}", dialect.one_tool()));
    tools::find(dialect, name).or_else(whole).filter(|it| it.operation().name != Stack::NAME)
}
