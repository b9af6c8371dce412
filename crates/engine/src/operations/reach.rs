//! The one tool that reaches every operation.

use std::fmt::Write as _;

use callstack_core::dialect::Dialect;
use callstack_core::frame::Status;
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
    /// Operation; omit to list those that fit the moment, `all` lists all
    op: Option<String>,
    /// Its arguments
    args: Option<Map<String, Value>>,
}

impl Operate for Stack {
    const NAME: &'static str = "stack";
    const SUMMARY: &'static str = "Run any other frame operation by name, such as {\"op\": \"stack_log\", \
        \"args\": {\"frame\": \"f4\"}}: logs, search, tree and details of frames, pins, changes of plans.";
    const LISTED: bool = true;
    type Params = StackParams;

    fn run(engine: &Engine, caller: &Caller, params: StackParams) -> Result<Answer, EngineError> {
        let Some(name) = params.op.filter(|name| !name.is_empty()) else {
            let fitting = fitting(Moment::of(engine, caller)?);
            return Ok(list(engine.dialect(), |name| fitting.contains(&name)));
        };
        if name == ALL {
            return Ok(list(engine.dialect(), |_| true));
        }
        let Some(tool) = meant(engine.dialect(), &name) else {
            return Err(EngineError::invalid(
                format!("there is no operation `{name}`"),
                "Call `stack` with op `all` for the list.",
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

/// The name under which all operations are listed.
const ALL: &str = "all";
/// Operations that are listed where none is named.
const FITTING: usize = 10;

/// What there is to operate on.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one a question")]
struct Moment {
    /// Whether a frame is open inside another one.
    is_inside: bool,
    /// Whether frames are planned beside or below the open one.
    planned: bool,
    /// Whether some there are blocked.
    blocked: bool,
    /// Whether some there failed.
    failed: bool,
    /// Whether some there returned something.
    completed: bool,
    /// Whether pins hold.
    pinned: bool,
}

impl Moment {
    fn of(engine: &Engine, caller: &Caller) -> Result<Self, EngineError> {
        engine.kernel.read(|view| {
            let active = view.session_row(&caller.session)?.and_then(|session| session.active);
            let Some(active) = active else { return Ok(Self::default()) };
            let open = view.frame(active)?;
            let around = [view.counts(Some(active))?, view.counts(open.parent)?];
            let some = |status| around.iter().any(|counts| counts.contains_key(&status));
            let above = view.ancestors(active)?;
            Ok(Self {
                is_inside: open.parent.is_some(),
                planned: some(Status::Planned),
                blocked: some(Status::Blocked),
                failed: some(Status::Failed),
                completed: some(Status::Completed),
                pinned: above.iter().chain([&open]).any(|frame| !frame.pins.is_empty()),
            })
        })
    }
}

/// The operations that fit a moment: those that it asks for, then those that are always of use.
fn fitting(moment: Moment) -> Vec<&'static str> {
    let ended = moment.completed || moment.failed || moment.blocked;
    let asked = [
        ("stack_log", ended),
        ("stack_frame_retry", moment.failed),
        ("stack_frame_reopen", moment.failed),
        ("stack_frame_replan", moment.planned),
        ("stack_frame_unplan", moment.planned),
        ("stack_frame_invalidate", moment.planned || moment.blocked),
        ("stack_navigate", moment.blocked || moment.planned),
        ("stack_unpin", moment.pinned),
        ("stack_frame_consolidate", moment.completed),
        ("stack_add_artifact", moment.is_inside),
    ];
    let always = [
        "stack_pin",
        "stack_search",
        "stack_tree",
        "stack_frame_details",
        "stack_log",
        "stack_status",
        "stack_preset",
        "stack_context_preview",
        "stack_set_goal",
        "stack_frame_reopen",
        "stack_add_artifact",
    ];
    let mut names: Vec<_> = always.iter().take(4).copied().collect();
    let asked = asked.into_iter().filter(|(_, asked)| *asked).map(|(name, _)| name);
    for name in asked.chain(always) {
        if names.len() < FITTING && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn list(dialect: Dialect, wanted: impl Fn(&str) -> bool) -> Answer {
    let mut text = String::from("Operations, with what they take ([x] may be left out):\n");
    let (mut data, mut left) = (Vec::new(), 0);
    for tool in tools::all(dialect).filter(|tool| tool.operation().name != Stack::NAME) {
        if !wanted(tool.operation().name) {
            left += 1;
            continue;
        }
        // Writing to a string can't fail.
        let _ = writeln!(text, "- {}({}): {}", tool.name(), tool.signature(), tool.summary());
        data.push(json!({
            "name": tool.name(),
            "summary": tool.summary(),
            "parameters": tool.parameters(),
        }));
    }
    if left > 0 {
        // Writing to a string can't fail.
        let _ = writeln!(text, "{left} more: {} {{\"op\": \"{ALL}\"}}.", dialect.one_tool());
    }
    Answer { title: "operations".to_owned(), text, data: data.into(), ..Answer::default() }
}

/// The tool that is meant, by its name with or without what all of them begin with.
pub(crate) fn meant(dialect: Dialect, name: &str) -> Option<Tool> {
    let whole = || tools::find(dialect, &format!("{}_{name}", dialect.one_tool()));
    tools::find(dialect, name).or_else(whole).filter(|it| it.operation().name != Stack::NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_operations_fit_any_moment_and_those_that_it_asks_for_are_among_them() {
        let all = |value| Moment {
            is_inside: value,
            planned: value,
            blocked: value,
            failed: value,
            completed: value,
            pinned: value,
        };
        for moment in [all(false), all(true)] {
            let names = fitting(moment);
            assert_eq!(names.len(), FITTING, "{names:?}");
            for name in &names {
                assert!(crate::operations::find(name).is_some_and(|it| !it.listed), "{name}");
            }
        }
        let names = fitting(Moment { failed: true, is_inside: true, ..all(false) });
        assert!(names.contains(&"stack_frame_retry") && names.contains(&"stack_log"), "{names:?}");
        assert!(!names.contains(&"stack_unpin") && !names.contains(&"stack_frame_unplan"));
    }
}
