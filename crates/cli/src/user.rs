//! The user's own folders: where stores are on record, and where the user's configuration lies.

use std::path::{Path, PathBuf};

use callstack_engine::{EngineError, Kind};
use callstack_store::{FOLDER, Registry};
use callstack_work_tree::tracked_below;

/// The variable that names projects whose stores are trusted without a record.
pub(crate) const TRUST: &str = "CALLSTACK_TRUST";

/// The record of the stores that this user trusts.
pub(crate) fn registry() -> Result<Registry, EngineError> {
    let state = folder("XDG_STATE_HOME", ".local/state").ok_or_else(|| EngineError {
        kind: Kind::Unavailable,
        message: "there is no home folder, in which stores would be on record".to_owned(),
        hint: Some("Set HOME or XDG_STATE_HOME.".to_owned()),
    })?;
    Ok(registry_in(&state))
}

/// The record in another state folder than the user's.
pub(crate) fn registry_in(state: &Path) -> Registry {
    let named = std::env::var_os(TRUST).unwrap_or_default();
    let named: Vec<_> = std::env::split_paths(&named).filter(|path| path.is_absolute()).collect();
    Registry::new(state, |project| tracked_below(project, FOLDER)).trusting(named)
}

/// This program's folder in one of the user's folders: where a variable says, else below the home folder.
fn folder(variable: &str, below_home: &str) -> Option<PathBuf> {
    let said = std::env::var_os(variable).map(PathBuf::from).filter(|it| it.is_absolute());
    let home = || std::env::home_dir().filter(|home| home.is_absolute());
    said.or_else(|| home().map(|home| home.join(below_home))).map(|it| it.join("callstack"))
}
