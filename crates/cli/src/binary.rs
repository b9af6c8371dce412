//! The path of the program that plugins start.

use std::io::{self, Write as _};
use std::path::PathBuf;

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
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(binary)
}

/// Returns the program that plugins start: the one that the environment names, else the recorded one, else the one on
/// the path.
pub(crate) fn of_plugins() -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).filter(|it| !it.is_empty()).map(PathBuf::from);
    let recorded = || {
        let text = String::from_utf8(plain::read(&file()?).ok()?).ok()?;
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
