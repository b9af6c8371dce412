//! The reader, who is the model: sees the new part of a request, and answers it.

use std::collections::BTreeSet;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use callstack_scripted_model::{RecordedRequest, RequestKind};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::folder::{Answer, Folder};
use super::{TrialError, show};

/// The interval between checks for a request.
const LOOK: Duration = Duration::from_millis(100);
const SEEN: &str = "seen.json";

/// The reader's side of a trial's folder.
#[derive(Debug)]
pub struct Reader {
    folder: Folder,
}

/// The next action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// A request, as text.
    Shown(String),
    /// Content from before the last answer is gone: work was folded. A reader who has seen it stops, and another one
    /// takes over.
    Handover(String),
    /// The trial is over, and why.
    Over(String),
    /// No request came within the time.
    NothingYet,
}

/// The state after an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coming {
    /// A request waits, by its number.
    Request(usize),
    /// The trial is over, and why.
    Over(String),
    /// Neither within the time.
    NothingYet,
}

/// The requests that were shown.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Seen {
    shown: BTreeSet<usize>,
}

/// The part of a request that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The new content, if no earlier content is gone.
    New,
    /// Everything from the first changed message on.
    Changed,
    /// Everything.
    Whole,
}

impl Reader {
    /// The reader of the trial in `folder`.
    pub fn of(folder: &Path) -> Self {
        Self { folder: Folder::at(folder) }
    }

    /// Waits for a request, for at most `wait`, and shows `part` of it. The same request is shown again until it is
    /// answered.
    pub fn next(&self, part: Part, wait: Duration) -> Result<Next, TrialError> {
        match self.coming(wait)? {
            Coming::Request(number) => self.show(number, part),
            Coming::Over(why) => Ok(Next::Over(why)),
            Coming::NothingYet => Ok(Next::NothingYet),
        }
    }

    fn show(&self, number: usize, part: Part) -> Result<Next, TrialError> {
        let request = self.folder.request(number)?;
        let mut seen = self.seen();
        let from = match (part, self.before(number, &request, &seen)?) {
            (Part::Whole, _) | (_, None) => 0,
            (Part::Changed, Some(before)) => common(&before, &request),
            (Part::New, Some(before)) => {
                let (common, had) = (common(&before, &request), before.messages().len());
                if common < had {
                    return Ok(Next::Handover(format!(
                        "request {number}: of the {had} messages before, those from [{common}] on are \
                         gone or changed"
                    )));
                }
                common
            }
        };
        let text = show::show(&self.folder, number, &request, from)?;
        seen.shown.insert(number);
        self.folder.write(SEEN, &json!(seen).to_string())?;
        Ok(Next::Shown(text))
    }

    /// The request of the same session that was shown last.
    fn before(
        &self,
        number: usize,
        request: &RecordedRequest,
        seen: &Seen,
    ) -> Result<Option<RecordedRequest>, TrialError> {
        for earlier in seen.shown.range(..number).rev() {
            let earlier = self.folder.request(*earlier)?;
            if earlier.session == request.session && earlier.kind == request.kind {
                return Ok(Some(earlier));
            }
        }
        Ok(None)
    }

    fn seen(&self) -> Seen {
        let text = self.folder.read(SEEN).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Answers the request that was shown last with `{"text": …, "calls": [{"name": …, "input": {…}}]}`; the request's
    /// number.
    pub fn answer(&self, json: &str) -> Result<usize, TrialError> {
        let waiting = self.folder.waiting()?;
        let Some(number) = waiting else {
            return Err(TrialError::refused("no request is waiting; call next"));
        };
        if !self.seen().shown.contains(&number) {
            return Err(TrialError::refused(format!(
                "request {number} is waiting and was not shown yet (the one before may have been given \
                 up); call next"
            )));
        }
        let answer: Answer = serde_json::from_str(json).map_err(|error| {
            TrialError::refused(format!(
                "not an answer: {error}; give {{\"text\": \"…\", \"calls\": [{{\"name\": \"…\", \
                 \"input\": {{…}}}}]}}"
            ))
        })?;
        check(&answer, &self.folder.request(number)?)?;
        self.folder.put_answer(number, &answer)?;
        Ok(number)
    }

    /// Waits for the request after an answer, for at most `wait`, and shows nothing of it.
    pub fn coming(&self, wait: Duration) -> Result<Coming, TrialError> {
        let until = Instant::now() + wait;
        loop {
            if let Some(why) = self.folder.is_over() {
                return Ok(Coming::Over(why));
            }
            if let Some(number) = self.folder.waiting()? {
                return Ok(Coming::Request(number));
            }
            if Instant::now() >= until {
                return Ok(Coming::NothingYet);
            }
            thread::sleep(LOOK);
        }
    }

    /// Asks the process that runs the trial to end it.
    pub fn stop(&self) -> Result<(), TrialError> {
        Ok(self.folder.ask_to_stop()?)
    }
}

fn check(answer: &Answer, request: &RecordedRequest) -> Result<(), TrialError> {
    if answer.text.trim().is_empty() && answer.calls.is_empty() {
        return Err(TrialError::refused("the answer is empty; give a text, or calls"));
    }
    if request.kind == RequestKind::Compaction && !answer.calls.is_empty() {
        return Err(TrialError::refused("a summary is asked for; answer with a text alone"));
    }
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap_or_default().to_owned();
    let tools: BTreeSet<String> = request.tools().iter().map(name).collect();
    match answer.calls.iter().find(|call| !tools.contains(&call.name)) {
        None => Ok(()),
        Some(call) => {
            let tools: Vec<_> = tools.into_iter().collect();
            let (name, tools) = (&call.name, tools.join(", "));
            Err(TrialError::refused(format!("no tool is called {name:?}; there are {tools}")))
        }
    }
}

/// Returns the number of messages that two requests share at their beginning.
pub(super) fn common(a: &RecordedRequest, b: &RecordedRequest) -> usize {
    a.raw_messages().iter().zip(b.raw_messages()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
