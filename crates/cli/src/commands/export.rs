use std::io::Write as _;
use std::path::{Path, PathBuf};

use callstack_core::control::escape_json;
use callstack_engine::{path_text, plain, unfinished};
use clap::ValueEnum;
use serde_json::{Map, json};

use crate::error::Failure;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::PLAIN;

/// Write frames to a file, for people or for another store
///
/// `callstack import` reads the JSON form: frames keep their ids, and in an empty store their handles too. With
/// --session only the frames of that session are written. Keys, tokens and passwords of known forms are masked
/// unless --reveal is given. Evidence, and whatever else was taken from messages, never contains them.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// Handle such as f3, or the beginning of an id; what is below it comes along [default: the whole tree]
    frame: Option<String>,
    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// The file to write to [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write secrets as they are instead of masking them
    #[arg(long)]
    reveal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// All that is known of each frame, in the shape of .opencode/stack/state.json
    Json,
    /// A document to read
    Markdown,
}

pub(crate) fn run(
    args: &ExportArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), Failure> {
    let engine = invocation.engine()?;
    let session = match &args.frame {
        None if invocation.names_a_session() => Some(invocation.caller(&engine)?.session),
        _ => None,
    };
    let arguments = json!({"frame": args.frame, "session": session});
    let answer = invocation.run_revealing(args.reveal, &engine, "stack_export", arguments)?;
    let value = answer.data;
    let text = match args.format {
        Format::Json => escape_json(&format!("{value:#}\n")).into_owned(),
        Format::Markdown => answer.text,
    };
    let Some(file) = &args.output else {
        return match args.format {
            Format::Json => output.value(&value),
            Format::Markdown => output.generated(&text),
        };
    };
    let file = invocation.place.start().join(file);
    write(&file, &text).map_err(|error| Failure::of_file("write", &file, &error))?;
    let frames = value["frames"].as_object().map_or(0, Map::len);
    output.either(&json!({"file": path_text(&file), "frames": frames}), |page| {
        let end = if frames == 1 { "" } else { "s" };
        page.put(PLAIN, &format!("{frames} frame{end} written to {}", file.display())).end();
    })
}

/// Replaces the file as a whole: the old one stays until the new one is complete.
fn write(file: &Path, text: &str) -> std::io::Result<()> {
    // A device such as /dev/null would be replaced by a file.
    plain::refuse_special(file)?;
    let folder = file.parent().unwrap_or(file);
    unfinished::sweep(folder);
    // The original error would name the temporary file.
    let mut unfinished = unfinished::builder()
        .tempfile_in(folder)
        .map_err(|error| std::io::Error::from(error.kind()))?;
    unfinished.write_all(text.as_bytes())?;
    unfinished.as_file().sync_data()?;
    unfinished.persist(file).map(drop).map_err(|error| error.error)
}
