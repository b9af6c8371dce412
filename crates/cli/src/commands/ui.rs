use std::io::{self, IsTerminal as _};

use callstack_engine::{EngineError, Kind};
use callstack_ui::Options;

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::project::variable;
use crate::resume::resume;
use crate::wording::for_a_terminal;

/// The editor where none is named.
const EDITOR: &str = "vi";

/// Show the tree full screen, live, and steer it
///
/// The tree stands on the left; the details of the selected frame on the right: its result, the lines that it
/// changed, its log, what is sent in its place, its pins and decisions. Below is what fills the next request.
/// Everything follows the agents as they work. `?` shows all keys, and the mouse works too.
///
/// Whatever changes something is shown and asked before. A file is opened in $VISUAL or $EDITOR.
#[derive(Debug, clap::Args)]
pub(crate) struct UiArgs {}

pub(crate) fn run(
    _: &UiArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let is_dumb = variable("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    if output.json() || !output.is_terminal() || !io::stdin().is_terminal() || is_dumb {
        let hint = "`callstack tree` prints the tree, and `callstack tree --json` for programs.";
        return Err(EngineError::invalid("the view needs a terminal to draw on", hint).into());
    }
    let engine = invocation.engine()?;
    engine.guard();
    let named = invocation.session.map(str::to_owned);
    let options = Options {
        project: engine.project().to_path_buf(),
        colours: output.colours(),
        editor: editor(),
        resume,
        for_a_terminal,
    };
    let caller = move |engine: &_| Invocation::caller_of(named.as_deref(), engine);
    callstack_ui::run(engine, Box::new(caller), options).map_err(|error| {
        let kind = Kind::Unavailable;
        let message = format!("the terminal can't be used: {error}");
        EngineError::new(kind, message).caused_by(error).into()
    })
}

/// Returns the words of the command that edits a file.
fn editor() -> Vec<String> {
    let named = ["VISUAL", "EDITOR"].into_iter().filter_map(variable);
    let named = named.map(|it| it.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    named.into_iter().find(|words| !words.is_empty()).unwrap_or_else(|| vec![EDITOR.to_owned()])
}
