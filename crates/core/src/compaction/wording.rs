//! Texts about compactions, and the results of a frame that ends with one.

use crate::frame::{Frame, Status};
use crate::results::{ResultsSource, dense};
use crate::returned::{MARK, given, label};
use crate::transcript::Outcome;

use super::{PendingCompaction, PendingCompletion};

/// The heading after which a summary continues with other work than the frame's own. The frame's part becomes its
/// results; the whole stays in the session.
pub const REST_OF_SESSION: &str = "## Rest of the session";

/// Returns the part of a summary that is about the frame for which it was requested: everything before
/// [`REST_OF_SESSION`]; the whole where that heading, or anything before it, is missing.
pub fn frame_summary(summary: &str) -> &str {
    let is_heading = |line: &str| {
        let title = line.trim().trim_start_matches('#').trim().trim_end_matches(':');
        line.trim_start().starts_with('#')
            && title.eq_ignore_ascii_case(REST_OF_SESSION.trim_start_matches('#').trim())
    };
    let mut at = 0;
    for line in summary.split_inclusive('\n') {
        if is_heading(line) {
            let own = summary.get(..at).unwrap_or_default().trim();
            return if own.is_empty() { summary.trim() } else { own };
        }
        at += line.len();
    }
    summary.trim()
}

/// The replacement of a summary that did not come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Instead<'a> {
    /// The frame's newest checkpoint.
    pub checkpoint: Option<&'a str>,
    /// Results that were made in another way, and how.
    pub made: Option<(&'a str, ResultsSource)>,
    /// Why no summary came.
    pub failure: Option<&'a str>,
}

/// Returns the results of a frame that ends with a compaction: those from `source` and then the generated summary, or
/// either alone where the other is missing. Without both they are `instead`, or a sentence that says so; a frame
/// never ends without results.
pub fn combined(
    completion: &PendingCompletion,
    source: ResultsSource,
    summary: Option<&str>,
    instead: &Instead<'_>,
) -> Outcome {
    let own = given(completion.results.as_deref());
    let generated = given(summary).map(frame_summary);
    let failure = instead.failure.unwrap_or("the compaction did not say why");
    let made = instead.made.filter(|(text, _)| !text.trim().is_empty());
    let (results, source) = match (own, generated, given(instead.checkpoint), made) {
        (Some(own), Some(generated), ..) => (
            format!("{own}\n\nSummary generated at its end:\n{generated}"),
            if source == ResultsSource::Agent { ResultsSource::AgentAndCompaction } else { source },
        ),
        (Some(own), None, ..) => (own.to_owned(), source),
        (None, Some(generated), ..) => (generated.to_owned(), ResultsSource::Compaction),
        (None, None, Some(checkpoint), _) => (
            format!(
                "{checkpoint}\n\n(This is an earlier checkpoint: no results were given, and no \
                 summary could be generated at the end: {failure}.)"
            ),
            ResultsSource::Compaction,
        ),
        (None, None, None, Some((text, source))) => (text.trim().to_owned(), source),
        (None, None, None, None) => (
            format!(
                "No results were given, and no summary could be generated: {failure}. What was \
                 done in the frame stands in its log."
            ),
            ResultsSource::Callstack,
        ),
    };
    let compacted = given(completion.results_compacted.as_deref()).map(str::to_owned);
    let compacted = compacted.unwrap_or_else(|| dense(own.or(generated).unwrap_or(&results)));
    // Siblings in other sessions are shown the dense results alone.
    let compacted = match (own, generated) {
        (Some(_), Some(generated)) => {
            format!("{compacted}\nSummary generated at its end: {}", dense(generated))
        }
        _ => compacted,
    };
    Outcome::with(completion.status, results, Some(compacted), source)
}

/// Returns the results for a notice that stands after the summary, which holds the rest of them.
pub fn summary_above(completion: &PendingCompletion) -> String {
    match given(completion.results.as_deref()) {
        Some(own) => format!("{own}\n(And the summary above, which was generated at its end.)"),
        None => "They are the summary above, which was generated at its end.".to_owned(),
    }
}

/// The answer of a pop that waits for its summary.
pub fn completion_awaited(frame: &Frame, status: Status, requested: bool) -> String {
    let frame = label(frame);
    if requested {
        format!(
            "{MARK} frame {frame} ends as {status} with the summary that is generated now: the \
             conversation is compacted, and you go on by yourself behind it. Call nothing else \
             before that."
        )
    } else {
        format!(
            "{MARK} frame {frame} will end as {status} at the next compaction of its session, whose \
             summary becomes part of its results. It stays open until then; a pop without \
             generateSummary ends it at once."
        )
    }
}

/// The answer of a request for a checkpoint.
pub fn checkpoint_awaited(frame: &Frame, requested: bool) -> String {
    let frame = label(frame);
    if requested {
        format!(
            "{MARK} a checkpoint of frame {frame} is made now: the conversation is compacted, and you \
             go on by yourself behind the summary. The frame stays open."
        )
    } else {
        format!(
            "{MARK} the next compaction of the session makes a checkpoint of frame {frame}, which \
             stays open."
        )
    }
}

/// Returns the notice that a checkpoint was made.
pub fn checkpoint_made(frame: &Frame) -> String {
    format!(
        "{MARK} the summary above is stored as a checkpoint of frame {}. The frame is still open: go \
         on with it.",
        label(frame)
    )
}

/// Returns the notice that a checkpoint could not be made.
pub fn checkpoint_failed(frame: &Frame, failure: &str) -> String {
    format!(
        "{MARK} no checkpoint of frame {} could be made: {failure}. The frame is still open: go on \
         with it.",
        label(frame)
    )
}

/// Returns the notice where the text that the frame returned stands earlier in the conversation.
pub fn returned_above(frame: &Frame, parent: Option<&Frame>) -> String {
    let now = match parent {
        Some(parent) => format!("You are now in frame {}: go on with it.", label(parent)),
        None => "That was the whole work of this session: report to the user.".to_owned(),
    };
    format!("{MARK} frame {} has returned: {}. {now}", label(frame), frame.status)
}

/// Returns the notice that a frame could not end with its summary.
pub fn not_completed(frame: &Frame, pending: &PendingCompaction, why: &str) -> String {
    let kept = pending.completion.as_ref().and_then(|it| given(it.results.as_deref()));
    let kept = kept.map_or_else(String::new, |own| format!(" Your results were: {own}"));
    format!(
        "{MARK} frame {} could not end with its summary: {why}. The summary is kept as its \
         checkpoint.{kept}",
        label(frame)
    )
}
