//! Paths in JSON, which is Unicode. Paths need not be.

use std::borrow::Cow;
use std::path::Path;

use serde::Serializer;

/// Returns a path as JSON can hold it: U+FFFD replaces bytes that are not UTF-8. Serde would return an error for such
/// a path, and panic in `json!`.
pub fn path_text(path: &Path) -> Cow<'_, str> {
    path.to_string_lossy()
}

/// Serializes a path as [`path_text`] returns it.
pub(crate) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path_text(path))
}
