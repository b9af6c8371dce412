//! A model that is asked over HTTP, in the format of `OpenAI`'s chat completions.

use serde_json::{Value, json};

use super::folder::{Answer, Call};

/// A model at an address.
#[derive(Clone)]
pub struct Remote {
    url: String,
    model: String,
    key: Option<String>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.model, self.url)
    }
}

impl Remote {
    /// The model `model` at `url`, which ends before `/chat/completions`. The key goes into a header, and into no
    /// file.
    pub fn new(url: &str, model: &str, key: Option<String>) -> Self {
        Self { url: url.trim_end_matches('/').to_owned(), model: model.to_owned(), key }
    }

    /// Asks it. The error is the status to answer with, and the reason.
    pub(super) fn ask(&self, body: &Value) -> Result<Answer, (u16, String)> {
        let mut body = body.clone();
        body["model"] = json!(self.model);
        body["stream"] = json!(false);
        if let Some(body) = body.as_object_mut() {
            body.remove("stream_options");
        }
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(None)
            .http_status_as_error(false)
            .build()
            .into();
        let mut request = agent.post(format!("{}/chat/completions", self.url));
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let unreachable = |error: ureq::Error| (502, format!("{}: {error}", self.url));
        let mut response = request.send_json(&body).map_err(unreachable)?;
        let status = response.status().as_u16();
        let text = response.body_mut().with_config().limit(u64::MAX).read_to_string();
        let text = text.map_err(unreachable)?;
        if status >= 300 {
            return Err((status, text));
        }
        read(&text).map_err(|why| (502, format!("{}: {why}", self.url)))
    }
}

fn read(text: &str) -> Result<Answer, String> {
    let answer: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let message = &answer["choices"][0]["message"];
    if !message.is_object() {
        return Err("the answer has no message".to_owned());
    }
    let calls =
        message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice).iter().map(|call| {
            let function = &call["function"];
            let arguments = function["arguments"].as_str().unwrap_or_default();
            let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
            let input = serde_json::from_str(arguments)
                .map_err(|error| format!("a call's arguments are no JSON object: {error}"))?;
            Ok(Call { name: function["name"].as_str().unwrap_or_default().to_owned(), input })
        });
    let said =
        |name: &str| message[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    Ok(Answer {
        text: said("content").unwrap_or_default(),
        calls: calls.collect::<Result<_, String>>()?,
        reasoning: said("reasoning_content"),
        usage: answer.get("usage").filter(|usage| usage.is_object()).cloned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Loopback, Reply};

    #[test]
    fn a_model_is_asked_for_a_whole_answer_with_the_key_in_a_header() {
        let message = json!({
            "role": "assistant", "content": null, "reasoning_content": "It must be read.",
            "tool_calls": [{"id": "1", "type": "function",
                "function": {"name": "read", "arguments": "{\"filePath\": \"a\"}"}}],
        });
        let answer = json!({"choices": [{"message": message}], "usage": {"prompt_tokens": 7}});
        let server = Loopback::start(vec![
            Reply::with(200, answer.to_string()),
            Reply::with(429, "too many"),
        ])
        .unwrap();
        let remote = Remote::new(&format!("{}/v1/", server.address()), "m-1", Some("k".to_owned()));
        let asked = json!({"model": "trial", "stream": true, "stream_options": {}, "messages": []});

        let answer = remote.ask(&asked).unwrap();
        assert_eq!(answer.calls[0].name, "read");
        assert_eq!(answer.calls[0].input["filePath"], "a");
        assert_eq!(answer.reasoning.as_deref(), Some("It must be read."));
        assert_eq!(answer.usage, Some(json!({"prompt_tokens": 7})));
        assert_eq!(remote.ask(&asked).unwrap_err(), (429, "too many".to_owned()));

        let request = &server.asked()[0];
        assert!(request.head.contains("authorization: bearer k"), "{}", request.head);
        let body: Value = serde_json::from_str(&request.body).unwrap();
        assert_eq!(body, json!({"model": "m-1", "stream": false, "messages": []}));
    }
}
