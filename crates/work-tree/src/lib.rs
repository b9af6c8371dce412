//! The state of a project's files, recorded and restored with git, where the project is a git work tree.
//!
//! States are kept in a repository of our own outside the project: nothing is written to the
//! user's index, branches, references or object database. The user's repository lends its objects, so that committed
//! content is not stored twice. Files are taken as they are, byte for byte, whatever conversions the project
//! configures. Files that git ignores are no part of a state; neither are nested repositories. For a file that can't
//! be read, or a large one that is not tracked, a state records only that it is there. A state that no frame needs is
//! dropped two weeks after it was recorded.
//!
//! Not here: the times at which states are recorded, and the choice of files to restore.

mod borrowed;
mod git;
mod index;
mod keep;
mod objects;
mod own;
mod patch;
mod record;
mod restore;
mod shadow;
mod tracked;
mod tree;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use callstack_engine::{EngineError, FileChange, FilePatch, LeftAlone, WorkTree};

use git::{Git, GitError, Objects};
pub use objects::take_objects;
use shadow::Shadow;
pub use tracked::tracked_below;

/// The longest time to compare states or to restore files, for which a person waits.
const PATIENCE: Duration = Duration::from_mins(1);

/// A project's work tree, which is looked for when it is first needed.
#[derive(Debug)]
pub struct GitWorkTree {
    project: PathBuf,
    folder: PathBuf,
    shadow: OnceLock<Shadow>,
}

impl GitWorkTree {
    /// The work tree of a project, whose states are kept in `folder`.
    pub fn new(project: &Path, folder: &Path) -> Self {
        Self { project: project.to_path_buf(), folder: folder.join("git"), shadow: OnceLock::new() }
    }

    fn shadow(&self, until: Instant) -> Result<Option<&Shadow>, GitError> {
        if let Some(known) = self.shadow.get() {
            return Ok(Some(known));
        }
        let Some(objects) = self.objects(until)? else { return Ok(None) };
        let made = Shadow::open(&self.project, &self.folder, objects, until)?;
        Ok(Some(self.shadow.get_or_init(|| made)))
    }

    /// Returns the place of the objects of the project's repository; none where it is no work tree.
    fn objects(&self, until: Instant) -> Result<Option<Objects>, GitError> {
        // It may become a work tree at any time; git is asked only where it may be one.
        if !self.project.ancestors().any(|folder| folder.join(".git").exists()) {
            return Ok(None);
        }
        Git::objects_of(&self.project, until)
    }

    /// Runs something in the repository, within a time limit.
    fn with<T>(
        &self,
        act: impl FnOnce(&Shadow, Instant) -> Result<T, GitError>,
    ) -> Result<T, EngineError> {
        let until = Instant::now() + PATIENCE;
        let Some(shadow) = self.shadow(until).map_err(GitError::into_error)? else {
            return Err(EngineError::invalid(
                format!("{} is no git work tree", self.project.display()),
                "States of files are recorded and restored with git only.",
            ));
        };
        act(shadow, until).map_err(GitError::into_error)
    }
}

impl WorkTree for GitWorkTree {
    fn check(&self, patience: Duration) -> Result<(), EngineError> {
        self.objects(Instant::now() + patience).map(drop).map_err(GitError::into_error)
    }

    fn record(&self, patience: Duration) -> Result<Option<String>, EngineError> {
        let until = Instant::now() + patience;
        let shadow = self.shadow(until).map_err(GitError::into_error)?;
        shadow.map(|shadow| shadow.record(until)).transpose().map_err(GitError::into_error)
    }

    fn changes(&self, from: &str, to: &str) -> Result<Vec<FileChange>, EngineError> {
        self.with(|shadow, until| shadow.changes(from, to, until))
    }

    fn moved(&self, from: &str, to: &str) -> Result<BTreeSet<String>, EngineError> {
        self.with(|shadow, until| shadow.moved(from, to, until))
    }

    fn patches(
        &self,
        from: &str,
        to: &str,
        paths: &[String],
    ) -> Result<Vec<FilePatch>, EngineError> {
        self.with(|shadow, until| shadow.patches(from, to, paths, until))
    }

    fn held(&self, state: &str) -> Result<BTreeSet<String>, EngineError> {
        self.with(|shadow, until| shadow.held(state, until))
    }

    fn restore(
        &self,
        from: &str,
        to: &str,
        paths: &[String],
    ) -> Result<Vec<LeftAlone>, EngineError> {
        self.with(|shadow, until| shadow.restore(from, to, paths, until))
    }

    fn is_crowded(&self) -> bool {
        self.shadow.get().is_some_and(Shadow::is_crowded)
    }

    fn keep_only(&self, needed: &[String], patience: Duration) -> Result<(), EngineError> {
        let until = Instant::now() + patience;
        let shadow = self.shadow(until).map_err(GitError::into_error)?;
        shadow
            .map_or(Ok(()), |shadow| shadow.keep_only(needed, until))
            .map_err(GitError::into_error)
    }
}
