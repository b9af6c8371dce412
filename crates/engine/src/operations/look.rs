//! Operations that only look.

use std::fmt::Write as _;

use callstack_core::context::Parts;
use callstack_core::frame::Frame;
use callstack_core::results::ResultsSource;
use callstack_core::text::format_duration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::engine::{Engine, lock};
use crate::error::{EngineError, Kind};
use crate::operation::{Answer, Caller, Operate};
use crate::staleness::Looks;
use crate::still_sent::{StillSent, still_sent};
use crate::tree;

/// Arguments of an operation that looks at one frame.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LookParams {
    /// Handle; default: the open frame
    #[serde(alias = "sessionID")]
    pub(super) frame: Option<String>,
}

/// Arguments of an operation that has none.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParams {}

/// `stack_status`.
pub(crate) struct Status;

impl Operate for Status {
    const NAME: &'static str = "stack_status";
    const SUMMARY: &'static str = "The open frames of this session, from the root to the active one, \
        and how many frames there are.";
    type Params = NoParams;

    fn run(engine: &Engine, caller: &Caller, _: NoParams) -> Result<Answer, EngineError> {
        let stack = engine.stack(&caller.session)?;
        let counts = engine.store.read(|view| Ok::<_, EngineError>(view.all_counts()?))?;
        let mut text = String::new();
        for (depth, frame) in stack.iter().enumerate() {
            // Writing to a string can't fail.
            let _ = writeln!(
                text,
                "{}{} {} [{}] {}",
                "  ".repeat(depth),
                tree::sign(frame.status),
                frame.label(),
                frame.status,
                frame.identity.success_criteria_compacted
            );
        }
        if stack.is_empty() {
            text.push_str("No frame is open in this session.\n");
        }
        let told: Vec<_> =
            counts.iter().map(|(status, count)| format!("{count} {status}")).collect();
        let _ = write!(
            text,
            "In all: {}.",
            if told.is_empty() { "none".into() } else { told.join(", ") }
        );
        let data = json!({
            "session": caller.session,
            "stack": stack.iter().map(|frame| engine.metadata(frame)).collect::<Result<Vec<_>, _>>()?,
            "counts": counts.iter().map(|(status, count)| (status.to_string(), *count))
                .collect::<std::collections::BTreeMap<_, _>>(),
        });
        Ok(Answer { title: "status".to_owned(), text, data, ..Answer::default() })
    }
}

/// `stack_tree`.
pub(crate) struct Tree;

impl Operate for Tree {
    const NAME: &'static str = "stack_tree";
    const SUMMARY: &'static str = "All frames as a tree, with their handles and statuses.";
    type Params = NoParams;

    fn run(engine: &Engine, caller: &Caller, _: NoParams) -> Result<Answer, EngineError> {
        let lines = engine.tree(Some(&caller.session))?;
        let text = format!(
            "{}\n○ planned  ▶ in progress  ✓ completed  ✗ failed  ‖ blocked  ⊘ invalidated",
            tree::plain(&lines)
        );
        let data = serde_json::to_value(engine.state()?).map_err(|error| internal(&error))?;
        Ok(Answer { title: "tree".to_owned(), text, data, ..Answer::default() })
    }
}

/// `stack_get_state`.
pub(crate) struct GetState;

impl Operate for GetState {
    const NAME: &'static str = "stack_get_state";
    const SUMMARY: &'static str = "The complete state as JSON.";
    type Params = NoParams;

    fn run(engine: &Engine, _: &Caller, _: NoParams) -> Result<Answer, EngineError> {
        let data = serde_json::to_value(engine.state()?).map_err(|error| internal(&error))?;
        let text = data.to_string();
        Ok(Answer { title: "state".to_owned(), text, data, ..Answer::default() })
    }
}

/// `stack_frame_details`.
pub(crate) struct Details;

impl Operate for Details {
    const NAME: &'static str = "stack_frame_details";
    const SUMMARY: &'static str = "Everything about a frame: criteria, results, artifacts, decisions, \
        evidence, pins, times.";
    type Params = LookParams;

    fn run(engine: &Engine, caller: &Caller, params: LookParams) -> Result<Answer, EngineError> {
        let frame = target(engine, caller, params.frame.as_deref())?;
        let metadata = engine.metadata(&frame)?;
        let mut data = serde_json::to_value(&metadata).map_err(|error| internal(&error))?;
        let (changed, whole) = engine.store.read(|view| {
            let whole = still_sent(view, Some(frame.num))?.remove(&frame.num);
            let changed = engine.changed_since(view, &frame, &mut Looks::whole())?;
            Ok::<_, EngineError>((changed, whole))
        })?;
        if let Some(whole) = whole {
            data["stillSent"] = json!({"tokens": whole.tokens, "folded": whole.folded,
                "told": whole.told()});
        }
        if !changed.is_empty() {
            data["changedArtifacts"] =
                changed.iter().map(|(path, since)| (path.clone(), json!(since.as_str()))).collect();
        }
        let artifacts = metadata.artifacts.iter().map(|path| match changed.get(path) {
            Some(since) => format!("{path} ({})", since.as_str()),
            None => path.clone(),
        });
        let artifacts: Vec<_> = artifacts.collect();
        let mut text = format!("{} [{}]\nid: {}\n", frame.label(), frame.status, frame.id);
        let mut row = |name: &str, value: Option<&str>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                // Writing to a string can't fail.
                let _ = writeln!(text, "{name}: {value}");
            }
        };
        row("success criteria", Some(&frame.identity.success_criteria));
        row("parent", metadata.parent_session_id.as_deref());
        row("worked in session", frame.session.as_deref());
        row("results", frame.results.as_deref());
        row("results, dense", frame.results_compacted.as_deref());
        row("results are", frame.results_source.map(ResultsSource::told));
        row("invalidated because", frame.invalidation_reason.as_deref());
        row("artifacts", Some(&artifacts.join(", ")));
        row("decisions", Some(&frame.decisions.join("; ")));
        row("evidence", Some(&metadata.evidence.lines_beside(&metadata.artifacts).join("\n  ")));
        for (num, pin) in &metadata.pins {
            row(&format!("pin {num}"), Some(pin));
        }
        row("still sent", whole.map(StillSent::told).as_deref());
        row("planned children", Some(&metadata.planned_children.join(", ")));
        let until = frame.ended_at.unwrap_or_else(|| engine.now());
        let since = format_duration(until.saturating_sub(frame.created_at));
        row(if frame.ended_at.is_some() { "took" } else { "open for" }, Some(&since));
        Ok(Answer { title: frame.label(), text, data, ..Answer::default() })
    }
}

/// `stack_context_preview`.
pub(crate) struct ContextPreview;

impl Operate for ContextPreview {
    const NAME: &'static str = "stack_context_preview";
    const SUMMARY: &'static str = "The XML context of a frame, as it would be made now.";
    type Params = LookParams;

    fn run(engine: &Engine, caller: &Caller, params: LookParams) -> Result<Answer, EngineError> {
        let frame = target(engine, caller, params.frame.as_deref())?;
        let context = engine
            .store
            .read(|view| engine.context(view, &caller.session, frame.num, Parts::full()))?;
        let data = json!({"frame": frame.num.to_string(), "xml": context.text,
            "metadata": context.metadata});
        Ok(Answer { title: frame.label(), text: context.text.clone(), data, ..Answer::default() })
    }
}

/// `stack_context_info`.
pub(crate) struct ContextInfo;

impl Operate for ContextInfo {
    const NAME: &'static str = "stack_context_info";
    const SUMMARY: &'static str =
        "What a frame's context costs, its budgets, and what the cache did.";
    type Params = LookParams;

    fn run(engine: &Engine, caller: &Caller, params: LookParams) -> Result<Answer, EngineError> {
        let frame = target(engine, caller, params.frame.as_deref())?;
        let context = engine
            .store
            .read(|view| engine.context(view, &caller.session, frame.num, Parts::full()))?;
        let settings = engine.current_settings()?;
        let cache = lock(&engine.cache).stats();
        let usage = engine.usage(&caller.session);
        let data = json!({
            "frame": frame.num.to_string(),
            "budget": settings.budget,
            "context": context.metadata,
            "cache": cache,
            "usedTokens": usage.used,
            "modelLimit": usage.limit,
        });
        let tokens = &context.metadata.tokens;
        let text = format!(
            "Context of {}: {} tokens (estimated) of {}: ancestors {}, siblings {}, current {}, \
             pins {}.\nCache: {} hits, {} misses, {} entries.",
            frame.label(),
            tokens.total,
            settings.budget.total,
            tokens.ancestors,
            tokens.siblings,
            tokens.current,
            tokens.pins,
            cache.hits,
            cache.misses,
            cache.entries
        );
        Ok(Answer { title: frame.label(), text, data, ..Answer::default() })
    }
}

/// `stack_cache_clear`.
pub(crate) struct CacheClear;

/// Arguments of `stack_cache_clear`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CacheClearParams {
    /// Only this session's contexts
    #[serde(rename = "sessionID")]
    session: Option<String>,
}

impl Operate for CacheClear {
    const NAME: &'static str = "stack_cache_clear";
    const SUMMARY: &'static str = "Forget rendered contexts, of one session or of all.";
    type Params = CacheClearParams;

    fn run(engine: &Engine, _: &Caller, params: CacheClearParams) -> Result<Answer, EngineError> {
        let cleared = match params.session {
            Some(session) => engine.invalidate_cache(&session),
            None => engine.invalidate_all_cache(),
        };
        Ok(Answer {
            title: "cache cleared".to_owned(),
            text: format!("{cleared} contexts were forgotten."),
            data: json!({"cleared": cleared}),
            ..Answer::default()
        })
    }
}

pub(super) fn target(
    engine: &Engine,
    caller: &Caller,
    reference: Option<&str>,
) -> Result<Frame, EngineError> {
    if let Some(reference) = reference {
        return engine.resolve(reference);
    }
    let active = engine.active(&caller.session)?.ok_or_else(|| {
        EngineError::invalid("no frame is open in this session", "Name the frame.")
    })?;
    engine.frame(active)
}

fn internal(error: &serde_json::Error) -> EngineError {
    EngineError { kind: Kind::Internal, message: error.to_string(), hint: None }
}
