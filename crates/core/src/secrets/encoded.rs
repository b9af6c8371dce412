//! Secrets in long rows of letters and digits: those that are written in base64, and those that are recognized by
//! their shape, since they have no rare beginning.

use std::ops::Range;

use super::escaped;
use super::judge::is_value;

/// Fewest letters in a row.
const LEAST: usize = 20;
/// The most letters that are read.
const READ: usize = 8_192;
/// The letters that are decoded first, which exclude most text that is no base64.
const FIRST: usize = 12;
/// Letters of a Twitter token after the first escape in it.
const TWITTER: usize = 512;

type Found = (&'static str, Range<usize>);

/// Whether a byte is of a row, by its value.
const IN_ROW: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte: u8 = 0;
    while byte < 128 {
        table[byte as usize] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-');
        byte += 1;
    }
    table
};

fn in_row(byte: u8) -> bool {
    IN_ROW.get(usize::from(byte)).copied().unwrap_or_default()
}

/// Returns the places of such secrets in a text. `has_secrets` judges a text that was written in base64.
pub(super) fn places(text: &str, has_secrets: impl Fn(&str) -> bool) -> Vec<Found> {
    let mut found = Vec::new();
    for row in rows(text.as_bytes()) {
        let row = row.start + escaped::rest(text.as_bytes(), row.start)..row.end;
        let Some(letters) = text.get(row.clone()) else { continue };
        if let Some(known) = shaped(text, &row, letters) {
            found.push(known);
        } else if decoded(letters).is_some_and(|it| it.starts_with("tok:") || has_secrets(&it)) {
            let padding = text.as_bytes().get(row.end..).unwrap_or_default();
            let padding = padding.iter().take(2).take_while(|byte| **byte == b'=').count();
            found.push(("encoded secret", row.start..row.end + padding));
        }
    }
    found
}

/// Returns all rows that are long enough. Of other text only as many bytes are read as are needed to exclude one.
fn rows(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let probe = at + LEAST - 1;
            if !in_row(*bytes.get(probe)?) {
                at = probe + 1;
                continue;
            }
            let before = bytes.get(at..probe).unwrap_or_default();
            let start = probe - before.iter().rev().take_while(|byte| in_row(**byte)).count();
            let after = bytes.get(probe..).unwrap_or_default();
            let end = probe + after.iter().take_while(|byte| in_row(**byte)).count();
            at = end + 1;
            if end - start >= LEAST {
                return Some(start..end);
            }
        }
    })
}

/// Finds a secret by its shape: its length, its alphabet, and the text right before it.
fn shaped(text: &str, row: &Range<usize>, letters: &str) -> Option<Found> {
    let before = text.as_bytes().get(..row.start)?;
    let all = |from: usize| row.start - from..row.end;
    match letters.len() {
        64 if is_hex(letters) && before.ends_with(b".") => {
            let name = text.get(row.start.checked_sub(18)?..row.start - 1)?;
            let is_token =
                name.starts_with("pat") && name.bytes().all(|it| it.is_ascii_alphanumeric());
            return is_token.then(|| ("Airtable token", all(18)));
        }
        32 if is_hex(letters) && before.ends_with(b":") => {
            let numbers = before.iter().rev().skip(1);
            let numbers = numbers.take_while(|it| it.is_ascii_digit() || **it == b'/').count();
            let id = text.get(row.start - 1 - numbers..row.start - 1)?;
            let (version, id) = id.split_once('/')?;
            let is_token = matches!(version, "0" | "1" | "2") && id.len() >= 13;
            return is_token.then(|| ("Asana token", all(1 + numbers)));
        }
        36 | 37 => {
            let (key, center) = letters.split_at_checked(32)?;
            let is_key = is_hex(key)
                && center.starts_with("-us")
                && !key.bytes().all(|it| it.is_ascii_digit());
            if is_key && center.bytes().skip(3).all(|it| it.is_ascii_digit()) {
                return Some(("Mailchimp key", row.clone()));
            }
        }
        49 if letters.as_bytes().get(27) == Some(&b'_') => {
            let is_token = letters.starts_with(['1', '2'])
                && letters.bytes().filter(|it| !it.is_ascii_alphanumeric()).count() == 1
                && is_random(letters);
            return is_token.then(|| ("ngrok token", row.clone()));
        }
        64 if letters.starts_with("EAAA") && is_random(letters) => {
            return Some(("Square token", row.clone()));
        }
        _ => {}
    }
    if letters.starts_with("EAA")
        && letters.len() >= 100
        && letters.bytes().all(|it| it.is_ascii_alphanumeric())
        && is_random(letters)
    {
        return Some(("Facebook token", row.clone()));
    }
    if letters.starts_with("AAAAAAAAAAAAAAAAAA") && text.as_bytes().get(row.end) == Some(&b'%') {
        let rest = text.as_bytes().get(row.end..)?;
        let of_token = |it: &&u8| in_row(**it) || **it == b'%';
        let length = rest.iter().take(TWITTER).take_while(of_token).count();
        return Some(("Twitter token", row.start..row.end + length));
    }
    wallet_key(letters)
        .map(|key| ("Bitcoin key", row.start + key.start..row.start + key.end))
        .or_else(|| discord_token(text, row).map(|place| ("Discord token", place)))
}

/// Finds the private key of a wallet in the format for exports.
fn wallet_key(letters: &str) -> Option<Range<usize>> {
    let mut at = 0;
    for part in letters.split(|char: char| !char.is_ascii_alphanumeric()) {
        let begins = match part.len() {
            51 => part.starts_with('5'),
            52 => part.starts_with(['K', 'L', 'c']),
            _ => false,
        };
        if begins && !part.contains(['0', 'O', 'I', 'l']) && is_random(part) {
            return Some(at..at + part.len());
        }
        at += part.len() + 1;
    }
    None
}

/// Finds three rows with dots between them: the user, the time of creation, and a signature.
fn discord_token(text: &str, row: &Range<usize>) -> Option<Range<usize>> {
    const MADE: usize = 6;
    if !(27..=45).contains(&row.len()) || row.start < MADE + 2 {
        return None;
    }
    let bytes = text.as_bytes();
    let made = row.start - 1 - MADE;
    if bytes.get(row.start - 1) != Some(&b'.') || bytes.get(made - 1) != Some(&b'.') {
        return None;
    }
    let of_token = |it: &&u8| it.is_ascii_alphanumeric() || matches!(it, b'_' | b'-');
    let length = bytes.get(..made - 1)?.iter().rev().take_while(of_token).count();
    let whole = made - 1 - length..row.end;
    let letters = text.get(whole.clone())?;
    let is_token = (22..=29).contains(&length)
        && bytes.get(made..made + MADE)?.iter().all(|it| of_token(&it))
        && letters.starts_with(['M', 'N', 'O'])
        && is_random(letters);
    is_token.then_some(whole)
}

fn is_hex(letters: &str) -> bool {
    letters.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_random(letters: &str) -> bool {
    let has = |is: fn(&u8) -> bool| letters.bytes().any(|byte| is(&byte));
    has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}

/// Whether the value is a name and a password in base64, with which programs log in.
pub(super) fn is_user_and_password(value: &str) -> bool {
    decoded(value).is_some_and(|text| {
        text.split_once(':').is_some_and(|(user, password)| {
            !user.is_empty()
                && !text.contains(char::is_whitespace)
                && password.len() >= 4
                && is_value(password)
        })
    })
}

/// The text that was written in base64, as far as it is read; none where it is no text.
fn decoded(letters: &str) -> Option<String> {
    let letters = letters.trim_end_matches('=').as_bytes();
    let letters = letters.get(..letters.len().min(READ))?;
    let first = bytes_of(letters.get(..FIRST.min(letters.len()))?)?;
    if !first.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) {
        return None;
    }
    let bytes = bytes_of(letters)?;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // A letter that was cut, at the end of the part that is read.
        Err(error) if error.utf8_error().error_len().is_none() => {
            let whole = error.utf8_error().valid_up_to();
            String::from_utf8(error.into_bytes().get(..whole)?.to_vec()).ok()?
        }
        Err(_) => return None,
    };
    let is_text = |char: char| !char.is_control() || char.is_whitespace();
    text.chars().all(is_text).then_some(text)
}

fn bytes_of(letters: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3 + 2);
    for group in letters.chunks(4) {
        let mut bits: u32 = 0;
        for letter in group {
            let value = match letter {
                b'A'..=b'Z' => letter - b'A',
                b'a'..=b'z' => letter - b'a' + 26,
                b'0'..=b'9' => letter - b'0' + 52,
                b'+' | b'-' => 62,
                b'/' | b'_' => 63,
                _ => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        let missing = 4 - group.len();
        bits <<= 6 * missing;
        let [_, group @ ..] = bits.to_be_bytes();
        bytes.extend(group.iter().take(3_usize.saturating_sub(missing)));
    }
    Some(bytes)
}
