//! Examples of each command, as its help shows them, and commands that have another name in other programs.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

/// Command lines of each command, with their effects.
const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "init",
        &[
            ("callstack init opencode", "Let OpenCode work in frames here"),
            ("callstack init opencode --remove", "Take everything out again"),
        ],
    ),
    (
        "demo",
        &[
            ("callstack demo", "With a scripted model: no key, no costs"),
            ("callstack demo --model openai/gpt-5", "With a model of your own"),
        ],
    ),
    (
        "doctor",
        &[
            ("callstack doctor", "See whether all is well"),
            ("callstack doctor --rebuild", "Repair a store from its events"),
        ],
    ),
    (
        "config",
        &[
            ("callstack config", "Show all settings"),
            ("callstack config autonomy-level auto", "Open and close frames by itself here"),
            ("callstack config --user autonomy-level auto", "The same in all projects"),
            ("callstack config autonomy-level --reset", "As it was"),
        ],
    ),
    (
        "trust",
        &[
            ("callstack trust", "Take this project's store over"),
            ("callstack trust --list", "See all stores that are on record"),
        ],
    ),
    (
        "ui",
        &[
            ("callstack ui", "Follow an agent, and steer it"),
            ("callstack ui --session ses_1", "Act in this session, whichever worked last"),
        ],
    ),
    (
        "tree",
        &[
            ("callstack tree", "All frames of the project"),
            ("callstack tree f3 --depth 1", "Frame f3 and its children"),
            ("callstack tree --watch", "See an agent work"),
        ],
    ),
    ("status", &[("callstack status", "Where the work stands, and what was saved")]),
    ("show", &[("callstack show f3", "What came of frame f3")]),
    (
        "log",
        &[
            ("callstack log f3", "All of frame f3"),
            ("callstack log f3 -q \"time out\"", "Messages with these two words"),
        ],
    ),
    (
        "search",
        &[
            ("callstack search timeout retry", "Places with both words"),
            ("callstack search --exact \"fn main()\"", "This string as it stands"),
            ("callstack search timeout --frame f3", "Only in f3 and below"),
        ],
    ),
    ("context", &[("callstack context f3", "What an agent knows at the start of f3")]),
    (
        "serve",
        &[
            ("callstack serve", "See the tree in a browser, as it changes"),
            ("callstack serve --port 4096 --idle 60", "Where programs find it, and not for ever"),
        ],
    ),
    (
        "push",
        &[(
            "callstack push \"Sort out tests\" -c \"make test is green\"",
            "Open a frame with its goal",
        )],
    ),
    (
        "pop",
        &[
            ("callstack pop -r \"Two tests were flaky; mended\"", "End the open frame"),
            ("callstack pop f3 --status failed -r \"No access\"", "End f3 without success"),
        ],
    ),
    (
        "plan",
        &[
            ("callstack plan Parser Printer Docs", "Three frames, in this order"),
            ("callstack plan Parser -c \"reads all samples\"", "One with its criteria"),
            ("callstack plan --edit f5 --before f4", "Work on f5 before f4"),
        ],
    ),
    (
        "preset",
        &[
            ("callstack preset list", "See which there are"),
            ("callstack preset show bugfix", "See what one plans"),
        ],
    ),
    ("activate", &[("callstack activate f4", "Start work in planned frame f4")]),
    (
        "go",
        &[
            ("callstack go parent", "Set the open frame aside for the one above"),
            ("callstack go f4", "Go on in f4"),
        ],
    ),
    ("invalidate", &[("callstack invalidate f4 -r \"No longer wanted\"", "Drop f4 and its plans")]),
    ("reopen", &[("callstack reopen f3", "Take f3 up again")]),
    ("retry", &[("callstack retry f3", "Try again what f3 was for")]),
    ("consolidate", &[("callstack consolidate f1 --keep 5", "All but the newest five of f1")]),
    (
        "decision",
        &[("callstack decision \"TOML, since users edit it\"", "Note it in the open frame")],
    ),
    ("artifact", &[("callstack artifact docs/report.md", "Note a file that was made")]),
    ("pin", &[("callstack pin \"Never touch migrations/\" --frame f1", "A rule for f1 and below")]),
    ("unpin", &[("callstack unpin p1", "Take rule p1 back")]),
    (
        "report",
        &[
            ("callstack report", "The whole tree, into .callstack/callstack.html"),
            ("callstack report f3 -o f3.html", "A frame and those below it"),
        ],
    ),
    (
        "export",
        &[
            ("callstack export -o frames.json", "For another store"),
            ("callstack export f3 --format markdown", "For people"),
            ("callstack export --format speedscope -o flames.json", "Where time and tokens went"),
        ],
    ),
    (
        "import",
        &[
            ("callstack import", "What agents did in this project"),
            ("callstack import --dry-run", "Only list it"),
            ("callstack import session.jsonl", "A session of any known agent"),
        ],
    ),
    (
        "replay",
        &[
            ("callstack replay", "The sessions of this project"),
            ("callstack replay session.jsonl", "One session"),
            ("callstack replay sessions --html report.html", "A folder, with a page to read"),
        ],
    ),
    (
        "rollback",
        &[
            ("callstack rollback f3 --dry-run", "See what it would restore"),
            ("callstack rollback f3 --undo", "Take the rollback back"),
        ],
    ),
    ("purge", &[("callstack purge f3 --dry-run", "See what would be removed")]),
    ("completions", &[("callstack completions fish", "Print it; fish reads it from a file")]),
    (
        "man",
        &[
            ("callstack man", "Print the page of `callstack`; `man -l -` shows it"),
            ("callstack man ~/.local/share/man/man1", "Install all pages"),
        ],
    ),
    ("host", &[("callstack host opencode", "As the plugin starts it")]),
    ("mcp", &[("callstack mcp", "As an agent's program starts it")]),
];

/// Names under which people look for a command, with its name here.
const ELSEWHERE: &[(&str, &str)] = &[
    ("add", "push"),
    ("begin", "push"),
    ("cat", "show"),
    ("check", "doctor"),
    ("close", "pop"),
    ("delete", "purge"),
    ("done", "pop"),
    ("end", "pop"),
    ("find", "search"),
    ("finish", "pop"),
    ("grep", "search"),
    ("history", "log"),
    ("install", "init opencode"),
    ("list", "tree"),
    ("load", "import"),
    ("ls", "tree"),
    ("manual", "help"),
    ("new", "push"),
    ("open", "push"),
    ("ps", "status"),
    ("remove", "init opencode --remove"),
    ("rm", "purge"),
    ("save", "export"),
    ("set", "config"),
    ("settings", "config"),
    ("setup", "init opencode"),
    ("start", "activate"),
    ("stats", "status"),
    ("undo", "rollback"),
    ("uninstall", "init opencode --remove"),
    ("usage", "help"),
    ("version", "--version"),
    ("view", "show"),
];

/// Adds examples to the help of each command.
pub(crate) fn add_examples(command: clap::Command) -> clap::Command {
    EXAMPLES.iter().fold(command, |command, (name, examples)| {
        command.mut_subcommand(name, |it| {
            let header = *it.get_styles().get_header();
            let width = examples.iter().map(|(line, _)| line.len()).max().unwrap_or(0);
            let lines = examples.iter().map(|(line, does)| format!("\n  {line:<width$}  {does}"));
            let text = format!("{header}Examples:{header:#}{}", lines.collect::<String>());
            it.after_help(StyledStr::from(text))
        })
    })
}

/// Adds a suggestion to the error of an unknown command whose name another program uses.
pub(crate) fn suggest(error: &mut clap::Error) {
    let Some(meant) = meant(error) else { return };
    let tip = StyledStr::from(format!("it may be `callstack {meant}` that you want"));
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
}

/// Returns the command that has the unknown name of `error` in other programs.
pub(crate) fn meant(error: &clap::Error) -> Option<&'static str> {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    ELSEWHERE.iter().find(|(name, _)| name == typed).map(|(_, meant)| *meant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callstack_engine::Setting;

    use crate::args::{GROUPS, command};

    /// Returns the words of a command line, as a shell splits them.
    fn words(line: &str) -> Vec<String> {
        let quoted = line.split('"').enumerate();
        quoted
            .flat_map(|(at, part)| match at % 2 {
                0 => part.split_whitespace().map(str::to_owned).collect(),
                _ => vec![part.to_owned()],
            })
            .collect()
    }

    #[test]
    fn each_command_has_an_example_that_it_takes() {
        let names: Vec<_> = GROUPS.iter().flat_map(|(_, names)| names.iter()).collect();
        for name in names {
            let examples = EXAMPLES.iter().find(|(it, _)| it == name);
            let (_, examples) = examples.unwrap_or_else(|| panic!("{name} has no example"));
            for (line, _) in *examples {
                assert!(line.starts_with(&format!("callstack {name}")), "{line}");
                let outcome = command().try_get_matches_from(words(line));
                assert!(outcome.is_ok(), "{line}: {}", outcome.unwrap_err());
                let config = outcome.unwrap().remove_subcommand().filter(|(it, _)| it == "config");
                let value_of = |mut it: clap::ArgMatches| {
                    Some((it.remove_one::<String>("name")?, it.remove_one::<String>("value")?))
                };
                if let Some((name, value)) = config.and_then(|(_, it)| value_of(it)) {
                    Setting::meant(&name).unwrap().read(&value).unwrap();
                }
            }
        }
    }

    #[test]
    fn names_of_other_programs_lead_to_commands() {
        for (name, meant) in ELSEWHERE {
            let known = command();
            assert!(known.find_subcommand(name).is_none(), "{name} is a command");
            let first = meant.split(' ').next().unwrap();
            let exists =
                known.find_subcommand(first).is_some() || matches!(first, "help" | "--version");
            assert!(exists, "{meant} is no command");
        }
    }

    #[test]
    fn help_fits_eighty_columns() {
        let mut command = command().term_width(80);
        command.build();
        let mut helps = vec![("callstack".to_owned(), command.render_long_help().to_string())];
        for inner in command.get_subcommands_mut() {
            helps.push((inner.get_name().to_owned(), inner.render_long_help().to_string()));
        }
        for (name, help) in helps {
            let long: Vec<_> = help.lines().filter(|line| line.chars().count() > 80).collect();
            assert!(long.is_empty(), "{name}: {long:#?}");
        }
    }
}
