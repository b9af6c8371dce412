//! The words of all stored texts: finds words that contain given letters, without reading texts.

use std::collections::{BTreeSet, HashMap, HashSet};

use callstack_core::search::{Clue, Known, LetterPosition, ODD, Terms, hash, is_word};
use rusqlite::{OptionalExtension as _, params};

use crate::error::StoreError;
use crate::postings::{self, Clause};
use crate::store::View;

/// Letters of the pieces by which words are found, and the characters that count as a letter after a word's last one.
const PIECE: usize = 3;
const END: char = '§';
/// The most words in a question: letters that more words contain are not specific, and each word makes a question
/// slower. If there are no other clues, the first ones are used.
const MOST_WORDS: usize = 64;
const MOST_WORDS_MORE: usize = 8;
/// Words that are examined for that.
const EXAMINED_WORDS: usize = 2_000;

/// A question to the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrowed {
    /// Of frames. None where nothing narrows them down.
    pub(crate) question: Option<String>,
    /// Of messages; the same.
    pub(crate) wanted: Option<Vec<Clause>>,
    /// Whether all that is known is in it.
    pub is_whole: bool,
}

impl Narrowed {
    /// Returns the answer without a question: any message may match.
    pub fn not_at_all() -> Self {
        Self { question: None, wanted: None, is_whole: true }
    }
}

impl View<'_> {
    /// Keeps the words of some texts and returns the numbers of each one's terms.
    pub(crate) fn keep_words(&self, texts: &[Terms]) -> Result<Vec<Vec<u32>>, StoreError> {
        fn of_text(terms: &Terms) -> impl Iterator<Item = &String> {
            terms.words.iter().chain(&terms.others)
        }
        let words: HashSet<_> = texts.iter().flat_map(of_text).filter(|it| is_word(it)).collect();
        // Those that stand beside each other on the disk are found at once.
        let mut words: Vec<_> = words.into_iter().collect();
        words.sort_unstable();
        let mut nums = HashMap::with_capacity(words.len());
        for word in words {
            nums.insert(word, postings::word(self.keep_word(word)?));
        }
        let num = |term: &String| {
            nums.get(term).copied().unwrap_or_else(|| postings::mark(hash(term.bytes())))
        };
        Ok(texts.iter().map(|terms| of_text(terms).map(num).collect()).collect())
    }

    fn keep_word(&self, word: &str) -> Result<i64, StoreError> {
        if let Some(num) = self.word(word)? {
            return Ok(num);
        }
        let num = self
            .connection
            .prepare_cached("INSERT INTO words (word) VALUES (?1) RETURNING num")
            .and_then(|mut insert| insert.query_row([word], |row| row.get(0)))
            .map_err(|source| self.failed(source))?;
        self.run(
            "INSERT INTO word_pieces (rowid, pieces) VALUES (?1, ?2)",
            params![num, pieces(word)],
        )?;
        Ok(num)
    }

    fn word(&self, word: &str) -> Result<Option<i64>, StoreError> {
        self.connection
            .prepare_cached("SELECT num FROM words WHERE word = ?1")
            .and_then(|mut statement| statement.query_row([word], |row| row.get(0)).optional())
            .map_err(|source| self.failed(source))
    }

    /// Forgets words that no text contains any more. The index of frames, which uses them, has been merged before.
    pub(crate) fn forget_words(&self) -> Result<(), StoreError> {
        let known = self.known_terms()?;
        let mut gone: Vec<(i64, String)> = self
            .connection
            .prepare(
                "SELECT num, word FROM words WHERE word NOT IN (SELECT term FROM frame_vocabulary)",
            )
            .and_then(|mut statement| {
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(|source| self.failed(source))?;
        gone.retain(|(num, _)| !known.contains(&postings::word(*num)));
        for (num, word) in &gone {
            self.run(
                "INSERT INTO word_pieces (word_pieces, rowid, pieces) VALUES ('delete', ?1, ?2)",
                params![num, pieces(word)],
            )?;
            self.run("DELETE FROM words WHERE num = ?1", [num])?;
        }
        if gone.is_empty() {
            return Ok(());
        }
        self.run("INSERT INTO word_pieces (word_pieces) VALUES ('optimize')", [])
    }

    /// Returns clues as a question to the index.
    pub fn narrowed(&self, known: &Known) -> Result<Narrowed, StoreError> {
        let mut clues = Vec::new();
        let mut wanted = Vec::new();
        let is_known = known.clues.iter().any(|clue| matches!(clue, Clue::Terms(_)));
        let most = if is_known { MOST_WORDS_MORE } else { MOST_WORDS };
        let mut is_whole = true;
        for clue in &known.clues {
            match clue {
                Clue::Terms(sets) => {
                    clues.push(one_of(sets.iter().map(|terms| all_of(terms.iter()))));
                    wanted.push(self.clause(sets.iter().map(BTreeSet::iter))?);
                }
                Clue::Letters(letters, place) => {
                    let Some(mut words) = self.words_with(letters, *place, most)? else {
                        is_whole = false;
                        continue;
                    };
                    words.push(ODD.to_owned());
                    clues.push(one_of(words.iter().map(|word| quoted(word))));
                    wanted.push(self.clause(words.iter().map(std::iter::once))?);
                }
            }
        }
        let question = (!clues.is_empty()).then(|| clues.join(" AND "));
        let wanted = (!wanted.is_empty()).then_some(wanted);
        Ok(Narrowed { question, wanted, is_whole })
    }

    /// Returns the numbers of terms, without sets that have a word that stands nowhere.
    fn clause<'t>(
        &self,
        sets: impl Iterator<Item = impl Iterator<Item = &'t String>>,
    ) -> Result<Clause, StoreError> {
        let mut clause = Clause::new();
        for terms in sets {
            let nums: Result<Option<Vec<u32>>, StoreError> = terms
                .map(|term| {
                    if is_word(term) {
                        Ok(self.word(term)?.map(postings::word))
                    } else {
                        Ok(Some(postings::mark(hash(term.bytes()))))
                    }
                })
                .collect();
            clause.extend(nums?);
        }
        clause.dedup();
        Ok(clause)
    }

    /// The words that have letters at some place. None where these are too many or can't be found.
    fn words_with(
        &self,
        letters: &str,
        place: LetterPosition,
        most: usize,
    ) -> Result<Option<Vec<String>>, StoreError> {
        let examined = if place == LetterPosition::Inside { EXAMINED_WORDS } else { most };
        let limit = i64::try_from(examined).unwrap_or(i64::MAX).saturating_add(1);
        let found = if place == LetterPosition::Begin {
            // No word has a byte of this value.
            let end = format!("{letters}\u{7f}");
            self.words(
                "SELECT word FROM words WHERE word >= ?1 AND word < ?2 LIMIT ?3",
                params![letters, end, limit],
            )?
        } else {
            let end = (place == LetterPosition::End).then_some(END);
            let pieces = spread(&letters.chars().chain(end).collect::<String>());
            if pieces.is_empty() {
                return Ok(None);
            }
            let pieces: Vec<_> = pieces.iter().map(|piece| quoted(piece)).collect();
            self.words(
                "SELECT word FROM words WHERE num IN
                   (SELECT rowid FROM word_pieces WHERE word_pieces MATCH ?1 LIMIT ?2)",
                params![pieces.join(" AND "), limit],
            )?
        };
        if found.len() > examined {
            return Ok(None);
        }
        let has = |word: &String| match place {
            LetterPosition::Begin => word.starts_with(letters),
            LetterPosition::Inside => word.contains(letters),
            LetterPosition::End => word.ends_with(letters),
        };
        let found: Vec<_> = found.into_iter().filter(has).take(most + 1).collect();
        Ok((found.len() <= most).then_some(found))
    }

    fn words(&self, query: &str, params: impl rusqlite::Params) -> Result<Vec<String>, StoreError> {
        self.connection
            .prepare_cached(query)
            .and_then(|mut statement| statement.query_map(params, |row| row.get(0))?.collect())
            .map_err(|source| self.failed(source))
    }
}

/// Every piece of a word.
fn pieces(word: &str) -> String {
    let letters: Vec<char> = word.chars().chain([END]).collect();
    let pieces: BTreeSet<String> = letters.windows(PIECE).map(String::from_iter).collect();
    pieces.into_iter().collect::<Vec<_>>().join(" ")
}

/// Pieces that cover some letters; none where these are too few.
fn spread(letters: &str) -> Vec<String> {
    let letters: Vec<char> = letters.chars().collect();
    let Some(last) = letters.len().checked_sub(PIECE) else { return Vec::new() };
    let starts = (0..last).step_by(PIECE).chain([last]);
    starts.map(|at| letters.iter().skip(at).take(PIECE).collect()).collect()
}

fn one_of(alternatives: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = alternatives.collect();
    all.dedup();
    if all.len() == 1 { all.remove(0) } else { format!("({})", all.join(" OR ")) }
}

fn all_of<'t>(terms: impl Iterator<Item = &'t String>) -> String {
    let quoted: Vec<_> = terms.map(|term| quoted(term)).collect();
    if quoted.len() == 1 { quoted.concat() } else { format!("({})", quoted.join(" AND ")) }
}

fn quoted(term: &str) -> String {
    format!("\"{term}\"")
}
