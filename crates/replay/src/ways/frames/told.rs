//! Which terms are told already, so that evidence need not tell them again.

use callstack_core::returned::MARK;

use crate::item::{ItemNum, Items, Term};

use super::sent::Changed;

#[derive(Debug, Default)]
pub(super) struct Told {
    /// The first message behind which a fold tells of each term.
    folds: Vec<Option<usize>>,
    /// How often each stands in what was sent last, results of calls not counted.
    sent: Vec<u32>,
}

impl Told {
    /// Takes in the terms of what stands for a span that ends with a message.
    pub(super) fn behind(&mut self, message: usize, terms: &[Term]) {
        for term in terms {
            let known = of(&mut self.folds, *term);
            *known = Some(known.map_or(message, |known| known.min(message)));
        }
    }

    /// Whether a span that ends at a message or before it tells of a term.
    pub(super) fn is_in_front(&self, message: usize, term: Term) -> bool {
        self.folds.get(term.place()).copied().flatten().is_some_and(|behind| behind <= message)
    }

    /// Takes in what is sent.
    pub(super) fn sent(&mut self, items: &Items, changed: &Changed) {
        for item in &changed.removed {
            for term in tells(items, *item) {
                *of(&mut self.sent, *term) -= 1;
            }
        }
        for item in &changed.added {
            for term in tells(items, *item) {
                *of(&mut self.sent, *term) += 1;
            }
        }
    }

    /// Whether a term stands in what was sent last.
    pub(super) fn is_sent(&self, term: Term) -> bool {
        self.sent.get(term.place()).is_some_and(|times| *times > 0)
    }
}

fn of<T: Clone + Default>(all: &mut Vec<T>, term: Term) -> &mut T {
    if all.len() <= term.place() {
        all.resize(term.place() + 1, T::default());
    }
    &mut all[term.place()]
}

/// The terms of an item that tells of itself: results may be masked any time.
fn tells(items: &Items, item: ItemNum) -> &[Term] {
    let item = items.get(item);
    if item.id.ends_with("/result") && !item.text.starts_with(MARK) { &[] } else { &item.terms }
}
