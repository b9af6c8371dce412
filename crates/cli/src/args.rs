//! The command line as clap reads it, and the top-level help.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};

use crate::commands::Command;

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
    /// Work as if started in DIR
    #[arg(short = 'C', value_name = "DIR", global = true, help_heading = "Global options")]
    pub(crate) directory: Option<PathBuf>,
    /// The session whose open frame is meant, by its id or the beginning of it [default: the session
    /// that worked last]
    #[arg(long, value_name = "ID", global = true, help_heading = "Global options")]
    pub(crate) session: Option<String>,
    /// Print JSON, errors too
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
}

/// The commands in the order and company in which a newcomer meets them.
pub(crate) const GROUPS: &[(&str, &[&str])] = &[
    ("Start here", &["init", "demo", "doctor", "config", "trust"]),
    ("See where the work stands", &["tree", "status", "show", "log", "search", "context"]),
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
    ("Take it elsewhere", &["export", "import"]),
    ("Measure it", &["replay"]),
    ("Undo and remove", &["rollback", "purge"]),
    ("Plumbing", &["completions", "host"]),
];

const EXAMPLES: &[&str] = &[
    "callstack init opencode        Let OpenCode's agent work in frames, in this project",
    "callstack tree                 See what it has done, is doing and has planned",
    "callstack show f3              Read what came out of frame f3",
];

/// The whole command line.
pub(crate) fn command() -> clap::Command {
    let command = Args::command();
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        // Writing to a string can't fail.
        let _ = writeln!(groups, "{heading}:");
        for name in *names {
            let about = command
                .find_subcommand(name)
                .and_then(clap::Command::get_about)
                .map(ToString::to_string)
                .unwrap_or_default();
            let _ = writeln!(groups, "  {name:<12} {about}");
        }
        groups.push('\n');
    }
    let examples = EXAMPLES.join("\n  ");
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\
         Options:\n{{options}}\n\nExamples:\n  {examples}\n\n\
         `callstack help COMMAND` tells more about each.\n"
    ))
}

/// Reads the command line.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Args, clap::Error> {
    let mut command = command();
    let mut matches = command.try_get_matches_from_mut(arguments)?;
    Args::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Whether JSON is asked for, told before the command line is known to be right.
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

/// What somebody agrees to before it is done.
#[derive(Debug, clap::Args)]
pub(crate) struct Agreement {
    /// Do it without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Only say what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
}
