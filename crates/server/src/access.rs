//! The token that lets a client in.

use std::fmt;
use std::fmt::Write as _;

use callstack_engine::{EngineError, Kind};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The random bytes of a token.
const BYTES: usize = 32;

/// A secret that every request has to carry. Each server makes another one.
#[derive(Clone)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// Makes a token from the random numbers of the system.
    pub fn random() -> Result<Self, EngineError> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(|error| {
            EngineError::new(
                Kind::Unavailable,
                format!("the system gives no random numbers: {error}"),
            )
        })?;
        Ok(Self(hexadecimal(&bytes)))
    }

    /// The token as a client sends it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether a client sent this token. Hashes are compared, so that neither the time nor a length shows how
    /// close a guess is.
    pub(crate) fn is(&self, sent: &str) -> bool {
        Sha256::digest(sent).ct_eq(&Sha256::digest(&self.0)).into()
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
