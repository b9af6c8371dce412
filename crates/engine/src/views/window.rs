//! The parts of a session's next request, with their sizes.

use callstack_core::fold::SentPart;
use callstack_core::frame::{Frame, FrameNum};
use callstack_core::stored::Message;
use callstack_core::text::estimate_tokens;
use callstack_core::transcript::{MessageKind, PartBody, Role};
use callstack_core::xml::escape_xml;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Views;
use super::fields::{Author, Shortening, weight};
use super::request::{Request, Source, result, source_of};
use super::session::{ReadSession, system_text};
use crate::error::EngineError;
use crate::saving::is_ours;

/// The parts of a session's next request. Tokens are those of its provider.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Window {
    session: String,
    /// The program that the session belongs to
    host: String,
    /// Provider and name of the model that answered last
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Tokens that the model takes at most
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    /// Expected tokens of the next request: the sum of its parts
    pub(crate) tokens: u64,
    /// Tokens that are left up to the limit
    #[serde(skip_serializing_if = "Option::is_none")]
    free: Option<u64>,
    /// The provider's tokens in an estimated one
    factor: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_request: Option<LastRequest>,
    basis: Basis,
    /// Parts in the order of the request, each there also where it is empty
    pub(crate) parts: Vec<WindowPart>,
}

/// The last request that the host reported.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct LastRequest {
    /// Id of the message that answers it
    message: String,
    /// When it was answered; milliseconds since 1970
    at: i64,
    /// Its tokens as the host counts them
    tokens: u64,
    /// Its tokens as they are estimated for the next request
    estimated: u64,
}

/// The source of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Basis {
    /// On the host's count of the first request, less the estimated messages in it.
    Reported,
    /// On an estimate alone.
    Estimated,
}

/// The kind of a part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WindowKind {
    /// System prompt and tools.
    System,
    /// Constraints that a person or an agent pinned.
    Pins,
    /// The summary of the host's last compaction.
    Summary,
    /// Texts that stand for finished work.
    Results,
    /// The user's words and attachments, with the host's additions to them.
    User,
    /// Steps of agents.
    Live,
    /// Reminders and notes of callstack.
    Notes,
}

impl WindowKind {
    const ALL: [Self; 7] = [
        Self::System,
        Self::Pins,
        Self::Summary,
        Self::Results,
        Self::User,
        Self::Live,
        Self::Notes,
    ];

    fn label(self) -> &'static str {
        match self {
            Self::System => "system prompt and tools",
            Self::Pins => "pins",
            Self::Summary => "summary",
            Self::Results => "results of finished frames",
            Self::User => "the user's words",
            Self::Live => "live work",
            Self::Notes => "notes",
        }
    }
}

/// A part of the next request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct WindowPart {
    kind: WindowKind,
    pub(crate) tokens: u64,
    basis: Basis,
    /// Number of messages
    count: usize,
    messages: Vec<WindowMessage>,
}

/// A message, as far as it is of one part of the request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct WindowMessage {
    /// The host's id; `system` for what stands before all messages
    id: String,
    role: Author,
    /// Its first line
    line: String,
    tokens: u64,
    /// Handle of the frame whose work, result or pin it is
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<String>,
    /// When it was made; milliseconds since 1970
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<i64>,
    /// The host's id of the call
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
}

/// A text in a request, with estimated tokens.
struct Piece {
    kind: WindowKind,
    message: WindowMessage,
    /// The whole text, where a pin may stand in it.
    text: Option<String>,
}

impl Views {
    /// Returns what fills a session's next request.
    pub(crate) fn window(&self, session: &str, reveal: bool) -> Result<Window, EngineError> {
        let read = self.read_session(session)?;
        let request = read.next_request(self.kernel.now());
        let (own, pins, host) = self.kernel.read(|view| {
            let row = view.session_row(session)?;
            let active = row.as_ref().and_then(|row| row.active.or(row.root));
            let frames = match active {
                Some(active) => {
                    let mut frames = vec![view.frame(active)?];
                    frames.extend(view.ancestors(active)?);
                    frames
                }
                None => Vec::new(),
            };
            let own = system_text(view, session, read.epoch(request.summary))?;
            Ok::<_, EngineError>((own, frames, row.map(|row| row.host).unwrap_or_default()))
        })?;
        let shortening = Shortening::short(reveal);
        let mut pieces = pieces(&read, &request, shortening);
        let reports = read.reports(&request);
        let before = |place: usize| read.scaled(estimated(&read, &read.request_for(place)));
        let system = reports.first().map(|(place, tokens)| tokens.saturating_sub(before(*place)));
        let own_tokens = own.as_deref().map_or(0, |text| estimate_tokens(text) as u64);
        let all_system = system.unwrap_or_else(|| read.scaled(own_tokens));
        let own_tokens = read.scaled(own_tokens).min(all_system);
        let mut ours = own_tokens;
        let pins = place_pins(&read, &pins, own.as_deref(), &mut pieces, &mut ours, shortening);
        let in_system = own_tokens - ours;
        let mut parts: Vec<WindowPart> =
            WindowKind::ALL.into_iter().map(|kind| part(kind, Basis::Estimated)).collect();
        for piece in pieces.into_iter().chain(pins) {
            let index = piece.kind as usize;
            if piece.message.tokens > 0 || piece.kind == WindowKind::User {
                parts[index].add(piece.message);
            }
        }
        if let Some(part) = parts.first_mut() {
            let line = |line: &str, tokens| WindowMessage {
                id: "system".to_owned(),
                role: Author::System,
                line: line.to_owned(),
                tokens,
                frame: None,
                at: None,
                call: None,
            };
            if system.is_some() {
                part.basis = Basis::Reported;
                let host = if host.is_empty() { "the host" } else { &host };
                let label = format!("system prompt and tools of {host}, with callstack's tools");
                part.add(line(&label, all_system - own_tokens));
            }
            if let Some(text) = &own {
                part.add(line(&shortening.line(text), own_tokens - in_system));
            }
        }
        let tokens = parts.iter().map(|part| part.tokens).sum();
        let last_request = reports.last().map(|(place, tokens)| {
            let message = &read.messages[*place];
            LastRequest {
                message: message.id().to_owned(),
                at: message.stored.completed.unwrap_or(message.at),
                tokens: *tokens,
                estimated: all_system + before(*place),
            }
        });
        let model = read.messages.iter().rev().find_map(|message| model(&message.stored));
        Ok(Window {
            session: session.to_owned(),
            host,
            model,
            limit: read.limit,
            free: read.limit.map(|limit| limit.saturating_sub(tokens)),
            factor: read.factor,
            basis: if system.is_some() { Basis::Reported } else { Basis::Estimated },
            tokens,
            last_request,
            parts,
        })
    }
}

impl Window {
    /// Returns the parts as text, such as `live work: 14000`.
    pub(crate) fn text(&self) -> String {
        let of = self.limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
        let mut lines = vec![format!("The next request: about {}{of} tokens.", self.tokens)];
        let parts = self.parts.iter().filter(|part| part.tokens > 0);
        lines.extend(parts.map(|part| format!("- {}: {}", part.kind.label(), part.tokens)));
        lines.join("\n")
    }
}

fn part(kind: WindowKind, basis: Basis) -> WindowPart {
    WindowPart { kind, tokens: 0, basis, count: 0, messages: Vec::new() }
}

impl WindowPart {
    fn add(&mut self, message: WindowMessage) {
        self.tokens += message.tokens;
        self.count += 1;
        self.messages.push(message);
    }
}

/// The provider and the name of the model that wrote a message.
pub(super) fn model(message: &Message) -> Option<String> {
    let name = message.model.as_deref()?;
    Some(match &message.provider {
        Some(provider) => format!("{provider}/{name}"),
        None => name.to_owned(),
    })
}

impl ReadSession {
    /// The host's counts of the requests since the summary with which a request begins, by the places of the messages
    /// that answer them.
    fn reports(&self, request: &Request) -> Vec<(usize, u64)> {
        let from = request.summary.map_or(0, |summary| summary + 1);
        let steps = self.messages.iter().enumerate().skip(from).filter(|(_, read)| {
            let message = &read.shown.message;
            message.role == Role::Assistant && message.standing == MessageKind::Normal
        });
        let steps = steps.filter(|(place, _)| !self.undone[*place]);
        let reported = steps.map(|(place, read)| (place, read.stored.tokens.sent()));
        reported.filter(|(_, tokens)| *tokens > 0).collect()
    }
}

/// Estimated tokens of the messages of a request.
fn estimated(session: &ReadSession, request: &Request) -> u64 {
    let part = |part: &SentPart| match part {
        SentPart::Ours { text, .. } => estimate_tokens(text) as u64,
        SentPart::Own { message, part, output, added } => {
            let stored = &session.messages[request.place_of(*message)].stored;
            let body = &request.transcript[*message].parts[*part].body;
            weight(body, stored.part(*part), output.as_deref(), added).all()
        }
    };
    request.messages.iter().flat_map(|message| &message.parts).map(part).sum()
}

/// Returns the texts of a request, one for each message and kind.
fn pieces(session: &ReadSession, request: &Request, shortening: Shortening) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for sent in &request.messages {
        let place = request.place_of(sent.place);
        let read = &session.messages[place];
        let first = pieces.len();
        let author = if sent.is_ours { Role::User } else { read.shown.message.role };
        let mut add =
            |kind, tokens: u64, text: &str, frame: Option<FrameNum>, call: Option<&str>| {
                let tokens = session.scaled(tokens);
                let alike = pieces[first..]
                    .iter_mut()
                    .find(|piece: &&mut Piece| piece.kind == kind && kind != WindowKind::Results);
                if let Some(piece) = alike {
                    piece.message.tokens += tokens;
                    if piece.message.line.is_empty() {
                        piece.message.line = shortening.line(text);
                    }
                    return;
                }
                let holds_pins = matches!(kind, WindowKind::Results | WindowKind::Notes) || {
                    call.is_some() && kind == WindowKind::Live
                };
                pieces.push(Piece {
                    kind,
                    text: holds_pins.then(|| text.to_owned()),
                    message: WindowMessage {
                        id: read.id().to_owned(),
                        role: Author::of(author),
                        line: shortening.line(text),
                        tokens,
                        frame: frame.map(|frame| frame.to_string()),
                        at: Some(read.made_at()),
                        call: call.map(str::to_owned),
                    },
                });
            };
        for part in &sent.parts {
            match part {
                SentPart::Ours { text, .. } => {
                    let (kind, frame) = match request.source_of_text(text) {
                        Source::Fold(frame) => (WindowKind::Results, frame),
                        _ => (WindowKind::Notes, None),
                    };
                    add(kind, estimate_tokens(text) as u64, text, frame, None);
                }
                SentPart::Own { message, part, output, added } => {
                    let own = &request.transcript[*message];
                    let made = request.place_of(*message);
                    let stored = session.messages[made].stored.part(*part);
                    let body = &own.parts[*part].body;
                    let weight = weight(body, stored, output.as_deref(), added);
                    let (kind, frame) = match source_of(own, *part) {
                        Source::Summary => (WindowKind::Summary, None),
                        Source::User | Source::Host => (WindowKind::User, None),
                        _ => (WindowKind::Live, session.frame_at(made)),
                    };
                    let PartBody::Tool(made) = body else {
                        if *body != PartBody::Other {
                            add(kind, weight.said, stored.words(), frame, None);
                        }
                        continue;
                    };
                    let (call, tool) = (&made.id, &made.tool);
                    let input = stored.call().map_or(&Value::Null, |call| &call.made.input);
                    let asked = format!("{tool} {input}");
                    match output {
                        Some(text) => {
                            add(kind, weight.said, &asked, frame, None);
                            let by = match request.source_of_output(text, Some(call)) {
                                Source::Fold(by) => by,
                                _ => frame,
                            };
                            add(WindowKind::Results, weight.output, text, by, Some(call));
                        }
                        None if is_ours(stored) => {
                            let text = result(stored).unwrap_or_default();
                            let tokens = weight.said + weight.output;
                            add(kind, tokens, &format!("{asked}\n{text}"), frame, Some(call));
                        }
                        None => add(kind, weight.said + weight.output, &asked, frame, None),
                    }
                    if weight.added > 0 {
                        add(WindowKind::Notes, weight.added, &added.join("\n"), None, Some(call));
                    }
                }
            }
        }
    }
    pieces
}

/// Returns the pins of frames that the request contains. A pin's tokens are taken out of the text that contains it:
/// callstack's part of the system prompt, or one of the pieces.
fn place_pins(
    session: &ReadSession,
    frames: &[Frame],
    system: Option<&str>,
    pieces: &mut [Piece],
    ours: &mut u64,
    shortening: Shortening,
) -> Vec<Piece> {
    let mut pins = Vec::new();
    for (frame, pin) in frames.iter().flat_map(|frame| frame.pins.iter().map(move |it| (frame, it)))
    {
        let escaped = escape_xml(&pin.text);
        let is_in = |text: &str| text.contains(&pin.text) || text.contains(escaped.as_ref());
        let tokens = session.scaled(estimate_tokens(&escaped) as u64);
        let found = if system.is_some_and(is_in) {
            *ours = ours.saturating_sub(tokens);
            Some(("system".to_owned(), Author::System, None))
        } else {
            let piece = pieces.iter_mut().find(|piece| piece.text.as_deref().is_some_and(is_in));
            piece.map(|piece| {
                let message = &mut piece.message;
                message.tokens = message.tokens.saturating_sub(tokens);
                (message.id.clone(), message.role, message.at)
            })
        };
        let Some((id, role, at)) = found else { continue };
        let message = WindowMessage {
            id,
            role,
            line: shortening.line(&pin.text),
            tokens,
            frame: Some(frame.num.to_string()),
            at,
            call: None,
        };
        pins.push(Piece { kind: WindowKind::Pins, message, text: None });
    }
    pins
}
