//! The export of frames, for people or for another store.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::operation::{Access, Caller, CallerKind, Operate, PEOPLE, Repeated};
use crate::state::StackState;

/// `stack_export`.
pub(crate) struct Export;

/// Arguments of `stack_export`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ExportParams {
    /// Handle of a frame, which comes with what is below it; default: the whole tree
    frame: Option<String>,
    /// Only the frames of this session
    session: Option<String>,
}

impl Operate for Export {
    const NAME: &'static str = "stack_export";
    const SUMMARY: &'static str = "All that is known of frames, as a document to read and as data that \
        another store can take over.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = PEOPLE;
    type Params = ExportParams;
    type Output = StackState;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: ExportParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let state = match (&params.frame, &params.session) {
            (None, Some(session)) => engine.export_session(session)?,
            (Some(frame), _) => engine.export(Some(engine.resolve(frame)?.num))?,
            (None, None) => engine.export(None)?,
        };
        let text = if caller.reveal { state.to_markdown() } else { state.to_masked_markdown() };
        Ok(Reply::new("export", text, state))
    }
}
