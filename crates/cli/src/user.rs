//! The user's own folders, with the record of stores and the user's configuration.

use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use callstack_engine::{EngineError, Kind, UserConfiguration, plain};
use callstack_store::Registry;
use callstack_work_tree::tracked_below;

/// The variable that names projects whose stores are trusted without a record.
pub(crate) const TRUST: &str = "CALLSTACK_TRUST";

/// Returns the record of the stores that this user trusts.
pub(crate) fn registry() -> Result<Registry, EngineError> {
    Ok(registry_in(&state().ok_or_else(|| homeless("stores would be on record"))?))
}

/// Returns the record of stores in another state folder than the user's.
pub(crate) fn registry_in(state: &Path) -> Registry {
    let named = std::env::var_os(TRUST).unwrap_or_default();
    let named: Vec<_> = std::env::split_paths(&named).filter(|path| path.is_absolute()).collect();
    Registry::new(state, tracked_below).trusting(named)
}

/// Returns the user's own configuration; an empty one if there is no file.
pub(crate) fn configuration() -> Result<UserConfiguration, EngineError> {
    let Some(path) = configuration_file() else { return Ok(UserConfiguration::default()) };
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(UserConfiguration::default());
        }
        text => text.map_err(|error| unusable(&path, error))?,
    };
    UserConfiguration::parse(&text).map_err(|error| {
        let message = format!("{}: {}", path.display(), error.message);
        error.saying(message)
    })
}

/// Returns a mark that changes with the user's configuration: the time of its last change, and its length in bytes.
pub(crate) fn mark() -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(configuration_file()?).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Writes the user's own configuration, as a whole.
pub(crate) fn configure(changed: &UserConfiguration) -> Result<(), EngineError> {
    let path = configuration_file().ok_or_else(|| homeless("your configuration would lie"))?;
    let failed = |error| unusable(&path, error);
    // If the file is a link, its target is written.
    let path = std::fs::canonicalize(&path).unwrap_or(path.clone());
    let folder = path.parent().unwrap_or(&path);
    plain::make_private(folder).map_err(failed)?;
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(changed.text().as_bytes()).map_err(failed)?;
    plain::give_to_owner(file.as_file(), folder);
    file.as_file().sync_all().map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// Returns the path of the user's own configuration.
pub(crate) fn configuration_file() -> Option<PathBuf> {
    folder("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("config.toml"))
}

fn unusable(path: &Path, error: io::Error) -> EngineError {
    EngineError::new(
        Kind::Unavailable,
        format!("your configuration {} can't be used: {error}", path.display()),
    )
    .with_hint("Make it readable and writable, or remove it.")
    .caused_by(error)
}

/// Returns the error that there is no home folder, in which `what` would happen.
pub(crate) fn homeless(what: &str) -> EngineError {
    EngineError::new(Kind::Unavailable, format!("there is no home folder, in which {what}"))
        .with_hint("Set HOME, or XDG_STATE_HOME and XDG_CONFIG_HOME.")
}

/// Returns this program's folder for the user's state, if there is a home folder.
pub(crate) fn state() -> Option<PathBuf> {
    folder("XDG_STATE_HOME", ".local/state")
}

/// Returns the user's home folder.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// Returns this program's folder in one of the user's folders: the one that a variable names, else the one below the
/// home folder.
fn folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let said = std::env::var_os(variable).map(PathBuf::from).filter(|it| it.is_absolute());
    said.or_else(|| home().map(|home| home.join(below_home))).map(|it| it.join("callstack"))
}
