//! A model that answers from a script, over real HTTP on loopback, and checks every request that it gets.
//!
//! It speaks Chat Completions, Anthropic Messages and `OpenAI`'s Responses (streaming and not), so that a
//! real agent program talks to it as to any provider. `callstack demo` runs on it; so do the tests.
//!
//! ```no_run
//! use callstack_scripted_model::{Script, ScriptedModel, Step};
//! use serde_json::json;
//!
//! let model = ScriptedModel::start(Script::steps([
//!     Step::text("I write it.").and_call("write", json!({"filePath": "a.txt", "content": "a"})),
//!     Step::text("Written."),
//! ]))?;
//! println!("point the agent at {}", model.base_url());
//! # Ok::<(), callstack_scripted_model::StartError>(())
//! ```
//!
//! # What providers refuse
//!
//! Requests of Messages and Responses that the real API refuses by itself are answered with an error of status 400,
//! and reported as a [`Violation`]; those of Chat Completions are reported and answered. Reasoning is bound to
//! everything before it in all three, as newer Claude models have it.
//!
//! # What `OpenCode` 1.18.33 sends
//!
//! Seen on the wire of the real program with the provider `@ai-sdk/openai-compatible`:
//!
//! - Every call is `POST /v1/chat/completions` with `stream: true` and
//!   `stream_options.include_usage`. The header `x-session-id` names the session, and
//!   `x-parent-session-id` the parent of a child session (made by the `task` tool, say).
//! - Calls with a `tools` list are the agent's. Those without are `OpenCode`'s own, and their
//!   system prompt tells which: the title call's begins with `You are a title generator.`, the
//!   compaction's with `You are a context summarization agent.`. The title call comes first, with
//!   the same session id, and carries two user messages: `Generate a title for this
//!   conversation:` and the user's words. The compaction call carries the whole conversation as
//!   text in a single user message.
//! - After a compaction the history begins with the user message `What did we do so far?` and the
//!   summary as an assistant message.
//! - Reasoning is sent back as `reasoning_content` on the assistant message whenever the model streamed
//!   `reasoning_content`: it needs no option in `opencode.json`. With `"reasoning": true, "interleaved": {"field":
//!   "reasoning_content"}` on the model it is sent back as well, but stands after `tool_calls` instead of before it,
//!   and the title call gets a `reasoning_effort`.
//! - An assistant message of calls alone has `"content": ""`.
//! - At an agent's last allowed step an assistant message of `OpenCode`'s own stands at the very
//!   end ([`check::MAX_STEPS_OPENING`]).

mod answer;
pub mod check;
mod format;
mod ledger;
mod request;
mod script;
mod server;

pub use answer::Block;
pub use check::{Finding, Violation};
pub use format::WireFormat;
pub use request::{
    InvalidRequest, RecordedRequest, RequestKind, content_text, estimate_tokens,
    prefix_common_bytes,
};
pub use script::{Call, Checks, Conversation, Expect, Failure, Script, Step, Usage, When};
pub use server::{ScriptedModel, StartError};
