//! The way of spans to a collector over HTTP.

use std::fmt;
use std::thread::sleep;
use std::time::Duration;

use callstack_core::control::escape_line;
use callstack_core::trace::SessionTrace;
use callstack_http_client::ureq::http::StatusCode;
use callstack_http_client::{client, retry_after, ureq};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message as _;

use super::batches;
use crate::About;

/// The time that a collector may take for a batch.
const TIME: Duration = Duration::from_secs(10);
/// Attempts for a batch.
const ATTEMPTS: u32 = 3;
/// The wait before the second attempt; it doubles before the third.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest wait that a collector may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// Bytes of an answer that are read.
const LARGEST: u64 = 64 * 1024;
/// Characters of an answer that an error shows.
const SHOWN_CHARS: usize = 200;

/// The encoding of spans on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encoding {
    /// Protobuf, which every collector takes.
    #[default]
    Protobuf,
    /// JSON.
    Json,
}

/// A collector.
#[derive(Clone)]
pub struct Sender {
    /// Its whole address, such as `http://localhost:4318/v1/traces`.
    pub address: String,
    /// The encoding of spans.
    pub encoding: Encoding,
    /// Headers of each request, such as one with a key.
    pub headers: Vec<(String, String)>,
}

/// Headers may hold keys.
impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The number of spans that a collector was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// All of them.
    pub spans: usize,
    /// Those that it said it did not take.
    pub rejected: usize,
    /// Why, as it said.
    pub why: Option<String>,
}

/// Why spans were not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendError(pub String);

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SendError {}

/// Why an attempt failed.
struct Fault {
    why: String,
    /// Whether another attempt may go better.
    again: bool,
    /// The wait that the collector asks for, if it does.
    after: Option<Duration>,
}

impl Sender {
    /// Sends the spans of a session.
    pub fn send(&self, about: &About, session: &SessionTrace) -> Result<Sent, SendError> {
        let mut sent = Sent::default();
        for spans in batches(about, session) {
            sent.spans += spans.scope_spans.iter().map(|scope| scope.spans.len()).sum::<usize>();
            let request = ExportTraceServiceRequest { resource_spans: vec![spans] };
            let answer = self.post(&request)?;
            if let Some(partial) = answer.partial_success {
                sent.rejected += usize::try_from(partial.rejected_spans).unwrap_or_default();
                let why = Some(partial.error_message).filter(|why| !why.is_empty());
                sent.why = why.map(|why| self.for_people(&why)).or(sent.why);
            }
        }
        Ok(sent)
    }

    fn post(
        &self,
        request: &ExportTraceServiceRequest,
    ) -> Result<ExportTraceServiceResponse, SendError> {
        let body = match self.encoding {
            Encoding::Protobuf => request.encode_to_vec(),
            Encoding::Json => {
                serde_json::to_vec(request).map_err(|error| SendError(error.to_string()))?
            }
        };
        let (mut pause, mut left) = (PAUSE, ATTEMPTS - 1);
        loop {
            match self.attempt(&body) {
                Ok(answer) => return Ok(answer),
                Err(fault) if fault.again && left > 0 => {
                    left -= 1;
                    sleep(fault.after.unwrap_or(pause).min(LONGEST_PAUSE));
                    pause *= 2;
                }
                Err(fault) => return Err(SendError(self.for_people(&fault.why))),
            }
        }
    }

    fn attempt(&self, body: &[u8]) -> Result<ExportTraceServiceResponse, Fault> {
        let url = &self.address;
        let kind = match self.encoding {
            Encoding::Protobuf => "application/x-protobuf",
            Encoding::Json => "application/json",
        };
        let mut request = client(url, TIME).post(url).header("content-type", kind);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut answer = request.send(body).map_err(|error| unsent(url, &error))?;
        let status = answer.status();
        let after = retry_after(answer.headers());
        let said = answer.body_mut().with_config().limit(LARGEST).read_to_vec().unwrap_or_default();
        if status.is_success() {
            let answer = match self.encoding {
                Encoding::Protobuf => ExportTraceServiceResponse::decode(&said[..]).ok(),
                Encoding::Json => serde_json::from_slice(&said).ok(),
            };
            // The collector accepted the spans, whatever its answer contains.
            return Ok(answer.unwrap_or_default());
        }
        Err(refused(url, status, &said, after))
    }

    /// Returns an error for people: one short line without a value of a header in it.
    fn for_people(&self, why: &str) -> String {
        let mut why = why.split_whitespace().collect::<Vec<_>>().join(" ");
        for (_, value) in self.headers.iter().filter(|(_, value)| !value.is_empty()) {
            why = why.replace(value.as_str(), "[a header]");
        }
        escape_line(&callstack_core::secrets::mask(&why)).into_owned()
    }
}

fn unsent(url: &str, error: &ureq::Error) -> Fault {
    let (why, again) = match error {
        ureq::Error::Timeout(_) => (format!("{url} is silent"), true),
        ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::Tls(_) => {
            (format!("{url}: {error}"), false)
        }
        _ => (format!("{url} can't be reached: {error}"), true),
    };
    Fault { why, again, after: None }
}

/// An answer that is an error. The protocol names those after which a batch is sent again.
fn refused(url: &str, status: StatusCode, said: &[u8], after: Option<Duration>) -> Fault {
    let code = status.as_u16();
    let said = String::from_utf8_lossy(said);
    let said: String = said.chars().filter(|char| !char.is_control()).take(SHOWN_CHARS).collect();
    let said = if said.trim().is_empty() { String::new() } else { format!(": {}", said.trim()) };
    let why = match code {
        300..=399 => format!("{url} points elsewhere ({code})"),
        401 | 403 => format!("{url} wants another key ({code}{said})"),
        404 => format!("nobody takes traces at {url} ({code})"),
        415 => format!("{url} does not take this encoding ({code}{said})"),
        _ => format!("{url} answered {code}{said}"),
    };
    Fault { why, again: matches!(code, 429 | 502 | 503 | 504), after }
}
