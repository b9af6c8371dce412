//! Calls that were made together with the end of a span: the author of the results had not seen their ends.

use super::gather::command_line;
use super::runners::{Summary, summaries};
use super::{Action, errors};
use crate::secrets::mask;
use crate::text::cap;
use crate::transcript::{CallState, ToolCall};

/// The longest name that is shown, in bytes.
const NAME: usize = 160;

/// Returns the outcome of a call that the results could not take into account: that it failed, that a command or a
/// change went well, or, where it has none yet, that its end was not observed. None for a call that only looked.
pub fn unseen_outcome(call: &ToolCall, project: &str) -> Option<String> {
    let is_open = call.state == CallState::Open;
    let name = match &call.action {
        Action::Ran(command) => format!("`{}`", command_line(command, project)),
        Action::Read(path) => named(call, path),
        Action::Wrote(paths) => named(call, &paths.join(" ")),
        Action::Other => call.tool.clone(),
    };
    if is_open {
        return Some(format!("{name}: how it ended was not seen"));
    }
    if !call.has_failed() {
        return match (&call.action, call.exit) {
            (Action::Ran(_), Some(0)) => {
                let said = Summary::sum(&summaries(call.output_text()));
                let said = said.map_or_else(String::new, |it| format!(": {}", it.said));
                Some(format!("{name} ended with exit 0{said}"))
            }
            (Action::Wrote(_), _) => Some(format!("{name} was done")),
            _ => None,
        };
    }
    let exit = call.exit.filter(|exit| *exit != 0);
    let how = exit.map_or_else(|| "failed".to_owned(), |exit| format!("failed with exit {exit}"));
    let output = mask(call.output_text());
    Some(match errors::informative_line(&call.action, &output) {
        Some(line) => format!("{name} {how}: {line}"),
        None => format!("{name} {how}"),
    })
}

fn named(call: &ToolCall, path: &str) -> String {
    format!("{} {}", call.tool, cap(&mask(path), NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(action: Action, exit: Option<i64>, state: CallState, output: &str) -> ToolCall {
        let output = Some(output.to_owned());
        ToolCall { output, exit, action, ..ToolCall::new("", "edit", state) }
    }

    #[test]
    fn only_what_the_results_could_not_know_is_added() {
        let ran = || Action::Ran("cargo  test -p x".to_owned());
        let wrote = || Action::Wrote(vec!["src/a.rs".to_owned()]);
        let read = Action::Read("src/a.rs".to_owned());
        let outcome = |call: &ToolCall| unseen_outcome(call, "");
        let (open, completed, failed) = (CallState::Open, CallState::Completed, CallState::Failed);
        assert_eq!(outcome(&of(read, None, completed, "ok")), None);
        assert_eq!(
            outcome(&of(ran(), Some(0), completed, "ok\n12 passed in 0.1s\n")).unwrap(),
            "`cargo test -p x` ended with exit 0: 12 passed"
        );
        assert_eq!(outcome(&of(wrote(), None, completed, "ok")).unwrap(), "edit src/a.rs was done");
        assert_eq!(
            outcome(&of(ran(), Some(101), completed, "running\nerror: test failed\n")).unwrap(),
            "`cargo test -p x` failed with exit 101: error: test failed"
        );
        assert_eq!(
            outcome(&of(wrote(), None, failed, "oldString not found")).unwrap(),
            "edit src/a.rs failed: oldString not found"
        );
        assert_eq!(
            outcome(&of(ran(), None, open, "")).unwrap(),
            "`cargo test -p x`: how it ended was not seen"
        );
    }
}
