use std::path::{Path, PathBuf};

use callstack_core::control::escape_json;
use callstack_engine::{EngineError, path_text};
use clap::ValueEnum;
use serde_json::{Map, json};

use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::operations::file::write as write_file;
use crate::operations::traces::format::OtherFormat;
use crate::operations::traces::{SentTraces, Traces, TracesOutput, TracesParams, WrittenTraces};
use crate::output::Output;
use crate::page::PLAIN;
use crate::printed::Printed;
use crate::wording::counted;

/// Write frames for people, for another store or for other tools
///
/// `callstack import` reads the JSON form: frames keep their ids, and in an empty store their handles too. With
/// --session only the frames of that session are written. Keys, tokens and passwords of known forms are masked
/// unless --reveal is given. Evidence, and whatever else was taken from messages, never contains them.
///
/// The other formats show where time and tokens went: flame graphs, traces, a table of the model's calls, a diagram.
/// What was said is not in them, but for titles; docs/exports.md describes each. Nothing is sent anywhere unless
/// --send is given, and then to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// Handle such as f3, or the beginning of an id; what is below it comes along [default: the whole tree]
    frame: Option<String>,
    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Json)]
    format: Format,
    /// The file to write to; `-` for the standard output [default: -]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write secrets as they are instead of masking them
    #[arg(long)]
    reveal: bool,
    /// Write what was said into spans, too: titles from your own words, criteria, results, answers, arguments and
    /// results of tools (only with --format otlp)
    #[arg(long)]
    content: bool,
    /// Send the spans to your collector instead of writing them (only with --format otlp)
    #[arg(long, conflicts_with = "output")]
    send: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// All that is known of each frame, in the shape of .opencode/stack/state.json
    Json,
    /// A document to read
    Markdown,
    /// Flame graphs of each session, over time and tokens, for speedscope
    Speedscope,
    /// A trace for Perfetto and Chrome's about:tracing
    ChromeTrace,
    /// Spans for OpenTelemetry, by its conventions for generative AI
    Otlp,
    /// A table of the calls of the model
    Csv,
    /// The tree as a Mermaid flowchart
    Mermaid,
}

impl Format {
    /// The same as a format of another tool, if it is one.
    fn other(self) -> Option<OtherFormat> {
        match self {
            Self::Json | Self::Markdown => None,
            Self::Speedscope => Some(OtherFormat::Speedscope),
            Self::ChromeTrace => Some(OtherFormat::ChromeTrace),
            Self::Otlp => Some(OtherFormat::Otlp),
            Self::Csv => Some(OtherFormat::Csv),
            Self::Mermaid => Some(OtherFormat::Mermaid),
        }
    }
}

impl ExportArgs {
    /// The file to write to; none where that is the standard output.
    fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|file| *file != Path::new("-"))
    }
}

pub(crate) fn run(
    args: &ExportArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    if args.format != Format::Otlp && (args.content || args.send) {
        let option = if args.send { "--send" } else { "--content" };
        let message = format!("{option} is for spans only");
        return Err(EngineError::invalid(message, "Add --format otlp, or leave it out.").into());
    }
    if let Some(format) = args.format.other() {
        return write(format, args, invocation, output);
    }
    let engine = invocation.engine()?;
    let session = match &args.frame {
        None if invocation.names_a_session() => Some(invocation.caller(&engine)?.session),
        _ => None,
    };
    let arguments = json!({"frame": args.frame, "session": session});
    let answer = invocation.run_revealing(args.reveal, &engine, "stack_export", arguments)?;
    let value = answer.data;
    let text = match args.format {
        Format::Markdown => answer.text,
        _ => escape_json(&format!("{value:#}\n")).into_owned(),
    };
    let Some(file) = args.file() else {
        return match args.format {
            Format::Markdown => output.generated(&text),
            _ => output.value(&value),
        };
    };
    let file = invocation.place.start().join(file);
    write_file(&file, |to| Ok(to.write_all(text.as_bytes())?))?;
    let frames = value["frames"].as_object().map_or(0, Map::len);
    output.either(&json!({"file": path_text(&file), "frames": frames}), |page| {
        let end = if frames == 1 { "" } else { "s" };
        page.put(PLAIN, &format!("{frames} frame{end} written to {}", file.display())).end();
    })
}

/// Writes frames in the format of another tool, or sends them.
fn write(
    format: OtherFormat,
    args: &ExportArgs,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let printed = if args.send || args.file().is_some() { None } else { Some(Printed::new()?) };
    let file = args.file().map(Path::to_path_buf);
    let params = TracesParams {
        frame: args.frame.clone(),
        session: invocation.session.map(str::to_owned),
        format,
        content: args.content,
        output: file.or_else(|| printed.as_ref().map(Printed::file)),
        reveal: args.reveal,
    };
    let answer = invocation.on_machine::<Traces>(output, params)?;
    if let Some(printed) = printed {
        return printed.print(output);
    }
    output.either(&json!(answer), |page| {
        let said = match &answer {
            TracesOutput::Written(WrittenTraces { file, sessions, frames, calls }) => format!(
                "{} and {} of {} written to {file}",
                counted(*frames as u64, "frame"),
                counted(*calls as u64, "call"),
                counted(*sessions as u64, "session"),
            ),
            TracesOutput::Sent(SentTraces { to, spans, sessions }) => {
                let spans = counted(*spans as u64, "span");
                format!("{spans} of {} sent to {to}", counted(*sessions as u64, "session"))
            }
        };
        page.put(PLAIN, &said).end();
    })
}
