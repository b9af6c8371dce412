//! The formats of other tools.

use std::path::Path;

use callstack_exports::{About, Counts, Format};
use clap::ValueEnum;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::reporter::Reporter;

/// Frames that Mermaid draws unless a page allows more: it counts the lines between them.
const MERMAID_DRAWS: usize = 500;

/// A format of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, JsonSchema)]
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
    pub(crate) fn warn(self, counts: Counts, reporter: &mut dyn Reporter) {
        if self == Self::Mermaid && counts.frames > MERMAID_DRAWS {
            reporter.remark(&format!(
                "{} frames are more than Mermaid draws ({MERMAID_DRAWS}) where maxEdges is not set: name a frame to \
                 write what is below it",
                counts.frames
            ));
        }
    }
}

/// The head of an export of a project or of recordings.
pub(crate) fn about(folder: &Path) -> About {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let now = jiff::Timestamp::now().as_millisecond();
    About { name: name.unwrap_or_default(), version: env!("CARGO_PKG_VERSION").to_owned(), at: now }
}
