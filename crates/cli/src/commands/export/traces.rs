//! Exports in the formats of other tools.

use std::io::Write;
use std::path::Path;

use callstack_engine::{Engine, TraceRequest, TraceScope, path_text};
use callstack_exports::otlp::{Sender, Sent};
use callstack_exports::{About, Counts, Export, Format};
use clap::ValueEnum;
use serde::Deserialize;
use serde_json::json;

use super::collector;
use super::file::{Unwritten, print, write as write_file};
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::output::Output;
use crate::page::PLAIN;
use crate::wording::counted;

/// Frames that Mermaid draws unless a page allows more: it counts the lines between them.
const MERMAID_DRAWS: usize = 500;

/// A format of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OtherFormat {
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

impl OtherFormat {
    pub(crate) fn format(self) -> Format {
        match self {
            Self::Speedscope => Format::Speedscope,
            Self::ChromeTrace => Format::ChromeTrace,
            Self::Otlp => Format::Otlp,
            Self::Csv => Format::Csv,
            Self::Mermaid => Format::Mermaid,
        }
    }

    /// Says why the tool may not show what was written.
    pub(crate) fn warn(self, counts: Counts, output: &mut Output) {
        if self == Self::Mermaid && counts.frames > MERMAID_DRAWS {
            output.remark(&format!(
                "{} frames are more than Mermaid draws ({MERMAID_DRAWS}) where maxEdges is not set: name a frame to \
                 write what is below it",
                counts.frames
            ));
        }
    }
}

/// The spans that are asked for.
pub(super) struct Wanted<'a> {
    pub(super) frame: Option<&'a str>,
    pub(super) session: Option<String>,
    pub(super) content: bool,
    pub(super) reveal: bool,
}

impl Wanted<'_> {
    fn request(self, engine: &Engine) -> Result<TraceRequest, CommandError> {
        let scope = match (self.frame, self.session) {
            (Some(frame), _) => TraceScope::Frame(engine.resolve(frame)?.num),
            (None, Some(session)) => TraceScope::Session(session),
            (None, None) => TraceScope::Project,
        };
        Ok(TraceRequest { scope, content: self.content, reveal: self.reveal })
    }
}

/// The head of an export of a project or of recordings.
pub(crate) fn about(folder: &Path) -> About {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let now = jiff::Timestamp::now().as_millisecond();
    About { name: name.unwrap_or_default(), version: env!("CARGO_PKG_VERSION").to_owned(), at: now }
}

/// Writes frames to a file or to standard output.
pub(super) fn write(
    format: OtherFormat,
    engine: &Engine,
    wanted: Wanted<'_>,
    file: Option<&Path>,
    invocation: &Invocation<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let traced = engine.find_traces(wanted.request(engine)?)?;
    let about = about(&invocation.place.existing()?);
    let put = |to: &mut dyn Write| -> Result<Counts, Unwritten> {
        let mut export = Export::begin(format.format(), &about, to)?;
        for place in 0..traced.len() {
            let session = engine.trace(&traced, place);
            if let Some(session) = session.map_err(|error| Unwritten::Read(error.into()))? {
                export.session(&session)?;
            }
        }
        Ok(export.end()?)
    };
    let Some(file) = file else {
        let counts = print(output, put)?;
        format.warn(counts, output);
        return Ok(());
    };
    let file = invocation.place.start().join(file);
    let counts = write_file(&file, put)?;
    format.warn(counts, output);
    print_written(&file, counts, output)
}

/// Says what was written to a file.
pub(crate) fn print_written(
    file: &Path,
    counts: Counts,
    output: &mut Output,
) -> Result<(), CommandError> {
    let Counts { sessions, frames, calls } = counts;
    let data = json!({
        "file": path_text(file), "sessions": sessions, "frames": frames, "calls": calls,
    });
    output.either(&data, |page| {
        let what = format!(
            "{} and {} of {} written to {}",
            counted(frames as u64, "frame"),
            counted(calls as u64, "call"),
            counted(sessions as u64, "session"),
            file.display()
        );
        page.put(PLAIN, &what).end();
    })
}

/// Sends the spans of frames to a collector.
pub(super) fn send(
    collector: &Sender,
    engine: &Engine,
    wanted: Wanted<'_>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let traced = engine.find_traces(wanted.request(engine)?)?;
    let about = about(engine.project());
    let (mut sent, mut sessions) = (Sent::default(), 0);
    for place in 0..traced.len() {
        let Some(session) = engine.trace(&traced, place)? else { continue };
        let of_session = collector
            .send(&about, &session)
            .map_err(|error| collector::unsent(error, sent.spans))?;
        sessions += 1;
        sent.spans += of_session.spans;
        sent.rejected += of_session.rejected;
        sent.why = sent.why.or(of_session.why);
    }
    if sent.rejected > 0 {
        return Err(collector::rejected(&sent).into());
    }
    let address = &collector.address;
    output.either(&json!({"to": address, "spans": sent.spans, "sessions": sessions}), |page| {
        let spans = counted(sent.spans as u64, "span");
        let of = counted(sessions, "session");
        page.put(PLAIN, &format!("{spans} of {of} sent to {address}")).end();
    })
}
