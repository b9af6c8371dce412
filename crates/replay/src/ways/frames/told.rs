//! Which terms are told already, so that evidence need not tell them again.

use crate::item::Term;

#[derive(Debug, Default)]
pub(super) struct Told {
    /// The first message behind which a fold tells of each term.
    folds: Vec<Option<usize>>,
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
}

fn of<T: Clone + Default>(all: &mut Vec<T>, term: Term) -> &mut T {
    if all.len() <= term.place() {
        all.resize(term.place() + 1, T::default());
    }
    &mut all[term.place()]
}
