//! The calls of a session's model, each with the size of its request and an estimate of the same without frames.

use std::collections::HashMap;

use callstack_core::frame::{FrameNum, Status};
use callstack_core::json::counted;
use callstack_core::saving::Saving;
use callstack_store::View;
use schemars::JsonSchema;
use serde::Serialize;

use super::Views;
use super::session::{frames, scaled};
use super::window::model;
use crate::error::EngineError;
use crate::saving::{Departure, Measured, Savings};

/// The calls of a session's model, oldest first. Tokens are those of its provider.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallList {
    session: String,
    /// Tokens that the model takes at most
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    /// The provider's tokens in an estimated one
    factor: f64,
    /// Number of the session's calls
    total: usize,
    /// Place of the first call here, from 0
    from: usize,
    calls: Vec<Call>,
    /// Content that was folded or masked, in the order in which it left the requests
    folds: Vec<Mark>,
    /// The session's figures
    sum: Saving,
    /// The same, with those of the sessions that it started
    with_children: Saving,
    /// How many sessions it started of which requests are known
    children: u64,
}

/// A call of the model. Bills are in hundredths of a token of input.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Call {
    /// Place among the session's calls, from 0
    place: usize,
    /// Id of the message that answers it
    message: String,
    /// When it began; milliseconds since 1970
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<i64>,
    /// Milliseconds that it took
    #[serde(skip_serializing_if = "Option::is_none")]
    took_ms: Option<i64>,
    /// Handle of the frame that it worked in
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<String>,
    /// The host's name of the agent
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// Provider and name of the model
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Tokens that were sent
    tokens: u64,
    /// Those of them that came from a cache
    cached: u64,
    /// Tokens of the answer
    output: u64,
    billed_hundredths: u64,
    /// Estimated tokens that would have been sent without frames
    tokens_without: u64,
    /// The estimated bill of these
    billed_without_hundredths: u64,
    /// The host's own account of the costs, in its currency
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// Whether it is the first one after a compaction of the host
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    compacted: bool,
}

/// Something that left the requests.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Mark {
    kind: MarkKind,
    /// Handle of the frame whose steps left
    #[serde(skip_serializing_if = "Option::is_none")]
    frame: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    /// Place of the first call that was sent without it; none where that is the next one
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<usize>,
    /// Estimated tokens that left
    tokens_before: u64,
    /// Estimated tokens of what stands for them
    tokens_after: u64,
    /// Id of the last message that left
    message: String,
}

/// The kind of content that left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MarkKind {
    /// The steps of a frame.
    Frame,
    /// The output of one call.
    Mask,
}

/// The calls that are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// Place of the first, from 0.
    pub(crate) from: usize,
    /// The most calls.
    pub(crate) most: usize,
}

impl Views {
    /// Returns the calls of a session's model. `savings` are the session's.
    pub(crate) fn calls(
        &self,
        session: &str,
        page: Page,
        savings: &Savings,
    ) -> Result<CallList, EngineError> {
        self.kernel.read(|view| {
            let measured = Measured::of(view, session)?;
            let places: HashMap<String, usize> = (0..)
                .zip(&measured.messages)
                .map(|(at, message)| (message.id.clone(), at))
                .collect();
            let frames = frames(&view.session_spans(session)?, &places, measured.messages.len());
            let mut folds: Vec<&Departure> = measured.departures.iter().collect();
            folds.sort_by_key(|departure| departure.since);
            let folds = folds.into_iter().map(|it| Mark::of(view, &measured, it));
            let calls = (page.from..measured.calls.len()).take(page.most);
            Ok(CallList {
                session: session.to_owned(),
                limit: view.model_limit(session)?,
                factor: measured.factor,
                total: measured.calls.len(),
                from: page.from,
                calls: calls.map(|at| Call::of(&measured, &frames, at)).collect(),
                folds: folds.collect::<Result<_, _>>()?,
                sum: savings.session,
                with_children: savings.total,
                children: savings.below,
            })
        })
    }
}

impl CallList {
    pub(crate) fn text(&self) -> String {
        let Saving { requests, sent, sent_without, .. } = self.sum;
        format!(
            "{requests} calls of the model were sent {sent} tokens; without frames it would have been about \
             {sent_without}. {} frames and outputs had left.",
            self.folds.len()
        )
    }
}

impl Call {
    fn of(measured: &Measured, frames: &[Option<FrameNum>], at: usize) -> Self {
        let compared = &measured.calls[at];
        let answer = &measured.messages[compared.place];
        let (began, ended) = (answer.created, answer.completed);
        let since = at.checked_sub(1).map_or(0, |before| measured.calls[before].place + 1);
        let between = &measured.messages[since..compared.place];
        Self {
            place: at,
            message: answer.id.clone(),
            at: began,
            took_ms: began.zip(ended).map(|(began, ended)| ended - began),
            frame: frames.get(compared.place).copied().flatten().map(|it| it.to_string()),
            agent: answer.agent.clone(),
            model: model(answer),
            tokens: compared.request.tokens,
            cached: compared.request.cached,
            output: counted(answer.tokens.output),
            billed_hundredths: compared.billed_hundredths,
            tokens_without: compared.without,
            billed_without_hundredths: compared.billed_without_hundredths,
            cost: answer.cost.filter(|cost| *cost > 0.0),
            compacted: between.iter().any(|message| message.is_summary),
        }
    }
}

impl Mark {
    fn of(
        view: &View<'_>,
        measured: &Measured,
        departure: &Departure,
    ) -> Result<Self, EngineError> {
        let frame = departure.frame.map(|num| view.frame(num)).transpose()?;
        let call = measured.calls.iter().position(|call| call.place > departure.since);
        let last = measured.messages.get(departure.last);
        Ok(Self {
            kind: if frame.is_some() { MarkKind::Frame } else { MarkKind::Mask },
            frame: frame.as_ref().map(|frame| frame.num.to_string()),
            status: frame.as_ref().map(|frame| frame.status),
            title: frame.map(|frame| frame.identity.title),
            call,
            tokens_before: scaled(departure.gone, measured.factor),
            tokens_after: scaled(departure.stands, measured.factor),
            message: last.map(|message| message.id.clone()).unwrap_or_default(),
        })
    }
}
