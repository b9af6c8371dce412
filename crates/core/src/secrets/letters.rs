//! Random letters without a digit, in contrast to words, names in code and types.

/// The letters that seldom follow each letter from `a` to `z` in words.
const SELDOM: [&str; 26] = [
    "hjoqz",
    "fghkmnqvwxz",
    "gjnqvwxyz",
    "ghjknqvwxyz",
    "jz",
    "bghjkmqvwxyz",
    "bcdfjkpqvwxyz",
    "bcdfghjkmnpqvwxyz",
    "hijquwy",
    "bcdfghijklmnopqrstuvwxyz",
    "bcdfghjkmnpqrtvwxyz",
    "hjqrvwxz",
    "fghjknqrvwxyz",
    "hjqwxz",
    "hjqyz",
    "bgjknqvwxz",
    "abcdefghijklmnopqrstvwxyz",
    "hjqwxz",
    "bjqvxz",
    "gjkqz",
    "hjkoquvwxyz",
    "bcdfghjklmnpqrtuvwxyz",
    "bcdfghjklmpqtuvwxyz",
    "abdfghjklmnoqruvwyz",
    "bcdfghijkoqruvwxyz",
    "bcdfghjklmnopqrstuvwxyz",
];

/// Fewest letters by which they can be told from a name.
const LEAST: usize = 10;
/// Letters of the shortest word that a name shows to be one.
const WORD: usize = 3;

fn is_seldom(one: u8, next: u8) -> bool {
    let row = usize::from(one.to_ascii_lowercase().wrapping_sub(b'a'));
    let next = char::from(next.to_ascii_lowercase());
    SELDOM.get(row).is_some_and(|seldom| seldom.contains(next))
}

fn pairs(letters: &[u8], is: fn(u8, u8) -> bool) -> usize {
    letters.windows(2).filter(|pair| matches!(pair, [one, next] if is(*one, *next))).count()
}

/// Whether these are letters in both cases that neither spell words nor change their case as names do.
pub(super) fn is_random(value: &str) -> bool {
    let letters = value.as_bytes();
    if letters.len() < LEAST || !letters.iter().all(u8::is_ascii_alphabetic) {
        return false;
    }
    let joints = letters.len() - 1;
    let changes = pairs(letters, |one, next| one.is_ascii_uppercase() != next.is_ascii_uppercase());
    pairs(letters, is_seldom) * 4 >= joints
        && changes >= 3
        && changes * 5 >= joints
        && in_words(letters) * 5 <= letters.len() * 2
}

/// The letters of the words in a name, of which each may begin in upper case.
fn in_words(letters: &[u8]) -> usize {
    let mut rest = letters;
    let mut all = 0;
    while let Some((_, after)) = rest.split_first() {
        let length = 1 + after.iter().take_while(|it| it.is_ascii_lowercase()).count();
        let (word, next) = rest.split_at(length.min(rest.len()));
        if length >= WORD && pairs(word, is_seldom) == 0 {
            all += length;
        }
        rest = next;
    }
    all
}
