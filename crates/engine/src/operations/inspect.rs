//! Operations that show a frame or the context built for it, and the one that clears the cache of contexts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use callstack_core::context::{CacheStats, ContextCache, ContextMetadata, Parts, TokenBudget};
use callstack_core::frame::{self, Frame, FrameNum};
use callstack_core::text::format_duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::near::NearFrames;
use super::rows::{Around, AroundHandles, Rows};
use crate::call::Reply;
use crate::changed_files::ReadBudget;
use crate::engine::Engine;
use crate::error::{EngineError, name_or_push};
use crate::lock::lock;
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};
use crate::state::FrameMetadata;
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

/// Arguments of `stack_frame_details`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DetailsParams {
    /// Handle; default: the open frame
    #[serde(alias = "sessionID")]
    frame: Option<String>,
    /// Also the frames around it
    near: Option<bool>,
}

/// A frame in the form of the specification, with further fields.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DetailsOutput {
    #[serde(flatten)]
    frame: FrameMetadata,
    /// Why its steps are still sent though it has ended
    #[serde(skip_serializing_if = "Option::is_none")]
    still_sent: Option<StillSentOutput>,
    /// Artifacts that were changed since the frame ended, by path
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    changed_artifacts: BTreeMap<String, &'static str>,
    #[serde(flatten)]
    around: AroundHandles,
    /// Whether it was left open in an imported session
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    imported: bool,
    view: DetailsView,
    /// The frames around it, if they are asked for
    #[serde(skip_serializing_if = "Option::is_none")]
    near: Option<NearFrames>,
}

/// The work in a frame, for views of it.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DetailsView {
    /// Milliseconds for which it was worked in
    worked_ms: i64,
    /// Estimated tokens of the work in it, once it has ended
    tokens: usize,
    /// Number of messages in its log
    messages: u64,
    /// The program that its session belongs to
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// The session that started its session
    #[serde(skip_serializing_if = "Option::is_none")]
    session_parent: Option<String>,
    /// Whether its session was only read from a recording
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    recorded: bool,
}

impl DetailsView {
    fn of(engine: &Engine, frame: &Frame, tokens: usize) -> Result<Self, EngineError> {
        let (session, recorded) = engine.kernel.read(|view| {
            let Some(id) = &frame.session else { return Ok((None, false)) };
            Ok::<_, EngineError>((view.session_row(id)?, view.is_recorded(id)?))
        })?;
        let left_open = engine.is_left_open(frame)?;
        Ok(Self {
            worked_ms: if left_open { 0 } else { frame.worked(engine.kernel.now()) },
            tokens,
            messages: engine.log_length(frame)?,
            host: session.as_ref().map(|session| session.host.clone()),
            session_parent: session.and_then(|session| session.parent),
            recorded,
        })
    }
}

/// The steps of a finished frame that are still sent.
#[derive(Clone, Serialize, JsonSchema)]
struct StillSentOutput {
    /// Estimated tokens of the steps
    tokens: usize,
    /// Estimated tokens of the text that would replace them
    folded: usize,
    /// Why they are sent
    told: String,
}

impl StillSentOutput {
    fn of(whole: StillSent) -> Self {
        Self { tokens: whole.tokens, folded: whole.folded, told: whole.sentence() }
    }
}

impl Operate for Details {
    const NAME: &'static str = "stack_frame_details";
    const SUMMARY: &'static str = "Everything about a frame: criteria, results, artifacts, decisions, \
        evidence, pins, times.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    const TERMINAL_ARGUMENTS: &'static [&'static str] = &["near"];
    type Params = DetailsParams;
    type Output = DetailsOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: DetailsParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = target(engine, caller, params.frame.as_deref())?;
        let metadata = engine.metadata(&frame)?.spoken(engine.dialect());
        let (changed, whole, near) = engine.kernel.read(|view| {
            let whole = still_sent(view, Some(frame.num))?.remove(&frame.num);
            let changed = engine.contexts.changed_since(view, &frame, &mut ReadBudget::whole())?;
            let near = || NearFrames::read(view, &frame, engine.kernel.now());
            let is_wanted = params.near == Some(true);
            Ok::<_, EngineError>((changed, whole, is_wanted.then(near).transpose()?))
        })?;
        let artifacts = metadata.artifacts.iter().map(|path| match changed.get(path) {
            Some(since) => format!("{path} ({})", since.as_str()),
            None => path.clone(),
        });
        let artifacts: Vec<_> = artifacts.collect();
        let around = Around::of(engine, &frame)?;
        let left_open = engine.is_left_open(&frame)?;
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
        rows.row("still sent", whole.map(StillSent::sentence).as_deref());
        rows.row("planned children", Some(&around.planned.join(", ")));
        rows.times(&frame);
        let worked = format_duration(frame.worked(engine.kernel.now()));
        match (frame.ended_at, frame.status) {
            (Some(_), _) => rows.row("took", Some(&worked)),
            (None, frame::Status::Planned) => {}
            (None, _) if left_open => {}
            (None, _) => rows.row("open for", Some(&worked)),
        }
        let data = DetailsOutput {
            still_sent: whole.map(StillSentOutput::of),
            changed_artifacts: changed
                .into_iter()
                .map(|(path, since)| (path, since.as_str()))
                .collect(),
            around: around.handles(),
            imported: left_open,
            view: DetailsView::of(engine, &frame, metadata.evidence.tokens)?,
            near,
            frame: metadata,
        };
        Ok(Reply::new(frame.label(), rows.text(), data))
    }
}

/// `stack_context_preview`.
pub(crate) struct ContextPreview;

/// A frame's context.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct ContextPreviewOutput {
    /// Handle of the frame
    frame: String,
    /// The context as a model is sent it
    xml: String,
    metadata: ContextMetadata,
}

impl Operate for ContextPreview {
    const NAME: &'static str = "stack_context_preview";
    const SUMMARY: &'static str = "The XML context of a frame, as it would be made now.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = LookParams;
    type Output = ContextPreviewOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: LookParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = target(engine, caller, params.frame.as_deref())?;
        let context = engine.kernel.read(|view| {
            engine.contexts.context(view, &caller.session, frame.num, Parts::full())
        })?;
        let data = ContextPreviewOutput {
            frame: frame.num.to_string(),
            xml: context.text.clone(),
            metadata: context.metadata.clone(),
        };
        Ok(Reply::new(frame.label(), context.text.clone(), data))
    }
}

/// `stack_context_info`.
pub(crate) struct ContextInfo;

/// The cost of a frame's context.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ContextInfoOutput {
    /// Handle of the frame
    frame: String,
    /// Limits in tokens
    budget: TokenBudget,
    context: ContextMetadata,
    cache: CacheStats,
    /// Contexts that the cache holds at most
    cache_capacity: usize,
    /// Milliseconds for which each is valid
    cache_lifetime_ms: i64,
    /// Tokens of the session's last request
    used_tokens: Option<u64>,
    /// Tokens that the session's model takes at most
    model_limit: Option<u64>,
}

impl Operate for ContextInfo {
    const NAME: &'static str = "stack_context_info";
    const SUMMARY: &'static str =
        "What a frame's context costs, its budgets, and what the cache did.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = LookParams;
    type Output = ContextInfoOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: LookParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let frame = target(engine, caller, params.frame.as_deref())?;
        let context = engine.kernel.read(|view| {
            engine.contexts.context(view, &caller.session, frame.num, Parts::full())
        })?;
        let settings = engine.current_settings()?;
        let cache = lock(&engine.contexts.cache).stats();
        let usage = engine.usage(&caller.session);
        let text = context_text(&frame, &context.metadata, &settings.budget, cache, usage);
        let data = ContextInfoOutput {
            frame: frame.num.to_string(),
            budget: settings.budget,
            context: context.metadata.clone(),
            cache,
            cache_capacity: ContextCache::CAPACITY,
            cache_lifetime_ms: ContextCache::LIFETIME_MS,
            used_tokens: usage.used,
            model_limit: usage.limit,
        };
        Ok(Reply::new(frame.label(), text, data))
    }
}

/// Returns a text on the cost of a context, section by section, and on the frames around that are in it.
fn context_text(
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

/// The number of contexts that were removed from the cache.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct CacheClearOutput {
    cleared: usize,
}

impl Operate for CacheClear {
    const NAME: &'static str = "stack_cache_clear";
    const SUMMARY: &'static str = "Forget rendered contexts, of one session or of all.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = CacheClearParams;
    type Output = CacheClearOutput;

    fn run(
        engine: &Engine,
        _: &Caller,
        params: CacheClearParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let cleared = match params.session {
            Some(session) => engine.invalidate_cache(&session),
            None => engine.invalidate_all_cache(),
        };
        let text = format!("{cleared} contexts were forgotten.");
        Ok(Reply::new("cache cleared", text, CacheClearOutput { cleared }))
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
        .ok_or_else(|| EngineError::invalid("no frame is open in this session", name_or_push()))?;
    engine.frame(active)
}
