//! Results of a frame for which nobody gave any. The order of their possible sources is described in
//! [`callstack_core::results`]; the host's compaction comes before those here and is in `compaction`.
//!
//! A model is asked where a call may take its time: from a terminal at once, and in a host in the background, while
//! the call asks again and again until there is an answer. Nothing else waits for one: results of frames that end in
//! a hook are extracted.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use callstack_core::evidence::{
    Activity, Budget, Gaps, RESULTS_TOKENS, extract_results, span_tokens, take,
};
use callstack_core::frame::{Frame, Status};
use callstack_core::log_line::LogLine;
use callstack_core::results::{ResultsSource, SummaryInput, summary_prompt};
use callstack_core::returned::UNSAID;
use callstack_core::transcript::SpanOrigin;
use callstack_store::View;
use serde::{Deserialize, Serialize};

use crate::error::EngineError;
use crate::evidence::{SpanEvidence, SpanReader};
use crate::kernel::Kernel;
use crate::summarizer::{Answered, Asked, Summarizer, SummarizerError, SummaryRequest};

/// Messages of a span that are read, the last ones.
pub(crate) const READ: u32 = 400;
/// Finished frames inside it in the prompt of a model.
const INSIDE: u32 = 20;
/// Milliseconds after which a host asks again whether a model has answered.
pub(crate) const AGAIN: u64 = 100;
/// Milliseconds that an answer may be late: the model's own time limit comes first.
const GRACE: i64 = 2_000;
/// Milliseconds below which it is not worth asking again.
const LEAST: i64 = 500;

/// Results that were made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GeneratedResults {
    pub(crate) results: String,
    pub(crate) source: ResultsSource,
    /// Why the model that should have written them did not.
    pub(crate) failure: Option<String>,
}

/// A model that was asked, as a call's token says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Asking {
    /// The key of its answer.
    summary: String,
    /// The deadline of its answer, in milliseconds since 1970.
    until: i64,
    /// The newest event when it was asked.
    #[serde(default)]
    since: u64,
}

/// The outcome of making results.
pub(crate) enum Generation {
    /// These.
    Done(GeneratedResults),
    /// A model has been asked, and the caller asks for its answer again a little later.
    Asked(Asking),
    /// There is nothing that they could be made of.
    Nothing,
}

/// Makes the results of frames that end without any.
pub(crate) struct ResultsMaker {
    kernel: Arc<Kernel>,
    span_reader: Arc<SpanReader>,
    spans: Arc<SpanEvidence>,
    pub(crate) summarizer: OnceLock<Arc<dyn Summarizer>>,
    pub(crate) asked: Asked,
}

impl ResultsMaker {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        span_reader: &Arc<SpanReader>,
        spans: &Arc<SpanEvidence>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            span_reader: Arc::clone(span_reader),
            spans: Arc::clone(spans),
            summarizer: OnceLock::default(),
            asked: Asked::default(),
        }
    }

    /// Makes results of a frame that is ending as `ending`. With `later`, a model's answer is not waited
    /// for.
    pub(crate) fn make_results(
        &self,
        frame: &Frame,
        ending: Status,
        later: bool,
    ) -> Result<Generation, EngineError> {
        let limit = i64::from(
            self.kernel.read(|view| self.kernel.settings_in(view))?.summarizer.time_limit,
        );
        self.make_until(frame, ending, later, self.kernel.now().saturating_add(limit))
    }

    fn make_until(
        &self,
        frame: &Frame,
        ending: Status,
        later: bool,
        until: i64,
    ) -> Result<Generation, EngineError> {
        let since = self.kernel.read(|view| Ok::<_, EngineError>(view.newest_event()?))?.seq;
        let span = self.spans.activities_of(frame)?;
        let Some(request) = self.summary_request(frame, ending, &span, until)? else {
            return Ok(self
                .span_reader
                .extracted(&span)
                .map_or(Generation::Nothing, Generation::Done));
        };
        let model = request.settings.model.clone().unwrap_or_default();
        let line = LogLine::new("Summarizer asked").with("frame", frame.num.to_string());
        self.kernel.log_now(&line.with("model", model));
        if later {
            let summary = self.kernel.world().id("summary-");
            self.begin_asking(&summary, request);
            return Ok(Generation::Asked(Asking { summary, until, since }));
        }
        let answer = self.ask_summarizer(&request);
        self.answered(frame, since, answer)
    }

    /// Goes on with results that a model was asked for.
    pub(crate) fn making_goes_on(
        &self,
        frame: &Frame,
        ending: Status,
        asking: Asking,
    ) -> Result<Generation, EngineError> {
        let now = self.kernel.now();
        let answer = match self.asked.take(&asking.summary) {
            Answered::Now(answer) => answer,
            Answered::NotYet if now <= asking.until.saturating_add(GRACE) => {
                return Ok(Generation::Asked(asking));
            }
            Answered::NotYet => {
                self.asked.forget(&asking.summary);
                Err(SummarizerError("it did not answer in time".to_owned()))
            }
            // The process that asked has ended. The time that is left may be enough for another try.
            Answered::Unknown if asking.until.saturating_sub(now) >= LEAST => {
                return self.make_until(frame, ending, true, asking.until);
            }
            Answered::Unknown => Err(SummarizerError("the process that asked it ended".to_owned())),
        };
        self.answered(frame, asking.since, answer)
    }

    /// Waits no longer for a model.
    pub(crate) fn making_stopped(&self, asking: &Asking) {
        self.asked.forget(&asking.summary);
    }

    /// Returns results from the answer of a model that was asked at the event `since`.
    fn answered(
        &self,
        frame: &Frame,
        since: u64,
        answer: Result<String, SummarizerError>,
    ) -> Result<Generation, EngineError> {
        let purged = self.kernel.read(|view| view.purges_after(since))?;
        let failure = match answer {
            Ok(_) if !purged.is_empty() => "messages were purged while it was asked".to_owned(),
            Ok(results) => {
                let source = ResultsSource::Model;
                return Ok(Generation::Done(GeneratedResults { results, source, failure: None }));
            }
            Err(SummarizerError(why)) => why,
        };
        let line = LogLine::new("Summarizer failed").with("frame", frame.num.to_string());
        self.kernel.log_now(&line.with("why", failure.as_str()));
        let span = self.spans.activities_of(frame)?;
        Ok(match self.span_reader.extracted(&span) {
            Some(made) => Generation::Done(GeneratedResults { failure: Some(failure), ..made }),
            None => Generation::Nothing,
        })
    }

    /// Returns the request to a model; none where there is no model, or nothing to summarize.
    fn summary_request(
        &self,
        frame: &Frame,
        ending: Status,
        span: &[Activity],
        until: i64,
    ) -> Result<Option<SummaryRequest>, EngineError> {
        let settings = self.kernel.read(|view| self.kernel.settings_in(view))?.summarizer.clone();
        if span.is_empty() || !settings.is_set() || self.summarizer.get().is_none() {
            return Ok(None);
        }
        let inside = self.kernel.read(|view| view.finished_children(frame.num, INSIDE))?;
        let prompt = summary_prompt(&SummaryInput {
            frame,
            ending: ending.as_str(),
            inside: &inside,
            span,
            budget: settings.tokens,
        });
        let left = u64::try_from(until.saturating_sub(self.kernel.now())).unwrap_or(0).max(1);
        Ok(Some(SummaryRequest { prompt, settings, time_limit: Duration::from_millis(left) }))
    }
}

impl SpanReader {
    /// Returns results without a model: the agent's last words; where there are none, its evidence.
    pub(crate) fn extracted(&self, span: &[Activity]) -> Option<GeneratedResults> {
        let done = || {
            let project = self.env.project().to_string_lossy();
            let mut room = Budget::default().of(span_tokens(span));
            room.all = room.all.min(RESULTS_TOKENS);
            let lines = take(span, "", &project, room, &|_| None).lines();
            let mut text = UNSAID.to_owned();
            for line in &lines {
                // Writing to a string can't fail.
                let _ = write!(text, "\n{line}");
            }
            (!lines.is_empty()).then_some(text)
        };
        let results = extract_results(span, RESULTS_TOKENS).or_else(done)?;
        Some(GeneratedResults { results, source: ResultsSource::Extracted, failure: None })
    }

    /// The same within a transaction, where all messages are known to be written.
    pub(crate) fn activities_in(
        &self,
        view: &View<'_>,
        frame: &Frame,
    ) -> Result<Vec<Activity>, EngineError> {
        let mut spans = view.frame_spans(frame.num)?;
        spans.retain(|span| span.origin != SpanOrigin::FirstTurn);
        let Some(span) = spans.pop() else { return Ok(Vec::new()) };
        Ok(self.in_span(view, &span, self.env.project())?.activities)
    }

    /// The same for the messages after the first one up to and including the second, in a session that works in
    /// `folder`, with the parts of them that can't be read.
    pub(crate) fn activities_between(
        &self,
        view: &View<'_>,
        session: &str,
        (open, close): (Option<&str>, Option<&str>),
        folder: &Path,
    ) -> Result<(Vec<Activity>, Gaps), EngineError> {
        let Some(reader) = self.reader.get() else { return Ok((Vec::new(), Gaps::default())) };
        let messages = view.latest_between(session, open, close, READ)?;
        let read = messages.iter().flat_map(|message| reader(&message.json, folder));
        let unreadable = messages.iter().filter(|it| !it.purged && !it.is_whole()).count() as u64;
        let gaps = Gaps { unreadable, missing: false };
        Ok((read.map(|(_, activity)| activity).collect(), gaps))
    }
}

impl SpanEvidence {
    /// Returns the words and calls in the span in which a frame was last worked on, as far as they can be read now.
    pub(crate) fn activities_of(&self, frame: &Frame) -> Result<Vec<Activity>, EngineError> {
        let Some(session) = &frame.session else { return Ok(Vec::new()) };
        self.sessions.wait_until_written(session);
        self.kernel.read(|view| self.span_reader.activities_in(view, frame))
    }
}
