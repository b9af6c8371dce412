//! The messages of a request, and those of a frame, with their bodies.

use callstack_core::frame::Frame;
use callstack_core::text::estimate_tokens;
use schemars::JsonSchema;
use serde::Serialize;

use super::Views;
use super::calls::Page;
use super::fields::{Author, MessageView, PartView, Shortening};
use super::session::{ReadMessage, system_text};
use crate::calibration::tokens_per_estimate;
use crate::error::{EngineError, Kind};
use crate::log::LogRequest;

/// The id of the message that stands for the system prompt.
const SYSTEM: &str = "system";

/// A request of a session, in parts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Sent {
    session: String,
    /// Id of the message that answers it; none for the next request
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    /// Whether it is the next request, as it would be sent now
    next: bool,
    /// Number of its messages
    pub(crate) total: usize,
    /// Place of the first message here, from 0
    from: usize,
    /// Place of the message to go on with
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<usize>,
    pub(crate) messages: Vec<MessageView>,
}

/// The messages of a frame, in parts.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct FrameMessages {
    /// Handle of the frame
    frame: String,
    /// Number of its messages
    total: usize,
    /// Place of the first message here, from 0
    from: usize,
    /// Place of the message to go on with
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<usize>,
    messages: Vec<MessageView>,
}

impl FrameMessages {
    pub(crate) fn text(&self) -> String {
        format!("{} of {} messages of {}", self.messages.len(), self.total, self.frame)
    }

    pub(super) fn into_messages(self) -> (usize, Option<usize>, Vec<MessageView>) {
        (self.total, self.more, self.messages)
    }
}

impl Views {
    /// Returns a request of a session: the one that the message `call` answers, or the next one. With `message` only
    /// that message of it, whole.
    pub(crate) fn sent(
        &self,
        session: &str,
        call: Option<&str>,
        message: Option<&str>,
        page: Page,
        reveal: bool,
    ) -> Result<Sent, EngineError> {
        let read = self.read_session(session)?;
        let request = match call {
            Some(call) => {
                let place = read.place(call).ok_or_else(|| no_message(session, call))?;
                read.request_for(place)
            }
            None => read.next_request(self.kernel.now()),
        };
        let epoch = read.epoch(request.summary);
        let system = self.kernel.read(|view| system_text(view, session, epoch))?;
        let before = usize::from(system.is_some());
        let total = before + request.messages.len();
        let view = |place: usize, shortening: Shortening| match &system {
            Some(text) if place == 0 => MessageView {
                place,
                id: SYSTEM.to_owned(),
                role: Author::System,
                tokens: read.scaled(estimate_tokens(text) as u64),
                at: None,
                frame: None,
                parts: vec![PartView::ours(text, None, shortening)],
            },
            _ => {
                let at = place - before;
                let view = MessageView::of_request(&read, &request, at, shortening);
                MessageView { place, ..view }
            }
        };
        let mut sent = Sent {
            session: session.to_owned(),
            call: call.map(str::to_owned),
            next: call.is_none(),
            total,
            from: page.from,
            more: None,
            messages: Vec::new(),
        };
        if let Some(message) = message {
            let all = (0..total).map(|place| view(place, Shortening::whole(reveal)));
            sent.messages = all.filter(|view| view.id == message).collect();
            if sent.messages.is_empty() {
                return Err(no_message(session, message));
            }
            return Ok(sent);
        }
        let to = page.from.saturating_add(page.most).min(total);
        sent.messages =
            (page.from..to).map(|place| view(place, Shortening::short(reveal))).collect();
        sent.more = (to < total).then_some(to);
        Ok(sent)
    }

    /// Returns the messages of a frame as they were made, whichever parts of them are sent.
    pub(crate) fn frame_messages(
        &self,
        frame: &Frame,
        page: Page,
        reveal: bool,
    ) -> Result<FrameMessages, EngineError> {
        let decoder = self.decoder()?;
        let from = page.from as u64 + 1;
        let request = LogRequest { from, most: page.most, ..LogRequest::default() };
        let part = self.queries.read_log(frame, &request)?;
        let messages = self.kernel.read(|view| {
            let mut messages = Vec::new();
            for entry in part.entries {
                let project = self.kernel.project();
                let stored = entry.message;
                let Some(read) = ReadMessage::of(&stored, decoder, project) else { continue };
                let factor = tokens_per_estimate(view, &entry.session)?;
                let inside = view.frame_at(&entry.session, stored.seq)?;
                let place = usize::try_from(entry.position).unwrap_or(usize::MAX).saturating_sub(1);
                let shortening = Shortening::short(reveal);
                messages.push(MessageView::of_stored(&read, place, inside, factor, shortening));
            }
            Ok::<_, EngineError>(messages)
        })?;
        let place = |position: u64| usize::try_from(position).unwrap_or(usize::MAX);
        Ok(FrameMessages {
            frame: frame.num.to_string(),
            total: place(part.total),
            from: page.from,
            more: part.next.map(|next| place(next).saturating_sub(1)),
            messages,
        })
    }
}

fn no_message(session: &str, message: &str) -> EngineError {
    EngineError::new(Kind::NotFound, format!("session `{session}` has no message `{message}`"))
        .with_hint("Take an id from the list of calls, or from a request.")
}
