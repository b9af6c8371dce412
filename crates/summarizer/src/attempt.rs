//! One request, and what becomes of it.

use std::time::Duration;

use callstack_core::results::SummaryPrompt;
use callstack_engine::WireFormat;
use callstack_http_client::ureq::http::{HeaderMap, StatusCode};
use callstack_http_client::{client, retry_after, ureq};

use crate::wire::{ANTHROPIC_VERSION, Wire, error_text};

/// Bytes of an answer that are read.
const LARGEST: u64 = 4 * 1024 * 1024;

/// One attempt to get an answer.
pub(crate) struct Attempt<'a> {
    pub(crate) wire: &'a Wire,
    pub(crate) prompt: &'a SummaryPrompt,
    pub(crate) key: Option<&'a str>,
}

/// Why an attempt came to nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) why: String,
    /// Whether another attempt may go better.
    pub(crate) again: bool,
    /// The wait that the server asks for, if it does.
    pub(crate) after: Option<Duration>,
}

impl Fault {
    fn final_one(why: impl Into<String>) -> Self {
        Self { why: why.into(), again: false, after: None }
    }
}

impl Attempt<'_> {
    /// Asks, for at most `time`.
    pub(crate) fn make(&self, time: Duration) -> Result<String, Fault> {
        let body =
            self.wire.body(self.prompt).map_err(|error| Fault::final_one(error.to_string()))?;
        let url = &self.wire.url;
        let mut request = client(url, time).post(url).header("content-type", "application/json");
        match (self.wire.format, self.key) {
            (WireFormat::OpenAi, Some(key)) => {
                request = request.header("authorization", format!("Bearer {key}"));
            }
            (WireFormat::Anthropic, key) => {
                request = request.header("anthropic-version", ANTHROPIC_VERSION);
                if let Some(key) = key {
                    request = request.header("x-api-key", key);
                }
            }
            (WireFormat::OpenAi, None) => {}
        }
        let mut answer = request.send(&body).map_err(|error| self.unsent(&error))?;
        let text = answer.body_mut().with_config().limit(LARGEST).read_to_string();
        let text = text.map_err(|error| self.unsent(&error))?;
        if answer.status().is_success() {
            return self.wire.text(&text).ok_or_else(|| {
                Fault::final_one(format!(
                    "{} does not speak as {} does",
                    self.wire.url,
                    self.wire.format.as_str()
                ))
            });
        }
        Err(self.refused(answer.status(), answer.headers(), &text))
    }

    /// A request that came to no answer.
    fn unsent(&self, error: &ureq::Error) -> Fault {
        let url = &self.wire.url;
        match error {
            // No time is left.
            ureq::Error::Timeout(_) => {
                Fault { why: format!("{url} is silent"), again: true, after: None }
            }
            ureq::Error::BadUri(_)
            | ureq::Error::Http(_)
            | ureq::Error::Tls(_)
            | ureq::Error::Rustls(_)
            | ureq::Error::BodyExceedsLimit(_) => Fault::final_one(format!("{url}: {error}")),
            _ => {
                Fault { why: format!("{url} can't be reached: {error}"), again: true, after: None }
            }
        }
    }

    /// An answer that is an error.
    fn refused(&self, status: StatusCode, headers: &HeaderMap, body: &str) -> Fault {
        let Wire { url, model, key_variable, .. } = self.wire;
        let said = error_text(body).map_or_else(String::new, |said| format!(": {said}"));
        let code = status.as_u16();
        match code {
            401 | 403 if self.key.is_none() => Fault::final_one(format!(
                "{url} wants a key, and the variable {key_variable} holds none ({code}{said})"
            )),
            401 | 403 => Fault::final_one(format!(
                "{url} refuses the key of the variable {key_variable} ({code}{said})"
            )),
            404 => Fault::final_one(format!(
                "there is nothing at {url}, or no model {model} ({code}{said})"
            )),
            300..=399 => Fault::final_one(format!("{url} points elsewhere ({code})")),
            408 | 409 | 425 | 429 | 500..=599 => Fault {
                why: format!("{url} answered {code}{said}"),
                again: true,
                after: retry_after(headers),
            },
            _ => Fault::final_one(format!("{url} answered {code}{said}")),
        }
    }
}
