//! Asks a model that the user has configured over HTTP, in the format of `OpenAI`'s chat completions or of
//! Anthropic's messages.
//!
//! Not here: the prompt and the use of the answer (`core`, `engine`), and the source of the key (`cli`). The key
//! stands in a header of the request and nowhere else.

mod attempt;
mod wire;

use std::fmt;
use std::time::{Duration, Instant};

use callstack_core::secrets::mask;
use callstack_core::text::{CUT, truncate_to_token_budget};
use callstack_engine::{Summarizer, SummarizerError, SummaryRequest};

use attempt::{Attempt, Fault};
use wire::Wire;

/// The wait before the first further attempt; it doubles before each later one.
const PAUSE: Duration = Duration::from_millis(500);
/// Estimated tokens of an error that are shown.
const ERROR_TOKENS: usize = 60;

/// The value of a variable of the environment.
pub type Variable = fn(&str) -> Option<String>;

/// A model that is asked over HTTP.
pub struct HttpSummarizer {
    variable: Variable,
}

impl fmt::Debug for HttpSummarizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpSummarizer")
    }
}

impl HttpSummarizer {
    /// Makes a client that takes keys from `variable`, called with the name in the settings.
    pub fn new(variable: Variable) -> Self {
        Self { variable }
    }
}

impl Summarizer for HttpSummarizer {
    fn summarize(&self, request: &SummaryRequest) -> Result<String, SummarizerError> {
        let until = Instant::now() + request.time_limit;
        let settings = &request.settings;
        let key = (self.variable)(&settings.key_variable)
            .map(|key| key.trim().to_owned())
            .filter(|key| !key.is_empty());
        let failed = |why: &str| SummarizerError(for_people(why, key.as_deref()));
        let wire = Wire::of(settings).map_err(|why| failed(&why))?;
        let attempt = Attempt { wire: &wire, prompt: &request.prompt, key: key.as_deref() };
        let mut pause = PAUSE;
        let mut left = settings.retries;
        loop {
            let time = until.saturating_duration_since(Instant::now());
            if time.is_zero() {
                return Err(failed(&out_of_time(request)));
            }
            let Fault { why, again, after } = match attempt.make(time) {
                Ok(text) => return Ok(text),
                Err(Fault { why, again: true, .. })
                    if until.saturating_duration_since(Instant::now()).is_zero() =>
                {
                    return Err(failed(&format!("{}: {why}", out_of_time(request))));
                }
                Err(fault) => fault,
            };
            if !again || left == 0 {
                return Err(failed(&why));
            }
            left -= 1;
            let rest = after.unwrap_or(pause);
            pause *= 2;
            if rest >= until.saturating_duration_since(Instant::now()) {
                let ms = rest.as_millis();
                return Err(failed(&format!(
                    "{why}, and the next attempt, {ms} ms later, is too late"
                )));
            }
            std::thread::sleep(rest);
        }
    }
}

fn out_of_time(request: &SummaryRequest) -> String {
    format!("it did not answer within {} ms", request.settings.time_limit)
}

/// Returns an error for people: one short line with no secret in it, even if a server repeats the key.
fn for_people(why: &str, key: Option<&str>) -> String {
    let why = match key {
        Some(key) => why.replace(key, "[the key]"),
        None => why.to_owned(),
    };
    let line: Vec<_> = mask(&why).split_whitespace().map(str::to_owned).collect();
    let line = line.join(" ");
    truncate_to_token_budget(line.trim_end_matches('.'), ERROR_TOKENS, CUT).into_owned()
}
