//! Values of cookies that are sent or set.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::judge::{has_random_run, is_value};

pub(super) const NAME: &str = "cookie";
/// One of these is in every text with cookies.
pub(super) const SIGNS: &[&str] = &["ookie", "OOKIE"];
/// What stands before the first of them.
pub(super) const HEAD: &str = r#"(?i-u)\bcookies?(?:\\*["']|&(?:quot|apos|#3[49]);)?\s*[:=,]\s*(?:\\*["']|&(?:quot|apos|#3[49]);)?"#;

/// Fewest bytes of a value, and of all that are looked at.
const LEAST: usize = 8;
const LINE: usize = 16_384;

static HEADS: OnceLock<Regex> = OnceLock::new();

/// Where the values stand in a text.
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    let heads = HEADS.get_or_init(|| super::compiled(HEAD)).find_iter(text);
    let mut found: Vec<Range<usize>> = Vec::new();
    for head in heads {
        let line = text.get(head.end()..).unwrap_or_default();
        let line = line.get(..line.floor_char_boundary(LINE)).unwrap_or_default();
        let ends = |char: char| matches!(char, '\n' | '\r' | '"' | '\'' | '\\' | '<' | '`');
        let mut at = head.end();
        for pair in line.split(ends).next().unwrap_or_default().split(';') {
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
