//! Operations on summaries: a checkpoint of the open frame, the compactions that are awaited, a frame's summary.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use callstack_core::compaction::{CompactionType, checkpoint_awaited, completion_awaited};
use callstack_core::frame::{Frame, Status};
use callstack_core::results::ResultsSource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::end::PopOutput;
use super::inspect::{LookParams, target};
use super::missing_results::end_uncompacted;
use super::overview::NoParams;
use super::rows::{Around, AroundHandles, Rows};
use crate::call::Reply;
use crate::compaction::{Came, Ending};
use crate::effect::{Effect, EffectOutcome, Next};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::generator::GeneratedResults;
use crate::operation::{
    Access, Caller, CallerKind, EVERYBODY, HostKind, Operate, Repeated, unfolded,
};
use crate::outputs::{AwaitedSummary, EndedFrame};

/// The most pending compactions that are listed.
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
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    const NEEDS_FOLDING: bool = true;
    type Params = SummarizeParams;
    type Output = PopOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: SummarizeParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
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
    ) -> Result<Reply<Self::Output>, EngineError> {
        resume(engine, caller, &token, outcome)
    }
}

/// Registers that a frame ends with a summary, and asks the host to compact. Fails if the host only calls operations.
pub(super) fn end_with_summary(
    engine: &Engine,
    caller: &Caller,
    ending: Ending,
) -> Result<Reply<PopOutput>, EngineError> {
    if caller.host_kind() == HostKind::Calling {
        return Err(unfolded("generateSummary"));
    }
    let asks = asks_host(caller);
    let status = ending.status;
    let frame = engine.compaction.register_pending_completion(caller, ending, asks)?;
    // The work in the frame ends now, and the summary comes later. A frame that a person ends goes on until then.
    if asks {
        engine.files.record_ends(&[frame.num]);
    }
    Ok(asked(caller, &frame, completion_awaited(&frame, status, asks), asks))
}

/// Whether the host can be asked to compact. For a person it can't: the frame then waits for the session's next
/// compaction.
fn asks_host(caller: &Caller) -> bool {
    !caller.is_outside()
}

fn asked(caller: &Caller, frame: &Frame, text: String, asks: bool) -> Reply<PopOutput> {
    let effect = Effect::Summarize { session: caller.session.clone() };
    let token = json!({ "text": text, "title": frame.label() });
    let data = PopOutput::Awaited(AwaitedSummary::of(frame));
    let mut reply = Reply::new(frame.label(), text, data);
    reply.answer.next = asks.then_some(Next { effect, token });
    reply
}

/// Continues a call once the host has begun to compact, or has failed to.
pub(super) fn resume(
    engine: &Engine,
    caller: &Caller,
    token: &Value,
    outcome: EffectOutcome,
) -> Result<Reply<PopOutput>, EngineError> {
    let text = |name: &str| token[name].as_str().unwrap_or_default().to_owned();
    let mut answer = Reply::without_data(text("title"), text("text"));
    match outcome {
        EffectOutcome::Ok(_) => Ok(answer),
        EffectOutcome::Error { aborted: true, .. } => cancelled(engine, caller),
        EffectOutcome::Error { message, .. } => {
            let pending = engine.pending_compaction(&caller.session)?;
            let bare = pending.and_then(|pending| {
                let completion = pending.completion.filter(|it| it.results.is_none())?;
                Some((pending.frame, completion.status))
            });
            let ended = match bare {
                Some((frame, status)) => {
                    let frame = engine.frame(frame)?;
                    // An earlier summary says more than results that could be made now.
                    if frame.results.is_none() {
                        return end_uncompacted(engine, caller, &frame, status, &message);
                    }
                    gave_up(engine, caller, &message, None)?
                }
                None => gave_up(engine, caller, &message, None)?,
            };
            if !ended.answer.text.is_empty() {
                answer.answer.text = ended.answer.text;
            }
            answer.answer.closed = ended.answer.closed;
            Ok(answer)
        }
    }
}

/// Answers a call that was cancelled while it waited.
pub(super) fn cancelled<D>(engine: &Engine, caller: &Caller) -> Result<Reply<D>, EngineError> {
    engine.clear_compaction_tracking(&caller.session, "the call was cancelled")?;
    Ok(Reply::without_data("cancelled", "Cancelled: the frame stays as it is."))
}

/// Gives up a compaction that the host can't make: a frame that waited for it ends without a summary, with the results
/// that were made instead.
pub(super) fn gave_up(
    engine: &Engine,
    caller: &Caller,
    why: &str,
    made: Option<&GeneratedResults>,
) -> Result<Reply<EndedFrame>, EngineError> {
    let before = engine.active(&caller.session)?;
    let notice = engine.compaction.settle(&caller.session, Came::Nothing(why), made)?;
    engine.compaction.record_announced(&caller.session)?;
    let closed = before
        .filter(|num| engine.frame(*num).is_ok_and(|frame| frame.status != Status::InProgress));
    let title = before.map(|num| Ok::<_, EngineError>(engine.frame(num)?.label())).transpose()?;
    let text = notice.map_or_else(String::new, |notice| notice.whole);
    let mut reply = Reply::without_data(title.unwrap_or_default(), text);
    reply.answer.closed = closed;
    Ok(reply)
}

/// `stack_compaction_info`.
pub(crate) struct CompactionInfo;

/// The next compaction of a session, those that are awaited, and the number of past ones.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct CompactionOutput {
    session: String,
    /// The kind of the session's next compaction
    #[serde(rename = "type")]
    kind: CompactionType,
    /// Compactions that are awaited, in any session
    pending: Vec<PendingOutput>,
    history: CompactionHistory,
}

/// A compaction that is awaited.
#[derive(Clone, Serialize, JsonSchema)]
struct PendingOutput {
    session: String,
    /// Handle of the frame that it is for
    frame: String,
    #[serde(rename = "type")]
    kind: CompactionType,
    /// How the frame ends with it
    status: Option<Status>,
    results: Option<String>,
    /// What the summary should pay heed to
    note: Option<String>,
    /// Whether the host was asked to compact
    requested: bool,
}

/// Compactions so far, by kind.
#[derive(Clone, Serialize, JsonSchema)]
struct CompactionHistory {
    /// Compactions of the calling session
    session: BTreeMap<String, CompactionCount>,
    /// Compactions of all sessions
    all: BTreeMap<String, CompactionCount>,
}

/// The number of compactions that gave a summary, and of those that did not.
#[derive(Clone, Serialize, JsonSchema)]
struct CompactionCount {
    came: u64,
    failed: u64,
}

impl Operate for CompactionInfo {
    const NAME: &'static str = "stack_compaction_info";
    const SUMMARY: &'static str = "What the session's next compaction is for, which frames wait for \
        a summary, and how many compactions there were.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = NoParams;
    type Output = CompactionOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        _: NoParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
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
            listed.push(PendingOutput {
                kind: pending.kind(),
                status,
                results: pending.completion.as_ref().and_then(|it| it.results.clone()),
                session: pending.session.clone(),
                frame: pending.frame.to_string(),
                note: pending.note.clone(),
                requested: pending.requested,
            });
        }
        if pending.is_empty() {
            text.push_str("Pending: none\n");
        }
        let came_and_failed = |counts: &callstack_store::CompactionCounts| {
            let kinds: Vec<_> = counts
                .iter()
                .map(|(kind, (came, failed))| format!("{came} {kind} ({failed} failed)"))
                .collect();
            if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") }
        };
        let _ = write!(
            text,
            "So far here: {}\nSo far in all: {}",
            came_and_failed(&here),
            came_and_failed(&all)
        );
        let counts = |counts: &callstack_store::CompactionCounts| {
            let entry = |(kind, (came, failed)): (&CompactionType, &(u64, u64))| {
                (kind.to_string(), CompactionCount { came: *came, failed: *failed })
            };
            counts.iter().map(entry).collect()
        };
        let data = CompactionOutput {
            session: caller.session.clone(),
            kind,
            pending: listed,
            history: CompactionHistory { session: counts(&here), all: counts(&all) },
        };
        Ok(Reply::new("compaction", text, data))
    }
}

/// `stack_get_summary`.
pub(crate) struct GetSummary;

/// The summary of a frame. Times are milliseconds since 1970.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SummaryOutput {
    /// Handle such as f12
    frame: String,
    /// The frame's id
    #[serde(rename = "sessionID")]
    id: String,
    title: String,
    success_criteria: String,
    success_criteria_compacted: String,
    status: Status,
    results: Option<String>,
    results_compacted: Option<String>,
    results_source: Option<ResultsSource>,
    /// The summary of the frame's last compaction
    summary: Option<String>,
    /// The kind of that compaction
    #[serde(rename = "type")]
    kind: Option<String>,
    artifacts: Vec<String>,
    decisions: Vec<String>,
    created_at: i64,
    begun_at: Option<i64>,
    updated_at: i64,
    ended_at: Option<i64>,
    log_path: Option<String>,
    #[serde(flatten)]
    around: AroundHandles,
}

impl Operate for GetSummary {
    const NAME: &'static str = "stack_get_summary";
    const SUMMARY: &'static str = "The summary of a frame: what it is for, its results or checkpoint, \
        the last generated summary, artifacts and decisions.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = LookParams;
    type Output = SummaryOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: LookParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
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
            // A summary that the results contain is not repeated.
            let known = frame.results.as_deref().is_some_and(|results| results.contains(summary));
            rows.row("last compaction", Some(kind));
            rows.row("its summary", Some(summary).filter(|_| !known));
        } else {
            rows.row("last compaction", Some("none: this frame has no generated summary"));
        }
        rows.row("artifacts", Some(&metadata.artifacts.join(", ")));
        rows.row("decisions", Some(&frame.decisions.join("; ")));
        rows.times(&frame);
        let title = frame.label();
        let data = SummaryOutput {
            frame: frame.num.to_string(),
            id: frame.id,
            title: frame.identity.title,
            success_criteria: frame.identity.success_criteria,
            success_criteria_compacted: frame.identity.success_criteria_compacted,
            status: frame.status,
            results: frame.results,
            results_compacted: frame.results_compacted,
            results_source: frame.results_source,
            summary: generated.as_ref().and_then(|it| it.summary.clone()),
            kind,
            artifacts: metadata.artifacts,
            decisions: frame.decisions,
            created_at: frame.created_at,
            begun_at: frame.begun_at,
            updated_at: frame.updated_at,
            ended_at: frame.ended_at,
            log_path: frame.log_path,
            around: around.handles(),
        };
        Ok(Reply::new(title, rows.text(), data))
    }
}
