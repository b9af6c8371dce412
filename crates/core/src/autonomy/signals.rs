//! The input of the heuristics.

use schemars::JsonSchema;
use serde::Serialize;

/// Observations of the work in a frame, from its beginning. Finished frames inside it do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Signals {
    /// Messages: the user's, and the model's steps.
    pub messages: u32,
    /// Steps of the model.
    pub steps: u32,
    /// Messages of the user since the frame began.
    pub user_turns: u32,
    /// Estimated tokens of all that.
    pub tokens: u64,
    /// Recent failures that are not settled: commands and tools that failed and did not go well afterwards.
    pub errors: u32,
    /// How often the same thing failed, of those.
    pub retries: u32,
    /// Its description for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<String>,
    /// Steps since something new came about: a file read or written for the first time, a command that
    /// went well for the first time or again after it had failed.
    pub idle_steps: u32,
    /// Files written.
    pub files_changed: u32,
    /// Of these, how many were first written since the user's newest request.
    pub new_files: u32,
    /// Folders that were first written to since then, where there was another one before.
    pub new_folders: u32,
    /// How much of the user's newest request is unrelated to the goal and to earlier work: percent of its keywords. 0
    /// for one of a few words, which is too short to judge.
    pub divergence: u8,
    /// The first words of that request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// How much of the goal is found in the files and commands of the work: percent of its keywords.
    pub coverage: u8,
    /// Signs of success since a file was last written: 1 for a check that went well, 1 more if it had
    /// failed before.
    pub successes: u32,
    /// Steps since the first of them.
    pub settled_steps: u32,
    /// Tokens that the model's context took at its last step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// Tokens that it takes at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The part of this that was only claimed by an agent, where it claimed more than was observed.
    #[serde(skip)]
    pub said: Said,
}

/// The signals that are claims of an agent and not observations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one a signal")]
pub struct Said {
    /// Failures.
    pub errors: bool,
    /// Another try at the same thing.
    pub retries: bool,
    /// Messages.
    pub messages: bool,
    /// Files written.
    pub files: bool,
    /// Tokens.
    pub tokens: bool,
    /// Signs of success.
    pub successes: bool,
    /// Turns without progress.
    pub idle: bool,
    /// How full the context is: percent.
    pub fill: Option<u8>,
}

impl Signals {
    /// Returns how full the context is, in percent, where the host reports it.
    pub fn fill(&self) -> Option<u8> {
        let (used, limit) = self.used.zip(self.limit.filter(|limit| *limit > 0))?;
        Some(u8::try_from(used.saturating_mul(100) / limit).unwrap_or(u8::MAX).min(100))
    }

    /// Returns the signals with an agent's hints added: observations are never reduced.
    #[must_use]
    pub fn with(&self, hints: &Hints) -> Self {
        let mut signals = self.clone();
        let raise = |seen: &mut u32, said: u32| {
            let more = said > *seen;
            *seen = said.max(*seen);
            more
        };
        let least = if hints.retry_boundary { 2 } else { 0 };
        signals.said = Said {
            errors: raise(&mut signals.errors, hints.errors.max(least)),
            retries: raise(&mut signals.retries, least),
            messages: raise(&mut signals.messages, hints.messages),
            files: raise(&mut signals.files_changed, hints.files_changed),
            tokens: hints.tokens > signals.tokens,
            successes: raise(&mut signals.successes, hints.successes.min(2)),
            idle: raise(&mut signals.idle_steps, hints.idle_turns),
            fill: hints.fill.filter(|percent| Some(*percent) > signals.fill()),
        };
        raise(&mut signals.new_files, hints.files_changed);
        if hints.successes > 0 {
            // An agent that asks whether to pop has seen success, and some steps ago.
            signals.settled_steps = u32::MAX;
        }
        signals.tokens = signals.tokens.max(hints.tokens);
        if hints.divergence > signals.divergence {
            signals.divergence = hints.divergence;
            signals.topic.clone_from(&hints.topic);
        }
        signals
    }
}

/// Claims of an agent about its work, beside the observations. The default is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Failures that are not put right.
    pub errors: u32,
    /// Whether the next attempt is another try at the same thing.
    pub retry_boundary: bool,
    /// How far a new goal is from the frame's: percent.
    pub divergence: u8,
    /// The new goal in a few words.
    pub topic: Option<String>,
    /// Messages.
    pub messages: u32,
    /// Files written.
    pub files_changed: u32,
    /// Tokens.
    pub tokens: u64,
    /// Signs of success.
    pub successes: u32,
    /// Turns without progress.
    pub idle_turns: u32,
    /// How full the context is: percent.
    pub fill: Option<u8>,
}
