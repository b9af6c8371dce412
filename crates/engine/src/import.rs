//! Takes over frames that another program or another store wrote down.
//!
//! Whatever the source, reading it ends in a list of [`Imported`] frames; `core` decides about them, and the events
//! are appended in one transaction. A further kind of source is a further reader beside [`read`].

mod read;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use callstack_core::decide::{Import, ImportCounts, import};
use callstack_core::event::Event;
use serde::Serialize;

use crate::error::{EngineError, Kind};
use crate::kernel::Kernel;
use crate::layout::{self, Present};

/// The outcome of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportSummary {
    /// The sources that were read.
    pub sources: Vec<ImportSource>,
    /// The counts of the frames.
    #[serde(flatten)]
    pub counts: ImportCounts,
    /// The entries that could not be imported, and why.
    pub skipped: Vec<Skipped>,
}

/// One thing that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportSource {
    /// The folder or file.
    #[serde(serialize_with = "crate::path_text::serialize")]
    pub path: PathBuf,
    /// Whose shape its frames have: `stack` or `flame`.
    pub format: &'static str,
    /// Frames in it.
    pub frames: u64,
}

/// A frame or a file that could not be taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Skipped {
    /// The frame's id, or the file.
    pub what: String,
    /// Why not; a few words.
    pub why: String,
}

/// Takes over frames from files.
pub(crate) struct Imports {
    kernel: Arc<Kernel>,
}

impl Imports {
    pub(crate) fn new(kernel: &Arc<Kernel>) -> Self {
        Self { kernel: Arc::clone(kernel) }
    }

    /// Takes over the frames of folders (`.opencode/stack`, `.opencode/flame`, or a project that has
    /// them) and of files (a state or a single frame). Without any path, those of this project.
    ///
    /// Frames that the store knows are left as they are, so that importing twice changes nothing. An import is one
    /// change: where a path can't be read at all, nothing is taken over, and the error names the reason.
    pub(crate) fn import(&self, paths: &[PathBuf]) -> Result<ImportSummary, EngineError> {
        let paths = if paths.is_empty() { self.own_sources()? } else { paths.to_vec() };
        let (mut summary, import) = gathered(&paths, self.kernel.now())?;
        summary.counts = self.take_over(&import)?;
        Ok(summary)
    }

    /// Returns the effects of an import of these paths.
    pub(crate) fn would_import(&self, paths: &[PathBuf]) -> Result<ImportSummary, EngineError> {
        let paths = if paths.is_empty() { self.own_sources()? } else { paths.to_vec() };
        let (mut summary, frames) = gathered(&paths, self.kernel.now())?;
        summary.counts = self.kernel.read(|view| {
            let limits = self.kernel.settings_in(view)?.limits;
            Ok::<_, EngineError>(import(view, &frames, &limits)?.counts)
        })?;
        Ok(summary)
    }

    /// The same for a store that does not exist yet: every frame is new to it.
    pub(crate) fn frames_in(paths: &[PathBuf]) -> Result<ImportSummary, EngineError> {
        let (mut summary, frames) = gathered(paths, 0)?;
        summary.counts.imported = frames.frames.len() as u64;
        Ok(summary)
    }

    /// Whether frames lie in this project that [`crate::Engine::import`] takes over without any path.
    pub(crate) fn has_frames_of_others(&self) -> Result<bool, EngineError> {
        Ok(!self.sources_of_others()?.is_empty())
    }

    /// Whether a folder holds frames that [`crate::Engine::import`] takes over.
    pub(crate) fn holds_frames(folder: &Path) -> bool {
        read::holds_frames(folder)
            || !sources_in(folder).is_empty()
            || !sources_in(&folder.join(layout::HOST_FOLDER)).is_empty()
    }

    fn take_over(&self, frames: &Import) -> Result<ImportCounts, EngineError> {
        self.kernel.write(|change| {
            let limits = self.kernel.settings_in(&change.view())?.limits;
            let takeover = import(&change.view(), frames, &limits)?;
            let last = change.view().latest_session()?;
            for (at, event) in &takeover.events {
                change.append(*at, std::slice::from_ref(event))?;
            }
            // The session that worked last here stays the last one.
            if let Some(last) = last
                && !takeover.events.is_empty()
            {
                let active = Event::ActiveSet { session: last.id, frame: last.active };
                change.append(self.kernel.now(), &[active])?;
            }
            Ok(takeover.counts)
        })
    }

    /// Returns the files of other programs in this project, those that were set aside included, without the files
    /// that this store writes for other programs.
    fn sources_of_others(&self) -> Result<Vec<PathBuf>, EngineError> {
        let own = self.kernel.read(|view| Ok::<_, EngineError>(view.identity()?))?;
        let mut found = sources_in(&self.kernel.project().join(layout::HOST_FOLDER));
        found.retain(|folder| match layout::lies_in(folder) {
            Ok(Present::State(state)) => own.is_none() || state.store != own,
            _ => true,
        });
        Ok(found)
    }

    fn own_sources(&self) -> Result<Vec<PathBuf>, EngineError> {
        let found = self.sources_of_others()?;
        if found.is_empty() {
            return Err(EngineError::new(
                Kind::NotFound,
                format!(
                    "there is neither .opencode/stack nor .opencode/flame of another program in {}",
                    self.kernel.project().display()
                ),
            )
            .with_hint("Name the folder or file to import."));
        }
        Ok(found)
    }
}

/// Reads folders and files; `now` replaces times that are missing.
fn gathered(paths: &[PathBuf], now: i64) -> Result<(ImportSummary, Import), EngineError> {
    let mut summary = ImportSummary::default();
    let mut import = Import { host: "opencode".to_owned(), ..Import::default() };
    for path in paths {
        let found = read::read(path, now)?;
        summary.sources.push(ImportSource {
            path: path.clone(),
            format: found.format,
            frames: found.frames.len() as u64,
        });
        summary.skipped.extend(found.skipped);
        import.frames.extend(found.frames);
        import.planned.extend(found.planned);
        import.active = import.active.or(found.active);
    }
    Ok((summary, import))
}

/// The folders with frames in OpenCode's own folder, by name.
fn sources_in(folder: &Path) -> Vec<PathBuf> {
    let ours = |name: &str| {
        [layout::FOLDER, layout::FLAME].iter().any(|folder| {
            // Files that were set aside begin with a dot.
            name.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| ours(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .filter(|path| read::holds_frames(path))
        .collect();
    found.sort();
    found
}
