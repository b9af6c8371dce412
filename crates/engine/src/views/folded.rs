//! The steps that left the requests with a frame, beside the text that replaces them.

use callstack_core::frame::{Frame, Status};
use callstack_core::text::estimate_tokens;
use callstack_core::transcript::{Held, Span};
use schemars::JsonSchema;
use serde::Serialize;

use super::Views;
use super::calls::Page;
use super::fields::MessageView;
use super::session::scaled;
use crate::calibration::tokens_per_estimate;
use crate::error::EngineError;
use crate::saving::Measured;

/// The messages that left the requests with a frame, beside the text that stands for it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FoldedFrame {
    /// Handle of the frame
    frame: String,
    title: String,
    status: Status,
    /// The session that worked in it last
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Whether its steps have left the requests
    folded: bool,
    /// Why they are still sent though it has ended
    #[serde(skip_serializing_if = "Option::is_none")]
    held: Option<HeldView>,
    /// The same as a sentence
    #[serde(skip_serializing_if = "Option::is_none")]
    told: Option<&'static str>,
    /// What stands for them, or would
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Estimated tokens of the steps
    tokens_before: u64,
    /// Estimated tokens of the text
    tokens_after: u64,
    /// Number of the frame's messages
    total: usize,
    /// Place of the first message here, from 0
    from: usize,
    /// Place of the message to go on with
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<usize>,
    /// The messages as they were; the user's words among them are sent on
    left: Vec<MessageView>,
}

/// Why a finished frame is still sent step by step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum HeldView {
    /// Calls beside its end may still run.
    Unfixed,
    /// It is weighed at the next call.
    Unweighed,
    /// The next turn probably goes on from it.
    Recent,
    /// It is too light to be worth it.
    Light,
}

impl HeldView {
    fn of(held: Held) -> Self {
        match held {
            Held::Unfixed => Self::Unfixed,
            Held::Unweighed => Self::Unweighed,
            Held::Recent => Self::Recent,
            Held::Light { .. } => Self::Light,
        }
    }

    fn sentence(self) -> &'static str {
        match self {
            Self::Unfixed => "it leaves with the next request",
            Self::Unweighed => "whether it is worth it is decided at the next request",
            Self::Recent => "the next turn probably goes on from it",
            Self::Light => {
                "it is small: it leaves with a frame around it, or once the provider has forgotten it"
            }
        }
    }
}

impl FoldedFrame {
    pub(crate) fn about(&self) -> String {
        let (before, after) = (self.tokens_before, self.tokens_after);
        match (self.folded, self.told) {
            (true, _) => format!("about {after} tokens stand for {before} of {}", self.frame),
            (false, Some(sentence)) => format!("{} is still sent: {sentence}", self.frame),
            (false, None) => format!("nothing of {} has left", self.frame),
        }
    }
}

impl Views {
    /// Returns what left the requests with a frame.
    pub(crate) fn folded(
        &self,
        frame: &Frame,
        page: Page,
        reveal: bool,
    ) -> Result<FoldedFrame, EngineError> {
        let (span, before, factor) = self.kernel.read(|view| {
            let spans = view.frame_spans(frame.num)?;
            let ended =
                |span: &&Span| !span.detached && span.live_close().is_some() && span.fold.is_some();
            let span = spans.iter().rfind(ended).cloned();
            let session = span.as_ref().map(|span| &span.session).or(frame.session.as_ref());
            let factor = match session {
                Some(session) => tokens_per_estimate(view, session)?,
                None => 1.0,
            };
            let gone = match &span {
                Some(span) => {
                    let departures = Measured::of(view, &span.session)?.departures;
                    let of_it = departures.iter().filter(|it| it.frame == Some(frame.num));
                    Some(of_it.map(|it| it.gone).sum::<u64>()).filter(|gone| *gone > 0)
                }
                None => None,
            };
            let seen = view.evidence(frame.num)?.tokens as u64;
            Ok::<_, EngineError>((span, gone.unwrap_or(seen), factor))
        })?;
        let fold = span.and_then(|span| span.fold);
        let held = fold.as_ref().and_then(|fold| fold.held).map(HeldView::of);
        let text = fold.as_ref().map(|fold| fold.text.clone());
        let messages = self.frame_messages(frame, page, reveal)?;
        let (total, more, left) = messages.into_messages();
        Ok(FoldedFrame {
            frame: frame.num.to_string(),
            title: frame.identity.title.clone(),
            status: frame.status,
            session: frame.session.clone(),
            folded: fold.is_some_and(|fold| fold.held.is_none() && fold.settled_at.is_some()),
            told: held.map(HeldView::sentence),
            held,
            tokens_before: scaled(before, factor),
            tokens_after: scaled(
                text.as_deref().map_or(0, |text| estimate_tokens(text) as u64),
                factor,
            ),
            text,
            total,
            from: page.from,
            more,
            left,
        })
    }
}
