//! The slash commands in a project, a file each: installing and removing them. A file that somebody has changed is left
//! alone.

use std::fs;
use std::path::{Path, PathBuf};

use callstack_engine::{SLASH, Slash};

use crate::error::CommandError;
use crate::plugin::{Outcome, make, read, write};

/// The folder that `OpenCode` loads commands from.
pub(crate) const FOLDER: &str = ".opencode/command";

/// Begins the line that shows whether the rest of a file is as it was installed.
const STAMP: &str = "# callstack ";

/// Installs the commands in a project. Returns the outcome for each file.
pub(crate) fn install(project: &Path) -> Result<Vec<(PathBuf, Outcome)>, CommandError> {
    let folder = project.join(FOLDER);
    SLASH
        .iter()
        .map(|slash| {
            let file = folder.join(format!("{}.md", slash.name));
            let before = read(&file)?;
            let text = rendered(slash);
            let outcome = match &before {
                None => Outcome::Installed,
                Some(before) if *before == text => Outcome::Unchanged,
                Some(before) if is_as_installed(before) => Outcome::Updated,
                Some(_) => Outcome::Kept,
            };
            if matches!(outcome, Outcome::Installed | Outcome::Updated) {
                let failed = CommandError::of_file;
                make(project, &folder).map_err(|error| failed("make", &folder, error))?;
                write(&folder, &file, &text).map_err(|error| failed("write", &file, error))?;
            }
            Ok((file, outcome))
        })
        .collect()
}

/// Removes the files that [`install`] wrote and nobody has changed. Returns the outcome for each file.
pub(crate) fn remove(project: &Path) -> Result<Vec<(PathBuf, Outcome)>, CommandError> {
    SLASH
        .iter()
        .map(|slash| {
            let file = project.join(FOLDER).join(format!("{}.md", slash.name));
            let outcome = match read(&file)? {
                None => Outcome::Absent,
                Some(text) if is_as_installed(&text) => {
                    fs::remove_file(&file)
                        .map_err(|error| CommandError::of_file("remove", &file, error))?;
                    Outcome::Removed
                }
                Some(_) => Outcome::Kept,
            };
            Ok((file, outcome))
        })
        .collect()
}

fn rendered(slash: &Slash) -> String {
    let description = serde_json::Value::from(slash.description);
    let head = format!("---\ndescription: {description}\n");
    let rest = format!("---\n{}\n", slash.template);
    let hash = hash(&format!("{head}{rest}"));
    format!("{head}{STAMP}{hash:016x}: a file that is changed is left alone\n{rest}")
}

/// Whether a file is as some version of callstack has written it.
fn is_as_installed(text: &str) -> bool {
    let Some(stamp) = text.lines().find(|line| line.starts_with(STAMP)) else { return false };
    let said = stamp.strip_prefix(STAMP).and_then(|rest| rest.get(..16));
    let said = said.and_then(|hex| u64::from_str_radix(hex, 16).ok());
    said == Some(hash(&text.replacen(&format!("{stamp}\n"), "", 1)))
}

/// Returns the FNV-1a hash of a text, which is the same in every version.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_distinguished_from_a_changed_one() {
        for slash in SLASH {
            let text = rendered(slash);
            assert!(is_as_installed(&text), "{text}");
            assert!(!is_as_installed(&text.replace("frame", "Frame")));
            assert!(!is_as_installed(&format!("{text}And run the tests.\n")));
            assert!(!is_as_installed(slash.template));
        }
        assert!(!is_as_installed("# callstack zzzz\n") && !is_as_installed("# callstack é"));
    }
}
