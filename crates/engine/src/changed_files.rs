//! Files that finished frames wrote and that were changed since by other means.
//!
//! A file whose current content was left by a later frame (known by its recorded hash) does not count as changed. A
//! file is read only if it was touched after its frame ended, and again only if its times or size differ. For a
//! context, at most 16 files of each frame are checked and 4 MB read in all. If a file may not be read, its last known
//! hash is used.

use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::time::{SystemTime, UNIX_EPOCH};

use callstack_core::frame::Frame;
use callstack_store::View;

use crate::assembly::Contexts;
use crate::error::EngineError;
use crate::files;
use crate::lock::lock;

/// Files of one frame that are read for a context.
const LOOKED_AT: usize = 16;
/// Bytes of files that are read for one context: some milliseconds' worth.
const FOR_A_CONTEXT: u64 = 4 * 1024 * 1024;
/// Milliseconds after which another write of a file is sure to change its times: file systems count them in steps of
/// up to two seconds. A hash taken earlier is not kept.
const SETTLED: i64 = 2_000;
/// The most files whose hashes are kept in memory; beyond that all are read again.
const IN_MIND: usize = 4_096;

/// The limits of what may still be read from files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadBudget {
    bytes: u64,
    files_of_a_frame: usize,
}

impl ReadBudget {
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

/// Files by their paths: their times and sizes when they were read, and the hashes of their content.
#[derive(Debug, Default)]
pub(crate) struct Seen(HashMap<String, (Stamp, String)>);

/// The time at which a file was written, the time at which it was last touched, and its length.
type Stamp = (Option<SystemTime>, i64, u64);

/// The change of a file since a frame's end.
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
    /// Returns the changes of the files that a finished frame wrote, by path. Empty for one that goes on.
    pub(crate) fn changed_since(
        &self,
        view: &View<'_>,
        frame: &Frame,
        budget: &mut ReadBudget,
    ) -> Result<BTreeMap<String, Since>, EngineError> {
        let mut changed = BTreeMap::new();
        let Some(ended) = frame.ended_at.filter(|_| frame.status.is_finished()) else {
            return Ok(changed);
        };
        for artifact in frame.artifacts.iter().rev().take(budget.files_of_a_frame) {
            if artifact.hash.is_none() {
                continue;
            }
            let since = match self.env.project().join(&artifact.path).metadata() {
                Err(_) => Since::Gone,
                // A path that had a hash was a file, and not too large for one.
                Ok(metadata) if !metadata.is_file() || metadata.len() > files::LARGEST_FILE => {
                    Since::Changed
                }
                Ok(metadata) if touched_at(&metadata) <= ended => continue,
                Ok(metadata) => match self.content_now(&artifact.path, &metadata, budget) {
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

    /// The same as text for a reader; empty where no file was changed.
    pub(crate) fn said_since(
        &self,
        view: &View<'_>,
        frame: &Frame,
        budget: &mut ReadBudget,
    ) -> Result<String, EngineError> {
        let changed = self.changed_since(view, frame, budget)?;
        Ok(if changed.is_empty() { String::new() } else { said(&changed) })
    }

    /// Returns the hash of a file's content: of the content now, or, if `budget` leave no room for it, of the content
    /// when the file was last read. None if it can't be read, or there is no room and it was never read.
    fn content_now(
        &self,
        path: &str,
        metadata: &Metadata,
        budget: &mut ReadBudget,
    ) -> Option<String> {
        let touched = touched_at(metadata);
        let stamp = (metadata.modified().ok(), touched, metadata.len());
        let known = lock(&self.seen).0.get(path).cloned();
        let is_same = known.as_ref().is_some_and(|(then, _)| *then == stamp);
        if is_same || !budget.take(metadata.len()) {
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

/// Returns the time at which a file was written or moved to its place, whichever was later: a move does not change
/// the time of the write. Milliseconds since 1970; the largest value where there is no time.
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
