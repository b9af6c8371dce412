//! Values that are secrets by what they are called: in settings, code, JSON, headers, command lines.

use std::ops::Range;

use super::judge::{
    is_identifier, is_likely, is_likely_bare, is_likely_phrase, is_plain, is_value, is_whole_value,
};

/// What names of secrets end with, as far as upper and lower case are usual in them.
pub(super) const WORDS: &[&str] = &[
    "password",
    "Password",
    "PASSWORD",
    "passwd",
    "Passwd",
    "PASSWD",
    "passphrase",
    "Passphrase",
    "PASSPHRASE",
    "pwd",
    "Pwd",
    "PWD",
    "secret",
    "Secret",
    "SECRET",
    "token",
    "Token",
    "TOKEN",
    "key",
    "Key",
    "KEY",
    "credential",
    "Credential",
    "CREDENTIAL",
    "PASS",
];

/// What keys are secret.
const KEYS: [&str; 10] = [
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "account",
    "signing",
    "encryption",
    "master",
    "service",
];

/// Bytes of a name, and of white space between a name and its value.
const NAME: usize = 80;
const SPACE: usize = 60;

/// Fewest bytes of a value, and by how many it is judged: however many names a text has, none is looked at for
/// long.
const LEAST: usize = 6;
const JUDGED: usize = 4_096;
/// Bytes of a value between quotes.
const QUOTED: usize = 16_384;
/// Bytes before a name in which its line has to begin.
const LINE: usize = 400;

/// The value of what is named at this place of a text, if it is a secret.
pub(super) fn value(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let name = Name::at(text, word)?;
    let found = name.value()?;
    (!found.is_empty()).then_some(found)
}

/// A name that ends with one of the words.
struct Name<'a> {
    text: &'a str,
    /// Where it stands.
    place: Range<usize>,
    /// Behind the quote that it may stand in.
    end: usize,
    is_quoted: bool,
}

impl<'a> Name<'a> {
    fn at(text: &'a str, word: Range<usize>) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut end = word.end;
        let last = text.get(word.clone())?.to_ascii_lowercase();
        if last == "credential" && bytes.get(end).is_some_and(|byte| matches!(byte, b's' | b'S')) {
            end += 1;
        }
        let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if bytes.get(end).is_some_and(goes_on) {
            return None;
        }
        let before = bytes.get(..word.start)?;
        let in_name = |byte: &&u8| goes_on(byte) || **byte == b'.';
        let length = before.iter().rev().take(NAME).take_while(in_name).count();
        let start = word.start - length;
        // A test that went well says so, too.
        if last == "pass" && !before.ends_with(b"_") {
            return None;
        }
        // The shell's own names for the folder that it is in; behind a semicolon it is one of several settings.
        if word.end - word.start == 3
            && last == "pwd"
            && matches!(text.get(start..word.end), Some("PWD" | "OLDPWD"))
            && !bytes.get(..start).is_some_and(|before| before.ends_with(b";"))
        {
            return None;
        }
        if last == "key" {
            let kind = text.get(start..word.start)?.trim_end_matches(['_', '-', '.']);
            let kind = kind.to_ascii_lowercase();
            if !KEYS.iter().any(|key| kind.ends_with(key)) {
                return None;
            }
        }
        let escape = usize::from(bytes.get(end) == Some(&b'\\'));
        let is_quoted = bytes.get(end + escape).is_some_and(|byte| matches!(byte, b'"' | b'\''));
        let place = start..end;
        if is_quoted {
            end += escape + 1;
            end += usize::from(bytes.get(end) == Some(&b']'));
        }
        Some(Self { text, place, end, is_quoted })
    }

    fn value(&self) -> Option<Range<usize>> {
        let at = self.behind_space(self.end);
        let rest = self.text.get(at..)?;
        let (op, length) = if rest.starts_with("==") || rest.starts_with("::") {
            return None;
        } else if rest.starts_with("=>") || rest.starts_with(":=") {
            ("=", 2)
        } else if rest.starts_with('=') {
            ("=", 1)
        } else if rest.starts_with(':') {
            (":", 1)
        } else if at > self.end && !self.is_quoted {
            return self.behind_a_space(at);
        } else {
            return None;
        };
        let from = self.behind_space(at + length);
        let is_tight = at == self.end && from == at + length;
        if let Some((inner, _)) = self.quoted(from) {
            let value = self.text.get(inner.clone())?;
            let is_set = is_tight && op == "=" && self.is_upper() && is_value(value);
            let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
            let is_secret = inner.len() >= LEAST
                && !(self.is_key_or_token() && is_plain(value))
                && (is_likely(value)
                    || (is_set && (self.is_password() || !value.contains(char::is_whitespace)))
                    || (is_number && self.is_password() && is_value(value))
                    || (value.contains(' ') && is_likely_phrase(value)));
            return is_secret.then_some(inner);
        }
        if let Some(typed) = self.typed(op, from) {
            return Some(typed);
        }
        match op {
            "=" if is_tight => self.set(from),
            ":" if !is_tight || self.begins_a_line() || self.around().is_some() => {
                self.header(from).or_else(|| self.line(from, 8))
            }
            "=" => self.line(from, LEAST),
            _ => None,
        }
    }

    /// `NAME=value`.
    fn set(&self, from: usize) -> Option<Range<usize>> {
        if self.is_upper() {
            // Files of settings have all kinds of letters in their values.
            let whole = self.begins_a_line();
            let ends = move |char: char| {
                char.is_whitespace()
                    || matches!(char, '"' | '\'' | '`')
                    || (!whole && ends_bare(char))
            };
            let judge = match (self.is_key_or_token(), whole) {
                (true, true) => |value: &str| is_whole_value(value) && !is_plain(value),
                (true, false) => |value: &str| is_value(value) && !is_plain(value),
                (false, true) => is_whole_value,
                (false, false) => is_value,
            };
            return self.bare(from, ends, LEAST, judge);
        }
        self.bare(from, ends_bare, LEAST, self.bare_judge())
    }

    /// What may stand in code as well is judged by whether it may be a name or a type there.
    fn bare_judge(&self) -> fn(&str) -> bool {
        if self.is_password() {
            is_likely_bare
        } else {
            |value| is_likely_bare(value) && !is_identifier(value)
        }
    }

    /// `name: value` or `name = value` on a line of its own.
    fn line(&self, from: usize, least: usize) -> Option<Range<usize>> {
        if !self.begins_a_line() {
            return None;
        }
        let found = self.bare(from, ends_bare, least, self.bare_judge())?;
        let behind = self.text.get(found.end..)?;
        let behind = behind.get(..behind.floor_char_boundary(SPACE)).unwrap_or_default();
        let behind = behind.split(['\n', '\r']).next().unwrap_or_default();
        let rest = behind.trim_start();
        let is_end = rest.is_empty()
            || behind.starts_with("\\n")
            || (rest.len() < behind.len() && rest.starts_with(['#', ';', '…']))
            || (rest.len() < behind.len() && rest.starts_with("//"));
        is_end.then_some(found)
    }

    /// `'name: value'`, as a header stands in a command line.
    fn header(&self, from: usize) -> Option<Range<usize>> {
        let quote = self.around().filter(|_| !self.is_quoted)?;
        let ends = move |char: char| char == quote || char.is_whitespace() || char == '\\';
        self.bare(from, ends, LEAST, is_likely_bare)
    }

    /// `name: &str = "value"`.
    fn typed(&self, op: &str, from: usize) -> Option<Range<usize>> {
        let rest = self.text.get(from..).filter(|_| op == ":" && !self.is_quoted)?;
        let (kind, _) = rest.get(..rest.floor_char_boundary(SPACE))?.split_once('=')?;
        let in_type = |char: char| char.is_ascii_alphanumeric() || "_&'<>:[] \t".contains(char);
        if !kind.chars().all(in_type) {
            return None;
        }
        let (inner, _) = self.quoted(self.behind_space(from + kind.len() + 1))?;
        self.is(&inner, is_likely).then_some(inner)
    }

    /// `--name value`, `ENV NAME value`, and `password value` behind who logs in.
    fn behind_a_space(&self, at: usize) -> Option<Range<usize>> {
        let name = self.text.get(self.place.clone())?;
        let before = self.line_before();
        if name.starts_with("--") {
            if let Some((inner, _)) = self.quoted(at) {
                return (inner.len() >= LEAST && self.is(&inner, is_likely_bare)).then_some(inner);
            }
            let is_next = self.text.get(at..)?.starts_with('-');
            return self.bare(at, ends_bare, LEAST, is_likely_bare).filter(|_| !is_next);
        }
        if matches!(before.trim(), "ENV" | "ARG") && self.is_upper() {
            let found = self.bare(at, char::is_whitespace, LEAST, is_value)?;
            let is_secret = !(self.is_key_or_token() && self.is(&found, is_plain));
            return is_secret.then_some(found);
        }
        if name == "password" && self.logs_in(before) {
            return self.bare(at, char::is_whitespace, 4, is_value);
        }
        None
    }

    /// Whether it stands in a file that says who logs in where.
    fn logs_in(&self, before: &str) -> bool {
        let says = |line: &str| line.split_whitespace().any(|word| word == "machine");
        if says(before) {
            return true;
        }
        let above = last(self.text.get(..self.place.start - before.len()).unwrap_or_default());
        let mut above = above.lines().rev().filter(|line| !line.trim().is_empty());
        before.trim().is_empty()
            && above.next().is_some_and(|line| {
                says(line)
                    || (line.trim_start().starts_with("login ") && above.next().is_some_and(says))
            })
    }

    fn is(&self, place: &Range<usize>, judge: fn(&str) -> bool) -> bool {
        self.text.get(place.clone()).is_some_and(judge)
    }

    /// Whether no key or token may stand there: a password may be made of words or of numbers.
    fn is_password(&self) -> bool {
        let name = self.text.get(self.place.clone()).unwrap_or_default().to_ascii_lowercase();
        ["password", "passwd", "passphrase", "_pass", "pwd"].iter().any(|end| name.ends_with(end))
    }

    fn is_key_or_token(&self) -> bool {
        let name = self.text.get(self.place.clone()).unwrap_or_default().to_ascii_lowercase();
        ["key", "token"].iter().any(|end| name.ends_with(end))
    }

    fn is_upper(&self) -> bool {
        let name = self.text.get(self.place.clone()).unwrap_or_default();
        !name.bytes().any(|byte| byte.is_ascii_lowercase())
    }

    fn behind_space(&self, at: usize) -> usize {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        at + rest.iter().take(SPACE).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
    }

    /// What stands here without quotes, if it is a secret.
    fn bare(
        &self,
        from: usize,
        ends: impl Fn(char) -> bool,
        least: usize,
        judge: fn(&str) -> bool,
    ) -> Option<Range<usize>> {
        let rest = self.text.get(from..)?;
        let begin = rest.get(..rest.floor_char_boundary(JUDGED))?;
        let judged = begin.get(..begin.find(&ends).unwrap_or(begin.len()))?;
        if judged.len() < least || !judge(judged) {
            return None;
        }
        let goes_on = judged.len() == begin.len();
        let length = if goes_on { rest.find(ends).unwrap_or(rest.len()) } else { judged.len() };
        Some(from..from + length)
    }

    /// What stands between two quotes from here on, and the quote. Quotes may be escaped, both of them.
    fn quoted(&self, at: usize) -> Option<(Range<usize>, char)> {
        let rest = self.text.get(at..)?;
        let bare = rest.strip_prefix('\\').unwrap_or(rest);
        let is_escaped = bare.len() < rest.len();
        let quote = bare.chars().next().filter(|char| matches!(char, '"' | '\'' | '`'))?;
        let from = at + usize::from(is_escaped) + 1;
        let inside = self.text.get(from..)?;
        let inside = inside.get(..inside.floor_char_boundary(QUOTED))?;
        let mut escaped = false;
        for (place, char) in inside.char_indices() {
            match char {
                '\n' | '\r' => return None,
                '\\' if is_escaped => return Some((from..from + place, quote)),
                '\\' if !escaped => escaped = true,
                _ if char == quote && !escaped => return Some((from..from + place, quote)),
                _ => escaped = false,
            }
        }
        None
    }

    /// The quote right before the name.
    fn around(&self) -> Option<char> {
        let before = self.text.get(..self.place.start)?;
        before.chars().next_back().filter(|char| matches!(char, '"' | '\''))
    }

    /// What stands before it on its line, as far as it is looked at.
    fn line_before(&self) -> &'a str {
        let before = last(self.text.get(..self.place.start).unwrap_or_default());
        before.rsplit_once('\n').map_or(before, |(_, line)| line)
    }

    /// Whether nothing stands before it on its line but what tools and lists put there.
    fn begins_a_line(&self) -> bool {
        let before = self.line_before();
        let name = self.text.get(self.place.clone()).unwrap_or_default();
        let head = before.trim();
        // It began further up.
        if before.len() + 4 > LINE {
            return false;
        }
        let is_mark = |char: char| char.is_ascii_digit() || "-+>|→*#".contains(char);
        // Where a line ends is written as two letters in texts within texts.
        let is_escaped = before.ends_with('\\') && name.starts_with(['n', 'r', 't']);
        let is_found = || {
            head.strip_suffix([':', '-']).is_some_and(|head| {
                let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
                let place = head.rsplit_once([':', '-']).filter(|(_, line)| is_number(line));
                let file = place.map_or(head, |(file, _)| file);
                !file.contains(char::is_whitespace)
                    && (place.is_some() || file.contains(['.', '/']))
            })
        };
        head.chars().all(is_mark)
            || matches!(head, "export" | "set" | "declare -x" | "ENV" | "ARG")
            || is_escaped
            || is_found()
    }
}

/// Where a value ends that stands without quotes.
fn ends_bare(char: char) -> bool {
    char.is_whitespace() || "\"'`;&|<>,)]}\\".contains(char)
}

/// The last bytes of what stands before a name.
fn last(text: &str) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(LINE))..).unwrap_or_default()
}
