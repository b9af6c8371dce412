//! Messages as hosts show them, decoded.

use callstack_core::fact::Fact;
use callstack_core::masking::outputs::ResultWeight;
use callstack_core::subagent::Trouble;
use callstack_core::transcript::Message;

/// A message as a host shows it, decoded.
#[derive(Clone, Debug)]
pub struct Shown {
    /// What folding needs of it.
    pub message: Message,
    /// The host's own JSON, which is what is kept.
    pub json: String,
    /// What the machine can tell of its tool calls.
    pub facts: Vec<Fact>,
    /// When its tool calls were carried out, in order.
    pub calls: Vec<CallTimes>,
    /// Calls of ours with which frames began: the call's id and the frame's id, as the call's result
    /// names it.
    pub opened: Vec<(String, String)>,
    /// Calls that had another session work for them.
    pub tasks: Vec<ReturnedTask>,
    /// Tokens that the model's context took at this step, as its provider reports.
    pub tokens: Option<u64>,
    /// Estimated tokens of what its author wrote: at an assistant's message its texts, reasoning and
    /// calls.
    pub said: usize,
    /// Estimated tokens that it adds for the next step to read: the user's texts, the results of calls.
    pub heard: usize,
    /// Characters that its calls returned.
    pub returned: usize,
    /// Results of its calls that may leave the context while the work goes on; each is counted in `heard`.
    pub results: Vec<ResultWeight>,
    /// The words of its author: of a user message what the user wrote, of a step its last text.
    pub words: String,
    /// What a compaction made, if the message is that and its making went well.
    pub summary: Option<String>,
}

impl Shown {
    /// A message of which nothing is told but what folding needs, and what is kept of it.
    pub fn of(message: Message, json: String) -> Self {
        Self {
            message,
            json,
            facts: Vec::new(),
            calls: Vec::new(),
            opened: Vec::new(),
            tasks: Vec::new(),
            tokens: None,
            said: 0,
            heard: 0,
            returned: 0,
            results: Vec::new(),
            words: String::new(),
            summary: None,
        }
    }
}

/// When a tool call was carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTimes {
    /// The host's id of it.
    pub call: String,
    /// When it began, in milliseconds since 1970, where the host tells.
    pub began: Option<i64>,
    /// When it had ended.
    pub ended: Option<i64>,
}

/// A call that had another session work for it has come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnedTask {
    /// The other session.
    pub session: String,
    /// What the call returned, or why it has nothing to return.
    pub outcome: Result<String, Trouble>,
}
