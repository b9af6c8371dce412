//! Files that finished frames wrote and that were changed since by other means.
//!
//! What a frame of ours wrote later is recorded with its hash, and is no news. Only files that are younger
//! than the end of their frame are read at all.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::time::UNIX_EPOCH;

use callstack_core::frame::Frame;
use callstack_store::View;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::files;

/// Files of one frame that are looked at.
const LOOKED_AT: usize = 16;

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// Its content is another one.
    Changed,
    /// It is not there.
    Gone,
}

impl Since {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed since",
            Self::Gone => "gone since",
        }
    }
}

impl Engine {
    /// What became of the files that a finished frame wrote, by path. Empty for one that goes on.
    pub(crate) fn changed_since(
        &self,
        view: &View<'_>,
        frame: &Frame,
    ) -> Result<BTreeMap<String, Since>, EngineError> {
        let mut changed = BTreeMap::new();
        let Some(ended) = frame.ended_at.filter(|_| frame.status.is_finished()) else {
            return Ok(changed);
        };
        for artifact in frame.artifacts.iter().rev().take(LOOKED_AT) {
            if artifact.hash.is_none() {
                continue;
            }
            let since = match self.project().join(&artifact.path).metadata() {
                Err(_) => Since::Gone,
                Ok(metadata) if written_at(&metadata) <= ended => continue,
                Ok(_) => match files::hash(self.project(), &artifact.path) {
                    Some(hash) if !view.is_recorded(&artifact.path, &hash)? => Since::Changed,
                    _ => continue,
                },
            };
            changed.insert(artifact.path.clone(), since);
        }
        Ok(changed)
    }

    /// The same as a reader is told it; empty where nothing became of any.
    pub(crate) fn said_since(&self, view: &View<'_>, frame: &Frame) -> Result<String, EngineError> {
        let changed = self.changed_since(view, frame)?;
        Ok(if changed.is_empty() { String::new() } else { said(&changed) })
    }
}

/// Such as `[changed since: a.rs, b.rs; gone since: c.rs]`.
fn said(changed: &BTreeMap<String, Since>) -> String {
    let list = |which: Since| {
        let paths = changed.iter().filter(|(_, since)| **since == which);
        let paths: Vec<_> = paths.map(|(path, _)| path.as_str()).collect();
        (!paths.is_empty()).then(|| format!("{}: {}", which.as_str(), paths.join(", ")))
    };
    let lists: Vec<_> = [Since::Changed, Since::Gone].into_iter().filter_map(list).collect();
    format!("[{}]", lists.join("; "))
}

/// Milliseconds since 1970; what does not say is as young as can be.
fn written_at(metadata: &Metadata) -> i64 {
    let modified = metadata.modified().ok();
    let since = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or(i64::MAX)
}
