use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use callstack_core::control::escape_json;
use callstack_engine::{EngineError, Kind, path_text, plain, unfinished};
use serde_json::{Value, json};

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::{DIM, PLAIN};
use crate::wording::counted;

/// Write the page into one file, which needs no server
///
/// The file holds the tree, what each frame returned and changed, what its session's model was sent, and the page that
/// shows it. It loads nothing and sends nothing. With --session it is about that session, with a frame about what is
/// below it. It contains words of the project: keys, tokens and passwords of known forms are masked unless --reveal is
/// given.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Handle such as f3, or the beginning of an id [default: the whole tree]
    frame: Option<String>,
    /// The file to write to [default: callstack.html in the store's folder, where no agent reads it]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write secrets as they are instead of masking them
    #[arg(long)]
    reveal: bool,
}

pub(crate) fn run(
    args: &ReportArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let engine = invocation.engine()?;
    let session = match &args.frame {
        None if invocation.names_a_session() => Some(invocation.caller(&engine)?.session),
        _ => None,
    };
    let file = match &args.output {
        Some(file) => invocation.place.start().join(file),
        None => engine.store_path().with_file_name("callstack.html"),
    };
    refuse_other(&file, "--output")?;
    let arguments = json!({"frame": args.frame, "session": session, "by": BY});
    let answer = invocation.run_revealing(args.reveal, &engine, "stack_report", arguments)?;
    let document = answer.data;
    let page = callstack_page::offline(&escape_json(&document.to_string()));
    write(&file, &page).map_err(|error| CommandError::of_file("write", &file, error))?;
    let frames = document["frames"]["frames"].as_array().map_or(0, Vec::len);
    let left_out = document["leftOut"].as_array().map(Vec::as_slice).unwrap_or_default();
    let data = json!({ "file": path_text(&file), "frames": frames, "leftOut": left_out });
    output.either(&data, |page| {
        let count = counted(frames as u64, "frame");
        page.put(PLAIN, &format!("{count} written to {}", file.display())).end();
        for line in left_out.iter().filter_map(Value::as_str) {
            page.put(DIM, &format!("not in it: {line}")).end();
        }
    })
}

/// Bytes at the beginning of a file that show whether it is a page of callstack.
const HEAD: u64 = 4_096;
/// The beginnings of such a page, in this version and in earlier ones.
const MARKS: [&str; 2] = ["<title>callstack</title>", "<title>callstack replay</title>"];
/// The program, as pages name it.
pub(crate) const BY: &str = concat!("callstack ", env!("CARGO_PKG_VERSION"));

/// Refuses to write a page over a file that is none: a mistyped name must not cost a source file.
pub(crate) fn refuse_other(file: &Path, option: &str) -> Result<(), CommandError> {
    if !file.metadata().is_ok_and(|it| it.is_file() && it.len() > 0) {
        return Ok(());
    }
    let mut head = Vec::new();
    File::open(file)
        .and_then(|file| file.take(HEAD).read_to_end(&mut head))
        .map_err(|error| CommandError::of_file("read", file, error))?;
    let head = String::from_utf8_lossy(&head);
    if MARKS.iter().any(|mark| head.contains(mark)) {
        return Ok(());
    }
    Err(EngineError::new(
        Kind::Conflict,
        format!("{} is there already, and is no page of callstack", file.display()),
    )
    .with_hint(format!("Name another file with {option}, or remove that one first."))
    .into())
}

/// Replaces the file as a whole, for its owner alone: it contains messages.
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
