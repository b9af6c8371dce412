//! The long-lived process that serves the plugin: reads requests, asks the engine, answers in order.

use std::io::{self, BufRead, Write};

use callstack_core::log_line::LogLine;
use callstack_engine::{Engine, EngineError};
use serde_json::Value;

use super::Host;
use super::dispatch::Server;
use super::lines::{self, LONGEST, Line};
use super::wire::{Outcome, Response};

/// Answers requests from `input` on `output` until the input ends. `log` gets a line for every failure that no answer
/// can report, such as that of a notification.
pub fn serve<H: Host>(
    host: H,
    engine: &Result<Engine, EngineError>,
    version: &str,
    mut input: impl BufRead,
    mut output: impl Write,
    mut log: impl FnMut(&str),
) -> io::Result<()> {
    let mut server = Server::new(host, engine, version);
    while let Some(line) = lines::next(&mut input, LONGEST)? {
        let line = match line {
            Line::Whole(line) if line.trim_ascii().is_empty() => continue,
            Line::Whole(line) => line,
            Line::TooLong { head, bytes } => {
                let refusal = too_long(bytes);
                if let (Ok(engine), Some(session)) = (engine, lines::session_of(&head)) {
                    engine.not_taken(&session);
                }
                refuse(engine, &head, refusal, &mut output, &mut log)?;
                continue;
            }
        };
        let mut mended = String::new();
        let request = match lines::request(&line, &mut mended, &|raw| server.host.stand_in(raw)) {
            Ok(request) => request,
            Err(error) => {
                let refused = format!("a request can't be read: {error}");
                let refusal = EngineError::invalid(refused, H::INSTALL).caused_by(error);
                refuse(engine, &line, refusal, &mut output, &mut log)?;
                continue;
            }
        };
        let outcome = server.answer(&request.method, request.params);
        if let (Ok(engine), Err(error)) = (engine, &outcome) {
            let line = LogLine::new("Hook failed").with("method", request.method.as_str());
            engine.log_now(&line.with("why", error.sentence()));
        }
        match (request.id, outcome) {
            (Some(id), outcome) => respond(&mut output, id, outcome)?,
            (None, Err(error)) => log(&format!("{}: {}", request.method, error.sentence())),
            (None, Ok(_)) => {}
        }
    }
    if let Ok(engine) = engine {
        engine.sum_up_sessions();
    }
    Ok(())
}

/// Answers a line that is no request, if it has a request's id.
fn refuse(
    engine: &Result<Engine, EngineError>,
    line: &[u8],
    refusal: EngineError,
    output: &mut impl Write,
    log: &mut impl FnMut(&str),
) -> io::Result<()> {
    log(&refusal.message);
    if let Ok(engine) = engine {
        engine.log_now(&LogLine::new("Request refused").with("why", refusal.message.as_str()));
    }
    match lines::id_of(line) {
        Some(id) => respond(output, id, Err(refusal)),
        None => Ok(()),
    }
}

fn too_long(bytes: u64) -> EngineError {
    EngineError::invalid(
        format!(
            "a request has {} MB, and {} MB are taken at most",
            bytes.div_ceil(1 << 20),
            LONGEST >> 20
        ),
        "The session goes on without frames until its messages are shorter: compact it.",
    )
}

fn respond(
    output: &mut impl Write,
    id: u64,
    outcome: Result<Value, EngineError>,
) -> io::Result<()> {
    let outcome = match outcome {
        Ok(result) => Outcome::Result(result),
        Err(error) => {
            let hint = error.hint.as_ref().map(ToString::to_string);
            Outcome::Error { kind: error.kind.as_str(), message: error.message, hint }
        }
    };
    serde_json::to_writer(&mut *output, &Response { id, outcome })?;
    output.write_all(b"\n")?;
    output.flush()
}
