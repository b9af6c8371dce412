//! OpenCode's JSON of a message: the one place that knows its fields. Each is read by itself: one of another type
//! than it should be counts as missing, and the rest of the message stays.

use serde::Deserialize;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess};
use serde_json::{Map, Number, Value};

use super::lenient::{Length, List, Object, Scalar, Take};
use super::{Asked, Author, Call, Message, Part, PartBody, Recording, Tokens};
use crate::json::UNREADABLE;
use crate::transcript::{CallState, ToolCall};

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Object::<Whole>::deserialize(from)?.or_empty().into())
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Whole {
    info: Object<Info>,
    parts: List<Part>,
    recorded: Object<Recorded>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Info {
    id: Scalar,
    #[serde(rename = "sessionID")]
    session_id: Scalar,
    role: Scalar,
    time: Object<Times>,
    #[serde(rename = "modelID")]
    model_id: Scalar,
    #[serde(rename = "providerID")]
    provider_id: Scalar,
    /// The model that a user's message is for.
    model: Object<ForModel>,
    agent: Scalar,
    /// An agent's name in older versions.
    mode: Scalar,
    tokens: Object<Used>,
    cost: Scalar,
    finish: Scalar,
    error: Value,
    /// In a user's message an object: the files that its turn changed.
    summary: Scalar,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Times {
    created: Scalar,
    completed: Scalar,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ForModel {
    #[serde(rename = "modelID")]
    model_id: Scalar,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Used {
    input: Scalar,
    output: Scalar,
    reasoning: Scalar,
    cache: Object<Cache>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Cache {
    read: Scalar,
    write: Scalar,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Recorded {
    by: Scalar,
    left: Scalar,
    actions: Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct State {
    status: Scalar,
    input: Value,
    output: Scalar,
    error: Scalar,
    metadata: Value,
    attachments: Length,
    time: Object<CallTimes>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CallTimes {
    start: Scalar,
    end: Scalar,
    compacted: Scalar,
}

impl From<Whole> for Message {
    fn from(Whole { info, parts, recorded }: Whole) -> Self {
        let info = info.or_empty();
        let times = info.time.or_empty();
        let author = info.role.text().map(|role| match role.as_str() {
            "user" => Author::User,
            "assistant" => Author::Assistant,
            _ => Author::Other(role),
        });
        let recording = recorded.0.map(|it| Recording {
            by: it.by.text(),
            is_aside: it.left.is_true(),
            actions: it.actions,
        });
        Self {
            id: info.id.text().unwrap_or_default(),
            session: info.session_id.text(),
            author,
            created: times.created.whole(),
            completed: times.completed.whole(),
            model: info.model_id.text(),
            provider: info.provider_id.text(),
            for_model: info.model.or_empty().model_id.text(),
            agent: info.agent.text().or_else(|| info.mode.text()),
            tokens: info.tokens.or_empty().into(),
            cost: info.cost.real(),
            finish: info.finish.text(),
            error: Some(info.error).filter(|error| !error.is_null()),
            is_summary: info.summary.is_true(),
            parts: parts.0,
            recording,
        }
    }
}

impl From<Used> for Tokens {
    fn from(used: Used) -> Self {
        let cache = used.cache.or_empty();
        Self {
            input: used.input.count(),
            output: used.output.count(),
            reasoning: used.reasoning.count(),
            cache_read: cache.read.count(),
            cache_written: cache.write.count(),
        }
    }
}

/// The names that providers give to the signature or the encrypted form of reasoning that they want back.
const SEALS: [&str; 5] = [
    "signature",
    "redactedData",
    "reasoningEncryptedContent",
    "thoughtSignature",
    "encrypted_content",
];

impl Default for Part {
    fn default() -> Self {
        Self { id: String::new(), body: PartBody::Other(Value::Null) }
    }
}

/// Something that is no object is kept as it is.
impl<'de> Take<'de> for Part {
    fn text(text: String) -> Self {
        Self::of(text.into())
    }

    fn number(number: Number) -> Self {
        Self::of(number.into())
    }

    fn flag(flag: bool) -> Self {
        Self::of(flag.into())
    }

    fn list<A: SeqAccess<'de>>(values: A) -> Result<Self, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(values)).map(Self::of)
    }

    fn object<A: MapAccess<'de>>(mut given: A) -> Result<Self, A::Error> {
        let mut fields = Fields::default();
        while let Some(name) = given.next_key::<String>()? {
            // The outputs of a call are most of a message, and its state follows its type.
            if name == "state" && fields.kind() == Some("tool") {
                fields.state = Some(given.next_value()?);
            } else {
                fields.rest.insert(name, given.next_value()?);
            }
        }
        Ok(fields.into())
    }
}

impl Part {
    fn of(value: Value) -> Self {
        Self { id: String::new(), body: PartBody::Other(value) }
    }
}

/// The fields of a part.
#[derive(Default)]
struct Fields {
    state: Option<Object<State>>,
    rest: Map<String, Value>,
}

impl Fields {
    fn kind(&self) -> Option<&str> {
        self.rest.get("type")?.as_str()
    }

    fn text(&mut self, name: &str) -> Option<String> {
        if let Some(Value::String(text)) = self.rest.remove(name) { Some(text) } else { None }
    }

    fn is(&self, name: &str) -> bool {
        self.rest.get(name) == Some(&Value::Bool(true))
    }

    fn call(mut self) -> Call {
        let state = self.state.take().or_else(|| {
            let state = self.rest.remove("state")?;
            serde_json::from_value::<Object<State>>(state).ok()
        });
        let mut call = state.unwrap_or_default().or_empty().call();
        call.made.id = self.text("callID").unwrap_or_default();
        call.made.tool = self.text("tool").unwrap_or_default();
        call
    }
}

impl From<Fields> for Part {
    fn from(mut fields: Fields) -> Self {
        let id = fields.rest.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = fields.kind().unwrap_or_default();
        let body = match kind {
            "text" => PartBody::Text {
                synthetic: fields.is("synthetic"),
                ignored: fields.is("ignored"),
                text: fields.text("text").unwrap_or_default(),
            },
            "reasoning" => PartBody::Reasoning {
                sealed: fields.rest.get("metadata").is_some_and(is_sealed),
                text: fields.text("text").unwrap_or_default(),
            },
            "tool" => PartBody::Call(Box::new(fields.call())),
            "" if fields.rest.contains_key("callID") => PartBody::Call(Box::new(fields.call())),
            "file" => PartBody::File { name: fields.text("filename"), mime: fields.text("mime") },
            "step-start" | "step-finish" | "snapshot" => PartBody::Mark,
            UNREADABLE => PartBody::Unreadable(fields.text("text").unwrap_or_default()),
            "compaction" => {
                let kept_from = fields.rest.get("tail_start_id").and_then(Value::as_str);
                let asked = Asked::Compaction { kept_from: kept_from.map(str::to_owned) };
                PartBody::Asked(asked, fields.rest.into())
            }
            // A slash command.
            "subtask" => PartBody::Asked(Asked::Subagent, fields.rest.into()),
            _ => PartBody::Other(fields.rest.into()),
        };
        Self { id, body }
    }
}

/// Whether a provider wants reasoning back at its very place: `metadata` holds the data of each provider.
fn is_sealed(metadata: &Value) -> bool {
    let given = metadata.as_object().into_iter().flat_map(|providers| providers.values());
    given.flat_map(|given| SEALS.iter().map(|seal| &given[*seal])).any(Value::is_string)
}

impl State {
    fn call(self) -> Call {
        let status = self.status.text();
        let state = match status.as_deref() {
            Some("completed") => CallState::Completed,
            Some("error") => CallState::Failed,
            _ => CallState::Open,
        };
        let times = self.time.or_empty();
        let made = ToolCall {
            state,
            exit: self.metadata["exit"].as_i64(),
            input: self.input,
            output: self.output.text().or_else(|| self.error.text()),
            began: times.start.whole(),
            ended: times.end.whole(),
            ..ToolCall::default()
        };
        Call {
            made,
            status,
            is_cleared: times.compacted.is_number(),
            has_attachments: self.attachments.0 > 0,
            metadata: self.metadata,
        }
    }
}
