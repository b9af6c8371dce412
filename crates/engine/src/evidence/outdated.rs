//! Files that the reader of a frame's results had read before the frame changed them, and line numbers in texts of
//! earlier frames.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use callstack_core::evidence::{Activity, Evidence, files_read};
use callstack_core::frame::FrameNum;
use callstack_core::transcript::Span;
use callstack_store::View;

use crate::error::EngineError;
use crate::evidence::SpanReader;

/// Messages before a frame that are read.
const BEFORE: u32 = 200;
/// Frames before it that are read.
const FRAMES: usize = 40;

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
            let is_told = other.foldable && !other.detached && other.live_close().is_some();
            is_told && (caller.is_some() || other.num < span.num)
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
        let mut gone: HashSet<usize> = HashSet::new();
        for other in view.session_spans(session)? {
            let place = |id: Option<&str>| id.and_then(|id| places.get(id)).copied();
            let close = other.live_close().and_then(|close| place(close.message.as_deref()));
            // The text that replaces it contains its line numbers.
            if let Some(close) = close.filter(|_| other.foldable && !other.detached) {
                let open = place(other.open.message.as_deref()).map_or(0, |at| at + 1);
                gone.extend(open..=close);
            }
        }
        let project = folder.to_string_lossy();
        let mut outdated: Vec<String> = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            if gone.contains(&at) {
                continue;
            }
            for (_, activity) in reader(&message.json, folder) {
                let Activity::Called(call) = activity else { continue };
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
