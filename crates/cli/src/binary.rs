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
        let file = file().filter(|file| file.parent().is_some_and(is_own) && is_own(file))?;
        let text = String::from_utf8(plain::read(&file).ok()?).ok()?;
        Some(PathBuf::from(text.trim_end())).filter(|it| it.is_absolute() && it.exists())
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

/// Whether nobody else, other than root, has made a file or may change it; plugins follow no other record.
#[cfg(unix)]
fn is_own(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::getuid().as_raw();
    std::fs::metadata(path).is_ok_and(|it| [0, user].contains(&it.uid()) && it.mode() & 0o022 == 0)
}

#[cfg(not(unix))]
fn is_own(_path: &Path) -> bool {
    true
}
