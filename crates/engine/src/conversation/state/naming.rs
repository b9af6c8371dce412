//! The state of naming steps.

use callstack_core::named_steps::NamedSteps;

use crate::conversation::entry::Looked;

/// The state of naming in this process.
#[derive(Debug, Default)]
pub(crate) struct Naming {
    pub(crate) looked: Looked,
    pub(crate) named: Vec<NamedSteps>,
}

impl Naming {
    pub(crate) fn know(&mut self, named: Vec<NamedSteps>) {
        self.named = named;
    }
}
