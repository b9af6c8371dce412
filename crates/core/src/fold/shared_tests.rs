//! Cases that the plugin is tested with, too.

use serde::Deserialize;

use super::{SentMessage, SentPart, sent};
use crate::transcript::{CallState, FoldOp, Message, MessageKind, Part, PartBody, Role, ToolCall};

#[derive(Deserialize)]
struct Shared {
    messages: Vec<Given>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Given {
    id: String,
    role: Role,
    parts: Vec<String>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    ops: Vec<FoldOp>,
    sent: Vec<Seen>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Seen {
    id: Option<String>,
    parts: Vec<SeenPart>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct SeenPart {
    id: Option<String>,
    output: Option<String>,
    text: Option<String>,
}

impl Given {
    fn message(self) -> Message {
        let body = |id: &str| match self.role {
            Role::User => PartBody::Text { synthetic: false, chars: 5, head: "words".to_owned() },
            Role::Assistant => {
                ToolCall::new(format!("call {id}"), "read", CallState::Completed).into()
            }
        };
        let parts = self.parts.into_iter().map(|id| Part { body: body(&id), id }).collect();
        Message { id: self.id, role: self.role, standing: MessageKind::Normal, parts }
    }
}

fn seen(transcript: &[Message], message: SentMessage) -> Seen {
    let part = |part: SentPart| match part {
        SentPart::Own { message, part, output, added } => {
            let Part { id, body } = transcript[message].parts[part].clone();
            let whole = output.unwrap_or_else(|| format!("said {id}"));
            let whole = [vec![whole], added].concat().join("\n\n");
            let output = matches!(body, PartBody::Tool(_)).then_some(whole);
            SeenPart { id: Some(id), output, text: None }
        }
        SentPart::Ours { text, .. } => SeenPart { id: None, output: None, text: Some(text) },
    };
    let id = (!message.is_ours).then(|| transcript[message.place].id.clone());
    Seen { id, parts: message.parts.into_iter().map(part).collect() }
}

#[test]
fn operations_have_the_effects_that_they_have_in_the_plugin() {
    let shared: Shared = serde_json::from_str(include_str!("operations.json")).unwrap();
    let transcript: Vec<_> = shared.messages.into_iter().map(Given::message).collect();
    for case in shared.cases {
        let sent = sent(&transcript, &case.ops).into_iter();
        let seen: Vec<_> = sent.map(|message| seen(&transcript, message)).collect();
        assert_eq!(seen, case.sent, "{}", case.name);
    }
}
