//! Answers in the chat-completions format.

use serde_json::{Value, json};

use crate::script::{Step, Usage};

/// An answer ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) step: Step,
    pub(crate) usage: Usage,
}

impl Answer {
    fn finish(&self) -> &str {
        let usual = if self.step.calls.is_empty() { "stop" } else { "tool_calls" };
        self.step.finish.as_deref().unwrap_or(usual)
    }

    fn usage(&self) -> Value {
        let Usage { prompt_tokens, completion_tokens, cached_tokens } = self.usage;
        json!({
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            "prompt_tokens_details": { "cached_tokens": cached_tokens.unwrap_or(0) },
        })
    }

    /// The calls with their ids and arguments as text.
    fn calls(&self) -> impl Iterator<Item = (String, &str, String)> {
        self.step.calls.iter().enumerate().map(|(index, call)| {
            let id = call.id.clone().unwrap_or_else(|| format!("call_{}_{index}", self.id));
            (id, call.name.as_str(), call.arguments.to_string())
        })
    }

    /// The answer as the body of one response.
    pub(crate) fn whole(&self) -> Value {
        let mut message = json!({ "role": "assistant", "content": self.step.text });
        if let Some(reasoning) = &self.step.reasoning {
            message["reasoning_content"] = json!(reasoning);
        }
        let calls: Vec<Value> = self
            .calls()
            .map(|(id, name, arguments)| {
                let function = json!({ "name": name, "arguments": arguments });
                json!({ "id": id, "type": "function", "function": function })
            })
            .collect();
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        json!({
            "id": format!("chatcmpl-{}", self.id),
            "object": "chat.completion",
            "created": 0,
            "model": self.model,
            "choices": [{ "index": 0, "message": message, "finish_reason": self.finish() }],
            "usage": self.usage(),
        })
    }

    /// The answer as server-sent events, the last of which is `[DONE]`.
    pub(crate) fn events(&self) -> Vec<String> {
        let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
        for part in in_parts(self.step.reasoning.as_deref().unwrap_or_default()) {
            deltas.push(json!({ "reasoning_content": part }));
        }
        for part in in_parts(self.step.text.as_deref().unwrap_or_default()) {
            deltas.push(json!({ "content": part }));
        }
        for (index, (id, name, arguments)) in self.calls().enumerate() {
            let function = json!({ "name": name, "arguments": "" });
            deltas.push(json!({ "tool_calls": [
                { "index": index, "id": id, "type": "function", "function": function }
            ] }));
            for part in in_parts(&arguments) {
                let function = json!({ "arguments": part });
                deltas.push(json!({ "tool_calls": [{ "index": index, "function": function }] }));
            }
        }
        let mut events: Vec<String> =
            deltas.into_iter().map(|delta| event(&self.chunk(&delta, &Value::Null))).collect();
        let mut last = self.chunk(&json!({}), &json!(self.finish()));
        last["usage"] = self.usage();
        events.push(event(&last));
        events.push("data: [DONE]\n\n".to_owned());
        events
    }

    fn chunk(&self, delta: &Value, finish: &Value) -> Value {
        json!({
            "id": format!("chatcmpl-{}", self.id),
            "object": "chat.completion.chunk",
            "created": 0,
            "model": self.model,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        })
    }
}

fn event(chunk: &Value) -> String {
    format!("data: {chunk}\n\n")
}

/// Cuts a text into at most three parts, so that a client has to put them together.
fn in_parts(text: &str) -> impl Iterator<Item = &str> {
    let cut = |at: usize| (at..=text.len()).find(|at| text.is_char_boundary(*at));
    let first = cut(text.len() / 3).unwrap_or(0);
    let second = cut(text.len() * 2 / 3).unwrap_or(first).max(first);
    [&text[..first], &text[first..second], &text[second..]].into_iter().filter(|p| !p.is_empty())
}

#[cfg(test)]
mod tests {
    use super::in_parts;

    #[test]
    fn parts_join_to_the_whole_and_never_cut_a_character() {
        for text in ["", "a", "ab", "äöü", "{\"a\":\"日本語\"}", "🙂"] {
            assert_eq!(in_parts(text).collect::<String>(), text);
        }
        assert_eq!(in_parts("abcdef").count(), 3);
    }
}
