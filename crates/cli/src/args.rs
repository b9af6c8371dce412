//! The command line as clap reads it, and the top-level help.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};

use crate::commands::Command;
use crate::completion;
use crate::examples;

/// Give coding agents a call stack.
///
/// A long agent session becomes a tree of frames. Each has a goal; it is pushed, worked in, and popped
/// with results. What a popped frame did leaves the agent's context; its results stay.
#[derive(Debug, Parser)]
#[command(name = "callstack", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command takes.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Global {
    /// Run as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = "Global options")]
    pub(crate) directory: Option<PathBuf>,
    /// The session to act in, by its id or the beginning of it [default: the session that worked last]
    #[arg(long, value_name = "ID", global = true, help_heading = "Global options")]
    pub(crate) session: Option<String>,
    /// Print JSON, errors too
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
}

/// Whether a command makes a store.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct NewStore {
    /// Make a store if there is none, at the root of the work tree or else in the folder that one stands in
    #[arg(long)]
    pub(crate) here: bool,
}

/// The commands in groups, in the order in which a newcomer needs them.
pub(crate) const GROUPS: &[(&str, &[&str])] = &[
    ("Start here", &["init", "demo", "doctor", "config", "trust"]),
    (
        "See where the work stands",
        &["ui", "tree", "status", "show", "log", "search", "context", "serve"],
    ),
    (
        "Work in frames",
        &[
            "push",
            "pop",
            "plan",
            "preset",
            "activate",
            "go",
            "invalidate",
            "reopen",
            "retry",
            "consolidate",
        ],
    ),
    ("Note things down", &["decision", "artifact", "pin", "unpin"]),
    ("Take it elsewhere", &["report", "export", "import"]),
    ("Measure it", &["replay"]),
    ("Undo and remove", &["rollback", "purge"]),
    ("Plumbing", &["completions", "man", "host", "mcp"]),
];

const EXAMPLES: &[&str] = &[
    "callstack init opencode   Let OpenCode's agent work in frames, in this project",
    "callstack tree            See what it has done, is doing and has planned",
    "callstack show f3         Read what came of frame f3",
];

/// Returns the whole command line, with examples and the top-level help.
pub(crate) fn command() -> clap::Command {
    let command = completion::add_completers(examples::add_examples(Args::command()));
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        // Writing to a string can't fail.
        let _ = writeln!(groups, "{header}{heading}:{header:#}");
        for name in *names {
            let about = command
                .find_subcommand(name)
                .and_then(clap::Command::get_about)
                .map(ToString::to_string)
                .unwrap_or_default();
            let _ = writeln!(groups, "  {literal}{name:<12}{literal:#} {about}");
        }
        groups.push('\n');
    }
    let examples = EXAMPLES.join("\n  ");
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\
         {header}Options:{header:#}\n{{options}}\n\n\
         {header}Examples:{header:#}\n  {examples}\n\n\
         `callstack help COMMAND` tells more about each.\n"
    ))
}

/// Reads the command line.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Args, clap::Error> {
    let mut command = command();
    let mut matches = command.try_get_matches_from_mut(arguments).map_err(|mut error| {
        examples::suggest(&mut error);
        error
    })?;
    Args::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Whether JSON is requested, before the command line is known to be valid.
pub(crate) fn wants_json(arguments: &[OsString]) -> bool {
    arguments.iter().skip(1).take_while(|it| *it != "--").any(|it| it == "--json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_command_stands_in_one_group() {
        let command = command();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter()).collect();
        let mut known: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        grouped.sort_unstable();
        known.sort_unstable();
        assert_eq!(grouped.into_iter().copied().collect::<Vec<_>>(), known);
    }
}

/// Options of work that somebody agrees to before it is done.
#[derive(Debug, clap::Args)]
pub(crate) struct Agreement {
    /// Go ahead without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Only show what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
}
