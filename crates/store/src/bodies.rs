//! Packs bodies. Each is packed by itself, so that it can be read and purged by itself, with a dictionary of words
//! that such bodies are likely to contain: otherwise compression would have to learn them from every message, and
//! can't from a small one.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io;
use std::sync::LazyLock;

use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

/// As it is: packing would not pay.
const PLAIN: i64 = 0;
/// With zstd, after [`WORDS`].
const PACKED: i64 = 1;
/// There is no body any more.
pub(crate) const PURGED: i64 = 2;
/// Higher levels take 1 % less room, and 8 MB more memory for the largest messages.
const LEVEL: i32 = 6;

/// The shapes of the messages of several agents and common words in them, written for this purpose; likelier ones
/// come later. Bodies can only be read with the same text with which they were written: a new text is a new file,
/// with a higher number.
const TEXT: &str = include_str!("bodies/words-1.txt");

/// Line ends in the text are for people; JSON on one line has none.
static WORDS: LazyLock<Vec<u8>> =
    LazyLock::new(|| TEXT.lines().flat_map(str::as_bytes).copied().collect());
static PACKING: LazyLock<EncoderDictionary<'static>> =
    LazyLock::new(|| EncoderDictionary::copy(&WORDS, LEVEL));
static UNPACKING: LazyLock<DecoderDictionary<'static>> =
    LazyLock::new(|| DecoderDictionary::copy(&WORDS));

// Making one takes longer than most messages do.
thread_local! {
    static PACKER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static UNPACKER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Returns a body in its stored form, and the code of that form.
pub(crate) fn packed(plain: &[u8]) -> (i64, Cow<'_, [u8]>) {
    let packed = PACKER.with_borrow_mut(|packer| {
        let packer = match packer {
            Some(packer) => packer,
            None => packer.insert(Compressor::with_prepared_dictionary(&PACKING)?),
        };
        packer.compress(plain)
    });
    match packed {
        Ok(packed) if packed.len() < plain.len() => (PACKED, packed.into()),
        _ => (PLAIN, plain.into()),
    }
}

/// Returns a body of so many `bytes` as it came, from its stored form with this code.
pub(crate) fn unpacked(code: i64, stored: Vec<u8>, bytes: usize) -> io::Result<Vec<u8>> {
    match code {
        PLAIN => Ok(stored),
        PACKED => UNPACKER.with_borrow_mut(|unpacker| {
            let unpacker = match unpacker {
                Some(unpacker) => unpacker,
                None => unpacker.insert(Decompressor::with_prepared_dictionary(&UNPACKING)?),
            };
            unpacker.decompress(&stored, bytes)
        }),
        _ => Err(io::Error::other(format!("no body is packed in a way called {code}"))),
    }
}

#[cfg(test)]
#[path = "bodies_tests.rs"]
mod tests;
