//! Operations on the sessions of subagents.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use callstack_core::frame::{FrameNum, Status};
use callstack_core::subagent::{Completion, SubagentSession, SubagentStats, Trouble};
use callstack_core::text::format_duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::end::PopStatus;
use crate::call::Reply;
use crate::engine::Engine;
use crate::error::{EngineError, Kind};
use crate::hint::Hint;
use crate::operation::{Access, Caller, CallerKind, EVERYBODY, Operate, Repeated};
use crate::settings::{SUBAGENT_VARIABLES, Setting};
use crate::subagents::{ChildStatus, Ending, SubagentFilter};

/// `stack_config`.
pub(crate) struct Config;

/// Arguments of `stack_config`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ConfigParams {
    /// Whether subagents' sessions get frames
    enabled: Option<bool>,
    /// Milliseconds from which on a session is meaningful
    min_duration: Option<u64>,
    /// Messages from which on a session is meaningful
    min_messages: Option<u64>,
    /// Whether frames end with their session
    auto_complete: Option<bool>,
    /// Milliseconds of silence before that
    idle_delay: Option<u64>,
    /// Regular expressions for the titles of subagents' sessions, without commas
    patterns: Option<Vec<String>>,
    /// Names of settings to reset, or `all`
    reset: Option<Vec<String>>,
}

/// The names of the arguments, in the order of [`SUBAGENT_VARIABLES`].
const ARGUMENTS: [&str; 6] =
    ["enabled", "minDuration", "minMessages", "autoComplete", "idleDelay", "patterns"];

/// The settings of subagents' sessions.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigOutput {
    /// The settings, by the names of the arguments that change them
    #[serde(flatten)]
    settings: BTreeMap<&'static str, SubagentSetting>,
    /// Patterns that are no regular expressions
    skipped_patterns: Vec<SkippedPattern>,
}

/// The value of a setting.
#[derive(Clone, Serialize, JsonSchema)]
struct SubagentSetting {
    value: String,
    /// Where it was set
    source: &'static str,
    variable: &'static str,
}

/// A pattern that is no regular expression.
#[derive(Clone, Serialize, JsonSchema)]
struct SkippedPattern {
    pattern: String,
    why: String,
}

impl Operate for Config {
    const NAME: &'static str = "stack_config";
    const SUMMARY: &'static str = "View or change when subagents' sessions get frames and what ends \
        these. What is set here counts for the whole project until it is reset.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = ConfigParams;
    type Output = ConfigOutput;

    fn run(
        engine: &Engine,
        _: &Caller,
        params: ConfigParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let reset = params.reset.as_deref().unwrap_or_default();
        let mut changes = resets(reset)?;
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        let flag = |value: Option<bool>| value.map(|value| value.to_string());
        let values = [
            flag(params.enabled),
            number(params.min_duration),
            number(params.min_messages),
            flag(params.auto_complete),
            number(params.idle_delay),
            params.patterns.as_deref().map(listed).transpose()?,
        ];
        let settings = SUBAGENT_VARIABLES.into_iter().filter_map(Setting::find);
        for (setting, value) in settings.zip(values) {
            // All values are checked before the first is set.
            if let Some(value) = value {
                changes.push((setting, Some(setting.read(&value)?)));
            }
        }
        for (setting, value) in &changes {
            engine.configure(setting, value.as_deref())?;
        }
        if !changes.is_empty() {
            engine.subagents.reconsider_silent()?;
        }
        shown(engine, !changes.is_empty())
    }
}

type Changes = Vec<(&'static Setting, Option<String>)>;

fn resets(names: &[String]) -> Result<Changes, EngineError> {
    let mut changes = Vec::new();
    for name in names {
        let meant = ARGUMENTS.iter().zip(SUBAGENT_VARIABLES).filter(|(argument, variable)| {
            name == "all" || name == *argument || name.eq_ignore_ascii_case(variable)
        });
        let before = changes.len();
        changes.extend(meant.filter_map(|(_, it)| Setting::find(it)).map(|it| (it, None)));
        if changes.len() == before {
            return Err(EngineError::invalid(
                format!("`{name}` is none of the subagents' settings"),
                format!("These can be reset: {}, or all.", ARGUMENTS.join(", ")),
            ));
        }
    }
    Ok(changes)
}

/// Returns patterns as the setting's value. Fails if one contains a comma, which separates patterns.
fn listed(patterns: &[String]) -> Result<String, EngineError> {
    if let Some(pattern) = patterns.iter().find(|pattern| pattern.contains(',')) {
        return Err(EngineError::invalid(
            format!("the pattern `{pattern}` contains a comma"),
            r"Commas stand between patterns: write `\x2c` for one.",
        ));
    }
    let full: Vec<_> =
        patterns.iter().map(|it| it.trim()).filter(|pattern| !pattern.is_empty()).collect();
    Ok(if full.is_empty() { "none".to_owned() } else { full.join(",") })
}

fn shown(engine: &Engine, changed: bool) -> Result<Reply<ConfigOutput>, EngineError> {
    let mut text = String::new();
    let mut settings = BTreeMap::new();
    for (argument, variable) in ARGUMENTS.into_iter().zip(SUBAGENT_VARIABLES) {
        let Some(setting) = Setting::find(variable) else { continue };
        let now = engine.configured_as(setting)?;
        // Writing to a string can't fail.
        let _ = writeln!(text, "{argument}: {} ({})", now.value, now.origin());
        let source = now.source.as_str();
        settings.insert(argument, SubagentSetting { value: now.value, source, variable });
    }
    let skipped = engine.subagent_settings()?.skipped();
    for pattern in &skipped {
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "Skipped, no regular expression: `{}` ({})",
            pattern.pattern, pattern.why
        );
    }
    let skipped = skipped.into_iter().map(|it| SkippedPattern { pattern: it.pattern, why: it.why });
    let title = if changed { "settings changed" } else { "settings" };
    let data = ConfigOutput { settings, skipped_patterns: skipped.collect() };
    Ok(Reply::new(title, text.trim_end(), data))
}

/// `stack_stats`.
pub(crate) struct Stats;

/// Arguments of an operation that has none.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParams {}

/// The number of subagents' sessions, by their course. Rates are in percent.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SubagentStatsOutput {
    #[serde(flatten)]
    stats: SubagentStats,
    detection_rate: Option<u64>,
    frame_rate: Option<u64>,
    skip_rate: Option<u64>,
    completion_rate: Option<u64>,
    auto_completion_rate: Option<u64>,
}

impl Operate for Stats {
    const NAME: &'static str = "stack_stats";
    const SUMMARY: &'static str = "How many subagents' sessions there were, how many got frames, and how \
        these ended.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = NoParams;
    type Output = SubagentStatsOutput;

    fn run(engine: &Engine, _: &Caller, _: NoParams) -> Result<Reply<Self::Output>, EngineError> {
        let stats = engine.subagent_stats()?;
        let rates = [
            (stats.detected, stats.tracked),
            (stats.with_frames, stats.tracked),
            (stats.skipped, stats.tracked),
            (stats.completed, stats.tracked),
            (stats.auto_completed, stats.completed),
        ]
        .map(|(part, whole)| SubagentStats::percent(part, whole));
        let percent =
            |at: usize| rates[at].map_or_else(String::new, |percent| format!(" ({percent} %)"));
        let text = format!(
            "Child sessions: {}; at work {}, silent {}, completed {}{}.\n\
             Detected by title: {}{}. With frames: {}{}. Skipped as too small: {}{}.\n\
             Completed by silence: {}{}; by the return of their call: {}; by a pop: {}; by hand: {}.",
            stats.tracked,
            stats.active,
            stats.idle,
            stats.completed,
            percent(3),
            stats.detected,
            percent(0),
            stats.with_frames,
            percent(1),
            stats.skipped,
            percent(2),
            stats.auto_completed,
            percent(4),
            stats.returned,
            stats.popped,
            stats.manually_completed
        );
        let data = SubagentStatsOutput {
            stats,
            detection_rate: rates[0],
            frame_rate: rates[1],
            skip_rate: rates[2],
            completion_rate: rates[3],
            auto_completion_rate: rates[4],
        };
        Ok(Reply::new("subagents", text, data))
    }
}

/// `stack_subagent_list`.
pub(crate) struct List;

/// Which sessions a list holds.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Filter {
    #[default]
    All,
    Active,
    Idle,
    Completed,
}

/// Arguments of `stack_subagent_list`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListParams {
    /// Default all
    filter: Option<Filter>,
    /// Only sessions whose title is that of a subagent
    subagents_only: Option<bool>,
    /// Only sessions with a frame
    framed_only: Option<bool>,
    /// Only sessions that this session, or the work in this frame, started
    #[serde(alias = "parentSessionID")]
    parent: Option<String>,
}

/// Sessions that agents started.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct SubagentsOutput {
    sessions: Vec<SubagentEntry>,
}

/// A session that an agent started. Times are milliseconds since 1970.
#[derive(Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the specification's record has them")]
struct SubagentEntry {
    #[serde(rename = "sessionID")]
    session: String,
    /// The session that started it
    #[serde(rename = "parentSessionID")]
    parent: String,
    title: String,
    created_at: i64,
    last_activity_at: i64,
    is_subagent: bool,
    has_frame: bool,
    message_count: u64,
    is_idle: bool,
    is_completed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_since: Option<i64>,
    /// When its frames end by themselves
    #[serde(skip_serializing_if = "Option::is_none")]
    completes_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_by: Option<Completion>,
    /// Handle of the frame that its caller worked in when it began
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<String>,
    /// Handle of its first frame
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<String>,
    /// The failure that ended its last turn
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<Trouble>,
}

impl SubagentEntry {
    fn of(session: SubagentSession) -> Self {
        Self {
            session: session.session,
            parent: session.parent,
            title: session.title,
            created_at: session.created_at,
            last_activity_at: session.last_activity_at,
            is_subagent: session.is_subagent,
            has_frame: session.has_frame,
            message_count: session.message_count,
            is_idle: session.is_idle,
            is_completed: session.is_completed,
            idle_since: session.idle_since,
            completes_at: session.completes_at,
            completed_by: session.completed_by,
            caller: session.caller.map(|frame| frame.to_string()),
            frame: session.frame.map(|frame| frame.to_string()),
            trouble: session.trouble,
        }
    }
}

impl Operate for List {
    const NAME: &'static str = "stack_subagent_list";
    const SUMMARY: &'static str = "The sessions that agents started for subagents: at work, silent, \
        completed.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = ListParams;
    type Output = SubagentsOutput;

    fn run(
        engine: &Engine,
        _: &Caller,
        params: ListParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let standing = match params.filter.unwrap_or_default() {
            Filter::All => None,
            Filter::Active => Some(ChildStatus::Active),
            Filter::Idle => Some(ChildStatus::Idle),
            Filter::Completed => Some(ChildStatus::Completed),
        };
        let mut filter = SubagentFilter {
            standing,
            subagents_only: params.subagents_only.unwrap_or_default(),
            framed_only: params.framed_only.unwrap_or_default(),
            ..SubagentFilter::default()
        };
        if let Some(parent) = params.parent {
            let frame = engine.resolve(&parent)?;
            // The first frame of a session has its id.
            match frame.session {
                Some(session) if session == frame.id => filter.parent = Some(session),
                _ => filter.caller = Some(frame.num),
            }
        }
        let sessions = engine.subagents(&filter)?;
        let now = engine.kernel.now();
        let lines: Vec<_> = sessions.iter().map(|session| line(session, now)).collect();
        let text = if lines.is_empty() { "None.".to_owned() } else { lines.join("\n") };
        let title = format!("{} sessions", lines.len());
        let sessions = sessions.into_iter().map(SubagentEntry::of).collect();
        Ok(Reply::new(title, text, SubagentsOutput { sessions }))
    }
}

fn line(session: &SubagentSession, now: i64) -> String {
    let mut line = format!(
        "{} {:?}: {}{}, {} messages, last at work {} ago",
        session.session,
        session.title,
        ChildStatus::of(session).as_str(),
        if session.is_subagent { ", subagent" } else { "" },
        session.message_count,
        format_duration(now.saturating_sub(session.last_activity_at).max(0)),
    );
    // Writing to a string can't fail.
    let _ = match session.frame {
        Some(frame) => write!(line, ", frame {frame}"),
        None => write!(line, ", no frame"),
    };
    if let Some(at) = session.completes_at {
        let left = format_duration(at.saturating_sub(now).max(0));
        // Writing to a string can't fail.
        let _ = write!(line, ", completes in {left}");
    }
    if let Some(by) = session.completed_by {
        // Writing to a string can't fail.
        let _ = write!(line, " ({})", by.as_str());
    }
    line
}

/// `stack_subagent_complete`.
pub(crate) struct Complete;

/// Arguments of `stack_subagent_complete`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CompleteParams {
    /// Its session or its frame
    #[serde(rename = "sessionID", alias = "frame")]
    session: String,
    /// Default completed
    status: Option<PopStatus>,
    /// Default: what it said last
    results: Option<String>,
    /// The same, dense
    results_compacted: Option<String>,
}

/// A subagent's session that was completed.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct SubagentOutput {
    #[serde(rename = "sessionID")]
    session: String,
    /// Handles of the frames that ended with it
    frames: Vec<String>,
    /// How they ended
    status: Status,
}

impl Operate for Complete {
    const NAME: &'static str = "stack_subagent_complete";
    const SUMMARY: &'static str = "End the frames of a subagent's session now.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Stored;
    const CALLERS: &'static [CallerKind] = EVERYBODY;
    type Params = CompleteParams;
    type Output = SubagentOutput;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: CompleteParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let session = engine.queries.find_subagent(&params.session)?;
        if session.is_completed {
            let message = format!("the session {} is completed already", session.session);
            let mut refused = EngineError::new(Kind::Conflict, message);
            refused.hint = session.frame.map(|frame| {
                Hint::operation("stack_frame_details")
                    .then(format!(" of {frame} shows what it returned."))
            });
            return Err(refused);
        }
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let last = engine.subagents.last_words(&session)?;
        let results = given(params.results);
        let ending = Ending {
            status: params.status.map_or(last.status, Status::from),
            compacted: given(params.results_compacted)
                .or_else(|| last.compacted.filter(|_| results.is_none())),
            source: if results.is_some() { caller.source() } else { last.source },
            results: results.unwrap_or(last.results),
        };
        let session = &session.session;
        engine.subagents.complete_session_and(
            session,
            Completion::Manual,
            &ending,
            |change, ended| {
                let answer = completed(session, &ended, ending.status);
                engine.idempotency.keep_answer(change, caller, &answer)?;
                Ok(answer)
            },
        )
    }
}

fn completed(session: &str, ended: &[FrameNum], status: Status) -> Reply<SubagentOutput> {
    let named: Vec<_> = ended.iter().map(ToString::to_string).collect();
    let text = match named.as_slice() {
        [] => format!("The session {session} is completed; it had no open frame."),
        _ => format!("The session {session} is completed: {} ended as {status}.", named.join(", ")),
    };
    let data = SubagentOutput { session: session.to_owned(), frames: named, status };
    Reply::new("subagent completed", text, data)
}
