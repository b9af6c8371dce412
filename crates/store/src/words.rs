//! The words that stand anywhere in what is kept, so that those that hold some letters are found without
//! reading texts.

use std::collections::{BTreeSet, HashSet};

use callstack_core::search::{Clue, Known, ODD, Place, Terms};
use rusqlite::params;

use crate::error::StoreError;
use crate::store::View;

/// Letters of the pieces by which words are known.
const PIECE: usize = 3;
/// Words that may stand for the letters that are looked for; letters that stand in more tell little, and
/// each makes a question slower. The first where nothing else is known.
const MOST_WORDS: usize = 64;
const MOST_WORDS_MORE: usize = 8;
/// Words that are looked at for that.
const EXAMINED_WORDS: usize = 2_000;

/// What the index is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrowed {
    /// None where nothing narrows the texts down.
    pub(crate) question: Option<String>,
    /// Whether all that is known is in it.
    pub is_whole: bool,
}

impl View<'_> {
    /// Keeps the words of a text; `lately` are some that are kept already.
    pub(crate) fn keep_words(
        &self,
        terms: &Terms,
        lately: &mut HashSet<String>,
    ) -> Result<(), StoreError> {
        for word in &terms.words {
            if lately.contains(word) {
                continue;
            }
            let is_new = self
                .connection
                .prepare_cached("INSERT OR IGNORE INTO words (word) VALUES (?1)")
                .and_then(|mut statement| statement.execute([word]))
                .map_err(|source| self.failed(source))?;
            if is_new > 0 && word.len() >= PIECE {
                self.run(
                    "INSERT INTO word_pieces (rowid, pieces) VALUES (last_insert_rowid(), ?1)",
                    [pieces(word)],
                )?;
            }
            lately.insert(word.clone());
        }
        Ok(())
    }

    /// Forgets words that stand nowhere any more. What knows messages and frames by them has been merged
    /// before.
    pub(crate) fn forget_words(&self) -> Result<(), StoreError> {
        let gone: Vec<(i64, String)> = self
            .connection
            .prepare(
                "SELECT num, word FROM words
                 WHERE word NOT IN (SELECT term FROM message_vocabulary)
                   AND word NOT IN (SELECT term FROM frame_vocabulary)",
            )
            .and_then(|mut statement| {
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(|source| self.failed(source))?;
        for (num, word) in &gone {
            if word.len() >= PIECE {
                self.run(
                    "INSERT INTO word_pieces (word_pieces, rowid, pieces) VALUES ('delete', ?1, ?2)",
                    params![num, pieces(word)],
                )?;
            }
            self.run("DELETE FROM words WHERE num = ?1", [num])?;
        }
        if gone.is_empty() {
            return Ok(());
        }
        self.run("INSERT INTO word_pieces (word_pieces) VALUES ('optimize')", [])
    }

    /// What is known, as a question to the index.
    pub fn narrowed(&self, known: &Known) -> Result<Narrowed, StoreError> {
        let mut clues = Vec::new();
        let is_known = known.clues.iter().any(|clue| matches!(clue, Clue::Terms(_)));
        let most = if is_known { MOST_WORDS_MORE } else { MOST_WORDS };
        let mut is_whole = true;
        for clue in &known.clues {
            match clue {
                Clue::Terms(sets) => {
                    clues.push(one_of(sets.iter().map(|terms| all_of(terms.iter()))));
                }
                Clue::Letters(letters, place) => {
                    let Some(mut words) = self.words_with(letters, *place, most)? else {
                        is_whole = false;
                        continue;
                    };
                    words.push(ODD.to_owned());
                    clues.push(one_of(words.iter().map(|word| quoted(word))));
                }
            }
        }
        let question = (!clues.is_empty()).then(|| clues.join(" AND "));
        Ok(Narrowed { question, is_whole })
    }

    /// The words that have letters at some place. None where these are too many or can't be found.
    fn words_with(
        &self,
        letters: &str,
        place: Place,
        most: usize,
    ) -> Result<Option<Vec<String>>, StoreError> {
        let examined = if place == Place::Begin { most } else { EXAMINED_WORDS };
        let limit = i64::try_from(examined).unwrap_or(i64::MAX).saturating_add(1);
        let found = if place == Place::Begin {
            // No word has a byte of this value.
            let end = format!("{letters}\u{7f}");
            self.words(
                "SELECT word FROM words WHERE word >= ?1 AND word < ?2 LIMIT ?3",
                params![letters, end, limit],
            )?
        } else if letters.len() >= PIECE {
            let pieces: Vec<_> = spread(letters).map(quoted).collect();
            self.words(
                "SELECT word FROM words WHERE num IN
                   (SELECT rowid FROM word_pieces WHERE word_pieces MATCH ?1 LIMIT ?2)",
                params![pieces.join(" AND "), limit],
            )?
        } else {
            return Ok(None);
        };
        if found.len() > examined {
            return Ok(None);
        }
        let has = |word: &String| match place {
            Place::Begin => word.starts_with(letters),
            Place::Inside => word.contains(letters),
            Place::End => word.ends_with(letters),
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

/// Every piece of a word; words are ASCII.
fn pieces(word: &str) -> String {
    let starts = 0..=word.len().saturating_sub(PIECE);
    let pieces: BTreeSet<_> = starts.filter_map(|at| word.get(at..at + PIECE)).collect();
    pieces.into_iter().collect::<Vec<_>>().join(" ")
}

/// Pieces that cover some letters.
fn spread(letters: &str) -> impl Iterator<Item = &str> {
    let last = letters.len().saturating_sub(PIECE);
    (0..last).step_by(PIECE).chain([last]).filter_map(|at| letters.get(at..at + PIECE))
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
