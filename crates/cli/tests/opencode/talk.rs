//! A server with the plugin in it, and sessions of several turns.

use callstack_scripted_model::{Checks, Conversation, RecordedRequest, Script, Step, WireFormat};
use callstack_testkit::{Server, assert_clean};
use serde_json::Value;

use super::project::Project;

pub(crate) struct Talk {
    pub(crate) project: Project,
    pub(crate) server: Server,
}

impl Talk {
    /// None, with a printed reason, where there is no `OpenCode`.
    pub(crate) fn new(env: &[(&str, &str)]) -> Option<Self> {
        Self::with(env, |_| ())
    }

    /// The same with a project that is changed before the server starts.
    pub(crate) fn with(env: &[(&str, &str)], change: impl FnOnce(&Project)) -> Option<Self> {
        let project = Project::new(Script::new())?;
        change(&project);
        let server = project.opencode.serve_with(&project.sealed, env).unwrap();
        Some(Self { project, server })
    }

    /// The same with a model that speaks another wire format, and additions to the configuration.
    pub(crate) fn speaking(
        format: WireFormat,
        env: &[(&str, &str)],
        changes: &Value,
    ) -> Option<Self> {
        Self::with(env, |project| {
            let url = project.model.base_url();
            project.opencode.configure_for(&project.sealed, format, &url, changes).unwrap();
        })
    }

    /// A session for which the model has these steps.
    pub(crate) fn session(&self, steps: impl IntoIterator<Item = Step>) -> Session<'_> {
        self.session_with(Checks::default(), steps)
    }

    /// A session with these steps and checks.
    pub(crate) fn session_with(
        &self,
        checks: Checks,
        steps: impl IntoIterator<Item = Step>,
    ) -> Session<'_> {
        self.converse(Conversation::new(steps).checks(checks))
    }

    /// A session in which the summariser answers this, and the agent has these steps.
    pub(crate) fn session_compacting(
        &self,
        compactions: impl IntoIterator<Item = Step>,
        steps: impl IntoIterator<Item = Step>,
    ) -> Session<'_> {
        self.converse(Conversation::new(steps).compactions(compactions))
    }

    /// A session with this conversation.
    pub(crate) fn converse(&self, conversation: Conversation) -> Session<'_> {
        let steps = conversation.steps.len();
        self.project.model.add(conversation);
        Session { talk: self, id: self.server.create_session().unwrap(), steps }
    }
}

/// One session. Sessions of one server take turns, they do not run side by side.
pub(crate) struct Session<'a> {
    pub(crate) talk: &'a Talk,
    pub(crate) id: String,
    steps: usize,
}

impl Session<'_> {
    /// Says something and waits for the end of the turn.
    pub(crate) fn say(&self, text: &str) {
        self.talk.server.prompt(&self.id, text).unwrap();
    }

    /// The agent's requests so far.
    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.talk.project.model.agent_requests(&self.id)
    }

    /// All requests, once there is one for every step and nothing was wrong with any.
    #[track_caller]
    pub(crate) fn finished(&self) -> Vec<RecordedRequest> {
        assert_clean(&self.talk.project.model);
        let requests = self.requests();
        assert_eq!(requests.len(), self.steps, "not every step was asked for");
        requests
    }
}
