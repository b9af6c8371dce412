//! The one tool that calls any operation by its name.

use std::fmt::Write as _;

use callstack_core::dialect::Dialect;
use callstack_core::frame::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::call::Reply;
use crate::effect::EffectOutcome;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::hint::Hint;
use crate::operation::{Access, Answer, Caller, CallerKind, EVERYBODY, Operate, Repeated};
use crate::tools::{self, Tool};

/// `stack`.
pub(crate) struct Stack;

/// The token of a waiting operation that was called by its name.
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

/// The operations that there are, or the data of the one that was named.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum StackOutput {
    Operations(Vec<ListedOperation>),
    Reached(Value),
}

/// An operation as a tool of the caller's dialect.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct ListedOperation {
    name: String,
    summary: String,
    /// The schema of its arguments
    parameters: Value,
}

impl Operate for Stack {
    const NAME: &'static str = "stack";
    const SUMMARY: &'static str = "Run any other frame operation by name, such as {\"op\": \"stack_log\", \
        \"args\": {\"frame\": \"f4\"}}: logs, search, tree and details of frames, pins, changes of plans.";
    const LISTED: bool = true;
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Span;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = StackParams;
    type Output = StackOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: StackParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let Some(name) = params.op.filter(|name| !name.is_empty()) else {
            let fitting = fitting(Situation::of(engine, caller)?);
            return list(engine, caller, |name| fitting.contains(&name));
        };
        if name == ALL {
            return list(engine, caller, |_| true);
        }
        let Some(tool) = meant(engine.dialect(), &name) else {
            return Err(EngineError::invalid(
                format!("there is no operation `{name}`"),
                Hint::from("Call ").and("stack").then(" with op `all` for the list."),
            ));
        };
        let arguments = Value::Object(params.args.unwrap_or_default());
        let mut answer = tool.run(engine, caller, arguments)?;
        if let Some(next) = &mut answer.next {
            let reached = Reached { op: tool.name().into_owned(), token: next.token.take() };
            next.token = json!(reached);
        }
        Ok(of_reached(answer))
    }

    fn resume(
        engine: &Engine,
        caller: &Caller,
        token: Value,
        outcome: EffectOutcome,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let unknown = |op: &str| {
            EngineError::invalid(
                format!("`{op}` waits for nothing"),
                "Restart the host after an update of callstack.",
            )
        };
        let reached: Reached = serde_json::from_value(token)
            .map_err(|error| unknown(&error.to_string()).caused_by(error))?;
        let tool = meant(engine.dialect(), &reached.op).ok_or_else(|| unknown(&reached.op))?;
        let mut answer = tool.resume(engine, caller, reached.token, outcome)?;
        if let Some(next) = &mut answer.next {
            next.token = json!(Reached { op: reached.op, token: next.token.take() });
        }
        Ok(of_reached(answer))
    }
}

/// The name under which all operations are listed.
const ALL: &str = "all";
/// The number of operations that are listed if none is named.
const FITTING: usize = 10;

/// The state of the open frame and the frames around it, by which operations are chosen.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one a question")]
struct Situation {
    /// Whether a frame is open inside another one.
    is_inside: bool,
    /// Whether frames are planned beside or below the open one.
    planned: bool,
    /// Whether frames there are blocked.
    blocked: bool,
    /// Whether frames there have failed.
    failed: bool,
    /// Whether frames there are completed.
    completed: bool,
    /// Whether pins apply to the open frame.
    pinned: bool,
}

impl Situation {
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

/// Returns the operations that fit a moment: the most useful ones, then those that the moment asks for, then others
/// that are always of use.
fn fitting(moment: Situation) -> Vec<&'static str> {
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

/// Returns the reply with another operation's answer.
fn of_reached(mut answer: Answer) -> Reply<StackOutput> {
    let data = Some(StackOutput::Reached(answer.data.take()));
    Reply { answer, data }
}

fn list(
    engine: &Engine,
    caller: &Caller,
    wanted: impl Fn(&str) -> bool,
) -> Result<Reply<StackOutput>, EngineError> {
    let dialect = engine.dialect();
    let mut text = String::from("Operations, with what they take ([x] may be left out):\n");
    let (mut data, mut left) = (Vec::new(), 0);
    let requests = engine.current_settings()?.agent_requests;
    let requests = tools::on_request(dialect).filter(|_| requests);
    let tools = tools::all(dialect).chain(requests).map(|tool| tool.by(caller.host_kind()));
    let tools = tools.filter(|tool| tool.operation().name != Stack::NAME && tool.is_possible());
    for tool in tools {
        if !wanted(tool.operation().name) {
            left += 1;
            continue;
        }
        // Writing to a string can't fail.
        let _ = writeln!(text, "- {}({}): {}", tool.name(), tool.signature(), tool.summary());
        data.push(ListedOperation {
            name: tool.name().into_owned(),
            summary: tool.summary().into_owned(),
            parameters: tool.parameters(),
        });
    }
    if left > 0 {
        // Writing to a string can't fail.
        let _ = writeln!(text, "{left} more: {} {{\"op\": \"{ALL}\"}}.", dialect.one_tool());
    }
    Ok(Reply::new("operations", text, StackOutput::Operations(data)))
}

/// Returns the tool with a name, which may lack the prefix that all tools have.
pub(crate) fn meant(dialect: Dialect, name: &str) -> Option<Tool> {
    let whole = || tools::find(dialect, &format!("{}_{name}", dialect.one_tool()));
    tools::find(dialect, name).or_else(whole).filter(|it| it.operation().name != Stack::NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_operations_fit_any_moment_and_those_that_it_asks_for_are_among_them() {
        let all = |value| Situation {
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
        let names = fitting(Situation { failed: true, is_inside: true, ..all(false) });
        assert!(names.contains(&"stack_frame_retry") && names.contains(&"stack_log"), "{names:?}");
        assert!(!names.contains(&"stack_unpin") && !names.contains(&"stack_frame_unplan"));
    }
}
