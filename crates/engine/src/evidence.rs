//! The evidence of a span: taken from the stored messages when the span is closed, and stored with that.

mod outdated;
mod span;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use callstack_core::event::Event;
use callstack_core::evidence::{Activity, Budget, Evidence, OpenItems, Remains, span_tokens, take};
use callstack_core::frame::{Artifact, Frame, FrameNum};
use callstack_core::log_line::LogLine;
use callstack_core::named_steps::ClosedCalls;
use callstack_core::transcript::{Span, SpanNum};
use callstack_store::{StoreError, View};

use crate::error::EngineError;
use crate::files;
use crate::kernel::{Env, Kernel};
use crate::lock::lock;
use crate::sessions::Sessions;

/// The longest time that the end of a frame waits for the messages of its span to be on the disk. They are written
/// after the hooks that show them, which takes milliseconds; after this time only the stored ones are read.
const PATIENCE: Duration = Duration::from_secs(2);

/// Reads a host's stored message in a project's folder: returns its words and calls, each with the part's id.
pub type Reader = fn(&str, &Path) -> Vec<(String, Activity)>;

/// The evidence of frames, once the messages of their sessions are on the disk.
pub(crate) struct SpanEvidence {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) span_reader: Arc<SpanReader>,
    pub(crate) sessions: Arc<Sessions>,
}

impl SpanEvidence {
    pub(crate) fn new(
        kernel: &Arc<Kernel>,
        span_reader: &Arc<SpanReader>,
        sessions: &Arc<Sessions>,
    ) -> Self {
        Self {
            kernel: Arc::clone(kernel),
            span_reader: Arc::clone(span_reader),
            sessions: Arc::clone(sessions),
        }
    }

    /// Returns the evidence of the open span of a frame, or the innermost one of a session, without the facts in
    /// `results`. Unreadable messages do not keep a frame from ending.
    pub(crate) fn evidence(
        &self,
        session: &str,
        frame: Option<FrameNum>,
        results: Option<&str>,
    ) -> Evidence {
        let taken = self.kernel.read(|view| open_span(view, session, frame)).map_err(Into::into);
        let taken = taken.and_then(|span| {
            let Some(span) = span else { return Ok(Evidence::default()) };
            self.evidence_in(&span, results)
        });
        taken.unwrap_or_else(|error: EngineError| self.without_evidence(error))
    }

    /// The same for a span that is open, or that is about to be opened and closed at once.
    pub(crate) fn evidence_since(&self, span: &Span, results: Option<&str>) -> Evidence {
        let taken = self.evidence_in(span, results);
        taken.unwrap_or_else(|error| self.without_evidence(error))
    }

    fn without_evidence(&self, error: EngineError) -> Evidence {
        self.kernel.log_now(&LogLine::new("Evidence can't be taken").with("why", error.message));
        Evidence::default()
    }

    fn evidence_in(&self, span: &Span, results: Option<&str>) -> Result<Evidence, EngineError> {
        let is_written = self.sessions.wait_until_written(&span.session);
        let (folder, open, is_whole) = {
            let conversation = self.sessions.conversation(&span.session);
            let conversation = lock(&conversation);
            let open = conversation.open_items(span.open.message.as_deref());
            (
                conversation.folder(self.kernel.project()).to_path_buf(),
                open,
                conversation.is_whole(),
            )
        };
        let mut evidence =
            self.kernel.read(|view| self.span_reader.evidence_of(view, span, results, &folder))?;
        evidence.remains.list = open.as_deref().map(OpenItems::at_the_end);
        evidence.gaps.missing = !(is_written && is_whole);
        Ok(evidence)
    }
}

/// Reads evidence from the stored messages of spans, from one view of the store.
pub(crate) struct SpanReader {
    pub(crate) env: Arc<Env>,
    pub(crate) reader: OnceLock<Reader>,
}

impl SpanReader {
    pub(crate) fn new(env: &Arc<Env>) -> Self {
        Self { env: Arc::clone(env), reader: OnceLock::default() }
    }

    /// Returns the evidence of the open span of a frame, or the innermost one of a session, from the messages on the
    /// disk.
    pub(crate) fn evidence_now(
        &self,
        view: &View<'_>,
        session: &str,
        frame: Option<FrameNum>,
        results: Option<&str>,
    ) -> Result<Evidence, EngineError> {
        match open_span(view, session, frame)? {
            Some(span) => self.evidence_of(view, &span, results, self.env.project()),
            None => Ok(Evidence::default()),
        }
    }

    pub(crate) fn evidence_of(
        &self,
        view: &View<'_>,
        span: &Span,
        results: Option<&str>,
        folder: &Path,
    ) -> Result<Evidence, EngineError> {
        let seen = self.in_span(view, span, folder)?;
        let known = (results.unwrap_or_default(), Budget::default());
        let contents = |path: &str| files::text(&self.env.project, path);
        let closed = || ClosedCalls::of(seen.activities.iter().filter_map(Activity::call));
        let mut evidence = Evidence {
            closed: span.origin.has_its_call().then(closed).flatten(),
            unseen: seen.unseen,
            gaps: seen.gaps,
            ..taken_of(&seen.activities, known, folder, &contents)
        };
        for file in &mut evidence.written {
            file.hash = files::hash(&self.env.project, &file.path);
        }
        evidence.outdated = self.outdated(view, span, &evidence, folder)?;
        evidence.renumbered = Self::renumbered(view, span, &evidence)?;
        Ok(evidence)
    }

    /// Returns the evidence of the messages after the first one up to and including the second, in a session that
    /// works in `folder`, without the facts in `known`. The content of files is not read.
    pub(crate) fn evidence_between(
        &self,
        view: &View<'_>,
        session: &str,
        between: (Option<&str>, Option<&str>),
        known: (&str, Budget),
        folder: &Path,
    ) -> Result<Evidence, EngineError> {
        let (span, gaps) = self.activities_between(view, session, between, folder)?;
        Ok(Evidence { gaps, ..taken_of(&span, known, folder, &|_| None) })
    }
}

impl Sessions {
    /// Waits until the messages of a session that this process was shown are on the disk. False if some are still
    /// missing after a while: they can't be read, and are no longer waited for.
    pub(crate) fn wait_until_written(&self, session: &str) -> bool {
        let Some(recorder) = self.recorder.get() else { return true };
        let ticket = lock(&self.conversation(session)).ticket();
        recorder.flush(ticket, PATIENCE)
    }
}

fn taken_of(
    span: &[Activity],
    (known_text, budget): (&str, Budget),
    folder: &Path,
    contents: &dyn Fn(&str) -> Option<String>,
) -> Evidence {
    let project = folder.to_string_lossy();
    let tokens = span_tokens(span);
    let evidence = take(span, known_text, &project, budget.of(tokens), contents);
    Evidence { remains: Remains::of(span, &project), tokens, ..evidence }
}

/// The span in which a frame is being worked on, or the innermost open one of a session.
fn open_span(
    view: &View<'_>,
    session: &str,
    frame: Option<FrameNum>,
) -> Result<Option<Span>, StoreError> {
    let Some(frame) = frame else { return Ok(view.session_open_spans(session)?.pop()) };
    let mut spans = view.frame_spans(frame)?;
    spans.retain(|span| !span.detached && span.live_close().is_none());
    Ok(spans.pop())
}

/// Adds the hashes that files had when they were recorded as artifacts.
pub(crate) fn with_hashes(mut evidence: Evidence, artifacts: &[Artifact]) -> Evidence {
    for file in &mut evidence.written {
        let recorded = artifacts.iter().find(|artifact| file.is_at(&artifact.path));
        file.hash = recorded.and_then(|artifact| artifact.hash.clone());
    }
    evidence
}

/// Returns the event that stores the evidence of a span; none where there is nothing to store or to replace.
pub(crate) fn taken(
    view: &View<'_>,
    frame: FrameNum,
    span: SpanNum,
    evidence: &Evidence,
) -> Result<Option<Event>, StoreError> {
    if evidence.is_empty() && view.span_evidence(span)?.is_empty() {
        return Ok(None);
    }
    let evidence = Box::new(evidence.clone());
    Ok(Some(Event::EvidenceTaken { frame, span: Some(span), evidence }))
}

/// Lines of evidence of a frame whose own artifacts, and those of frames `inside` it, are listed beside it.
pub(crate) fn lines(evidence: &Evidence, frame: &Frame, inside: &[Frame]) -> Vec<String> {
    let frames = std::iter::once(frame).chain(inside);
    let listed: Vec<_> =
        frames.flat_map(|it| &it.artifacts).map(|artifact| artifact.path.clone()).collect();
    evidence.lines_beside(&listed)
}

impl SpanReader {
    /// Sets the reader of stored messages from which evidence is taken. Without one there is no evidence. The first
    /// one counts.
    pub(crate) fn read_messages_with(&self, reader: Reader) {
        self.reader.get_or_init(|| reader);
    }
}
