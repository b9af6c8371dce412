//! The stored form of a message that was read from the recording of another program: the shape that `opencode.rs`
//! reads, and beside it the records that the message was read from.

use serde_json::{Value, json};

use super::{Call, Message, Part, PartBody, RECORDED, Recording, Tokens};
use crate::json::UNREADABLE;

impl Message {
    /// Returns its stored form, with the records that it was read from: each is JSON, and stays byte for byte as it
    /// is. What is known of OpenCode's messages alone is left out.
    pub fn to_stored<'r>(&self, records: impl IntoIterator<Item = &'r str>) -> String {
        let parts: Vec<Value> = self.parts().iter().map(part).collect();
        let (whole, parts) = (self.whole(), Value::from(parts));
        let recording = self.recording.as_ref().map(|recording| {
            let Recording { by, is_aside, actions } = recording;
            let standing = if *is_aside { "\"left\":true," } else { "" };
            let records: Vec<&str> = records.into_iter().collect();
            let records = records.join(",");
            format!(
                ",\"{RECORDED}\":{{\"by\":{},{standing}\"actions\":{actions},\"records\":[{records}]}}",
                json!(by)
            )
        });
        let recording = recording.unwrap_or_default();
        format!("{{\"info\":{whole},\"parts\":{parts}{recording}}}")
    }

    fn whole(&self) -> Value {
        let mut whole = json!({ "id": self.id });
        let mut add = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                whole[name] = value;
            }
        };
        let text = |text: &Option<String>| text.clone().map(Value::from);
        add("sessionID", text(&self.session));
        add("role", self.author.as_ref().map(|author| author.as_str().into()));
        add("time", self.created.map(|at| json!({ "created": at })));
        add("modelID", text(&self.model));
        add("tokens", (self.tokens != Tokens::default()).then(|| tokens(&self.tokens)));
        add("error", self.error.clone());
        add("summary", self.is_summary.then(|| true.into()));
        add("finish", text(&self.finish));
        whole
    }
}

fn tokens(tokens: &Tokens) -> Value {
    let Tokens { input, output, cache_read, cache_written, .. } = tokens;
    json!({ "input": input, "output": output, "cache": { "read": cache_read, "write": cache_written } })
}

fn part(part: &Part) -> Value {
    let mut fields = match &part.body {
        PartBody::Text { text, synthetic, .. } => {
            json!({ "type": "text", "text": text, "synthetic": synthetic })
        }
        PartBody::Reasoning { text, .. } => json!({ "type": "reasoning", "text": text }),
        PartBody::File { name, mime } => json!({ "type": "file", "filename": name, "mime": mime }),
        PartBody::Call(call) => json!({
            "type": "tool", "callID": call.made.id, "tool": call.made.tool, "state": state(call),
        }),
        PartBody::Mark => json!({ "type": "step-start" }),
        PartBody::Unreadable(text) => json!({ "type": UNREADABLE, "text": text }),
        PartBody::Asked(_, fields) | PartBody::Other(fields) => fields.clone(),
    };
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("id".to_owned(), part.id.as_str().into());
    }
    fields
}

fn state(call: &Call) -> Value {
    let made = &call.made;
    let mut state = json!({ "status": call.status, "input": made.input });
    if let Some(result) = &made.output {
        state[if made.is_failed() { "error" } else { "output" }] = result.as_str().into();
    }
    if let (Some(began), Some(ended)) = (made.began, made.ended) {
        state["time"] = json!({ "start": began, "end": ended });
    }
    if let Some(exit) = made.exit {
        state["metadata"] = json!({ "exit": exit });
    }
    state
}
