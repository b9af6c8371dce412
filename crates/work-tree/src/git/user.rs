//! The parts of the user's own configuration of git that are taken over: the ignored files, and the foreign
//! repositories that may be read.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::{Git, GitError, path};

const ASKED: &str = r"^(core\.excludesfile|safe\.directory)$";

/// The user's settings for a folder.
#[derive(Debug, Default)]
pub(crate) struct UserSettings {
    /// Settings as git takes them on its command line.
    settings: Vec<OsString>,
    /// A file with more patterns of ignored files, which the repository names.
    excludes: Option<PathBuf>,
}

impl UserSettings {
    /// The settings for a folder, which are read once in a process.
    pub(crate) fn of(folder: &Path, until: Instant) -> Result<Arc<Self>, GitError> {
        static KNOWN: Mutex<Option<HashMap<PathBuf, Arc<UserSettings>>>> = Mutex::new(None);
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(settings) = known().as_ref().and_then(|known| known.get(folder)) {
            return Ok(Arc::clone(settings));
        }
        let settings = Arc::new(Self::read(folder, until)?);
        let kept = Arc::clone(&settings);
        known().get_or_insert_default().insert(folder.to_path_buf(), kept);
        Ok(settings)
    }

    pub(crate) fn settings(&self) -> impl Iterator<Item = &OsString> {
        self.settings.iter()
    }

    /// Returns a file with patterns of ignored files that git doesn't get as a setting.
    pub(crate) fn excludes(&self) -> Option<&Path> {
        self.excludes.as_deref().filter(|file| file.is_file())
    }

    fn read(folder: &Path, until: Instant) -> Result<Self, GitError> {
        let ask = ["config", "--null", "--show-scope", "--type=path", "--get-regexp", ASKED];
        let said = match Git::with_all_configuration(folder, until).args(ask).run(&[]) {
            Ok(said) => said,
            // Nothing is set.
            Err(GitError::Refused(words)) if words.is_empty() => Vec::new(),
            Err(failure) => return Err(failure),
        };
        let mut excludes = default_excludes();
        let mut read = Self::default();
        let mut fields = said.split(|byte| *byte == 0);
        while let (Some(scope), Some(entry)) = (fields.next(), fields.next()) {
            let mut halves = entry.splitn(2, |byte| *byte == b'\n');
            let (Some(name), Some(value)) = (halves.next(), halves.next()) else { continue };
            let is_repository = matches!(scope, b"local" | b"worktree");
            match name {
                b"core.excludesfile" if is_repository => {
                    read.excludes = Some(folder.join(path(value)));
                }
                b"core.excludesfile" => excludes = Some(path(value)),
                // No repository says of itself that it is safe.
                b"safe.directory" if !is_repository => {
                    read.set("safe.directory=", path(value).into_os_string());
                }
                _ => {}
            }
        }
        let excludes = excludes.map_or_else(|| "/dev/null".into(), PathBuf::into_os_string);
        read.set("core.excludesFile=", excludes);
        Ok(read)
    }

    fn set(&mut self, name: &str, value: OsString) {
        let mut setting = OsString::from(name);
        setting.push(value);
        self.settings.push(setting);
    }
}

/// Returns the file that git reads where none is configured.
fn default_excludes() -> Option<PathBuf> {
    let folder = |name| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let configuration = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
    Some(configuration?.join("git").join("ignore"))
}
