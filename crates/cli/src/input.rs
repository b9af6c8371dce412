//! Texts that are given on the command line or, if they are too long for it, on standard input.

use std::io::Read as _;

use callstack_engine::EngineError;

use crate::error::CommandError;

/// Returns the text of an argument; `-` means that of standard input.
pub(crate) fn text(argument: &str) -> Result<String, CommandError> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).map_err(|error| {
        EngineError::invalid(
            format!("standard input can't be read: {error}"),
            "Give the text itself instead of `-`.",
        )
        .caused_by(error)
    })?;
    let mut text = String::from_utf8(bytes).map_err(|error| {
        EngineError::invalid(
            format!("standard input is not UTF-8: {}", error.utf8_error()),
            "Convert the text, for instance with iconv.",
        )
        .caused_by(error)
    })?;
    // The line end that `echo` and editors add is not part of the text.
    text.truncate(text.trim_end_matches(['\n', '\r']).len());
    Ok(text)
}
