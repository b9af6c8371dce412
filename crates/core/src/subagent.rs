//! Child sessions of other agents: which of them deserve a frame, and what happens when one falls silent.
//!
//! A child session deserves a frame when its title matches a pattern, or when it proves to be more
//! than a passing question: by how long it lasts *or* by how many messages it holds. Either is enough,
//! because a single long answer is work, and so are many short ones.

use regex::RegexBuilder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::frame::FrameNum;

/// The time for which a session that is over is still remembered, in milliseconds.
pub const REMEMBERED: i64 = 60 * 60 * 1_000;

/// The least time that a waiting caller has to take a session's results itself, in milliseconds.
const GRACE: i64 = 5_000;

/// Memory that one pattern may take when it is compiled, in bytes.
const PATTERN_SIZE: usize = 1 << 20;

/// Settings for the frames of child sessions: their beginnings and ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubagentSettings {
    /// Whether child sessions are tracked. Otherwise they get no frames.
    pub enabled: bool,
    /// The age from which on a session is meaningful, in milliseconds.
    pub min_duration: u64,
    /// From this many messages on a session is meaningful.
    pub min_messages: u64,
    /// Whether a session's frames end by themselves once it is over. Otherwise somebody ends them.
    pub auto_complete: bool,
    /// The time for which a session may be silent before its frames end, in milliseconds.
    pub idle_delay: u64,
    /// Regular expressions for titles of subagents' sessions; case does not matter.
    pub patterns: Vec<String>,
}

impl Default for SubagentSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            min_duration: 60_000,
            min_messages: 3,
            auto_complete: true,
            idle_delay: 5_000,
            patterns: ["@.*subagent", "subagent", r"\[Task\]"].map(str::to_owned).to_vec(),
        }
    }
}

/// A pattern that is no regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedPattern {
    /// The pattern.
    pub pattern: String,
    /// The problem with it, in one line.
    pub why: String,
}

impl SubagentSettings {
    /// Whether a title is that of a subagent's session. Patterns that can't be read match nothing.
    pub fn matches(&self, title: &str) -> bool {
        self.patterns.iter().filter_map(|it| compiled(it).ok()).any(|it| it.is_match(title))
    }

    /// The patterns that can't be read.
    pub fn skipped(&self) -> Vec<SkippedPattern> {
        let skipped = |pattern: &String| {
            let error = compiled(pattern).err()?.to_string();
            let why = error.trim().lines().next_back().unwrap_or_default();
            let why = why.trim().trim_start_matches("error: ").to_owned();
            Some(SkippedPattern { pattern: pattern.clone(), why })
        };
        self.patterns.iter().filter_map(skipped).collect()
    }

    /// Whether a session that has lasted `age` milliseconds and holds `messages` is more than a
    /// passing question.
    pub fn is_meaningful(&self, age: i64, messages: u64) -> bool {
        u64::try_from(age).unwrap_or(0) >= self.min_duration || messages >= self.min_messages
    }

    /// Whether a child session without a frame deserves one at the time `now`.
    pub fn deserves_frame(&self, session: &SubagentSession, messages: u64, now: i64) -> bool {
        let age = now.saturating_sub(session.created_at);
        self.enabled && (session.is_subagent || self.is_meaningful(age, messages))
    }

    /// Decides about a session that has fallen silent at the time `now`. `awaited`: some call waits for the session
    /// and takes its results by itself, unless it has died.
    pub fn at_idle(&self, session: &SubagentSession, awaited: bool, now: i64) -> AtIdle {
        let deserves =
            session.has_frame || self.deserves_frame(session, session.message_count, now);
        if !self.enabled || session.is_completed || !deserves {
            return AtIdle::Nothing;
        }
        if !self.auto_complete {
            return AtIdle::Stays;
        }
        let delay = i64::try_from(self.idle_delay).unwrap_or(i64::MAX);
        let delay = if awaited { delay.max(GRACE) } else { delay };
        if delay == 0 { AtIdle::Complete } else { AtIdle::CompleteAt(now.saturating_add(delay)) }
    }
}

fn compiled(pattern: &str) -> Result<regex::Regex, regex::Error> {
    RegexBuilder::new(pattern).case_insensitive(true).size_limit(PATTERN_SIZE).build()
}

/// The decision about a session that has fallen silent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtIdle {
    /// It has no frame and deserves none, or is completed.
    Nothing,
    /// Its frames stay open until somebody completes it.
    Stays,
    /// Its frames end now.
    Complete,
    /// Its frames end at this time, in milliseconds since 1970, unless it works again.
    CompleteAt(i64),
}

/// A child session, as it is tracked. Names are the specification's; times are milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the specification's record has them")]
pub struct SubagentSession {
    /// The session.
    #[serde(rename = "sessionID")]
    pub session: String,
    /// The session that started it.
    #[serde(rename = "parentSessionID")]
    pub parent: String,
    /// Its title.
    pub title: String,
    /// When it was first seen.
    pub created_at: i64,
    /// When it was last seen at work.
    pub last_activity_at: i64,
    /// Whether its title matches a pattern.
    pub is_subagent: bool,
    /// Whether it has, or had, a frame.
    pub has_frame: bool,
    /// The number of its messages.
    pub message_count: u64,
    /// Whether it has fallen silent.
    pub is_idle: bool,
    /// Whether its frames have ended.
    pub is_completed: bool,
    /// Since when it is silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_since: Option<i64>,
    /// When its frames end by themselves, in place of the specification's timer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completes_at: Option<i64>,
    /// The way in which it was completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_by: Option<Completion>,
    /// The frame that its caller worked in when it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<FrameNum>,
    /// Its first frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameNum>,
    /// The failure that broke its last turn off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
}

/// A failure that broke a turn off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    /// Somebody stopped it: nothing is wrong with the work itself.
    pub aborted: bool,
    /// The host's message.
    pub message: String,
}

/// How a child session came to be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// It was silent for long enough.
    Auto,
    /// Somebody completed it.
    Manual,
    /// The call that had started it returned.
    Returned,
    /// Its own agent, or its waiting caller, ended its frame.
    Popped,
}

impl Completion {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Manual, Self::Returned, Self::Popped];

    /// Its name in a store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Manual => "manual",
            Self::Returned => "returned",
            Self::Popped => "popped",
        }
    }
}

/// A change in the knowledge about a child session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// It exists, or has another title.
    Seen {
        /// The session that started it.
        parent: String,
        /// Its title.
        title: String,
        /// The frame that the parent worked in then.
        caller: Option<FrameNum>,
        /// Whether the title matches a pattern.
        matches: bool,
    },
    /// It fell silent.
    Idle {
        /// When its frames end by themselves.
        until: Option<i64>,
        /// The failure that broke its turn off.
        trouble: Option<Trouble>,
    },
    /// It works again.
    Active,
    /// Its frames have ended.
    Completed {
        /// How.
        by: Completion,
    },
    /// It has long been over; only the statistics remember it.
    Forgotten,
}

/// The name of a subagent's frame, by the title of its session: without the agent that a host
/// names in brackets at the end.
pub fn frame_title(title: &str) -> &str {
    let title = title.trim();
    let without = title
        .strip_suffix(')')
        .and_then(|rest| rest.rfind('(').filter(|at| rest[*at + 1..].starts_with('@')))
        .map(|at| title[..at].trim());
    without.filter(|rest| !rest.is_empty()).unwrap_or(title)
}

/// The number of child sessions, and how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubagentStats {
    /// Child sessions in all.
    pub tracked: u64,
    /// Those whose title matches a pattern.
    pub detected: u64,
    /// Those with a frame.
    pub with_frames: u64,
    /// Those that fell silent without having been worth a frame.
    pub skipped: u64,
    /// Those at work.
    pub active: u64,
    /// Those that are silent and not completed.
    pub idle: u64,
    /// Those that are completed.
    pub completed: u64,
    /// Completed because they were silent for long enough.
    pub auto_completed: u64,
    /// Completed by somebody.
    pub manually_completed: u64,
    /// Completed because the call that had started them returned.
    pub returned: u64,
    /// Completed by a pop of their own, or by a waiting caller.
    pub popped: u64,
}

impl SubagentStats {
    /// Adds a session that is over and forgotten, or one as it is now.
    pub fn add(&mut self, session: &SubagentSession) {
        self.tracked += 1;
        self.detected += u64::from(session.is_subagent);
        self.with_frames += u64::from(session.has_frame);
        self.skipped += u64::from(session.is_idle && !session.has_frame);
        self.completed += u64::from(session.is_completed);
        self.idle += u64::from(session.is_idle && !session.is_completed);
        self.active += u64::from(!session.is_idle && !session.is_completed);
        match session.completed_by.filter(|_| session.is_completed) {
            Some(Completion::Auto) => self.auto_completed += 1,
            Some(Completion::Manual) => self.manually_completed += 1,
            Some(Completion::Returned) => self.returned += 1,
            Some(Completion::Popped) => self.popped += 1,
            None => {}
        }
    }

    /// The share of `part` in `whole`, in percent; none where `whole` is 0.
    pub fn percent(part: u64, whole: u64) -> Option<u64> {
        (part * 100 + whole / 2).checked_div(whole)
    }
}

#[cfg(test)]
#[path = "subagent_tests.rs"]
mod tests;
