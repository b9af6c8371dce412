//! The path of the program that plugins start.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use callstack_engine::{EngineError, Kind, plain, unfinished};

use crate::user::{homeless, state};

/// The environment variable with the path of the program, which takes precedence.
pub(crate) const VARIABLE: &str = "CALLSTACK_BIN";

/// Records the path of this program, by which plugins start it: plugins may be shared with a project, and so name no
/// folder of one machine.
pub(crate) fn record() -> Result<PathBuf, EngineError> {
    let binary = this()?;
    let Some(text) = binary.to_str() else {
        return Err(EngineError::invalid(
            format!("the path of this program, {}, is not UTF-8", binary.display()),
            "Install callstack into a folder with a plain name.",
        ));
    };
    let path = file().ok_or_else(|| homeless("it is recorded where callstack is"))?;
    let folder = path.parent().unwrap_or(&path);
    let failed = |error: io::Error| {
        EngineError::new(Kind::Unavailable, format!("{} can't be written: {error}", path.display()))
            .with_hint("Plugins find callstack there. Make the folder writable.")
            .caused_by(error)
    };
    plain::make_private(folder).map_err(failed)?;
    let mut file = unfinished::builder().tempfile_in(folder).map_err(failed)?;
    writeln!(file, "{text}").map_err(failed)?;
    plain::give_to_owner(file.as_file(), folder);
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(binary)
}

/// Returns the program that plugins start: the one that the environment names, else the recorded one, else the one on
/// the path.
pub(crate) fn of_plugins() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).filter(|it| !it.is_empty()).map(PathBuf::from);
    let recorded = || {
        let record = file().filter(|file| is_own_with_folder(file, 0o022))?;
        let text = String::from_utf8(plain::read(&record).ok()?).ok()?;
        let program = PathBuf::from(text.trim_end());
        Some(program).filter(|it| it.is_absolute() && is_own_with_folder(it, 0o002))
    };
    let on_path = || {
        let folders = std::env::var_os("PATH")?;
        std::env::split_paths(&folders).map(|it| it.join("callstack")).find(|it| it.is_file())
    };
    named.or_else(recorded).or_else(on_path)
}

/// Returns the path of this program, as a plugin has to call it.
pub(crate) fn this() -> Result<PathBuf, EngineError> {
    std::env::current_exe().map_err(|error| {
        EngineError::new(
            Kind::Unavailable,
            format!("the running callstack can't be found: {error}"),
        )
        .with_hint("Check that it is there.")
        .caused_by(error)
    })
}

fn file() -> Option<PathBuf> {
    state().map(|folder| folder.join("binary"))
}

/// Whether nobody else, other than root, has made a file and its folder, or may change them by one of the permissions
/// `open`; plugins follow no other record.
#[cfg(unix)]
fn is_own_with_folder(file: &Path, open: u32) -> bool {
    use std::fs::{metadata, symlink_metadata};
    use std::os::unix::fs::MetadataExt as _;
    let users = [0, rustix::process::getuid().as_raw()];
    let is_own = |path: &Path| {
        let found = [symlink_metadata(path), metadata(path)];
        found.iter().all(|it| it.as_ref().is_ok_and(|it| users.contains(&it.uid())))
            && metadata(path).is_ok_and(|it| it.mode() & open == 0)
    };
    is_own(file) && file.parent().is_some_and(is_own)
}

#[cfg(not(unix))]
fn is_own_with_folder(file: &Path, _open: u32) -> bool {
    file.exists()
}
