//! A sealed project with the plugin in it.

use std::path::Path;

use callstack_scripted_model::{RecordedRequest, Script, ScriptedModel};
use callstack_testkit::{Callstack, Finished, OpenCode, Run, Sealed};

/// The plugin as it is in the source tree.
const PLUGIN: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../integrations/opencode/callstack.ts");

pub(crate) struct Project {
    pub(crate) sealed: Sealed,
    pub(crate) model: ScriptedModel,
    pub(crate) opencode: OpenCode,
    pub(crate) callstack: Callstack,
}

impl Project {
    /// None, with a printed reason, where there is no `OpenCode`.
    pub(crate) fn new(script: Script) -> Option<Self> {
        let project = Self::without_plugin(script)?;
        project.sealed.install_plugin("callstack.ts", Path::new(PLUGIN)).unwrap();
        project.callstack.put_on_path(&project.sealed).unwrap();
        Some(project)
    }

    /// The same project as if there were no callstack.
    pub(crate) fn without_plugin(script: Script) -> Option<Self> {
        let opencode = OpenCode::locate_or_skip()?;
        let sealed = Sealed::new().unwrap();
        let model = ScriptedModel::start(script).unwrap();
        opencode.configure(&sealed, &model.base_url()).unwrap();
        let callstack = Callstack::at(env!("CARGO_BIN_EXE_callstack"));
        Some(Self { sealed, model, opencode, callstack })
    }

    pub(crate) fn run(&self, run: &Run) -> Finished {
        let finished = self.opencode.run(&self.sealed, run).unwrap();
        assert!(finished.success(), "{finished}");
        finished
    }

    /// The requests of the only session, in order.
    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        let sessions = self.model.sessions();
        let [session] = &sessions[..] else { panic!("{sessions:?}") };
        self.model.agent_requests(session)
    }
}
