//! Values of cookies that are sent or set.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::escaped::word;
use super::judge::{has_random_run, is_value};

pub(super) const NAME: &str = "cookie";
/// One of these is in every text with cookies.
pub(super) const SIGNS: &[&str] = &["ookie", "OOKIE", "curl "];
/// The pattern before the first of them, in a header or a field.
pub(super) const HEAD: &str = word!(
    r#"(?i-u:cookies?)(?:\\*["']|&(?:quot|apos|#3[49]);)?\s*[:=,]\s*(?:\\*["']value\\*["']:\s*)?(?:\\*["']|&(?:quot|apos|#3[49]);)?"#
);
/// The same in a command.
pub(super) const OPTION: &str =
    word!(r#"curl\s(?:(?:[^\n|;]|\\\r?\n)*?\s)?(?:-b ?|--cookie[ =])["']?"#);

/// Fewest bytes of a value, and of the part that is read.
const LEAST: usize = 8;
const LINE: usize = 16_384;

static HEADS: OnceLock<[Regex; 2]> = OnceLock::new();

#[cfg(test)]
thread_local! {
    /// Bytes after heads that were read.
    pub(super) static LOOKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Returns the places of the values in a text.
pub(super) fn places(text: &str) -> Vec<Range<usize>> {
    let mut heads = heads(text).into_iter().peekable();
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut looked = 0;
    while let Some(Head { place: head, is_argument }) = heads.next() {
        let line = text.get(head.end..).unwrap_or_default();
        // A head in the line of another one is read up to the next one: a text full of them would take quadratic
        // time.
        let next = heads.peek().filter(|_| head.start < looked);
        let most = next.map_or(LINE, |next| LINE.min(next.place.end - head.end));
        let line = line.get(..line.floor_char_boundary(most)).unwrap_or_default();
        let ends = |char: char| matches!(char, '\n' | '\r' | '"' | '\'' | '\\' | '<' | '`');
        let mut line = line.split(ends).next().unwrap_or_default();
        if is_argument {
            line = line.split(char::is_whitespace).next().unwrap_or_default();
        }
        #[cfg(test)]
        LOOKED.with(|all| all.set(all.get() + line.len()));
        looked = looked.max(head.end + line.len());
        let mut at = head.end;
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

/// What stands before the first of several cookies.
struct Head {
    place: Range<usize>,
    /// Whether the cookies are an argument without quotes, which ends at a space.
    is_argument: bool,
}

/// Returns the heads in a text, in the order of their ends.
fn heads(text: &str) -> Vec<Head> {
    let [header, option] = HEADS.get_or_init(|| [HEAD, OPTION].map(super::compiled));
    let headers = header.find_iter(text).map(|it| Head { place: it.range(), is_argument: false });
    let options = option.find_iter(text).map(|it| {
        let is_argument = !it.as_str().ends_with(['"', '\'']);
        Head { place: it.range(), is_argument }
    });
    let mut heads: Vec<Head> = headers.chain(options).collect();
    heads.sort_by_key(|head| head.place.end);
    heads
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
