//! The operation that writes frames in the formats of other tools, to a file or to a collector of the user's.

mod collector;
pub(crate) mod format;

use std::io::Write;
use std::path::{Path, PathBuf};

use callstack_engine::operation::{
    Access, Caller, CallerKind, Operate, Repeated, Reply, TERMINAL_ONLY,
};
use callstack_engine::{Engine, EngineError, TraceRequest, TraceScope, path_text};
use callstack_exports::otlp::{Sender, Sent};
use callstack_exports::{Counts, Export};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Machine;
use super::file::{Unwritten, write as write_file};
use crate::error::CommandError;
use crate::invocation::Invocation;
use crate::project::open;

use format::{OtherFormat, about};

/// `stack_traces`.
pub(crate) struct Traces;

/// Arguments of `stack_traces`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TracesParams {
    /// Handle of a frame, which comes with what is below it; default: the whole tree
    pub(crate) frame: Option<String>,
    /// Without a frame: only the frames of this session
    pub(crate) session: Option<String>,
    /// The format of the file; spans are sent as `otlp`
    pub(crate) format: OtherFormat,
    /// What was said comes along, in spans
    #[serde(default)]
    pub(crate) content: bool,
    /// The file to write to; default: spans are sent to the collector that the user's environment names
    #[schemars(with = "Option<String>")]
    pub(crate) output: Option<PathBuf>,
    /// Leave secrets as they are instead of masking them
    #[serde(default)]
    pub(crate) reveal: bool,
}

/// The frames that were written or sent.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum TracesOutput {
    Written(WrittenTraces),
    Sent(SentTraces),
}

/// A file with frames.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct WrittenTraces {
    pub(crate) file: String,
    pub(crate) sessions: usize,
    pub(crate) frames: usize,
    /// Number of calls of the model
    pub(crate) calls: usize,
}

/// Spans that a collector has taken.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SentTraces {
    /// The collector's address
    pub(crate) to: String,
    pub(crate) spans: usize,
    pub(crate) sessions: usize,
}

impl Operate<Machine> for Traces {
    const NAME: &'static str = "stack_traces";
    const SUMMARY: &'static str =
        "Write frames in the format of another tool, or send them to a collector of spans.";
    const ACCESS: Access = Access::Read;
    const REPEATED: Repeated = Repeated::Runs;
    const CALLERS: &'static [CallerKind] = TERMINAL_ONLY;
    type Params = TracesParams;
    type Output = TracesOutput;

    fn run(
        machine: &Machine,
        _: &Caller,
        params: TracesParams,
    ) -> Result<Reply<Self::Output>, EngineError> {
        let output = match &params.output {
            Some(file) => written(machine, &params, &machine.place.start().join(file)),
            None => sent(machine, &params),
        };
        let output = output.map_err(CommandError::into_error)?;
        Ok(Reply::new("traces", "The frames that were written.", output))
    }
}

impl TracesParams {
    fn request(&self, engine: &Engine) -> Result<TraceRequest, EngineError> {
        let scope = match (&self.frame, &self.session) {
            (Some(frame), _) => TraceScope::Frame(engine.resolve(frame)?.num),
            (None, Some(session)) => {
                TraceScope::Session(Invocation::caller_of(Some(session), engine)?.session)
            }
            (None, None) => TraceScope::Project,
        };
        Ok(TraceRequest { scope, content: self.content, reveal: self.reveal })
    }
}

fn written(
    machine: &Machine,
    params: &TracesParams,
    file: &Path,
) -> Result<TracesOutput, CommandError> {
    let project = machine.place.existing()?;
    let engine = open(&project)?;
    let traced = engine.find_traces(params.request(&engine)?)?;
    let about = about(&project);
    let put = |to: &mut dyn Write| -> Result<Counts, Unwritten> {
        let mut export = Export::begin(params.format.format(), &about, to)?;
        for place in 0..traced.len() {
            let session = engine.trace(&traced, place);
            if let Some(session) = session.map_err(|error| Unwritten::Read(error.into()))? {
                export.session(&session)?;
            }
        }
        Ok(export.end()?)
    };
    let counts = write_file(file, put)?;
    params.format.warn(counts, &mut *machine.reporter());
    let Counts { sessions, frames, calls } = counts;
    let file = path_text(file).into_owned();
    Ok(TracesOutput::Written(WrittenTraces { file, sessions, frames, calls }))
}

/// Sends the spans of frames to a collector.
fn sent(machine: &Machine, params: &TracesParams) -> Result<TracesOutput, CommandError> {
    if params.format != OtherFormat::Otlp {
        return Err(EngineError::invalid("only spans are sent", "Name a file to write to.").into());
    }
    // Whether anybody takes the spans is known before they are read.
    let collector: Sender = collector::from_environment()?;
    let engine = open(&machine.place.existing()?)?;
    let traced = engine.find_traces(params.request(&engine)?)?;
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
    Ok(TracesOutput::Sent(SentTraces { to: collector.address, spans: sent.spans, sessions }))
}
