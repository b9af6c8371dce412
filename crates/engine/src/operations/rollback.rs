//! The operation that undoes a frame's changes to the project's files.

use std::fmt::Write as _;

use callstack_core::frame::FrameNum;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Reply;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::hint::Hint;
use crate::operation::{Access, Caller, CallerKind, Operate, PEOPLE, Repeated, not_for};
use crate::rollback::{Reach, Restoring, RollbackPlan};

/// `stack_frame_rollback`. An agent never restores files: it may ask for it where `STACK_AGENT_REQUESTS` is on, and is
/// answered with the plan and the command that a person confirms it with.
pub(crate) struct Rollback;

/// Arguments of `stack_frame_rollback`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RollbackParams {
    /// Handle such as f12
    frame: String,
    /// Also files that changed while the frame was open although no tool was seen writing them
    #[serde(default)]
    all: bool,
    /// Take back the frame's last rollback that was not taken back
    #[serde(default)]
    undo: bool,
    /// Only say which files would be restored
    #[serde(default)]
    dry_run: bool,
    /// Restore no files but these, such as those that a dry run named; default: all
    files: Option<Vec<String>>,
}

impl Operate for Rollback {
    const NAME: &'static str = "stack_frame_rollback";
    const SUMMARY: &'static str = "Restore the files that a frame, and the frames below it, were seen \
        writing to what they held when it began. Files that changed since are left alone.";
    const ACCESS: Access = Access::Write;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = PEOPLE;
    const ON_REQUEST: bool = true;
    type Params = RollbackParams;
    type Output = RollbackPlan;

    fn run(
        engine: &Engine,
        caller: &Caller,
        params: RollbackParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let is_request = caller.kind() == CallerKind::Agent;
        if is_request && !engine.current_settings()?.agent_requests {
            // Only a handle: other words of an agent are no part of a command that a person is to run.
            let frame = params.frame.parse::<FrameNum>().map(|num| num.to_string());
            let command = confirming(frame.as_deref().unwrap_or_default(), &params);
            let person = Hint::from("Nothing was changed. A person carries it out: ");
            let hint = person.then(command).then(".");
            return Err(not_for(Self::NAME, CallerKind::Agent).with_hint(hint));
        }
        let reach = if params.all { Reach::All } else { Reach::Seen };
        let mut plan = if params.undo {
            engine.rollback_undo_plan(&params.frame)?
        } else {
            engine.rollback_plan(&params.frame, reach)?
        };
        if is_request {
            // The command restores all of them: it shows them first, and asks.
            let mut text = answer_text(&plan, true);
            if !plan.restored.is_empty() {
                let command = confirming(&plan.frame.to_string(), &params);
                // Writing to a string can't fail.
                let _ = write!(text, "\nNothing was changed: a person confirms it with {command}.");
            }
            return Ok(Reply::new(format!("rollback of {} asked for", plan.frame), text, plan));
        }
        if let Some(files) = &params.files {
            plan.restored.retain(|file| files.contains(&file.path));
        }
        let would = params.dry_run || plan.restored.is_empty();
        let done = if would { plan } else { engine.roll_back(&plan)? };
        let title = format!("rollback of {}", done.frame);
        Ok(Reply::new(title, answer_text(&done, would), done))
    }
}

/// Returns the command by which a person does what an agent asked for.
fn confirming(frame: &str, params: &RollbackParams) -> Hint {
    let asked = [("rollback", true), (frame, true), ("--all", params.all && !params.undo)];
    let asked = asked.into_iter().chain([("--undo", params.undo)]);
    let words = asked.filter(|(word, given)| *given && !word.is_empty()).map(|(word, _)| word);
    Hint::command(words.collect::<Vec<_>>().join(" "))
}

fn answer_text(plan: &RollbackPlan, would: bool) -> String {
    let verb = if would { "Would restore" } else { "Restored" };
    let mut text = format!("{verb} {} files of {}.", plan.restored.len(), plan.frame);
    for file in &plan.restored {
        let how = match file.how {
            Restoring::Reverted => "as it was",
            Restoring::Removed => "removed",
            Restoring::BroughtBack => "brought back",
        };
        // Writing to a string can't fail.
        let _ = write!(text, "\n- {}: {how}", file.path);
    }
    if !plan.left.is_empty() {
        let _ = write!(text, "\n{} files are left as they are.", plan.left.len());
    }
    text
}
