//! The operation that goes to another frame.

use callstack_core::decide::{Activate, Command, Pop, goes_on_in, nearest_chosen};
use callstack_core::frame::{Frame, FrameNum, Status};
use callstack_core::results::ResultsSource;
use callstack_core::transcript::Outcome;
use callstack_store::View;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::assembly::Contexts;
use crate::call::Reply;
use crate::compaction::nothing_ends;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::hint::Hint;
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};
use crate::outputs::{BegunFrame, EndedFrame};

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

/// The frame in which work goes on, or the one that ended where none is left.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum NavigateOutput {
    At(BegunFrame),
    Ended(EndedFrame),
}

impl Operate for Navigate {
    const NAME: &'static str = "stack_navigate";
    const SUMMARY: &'static str = "Go to another frame: an open ancestor, a planned or blocked child, the \
        next or previous planned or blocked sibling. Frames that are left on the way are set aside as \
        blocked, and can be taken up again.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Span;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = NavigateParams;
    type Output = NavigateOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: NavigateParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let stack = engine.stack(&caller.session)?;
        let mut reply = navigate(engine, caller, params, &stack)?;
        if caller.kind() == CallerKind::Terminal
            && let Some(
                NavigateOutput::At(BegunFrame { aside, .. })
                | NavigateOutput::Ended(EndedFrame { aside, .. }),
            ) = &mut reply.data
        {
            *aside = blocked(engine, &stack)?;
        }
        Ok(reply)
    }
}

/// Goes to another frame from the innermost of the open ones.
fn navigate(
    engine: &Engine,
    caller: &Caller,
    params: NavigateParams,
    stack: &[Frame],
) -> Result<Reply<NavigateOutput>, EngineError> {
    let Some(open) = stack.last() else {
        return Err(refused("no frame is open in this session", opening(engine, &params.to)?));
    };
    let target = target(engine, open, &params.to)?;
    if kept(engine, stack, Some(target.num))? == Some(stack.len()) {
        let text = format!("Frame {} is the open one already.", target.label());
        return Ok(at(&target, text));
    }
    let keep = keep(engine, caller, stack, &target)?;
    let results = params.results.filter(|results| !results.trim().is_empty());
    let (results, source) = if let Some(results) = results {
        (results, caller.source())
    } else {
        let aside = format!("Set aside: work went on in {}.", target.label());
        (aside, ResultsSource::Callstack)
    };
    let outcome = Outcome::with(Status::Blocked, results, None, source);
    let left = stack.get(keep..).unwrap_or_default();
    let pops = left.iter().rev().map(|frame| {
        let anchor = engine.queries.anchor_in(caller, frame)?;
        let (session, outcome) = (caller.session.clone(), outcome.clone());
        Ok(Pop { session, frame: Some(frame.num), anchor, outcome })
    });
    let pops = pops.collect::<Result<Vec<_>, EngineError>>()?;
    let mut aside: Vec<_> = left.iter().map(|frame| frame.num).collect();
    if target.status == Status::InProgress {
        let answer = engine.lifecycle.end_in_turn(caller, pops, |change, ended| {
            let view = change.view();
            let answer = gone_back(&view, Contexts::last_ended(&view, ended)?)?;
            engine.idempotency.keep_answer_if_elsewhere(change, caller, &aside, &answer)?;
            Ok(answer)
        })?;
        aside.retain(|num| Some(*num) != answer.answer.closed);
        engine.files.record_ends(&aside);
        return Ok(answer);
    }
    let activate = Command::Activate(Activate {
        frame: target.num,
        session: caller.session.clone(),
        anchor: caller.anchor.clone(),
        id: engine.world().id("frm-"),
    });
    engine.lifecycle.end_in_turn(caller, pops, |change, _| {
        nothing_ends(&change.view(), &caller.session)?;
        engine.commands.carry_out(change, &activate)?;
        engine.lifecycle.keep_begun(change, caller, target.num, false, None)
    })?;
    engine.files.record_ends(&aside);
    let begun =
        engine.kernel.read(|view| engine.contexts.began(view, caller, target.num, false))?;
    Ok(begun.map(NavigateOutput::At))
}

/// Returns the handles of those frames that are blocked by now.
fn blocked(engine: &Engine, frames: &[Frame]) -> Result<Vec<String>, EngineError> {
    engine.kernel.read(|view| {
        let mut blocked = Vec::new();
        for frame in frames {
            if view.frame(frame.num)?.status == Status::Blocked {
                blocked.push(frame.num.to_string());
            }
        }
        Ok(blocked)
    })
}

/// Returns the answer of a call that went back to the frame above the one that it ended last.
pub(crate) fn gone_back(
    view: &View<'_>,
    ended: Reply<EndedFrame>,
) -> Result<Reply<NavigateOutput>, EngineError> {
    let closed = ended.answer.closed.map(|closed| view.frame(closed)).transpose()?;
    let Some(closed) = closed else { return Ok(ended.map(NavigateOutput::Ended)) };
    let (Some(above), Some(session)) = (closed.parent, &closed.session) else {
        return Ok(ended.map(NavigateOutput::Ended));
    };
    let above = view.frame(goes_on_in(view, session, closed.num, above)?)?;
    let text = format!(
        "You are in frame {} again. What was left is blocked and can be activated.\n{}",
        above.label(),
        ended.answer.text
    );
    let mut reply = at(&above, text);
    reply.answer.closed = ended.answer.closed;
    Ok(reply)
}

/// Returns how many frames of the session's stack, from the root on, stay open when it goes to `target`. Fails with
/// [`Kind::Conflict`] if the session can't go there.
fn keep(
    engine: &Engine,
    caller: &Caller,
    stack: &[Frame],
    target: &Frame,
) -> Result<usize, EngineError> {
    let keep = match target.status {
        Status::InProgress => kept(engine, stack, Some(target.num))?,
        Status::Planned | Status::Blocked => {
            let parent = engine.kernel.read(|view| nearest_chosen(view, target.parent))?;
            kept(engine, stack, parent)?
        }
        Status::Completed | Status::Failed | Status::Invalidated => {
            return Err(refused(
                format!("frame {} is {}", target.label(), target.status),
                Hint::operation("stack_frame_details")
                    .then(" shows it, and ")
                    .and("stack_frame_reopen")
                    .then(" brings it back."),
            ));
        }
    };
    let Some(keep) = keep else {
        let parent = target.parent.map(|parent| engine.frame(parent)).transpose()?;
        return Err(match (&target.session, parent) {
            (Some(session), _) if target.status == Status::InProgress => refused(
                format!("frame {} is worked in by session {session}", target.label()),
                format!("Go on there; from a terminal `--session {session}` acts in it."),
            ),
            (_, Some(parent)) => refused(
                format!(
                    "frame {} can't be begun: its parent {} is not open in this session",
                    target.label(),
                    parent.label()
                ),
                way_to(&parent),
            ),
            (_, None) => refused(
                format!("frame {} is a root of its own", target.label()),
                "Pop the open frames first; then it can be activated.",
            ),
        });
    };
    // One call can't both end a frame and begin another: the text that replaces the ended frame would also replace the
    // call at which the other begins.
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

/// Returns how many frames of the stack stay open when work goes on in frame `num`: those up to it, and those directly
/// inside it that began by themselves, since they end by themselves too. `None` if it is not on the stack.
fn kept(
    engine: &Engine,
    stack: &[Frame],
    num: Option<FrameNum>,
) -> Result<Option<usize>, EngineError> {
    let Some(place) = stack.iter().position(|frame| Some(frame.num) == num) else {
        return Ok(None);
    };
    engine.kernel.read(|view| {
        let mut keep = place + 1;
        while let Some(inner) = stack.get(keep) {
            if nearest_chosen(view, Some(inner.num))? == Some(inner.num) {
                break;
            }
            keep += 1;
        }
        Ok(Some(keep))
    })
}

/// Returns a hint at how a session in which no frame is open begins work in one.
fn opening(engine: &Engine, to: &str) -> Result<Hint, EngineError> {
    if matches!(to, "parent" | "next" | "previous") {
        return Ok(Hint::operation("stack_frame_push").then(" opens one."));
    }
    let frame = engine.resolve(to)?;
    let mut upwards = engine.kernel.read(|view| view.ancestors(frame.num))?;
    upwards.insert(0, frame);
    if let Some(over) = upwards.iter().rfind(|frame| frame.status.is_terminal()) {
        return Ok(brings_back(over));
    }
    let first = upwards.iter().rfind(|frame| frame.status != Status::InProgress);
    Ok(first.map_or_else(
        || "It is worked in by another session.".into(),
        |first| {
            let begins = format!(" begins {} {:?}.", first.num, first.identity.title);
            Hint::operation("stack_frame_activate").then(begins)
        },
    ))
}

/// Returns a hint at how to make a frame the open one.
pub(super) fn way_to(frame: &Frame) -> Hint {
    if frame.status.is_terminal() {
        return brings_back(frame);
    }
    Hint::from(format!("Go to {} first with ", frame.num)).and("stack_navigate").then(".")
}

fn brings_back(over: &Frame) -> Hint {
    Hint::operation("stack_frame_reopen")
        .then(format!(" brings {} back, which is {}.", over.num, over.status))
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
    let mut siblings = engine.kernel.read(|view| view.children(open.parent))?;
    let place = siblings.iter().position(|frame| frame.num == open.num).unwrap_or(0);
    let from_here = siblings.split_off(place);
    let waits = |frame: &Frame| matches!(frame.status, Status::Planned | Status::Blocked);
    let found = if later {
        from_here.into_iter().skip(1).find(waits)
    } else {
        siblings.into_iter().rfind(waits)
    };
    found.filter(|_| open.parent.is_some()).ok_or_else(|| {
        refused(
            format!("no planned or blocked frame stands {to} to {}", open.label()),
            Hint::operation("stack_tree").then(" shows all frames."),
        )
    })
}

fn at(frame: &Frame, text: String) -> Reply<NavigateOutput> {
    Reply::new(frame.label(), text, NavigateOutput::At(BegunFrame::of(frame)))
}

fn refused(message: impl Into<String>, hint: impl Into<Hint>) -> EngineError {
    EngineError::new(Kind::Conflict, message).with_hint(hint)
}
