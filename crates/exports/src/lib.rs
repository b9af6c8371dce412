//! Frames in the formats of other tools: flame graphs, traces, tables, diagrams.
//!
//! Sessions are written one at a time, so that memory does not grow with their number. Not here: the sources of
//! sessions (`engine`, `replay`), and the file that is written (`cli`).

mod chrome;
mod csv;
mod label;
mod mermaid;
pub mod otlp;
mod speedscope;
mod timeline;

use std::fmt;
use std::io::{self, Write};

use callstack_core::control::escape_json;
use callstack_core::trace::SessionTrace;
use serde::Serialize;

/// A format of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A flame graph for speedscope.
    Speedscope,
    /// A trace for Perfetto and Chrome's `about:tracing`.
    ChromeTrace,
    /// Spans for collectors of OpenTelemetry, as JSON.
    Otlp,
    /// A table of calls.
    Csv,
    /// A diagram of the tree.
    Mermaid,
}

/// The data of an export beside its sessions.
#[derive(Clone, Debug)]
pub struct About {
    /// The name of the project.
    pub name: String,
    /// The version of callstack.
    pub version: String,
    /// The time of the export, which is taken as the end of open frames. Milliseconds since 1970.
    pub at: i64,
}

/// The amount of what was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Sessions with anything in them.
    pub sessions: usize,
    /// Frames.
    pub frames: usize,
    /// Calls of the model.
    pub calls: usize,
}

/// A document to which sessions are written, one after the other.
trait Document {
    fn begin(&mut self, about: &About, to: &mut dyn Write) -> io::Result<()>;
    fn session(
        &mut self,
        about: &About,
        session: &SessionTrace,
        to: &mut dyn Write,
    ) -> io::Result<()>;
    fn end(&mut self, about: &About, to: &mut dyn Write) -> io::Result<()>;
}

/// A document in the making.
pub struct Export<'a> {
    about: &'a About,
    document: Box<dyn Document>,
    counts: Counts,
    to: &'a mut dyn Write,
}

impl fmt::Debug for Export<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl<'a> Export<'a> {
    /// Begins a document.
    pub fn begin(format: Format, about: &'a About, to: &'a mut dyn Write) -> io::Result<Self> {
        let mut document: Box<dyn Document> = match format {
            Format::Speedscope => Box::new(speedscope::Speedscope::default()),
            Format::ChromeTrace => Box::new(chrome::ChromeTrace::default()),
            Format::Otlp => Box::new(otlp::Json::default()),
            Format::Csv => Box::new(csv::Csv),
            Format::Mermaid => Box::new(mermaid::Mermaid::default()),
        };
        document.begin(about, to)?;
        Ok(Self { about, document, counts: Counts::default(), to })
    }

    /// Writes a session. It has to come after those that started it.
    pub fn session(&mut self, session: &SessionTrace) -> io::Result<()> {
        self.counts.sessions += 1;
        self.counts.frames += session.frames.len();
        self.counts.calls += session.steps.iter().filter(|step| step.call.is_some()).count();
        self.document.session(self.about, session, self.to)
    }

    /// Ends the document.
    pub fn end(mut self) -> io::Result<Counts> {
        self.document.end(self.about, self.to)?;
        Ok(self.counts)
    }
}

/// Writes a value as JSON in which no character steers a terminal.
fn put_json(value: &impl Serialize, to: &mut dyn Write) -> io::Result<()> {
    to.write_all(escape_json(&serde_json::to_string(value)?).as_bytes())
}
