//! Going to another frame.

use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::results::ResultsSource;
use callstack_core::transcript::Outcome;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::end::end_with;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::operation::{Answer, Caller, Operate};

/// `stack_navigate`.
pub(crate) struct Navigate;

/// Arguments of `stack_navigate`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NavigateParams {
    /// Handle such as f12, or parent, next or previous
    to: String,
    /// What was done so far in the frames that are left open behind; default: that they are set aside
    results: Option<String>,
}

impl Operate for Navigate {
    const NAME: &'static str = "stack_navigate";
    const SUMMARY: &'static str = "Go to another frame: an open ancestor, a planned or blocked child, the \
        next or previous planned or blocked sibling. Frames that are left on the way are set aside as \
        blocked, and can be taken up again.";
    type Params = NavigateParams;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: NavigateParams,
    ) -> Result<Answer, EngineError> {
        let stack = engine.stack(&caller.session)?;
        let Some(open) = stack.last() else {
            return Err(refused(
                "no frame is open in this session",
                "`stack_frame_push` opens one.",
            ));
        };
        let target = target(engine, open, &params.to)?;
        if target.num == open.num {
            let text = format!("Frame {} is the open one already.", open.label());
            return Ok(at(open, text));
        }
        let keep = keep(engine, caller, &stack, &target)?;
        let mut answer = Answer::default();
        let mut aside: Vec<_> = stack.iter().skip(keep).map(|frame| frame.num).collect();
        for left in stack.iter().skip(keep).rev() {
            let results = params.results.clone().filter(|results| !results.trim().is_empty());
            let aside = format!("Set aside: work went on in {}.", target.label());
            let (results, source) = match results {
                Some(results) => (results, caller.source()),
                None => (aside, ResultsSource::Callstack),
            };
            let outcome = Outcome::with(Status::Blocked, results, None, source);
            answer = end_with(engine, caller, Some(left), outcome)?;
        }
        let named = answer.closed.filter(|_| target.status == Status::InProgress);
        aside.retain(|num| Some(*num) != named);
        engine.record_ends(&aside);
        if target.status == Status::InProgress {
            let text = format!(
                "You are in frame {} again. What was left is blocked and can be activated.\n{}",
                target.label(),
                answer.text
            );
            return Ok(Answer { closed: answer.closed, ..at(&target, text) });
        }
        run(
            engine,
            caller,
            "stack_frame_activate",
            json!({"frame": target.num.to_string(), "in": "here"}),
        )
    }
}

/// How many frames of the session's stack, from the root on, stay open when it goes to `target`.
fn keep(
    engine: &Engine,
    caller: &Caller,
    stack: &[Frame],
    target: &Frame,
) -> Result<usize, EngineError> {
    let place = |num: Option<FrameNum>| stack.iter().position(|frame| Some(frame.num) == num);
    let keep = match target.status {
        Status::InProgress => place(Some(target.num)).map(|place| place + 1),
        Status::Planned | Status::Blocked => place(target.parent).map(|place| place + 1),
        Status::Completed | Status::Failed | Status::Invalidated => {
            return Err(refused(
                format!("frame {} is {}", target.label(), target.status),
                "`stack_frame_details` shows it, and `stack_frame_reopen` brings it back.",
            ));
        }
    };
    let Some(keep) = keep else {
        let parent = target.parent.map(|parent| engine.frame(parent)).transpose()?;
        return Err(match (&target.session, parent) {
            (Some(session), _) if target.status == Status::InProgress => refused(
                format!("frame {} is worked in by session {session}", target.label()),
                "Go on there.",
            ),
            (_, Some(parent)) => refused(
                format!(
                    "frame {} can't be begun: its parent {} is not open in this session",
                    target.label(),
                    parent.label()
                ),
                format!("Go to {} first.", parent.num),
            ),
            (_, None) => refused(
                format!("frame {} is a root of its own", target.label()),
                "Pop the open frames first; then it can be activated.",
            ),
        });
    };
    // One call can't both end a frame and begin another: what stands for the ended one would take the
    // call along that the other begins with.
    if caller.anchor.call.is_some() && keep < stack.len() && target.status != Status::InProgress {
        let above =
            stack.get(keep.saturating_sub(1)).map_or("parent".to_owned(), |it| it.num.to_string());
        return Err(refused(
            format!("frame {} begins only once the open one is left", target.label()),
            format!("Go to {above} first, then to {}.", target.num),
        ));
    }
    Ok(keep)
}

fn target(engine: &Engine, open: &Frame, to: &str) -> Result<Frame, EngineError> {
    let later = match to {
        "parent" => {
            let parent = open.parent.ok_or_else(|| {
                refused(format!("frame {} is a root", open.label()), "It has no parent.")
            })?;
            return engine.frame(parent);
        }
        "next" => true,
        "previous" => false,
        reference => return engine.resolve(reference),
    };
    let mut siblings = engine.store.read(|view| view.children(open.parent))?;
    let place = siblings.iter().position(|frame| frame.num == open.num).unwrap_or(0);
    let behind = siblings.split_off(place);
    let waits = |frame: &Frame| matches!(frame.status, Status::Planned | Status::Blocked);
    let found = if later {
        behind.into_iter().skip(1).find(waits)
    } else {
        siblings.into_iter().rfind(waits)
    };
    found.filter(|_| open.parent.is_some()).ok_or_else(|| {
        refused(
            format!("no planned or blocked frame stands {to} to {}", open.label()),
            "`stack_tree` shows all frames.",
        )
    })
}

fn run(
    engine: &Engine,
    caller: &Caller,
    operation: &str,
    arguments: serde_json::Value,
) -> Result<Answer, EngineError> {
    let operation = super::find(operation).ok_or_else(|| EngineError {
        kind: Kind::Internal,
        message: format!("there is no operation `{operation}`"),
        hint: None,
    })?;
    operation.run(engine, caller, arguments)
}

fn at(frame: &Frame, text: String) -> Answer {
    let data = json!({
        "handle": frame.num.to_string(),
        "sessionID": frame.id,
        "status": frame.status,
        "title": frame.identity.title,
    });
    Answer { title: frame.label(), text, data, ..Answer::default() }
}

fn refused(message: impl Into<String>, hint: impl Into<String>) -> EngineError {
    EngineError { kind: Kind::Conflict, message: message.into(), hint: Some(hint.into()) }
}
