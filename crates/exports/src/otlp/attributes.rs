//! Attributes of spans, and the names of those that the conventions for generative AI give.
//!
//! The names are those of the repository `semantic-conventions-genai` of OpenTelemetry in November 2026, where all of
//! them are still in development.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(super) const AGENT_NAME: &str = "gen_ai.agent.name";
pub(super) const AGENT_ID: &str = "gen_ai.agent.id";
pub(super) const MODEL: &str = "gen_ai.request.model";
pub(super) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const CACHE_READ: &str = "gen_ai.usage.cache_read.input_tokens";
pub(super) const CACHE_CREATION: &str = "gen_ai.usage.cache_creation.input_tokens";
pub(super) const REASONING: &str = "gen_ai.usage.reasoning.output_tokens";
pub(super) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(super) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(super) const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(super) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(super) const TOOL_RESULT: &str = "gen_ai.tool.call.result";
pub(super) const ERROR: &str = "error.type";

/// Attributes in the order in which they are added.
#[derive(Default)]
pub(super) struct Attributes(Vec<KeyValue>);

impl Attributes {
    pub(super) fn text(self, key: &str, value: &str) -> Self {
        self.put(key, Value::StringValue(value.to_owned()))
    }

    pub(super) fn text_if(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    pub(super) fn number(self, key: &str, value: u64) -> Self {
        self.put(key, Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)))
    }

    /// Adds a number that says nothing where it is 0.
    pub(super) fn number_if_any(self, key: &str, value: u64) -> Self {
        if value == 0 { self } else { self.number(key, value) }
    }

    pub(super) fn texts(self, key: &str, values: &[&str]) -> Self {
        let any = |value: &&str| AnyValue { value: Some(Value::StringValue((*value).to_owned())) };
        self.put(key, Value::ArrayValue(ArrayValue { values: values.iter().map(any).collect() }))
    }

    fn put(mut self, key: &str, value: Value) -> Self {
        let value = Some(AnyValue { value: Some(value) });
        self.0.push(KeyValue { key: key.to_owned(), value, ..KeyValue::default() });
        self
    }

    pub(super) fn done(self) -> Vec<KeyValue> {
        self.0
    }
}
