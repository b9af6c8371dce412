//! The model's answers: steps, grouped by conversation.

use std::{fmt, sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::Value;

use crate::request::RecordedRequest;

/// All answers of a scripted model.
///
/// From JSON: `{"conversations": [{"when": {"first_user": "words"}, "steps": [..]}], "title":
/// "..", "summary": ".."}`; all fields may be missing.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The conversations, in the order in which sessions without a matching [`When`] take them.
    pub conversations: Vec<Conversation>,
    /// The answer to every call for a session's title.
    pub title: String,
    /// The answer to every compaction call for which the conversation has no answer of its own.
    pub summary: String,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            conversations: Vec::new(),
            title: "Scripted session".to_owned(),
            summary: "The conversation so far, summarised by the scripted model.".to_owned(),
        }
    }
}

impl Script {
    /// A script without conversations: every agent request finds it exhausted.
    pub fn new() -> Self {
        Self::default()
    }

    /// A script of one conversation, taken by the first session that appears.
    pub fn steps(steps: impl IntoIterator<Item = Step>) -> Self {
        Self::new().conversation(Conversation::new(steps))
    }

    /// Adds a conversation.
    #[must_use]
    pub fn conversation(mut self, conversation: Conversation) -> Self {
        self.conversations.push(conversation);
        self
    }

    /// Sets the answer to title calls.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the answer to compaction calls.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = summary.into();
        self
    }

    /// Reads a script from JSON.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// The session that a conversation is meant for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// The session whose first user message contains this text.
    FirstUser(String),
    /// The session whose newest user message contains this text when the session first appears
    /// (a fork begins like its original and differs at its end).
    LastUser(String),
    /// The first child session (one with a parent) that appears.
    Child,
}

impl When {
    pub(crate) fn matches(&self, request: &RecordedRequest) -> bool {
        let holds = |text: Option<String>, part: &str| text.is_some_and(|text| text.contains(part));
        match self {
            Self::FirstUser(part) => holds(request.first_user_text(), part),
            Self::LastUser(part) => holds(request.last_user_text(), part),
            Self::Child => request.parent.is_some(),
        }
    }
}

/// The steps of one session, in order.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Conversation {
    /// The session that takes it; `None` is the first one that no other conversation matches.
    pub when: Option<When>,
    /// The answers to the session's agent requests.
    pub steps: Vec<Step>,
    /// The answers to its first compaction calls.
    pub compactions: Vec<Step>,
    /// The checks that apply to the session.
    pub checks: Checks,
}

impl Conversation {
    /// A conversation for the next session that no [`When`] claims.
    pub fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().collect(), ..Self::default() }
    }

    /// A conversation for a certain session.
    pub fn when(when: When, steps: impl IntoIterator<Item = Step>) -> Self {
        Self { when: Some(when), ..Self::new(steps) }
    }

    /// Sets the answers to the session's first compaction calls.
    #[must_use]
    pub fn compactions(mut self, answers: impl IntoIterator<Item = Step>) -> Self {
        self.compactions = answers.into_iter().collect();
        self
    }

    /// Switches checks for the session.
    #[must_use]
    pub fn checks(mut self, checks: Checks) -> Self {
        self.checks = checks;
        self
    }
}

/// The checks that compare a session's requests with earlier ones. Each request's own
/// well-formedness is always checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Checks {
    /// An agent request must begin with the whole previous one of its session. Checked only where every tool call of
    /// the earlier request is still in the later one (else a span was folded or undone) and no compaction call lies
    /// between.
    pub prefix: bool,
    /// Whether reasoning must be sent back after the messages after which it was made.
    pub reasoning: bool,
}

impl Default for Checks {
    fn default() -> Self {
        Self { prefix: true, reasoning: true }
    }
}

/// Makes a step's content from the request that it answers.
type FromRequest = Arc<dyn Fn(&RecordedRequest) -> Step + Send + Sync>;

/// One answer of the model.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Step {
    /// Reasoning, streamed before everything else.
    pub reasoning: Option<String>,
    /// Text of the answer.
    pub text: Option<String>,
    /// Tool calls, all in this one step.
    pub calls: Vec<Call>,
    /// The usage to report; without it, it is estimated from the request and a simulated cache.
    pub usage: Option<Usage>,
    /// The time to wait before the first byte of the answer (JSON: `delay_ms`).
    #[serde(rename = "delay_ms", deserialize_with = "millis")]
    pub delay: Option<Duration>,
    /// The required and the forbidden content of the request.
    pub expect: Expect,
    /// Answer with an HTTP error instead.
    pub fail: Option<Failure>,
    /// The `finish_reason`; without it `tool_calls` or `stop`.
    pub finish: Option<String>,
    #[serde(skip)]
    from_request: Option<FromRequest>,
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("reasoning", &self.reasoning)
            .field("text", &self.text)
            .field("calls", &self.calls)
            .field("from_request", &self.from_request.is_some())
            .finish_non_exhaustive()
    }
}

impl Step {
    /// A step that says something.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// A step that calls a tool.
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::default().and_call(name, arguments)
    }

    /// A step that depends on the request it answers, where an id that a tool's result named is
    /// needed in a later call, say. A panic in `make` becomes a [`crate::Violation`].
    pub fn from_request(make: impl Fn(&RecordedRequest) -> Self + Send + Sync + 'static) -> Self {
        Self { from_request: Some(Arc::new(make)), ..Self::default() }
    }

    /// A step that answers with an HTTP error.
    pub fn fail(status: u16, message: impl Into<String>) -> Self {
        Self { fail: Some(Failure { status, message: message.into() }), ..Self::default() }
    }

    /// Adds a tool call; its id is made up.
    #[must_use]
    pub fn and_call(mut self, name: impl Into<String>, arguments: Value) -> Self {
        self.calls.push(Call { name: name.into(), arguments, ..Call::default() });
        self
    }

    /// Adds text.
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Adds reasoning.
    #[must_use]
    pub fn reasoning(mut self, reasoning: impl Into<String>) -> Self {
        self.reasoning = Some(reasoning.into());
        self
    }

    /// Reports this usage, in tokens, instead of an estimate.
    #[must_use]
    pub fn usage(mut self, prompt: u64, completion: u64) -> Self {
        self.usage = Some(Usage {
            prompt_tokens: prompt,
            completion_tokens: completion,
            cached_tokens: None,
        });
        self
    }

    /// Reports this many cached tokens beside the usage given before.
    #[must_use]
    pub fn cached(mut self, tokens: u64) -> Self {
        if let Some(usage) = &mut self.usage {
            usage.cached_tokens = Some(tokens);
        }
        self
    }

    /// Ends with this `finish_reason` (`length`, say).
    #[must_use]
    pub fn finish(mut self, reason: impl Into<String>) -> Self {
        self.finish = Some(reason.into());
        self
    }

    /// Waits before it answers.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// The request must show this text somewhere.
    #[must_use]
    pub fn expect_contains(mut self, text: impl Into<String>) -> Self {
        self.expect.contains.push(text.into());
        self
    }

    /// The request must not show this text anywhere.
    #[must_use]
    pub fn expect_lacks(mut self, text: impl Into<String>) -> Self {
        self.expect.lacks.push(text.into());
        self
    }

    /// Returns the step itself, or the one that its closure makes from `request`. Values that were set beside the
    /// closure (delay, usage, expectations) apply where the made step has none.
    pub(crate) fn resolve(self, request: &RecordedRequest) -> Self {
        let Some(make) = self.from_request.clone() else {
            return self;
        };
        let answer = make(request).resolve(request);
        let mut expect = self.expect;
        expect.contains.extend(answer.expect.contains);
        expect.lacks.extend(answer.expect.lacks);
        Self {
            expect,
            reasoning: answer.reasoning.or(self.reasoning),
            usage: answer.usage.or(self.usage),
            delay: answer.delay.or(self.delay),
            ..answer
        }
    }
}

/// One tool call.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool's name. Responses has tools in namespaces: `web.search` is `search` in `web`.
    pub name: String,
    /// Its arguments, an object.
    pub arguments: Value,
    /// The call's id; made up when missing.
    #[serde(default)]
    pub id: Option<String>,
    /// The model's thoughts before it, after the calls before it. Chat Completions have all reasoning of a step
    /// before its calls.
    #[serde(default)]
    pub reasoning: Option<String>,
}

/// Usage as a provider reports it, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub prompt_tokens: u64,
    /// Tokens of the answer.
    pub completion_tokens: u64,
    /// Tokens of the request that were in the provider's cache; simulated when missing.
    #[serde(default)]
    pub cached_tokens: Option<u64>,
}

/// The requirements for the request that a step answers. They are searched in the text of
/// [`RecordedRequest::render`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Expect {
    /// Texts that must be there.
    pub contains: Vec<String>,
    /// Texts that must not be there.
    pub lacks: Vec<String>,
}

/// An HTTP error in place of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The HTTP status.
    pub status: u16,
    /// The error's message.
    pub message: String,
}

fn millis<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
}
