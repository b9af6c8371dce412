//! A model that the user has configured, as the engine uses it: the request, its possible outcomes, and pending
//! requests. The wire format is a matter of the implementation of [`Summarizer`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callstack_core::results::{SummaryPrompt, cleaned};

use crate::generator::ResultsMaker;
use crate::lock::lock;
use crate::settings::SummarizerSettings;

/// A request to a model.
#[derive(Clone, Debug)]
pub struct SummaryRequest {
    /// The prompt; secrets of known forms are masked.
    pub prompt: SummaryPrompt,
    /// The settings of the model. Address and model are set.
    pub settings: SummarizerSettings,
    /// The longest time that it may take, with all retries.
    pub time_limit: Duration,
}

/// Why a model did not answer: a sentence without its full stop, for people, with nothing of the key in
/// it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SummarizerError(pub String);

/// Speaks to a model.
pub trait Summarizer: Send + Sync {
    /// Returns the model's answer within the time limit of the request.
    fn summarize(&self, request: &SummaryRequest) -> Result<String, SummarizerError>;
}

/// The outcome of a request, once there is one.
type Slot = Arc<Mutex<Option<Result<String, SummarizerError>>>>;

/// The models' answers that calls wait for, by the keys in their tokens.
#[derive(Debug, Default)]
pub(crate) struct Asked(Mutex<HashMap<String, Slot>>);

/// The progress of a request.
pub(crate) enum Answered {
    /// There is an answer, or there will be none.
    Now(Result<String, SummarizerError>),
    /// It is still waited for.
    NotYet,
    /// Nobody here has asked.
    Unknown,
}

impl Asked {
    /// Takes the outcome of a request; it is returned once.
    pub(crate) fn take(&self, key: &str) -> Answered {
        let mut asked = lock(&self.0);
        let Some(slot) = asked.get(key) else { return Answered::Unknown };
        let Some(answer) = lock(slot).take() else { return Answered::NotYet };
        asked.remove(key);
        Answered::Now(answer)
    }

    /// Nobody waits for it any more.
    pub(crate) fn forget(&self, key: &str) {
        lock(&self.0).remove(key);
    }
}

impl ResultsMaker {
    /// Sets the model that writes missing results, where its settings ask for that. The first one counts.
    pub(crate) fn summarize_with(&self, summarizer: Arc<dyn Summarizer>) {
        self.summarizer.get_or_init(|| summarizer);
    }

    /// Asks the model, and waits for its answer: the full results.
    pub(crate) fn ask_summarizer(
        &self,
        request: &SummaryRequest,
    ) -> Result<String, SummarizerError> {
        match self.summarizer.get() {
            Some(summarizer) => whole(summarizer.as_ref(), request),
            None => Err(SummarizerError("nothing here can ask a model".to_owned())),
        }
    }

    /// The same without waiting: [`Asked::take`] returns the outcome under `key`.
    pub(crate) fn begin_asking(&self, key: &str, request: SummaryRequest) {
        let slot = Slot::default();
        lock(&self.asked.0).insert(key.to_owned(), Arc::clone(&slot));
        let Some(summarizer) = self.summarizer.get().map(Arc::clone) else { return };
        let ask = {
            let slot = Arc::clone(&slot);
            move || {
                let answer = whole(summarizer.as_ref(), &request);
                *lock(&slot) = Some(answer);
            }
        };
        // The thread ends by its time limit, and nobody has to wait for it if the process ends first.
        if let Err(error) = std::thread::Builder::new().name("summarizer".to_owned()).spawn(ask) {
            let why = format!("no thread could be started for it: {error}");
            *lock(&slot) = Some(Err(SummarizerError(why)));
        }
    }
}

fn whole(summarizer: &dyn Summarizer, request: &SummaryRequest) -> Result<String, SummarizerError> {
    let answer = summarizer.summarize(request)?;
    cleaned(&answer).ok_or_else(|| SummarizerError("it answered without a text".to_owned()))
}
