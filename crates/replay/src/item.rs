//! The pieces that requests consist of: each text once, with its tokens and terms, however many requests
//! hold it.

use std::collections::HashMap;

use callstack_core::text::estimate_tokens;

use crate::terms::terms;

/// An item's place in its [`Items`].
pub type ItemNum = u32;

/// A piece of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Where it stands: the message's id, the part's place in it, and what of it. A text that stands for
    /// another one has the id of that one.
    pub id: String,
    /// The text as the model reads it.
    pub text: String,
    /// Tokens, by estimate.
    pub estimated: u64,
    /// The numbers of its terms, each once, in order.
    pub(crate) terms: Vec<u32>,
}

/// All items of a session.
#[derive(Clone, Debug, Default)]
pub struct Items {
    all: Vec<Item>,
    /// Items of ours by id; of one id there may be several texts.
    ours: HashMap<String, Vec<ItemNum>>,
    terms: HashMap<String, u32>,
}

impl Items {
    /// Adds a text as it was recorded.
    pub(crate) fn add(&mut self, id: String, text: String) -> ItemNum {
        let mut numbers = Vec::new();
        terms(&text, |term| {
            let next = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
            let known = self.terms.get(term.as_ref()).copied();
            numbers.push(known.unwrap_or_else(|| {
                self.terms.insert(term.into_owned(), next);
                next
            }));
        });
        numbers.sort_unstable();
        numbers.dedup();
        let estimated = estimate_tokens(&text) as u64;
        self.all.push(Item { id, text, estimated, terms: numbers });
        u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX)
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

    /// An item.
    ///
    /// # Panics
    ///
    /// If the number is another session's.
    pub fn get(&self, item: ItemNum) -> &Item {
        &self.all[item as usize]
    }

    /// How many different terms all items have.
    pub(crate) fn terms(&self) -> usize {
        self.terms.len()
    }
}
