//! Spans for collectors of OpenTelemetry, as JSON or protobuf, and their way there.
//!
//! A frame is a span of kind `invoke_agent`, a call of the model one of kind `chat`, a call of a tool one of kind
//! `execute_tool`. Frames below one root are one trace. Ids are hashes of callstack's own, so that they are the same
//! in every export.

mod attributes;
mod content;
mod ids;
mod providers;
mod send;
mod spans;

use std::io::{self, Write};

use callstack_core::trace::SessionTrace;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};

use crate::{About, Document, put_json};
use attributes::Attributes;

pub use send::{Encoding, SendError, Sender, Sent};

/// Spans that stand in one resource, and go in one request.
const BATCH: usize = 1_000;

/// The document that a collector takes as the body of a request.
#[derive(Default)]
pub(crate) struct Json {
    is_begun: bool,
}

impl Document for Json {
    fn begin(&mut self, _: &About, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(b"{\"resourceSpans\":[")
    }

    fn session(
        &mut self,
        about: &About,
        session: &SessionTrace,
        to: &mut dyn Write,
    ) -> io::Result<()> {
        for spans in batches(about, session) {
            to.write_all(if std::mem::replace(&mut self.is_begun, true) { b",\n" } else { b"\n" })?;
            put_json(&spans, to)?;
        }
        Ok(())
    }

    fn end(&mut self, _: &About, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(b"\n]}\n")
    }
}

/// The spans of a session, in batches.
pub(crate) fn batches<'a>(
    about: &'a About,
    session: &SessionTrace,
) -> impl Iterator<Item = ResourceSpans> + use<'a> {
    let mut spans = spans::of(about, session).into_iter().peekable();
    std::iter::from_fn(move || {
        spans.peek()?;
        Some(resource(about, spans.by_ref().take(BATCH).collect()))
    })
}

fn resource(about: &About, spans: Vec<Span>) -> ResourceSpans {
    ResourceSpans {
        resource: Some(Resource {
            attributes: Attributes::default()
                .text("service.name", "callstack")
                .text("service.version", &about.version)
                .text("callstack.project", &about.name)
                .done(),
            ..Resource::default()
        }),
        scope_spans: vec![ScopeSpans {
            scope: Some(InstrumentationScope {
                name: "callstack".to_owned(),
                version: about.version.clone(),
                ..InstrumentationScope::default()
            }),
            spans,
            schema_url: String::new(),
        }],
        schema_url: String::new(),
    }
}
