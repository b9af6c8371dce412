//! Operations about summaries: a checkpoint of the open frame, what is waited for, what a frame's
//! summary says.

use std::fmt::Write as _;

use callstack_core::compaction::{checkpoint_awaited, completion_awaited};
use callstack_core::frame::{Frame, Status};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::look::{LookParams, target};
use super::overview::NoParams;
use super::rows::{Around, Rows};
use super::unsaid::end_uncompacted;
use crate::compaction::{Came, Ending};
use crate::effect::{Effect, EffectOutcome, Next};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::generator::Made;
use crate::operation::{Answer, Caller, Operate};

/// How many pending compactions are listed.
const LISTED: u32 = 50;

/// `stack_frame_summarize`.
pub(crate) struct Summarize;

/// Arguments of `stack_frame_summarize`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SummarizeParams {
    /// What the summary should pay heed to
    note: Option<String>,
}

impl Operate for Summarize {
    const NAME: &'static str = "stack_frame_summarize";
    const SUMMARY: &'static str = "Make a checkpoint of the open frame: the conversation is compacted \
        to a summary, which is stored with the frame, and work goes on after it.";
    type Params = SummarizeParams;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: SummarizeParams,
    ) -> Result<Answer, EngineError> {
        let note = params.note.filter(|note| !note.trim().is_empty());
        let asks = asks_host(caller);
        let frame = engine.compaction.mark_pending_compaction(caller, note, asks)?;
        Ok(asked(caller, &frame, checkpoint_awaited(&frame, asks), asks))
    }

    fn resume(
        engine: &Engine,
        caller: &Caller,
        token: Value,
        outcome: EffectOutcome,
    ) -> Result<Answer, EngineError> {
        resume(engine, caller, &token, outcome)
    }
}

/// Registers that a frame ends with a summary, and asks the host for that.
pub(super) fn end_with_summary(
    engine: &Engine,
    caller: &Caller,
    ending: Ending,
) -> Result<Answer, EngineError> {
    let asks = asks_host(caller);
    let status = ending.status;
    let frame = engine.compaction.register_pending_completion(caller, ending, asks)?;
    // Its work is over here, and the summary comes later. A person's frame goes on until then.
    if asks {
        engine.files.record_ends(&[frame.num]);
    }
    Ok(asked(caller, &frame, completion_awaited(&frame, status, asks), asks))
}

/// From a terminal no host can be asked: what is registered waits for the session's next compaction.
fn asks_host(caller: &Caller) -> bool {
    !caller.is_outside()
}

fn asked(caller: &Caller, frame: &Frame, text: String, asks: bool) -> Answer {
    let effect = Effect::Summarize { session: caller.session.clone() };
    let token = json!({ "text": text, "title": frame.label() });
    Answer {
        title: frame.label(),
        text,
        data: json!({ "frame": frame.num.to_string(), "pending": true }),
        next: asks.then_some(Next { effect, token }),
        ..Answer::default()
    }
}

/// Goes on once the host has begun to compact, or can't.
pub(super) fn resume(
    engine: &Engine,
    caller: &Caller,
    token: &Value,
    outcome: EffectOutcome,
) -> Result<Answer, EngineError> {
    let text = |name: &str| token[name].as_str().unwrap_or_default().to_owned();
    let answer = Answer { title: text("title"), text: text("text"), ..Answer::default() };
    match outcome {
        EffectOutcome::Ok(_) => Ok(answer),
        EffectOutcome::Error { aborted: true, .. } => cancelled(engine, caller),
        EffectOutcome::Error { message, .. } => {
            let pending = engine.pending_compaction(&caller.session)?;
            let bare = pending.and_then(|pending| {
                let completion = pending.completion.filter(|it| it.results.is_none())?;
                Some((pending.frame, completion.status))
            });
            let told = match bare {
                Some((frame, status)) => {
                    let frame = engine.frame(frame)?;
                    // An earlier summary says more than what could be made now.
                    if frame.results.is_none() {
                        return end_uncompacted(engine, caller, &frame, status, &message);
                    }
                    gave_up(engine, caller, &message, None)?
                }
                None => gave_up(engine, caller, &message, None)?,
            };
            let text = if told.text.is_empty() { answer.text } else { told.text };
            Ok(Answer { text, closed: told.closed, ..answer })
        }
    }
}

/// Answers a call that was cancelled while it waited.
pub(super) fn cancelled(engine: &Engine, caller: &Caller) -> Result<Answer, EngineError> {
    engine.clear_compaction_tracking(&caller.session, "the call was cancelled")?;
    Ok(Answer {
        title: "cancelled".to_owned(),
        text: "Cancelled: the frame stays as it is.".to_owned(),
        ..Answer::default()
    })
}

/// Gives up a compaction that the host can't make: what waited for it ends without, with the results that
/// were made instead.
pub(super) fn gave_up(
    engine: &Engine,
    caller: &Caller,
    why: &str,
    made: Option<&Made>,
) -> Result<Answer, EngineError> {
    let before = engine.active(&caller.session)?;
    let notice = engine.compaction.settle(&caller.session, Came::Nothing(why), made)?;
    engine.compaction.told_of_compactions(&caller.session)?;
    let closed = before
        .filter(|num| engine.frame(*num).is_ok_and(|frame| frame.status != Status::InProgress));
    let title = before.map(|num| Ok::<_, EngineError>(engine.frame(num)?.label())).transpose()?;
    let text = notice.map_or_else(String::new, |notice| notice.whole);
    Ok(Answer { title: title.unwrap_or_default(), text, closed, ..Answer::default() })
}

/// `stack_compaction_info`.
pub(crate) struct CompactionInfo;

impl Operate for CompactionInfo {
    const NAME: &'static str = "stack_compaction_info";
    const SUMMARY: &'static str = "What the session's next compaction is for, which frames wait for \
        a summary, and how many compactions there were.";
    type Params = NoParams;

    fn run(engine: &Engine, caller: &Caller, _: NoParams) -> Result<Answer, EngineError> {
        let kind = engine.compaction_type(&caller.session)?;
        let (pending, here, all) = engine.kernel.read(|view| {
            Ok::<_, EngineError>((
                view.pending_compactions(LISTED)?,
                view.compaction_counts(Some(&caller.session))?,
                view.compaction_counts(None)?,
            ))
        })?;
        // Writing to a string can't fail.
        let mut text = format!("Next compaction of this session: {kind}\n");
        let mut listed = Vec::new();
        for pending in &pending {
            let frame = engine.frame(pending.frame)?;
            let status = pending.completion.as_ref().map(|it| it.status);
            let ends = status.map_or_else(String::new, |status| format!(", ends as {status}"));
            let how = if pending.requested {
                "the host was asked to compact"
            } else {
                "waits for the next compaction"
            };
            let _ = writeln!(
                text,
                "Pending: {} in {} ({}{ends}): {how}",
                frame.label(),
                pending.session,
                pending.kind()
            );
            listed.push(json!({
                "session": pending.session,
                "frame": pending.frame.to_string(),
                "type": pending.kind(),
                "status": status,
                "results": pending.completion.as_ref().and_then(|it| it.results.as_deref()),
                "note": pending.note,
                "requested": pending.requested,
            }));
        }
        if pending.is_empty() {
            text.push_str("Pending: none\n");
        }
        let told = |counts: &callstack_store::CompactionCounts| {
            let told: Vec<_> = counts
                .iter()
                .map(|(kind, (came, failed))| format!("{came} {kind} ({failed} failed)"))
                .collect();
            if told.is_empty() { "none".to_owned() } else { told.join(", ") }
        };
        let _ = write!(text, "So far here: {}\nSo far in all: {}", told(&here), told(&all));
        let counts = |counts: &callstack_store::CompactionCounts| {
            let entry = |(kind, (came, failed)): (&_, &(u64, u64))| {
                let kind: &callstack_core::compaction::CompactionType = kind;
                (kind.to_string(), json!({ "came": came, "failed": failed }))
            };
            counts.iter().map(entry).collect::<serde_json::Map<_, _>>()
        };
        let data = json!({
            "session": caller.session,
            "type": kind,
            "pending": listed,
            "history": { "session": counts(&here), "all": counts(&all) },
        });
        Ok(Answer { title: "compaction".to_owned(), text, data, ..Answer::default() })
    }
}

/// `stack_get_summary`.
pub(crate) struct GetSummary;

impl Operate for GetSummary {
    const NAME: &'static str = "stack_get_summary";
    const SUMMARY: &'static str = "The summary of a frame: what it is for, its results or checkpoint, \
        the last generated summary, artifacts and decisions.";
    type Params = LookParams;

    fn run(engine: &Engine, caller: &Caller, params: LookParams) -> Result<Answer, EngineError> {
        let frame = target(engine, caller, params.frame.as_deref())?;
        let metadata = engine.metadata(&frame)?;
        let generated = engine.kernel.read(|view| view.frame_summary(frame.num))?;
        let summary = generated.as_ref().and_then(|it| it.summary.as_deref());
        let around = Around::of(engine, &frame)?;
        let mut rows = Rows::of(engine.dialect(), &frame);
        rows.identity(&frame);
        rows.row("parent", around.parent.as_deref());
        rows.results(&frame);
        let kind = generated.as_ref().map(|it| it.kind.to_string());
        if let (Some(summary), Some(kind)) = (summary, &kind) {
            // What the results say already is not said again.
            let known = frame.results.as_deref().is_some_and(|results| results.contains(summary));
            rows.row("last compaction", Some(kind));
            rows.row("its summary", Some(summary).filter(|_| !known));
        } else {
            rows.row("last compaction", Some("none: this frame has no generated summary"));
        }
        rows.row("artifacts", Some(&metadata.artifacts.join(", ")));
        rows.row("decisions", Some(&frame.decisions.join("; ")));
        rows.times(&frame);
        let mut data = json!({
            "frame": frame.num.to_string(),
            "sessionID": frame.id,
            "title": frame.identity.title,
            "successCriteria": frame.identity.success_criteria,
            "successCriteriaCompacted": frame.identity.success_criteria_compacted,
            "status": frame.status,
            "results": frame.results,
            "resultsCompacted": frame.results_compacted,
            "resultsSource": frame.results_source,
            "summary": summary,
            "type": kind,
            "artifacts": metadata.artifacts,
            "decisions": frame.decisions,
            "createdAt": frame.created_at,
            "begunAt": frame.begun_at,
            "updatedAt": frame.updated_at,
            "endedAt": frame.ended_at,
            "logPath": frame.log_path,
        });
        around.tell(&mut data);
        Ok(Answer { title: frame.label(), text: rows.text(), data, ..Answer::default() })
    }
}
