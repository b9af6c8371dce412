//! Trials: a real `OpenCode` works on a real task, with a model that is not scripted.
//!
//! The scripted model shows that requests are well-formed; a trial shows how a language model uses our tools,
//! guidance and folds. `docs/trials.md` describes how one is run.
//!
//! A trial has a folder. [`run`] writes every request of the agent into it, and each waits there until a
//! [`Reader`] has answered it, or is passed on to a model that is asked over HTTP. [`ledger`] counts the cost of a
//! trial from the same files.

mod folder;
mod http;
pub mod ledger;
mod reader;
mod relay;
mod remote;
mod run;
mod show;

use thiserror::Error;

use crate::TestError;

pub use reader::{Coming, Next, Part, Reader};
pub use remote::Remote;
pub use run::{Plan, Wheel, run};

/// A trial can't go on, or an answer was refused.
#[derive(Debug, Error)]
pub enum TrialError {
    /// The sealed environment, a file or a process.
    #[error(transparent)]
    Test(#[from] TestError),
    /// A mistake that the reader or the person at the command line can correct.
    #[error("{0}")]
    Refused(String),
}

impl TrialError {
    fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }
}
