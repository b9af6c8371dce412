//! The life of a host's sessions: their beginning, the user's turns, files that tools write, their end.

use callstack_core::decide::{Command, Pop};
use callstack_core::event::{Event, Session};
use callstack_core::frame::{Artifact, Identity, Status};
use callstack_core::text::{first_words, truncate_to_token_budget};
use callstack_core::transcript::{Anchor, Outcome};

use crate::engine::{Engine, lock};
use crate::error::EngineError;
use crate::operation::Caller;

/// Words of a title that is taken from what a user said.
const TITLE_WORDS: usize = 5;
/// Tokens of criteria that are taken from what a user said, whole and dense.
const CRITERIA: usize = 200;
const CRITERIA_COMPACTED: usize = 60;

/// A user has said something.
#[derive(Clone, Debug)]
pub struct UserMessage {
    /// The session.
    pub session: String,
    /// The host.
    pub host: String,
    /// The user's own words.
    pub text: String,
}

impl Engine {
    /// Makes sure that there is a frame to work in when a user has said something.
    pub fn user_message(&self, message: &UserMessage) -> Result<(), EngineError> {
        let last = {
            let conversation = self.conversation(&message.session);
            let conversation = lock(&conversation);
            conversation.last().map(|message| message.id.clone())
        };
        let anchor = Anchor { message: last, call: None };
        if self.active(&message.session)?.is_some() {
            return Ok(());
        }
        let identity = if self.is_from_before(&message.session)? {
            without_goal()
        } else {
            identity_of(&message.text)
        };
        self.ensure_root(&message.session, &message.host, identity, anchor)?;
        Ok(())
    }

    /// Whether something was said in a session before it had any frame.
    fn is_from_before(&self, session: &str) -> Result<bool, EngineError> {
        self.store.read(|view| {
            let rooted = view.session_row(session)?.is_some_and(|session| session.root.is_some());
            Ok(!rooted && view.last_message(session)?.is_some())
        })
    }

    /// Takes back what a root was guessed to be for, in a session that turns out to be older than it.
    pub(crate) fn forget_goal(&self, session: &str) -> Result<(), EngineError> {
        let Ok(root) = self.session_root(session) else { return Ok(()) };
        if self.frame(root)?.identity_derived {
            let identity = without_goal();
            self.change(&Command::SetIdentity {
                frame: root,
                identity,
                derived: true,
                anew: false,
            })?;
        }
        Ok(())
    }

    /// Takes note of a session that another one has started.
    pub fn session_created(
        &self,
        session: &str,
        host: &str,
        parent: Option<&str>,
    ) -> Result<(), EngineError> {
        let Some(parent) = parent else { return Ok(()) };
        self.store.write(|change| {
            if change.view().session_row(session)?.is_some() {
                return Ok(());
            }
            let session = Session {
                id: session.to_owned(),
                host: host.to_owned(),
                parent: Some(parent.to_owned()),
                root: None,
                active: None,
            };
            Ok(change.append(self.now(), &[Event::SessionOpened { session }])?)
        })
    }

    /// Ends the frames of a child session that has fallen silent: its results are what it said last.
    /// Without that its parent's frame could never be popped.
    pub fn session_idle(&self, session: &str) -> Result<(), EngineError> {
        let known = self.store.read(|view| view.session_row(session))?;
        let Some(known) = known.filter(|known| known.parent.is_some()) else { return Ok(()) };
        if self.is_errand(session)? {
            return Ok(());
        }
        let closing = {
            let conversation = self.conversation(session);
            let conversation = lock(&conversation);
            conversation.closing.clone()
        };
        let said = closing.unwrap_or_else(|| "It ended without a word.".to_owned());
        let caller = Caller {
            session: session.to_owned(),
            host: known.host,
            anchor: Anchor { message: None, call: None },
            agent: None,
            performs: false,
        };
        while let Some(frame) = self.active(session)? {
            let results = format!(
                "{said}\n\n(Its session fell silent without a pop; these are its last words.)"
            );
            let compacted = truncate_to_token_budget(&said, CRITERIA_COMPACTED, " …").into_owned();
            let command = Command::Pop(Pop {
                session: session.to_owned(),
                frame: Some(frame),
                anchor: caller.anchor.clone(),
                outcome: Outcome {
                    status: Status::Completed,
                    results: Some(results),
                    results_compacted: Some(compacted),
                },
            });
            self.end(&caller, &command)?;
        }
        Ok(())
    }

    /// Records files that a tool wrote as artifacts of the frame that the step belongs to.
    pub fn files_written(&self, session: &str, files: &[String]) -> Result<(), EngineError> {
        let step = {
            let conversation = self.conversation(session);
            let conversation = lock(&conversation);
            conversation.step_frame
        };
        let active = self.active(session)?;
        let of_step = match step {
            Some(step) => Some(step)
                .filter(|_| self.frame(step).is_ok_and(|frame| frame.status == Status::InProgress)),
            None => None,
        };
        let Some(frame) = of_step.or(active) else { return Ok(()) };
        for file in files {
            let (path, hash) = self.project_file(file);
            self.change(&Command::AddArtifact { frame, artifact: Artifact { path, hash } })?;
        }
        Ok(())
    }

    /// Forgets what this process knows of a session; the store keeps all of it.
    pub fn forget(&self, session: &str) {
        lock(&self.conversations).remove(session);
    }
}

/// What a root frame is for where nobody has said so.
fn without_goal() -> Identity {
    Identity { title: "Session".to_owned(), ..Identity::default() }
}

/// What a root frame is for, by the user's first words.
pub(crate) fn identity_of(words: &str) -> Identity {
    Identity {
        title: title_of(words),
        success_criteria: truncate_to_token_budget(words.trim(), CRITERIA, " …").into_owned(),
        success_criteria_compacted: truncate_to_token_budget(
            words.trim(),
            CRITERIA_COMPACTED,
            " …",
        )
        .into_owned(),
    }
}

/// A title made of somebody's first words.
pub(crate) fn title_of(words: &str) -> String {
    let mut title = first_words(words, TITLE_WORDS);
    if title.is_empty() {
        return "Session".to_owned();
    }
    if words.split_whitespace().count() > title.split_whitespace().count() {
        title.push('…');
    }
    title
}
