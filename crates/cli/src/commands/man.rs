use std::fs;
use std::io;
use std::path::PathBuf;

use callstack_engine::{SETTINGS, path_text};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use serde_json::json;

use crate::error::{CommandError, EXIT_CODES};
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{GOOD, PLAIN};
use crate::plugin::write;

/// Print the manual page, or write all pages into a folder
///
/// There is a page for `callstack` and one for each command. Packages bring them along. Without one:
/// `callstack man ~/.local/share/man/man1`.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// The folder; it is made if need be [default: print the page of `callstack`, for `man -l -`]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(crate) fn run(
    args: &ManArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let pages = pages().map_err(CommandError::of_output)?;
    let Some(folder) = &args.folder else {
        return output.generated(pages.first().map_or("", |(_, page)| page));
    };
    let folder = invocation.place.start().join(folder);
    fs::create_dir_all(&folder).map_err(|error| CommandError::of_file("make", &folder, error))?;
    for (name, page) in &pages {
        let file = folder.join(format!("{name}.1"));
        write(&folder, &file, page)
            .map_err(|error| CommandError::of_file("write", &file, error))?;
    }
    let names: Vec<_> = pages.iter().map(|(name, _)| name).collect();
    output.either(&json!({"folder": path_text(&folder), "pages": names}), |page| {
        page.put(GOOD, &format!("{} manual pages", pages.len()));
        page.put(PLAIN, &format!(" written to {}", folder.display())).end();
    })
}

/// Returns every page with its name, that of the whole program first.
fn pages() -> io::Result<Vec<(String, String)>> {
    let mut command = crate::args::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add(&command, &mut pages)?;
    if let Some((_, page)) = pages.first_mut() {
        page.push_str(&surroundings());
    }
    Ok(pages)
}

fn add(command: &Command, pages: &mut Vec<(String, String)>) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let mut page = Vec::new();
    Man::new(command.clone().version(env!("CARGO_PKG_VERSION")))
        .title(name.to_uppercase())
        .manual("callstack")
        .render(&mut page)?;
    pages.push((name, String::from_utf8_lossy(&page).into_owned()));
    command.get_subcommands().try_for_each(|inner| add(inner, pages))
}

/// Returns the sections on files, environment variables and exit codes.
fn surroundings() -> String {
    let files = [
        (".callstack/", "The project's frames, messages and logs. Git ignores it."),
        (".opencode/plugin/callstack.ts", "The plugin for OpenCode."),
        ("~/.config/callstack/config.toml", "Your own configuration, for all projects."),
        (
            "~/.local/state/callstack/",
            "Which stores are yours, and states of their projects' files.",
        ),
    ];
    let settings = SETTINGS.iter().flat_map(|(_, settings)| settings.iter());
    let settings = settings.map(|setting| (setting.name.to_owned(), setting.doc));
    let codes = EXIT_CODES.iter().map(|(code, meaning)| (code.to_string(), *meaning));
    let mut page = Roff::new();
    section(&mut page, "FILES", files.map(|(path, meaning)| (path.to_owned(), meaning)));
    section(&mut page, "ENVIRONMENT", settings);
    section(&mut page, "EXIT STATUS", codes);
    page.render()
}

fn section(
    page: &mut Roff,
    title: &str,
    entries: impl IntoIterator<Item = (String, &'static str)>,
) {
    page.control("SH", [title]);
    for (name, meaning) in entries {
        page.control("TP", []).text([roman(name)]).text([roman(meaning)]);
    }
}
