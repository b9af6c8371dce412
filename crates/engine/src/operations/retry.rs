//! The operation that starts another try at a frame's goal.

use std::fmt::Write as _;

use callstack_core::decide::{Command, Push};
use callstack_core::frame::{Frame, Status};
use callstack_core::returned::{ENDED_AS, TRIED};
use callstack_core::secrets::cut_to_token_budget;
use callstack_core::text::{CUT, estimate_tokens};

use super::begin::FrameParams;
use super::go::way_to;
use crate::call::Reply;
use crate::commands::first;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::hint::Hint;
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};
use crate::outputs::BegunFrame;

/// The most tokens of the note on the first try, and of its results if there is more to note.
const LEARNT: usize = 400;
const RESULTS: usize = 240;

/// `stack_frame_retry`. It is for agents, too: the specification makes a frame the unit of a retry, lets agents control
/// the tree, and has them weigh whether work may need a retry when they push. It changes no more than a push of the same
/// title does, so that no person confirms it.
pub(crate) struct Retry;

impl Operate for Retry {
    const NAME: &'static str = "stack_frame_retry";
    const SUMMARY: &'static str = "Try again what a frame that has ended was for: opens a fresh frame \
        beside it with the same title, criteria and pins, and with what was learnt from the first try.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Span;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = FrameParams;
    type Output = BegunFrame;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: FrameParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let tried = engine.resolve(&params.frame)?;
        check(engine, caller, &tried)?;
        engine.lifecycle.check_nothing_ends(&caller.session)?;
        let push = Command::Push(Push {
            session: caller.session.clone(),
            anchor: caller.anchor.clone(),
            identity: tried.identity.clone(),
            id: engine.world().id("frm-"),
        });
        let num = engine.kernel.write(|change| {
            let num = first(&engine.commands.carry_out(change, &push)?)?;
            let ended = change.view().evidence(tried.num)?.brief();
            let text = learnt(&tried, &ended);
            let learnt = Command::AddDecision { frame: num, text: text.clone() };
            engine.commands.carry_out(change, &learnt)?;
            // Pins of the first try apply to this one, word for word.
            for pin in &tried.pins {
                engine
                    .commands
                    .carry_out(change, &Command::Pin { frame: num, text: pin.text.clone() })?;
            }
            engine.lifecycle.keep_begun(change, caller, num, false, Some(&text))?;
            Ok::<_, EngineError>(num)
        })?;
        retried(engine, engine.kernel.read(|view| engine.contexts.began(view, caller, num, false))?)
    }
}

/// Adds the note on the try before to the answer of a fresh frame's beginning.
pub(crate) fn retried(
    engine: &Engine,
    mut begun: Reply<BegunFrame>,
) -> Result<Reply<BegunFrame>, EngineError> {
    let Some(fresh) = begun.answer.opened else { return Ok(begun) };
    let decisions = engine.frame(fresh)?.decisions;
    begun.append(decisions.first().map_or("", String::as_str));
    Ok(begun)
}

/// Fails unless the first try is over and its parent is the open frame, where the fresh try begins.
fn check(engine: &Engine, caller: &Caller, tried: &Frame) -> Result<(), EngineError> {
    let refused = |message: String, hint: Hint| {
        Err(EngineError::new(Kind::Conflict, message).with_hint(hint))
    };
    if tried.status == Status::Planned {
        return refused(
            format!("frame {} was not tried yet", tried.label()),
            Hint::from(format!("Begin {} with ", tried.num)).and("stack_frame_activate").then("."),
        );
    }
    if !tried.status.is_finished() {
        return refused(
            format!("frame {} is {}", tried.label(), tried.status),
            format!("Pop it first, as failed if it is; or go on with {}.", tried.num).into(),
        );
    }
    let Some(parent) = tried.parent else {
        return refused(
            format!("frame {} is a root", tried.label()),
            "Say in the session what is to be tried again.".into(),
        );
    };
    if engine.active(&caller.session)? != Some(parent) {
        let parent = engine.frame(parent)?;
        return refused(
            format!("frame {} belongs to {}, which is not the open one", tried.num, parent.label()),
            way_to(&parent),
        );
    }
    Ok(())
}

fn learnt(tried: &Frame, ended: &str) -> String {
    let mut text = format!("{TRIED} in {}, which is {}", tried.label(), tried.status);
    if let Some(reason) = tried.invalidation_reason.as_deref() {
        // Writing to a string can't fail.
        let _ = write!(text, " ({reason})");
    }
    let results = tried.results.as_deref().map(str::trim).filter(|results| !results.is_empty());
    // Notes on tries before that one matter least.
    let (before, own): (Vec<&str>, Vec<&str>) =
        tried.decisions.iter().map(String::as_str).partition(|text| text.starts_with(TRIED));
    let decisions = [own, before].concat().join("; ");
    let mut left = LEARNT;
    let mut within = |text: &str, share: usize| {
        let text = cut_to_token_budget(text, share.min(left), CUT).into_owned();
        left = left.saturating_sub(estimate_tokens(&text));
        text
    };
    let share = if decisions.is_empty() && ended.is_empty() { LEARNT } else { RESULTS };
    let _ = match results {
        Some(results) => write!(text, ": {}", within(results, share)),
        None => write!(text, ", without results."),
    };
    for (what, words) in [(ENDED_AS, ended), ("Decided in it", &decisions)] {
        let words = if words.is_empty() { String::new() } else { within(words, LEARNT) };
        if !words.is_empty() {
            let _ = write!(text, "\n{what}: {words}");
        }
    }
    text
}
