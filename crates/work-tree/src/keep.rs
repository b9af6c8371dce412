//! Drops objects that no needed state uses.
//!
//! Git's own garbage collection would also drop objects that the project's repository has, which may drop them
//! itself.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::git::GitError;
use crate::shadow::{Shadow, is_folder, list};

/// The time for which an unneeded state is kept: a frame may get a state that was recorded earlier.
const AGE: Duration = Duration::from_hours(14 * 24);
/// The time between two searches for unneeded objects.
const PAUSE: Duration = Duration::from_hours(24);
/// The file whose time is that of the last search.
const MARK: &str = "callstack.kept";

impl Shadow {
    /// Whether the last search for unneeded objects was long ago.
    pub(crate) fn is_crowded(&self) -> bool {
        age(&self.folder().join(MARK)).is_none_or(|age| age > PAUSE)
    }

    /// Drops old objects that are in none of these states. Objects that they share with the index, or with each
    /// other, stay.
    pub(crate) fn keep_only(&self, states: &[String], until: Instant) -> Result<(), GitError> {
        let _alone = self.alone(until)?;
        // If the search takes too long, it is not repeated at once.
        File::create(self.folder().join(MARK)).map_err(|error| self.unwritable(error))?;
        let old: Vec<_> =
            self.loose().filter(|(_, file)| age(file).is_some_and(|age| age > AGE)).collect();
        if old.is_empty() {
            return Ok(());
        }
        let needed = self.reachable(states, until)?;
        for (object, file) in old {
            if !needed.contains(&object) {
                // A file that can't be removed only takes space.
                drop(fs::remove_file(file));
            }
        }
        Ok(())
    }

    /// The objects of our own that are kept each in a file, by name.
    fn loose(&self) -> impl Iterator<Item = (String, PathBuf)> {
        let folders = list(&self.objects()).into_iter().filter(|path| is_folder(path));
        folders.flat_map(|folder| {
            let begins = name(&folder);
            list(&folder).into_iter().filter_map(move |file| {
                let object = format!("{begins}{}", name(&file));
                let is_one = object.len() == 40 && object.bytes().all(|it| it.is_ascii_hexdigit());
                is_one.then_some((object, file))
            })
        })
    }

    /// All that is in these states and in the index.
    fn reachable(&self, states: &[String], until: Instant) -> Result<HashSet<String>, GitError> {
        let gone = self.git_with_alternates(until).missing(states.iter().map(String::as_bytes))?;
        let there = states.iter().filter(|state| !gone.contains(state.as_bytes()));
        let input: Vec<u8> = there.flat_map(|state| state.bytes().chain([b'\n'])).collect();
        let walk = [
            "rev-list",
            "--objects",
            "--no-object-names",
            "--indexed-objects",
            "--missing=allow-any",
            "--stdin",
        ];
        let output = self.git_with_alternates(until).args(walk).run(&input)?;
        Ok(String::from_utf8_lossy(&output).lines().map(str::to_owned).collect())
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the time since a file was changed, if it is there.
fn age(file: &Path) -> Option<Duration> {
    let changed = fs::metadata(file).and_then(|metadata| metadata.modified()).ok()?;
    Some(SystemTime::now().duration_since(changed).unwrap_or_default())
}
