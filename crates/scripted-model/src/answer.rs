//! An answer and its parts, in whichever wire format it is sent.

use crate::{
    format::WireFormat,
    script::{Step, Usage},
};

/// An answer ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) id: String,
    pub(crate) model: String,
    pub(crate) step: Step,
    pub(crate) usage: Usage,
}

/// Part of an answer, in the order in which the model makes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// The model's thoughts, with the signature or the encrypted form that has to be sent back with them.
    Reasoning {
        /// The text.
        text: String,
        /// The seal; none on Chat Completions.
        seal: Option<String>,
    },
    /// The model's text.
    Text(String),
    /// A tool call.
    Call {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments, as JSON.
        arguments: String,
    },
}

impl Answer {
    /// The id of the call with this number.
    pub(crate) fn call_id(&self, number: usize) -> String {
        let named = self.step.calls.get(number).and_then(|call| call.id.clone());
        named.unwrap_or_else(|| format!("call_{}_{number}", self.id))
    }

    /// Returns its parts: reasoning, text, and the calls, each after its own reasoning.
    pub(crate) fn blocks(&self, format: WireFormat) -> Vec<Block> {
        let mut blocks = Vec::new();
        let think = |blocks: &mut Vec<Block>, text: &Option<String>| {
            let Some(text) = text.clone().filter(|text| !text.is_empty()) else { return };
            let place = blocks.len();
            let seal = format.seals().then(|| format!("sealed-{}-{place}-{}", self.id, text.len()));
            blocks.push(Block::Reasoning { text, seal });
        };
        think(&mut blocks, &self.step.reasoning);
        blocks.extend(self.step.text.clone().filter(|text| !text.is_empty()).map(Block::Text));
        for (number, call) in self.step.calls.iter().enumerate() {
            think(&mut blocks, &call.reasoning);
            blocks.push(Block::Call {
                id: self.call_id(number),
                name: call.name.clone(),
                arguments: call.arguments.to_string(),
            });
        }
        blocks
    }
}

/// A server-sent event with its name.
pub(crate) fn named_event(data: &serde_json::Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

/// Cuts a text into at most three parts, so that a client has to put them together.
pub(crate) fn in_parts(text: &str) -> impl Iterator<Item = &str> {
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
