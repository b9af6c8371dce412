//! The pieces that requests consist of: each text once, with its tokens and terms, however many requests
//! hold it.

use std::collections::HashMap;

use callstack_core::evidence::terms::{Kind, repeatable};
use callstack_core::text::estimate_tokens;

/// An item's place in its [`Items`].
pub type ItemNum = u32;

/// A piece of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its place: the message's id, the part's place in the message, and the piece's place in the part. A text that
    /// replaces another one has the id of that one.
    pub id: String,
    /// The text as the model reads it.
    pub text: String,
    /// Tokens, by estimate.
    pub estimated: u64,
    /// Its terms, each once, in order.
    pub(crate) terms: Box<[Term]>,
}

/// A term by its number, and whether it is a quoted string. Its letters show its kind otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Term(u32);

impl Term {
    fn new(number: u32, kind: Kind) -> Self {
        Self(number << 1 | u32::from(kind == Kind::Quoted))
    }

    /// The number of its letters.
    pub(crate) fn number(self) -> usize {
        self.0 as usize >> 1
    }
}

/// All items of a session.
#[derive(Clone, Debug, Default)]
pub struct Items {
    all: Vec<Item>,
    /// Items of ours by id; several texts may have the same id.
    ours: HashMap<String, Vec<ItemNum>>,
    terms: HashMap<String, u32>,
}

impl Items {
    /// Adds a text as it was recorded.
    pub(crate) fn add(&mut self, id: String, text: String) -> ItemNum {
        let terms = self.terms_of(&text);
        let estimated = estimate_tokens(&text) as u64;
        self.all.push(Item { id, text, estimated, terms });
        u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX)
    }

    /// The terms of a text, each once, in order.
    pub(crate) fn terms_of(&mut self, text: &str) -> Box<[Term]> {
        let mut terms = Vec::new();
        repeatable(text, |kind, term| {
            let next = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
            let known = self.terms.get(term.as_ref()).copied();
            let number = known.unwrap_or_else(|| {
                self.terms.insert(term.into_owned(), next);
                next
            });
            terms.push(Term::new(number, kind));
        });
        terms.sort_unstable();
        terms.dedup();
        terms.into_boxed_slice()
    }

    /// The item with an id and a text of ours, which may be there already.
    pub(crate) fn ours(&mut self, id: &str, text: &str) -> ItemNum {
        let known = self.ours.get(id).into_iter().flatten();
        if let Some(found) = known.copied().find(|item| self.get(*item).text == text) {
            return found;
        }
        let item = self.add(id.to_owned(), text.to_owned());
        self.ours.entry(id.to_owned()).or_default().push(item);
        item
    }

    /// Returns the item of a text of ours that replaces another.
    pub(crate) fn instead(&mut self, of: ItemNum, text: &str) -> ItemNum {
        let id = self.get(of).id.clone();
        self.ours(&id, text)
    }

    /// An item.
    ///
    /// # Panics
    ///
    /// If the number is another session's.
    pub fn get(&self, item: ItemNum) -> &Item {
        &self.all[item as usize]
    }

    /// The number of items.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    /// The number of different terms in all items.
    pub(crate) fn terms(&self) -> usize {
        self.terms.len()
    }
}
