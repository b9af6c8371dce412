//! Masks secrets in texts.

use callstack_core::secrets::{mask, mask_value, secrets};
use serde_json::Value;

use crate::is_one_in;

/// The length to which a short text is repeated, so that quadratic time is noticed.
const LONGEST: usize = 64 * 1024;

/// Checks that the places of secrets are in order and between characters, that masking removes nothing else, and that
/// masking again changes nothing. One input in 500 is repeated.
pub fn masking(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let most = (LONGEST / text.len().max(1)).max(1);
    let times = if is_one_in(500, data) { most } else { 1 };
    let text = text.repeat(times);

    let mut kept = Vec::new();
    let mut at = 0;
    for secret in secrets(&text) {
        assert!(at <= secret.place.start && secret.place.start < secret.place.end, "{secret:?}");
        kept.push(text.get(at..secret.place.start).expect("a secret begins at a character"));
        at = secret.place.end;
    }
    kept.push(text.get(at..).expect("a secret ends at a character"));

    let masked = mask(&text);
    if kept.len() == 1 {
        assert_eq!(masked, text);
    }
    assert_eq!(mask(&masked), masked, "masking twice is masking once");

    if let Ok(mut value) = serde_json::from_str::<Value>(&text) {
        mask_value(&mut value);
        let once = value.clone();
        assert!(!mask_value(&mut value), "{once} became {value}");
    }
}
