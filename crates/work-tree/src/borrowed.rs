//! Objects that the project's own repository lends. It keeps those of its commits; a state copies all others, which
//! that repository may drop.

use std::time::Instant;

use crate::git::{Git, GitError};
use crate::shadow::Shadow;
use crate::tree;

impl Shadow {
    /// Makes sure that a state needs no object of the project's own repository except those of
    /// its current commit.
    pub(crate) fn keep_borrowed(&self, state: &str, until: Instant) -> Result<(), GitError> {
        if !self.has_alternates() {
            return Ok(());
        }
        let commit = ["rev-parse", "--verify", "--quiet", "HEAD:./"];
        let committed = match Git::at(&self.project, until).args(commit).run(&[]) {
            Ok(tree) => String::from_utf8_lossy(&tree).trim().to_owned(),
            // There is no commit yet, or this folder is not in it.
            Err(GitError::Refused(_)) => self.empty(until)?,
            Err(failure) => return Err(failure),
        };
        if committed == state || self.is_safe(&committed, state) {
            return Ok(());
        }
        let compare = [
            "diff-tree",
            "-r",
            "-t",
            "-z",
            "--no-renames",
            "--raw",
            "--no-abbrev",
            &committed,
            state,
        ];
        let output = self.git_with_alternates(until).args(compare).run(&[])?;
        let beside = tree::entries(&output).filter(tree::Entry::is_recorded_after);
        let beside = beside.map(|entry| entry.id_after).chain([state.as_bytes()]);
        let missing = self.own_git(until).missing(beside)?;
        if !missing.is_empty() {
            let pack = self.objects().join("pack/pack");
            let mut input = missing.into_iter().collect::<Vec<_>>().join(&b'\n');
            input.push(b'\n');
            let copy =
                self.git_with_alternates(until).args(["pack-objects", "--quiet", "--window=0"]);
            copy.args([pack]).run(&input)?;
        }
        self.set_safe(committed, state);
        Ok(())
    }

    /// The state without any file.
    fn empty(&self, until: Instant) -> Result<String, GitError> {
        let made = self.own_git(until).args(["mktree"]).run(&[])?;
        Ok(String::from_utf8_lossy(&made).trim().to_owned())
    }
}
