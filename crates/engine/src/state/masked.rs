//! Frames without the secrets in them, for files beside the store.

use std::borrow::Cow;

use callstack_core::evidence::Evidence;
use callstack_core::secrets::{mask, mask_value};
use serde_json::json;

use super::{FrameMetadata, StackState};

impl StackState {
    /// The tree with the secrets of every frame masked.
    #[must_use]
    pub fn masked(mut self) -> Self {
        for frame in self.frames.values_mut() {
            if let Some(masked) = frame.masked() {
                *frame = masked;
            }
        }
        self
    }
}

impl FrameMetadata {
    /// The frame with keys, tokens and passwords of known forms masked; none where it has none. Identifiers stay:
    /// ids, handles, sessions, hashes.
    pub fn masked(&self) -> Option<Self> {
        let mut frame = self.clone();
        let mut found = false;
        let texts =
            [&mut frame.title, &mut frame.success_criteria, &mut frame.success_criteria_compacted];
        let others = [
            frame.results.as_mut(),
            frame.results_compacted.as_mut(),
            frame.goal.as_mut(),
            frame.compaction_summary.as_mut(),
            frame.invalidation_reason.as_mut(),
        ];
        let lists = frame.decisions.iter_mut().chain(&mut frame.artifacts);
        let texts = texts.into_iter().chain(others.into_iter().flatten()).chain(lists);
        for text in texts.chain(frame.pins.values_mut()) {
            found |= mask_text(text);
        }
        let hashes = std::mem::take(&mut frame.artifact_hashes).into_iter();
        frame.artifact_hashes =
            hashes.map(|(path, hash)| (mask(&path).into_owned(), hash)).collect();
        if let Some(evidence) = masked(&frame.evidence) {
            frame.evidence = evidence;
            found = true;
        }
        found.then_some(frame)
    }
}

fn mask_text(text: &mut String) -> bool {
    let Cow::Owned(masked) = mask(text) else { return false };
    *text = masked;
    true
}

fn masked(evidence: &Evidence) -> Option<Evidence> {
    let mut value = json!(evidence);
    if !mask_value(&mut value) {
        return None;
    }
    // A value that can't be read again is left out rather than written unmasked.
    Some(serde_json::from_value(value).unwrap_or_default())
}
