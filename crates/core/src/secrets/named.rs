//! Values that are secrets by their names: in settings, code, JSON, headers, command lines.

mod apart;
mod fallbacks;
mod lists;
mod literals;

use std::ops::Range;

use super::judge::{
    is_identifier, is_likely, is_likely_and_no_name, is_likely_bare, is_likely_phrase, is_plain,
    is_strong, is_value, is_whole_value,
};
use super::{escaped, names};
use lists::{ITEM, begins_a_list};
use literals::key_end;

/// Bytes of a name, and of white space between a name and its value.
const NAME: usize = 80;
const SPACE: usize = 60;

/// Fewest bytes of a value, and the most by which it is judged, so that texts with many names don't take long.
const LEAST: usize = 6;
const JUDGED: usize = 128;
/// Fewest bytes of one in the middle of a line, or where it may be a word.
const LONG: usize = 8;
/// Signs of a diff before a line.
const CHANGED: [char; 2] = ['+', '-'];
/// Lines above the password of a login that are searched for its machine.
const ABOVE: usize = 3;
/// Bytes before a name in which its line has to begin.
const LINE: usize = 400;

#[cfg(test)]
thread_local! {
    /// Bytes of values that were judged.
    pub(super) static LOOKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Returns the value of the name at this place of a text, if it is a secret.
pub(super) fn value(text: &str, word: Range<usize>) -> Option<Range<usize>> {
    let name = Name::at(text, word)?;
    let found = name.value()?;
    let (called, value) = (text.get(name.place.clone())?, text.get(found.clone())?);
    (!found.is_empty() && !names::is_key_id(called, value)).then_some(found)
}

/// A name that ends with one of the words.
struct Name<'a> {
    text: &'a str,
    /// Where it stands.
    place: Range<usize>,
    /// The place after the quote that may enclose it.
    end: usize,
    is_quoted: bool,
    /// Whether it is the `key` of a URL.
    is_argument: bool,
    /// Whether it is no more than `pass`.
    is_bare_pass: bool,
}

/// Returns the number of bytes that a text begins with which only show how a name or value looks: signs of Markdown,
/// tags, colours of a terminal.
fn emphasis(text: &str) -> usize {
    const MOST: usize = 3;
    const TAG: usize = 16;
    let colours = escaped::colours(text);
    if colours > 0 {
        return colours;
    }
    let begin = text.get(..text.floor_char_boundary(TAG)).unwrap_or_default();
    let is_tag = ["</", "<code>", "<b>", "<strong>"].iter().any(|tag| begin.starts_with(tag));
    let end = if is_tag { begin.find('>') } else { None };
    end.map_or_else(
        || text.bytes().take(MOST).take_while(|byte| *byte == b'*').count(),
        |end| end + 1,
    )
}

/// The length of the number at the end of a name, as of `API_KEY_2`.
fn number(rest: &[u8]) -> usize {
    const DIGITS: usize = 2;
    let joint = usize::from(rest.first() == Some(&b'_'));
    let digits = rest.iter().skip(joint).take_while(|byte| byte.is_ascii_digit()).count();
    if (1..=DIGITS).contains(&digits) { joint + digits } else { 0 }
}

impl<'a> Name<'a> {
    fn at(text: &'a str, word: Range<usize>) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut end = word.end;
        let last = text.get(word.clone())?.to_lowercase();
        if last == "credential" && bytes.get(end).is_some_and(|byte| matches!(byte, b's' | b'S')) {
            end += 1;
        }
        if bytes.get(end) == Some(&b's') && begins_a_list(text.get(end + 1..)?) {
            end += 1;
        }
        let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        end += number(bytes.get(end..)?);
        if bytes.get(end).is_some_and(goes_on) {
            return None;
        }
        let before = bytes.get(..word.start)?;
        let in_name = |byte: &&u8| goes_on(byte) || **byte == b'.';
        let length = before.iter().rev().take(NAME).take_while(in_name).count();
        let start = word.start - length;
        let start = start + escaped::rest(bytes, start).min(length);
        // The shell's own variables for the current folder; after a semicolon it is one of several settings.
        if last == "pwd"
            && matches!(text.get(start..word.end), Some("PWD" | "OLDPWD"))
            && !bytes.get(..start).is_some_and(|before| before.ends_with(b";"))
        {
            return None;
        }
        // The annotation by which Kubernetes sees that a secret has changed.
        if before.get(..start).is_some_and(|before| before.ends_with(b"checksum/")) {
            return None;
        }
        let mut kind = text.get(start..word.start)?;
        if kind.is_empty() && last == "key" {
            kind = word_before(before);
        }
        let is_argument = last == "key"
            && start == word.start
            && before.last().is_some_and(|byte| matches!(byte, b'?' | b'&'));
        if !is_argument && !names::is_secret(kind, &last) {
            return None;
        }
        let place = start..end;
        let quote = escaped::quote(text.get(end..)?);
        if let Some(quote) = quote {
            end += quote.len();
        }
        if quote.is_some() || before.get(..start).is_some_and(|it| it.ends_with(b"[")) {
            end += key_end(text.get(end..)?);
        }
        end += emphasis(text.get(end..)?);
        let is_bare_pass = last == "pass" && kind.is_empty();
        Some(Self { text, place, end, is_quoted: quote.is_some(), is_argument, is_bare_pass })
    }

    fn value(&self) -> Option<Range<usize>> {
        let at = self.after_brackets(self.skip_space(self.end));
        // Of a field that may be missing.
        let at = at + usize::from(self.text.get(at..)?.starts_with("?:"));
        let rest = self.text.get(at..)?;
        if let Some(found) = self.expanded(at) {
            return Some(found);
        }
        let Some((sign, length)) = escaped::sign(rest) else {
            return self.without_a_sign(at);
        };
        let marks = rest.get(length..).map_or(0, emphasis);
        let after = self.skip_space(at + length + marks);
        let is_mark = |rest: &&str| rest.starts_with(['<', '\u{1b}', '\\', '%']);
        let tag = self.text.get(after..).filter(is_mark).map_or(0, emphasis);
        let after = after + tag;
        let is_message = self.text.get(after..).is_some_and(|rest| rest.starts_with('?'))
            && self.line_before().ends_with("${");
        if is_message {
            return None;
        }
        let next = self.text.get(after..).and_then(escaped::line_end);
        let from = next.map_or(after, |length| self.skip_space(after + length));
        // Colours keep no value apart from its sign.
        let is_tight = at == self.end
            && from == at + length + marks
            && rest.get(length..).map_or(0, escaped::colours) == marks;
        if is_tight && sign == ':' && self.is_of_address() {
            return None;
        }
        if let Some(inner) = escaped::quoted(self.text, from) {
            let is_secret =
                |inner: &Range<usize>| self.is_quoted_secret(inner, is_tight && sign == '=');
            if let Some(changed) = self.becomes(&inner).filter(is_secret) {
                return Some(inner.start..changed.end);
            }
            return is_secret(&inner).then_some(inner);
        }
        if let Some(inner) = self.literal(from) {
            return self.is_secret_literal(&inner, is_tight && sign == '=').then_some(inner);
        }
        if self.text.get(from..).is_some_and(|rest| rest.starts_with('[')) {
            let found = self.several(from + 1);
            return found.or_else(|| self.bare(from + 1, ends_bare, LONG, is_strong));
        }
        if next.is_none() && rest.starts_with("=>") && self.is_printed() {
            return self.printed(from);
        }
        if self.text.get(from..).is_some_and(|rest| rest.starts_with('{')) {
            return self.object(from + 1);
        }
        if next.is_some() && self.text.get(from..).is_some_and(|rest| rest.starts_with(ITEM)) {
            return self.items(from);
        }
        // A test's verdict that it passed is no secret.
        if self.is_bare_pass && !self.is_quoted {
            let set = || self.bare(from, ends_bare, LONG, is_likely_and_no_name);
            let listed =
                || self.bare(from, ends_bare, LONG, is_strong).filter(|it| self.is_line(it));
            return match sign {
                '=' if is_tight => set(),
                ':' if next.is_none() => listed(),
                _ => None,
            };
        }
        if next.is_some() {
            return self.next_line(from);
        }
        if let Some(typed) = self.typed(sign, from) {
            return Some(typed);
        }
        if self.is_argument {
            return self.bare(from, ends_bare, LONG, |it| is_strong(it) && !it.contains('%'));
        }
        let found = match sign {
            '=' if is_tight => self.set(from),
            ':' if !is_tight || self.begins_a_line() || self.around().is_some() => {
                self.header(from).or_else(|| self.line(from, LONG))
            }
            '=' => self.line(from, LEAST),
            _ => None,
        };
        found.or_else(|| self.strong(from))
    }

    /// Whether it is a part of an address such as `arn:aws:secretsmanager:eu-west-1:1:secret:name`.
    fn is_of_address(&self) -> bool {
        self.text.get(self.place.clone()) == Some("secret")
            && self.line_before().contains(":secretsmanager:")
    }

    /// Returns the new value in `name = "old" -> "new"`, as plans of changes are printed.
    fn becomes(&self, old: &Range<usize>) -> Option<Range<usize>> {
        let rest = self.text.get(old.end..)?;
        let quote = escaped::quote(rest)?;
        let arrow = rest.get(quote.len()..)?.strip_prefix(" -> ")?;
        escaped::quoted(self.text, self.text.len() - arrow.len())
    }

    /// Whether a value between quotes is secret.
    fn is_quoted_secret(&self, inner: &Range<usize>, is_assigned: bool) -> bool {
        let Some(value) = self.text.get(inner.clone()).map(escaped::uncoloured) else {
            return false;
        };
        let is_set = is_assigned && self.is_upper() && is_value(&value);
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
        value.len() >= LEAST
            && !(self.is_key_or_token() && is_plain(&value))
            && (is_likely(&value)
                || (is_set && (self.is_password() || !value.contains(char::is_whitespace)))
                || (is_number && self.is_password() && is_value(&value))
                || (value.contains(' ') && is_likely_phrase(&value)))
    }

    /// Returns a value in the middle of a line, if neither code nor prose looks like it.
    fn strong(&self, from: usize) -> Option<Range<usize>> {
        let judge = if self.is_password() { is_likely_and_no_name } else { is_strong };
        self.bare(from, ends_bare, LONG, judge)
    }

    /// A value that stands by itself on the line below its name.
    fn next_line(&self, from: usize) -> Option<Range<usize>> {
        let found = self.strong(from)?;
        let after = self.text.get(found.end..)?;
        let is_end = after.is_empty() || after.starts_with(['\n', '\r', '\\', '"', '<']);
        (is_end || self.is(&found, is_strong)).then_some(found)
    }

    /// `NAME=value`.
    fn set(&self, from: usize) -> Option<Range<usize>> {
        // A setting of a connection, such as `;Password=value`.
        let before = self.text.as_bytes().get(..self.place.start);
        if self.is_password() && self.is_capital() && before.is_some_and(|it| it.ends_with(b";")) {
            return self.bare(from, ends_bare, LEAST, is_value);
        }
        if self.is_upper() {
            // Files of settings have all kinds of letters in their values.
            let whole = self.begins_a_line() && !self.is_after_an_escape();
            // As in `-e "NAME=value"`.
            let whole = whole || (self.is_password() && self.around().is_some());
            let ends = move |char: char| {
                char.is_whitespace()
                    || matches!(char, '"' | '\'' | '`' | '\0')
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

    /// Returns the judge of values that may stand in code as well, where they could be names or types.
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
        let after = self.text.get(found.end..)?;
        let after = after.get(..after.floor_char_boundary(SPACE)).unwrap_or_default();
        let after = after.split(['\n', '\r']).next().unwrap_or_default();
        let rest = after.trim_start();
        let is_end = rest.is_empty()
            || after.starts_with("\\n")
            || (rest.len() < after.len() && rest.starts_with(['#', ';', '…']))
            || (rest.len() < after.len() && rest.starts_with("//"));
        is_end.then_some(found)
    }

    /// Whether nothing but the name and this value stands on its line.
    fn is_line(&self, value: &Range<usize>) -> bool {
        let after = self.text.get(value.end..).unwrap_or_default();
        self.begins_a_line() && (after.is_empty() || after.starts_with(['\n', '\r', '\\']))
    }

    /// `'name: value'`, as a header stands in a command line.
    fn header(&self, from: usize) -> Option<Range<usize>> {
        let quote = self.around().filter(|_| !self.is_quoted)?;
        let ends = move |char: char| char == quote || char.is_whitespace() || char == '\\';
        self.bare(from, ends, LEAST, self.bare_judge())
    }

    /// `name: &str = "value"`.
    fn typed(&self, sign: char, from: usize) -> Option<Range<usize>> {
        let rest = self.text.get(from..).filter(|_| sign == ':' && !self.is_quoted)?;
        let (kind, _) = rest.get(..rest.floor_char_boundary(SPACE))?.split_once('=')?;
        let in_type = |char: char| char.is_ascii_alphanumeric() || "_&'<>:[]|.?* \t".contains(char);
        if !kind.chars().all(in_type) {
            return None;
        }
        let inner = self.written(self.skip_space(from + kind.len() + 1))?;
        self.is(&inner, is_likely).then_some(inner)
    }

    /// Returns the value in `--name value`, `ENV NAME value`, and in `password value` after a login.
    fn after_a_space(&self, at: usize) -> Option<Range<usize>> {
        let name = self.text.get(self.place.clone())?;
        let before = self.line_before();
        let is_of_java = |name: &str| name.ends_with("storepass") || name.ends_with("keypass");
        let is_short = |name: &str| {
            // Those of PowerShell begin in upper case.
            is_of_java(name) || name.starts_with(|char: char| char.is_ascii_uppercase())
        };
        if name.starts_with("--") || name.strip_prefix('-').is_some_and(is_short) {
            if let Some(inner) = self.written(at) {
                return (inner.len() >= LEAST && self.is(&inner, is_likely_bare)).then_some(inner);
            }
            let is_next = self.text.get(at..)?.starts_with('-');
            return self.bare(at, ends_bare, LEAST, is_likely_bare).filter(|_| !is_next);
        }
        if let Some(inner) = escaped::quoted(self.text, at).filter(|inner| self.alone(inner)) {
            return Some(inner);
        }
        let head = before.trim_start_matches(CHANGED).trim();
        let is_set = matches!(head, "ENV" | "ARG" | "setx") || head.starts_with("set -");
        if is_set && self.is_upper() {
            let found = self.bare(at, char::is_whitespace, LEAST, is_value)?;
            let is_secret = !(self.is_key_or_token() && self.is(&found, is_plain));
            return is_secret.then_some(found);
        }
        if name.strip_prefix('-').unwrap_or(name) == "password" && self.logs_in(before) {
            let above = self.text.get(..self.place.start - before.len()).unwrap_or_default();
            let is_inside = before.contains('"') || above.ends_with("\\n");
            let ends =
                |char: char| char.is_whitespace() || (is_inside && matches!(char, '"' | '\\'));
            return self.bare(at, ends, 4, is_value);
        }
        None
    }

    /// Whether it and a secret between quotes are all of a line, as in settings of Gradle.
    fn alone(&self, inner: &Range<usize>) -> bool {
        let after = self.text.get(inner.end..).unwrap_or_default();
        let after = after.lines().next().unwrap_or_default();
        self.line_before().trim_start_matches(CHANGED).trim().is_empty()
            && escaped::quote(after).is_some_and(|quote| after.trim_end() == quote)
            && inner.len() >= LEAST
            && self.is(inner, if self.is_password() { is_likely } else { is_strong })
    }

    /// Whether it stands in a file of logins, such as `.netrc`.
    fn logs_in(&self, before: &'a str) -> bool {
        let bare = |line: &'a str| line.trim_start_matches(CHANGED).trim_start();
        let says = |line: &str| {
            line.split_whitespace().any(|word| word.trim_start_matches('"') == "machine")
        };
        if says(bare(before)) {
            return true;
        }
        let above = last(self.text.get(..self.place.start - before.len()).unwrap_or_default());
        let above = above.split('\n').flat_map(|line| line.split("\\n")).map(bare);
        let above: Vec<&str> = above.collect();
        let above = above.into_iter().rev().filter(|line| !line.is_empty());
        let of_login = |line: &&str| ["login ", "account "].iter().any(|it| line.starts_with(it));
        let mut above = above.take(ABOVE).skip_while(of_login);
        bare(before).is_empty() && above.next().is_some_and(says)
    }

    fn is(&self, place: &Range<usize>, judge: fn(&str) -> bool) -> bool {
        #[cfg(test)]
        LOOKED.with(|looked| looked.set(looked.get() + place.len()));
        self.text.get(place.clone()).is_some_and(|value| judge(&escaped::uncoloured(value)))
    }

    fn is_password(&self) -> bool {
        names::is_chosen(self.text.get(self.place.clone()).unwrap_or_default())
    }

    fn is_key_or_token(&self) -> bool {
        let name = self.text.get(self.place.clone()).unwrap_or_default().to_ascii_lowercase();
        ["key", "token", "_pat"].iter().any(|end| name.ends_with(end))
    }

    fn is_capital(&self) -> bool {
        let name = self.text.get(self.place.clone()).unwrap_or_default();
        name.starts_with(|char: char| char.is_ascii_uppercase())
    }

    fn is_upper(&self) -> bool {
        let name = self.text.get(self.place.clone()).unwrap_or_default();
        !name.bytes().any(|byte| byte.is_ascii_lowercase())
    }

    fn skip_space(&self, at: usize) -> usize {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        at + rest.iter().take(SPACE).take_while(|byte| matches!(byte, b' ' | b'\t')).count()
    }

    /// Returns the place after white space and ends of lines.
    fn skip_lines(&self, at: usize) -> usize {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        at + rest.iter().take(SPACE).take_while(|byte| byte.is_ascii_whitespace()).count()
    }

    /// Returns a value without quotes, if it is a secret.
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
        #[cfg(test)]
        LOOKED.with(|looked| looked.set(looked.get() + judged.len()));
        let bare = escaped::uncoloured(judged);
        if bare.len() < least || !judge(&bare) {
            return None;
        }
        let goes_on = judged.len() == begin.len();
        let length = if goes_on { rest.find(ends).unwrap_or(rest.len()) } else { judged.len() };
        #[cfg(test)]
        LOOKED.with(|looked| looked.set(looked.get() + length - judged.len()));
        Some(from..from + escaped::before_colours(rest.get(..length)?))
    }

    /// The quote right before the name.
    fn around(&self) -> Option<char> {
        let before = self.text.get(..self.place.start)?;
        before.chars().next_back().filter(|char| matches!(char, '"' | '\''))
    }

    /// Returns the text before it on its line, as far as it is read. The line may begin in a text within a text.
    fn line_before(&self) -> &'a str {
        let before = last(self.text.get(..self.place.start).unwrap_or_default());
        let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
        line.rsplit_once("\\n").map_or(line, |(_, line)| line)
    }

    /// Whether an escape stands right before it, such as the end of a line in a text within a text.
    fn is_after_an_escape(&self) -> bool {
        self.text.as_bytes().get(..self.place.start).is_some_and(escaped::is_at_end)
    }

    /// Whether only output of tools or marks of lists stand before it on its line.
    fn begins_a_line(&self) -> bool {
        let before = self.line_before();
        let head = before.trim();
        // It began further up.
        if before.len() + 4 > LINE {
            return false;
        }
        let is_mark = |char: char| char.is_ascii_digit() || "-+>|→*#".contains(char);
        // A file and a line, or the name of a setting.
        let is_found = || {
            let place = head.strip_suffix([':', '-']);
            place.is_some_and(|place| !place.contains(char::is_whitespace))
        };
        head.chars().all(is_mark)
            || matches!(head, "export" | "set" | "declare -x" | "ENV" | "ARG")
            || self.is_after_an_escape()
            || is_found()
    }
}

/// Returns the word in front of a text's last space, as `API` in front of `Key`.
fn word_before(before: &[u8]) -> &str {
    let Some(rest) = before.strip_suffix(b" ") else { return "" };
    let length = rest.iter().rev().take(NAME).take_while(|byte| byte.is_ascii_alphabetic()).count();
    rest.get(rest.len() - length..).and_then(|word| str::from_utf8(word).ok()).unwrap_or_default()
}

/// Where a value ends that stands without quotes.
fn ends_bare(char: char) -> bool {
    char.is_whitespace() || "\"'`;&|<>,)]}\\\0".contains(char)
}

/// Returns the last bytes of the text before a name.
fn last(text: &str) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(LINE))..).unwrap_or_default()
}
