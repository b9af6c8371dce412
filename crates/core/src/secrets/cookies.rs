//! Values of cookies that are sent or set.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::escaped::word;
use super::judge::{has_random_run, is_value};

pub(super) const NAME: &str = "cookie";
/// One of these is in every text with cookies.
pub(super) const SIGNS: &[&str] = &["ookie", "OOKIE"];
/// The pattern before the first of them.
pub(super) const HEAD: &str = word!(
    r#"(?i-u:cookies?)(?:\\*["']|&(?:quot|apos|#3[49]);)?\s*[:=,]\s*(?:\\*["']value\\*["']:\s*)?(?:\\*["']|&(?:quot|apos|#3[49]);)?"#
);

/// Fewest bytes of a value, and of the part that is read.
const LEAST: usize = 8;
const LINE: usize = 16_384;

static HEADS: OnceLock<Regex> = OnceLock::new();

#[cfg(test)]
thread_local! {
    /// Bytes after heads that were read.
    pub(super) static LOOKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Returns the places of the values in a text.
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    let mut heads = HEADS.get_or_init(|| super::compiled(HEAD)).find_iter(text).peekable();
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut looked = 0;
    while let Some(head) = heads.next() {
        let line = text.get(head.end()..).unwrap_or_default();
        // A head in the line of another one is read up to the next one: a text full of them would take quadratic
        // time.
        let next = heads.peek().filter(|_| head.start() < looked);
        let most = next.map_or(LINE, |next| LINE.min(next.start() - head.end()));
        let line = line.get(..line.floor_char_boundary(most)).unwrap_or_default();
        let ends = |char: char| matches!(char, '\n' | '\r' | '"' | '\'' | '\\' | '<' | '`');
        let line = line.split(ends).next().unwrap_or_default();
        #[cfg(test)]
        LOOKED.with(|all| all.set(all.get() + line.len()));
        looked = looked.max(head.end() + line.len());
        let mut at = head.end();
        for pair in line.split(';') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = value.split(char::is_whitespace).next().unwrap_or_default();
            let from = at + name.len() + 1;
            if is_secret(name.trim(), value) {
                found.push(from..from + value.len());
            }
            at += pair.len() + 1;
        }
    }
    found
}

fn is_secret(name: &str, value: &str) -> bool {
    const NAMES: [&str; 7] = ["sess", "sid", "auth", "token", "jwt", "csrf", "login"];
    let name = name.to_ascii_lowercase();
    let is_named = NAMES.iter().any(|part| name.contains(part));
    value.len() >= LEAST
        && is_value(value)
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && !value.contains(['(', '['])
        && (is_named || has_random_run(value))
}
