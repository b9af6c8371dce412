//! The rules for requests: pure functions on requests that return violations.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::Value;
use thiserror::Error;

use crate::{
    answer::Block,
    format::WireFormat,
    request::{RecordedRequest, RequestKind, calls_of, content_text, reasoning_of},
};

/// The beginning of the assistant message that `OpenCode` puts at the very end of a request at an agent's last
/// allowed step.
pub const MAX_STEPS_OPENING: &str = "CRITICAL - MAXIMUM STEPS REACHED";

/// One fault of a request, or of the script's answer to it. Indices count messages from 0.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// A body that is not a chat completion.
    #[error("{0}")]
    Unreadable(String),
    /// A role that the wire format does not know.
    #[error("message {index} has the unknown role {role:?}")]
    UnknownRole {
        /// The message.
        index: usize,
        /// Its role.
        role: String,
    },
    /// A system message after another role.
    #[error("message {index} is a system message behind others; they belong in front")]
    LateSystem {
        /// The message.
        index: usize,
    },
    /// The conversation does not begin with the user.
    #[error("the first message behind the system prompt is {role:?}, not the user's")]
    FirstNotUser {
        /// Its role, or `nothing`.
        role: String,
    },
    /// An assistant message that says and calls nothing.
    #[error("message {index} is an assistant message without text and calls")]
    EmptyAssistant {
        /// The message.
        index: usize,
    },
    /// The request ends with the assistant's own words.
    #[error("the request ends with an assistant message: {text:?}")]
    AssistantAtEnd {
        /// Its beginning.
        text: String,
    },
    /// A result whose call is not in the message before it.
    #[error("message {index} is the result of {id}, which no call directly before it has")]
    ResultWithoutCall {
        /// The message.
        index: usize,
        /// The result's call id.
        id: String,
    },
    /// A call without a result directly after its message.
    #[error("message {index} calls {tool} ({id}) and no result stands directly behind it")]
    CallWithoutResult {
        /// The message with the call.
        index: usize,
        /// The call's id.
        id: String,
        /// The tool's name.
        tool: String,
    },
    /// A second result for one call.
    #[error("message {index} is a second result for the call {id}")]
    DuplicateResult {
        /// The message.
        index: usize,
        /// The call's id.
        id: String,
    },
    /// Two calls of one message share their id.
    #[error("message {index} has two calls with the id {id}")]
    DuplicateCallId {
        /// The message.
        index: usize,
        /// The id.
        id: String,
    },
    /// A call's arguments are not JSON in a string.
    #[error("message {index}: the arguments of call {id} are not JSON in a string")]
    BadArguments {
        /// The message.
        index: usize,
        /// The call's id.
        id: String,
    },
    /// A block of text with nothing in it.
    #[error("message {index} has an empty block: {block}")]
    EmptyBlock {
        /// The message.
        index: usize,
        /// The block.
        block: String,
    },
    /// A result after other blocks of its message.
    #[error("message {index} has a result behind other blocks; results stand in front")]
    LateResult {
        /// The message.
        index: usize,
    },
    /// A block is sent without the reasoning after which it was made.
    #[error("message {index} begins with {block} and is sent without the reasoning in front of it")]
    ReasoningMissing {
        /// The message.
        index: usize,
        /// The block in its place.
        block: String,
    },
    /// Reasoning without the block that was made after it.
    #[error("message {index} is the reasoning {reasoning:?} without what was made behind it")]
    ReasoningAlone {
        /// The message.
        index: usize,
        /// The reasoning.
        reasoning: String,
    },
    /// The tool list is another than before.
    #[error("the tool list changed: {difference}")]
    ToolsChanged {
        /// Where.
        difference: String,
    },
    /// The messages that were sent before are not the beginning of the present ones.
    #[error("message {index}, sent before, is now another: {difference}")]
    PrefixChanged {
        /// The first message that differs.
        index: usize,
        /// A description of the difference.
        difference: String,
    },
    /// A fold without its push call.
    #[error("the push call {id} is not in the {which} request")]
    PushCallMissing {
        /// The call's id.
        id: String,
        /// `earlier` or `later`.
        which: &'static str,
    },
    /// Reasoning that the model never made.
    #[error("message {index} carries reasoning that the model never made: {reasoning:?}")]
    UnknownReasoning {
        /// The message.
        index: usize,
        /// The reasoning's beginning.
        reasoning: String,
    },
    /// Reasoning after other messages than those after which it was made.
    #[error(
        "message {index} carries the reasoning {reasoning:?}, made as answer to request \
         {made_in}, but {difference}"
    )]
    MovedReasoning {
        /// The message.
        index: usize,
        /// The reasoning's beginning.
        reasoning: String,
        /// The index of the request that it answered.
        made_in: usize,
        /// The first difference before it.
        difference: String,
    },
    /// A request of a conversation that has no steps left.
    #[error("the script has no step left for this request")]
    ScriptExhausted,
    /// A step's closure panicked.
    #[error("the step's closure panicked: {0}")]
    ScriptPanicked(String),
    /// A step's expectation was not met.
    #[error("the step expected the request to {0}")]
    Unexpected(String),
}

/// A violation and the request that it was found in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The request's index among all recorded ones; one beyond them when it could not be read.
    pub request: usize,
    /// The session.
    pub session: String,
    /// The kind of the request.
    pub kind: RequestKind,
    /// The violation.
    pub violation: Violation,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request, session, kind, violation } = self;
        write!(f, "request {request} ({kind:?}, session {session}): {violation}")
    }
}

/// Checks one request by itself: roles, calls and results.
pub fn well_formed(messages: &[Value]) -> Vec<Violation> {
    let mut found = roles(messages);
    let mut index = 0;
    while let Some(message) = messages.get(index) {
        let results = messages[index + 1..].iter().take_while(|m| m["role"] == "tool");
        let next = index + 1 + results.clone().count();
        match message["role"].as_str() {
            Some("assistant") => {
                found.extend(calls_and_results(index, message, &messages[index + 1..next]));
                index = next;
            }
            Some("tool") => {
                found.push(Violation::ResultWithoutCall { index, id: result_id(message) });
                index += 1;
            }
            _ => index += 1,
        }
    }
    found
}

fn roles(messages: &[Value]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut first = None;
    for (index, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or("none");
        match role {
            "system" if first.is_some() => found.push(Violation::LateSystem { index }),
            "system" => {}
            "user" | "tool" | "assistant" => {
                first.get_or_insert(role);
            }
            _ => found.push(Violation::UnknownRole { index, role: role.to_owned() }),
        }
        let silent = content_text(&message["content"]).is_empty();
        if role == "assistant" && silent && calls_of(message).next().is_none() {
            found.push(Violation::EmptyAssistant { index });
        }
    }
    if first != Some("user") {
        found.push(Violation::FirstNotUser { role: first.unwrap_or("nothing").to_owned() });
    }
    if let Some(last) = messages.last()
        && is_closing_assistant(last)
        && !is_max_steps(last)
    {
        found.push(Violation::AssistantAtEnd { text: opening(&content_text(&last["content"])) });
    }
    found
}

fn is_closing_assistant(message: &Value) -> bool {
    message["role"] == "assistant" && calls_of(message).next().is_none()
}

fn is_max_steps(message: &Value) -> bool {
    message["role"] == "assistant"
        && content_text(&message["content"]).trim_start().starts_with(MAX_STEPS_OPENING)
}

fn calls_and_results(index: usize, message: &Value, results: &[Value]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut calls = BTreeMap::new();
    for call in calls_of(message) {
        let id = call["id"].as_str().unwrap_or_default().to_owned();
        let tool = call["function"]["name"].as_str().unwrap_or_default().to_owned();
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        if serde_json::from_str::<Value>(arguments).is_err() {
            found.push(Violation::BadArguments { index, id: id.clone() });
        }
        if calls.insert(id.clone(), tool).is_some() {
            found.push(Violation::DuplicateCallId { index, id });
        }
    }
    let mut answered = BTreeSet::new();
    for (offset, result) in results.iter().enumerate() {
        let (index, id) = (index + 1 + offset, result_id(result));
        if !calls.contains_key(&id) {
            found.push(Violation::ResultWithoutCall { index, id });
        } else if !answered.insert(id.clone()) {
            found.push(Violation::DuplicateResult { index, id });
        }
    }
    for (id, tool) in calls {
        if !answered.contains(&id) {
            found.push(Violation::CallWithoutResult { index, id, tool });
        }
    }
    found
}

fn result_id(message: &Value) -> String {
    message["tool_call_id"].as_str().unwrap_or_default().to_owned()
}

/// Checks that `later` begins with the whole of `earlier`, byte for byte, tool list included.
/// `OpenCode`'s own message at an agent's last step, at the end of `earlier`, does not count.
pub fn prefix(earlier: &RecordedRequest, later: &RecordedRequest) -> Vec<Violation> {
    let mut count = earlier.raw_messages().len();
    if earlier.messages().last().is_some_and(is_max_steps) {
        count -= 1;
    }
    same_beginning(earlier, later, count)
}

/// Checks a fold: everything up to and including the assistant message with the call
/// `push_call_id` must be the same in both requests, byte for byte, tool list included.
pub fn fold(
    earlier: &RecordedRequest,
    later: &RecordedRequest,
    push_call_id: &str,
) -> Vec<Violation> {
    let position = |request: &RecordedRequest| {
        request
            .messages()
            .iter()
            .position(|message| calls_of(message).any(|call| call["id"] == push_call_id))
    };
    let missing = |which| vec![Violation::PushCallMissing { id: push_call_id.to_owned(), which }];
    match (position(earlier), position(later)) {
        (None, _) => missing("earlier"),
        (_, None) => missing("later"),
        (Some(push), Some(_)) => same_beginning(earlier, later, push + 1),
    }
}

/// Checks that the first `count` messages of both are the same, byte for byte, and the tool
/// lists too.
pub fn same_beginning(
    earlier: &RecordedRequest,
    later: &RecordedRequest,
    count: usize,
) -> Vec<Violation> {
    let mut found = Vec::new();
    if earlier.raw_tools() != later.raw_tools() {
        let difference = difference(earlier.raw_tools(), later.raw_tools());
        found.push(Violation::ToolsChanged { difference });
    }
    if let Some((index, difference)) = first_difference(earlier, later, count) {
        found.push(Violation::PrefixChanged { index, difference });
    }
    found
}

fn first_difference(
    earlier: &RecordedRequest,
    later: &RecordedRequest,
    count: usize,
) -> Option<(usize, String)> {
    if let (Some(a), Some(b)) = (earlier.prefix_hash(count), later.prefix_hash(count))
        && a == b
    {
        return None;
    }
    let (earlier, later) = (earlier.raw_messages(), later.raw_messages());
    (0..count).find_map(|index| match (earlier.get(index), later.get(index)) {
        (Some(was), Some(is)) if was == is => None,
        (Some(was), Some(is)) => Some((index, difference(was, is))),
        (Some(was), None) => Some((index, format!("it is gone; it was {:?}", opening(was)))),
        (None, Some(is)) => Some((index, format!("it was not there; it is {:?}", opening(is)))),
        (None, None) => None,
    })
}

impl Violation {
    /// Whether the provider can recognize it from the request alone, or from its seals, and refuses it.
    pub(crate) fn is_refused(&self) -> bool {
        !matches!(
            self,
            Self::ToolsChanged { .. }
                | Self::PrefixChanged { .. }
                | Self::ScriptExhausted
                | Self::ScriptPanicked(_)
                | Self::Unexpected(_)
        )
    }
}

/// Reasoning that the model made: its text, and the index of the request that it answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MadeReasoning {
    /// The reasoning.
    pub text: String,
    /// Its signature or encrypted form, where the wire format has one.
    pub seal: Option<String>,
    /// The request's index among the recorded ones.
    pub request: usize,
    /// The blocks before the answer.
    pub in_front: Vec<Block>,
}

/// The reasoning in the answer to a request. On Chat Completions all of it stands in front of the rest.
pub(crate) fn made(request: usize, format: WireFormat, blocks: &[Block]) -> Vec<MadeReasoning> {
    if !format.seals() {
        let texts = blocks.iter().filter_map(|block| match block {
            Block::Reasoning { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let text: String = texts.collect();
        let made = MadeReasoning { text, request, ..MadeReasoning::default() };
        return Some(made).filter(|made| !made.text.is_empty()).into_iter().collect();
    }
    let reasoning = |(place, block): (usize, &Block)| match block {
        Block::Reasoning { text, seal } => Some(MadeReasoning {
            text: text.clone(),
            seal: seal.clone(),
            request,
            in_front: blocks[..place].to_vec(),
        }),
        _ => None,
    };
    blocks.iter().enumerate().filter_map(reasoning).collect()
}

/// Whether a message shows this part of an answer.
fn shows(message: &Value, block: &Block) -> bool {
    match block {
        Block::Reasoning { text, seal } => {
            reasoning_of(message) == Some(text) && message["seal"].as_str() == seal.as_deref()
        }
        Block::Text(text) => {
            message["role"] == "assistant" && content_text(&message["content"]) == *text
        }
        Block::Call { id, name, .. } => {
            calls_of(message).any(|call| call["id"] == **id && call["function"]["name"] == **name)
        }
    }
}

/// Checks that all reasoning in `request` stands after the messages after which it was made. `made` are the model's
/// blocks so far, in answer to requests of `recorded`.
pub fn reasoning(
    request: &RecordedRequest,
    made: &[MadeReasoning],
    recorded: &[RecordedRequest],
) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, message) in request.messages().iter().enumerate() {
        let Some(text) = reasoning_of(message) else {
            continue;
        };
        let made_here = |made: &MadeReasoning| {
            recorded.get(made.request).is_some_and(|asked| {
                let count = asked.raw_messages().len();
                let answered = request.messages().get(count..index).unwrap_or_default();
                count + made.in_front.len() == index
                    && asked.prefix_hash(count) == request.prefix_hash(count)
                    && answered.iter().zip(&made.in_front).all(|(is, was)| shows(is, was))
            })
        };
        let seal = message["seal"].as_str();
        let same_text = || made.iter().filter(|it| it.text == text && it.seal.as_deref() == seal);
        if same_text().any(made_here) {
            continue;
        }
        let origin = same_text()
            .next_back()
            .and_then(|made| recorded.get(made.request).map(|asked| (made.request, asked)));
        let reasoning = opening(text);
        found.push(match origin {
            None => Violation::UnknownReasoning { index, reasoning },
            Some((made_in, asked)) => {
                let count = asked.raw_messages().len().max(index);
                let difference = first_difference(asked, request, count).map_or_else(
                    || "the messages before it are others".to_owned(),
                    |(index, difference)| format!("message {index} is another: {difference}"),
                );
                Violation::MovedReasoning { index, reasoning, made_in, difference }
            }
        });
    }
    found
}

/// Describes the place where two texts part, with some of each.
fn difference(was: &str, is: &str) -> String {
    let at = was
        .char_indices()
        .zip(is.chars())
        .find(|((_, a), b)| a != b)
        .map_or_else(|| was.len().min(is.len()), |((at, _), _)| at);
    let from = was[..at].char_indices().rev().nth(30).map_or(0, |(start, _)| start);
    let excerpt = |text: &str| opening(text.get(from..).unwrap_or_default());
    format!("from byte {at} on, was {:?}, is {:?}", excerpt(was), excerpt(is))
}

fn opening(text: &str) -> String {
    text.chars().take(120).collect()
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
