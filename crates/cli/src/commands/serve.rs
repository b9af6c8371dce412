use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use callstack_server::{Limits, Options, Records, Served, Started, serve};
use serde_json::json;

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, PLAIN};
use crate::project::RecordedProjects;
use crate::user::{homeless, state};

/// The program that opens a file as a click on it does.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else if cfg!(windows) {
    "explorer"
} else {
    "xdg-open"
};

/// Serve the tree to programs and to a page, on this computer only
///
/// Serves the project that the command is started in, or with `--all` every project whose store you trust
/// (`callstack trust --list`): their stores are opened when somebody asks for them.
///
/// Prints the address of a page that shows the tree as it changes. Behind the `#` of the address stands a token,
/// without which nobody gets in: keep it to yourself. Programs send it as `Authorization: Bearer TOKEN`;
/// `/openapi.json` describes what they can ask for. Ctrl-C ends the server.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Serve all of your projects
    #[arg(long)]
    all: bool,
    /// Listen on this port [default: any that is free]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Show the page in a browser
    #[arg(long)]
    open: bool,
    /// End when no client has been there for so many minutes
    #[arg(long, value_name = "MINUTES", value_parser = clap::value_parser!(u64).range(1..=525_600))]
    idle: Option<u64>,
}

pub(crate) fn run(
    args: &ServeArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let state = state().ok_or_else(|| homeless("servers would be on record"))?;
    let records = if args.all {
        Records::of_all(&state)
    } else {
        Records::of(&state, &invocation.place.existing()?)
    };
    let options = Options {
        port: args.port.unwrap_or_default(),
        idle: args.idle.map(|minutes| Duration::from_secs(60 * minutes)),
        limits: Limits::default(),
    };
    serve(
        || {
            Ok(if args.all {
                Served::All(Arc::new(RecordedProjects))
            } else {
                let engine = invocation.engine()?;
                engine.guard();
                Served::One(Arc::new(engine))
            })
        },
        &records,
        options,
        |server, started| {
            let page = server.page();
            let mut data = json!(server);
            data["page"] = json!(page);
            output.either(&data, |text| {
                text.put(PLAIN, &page).end();
                let how = match started {
                    Started::Now => "Ctrl-C ends it.".to_owned(),
                    Started::Before => {
                        let served = if args.all { "all projects" } else { "this project" };
                        format!("Process {} serves {served} already.", server.pid)
                    }
                };
                text.put(DIM, &how).end();
            })?;
            if args.open && !opens(&records.way_in(server)?) {
                output.remark(&format!("`{OPENER}` can't be started; open the address yourself"));
            }
            Ok(())
        },
    )
}

/// Opens a file in a browser. Returns whether a browser could be asked.
fn opens(file: &Path) -> bool {
    let quiet = Stdio::null;
    let mut command = Command::new(OPENER);
    command.arg(file).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn().is_ok()
}
