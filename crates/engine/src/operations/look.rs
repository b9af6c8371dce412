//! Operations that only look.

use std::fmt::Write as _;

use callstack_core::context::{CacheStats, ContextCache, ContextMetadata, Parts, TokenBudget};
use callstack_core::frame::{self, Frame, FrameNum};
use callstack_core::text::format_duration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::rows::{Around, Rows};
use crate::engine::Engine;
use crate::error::{EngineError, Kind, NAME_OR_PUSH};
use crate::lock::lock;
use crate::operation::{Answer, Caller, Operate};
use crate::staleness::Looks;
use crate::still_sent::{StillSent, still_sent};
use crate::system::TokenUsage;

/// Arguments of an operation that looks at one frame.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LookParams {
    /// Handle; default: the open frame
    #[serde(alias = "sessionID")]
    pub(super) frame: Option<String>,
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
        let metadata = engine.metadata(&frame)?.spoken(engine.dialect());
        let mut data = serde_json::to_value(&metadata).map_err(|error| internal(&error))?;
        let (changed, whole) = engine.kernel.read(|view| {
            let whole = still_sent(view, Some(frame.num))?.remove(&frame.num);
            let changed = engine.contexts.changed_since(view, &frame, &mut Looks::whole())?;
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
        let around = Around::of(engine, &frame)?;
        around.tell(&mut data);
        let left_open = engine.is_left_open(&frame)?;
        if left_open {
            data["imported"] = json!(true);
        }
        let mut rows = Rows::of(engine.dialect(), &frame);
        rows.identity(&frame);
        rows.row("imported", left_open.then_some("it never ended, and nobody works in it"));
        rows.row("parent", around.parent.as_deref());
        rows.row("worked in session", frame.session.as_deref());
        rows.results(&frame);
        rows.row("invalidated because", frame.invalidation_reason.as_deref());
        rows.row("artifacts", Some(&artifacts.join(", ")));
        rows.row("decisions", Some(&frame.decisions.join("; ")));
        let evidence = metadata.evidence.lines_beside(&metadata.artifacts).join("\n  ");
        rows.row("evidence", Some(&evidence));
        for (num, pin) in &metadata.pins {
            rows.row(&format!("pin {num}"), Some(pin));
        }
        rows.row("still sent", whole.map(StillSent::told).as_deref());
        rows.row("planned children", Some(&around.planned.join(", ")));
        rows.times(&frame);
        let worked = format_duration(frame.worked(engine.kernel.now()));
        match (frame.ended_at, frame.status) {
            (Some(_), _) => rows.row("took", Some(&worked)),
            (None, frame::Status::Planned) => {}
            (None, _) if left_open => {}
            (None, _) => rows.row("open for", Some(&worked)),
        }
        Ok(Answer { title: frame.label(), text: rows.text(), data, ..Answer::default() })
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
        let context = engine.kernel.read(|view| {
            engine.contexts.context(view, &caller.session, frame.num, Parts::full())
        })?;
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
        let context = engine.kernel.read(|view| {
            engine.contexts.context(view, &caller.session, frame.num, Parts::full())
        })?;
        let settings = engine.current_settings()?;
        let cache = lock(&engine.contexts.cache).stats();
        let usage = engine.usage(&caller.session);
        let data = json!({
            "frame": frame.num.to_string(),
            "budget": settings.budget,
            "context": context.metadata,
            "cache": cache,
            "cacheCapacity": ContextCache::CAPACITY,
            "cacheLifetimeMs": ContextCache::LIFETIME_MS,
            "usedTokens": usage.used,
            "modelLimit": usage.limit,
        });
        let text = told(&frame, &context.metadata, &settings.budget, cache, usage);
        Ok(Answer { title: frame.label(), text, data, ..Answer::default() })
    }
}

/// What a context costs, section by section, and what of the frames around is in it.
fn told(
    frame: &Frame,
    context: &ContextMetadata,
    budget: &TokenBudget,
    cache: CacheStats,
    usage: TokenUsage,
) -> String {
    let tokens = &context.tokens;
    let sections = tokens.ancestors + tokens.siblings + tokens.current + tokens.planned_children;
    let rest = tokens.total.saturating_sub(sections + tokens.pins + tokens.task_management);
    let handles = |frames: &[FrameNum]| {
        let handles: Vec<_> = frames.iter().map(ToString::to_string).collect();
        if handles.is_empty() { String::new() } else { format!(" ({})", handles.join(", ")) }
    };
    let chosen = |shown: &[FrameNum], omitted: usize| {
        format!("{} shown{}, {omitted} left out", shown.len(), handles(shown))
    };
    let mut text = format!(
        "Context of {}: {} of {} tokens, estimated.\n\
         - ancestors: {} of {}; {}\n\
         - siblings: {} of {}; {}\n\
         - current frame {} and planned children {} of {}; {}\n\
         - pins: {}, outside of every budget\n\
         - guidance: {}; tags and budgets: {rest}\n",
        frame.label(),
        tokens.total,
        budget.total,
        tokens.ancestors,
        budget.ancestors,
        chosen(&context.ancestors, context.ancestors_omitted),
        tokens.siblings,
        budget.siblings,
        chosen(&context.siblings, context.siblings_omitted),
        tokens.current,
        tokens.planned_children,
        budget.current,
        chosen(&context.planned_children, context.planned_children_omitted),
        tokens.pins,
        tokens.task_management,
    );
    if !context.truncated.is_empty() {
        // Writing to a string can't fail.
        let _ = writeln!(text, "Shortened:{}", handles(&context.truncated));
    }
    if !context.left_out.is_empty() {
        // Writing to a string can't fail.
        let _ = writeln!(text, "No room for: {}", context.left_out.join(", "));
    }
    if let (Some(used), Some(limit)) = (usage.used, usage.limit) {
        // Writing to a string can't fail.
        let _ = writeln!(text, "The session's last request: {used} of {limit} tokens.");
    }
    // Writing to a string can't fail.
    let _ = write!(
        text,
        "Cache: {} hits, {} misses, {} of {} entries; each is good for {}.",
        cache.hits,
        cache.misses,
        cache.entries,
        ContextCache::CAPACITY,
        format_duration(ContextCache::LIFETIME_MS)
    );
    text
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
    let active = engine
        .active(&caller.session)?
        .ok_or_else(|| EngineError::invalid("no frame is open in this session", NAME_OR_PUSH))?;
    engine.frame(active)
}

fn internal(error: &serde_json::Error) -> EngineError {
    EngineError { kind: Kind::Internal, message: error.to_string(), hint: None }
}
