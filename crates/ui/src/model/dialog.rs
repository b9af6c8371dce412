//! A dialog above the panes, which waits for an answer.

use callstack_engine::search::SearchHit;
use callstack_engine::{EngineError, RollbackPlan};

use super::details::Remote;
use super::form::Form;
use crate::data::loads::Rollback;

/// A dialog.
#[derive(Debug)]
pub(crate) enum Dialog {
    Help {
        scroll: usize,
    },
    Form(Box<Form>),
    Rollback(Preview),
    Search(Search),
    Pick(Pick),
    /// The parts of the next request.
    Window {
        scroll: usize,
    },
    /// A command that is about to be run outside of the view.
    Command(Launch),
    /// Something went wrong.
    Failed(EngineError),
}

/// The effect of a rollback.
#[derive(Debug)]
pub(crate) struct Preview {
    pub(crate) rollback: Rollback,
    pub(crate) plan: Remote<RollbackPlan>,
    pub(crate) scroll: usize,
}

/// A search.
#[derive(Debug, Default)]
pub(crate) struct Search {
    pub(crate) text: String,
    /// The last query.
    pub(crate) asked: String,
    pub(crate) found: Remote<Vec<SearchHit>>,
    pub(crate) at: usize,
}

/// One of several texts.
#[derive(Debug)]
pub(crate) struct Pick {
    pub(crate) title: String,
    pub(crate) what: Picked,
    pub(crate) items: Vec<String>,
    pub(crate) at: usize,
}

/// The action on the picked entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    Edit,
    /// Takes the pin of a frame back.
    Unpin(String),
}

/// A command to be run in place of the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launch {
    /// Its effect, in a sentence.
    pub(crate) about: String,
    pub(crate) words: Vec<String>,
}
