//! A pop that closes steps after the fact: they become a finished child of the open frame, which stays open.

use callstack_core::decide::{self, Command};
use callstack_core::event::Event;
use callstack_core::frame::Identity;
use callstack_core::framing::title_of;
use callstack_core::named_steps::{NamedSteps, name_of, number_of};
use callstack_core::returned::RENDERER_VERSION;
use callstack_core::transcript::{Fold, Outcome, Span, SpanNum, SpanOrigin};
use callstack_store::View;

use crate::assembly::Contexts;
use crate::call::Reply;
use crate::commands::first;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::evidence;
use crate::hint::Hint;
use crate::operation::Caller;
use crate::outputs::EndedFrame;

/// Closes the steps with a name as a frame, with a title and an outcome.
pub(super) fn pop_since(
    engine: &Engine,
    caller: &Caller,
    name: &str,
    title: Option<&str>,
    outcome: Outcome,
) -> Result<Reply<EndedFrame>, EngineError> {
    let steps = engine.kernel.read(|view| named(view, &caller.session, name))?;
    engine.lifecycle.check_nothing_ends(&caller.session)?;
    let begun = engine.steps.begun_since(&caller.session, &steps.first, &caller.anchor)?;
    let begun = begun.ok_or_else(|| gone(&steps))?;
    let results = outcome.results.as_deref().unwrap_or_default();
    let title = title.map(str::trim).filter(|title| !title.is_empty());
    let span = about_to_open(&caller.session, &steps);
    let evidence = engine.spans.evidence_since(&span, Some(results));
    let files = engine.steps.files_before(&caller.session, &steps.first)?;
    let command = Command::PopSince(decide::PopSince {
        session: caller.session.clone(),
        first: steps.first.clone(),
        anchor: caller.anchor.clone(),
        begun,
        identity: Identity {
            title: title.map_or_else(|| title_of(results), str::to_owned),
            success_criteria: String::new(),
            success_criteria_compacted: String::new(),
        },
        id: engine.world().id("frm-"),
        outcome,
    });
    // No earlier call opened this frame: the answer is stored for when the call is repeated.
    engine.idempotency.answering(caller, |change| {
        // Somebody else may have closed them in the meantime.
        named(&change.view(), &caller.session, name)?;
        let decision = engine.commands.carry_out(change, &command)?;
        let num = first(&decision)?;
        let given = files.iter().map(|(moment, state)| Event::FilesRecorded {
            frame: num,
            moment: *moment,
            state: state.clone(),
        });
        let artifacts = engine.steps.artifacts_since(&change.view(), &span, &evidence)?;
        let artifacts =
            artifacts.into_iter().map(|artifact| Event::ArtifactRecorded { frame: num, artifact });
        change.append(engine.kernel.now(), &given.chain(artifacts).collect::<Vec<_>>())?;
        let view = change.view();
        let text = engine.contexts.returned(&view, num, &[], &evidence, &caller.session)?;
        let mut events = Vec::new();
        for event in &decision.events {
            let Event::SpanClosed { span, close, .. } = event else { continue };
            // Calls of the same step may still be running.
            let fold = match close.call {
                Some(_) => Fold::unfixed(text.clone(), RENDERER_VERSION),
                None => Fold::new(text.clone(), RENDERER_VERSION),
            };
            events.push(Event::FoldSet { span: *span, fold });
            events.extend(evidence::taken(&view, num, *span, &evidence)?);
        }
        change.append(engine.kernel.now(), &events)?;
        engine.commands.consolidate_if_many(change, engine.kernel.now(), num)?;
        Contexts::ended(&change.view(), num, text)
    })
}

/// Returns the steps with a name. Fails if the session has none with it, or if they are closed already.
fn named(view: &View<'_>, session: &str, name: &str) -> Result<NamedSteps, EngineError> {
    let num = number_of(name).ok_or_else(|| {
        EngineError::invalid(
            format!("`{name}` is no name of steps"),
            "callstack names steps, such as s14, in the output of a later call.",
        )
    })?;
    let known = view.named_steps(session)?.into_iter().find(|steps| steps.num == num);
    let Some(steps) = known else {
        let message = if view.is_named(num)? {
            format!("{} names steps of another session", name_of(num))
        } else {
            format!("no steps are named {}", name_of(num))
        };
        let hint = Hint::from(
            "callstack names steps in the output of a later call; other work is closed by ",
        )
        .and("stack_frame_push")
        .then(" before it and ")
        .and("stack_frame_pop")
        .then(" behind it.");
        return Err(EngineError::new(Kind::NotFound, message).with_hint(hint));
    };
    let closed = view.session_spans(session)?.into_iter().find(|span| {
        span.origin == SpanOrigin::Since && !span.detached && span.open == steps.first
    });
    if let Some(span) = closed {
        let frame = view.frame(span.frame)?.label();
        return Err(EngineError::new(
            Kind::Conflict,
            format!("the steps of {} are closed already, as frame {frame}", name_of(num)),
        )
        .with_hint("What it returned stands in place of their first call."));
    }
    Ok(steps)
}

fn gone(steps: &NamedSteps) -> EngineError {
    let message = format!("the steps of {} are not in the context any more", name_of(steps.num));
    let hint = "They left with a frame around them, by a compaction or an undo: go on without closing \
                them.";
    EngineError::new(Kind::Conflict, message).with_hint(hint)
}

/// Returns the span of steps before it has a number.
fn about_to_open(session: &str, steps: &NamedSteps) -> Span {
    Span {
        num: SpanNum(0),
        frame: callstack_core::frame::FrameNum(0),
        session: session.to_owned(),
        open: steps.first.clone(),
        origin: SpanOrigin::Since,
        close: None,
        outcome: None,
        close_undone: false,
        detached: false,
        foldable: true,
        fold: None,
    }
}
