//! The two formats: the address of a request, its form and that of the answer.

use callstack_core::results::SummaryPrompt;
use callstack_engine::{SummarizerSettings, WireFormat};
use serde::{Deserialize, Serialize};

/// The most tokens of an answer, where a request has to name them.
const MOST: u32 = 1_500;
/// The version of Anthropic's API that is spoken.
pub(crate) const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The address of a model and the format of its requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wire {
    pub(crate) url: String,
    pub(crate) format: WireFormat,
    pub(crate) model: String,
    /// The variable that holds the key, for the error that the key is wrong.
    pub(crate) key_variable: String,
}

impl Wire {
    pub(crate) fn of(settings: &SummarizerSettings) -> Result<Self, String> {
        let missing = |what: &str| format!("{what} is not set");
        let address = settings.address.as_deref();
        let address = address.ok_or_else(|| missing("STACK_SUMMARIZER_ADDRESS"))?;
        let model = settings.model.clone().ok_or_else(|| missing("STACK_SUMMARIZER_MODEL"))?;
        let format = settings.wire_format();
        let key_variable = settings.key_variable.clone();
        Ok(Self { url: url(address, format), format, model, key_variable })
    }

    /// The request's body.
    pub(crate) fn body(&self, prompt: &SummaryPrompt) -> Result<String, serde_json::Error> {
        let (model, system, user) = (&*self.model, &*prompt.system, &*prompt.user);
        let user = Line { role: "user", content: user };
        match self.format {
            WireFormat::OpenAi => serde_json::to_string(&OpenAiRequest {
                model,
                messages: [Line { role: "system", content: system }, user],
                stream: false,
            }),
            WireFormat::Anthropic => serde_json::to_string(&AnthropicRequest {
                model,
                max_tokens: MOST,
                system,
                messages: [user],
            }),
        }
    }

    /// The text of an answer's body; none where it has none of the format.
    pub(crate) fn text(&self, body: &str) -> Option<String> {
        match self.format {
            WireFormat::OpenAi => {
                let answer: OpenAiAnswer = serde_json::from_str(body).ok()?;
                answer.choices.into_iter().next()?.message.content.map(Content::text)
            }
            WireFormat::Anthropic => {
                let answer: AnthropicAnswer = serde_json::from_str(body).ok()?;
                Some(Content::Parts(answer.content).text())
            }
        }
    }
}

/// Returns a server's message about an error, in any of the common shapes.
pub(crate) fn error_text(body: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum ErrorBody {
        Plain(String),
        Object { message: String },
    }
    #[derive(Deserialize)]
    struct Body {
        #[serde(alias = "message", alias = "detail")]
        error: ErrorBody,
    }
    let Body { error: ErrorBody::Plain(text) | ErrorBody::Object { message: text } } =
        serde_json::from_str(body).ok()?;
    Some(text).filter(|text| !text.trim().is_empty())
}

/// People configure base addresses with and without the version, and whole ones.
fn url(address: &str, format: WireFormat) -> String {
    let address = address.trim_end_matches('/');
    let (whole, version) = match format {
        WireFormat::OpenAi => ("/chat/completions", ""),
        WireFormat::Anthropic => ("/messages", "/v1"),
    };
    if address.ends_with(whole) {
        address.to_owned()
    } else if address.ends_with(version) {
        format!("{address}{whole}")
    } else {
        format!("{address}{version}{whole}")
    }
}

#[derive(Serialize)]
struct Line<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct OpenAiRequest<'a> {
    model: &'a str,
    messages: [Line<'a>; 2],
    stream: bool,
}

#[derive(Serialize)]
struct AnthropicRequest<'a> {
    model: &'a str,
    max_tokens: u32,
    system: &'a str,
    messages: [Line<'a>; 1],
}

#[derive(Deserialize)]
struct OpenAiAnswer {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Said,
}

#[derive(Deserialize)]
struct Said {
    content: Option<Content>,
}

#[derive(Deserialize)]
struct AnthropicAnswer {
    content: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

impl Content {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn wire(address: &str, format: Option<WireFormat>) -> Wire {
        Wire::of(&SummarizerSettings {
            address: Some(address.to_owned()),
            model: Some("small".to_owned()),
            format,
            ..SummarizerSettings::default()
        })
        .unwrap()
    }

    #[test]
    fn base_addresses_and_whole_ones_lead_to_the_same_place() {
        for (address, url) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
            ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/chat/completions"),
            ("http://h/v1/chat/completions", "http://h/v1/chat/completions"),
            ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
            ("https://api.anthropic.com/v1", "https://api.anthropic.com/v1/messages"),
            ("https://h/anthropic/v1/messages", "https://h/anthropic/v1/messages"),
        ] {
            assert_eq!(wire(address, None).url, url);
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let fault = Wire::of(&SummarizerSettings::default()).unwrap_err();
        assert_eq!(fault, "STACK_SUMMARIZER_ADDRESS is not set");
    }

    #[test]
    fn requests_have_the_shape_of_their_format() {
        let prompt = SummaryPrompt { system: "Sum up.".to_owned(), user: "Steps".to_owned() };
        let body = |format| -> Value {
            serde_json::from_str(&wire("http://h", Some(format)).body(&prompt).unwrap()).unwrap()
        };
        let user = json!({"role": "user", "content": "Steps"});
        assert_eq!(
            body(WireFormat::OpenAi),
            json!({"model": "small", "stream": false,
                "messages": [{"role": "system", "content": "Sum up."}, user]})
        );
        assert_eq!(
            body(WireFormat::Anthropic),
            json!({"model": "small", "max_tokens": 1500, "system": "Sum up.", "messages": [user]})
        );
    }

    #[test]
    fn texts_are_found_in_answers_and_nothing_else_is_one() {
        let text = |format, body: Value| wire("http://h", Some(format)).text(&body.to_string());
        for (content, expected) in [
            (json!("All green."), Some("All green.")),
            (json!([{"type": "text", "text": "All green."}]), Some("All green.")),
            (json!(null), None),
        ] {
            let answer = json!({"id": "x", "choices": [{"message": {"content": content}}]});
            assert_eq!(text(WireFormat::OpenAi, answer).as_deref(), expected);
        }
        let answer = json!({"content": [{"type": "thinking", "thinking": "Hm"},
            {"type": "text", "text": "All "}, {"type": "text", "text": "green."}]});
        assert_eq!(text(WireFormat::Anthropic, answer.clone()).as_deref(), Some("All green."));
        assert_eq!(text(WireFormat::OpenAi, answer), None);
        for other in [json!({}), json!({"choices": []}), json!("All green."), json!(null)] {
            assert_eq!(text(WireFormat::OpenAi, other.clone()), None);
            assert_eq!(text(WireFormat::Anthropic, other), None);
        }
    }

    #[test]
    fn errors_are_read_in_all_common_shapes() {
        for body in [
            json!({"error": {"message": "no such model", "type": "x"}}),
            json!({"type": "error", "error": {"type": "x", "message": "no such model"}}),
            json!({"error": "no such model"}),
            json!({"message": "no such model"}),
            json!({"detail": "no such model"}),
        ] {
            assert_eq!(error_text(&body.to_string()).as_deref(), Some("no such model"), "{body}");
        }
        for body in ["", "<html>Bad Gateway</html>", "[]", "{\"error\":\"\"}"] {
            assert_eq!(error_text(body), None, "{body}");
        }
    }
}
