//! Messages as hosts show them, decoded.

use std::sync::Arc;

use callstack_core::masking::outputs::ResultWeight;
use callstack_core::subagent::Trouble;
use callstack_core::transcript::{Message, PartBody};

/// A message as a host shows it, decoded.
#[derive(Clone, Debug)]
pub struct HostMessage {
    /// The message as folding needs it.
    pub message: Message,
    /// The host's own JSON, which is stored.
    pub json: String,
    /// Whether it was aborted or ended with an error.
    pub broken_off: bool,
    /// Calls of ours with which frames began: the call's id and the frame's id, as the call's result
    /// names it.
    pub opened: Vec<(String, String)>,
    /// Calls that had another session work for them.
    pub tasks: Vec<ReturnedTask>,
    /// Tokens that the model's context took at this step, as its provider reports.
    pub tokens: Option<u64>,
    /// Estimated tokens of its author's output: for an assistant's message its texts, reasoning and calls.
    pub said: usize,
    /// Estimated tokens that it adds for the next step to read: the user's texts, the results of calls.
    pub heard: usize,
    /// Characters that its calls returned.
    pub returned: usize,
    /// Results of its calls that may leave the context while the work goes on; each is counted in `heard`.
    pub results: Vec<ResultWeight>,
    /// The words of its author: of a user message the user's text, of a step its last text.
    pub words: String,
    /// The summary that a compaction made, if the message is one and it went well.
    pub summary: Option<String>,
}

impl HostMessage {
    /// Returns a message that holds only the part that folding needs, and its stored form.
    pub fn of(message: Message, json: String) -> Self {
        Self {
            message,
            json,
            broken_off: false,
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

    /// Removes what its author said and what its calls show, so that nothing is made of it. Its place stays, its calls
    /// and their weight.
    pub(crate) fn empty(&mut self) {
        for part in &mut self.message.parts {
            if let PartBody::Text { head, .. } = &mut part.body {
                head.clear();
            }
            if let PartBody::Tool(call) = &mut part.body {
                Arc::make_mut(call).empty();
            }
        }
        self.json = String::new();
        self.tasks = Vec::new();
        self.results = Vec::new();
        self.words = String::new();
        self.summary = None;
    }
}

/// A call that had another session work for it has come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnedTask {
    /// The other session.
    pub session: String,
    /// The answer of the call, or why there is none.
    pub outcome: Result<String, Trouble>,
}
