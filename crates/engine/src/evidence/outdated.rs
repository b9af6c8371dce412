//! Files that the reader of a frame's results had read before the frame changed them, and line numbers in texts of
//! earlier frames.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use callstack_core::evidence::{Activity, Evidence, files_read};
use callstack_core::frame::FrameNum;
use callstack_core::transcript::{Anchor, Span};
use callstack_store::View;

use crate::error::EngineError;
use crate::evidence::SpanReader;
use crate::work::Parts;

/// Messages before a frame that are read.
const BEFORE: u32 = 200;
/// Frames before it that are read.
const FRAMES: usize = 40;

/// A call at which a span begins or ends, or the end of a message.
struct Edge {
    /// The place of the message.
    at: usize,
    call: Option<String>,
}

impl Edge {
    /// Whether it stands before a part of the message at a place.
    fn is_before(&self, at: usize, part: &str, parts: &Parts) -> bool {
        let is_after = |call: &String| parts.is_after(part, call);
        self.at < at || (self.at == at && self.call.as_ref().is_some_and(is_after))
    }
}

impl SpanReader {
    /// Returns files that a span changed and whose line numbers stand in texts of earlier frames in its session,
    /// where its text is read: these are never rendered again.
    pub(crate) fn renumbered(
        view: &View<'_>,
        span: &Span,
        evidence: &Evidence,
    ) -> Result<Vec<String>, EngineError> {
        let moved: Vec<&str> = evidence
            .changes
            .iter()
            .filter(|change| !change.keeps_numbers && !evidence.outdated.contains(&change.path))
            .map(|change| change.path.as_str())
            .collect();
        if moved.is_empty() {
            return Ok(Vec::new());
        }
        let caller = view.delegation(span.num)?.map(|stored| stored.delegation.caller);
        let session = caller.as_deref().unwrap_or(&span.session);
        let mut before = view.session_spans(session)?;
        before.retain(|other| {
            let is_shown = other.foldable && !other.detached && other.live_close().is_some();
            is_shown && (caller.is_some() || other.num < span.num)
        });
        let ended: HashSet<FrameNum> = before.iter().map(|other| other.frame).collect();
        let mut renumbered: Vec<String> = Vec::new();
        for other in before.iter().rev().take(FRAMES) {
            // The text of the frame around it has replaced it.
            if view.frame(other.frame)?.parent.is_some_and(|around| ended.contains(&around)) {
                continue;
            }
            for path in view.span_evidence(other.num)?.numbered_files() {
                if moved.contains(&path) && !renumbered.iter().any(|it| it == path) {
                    renumbered.push(path.to_owned());
                }
            }
        }
        Ok(renumbered)
    }

    /// Returns the files that a frame changed and whose earlier content is in its reader's requests.
    pub(super) fn outdated(
        &self,
        view: &View<'_>,
        span: &Span,
        evidence: &Evidence,
        folder: &Path,
    ) -> Result<Vec<String>, EngineError> {
        let Some(reader) = self.reader.get().filter(|_| !evidence.written.is_empty()) else {
            return Ok(Vec::new());
        };
        // The results of a delegated session are read by the session that called it.
        let caller = view.delegation(span.num)?.map(|stored| stored.delegation.caller);
        let (session, until) = match &caller {
            Some(caller) => (caller.as_str(), None),
            None => (span.session.as_str(), span.open.message.as_deref()),
        };
        let messages = view.latest_between(session, None, until, BEFORE)?;
        let places: HashMap<&str, usize> =
            messages.iter().enumerate().map(|(at, message)| (message.id.as_str(), at)).collect();
        let edge = |anchor: &Anchor| {
            let at = *places.get(anchor.message.as_deref()?)?;
            Some(Edge { at, call: anchor.call.clone() })
        };
        // The texts that replace them contain their line numbers.
        let gone: Vec<(Option<Edge>, Edge)> = view
            .session_spans(session)?
            .iter()
            .filter(|other| other.foldable && !other.detached)
            .filter_map(|other| Some((edge(&other.open), edge(other.live_close()?)?)))
            .collect();
        let begins = edge(&span.open).filter(|_| caller.is_none());
        let project = folder.to_string_lossy();
        let mut outdated: Vec<String> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            let parts = Parts::of(&message.json);
            for (part, activity) in reader(&message.json, folder) {
                let Activity::Called(call) = activity else { continue };
                let is_after = |edge: &Edge| edge.is_before(at, &part, &parts);
                let is_gone = gone
                    .iter()
                    .any(|(open, close)| open.as_ref().is_none_or(is_after) && !is_after(close));
                if is_gone || begins.as_ref().is_some_and(is_after) {
                    continue;
                }
                for path in files_read(&call, &project) {
                    let is_changed = evidence.written.iter().any(|file| file.path == path);
                    if is_changed && !outdated.contains(&path) {
                        outdated.push(path);
                    }
                }
            }
        }
        Ok(outdated)
    }
}
