//! The terms of a text: paths, identifiers, numbers, addresses. One pass, without allocation except for
//! paths that are written in another way than the project writes them.

use std::borrow::Cow;

use crate::secrets::{has_mask, label_at_start};

/// The kind of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A file with a folder and an extension, relative to the project where it lies in it, with `/`.
    Path,
    /// A name as programs have them: two words grown together, or letters with digits.
    Identifier,
    /// A number of at least two digits, not as a part of a word.
    Number,
    /// An address with a scheme.
    Url,
    /// A file's name without a folder.
    File,
    /// Text between two quotes on a line, if it is no other term.
    Quoted,
}

/// The longest term in bytes; anything longer is data and no name.
const LONGEST: usize = 120;
/// Shortest and longest identifier in bytes.
const IDENTIFIER: std::ops::RangeInclusive<usize> = 4..=64;
/// Longest number in bytes.
const NUMBER: usize = 12;
/// Shortest and longest quoted string in bytes.
const QUOTED: std::ops::RangeInclusive<usize> = 3..=80;

/// Calls `found` with every term of `text`, in order, those between quotes last, and without masks of secrets.
/// `project` is the project's folder; where it is empty, paths are taken as they are written.
pub fn scan<'a>(text: &'a str, project: &str, mut found: impl FnMut(Kind, Cow<'a, str>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut line_begins = true;
    while let Some(&byte) = bytes.get(at) {
        if let Some(mask) = text.get(at..).and_then(label_at_start) {
            line_begins = false;
            at += mask;
            continue;
        }
        if !in_chunk(byte) {
            line_begins = byte == b'\n' || (line_begins && byte.is_ascii_whitespace());
            at += 1;
            continue;
        }
        let mut end = at + 1;
        while bytes.get(end).is_some_and(|byte| in_chunk(*byte)) {
            end += 1;
        }
        let chunk = text.get(at..end).unwrap_or_default();
        if std::mem::take(&mut line_begins) && is_line_number(chunk, text.get(end..)) {
            at = end;
            continue;
        }
        if chunk.contains("://") {
            end = address_end(text, end);
            // A path with a masked secret leads nowhere.
            if text.get(end..).and_then(label_at_start).is_some() {
                at = masked_address_end(text, end);
                continue;
            }
            let address = text.get(at..end).unwrap_or_default();
            let address = address.trim_end_matches(['.', ',', ':', ';', '?', '!', '&']);
            if address.len() <= LONGEST && !address.ends_with("//") {
                found(Kind::Url, Cow::Borrowed(address));
            }
        } else if let Some(drive) = on_a_drive(text, at, end) {
            end = at + drive.len();
            let drive = drive.trim_end_matches(['.', '\\', '/']);
            match path_of(&drive.replace('\\', "/"), project) {
                Some(_) if project.is_empty() => found(Kind::Path, Cow::Borrowed(drive)),
                Some(path) => found(Kind::Path, Cow::Owned(path.to_owned())),
                None => {}
            }
        } else {
            for piece in chunk.split(':') {
                piece_terms(piece, chunk.len() == piece.len(), project, &mut found);
            }
        }
        at = end;
    }
    text.lines().for_each(|line| quoted(line, &mut found));
}

/// Calls `found` with everything in a text that may be written again: its terms, unchanged, and the name of the file
/// at the end of each path.
pub fn repeatable<'a>(text: &'a str, mut found: impl FnMut(Kind, Cow<'a, str>)) {
    scan(text, "", |kind, term| {
        if let (Kind::Path, Cow::Borrowed(path)) = (kind, &term) {
            found(Kind::File, Cow::Borrowed(file_name(path)));
        }
        found(kind, term);
    });
}

/// Calls `found` with text between quotes on a line.
fn quoted<'a>(line: &'a str, found: &mut impl FnMut(Kind, Cow<'a, str>)) {
    let mut rest = line;
    while let Some((before, after)) =
        rest.find(['"', '\'', '`']).and_then(|at| Some((rest.get(..at)?, rest.get(at..)?)))
    {
        let Some((quote, after)) = after.split_at_checked(1) else { return };
        // An apostrophe in a word is no quote.
        let in_word = quote == "'" && before.ends_with(char::is_alphanumeric);
        let Some((inside, after)) = after.split_once(quote).filter(|_| !in_word) else {
            rest = after;
            continue;
        };
        rest = after;
        let is_name_like = QUOTED.contains(&inside.len())
            && inside.trim() == inside
            && inside.chars().any(char::is_alphabetic)
            && !has_mask(inside);
        let is_other = || {
            is_identifier(inside)
                || path_of(&inside.replace('\\', "/"), "").is_some()
                || is_file(inside)
                || inside.contains("://")
        };
        if is_name_like && !is_other() {
            found(Kind::Quoted, Cow::Borrowed(inside));
        }
    }
}

fn in_chunk(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_$./@+~%:#-".contains(&byte)
}

/// `12→`, `12:`, `12|` or `12` and a tab at the beginning of a line count the lines of a file.
fn is_line_number(chunk: &str, rest: Option<&str>) -> bool {
    let digits = chunk.trim_start_matches(|char: char| char.is_ascii_digit());
    let counts = digits.len() < chunk.len();
    counts
        && match digits.as_bytes().first() {
            None => rest.unwrap_or_default().starts_with(['→', '\t', '|']),
            Some(b':' | b'-') => digits.len() == 1,
            _ => false,
        }
}

fn address_end(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let ends = |char: char| {
        char.is_whitespace()
            || char.is_control()
            || !char.is_ascii()
            || "\"'`<>()[]{}|\\^".contains(char)
    };
    from + rest.find(ends).unwrap_or(rest.len())
}

fn masked_address_end(text: &str, mut end: usize) -> usize {
    while let Some(mask) = text.get(end..).and_then(label_at_start) {
        end = address_end(text, end + mask);
    }
    end
}

/// Returns `C:\folder\file.ext`, with the part of it that follows the chunk.
fn on_a_drive(text: &str, at: usize, end: usize) -> Option<&str> {
    let bytes = text.as_bytes();
    let is_drive = bytes.get(at).is_some_and(u8::is_ascii_alphabetic)
        && bytes.get(at + 1) == Some(&b':')
        && (end == at + 2 && bytes.get(end) == Some(&b'\\') || bytes.get(at + 2) == Some(&b'/'));
    if !is_drive {
        return None;
    }
    let rest = bytes.get(at + 2..)?;
    let goes_on = |byte: &u8| *byte == b'\\' || (*byte != b':' && in_chunk(*byte));
    let length = rest.iter().take_while(|byte| goes_on(byte)).count();
    text.get(at..at + 2 + length)
}

fn piece_terms<'a>(
    piece: &'a str,
    alone: bool,
    project: &str,
    found: &mut impl FnMut(Kind, Cow<'a, str>),
) {
    let piece = piece.trim_end_matches(['.', '%', '/', '#', '@', '-', '+']);
    if let Some(path) = path_of(piece, project) {
        found(Kind::Path, Cow::Borrowed(path));
        return;
    }
    if alone && is_number(piece.trim_start_matches(['$', '~', '#', '+'])) {
        let number = piece.trim_start_matches(['$', '~', '#', '+']);
        found(Kind::Number, Cow::Borrowed(number));
        return;
    }
    if is_file(piece) {
        found(Kind::File, Cow::Borrowed(piece));
        return;
    }
    for name in
        piece.split(|char: char| !(char.is_ascii_alphanumeric() || char == '_' || char == '$'))
    {
        if is_identifier(name) {
            found(Kind::Identifier, Cow::Borrowed(name));
        }
    }
}

/// A path relative to the project, if it is one of a file.
fn path_of<'a>(piece: &'a str, project: &str) -> Option<&'a str> {
    let path = relative(piece, project);
    let path = path.strip_prefix("./").unwrap_or(path);
    let (folder, name) = path.rsplit_once('/')?;
    let (stem, extension) = name.rsplit_once('.')?;
    let is_extension = (1..=10).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && extension.bytes().any(|byte| byte.is_ascii_alphabetic());
    let named = |part: &str| part.bytes().any(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
    let is_path = is_extension
        && path.len() <= LONGEST
        && (!stem.is_empty() || !extension.is_empty())
        && !folder.split('/').skip(1).any(|part| !named(part));
    is_path.then_some(path)
}

/// `date.rs`, but not `1.5` or `config.Load`.
fn is_file(piece: &str) -> bool {
    let Some((stem, extension)) = piece.rsplit_once('.') else { return false };
    let in_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    (2..=LONGEST).contains(&stem.len())
        && stem.bytes().all(in_name)
        && stem.bytes().any(|byte| byte.is_ascii_alphabetic())
        && (1..=5).contains(&extension.len())
        && extension.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && extension.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase())
}

/// The name of the file that a path names.
pub fn file_name(path: &str) -> &str {
    path.rsplit_once(['/', '\\']).map_or(path, |(_, name)| name)
}

/// A file's name relative to the project's folder, where it lies in it.
pub fn relative<'a>(path: &'a str, project: &str) -> &'a str {
    let project = project.trim_end_matches(['/', '\\']);
    if project.is_empty() {
        return path;
    }
    let same = |(one, other): (char, char)| {
        one == other || (matches!(one, '/' | '\\') && matches!(other, '/' | '\\'))
    };
    let is_inside = path.len() > project.len() && path.chars().zip(project.chars()).all(same);
    let inside = path.get(project.len()..).filter(|_| is_inside);
    inside.and_then(|rest| rest.strip_prefix(['/', '\\'])).unwrap_or(path)
}

fn is_number(piece: &str) -> bool {
    let digits = piece.bytes().filter(u8::is_ascii_digit).count();
    let point = piece.bytes().filter(|byte| *byte == b'.').count();
    let bytes = piece.as_bytes();
    digits >= 2
        && point <= 1
        && digits + point == piece.len()
        && piece.len() <= NUMBER
        && bytes.first() != Some(&b'.')
        && !(bytes.first() == Some(&b'0') && bytes.get(1).is_some_and(u8::is_ascii_digit))
}

fn is_identifier(name: &str) -> bool {
    if !IDENTIFIER.contains(&name.len()) || name.bytes().next().is_none_or(|it| it.is_ascii_digit())
    {
        return false;
    }
    let inner = name.trim_matches(['_', '$']);
    let bytes = inner.as_bytes();
    let letters = bytes.iter().any(u8::is_ascii_alphabetic);
    let joined = inner.contains('_') || bytes.iter().any(u8::is_ascii_digit);
    let grown = bytes.windows(2).any(|two| match two {
        [first, second] => first.is_ascii_lowercase() && second.is_ascii_uppercase(),
        _ => false,
    });
    letters && (joined || grown)
}

#[cfg(test)]
#[path = "terms_tests.rs"]
mod tests;
