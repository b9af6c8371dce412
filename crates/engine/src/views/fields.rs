//! Messages and their parts as views show them.

use std::borrow::Cow;

use callstack_core::fold::SentPart;
use callstack_core::frame::FrameNum;
use callstack_core::secrets::{mask, mask_value};
use callstack_core::stored;
use callstack_core::text::estimate_tokens;
use callstack_core::transcript::{Message, PartBody, Role};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::request::{Request, Source, output_of, result, source_of};
use super::session::{ReadMessage, ReadSession};

/// Characters of a part that a view of many messages shows.
const SHORT: usize = 4_000;
/// Characters of a part that a view of one message shows.
const WHOLE: usize = 200_000;
/// Characters of the line that stands for a message.
const LINE: usize = 120;

/// The author of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Author {
    /// Part of the system prompt.
    System,
    /// The user, or the host in the user's place.
    User,
    /// The model.
    Assistant,
}

impl Author {
    pub(crate) fn of(role: Role) -> Self {
        match role {
            Role::User => Self::User,
            Role::Assistant => Self::Assistant,
        }
    }
}

/// Who made a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Origin {
    /// The user.
    User,
    /// The agent, or a tool that it called.
    Agent,
    /// The agent's program.
    Host,
    /// callstack.
    Callstack,
}

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PartKind {
    /// Words.
    Text,
    /// The model's reasoning.
    Reasoning,
    /// A call with what it returned.
    Tool,
    /// A file that is attached.
    File,
}

/// The origin of a call's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutputOrigin {
    /// The tool's own output.
    Tool,
    /// The text that a finished frame returned.
    Fold,
    /// A line that replaces an older output.
    Mask,
}

/// A message.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct MessageView {
    /// Place among the messages, from 0
    pub(crate) place: usize,
    /// The host's id; `system` for the system prompt
    pub(crate) id: String,
    pub(crate) role: Author,
    /// Estimated tokens
    pub(crate) tokens: u64,
    /// When it was made; milliseconds since 1970
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<i64>,
    /// Handle of the frame whose work it is
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) frame: Option<String>,
    pub(crate) parts: Vec<PartView>,
}

/// A part of a message.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PartView {
    pub(crate) kind: PartKind,
    pub(crate) origin: Origin,
    /// Words, thoughts, or the name of a file
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Name of the tool
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    /// The host's id of the call
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// How the call ended: pending, running, completed, error
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// Arguments of the call, as JSON
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    /// What the call returned, or what replaces that
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_origin: Option<OutputOrigin>,
    /// Handle of the frame that returned the text
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<String>,
    /// Characters of the whole text or output
    chars: usize,
    /// Whether something is left out
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

/// The length to which texts are shortened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shortening {
    most: usize,
    reveal: bool,
}

impl Shortening {
    /// Shows the beginning of long texts.
    pub(crate) fn short(reveal: bool) -> Self {
        Self { most: SHORT, reveal }
    }

    /// Shows nearly all of a text.
    pub(crate) fn whole(reveal: bool) -> Self {
        Self { most: WHOLE, reveal }
    }

    /// Secrets are masked in the whole text: a part of one may not be recognized.
    fn masked(self, text: &str) -> Cow<'_, str> {
        if self.reveal { Cow::Borrowed(text) } else { mask(text) }
    }

    /// Returns the text, and whether something is left out.
    fn cut(self, text: &str) -> (String, bool) {
        let text = self.masked(text);
        match text.char_indices().nth(self.most) {
            Some((end, _)) => (text[..end].to_owned(), true),
            None => (text.into_owned(), false),
        }
    }

    /// Returns the arguments of a call as JSON, and whether something is left out. Each text in them is masked by
    /// itself: in JSON none of its lines begins or ends.
    fn arguments(self, input: &Value) -> (String, bool) {
        let mut input = Cow::Borrowed(input);
        if !self.reveal {
            mask_value(input.to_mut());
        }
        self.cut(&input.to_string())
    }

    /// Returns the first line that says something.
    pub(crate) fn line(self, text: &str) -> String {
        let text = self.masked(text);
        let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let mut short: String = line.chars().take(LINE).collect();
        if short.len() < line.len() {
            short.push('…');
        }
        short
    }
}

impl PartView {
    fn new(kind: PartKind, origin: Origin) -> Self {
        Self {
            kind,
            origin,
            text: None,
            tool: None,
            call: None,
            state: None,
            input: None,
            output: None,
            output_origin: None,
            frame: None,
            chars: 0,
            cut: false,
        }
    }

    /// A text of callstack's.
    pub(crate) fn ours(text: &str, frame: Option<FrameNum>, shortening: Shortening) -> Self {
        let mut part = Self::new(PartKind::Text, Origin::Callstack).with_text(text, shortening);
        part.frame = frame.map(|frame| frame.to_string());
        part
    }

    fn with_text(mut self, text: &str, shortening: Shortening) -> Self {
        let (shown, cut) = shortening.cut(text);
        self.chars = text.chars().count();
        (self.text, self.cut) = (Some(shown), cut);
        self
    }

    /// A part of a message, with the output that replaces the call's own. None for what never reaches a model.
    fn of(
        (message, stored): (&Message, &stored::Part),
        part: usize,
        replaced: Option<(&str, Source)>,
        added: &[String],
        shortening: Shortening,
    ) -> Option<Self> {
        let origin = match source_of(message, part) {
            Source::User => Origin::User,
            Source::Host => Origin::Host,
            _ if message.role == Role::User => Origin::Host,
            _ => Origin::Agent,
        };
        let text = stored.words();
        match &message.parts[part].body {
            PartBody::Text { .. } => {
                Some(Self::new(PartKind::Text, origin).with_text(text, shortening))
            }
            PartBody::Reasoning { .. } => {
                Some(Self::new(PartKind::Reasoning, origin).with_text(text, shortening))
            }
            PartBody::File { name, mime } => {
                let text = format!("{name} ({mime})");
                Some(Self::new(PartKind::File, origin).with_text(&text, shortening))
            }
            PartBody::Tool(made) => {
                let (call, tool) = (&made.id, &made.tool);
                let mut view = Self::new(PartKind::Tool, origin);
                let called = stored.call();
                let (input, input_cut) = match called.map(|call| &call.made.input) {
                    None | Some(Value::Null) => (None, false),
                    Some(input) => {
                        let (input, cut) = shortening.arguments(input);
                        (Some(input), cut)
                    }
                };
                let output = output_of(stored, replaced.map(|(text, _)| text), added);
                let shown = output.as_deref().map(|output| shortening.cut(output));
                view.chars = output.map_or(0, |output| output.chars().count());
                view.cut = input_cut || shown.as_ref().is_some_and(|(_, cut)| *cut);
                view.output = shown.map(|(output, _)| output);
                view.output_origin = view.output.is_some().then_some(match replaced {
                    Some((_, Source::Fold(_))) => OutputOrigin::Fold,
                    Some(_) => OutputOrigin::Mask,
                    None => OutputOrigin::Tool,
                });
                if let Some((_, Source::Fold(Some(frame)))) = replaced {
                    view.frame = Some(frame.to_string());
                }
                view.input = input;
                view.state = called.and_then(|call| call.status.clone());
                (view.tool, view.call) = (Some(tool.clone()), Some(call.clone()));
                Some(view)
            }
            PartBody::Other => None,
        }
    }
}

/// Estimated tokens of a part of the transcript.
pub(crate) fn weight(
    body: &PartBody,
    stored: &stored::Part,
    replaced: Option<&str>,
    added: &[String],
) -> Weighed {
    let tokens = |text: &str| estimate_tokens(text) as u64;
    let mut weighed = Weighed::default();
    match body {
        PartBody::Text { .. } | PartBody::Reasoning { .. } => weighed.said = tokens(stored.words()),
        PartBody::Tool(_) => {
            let input = stored.call().map(|call| &call.made.input).filter(|it| !it.is_null());
            weighed.said = input.map_or(0, |input| tokens(&input.to_string()));
            weighed.output = replaced.or_else(|| result(stored)).map(tokens).unwrap_or_default();
            weighed.added = added.iter().map(|text| tokens(text)).sum();
        }
        PartBody::File { .. } | PartBody::Other => {}
    }
    weighed
}

/// Estimated tokens of a part.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weighed {
    /// Of words, thoughts and arguments.
    pub(crate) said: u64,
    /// Of what a call returned, or what replaces that.
    pub(crate) output: u64,
    /// Of callstack's texts after the output.
    pub(crate) added: u64,
}

impl Weighed {
    pub(crate) fn all(self) -> u64 {
        self.said + self.output + self.added
    }
}

impl MessageView {
    /// The message of a request at a place among its messages.
    pub(crate) fn of_request(
        session: &ReadSession,
        request: &Request,
        at: usize,
        shortening: Shortening,
    ) -> Self {
        let sent = &request.messages[at];
        let place = request.place_of(sent.place);
        let read = &session.messages[place];
        let (mut tokens, mut parts) = (0, Vec::new());
        for part in &sent.parts {
            match part {
                SentPart::Ours { text, .. } => {
                    tokens += estimate_tokens(text) as u64;
                    let frame = match request.source_of_text(text) {
                        Source::Fold(frame) => frame,
                        _ => None,
                    };
                    parts.push(PartView::ours(text, frame, shortening));
                }
                SentPart::Own { message, part, output, added } => {
                    let own = &request.transcript[*message];
                    let stored = session.messages[request.place_of(*message)].stored.part(*part);
                    let body = &own.parts[*part].body;
                    let called = own.parts[*part].call().map(|call| call.id.as_str());
                    let replaced = output.as_deref();
                    tokens += weight(body, stored, replaced, added).all();
                    let replaced =
                        replaced.map(|text| (text, request.source_of_output(text, called)));
                    parts.extend(PartView::of((own, stored), *part, replaced, added, shortening));
                }
            }
        }
        let is_step = read.shown.message.role == Role::Assistant && !sent.is_ours;
        let frame = session.frame_at(place).filter(|_| is_step);
        Self {
            place: at,
            id: if sent.is_ours {
                format!("{}_callstack", read.id())
            } else {
                read.id().to_owned()
            },
            role: if sent.is_ours { Author::User } else { Author::of(read.shown.message.role) },
            tokens: session.scaled(tokens),
            at: (!sent.is_ours).then(|| read.made_at()),
            frame: frame.map(|frame| frame.to_string()),
            parts,
        }
    }

    /// A stored message as its host wrote it.
    pub(crate) fn of_stored(
        read: &ReadMessage,
        place: usize,
        frame: Option<FrameNum>,
        factor: f64,
        shortening: Shortening,
    ) -> Self {
        let message = &read.shown.message;
        let view = |part| {
            let stored = read.stored.part(part);
            PartView::of((message, stored), part, None, &[], shortening)
        };
        let parts = (0..message.parts.len()).filter_map(view);
        let weights = message.parts.iter().enumerate();
        let tokens = weights
            .map(|(at, part)| weight(&part.body, read.stored.part(at), None, &[]).all())
            .sum();
        Self {
            place,
            id: message.id.clone(),
            role: Author::of(message.role),
            tokens: super::session::scaled(tokens, factor),
            at: Some(read.made_at()),
            frame: frame.map(|frame| frame.to_string()),
            parts: parts.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Shortening;

    #[test]
    fn views_mask_the_texts_of_arguments_before_they_write_them_as_json() {
        let secret = ["horse2", "staple"].concat();
        let content = format!("user: me\n  api_key: {secret} # of mine\n");
        let input = json!({"filePath": "a.yml", "content": content});
        let (masked, _) = Shortening::short(false).arguments(&input);
        assert!(!masked.contains(&secret) && masked.contains("api_key: ‹masked: "), "{masked}");
        let (revealed, cut) = Shortening::whole(true).arguments(&input);
        assert_eq!((revealed, cut), (input.to_string(), false));
        // What only the fields beside a text tell is found in the JSON.
        let key = ["a1B2c3d4", "e5F6g7H8"].concat();
        let (masked, _) =
            Shortening::short(false).arguments(&json!([{"type": "oauth", "refresh": key}]));
        assert!(!masked.contains(&key), "{masked}");
    }
}
