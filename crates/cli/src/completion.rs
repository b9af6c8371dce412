//! Completion of a command line by the program itself, so that handles, settings, presets and sessions are offered
//! as they are now.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use callstack_core::control::steers;
use callstack_engine::{Engine, FrameList, SETTINGS, operations, presets};
use clap::Command;
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use serde_json::json;

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::project::{StartFolder, open};

/// The environment variable with the shell for which a command line is to be completed instead of carried out.
pub(crate) const VARIABLE: &str = "CALLSTACK_COMPLETE";

/// Prints the completions at the cursor, if a shell asks for them. Returns whether it did.
pub(crate) fn answer(arguments: &[OsString], output: &mut Output) -> Result<bool, CommandError> {
    let Some(shell) = std::env::var(VARIABLE).ok() else { return Ok(false) };
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&shell) else { return Ok(false) };
    let words: Vec<_> = line(arguments).to_vec();
    if words.is_empty() {
        return Ok(false);
    }
    let mut command = crate::args::command();
    command.build();
    let folder = std::env::current_dir().ok();
    let mut offered = Vec::new();
    // A line that can't be read is not completed.
    if shell.write_complete(&mut command, words, folder.as_deref(), &mut offered).is_ok() {
        output.generated(&String::from_utf8_lossy(&offered))?;
    }
    Ok(true)
}

/// Returns the command line to be completed from the arguments that the shell passes.
fn line(arguments: &[OsString]) -> &[OsString] {
    let end = arguments.iter().position(|it| it == "--");
    end.and_then(|end| arguments.get(end + 1..)).unwrap_or_default()
}

/// Adds completions of arguments whose values depend on the project.
pub(crate) fn add_completers(command: Command) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|argument| match (name.as_str(), argument.get_id().as_str()) {
            (_, "frame" | "parent" | "edit" | "before")
            | ("plan", "remove")
            | ("purge", "what")
            | ("go", "to") => argument.add(ArgValueCandidates::new(frames)),
            ("show" | "apply", "name") => argument.add(ArgValueCandidates::new(preset_names)),
            ("config", "name") => argument.add(ArgValueCompleter::new(settings)),
            (_, "session") => argument.add(ArgValueCandidates::new(sessions)),
            _ => argument,
        })
        .mut_subcommands(add_completers)
}

/// Returns the project's engine, if there is a store that may be used.
fn engine() -> Option<Engine> {
    open(&place()?.existing().ok()?).ok()
}

/// Returns the place in which the command that is being written would work.
fn place() -> Option<StartFolder> {
    let arguments: Vec<_> = std::env::args_os().collect();
    let named = line(&arguments).windows(2).find(|pair| pair[0] == "-C");
    StartFolder::of(named.map(|pair| PathBuf::from(&pair[1])).as_deref()).ok()
}

/// Returns the frames and sessions of the project; none if they can't be read.
fn listed() -> FrameList {
    let read = || {
        let engine = engine()?;
        let caller = Invocation::caller_of(None, &engine).ok()?;
        let arguments = json!({"detail": "titles"});
        let answer = operations::find("stack_frames")?.run(&engine, &caller, arguments).ok()?;
        serde_json::from_value(answer.data).ok()
    };
    read().unwrap_or_default()
}

fn frames() -> Vec<CompletionCandidate> {
    let offered = listed().frames;
    offered.iter().filter_map(|frame| candidate(&frame.handle, &frame.title)).collect()
}

fn sessions() -> Vec<CompletionCandidate> {
    let mut sessions = listed().sessions;
    sessions.sort_by(|one, other| one.id.cmp(&other.id));
    sessions.iter().filter_map(|session| candidate(&session.id, &session.host)).collect()
}

fn preset_names() -> Vec<CompletionCandidate> {
    let all = place().and_then(|place| presets::presets(&place.existing_or_new().ok()?).ok());
    let all = all.unwrap_or_default();
    all.keys().filter_map(|name| candidate(name, "")).collect()
}

/// Returns the settings with the kind of name that is being written.
fn settings(begun: &OsStr) -> Vec<CompletionCandidate> {
    let Some(begun) = begun.to_str() else { return Vec::new() };
    let is_whole = begun.starts_with(char::is_uppercase);
    let all = SETTINGS.iter().flat_map(|(_, settings)| settings.iter());
    let named = all.map(|setting| {
        let short = setting.name.strip_prefix("STACK_").unwrap_or(setting.name);
        let short = short.to_lowercase().replace('_', "-");
        (if is_whole { setting.name.to_owned() } else { short }, setting.doc)
    });
    let offered = named.filter(|(name, _)| name.starts_with(begun));
    offered.filter_map(|(name, doc)| candidate(&name, doc)).collect()
}

/// Returns a completion with its description. `None` for a value that a shell would not read literally: the name of a
/// session or a preset may come from somebody else.
fn candidate(value: &str, about: &str) -> Option<CompletionCandidate> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    if value.starts_with('-') || !value.chars().all(is_plain) {
        return None;
    }
    let about: String = about.chars().filter(|char| !steers(*char)).collect();
    let candidate = CompletionCandidate::new(value);
    Some(if about.is_empty() { candidate } else { candidate.help(Some(about.into())) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_argument(command: &Command, visit: &mut impl FnMut(&str, &clap::Arg)) {
        for argument in command.get_arguments() {
            visit(command.get_name(), argument);
        }
        for inner in command.get_subcommands() {
            every_argument(inner, visit);
        }
    }

    #[test]
    fn every_argument_that_names_a_frame_is_completed() {
        let mut seen = 0;
        every_argument(&crate::args::command(), &mut |command, argument| {
            let names = argument.get_value_names().unwrap_or_default();
            if names.iter().any(|name| name.split('|').any(|it| it == "FRAME")) {
                let id = argument.get_id();
                assert!(argument.get::<ArgValueCandidates>().is_some(), "{command} {id}");
                seen += 1;
            }
        });
        assert!(seen > 20, "{seen}");
    }

    #[test]
    fn what_a_shell_would_read_otherwise_is_not_offered() {
        for value in ["$(reboot)", "a b", "a;b", "-x", "a\nb", "`x`", "ä"] {
            assert!(candidate(value, "").is_none(), "{value}");
        }
        let offered = candidate("ses_1-2.x", "A title\u{1b}[2J\nof two lines").unwrap();
        assert_eq!(offered.get_value(), "ses_1-2.x");
        assert_eq!(offered.get_help().unwrap().to_string(), "A title[2Jof two lines");
    }
}
