//! The base of the end-to-end tests: a sealed environment, the real `OpenCode` in it, and checks on the requests to
//! the scripted model. Never shipped.
//!
//! ```no_run
//! use callstack_scripted_model::{Script, ScriptedModel, Step};
//! use callstack_testkit::{OpenCode, Run, Sealed, assert_clean};
//!
//! let Some(opencode) = OpenCode::locate_or_skip() else { return };
//! let sealed = Sealed::new().unwrap();
//! let model = ScriptedModel::start(Script::steps([Step::text("hello")])).unwrap();
//! opencode.configure(&sealed, &model.base_url()).unwrap();
//! let said = opencode.run(&sealed, &Run::prompt("say hello")).unwrap();
//! assert!(said.success(), "{said}");
//! assert_clean(&model);
//! ```
//!
//! # Facts about `OpenCode` 1.18.33 that shaped this
//!
//! - `opencode run "two words"` puts an argument with a space into quotes, and the model sees
//!   them. What comes on standard input arrives as it is, so prompts go there.
//! - It installs `@opencode-ai/plugin` through npm into *two* folders, `.opencode` and
//!   `$XDG_CONFIG_HOME/opencode`, and a start that loads a plugin waits for both (about 25 s). It
//!   leaves a folder alone that has a `node_modules` and a `package-lock.json` whose root lists
//!   the dependency. [`OpenCode::configure`] puts those there, so a start takes 3 s and no
//!   network; `npm_config_offline` makes everything else fail at once.
//! - `opencode serve --port 0` listens on 4096 if that is free.
//! - Snapshots, and with them the restoring of files by a revert, need a git repository
//!   ([`Sealed::git_init`]).

mod callstack;
mod loopback;
mod opencode;
mod process;
mod sealed;
mod server;
mod terminal;
pub mod tokens;
pub mod trial;

use std::{io, path::PathBuf, time::Duration};

use callstack_scripted_model::ScriptedModel;
use thiserror::Error;

pub use callstack::Callstack;
pub use loopback::{Asked, Loopback, Reply};
pub use opencode::{Missing, OpenCode, Run};
pub use process::{Finished, Running};
pub use sealed::Sealed;
pub use server::{Events, Server};
pub use terminal::Terminal;

/// Something that a test needs did not work.
#[derive(Debug, Error)]
pub enum TestError {
    /// A file or process operation failed.
    #[error("cannot {what} {path}: {source}")]
    Io {
        /// The action that was tried.
        what: &'static str,
        /// On which path.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A process or condition took too long.
    #[error("{what} took longer than {limit:?}; so far:\n{so_far}")]
    TooLong {
        /// The event that was waited for.
        what: String,
        /// The limit.
        limit: Duration,
        /// The output up to then.
        so_far: String,
    },
    /// A server ended before it was ready.
    #[error("{what} ended before it was ready:\n{output}")]
    Ended {
        /// The process.
        what: String,
        /// Its output.
        output: String,
    },
    /// A call of the host's HTTP API failed.
    #[error("{call}: {why}")]
    Api {
        /// Method and path.
        call: String,
        /// Status and body, or the transport's error.
        why: String,
    },
}

impl TestError {
    pub(crate) fn io(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { what, path, source }
    }
}

/// Fails the test with everything that was wrong with the model's requests, the requests
/// concerned included.
///
/// # Panics
///
/// When the model found a violation.
#[track_caller]
pub fn assert_clean(model: &ScriptedModel) {
    let found = model.violations();
    let requests = model.requests();
    let descriptions: Vec<String> = found
        .iter()
        .map(|finding| {
            let request = requests.get(finding.request).map(|r| clipped(&r.render()));
            format!("{finding}\n{}", request.unwrap_or_default())
        })
        .collect();
    assert!(
        found.is_empty(),
        "the model found {} violations:\n{}",
        found.len(),
        descriptions.join("\n")
    );
}

/// A system prompt alone fills screens; the beginnings of lines are enough.
fn clipped(text: &str) -> String {
    text.lines().map(|line| line.chars().take(160).collect::<String>() + "\n").collect()
}
