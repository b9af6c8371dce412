//! Files that finished frames wrote and that were changed since by other means.
//!
//! What a frame of ours wrote later is recorded with its hash, and is no news. Only files that were touched
//! after the end of their frame are read at all, each once for as long as it stays as it is, and no more of
//! them for a context than a hook has time for. What is beyond that is left as it was known last.

use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::time::{SystemTime, UNIX_EPOCH};

use callstack_core::frame::Frame;
use callstack_store::View;

use crate::assembly::Contexts;
use crate::error::EngineError;
use crate::files;
use crate::lock::lock;

/// Files of one frame that are looked at for a context.
const LOOKED_AT: usize = 16;
/// Bytes of files that are read for one context: some milliseconds' worth.
const FOR_A_CONTEXT: u64 = 4 * 1024 * 1024;
/// Milliseconds after which a file that was written is not written again within what its times can tell.
const SETTLED: i64 = 2_000;
/// Files that are kept in mind; beyond that all are read again.
const IN_MIND: usize = 4_096;

/// How much of files may still be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looks {
    bytes: u64,
    files_of_a_frame: usize,
}

impl Looks {
    /// As much as a context may cost.
    pub(crate) fn for_a_context() -> Self {
        Self { bytes: FOR_A_CONTEXT, files_of_a_frame: LOOKED_AT }
    }

    /// All that is asked for.
    pub(crate) fn whole() -> Self {
        Self { bytes: u64::MAX, files_of_a_frame: usize::MAX }
    }

    /// Nothing: others wait meanwhile.
    pub(crate) fn none() -> Self {
        Self { bytes: 0, files_of_a_frame: LOOKED_AT }
    }

    fn take(&mut self, bytes: u64) -> bool {
        let left = self.bytes.checked_sub(bytes);
        self.bytes = left.unwrap_or(self.bytes);
        left.is_some()
    }
}

/// Files by their paths: as they were when they were read, and the hashes of what was in them.
#[derive(Debug, Default)]
pub(crate) struct Seen(HashMap<String, (Stamp, String)>);

/// When a file was written, when it was last touched, and how long it is.
type Stamp = (Option<SystemTime>, i64, u64);

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

impl Contexts {
    /// What became of the files that a finished frame wrote, by path. Empty for one that goes on.
    pub(crate) fn changed_since(
        &self,
        view: &View<'_>,
        frame: &Frame,
        looks: &mut Looks,
    ) -> Result<BTreeMap<String, Since>, EngineError> {
        let mut changed = BTreeMap::new();
        let Some(ended) = frame.ended_at.filter(|_| frame.status.is_finished()) else {
            return Ok(changed);
        };
        for artifact in frame.artifacts.iter().rev().take(looks.files_of_a_frame) {
            if artifact.hash.is_none() {
                continue;
            }
            let since = match self.env.project().join(&artifact.path).metadata() {
                Err(_) => Since::Gone,
                // What had a hash was a file, and none that is too large for one.
                Ok(metadata) if !metadata.is_file() || metadata.len() > files::LARGEST_FILE => {
                    Since::Changed
                }
                Ok(metadata) if touched_at(&metadata) <= ended => continue,
                Ok(metadata) => match self.content_now(&artifact.path, &metadata, looks) {
                    Some(hash)
                        if !view.is_left_since(&artifact.path, &hash, frame.num, ended)? =>
                    {
                        Since::Changed
                    }
                    _ => continue,
                },
            };
            changed.insert(artifact.path.clone(), since);
        }
        Ok(changed)
    }

    /// The same as a reader is told it; empty where nothing became of any.
    pub(crate) fn said_since(
        &self,
        view: &View<'_>,
        frame: &Frame,
        looks: &mut Looks,
    ) -> Result<String, EngineError> {
        let changed = self.changed_since(view, frame, looks)?;
        Ok(if changed.is_empty() { String::new() } else { said(&changed) })
    }

    /// The hash of what is in a file, or was when it was last read; none for what was not read yet and can't
    /// be now.
    fn content_now(&self, path: &str, metadata: &Metadata, looks: &mut Looks) -> Option<String> {
        let touched = touched_at(metadata);
        let stamp = (metadata.modified().ok(), touched, metadata.len());
        let known = lock(&self.seen).0.get(path).cloned();
        let is_same = known.as_ref().is_some_and(|(then, _)| *then == stamp);
        if is_same || !looks.take(metadata.len()) {
            return known.map(|(_, hash)| hash);
        }
        let hash = files::hash(self.env.project(), path)?;
        if touched.saturating_add(SETTLED) < self.env.now() {
            let mut seen = lock(&self.seen);
            if seen.0.len() >= IN_MIND {
                seen.0.clear();
            }
            seen.0.insert(path.to_owned(), (stamp, hash.clone()));
        }
        Some(hash)
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

/// When a file was written or put in its place, whichever was last: one that is moved over another keeps
/// the time at which it was written. Milliseconds since 1970; what does not say is as young as can be.
fn touched_at(metadata: &Metadata) -> i64 {
    let modified = metadata.modified().ok();
    let since = modified.and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    let written = since.and_then(|since| i64::try_from(since.as_millis()).ok());
    written.unwrap_or(i64::MAX).max(placed_at(metadata))
}

#[cfg(unix)]
fn placed_at(metadata: &Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt as _;
    metadata.ctime().saturating_mul(1_000).saturating_add(metadata.ctime_nsec() / 1_000_000)
}

#[cfg(not(unix))]
fn placed_at(_: &Metadata) -> i64 {
    i64::MIN
}
