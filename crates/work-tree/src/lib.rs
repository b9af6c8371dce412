//! The state of a project's files, recorded and restored with git, where the project is a git work tree.
//!
//! States are kept in a repository of our own below the project's `.callstack`: nothing is written to the
//! user's index, branches, references or object database. That one lends its objects, so that what is
//! committed there is not stored twice. Files are taken as they are, byte for byte, whatever
//! conversions the project asks git for. What git ignores is no part of a state; neither are nested
//! repositories.
//!
//! Not here: when a state is recorded, and which files are restored.

mod git;
mod shadow;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use callstack_engine::{EngineError, FileChange, WorkTree};

use git::Git;
use shadow::Shadow;

/// A project's work tree, asked for when it is first needed.
#[derive(Debug)]
pub struct GitWorkTree {
    project: PathBuf,
    folder: PathBuf,
    shadow: OnceLock<Option<Shadow>>,
}

impl GitWorkTree {
    /// The work tree of a project, whose states are kept in `folder`.
    pub fn new(project: &Path, folder: &Path) -> Self {
        Self { project: project.to_path_buf(), folder: folder.join("git"), shadow: OnceLock::new() }
    }

    fn shadow(&self) -> Result<Option<&Shadow>, EngineError> {
        if let Some(known) = self.shadow.get() {
            return Ok(known.as_ref());
        }
        let made = match Git::objects_of(&self.project)? {
            Some(objects) => Some(Shadow::open(&self.project, &self.folder, &objects)?),
            None => None,
        };
        Ok(self.shadow.get_or_init(|| made).as_ref())
    }

    fn existing(&self) -> Result<&Shadow, EngineError> {
        self.shadow()?.ok_or_else(|| {
            EngineError::invalid(
                format!("{} is no git work tree", self.project.display()),
                "States of files are recorded and restored with git only.",
            )
        })
    }
}

impl WorkTree for GitWorkTree {
    fn record(&self) -> Result<Option<String>, EngineError> {
        self.shadow()?.map(Shadow::record).transpose()
    }

    fn changes(&self, from: &str, to: &str) -> Result<Vec<FileChange>, EngineError> {
        self.existing()?.changes(from, to)
    }

    fn restore(&self, state: &str, paths: &[String]) -> Result<(), EngineError> {
        self.existing()?.restore(state, paths)
    }
}
