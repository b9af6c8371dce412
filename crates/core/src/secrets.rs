//! Keys, tokens and passwords in a text, known by their form, and the text without them.
//!
//! A mask names the kind of secret and nothing else, not even its length. Text that only looks random (hashes, ids,
//! images in base64) is no secret: every form here has a beginning, a name or a frame of its own.
//!
//! A text is masked while it is whole: evidence, titles and everything else that cuts a text or takes it apart masks
//! it first and is stored masked. Messages are stored as they came, and are masked where they are shown.

mod bare;
mod calls;
mod commands;
mod cookies;
mod encoded;
mod escaped;
mod form;
mod forms;
mod hashes;
mod hooks;
mod judge;
mod letters;
mod named;
mod names;
mod outputs;
mod phrases;
mod private_key;
mod tables;
mod tokens;
mod values;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use self::bare::Bare;
use self::forms::{FORMS, VERSION};
use self::tokens::TOKENS;
pub use self::values::{mask_json, mask_named, mask_value};
use crate::text::truncate_to_token_budget;

/// Each is compiled when a text first has one of its signs: most are never needed, and each takes memory.
static PATTERNS: [OnceLock<Regex>; FORMS.len()] = [const { OnceLock::new() }; FORMS.len()];
/// The beginnings of all tokens, names and forms, found in one pass.
static BEGINNINGS: OnceLock<Beginnings> = OnceLock::new();

#[expect(clippy::expect_used, reason = "the tables are fixed, and a test compiles all of them")]
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern of a form is a regular expression")
}

/// Looks for everything that may begin a secret, or that every text with a secret of some form contains.
struct Beginnings {
    pattern: Regex,
    /// The meanings of each of them.
    meanings: HashMap<String, Meaning>,
}

/// The possible meanings of one beginning of a secret.
#[derive(Default)]
struct Meaning {
    /// Rows of the tokens, in order.
    tokens: Vec<usize>,
    /// The length of the ending of a name that it is or begins with.
    word: Option<usize>,
    /// Rows of the forms of which it is or contains a sign.
    forms: Vec<usize>,
}

/// The row of cookies, which are no form of the table.
const COOKIES: usize = FORMS.len();

impl Beginnings {
    fn new() -> Self {
        let words = names::written();
        let mut signs: Vec<_> = cookies::SIGNS.iter().map(|sign| (*sign, COOKIES)).collect();
        for (form, row) in FORMS.iter().zip(0..) {
            signs.extend(form.signs.iter().map(|sign| (*sign, row)));
        }
        let begins = TOKENS.iter().flat_map(|token| token.begins).copied();
        let mut all: Vec<&str> = begins.chain(words.iter().map(String::as_str)).collect();
        all.extend(signs.iter().map(|(sign, _)| *sign));
        // Of those that begin alike the longest is found.
        all.sort_by_key(|begin| (Reverse(begin.len()), *begin));
        all.dedup();
        let meaning = |begin: &str| Meaning {
            tokens: (TOKENS.iter().zip(0..))
                .filter(|(token, _)| token.begins.iter().any(|it| begin.starts_with(it)))
                .map(|(_, row)| row)
                .collect(),
            word: words.iter().filter(|it| begin.starts_with(*it)).map(String::len).max(),
            forms: (signs.iter().filter(|(sign, _)| begin.contains(sign)))
                .map(|(_, row)| *row)
                .collect(),
        };
        let meanings = all.iter().map(|begin| ((*begin).to_owned(), meaning(begin))).collect();
        let all: Vec<String> = all.into_iter().map(regex::escape).collect();
        Self { pattern: compiled(&all.join("|")), meanings }
    }

    fn get() -> &'static Self {
        BEGINNINGS.get_or_init(Self::new)
    }
}

/// Returns a hash of the table of forms: a text that was masked with the same one needs no second pass.
pub fn forms() -> String {
    let mut hasher = DefaultHasher::new();
    VERSION.hash(&mut hasher);
    for form in FORMS {
        (form.name, form.signs, form.pattern).hash(&mut hasher);
    }
    for token in TOKENS {
        (token.name, token.begins, token.least, token.most).hash(&mut hasher);
    }
    names::endings().collect::<Vec<_>>().hash(&mut hasher);
    (private_key::MARK, cookies::HEAD, cookies::OPTION).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Its kind, such as `GitHub token`.
    pub kind: &'static str,
    /// Where it stands; byte offsets.
    pub place: Range<usize>,
}

/// The secrets in a text, in their order; none overlaps another.
pub fn secrets(text: &str) -> Vec<Secret> {
    let mut found = plain(text);
    if let Some(bare) = Bare::without_colours(text) {
        // A secret may go on behind a colour, and begins where the word before it ends in another one.
        let mut uncoloured = plain(&bare.text).on(&bare);
        for Secret { kind, place } in found.secrets.into_values() {
            if bare.has(&place) {
                uncoloured.join(kind, place);
            }
        }
        found = Found { has_names: found.has_names | uncoloured.has_names, ..uncoloured };
    }
    if let Some(bare) = found.has_names.then(|| Bare::without_numbers(text)).flatten() {
        for Secret { kind, place } in plain(&bare.text).on(&bare).secrets.into_values() {
            found.add(kind, place);
        }
    }
    // Base64 is decoded once: doubly encoded secrets are not expected.
    for (kind, place) in encoded::places(text, |inside| !plain(inside).secrets.is_empty()) {
        found.add(kind, place);
    }
    found.secrets.into_values().collect()
}

/// The secrets in a text.
#[derive(Default)]
struct Found {
    /// Secrets by where they begin.
    secrets: BTreeMap<usize, Secret>,
    /// Whether a word stands in it with which names of secrets end.
    has_names: bool,
}

impl Found {
    /// Adds a secret together with those that overlap it, as one.
    fn join(&mut self, mut kind: &'static str, mut place: Range<usize>) {
        let before = self.secrets.range(..place.end).rev();
        let overlap: Vec<usize> = before
            .take_while(|(_, known)| known.place.end > place.start)
            .map(|(start, _)| *start)
            .collect();
        for known in overlap.iter().filter_map(|start| self.secrets.remove(start)) {
            if known.place.len() > place.len() {
                kind = known.kind;
            }
            place = place.start.min(known.place.start)..place.end.max(known.place.end);
        }
        self.secrets.insert(place.start, Secret { kind, place });
    }

    /// Returns the same in the text that the other one was made of.
    fn on(self, bare: &Bare) -> Self {
        let mut found = Self { has_names: self.has_names, ..Self::default() };
        for Secret { kind, place } in self.secrets.into_values() {
            found.add(kind, bare.place(&place));
        }
        found
    }

    fn add(&mut self, kind: &'static str, place: Range<usize>) {
        let before = self.secrets.range(..place.end).next_back();
        if before.is_none_or(|(_, known)| known.place.end <= place.start) {
            self.secrets.insert(place.start, Secret { kind, place });
        }
    }
}

/// The secrets that stand in a text as they are.
fn plain(text: &str) -> Found {
    let mut found = Found::default();
    let mut named: Vec<Range<usize>> = Vec::new();
    let mut tokens = Vec::new();
    let mut scanned = Scanned::default();
    let mut signed = Signed::default();
    let beginnings = Beginnings::get();
    let mut from = 0;
    while let Some(begin) = beginnings.pattern.find_at(text, from) {
        // One may begin within another, as `KEY` does in `ACCESSKEY` within the `SK` of a token.
        from = text.ceil_char_boundary(begin.start() + 1);
        let Some(meaning) = beginnings.meanings.get(begin.as_str()) else { continue };
        if let Some((kind, place)) = token_at(text, begin.start(), meaning, &mut scanned) {
            tokens.push((kind, place));
        }
        for form in &meaning.forms {
            signed.sign(text, *form, begin.start());
        }
        let Some(length) = meaning.word else { continue };
        found.has_names = true;
        if named.last().is_none_or(|known| known.end <= begin.start()) {
            named.extend(named::value(text, begin.start()..begin.start() + length));
        }
    }
    // A private key may contain anything, and tokens are more specific than forms around them.
    for place in private_key::places(text) {
        found.add(private_key::NAME, place);
    }
    for (kind, place) in tokens {
        found.add(kind, place);
    }
    for (row, place) in signed.all(text) {
        let name = FORMS.get(row).map_or(cookies::NAME, |form| form.name);
        found.add(name, place);
    }
    for place in named {
        found.add("password", place);
    }
    for place in tables::places(text) {
        found.add("password", place);
    }
    for place in phrases::places(text) {
        found.add(phrases::NAME, place);
    }
    found
}

/// The matches of the forms whose signs were seen.
#[derive(Default)]
struct Signed {
    /// Those that are looked for in the whole text.
    whole: BTreeSet<usize>,
    /// The place up to which lines were searched, by form.
    looked: BTreeMap<usize, usize>,
    found: Vec<(usize, Range<usize>)>,
}

/// Bytes before a sign, and from it on, that are searched for the ends of its line.
const BEFORE: usize = 1_024;
const FROM: usize = 16_384;

impl Signed {
    fn sign(&mut self, text: &str, form: usize, at: usize) {
        if FORMS.get(form).is_some_and(|form| !form.in_line) {
            self.whole.insert(form);
            return;
        }
        let looked = self.looked.get(&form).copied().unwrap_or_default();
        if at < looked {
            return;
        }
        let start = text.ceil_char_boundary(at.saturating_sub(BEFORE)).max(looked);
        let before = text.get(start..at).unwrap_or_default();
        let start = before.rfind('\n').map_or(start, |end| start + end + 1);
        let end = text.floor_char_boundary(at.saturating_add(FROM).min(text.len()));
        let line = text.get(at..end).unwrap_or_default();
        let end = escaped::command_end(line).map_or(end, |length| at + length);
        self.looked.insert(form, end);
        self.look(text, form, start..end);
    }

    fn look(&mut self, text: &str, row: usize, place: Range<usize>) {
        let start = place.start;
        let Some(text) = text.get(place) else { return };
        let mut add = |place: Range<usize>| {
            self.found.push((row, start + place.start..start + place.end));
        };
        let (Some(form), Some(pattern)) = (FORMS.get(row), PATTERNS.get(row)) else {
            cookies::places(text).into_iter().for_each(add);
            return;
        };
        let pattern = pattern.get_or_init(|| compiled(form.pattern));
        for captures in pattern.captures_iter(text) {
            let Some(whole) = captures.name("s").or_else(|| captures.get(0)) else { continue };
            if (form.judge)(whole.as_str()) {
                add(whole.range());
            }
        }
    }

    /// All that is found, the more telling forms first.
    fn all(mut self, text: &str) -> Vec<(usize, Range<usize>)> {
        for row in std::mem::take(&mut self.whole) {
            self.look(text, row, 0..text.len());
        }
        self.found.sort_by_key(|(row, place)| (*row, place.start));
        self.found
    }
}

/// The ends of the letters that were last read, for each row of the tokens. Where an unbounded token did not match,
/// none matches from a later place in the same letters: it would be shorter and end at the same place. Without this,
/// a text full of beginnings takes quadratic time.
struct Scanned {
    /// The place after the token that was found last.
    found: usize,
    ends: [usize; TOKENS.len()],
    /// Bytes that were read, for the tests.
    #[cfg(test)]
    steps: usize,
}

impl Default for Scanned {
    fn default() -> Self {
        Self {
            found: 0,
            ends: [0; TOKENS.len()],
            #[cfg(test)]
            steps: 0,
        }
    }
}

/// The token that begins here; places are asked for in their order.
fn token_at(
    text: &str,
    from: usize,
    meaning: &Meaning,
    scanned: &mut Scanned,
) -> Option<(&'static str, Range<usize>)> {
    let rest = text.get(from..)?;
    let before = text.as_bytes().get(..from)?;
    let last = before.last();
    if meaning.tokens.is_empty()
        || from < scanned.found
        || (last.is_some_and(u8::is_ascii_alphanumeric) && !escaped::is_at_end(before))
    {
        return None;
    }
    let found = meaning.tokens.iter().copied().find_map(|row| {
        let token = TOKENS.get(row)?;
        let begin = token.begins.iter().find(|begin| rest.starts_with(**begin))?;
        let known = scanned.ends.get_mut(row)?;
        if from + begin.len() < *known {
            return None;
        }
        let of = rest.as_bytes().get(begin.len()..)?;
        let most = token.most.saturating_add(1);
        let length = of.iter().take(most).take_while(|byte| (token.of)(**byte)).count();
        if token.most == tokens::ANY {
            *known = from + begin.len() + length;
        }
        #[cfg(test)]
        {
            scanned.steps += length;
        }
        let of_token = rest.get(begin.len()..begin.len() + length)?;
        // That one ends a sentence.
        let length = of_token.trim_end_matches('.').len();
        let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let is_whole = (token.least..=token.most).contains(&length)
            && !of.get(length).is_some_and(goes_on)
            // A name with more before it.
            && !(token.begins == ["key-"] && last.is_some_and(|it| matches!(it, b'-' | b'_')));
        let end = begin.len() + length;
        (is_whole && (token.judge)(rest.get(..end)?)).then_some((token.name, from..from + end))
    });
    if let Some((_, place)) = &found {
        scanned.found = place.end;
    }
    found
}

/// Returns the text with each secret replaced by its kind: `‹masked: GitHub token›`.
pub fn mask(text: &str) -> Cow<'_, str> {
    replaced(text, label)
}

/// The same for a text of which only a few words are used: each mask is one word.
pub(crate) fn blank(text: &str) -> Cow<'_, str> {
    replaced(text, |_| "‹masked›".to_owned())
}

/// [`truncate_to_token_budget`]. Where the text has to be cut, its secrets are masked first: half of one is not
/// recognized.
pub fn cut_to_token_budget<'a>(text: &'a str, max: usize, indicator: &str) -> Cow<'a, str> {
    match truncate_to_token_budget(text, max, indicator) {
        Cow::Owned(_) => truncate_to_token_budget(&mask(text), max, indicator).into_owned().into(),
        Cow::Borrowed(text) => text.into(),
    }
}

/// The same for a part of another text: its secrets are masked even where nothing has to be cut.
pub fn take_to_token_budget(text: &str, max: usize, indicator: &str) -> String {
    truncate_to_token_budget(&mask(text), max, indicator).into_owned()
}

/// The most times that a text is searched again: a mask may change the meaning of the text around it.
const AGAIN: usize = 8;

fn replaced(text: &str, with: impl Fn(&'static str) -> String) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..AGAIN {
        let found = secrets(&text);
        if found.is_empty() {
            break;
        }
        let mut masked = String::with_capacity(text.len());
        let mut at = 0;
        for secret in found {
            masked.push_str(text.get(at..secret.place.start).unwrap_or_default());
            masked.push_str(&with(secret.kind));
            at = secret.place.end;
        }
        masked.push_str(text.get(at..).unwrap_or_default());
        text = Cow::Owned(masked);
    }
    text
}

const LABEL: (&str, char) = ("‹masked: ", '›');

fn label(kind: &str) -> String {
    let (begin, end) = LABEL;
    format!("{begin}{kind}{end}")
}

pub(crate) fn has_mask(text: &str) -> bool {
    text.contains(LABEL.0)
}

/// Returns the length of the mask that a text begins with, in bytes; none if it begins with none.
pub(crate) fn label_at_start(text: &str) -> Option<usize> {
    let (begin, end) = LABEL;
    let at = text.strip_prefix(begin)?.find(end)?;
    Some(begin.len() + at + end.len_utf8())
}

#[cfg(test)]
mod escaped_tests;
#[cfg(test)]
pub(crate) mod fakes;
#[cfg(test)]
mod products_tests;
#[cfg(test)]
mod providers;
#[cfg(test)]
mod rates_tests;
#[cfg(test)]
mod sources_tests;

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
