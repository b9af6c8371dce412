//! Another try at what a frame was for.

use std::fmt::Write as _;

use callstack_core::decide::{Command, Push};
use callstack_core::frame::{Frame, Status};
use callstack_core::secrets::cut_to_token_budget;
use callstack_core::text::CUT;

use super::begin::FrameParams;
use crate::engine::{Engine, first};
use crate::error::{EngineError, Kind};
use crate::operation::{Answer, Caller, Operate};

/// Tokens of what was learnt from the first try.
const LEARNT: usize = 400;

/// `stack_frame_retry`.
pub(crate) struct Retry;

impl Operate for Retry {
    const NAME: &'static str = "stack_frame_retry";
    const SUMMARY: &'static str = "Try again what a frame that has ended was for: opens a fresh frame \
        beside it with the same title and criteria, and with what was learnt from the first try.";
    type Params = FrameParams;

    fn run(engine: &Engine, caller: &Caller, params: FrameParams) -> Result<Answer, EngineError> {
        let tried = engine.resolve(&params.frame)?;
        check(engine, caller, &tried)?;
        engine.check_nothing_ends(&caller.session)?;
        let push = Command::Push(Push {
            session: caller.session.clone(),
            anchor: caller.anchor.clone(),
            identity: tried.identity.clone(),
            id: engine.world().id("frm-"),
        });
        let num = engine.store.write(|change| {
            let num = first(&engine.carry_out(change, &push)?)?;
            let learnt = Command::AddDecision { frame: num, text: learnt(&tried) };
            engine.carry_out(change, &learnt)?;
            Ok::<_, EngineError>(num)
        })?;
        retried(engine, engine.store.read(|view| engine.began(view, caller, num))?)
    }
}

/// The answer of a frame's beginning, with what the fresh frame says first of the try before it.
pub(crate) fn retried(engine: &Engine, begun: Answer) -> Result<Answer, EngineError> {
    let Some(fresh) = begun.opened else { return Ok(begun) };
    let decisions = engine.frame(fresh)?.decisions;
    let learnt = decisions.first().map_or("", String::as_str);
    Ok(Answer { text: format!("{}\n{learnt}\n", begun.text.trim_end()), ..begun })
}

/// A fresh try begins where the first one did, and only when that is over.
fn check(engine: &Engine, caller: &Caller, tried: &Frame) -> Result<(), EngineError> {
    let refused = |message: String, hint: String| {
        Err(EngineError { kind: Kind::Conflict, message, hint: Some(hint) })
    };
    if tried.status == Status::Planned {
        return refused(
            format!("frame {} was not tried yet", tried.label()),
            format!("Begin {} with `stack_frame_activate`.", tried.num),
        );
    }
    if !tried.status.is_finished() {
        return refused(
            format!("frame {} is {}", tried.label(), tried.status),
            format!("Pop it first, as failed if it is; or go on with {}.", tried.num),
        );
    }
    let Some(parent) = tried.parent else {
        return refused(
            format!("frame {} is a root", tried.label()),
            "Say in the session what is to be tried again.".to_owned(),
        );
    };
    if engine.active(&caller.session)? != Some(parent) {
        let parent = engine.frame(parent)?;
        return refused(
            format!("frame {} belongs to {}, which is not the open one", tried.num, parent.label()),
            format!("Go to {} first with `stack_navigate`.", parent.num),
        );
    }
    Ok(())
}

fn learnt(tried: &Frame) -> String {
    let mut text = format!("This was tried before in {}, which is {}", tried.label(), tried.status);
    if let Some(reason) = tried.invalidation_reason.as_deref() {
        // Writing to a string can't fail.
        let _ = write!(text, " ({reason})");
    }
    let results = tried.results.as_deref().map(str::trim).filter(|results| !results.is_empty());
    let results = results.map(|results| cut_to_token_budget(results, LEARNT, CUT));
    let _ = match results {
        Some(results) => write!(text, ": {results}"),
        None => write!(text, ", without results."),
    };
    text
}
